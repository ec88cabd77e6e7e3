// SPDX-License-Identifier: MIT
/* Numbers, identifiers and keys. */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

void test_sizes(void **state)
{
	static const struct {
		const char *text;
		u64 value;
	} cases[] = {
		{ "0", 0 }, { "1", 1 }, { "4096", 4096 }, { "4k", 4096 },
		{ "4KiB", 4096 }, { "1.5K", 1536 }, { "256M", 256ULL << 20 },
		{ "2g", 2ULL << 30 }, { "0.5TiB", 512ULL << 30 }, { "17b", 17 },
		{ "18446744073709551615", UINT64_MAX }, { "16383P", 16383ULL << 50 },
	};
	size_t i;
	u64 value;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(ctl_parse_size(cases[i].text, &value));
		assert_true(value == cases[i].value);
	}
}

void test_sizes_that_are_none(void **state)
{
	static const char *const cases[] = {
		"", "k", "-1", "1x", "1 k", "1.k", "0.3", "1.5b", "16384P",
		"18446744073709551616", "1.0000000001k", "0x10", "1kk", " 1",
	};
	size_t i;
	u64 value;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_false(ctl_parse_size(cases[i], &value));
}

void test_numbers(void **state)
{
	u64 value;

	(void)state;
	assert_true(ctl_parse_u64("42", 42, &value) && value == 42);
	assert_true(ctl_parse_u64("0x2a", 42, &value) && value == 42);
	assert_true(ctl_parse_u64("010", 100, &value) && value == 10);
	assert_false(ctl_parse_u64("43", 42, &value));
	assert_false(ctl_parse_u64("-1", UINT64_MAX, &value));
	assert_false(ctl_parse_u64("+1", UINT64_MAX, &value));
	assert_false(ctl_parse_u64("", UINT64_MAX, &value));
	assert_false(ctl_parse_u64("1a", UINT64_MAX, &value));
	assert_false(ctl_parse_u64("18446744073709551616", UINT64_MAX, &value));
}

void test_times(void **state)
{
	u64 value;

	(void)state;
	assert_true(ctl_parse_ms("5", 1000, &value) && value == 5000);
	assert_true(ctl_parse_ms("5ms", 1000, &value) && value == 5);
	assert_true(ctl_parse_ms("0.25s", 1000, &value) && value == 250);
	assert_true(ctl_parse_ms("2h", 1000, &value) && value == 7200000);
	assert_true(ctl_parse_ms("1d", 1000, &value) && value == 86400000);
	assert_false(ctl_parse_ms("0.5ms", 1000, &value));
	assert_false(ctl_parse_ms("5 s", 1000, &value));
}

void test_hex(void **state)
{
	u8 bytes[4];

	(void)state;
	assert_int_equal(ctl_parse_hex("00fF", bytes, sizeof(bytes)), 2);
	assert_int_equal(bytes[1], 255);
	assert_int_equal(ctl_parse_hex("0x01020304", bytes, sizeof(bytes)), 4);
	assert_int_equal(bytes[3], 4);
	assert_int_equal(ctl_parse_hex("0102030405", bytes, sizeof(bytes)), -1);
	assert_int_equal(ctl_parse_hex("012", bytes, sizeof(bytes)), -1);
	assert_int_equal(ctl_parse_hex("0g", bytes, sizeof(bytes)), -1);
}

void test_uuids(void **state)
{
	static const char text[] = "01234567-89ab-cdef-0123-456789abcdef";
	char back[CTL_TEXT];
	u8 uuid[16];

	(void)state;
	assert_true(ctl_parse_uuid(text, uuid));
	assert_int_equal(uuid[15], 0xef);
	assert_string_equal(ctl_uuid(back, uuid), text);
	assert_false(ctl_parse_uuid("kvcache", uuid));
	assert_false(ctl_parse_uuid("01234567-89ab-cdef-0123x456789abcdef", uuid));
	assert_false(ctl_parse_uuid("0123456-789ab-cdef-0123-456789abcdef", uuid));
}

void test_sizes_as_text(void **state)
{
	char text[CTL_TEXT];

	(void)state;
	assert_string_equal(ctl_size(text, 0), "0 B");
	assert_string_equal(ctl_size(text, 1023), "1023 B");
	assert_string_equal(ctl_size(text, 1536), "1.50 KiB");
	assert_string_equal(ctl_size(text, 256ULL << 20), "256 MiB");
	assert_string_equal(ctl_size(text, UINT64_MAX), "16.00 EiB");
}

void test_keys_as_text(void **state)
{
	char text[CTL_KEY_TEXT];
	char longest[KVC_MAX_KEY];

	(void)state;
	assert_string_equal(ctl_key(text, "model/layer:7", 13), "model/layer:7");
	assert_string_equal(ctl_key(text, "\xc3\xa4", 2), "\xc3\xa4");
	assert_string_equal(ctl_key(text, "a b", 3), "0x612062");
	assert_string_equal(ctl_key(text, "a\n", 2), "0x610a");
	/* What looks like our own hex would be taken for it. */
	assert_string_equal(ctl_key(text, "0x12", 4), "0x30783132");
	/* No UTF-8: cut, overlong, a surrogate, a mark that turns text. */
	assert_string_equal(ctl_key(text, "\xc3", 1), "0xc3");
	assert_string_equal(ctl_key(text, "\xc0\xaf", 2), "0xc0af");
	assert_string_equal(ctl_key(text, "\xed\xa0\x80", 3), "0xeda080");
	assert_string_equal(ctl_key(text, "\xe2\x80\xae", 3), "0xe280ae");
	memset(longest, 0, sizeof(longest));
	assert_int_equal(strlen(ctl_key(text, longest, sizeof(longest))),
			 2 + 2 * sizeof(longest));
}

void test_json_keeps_64_bits(void **state)
{
	cJSON *object = cJSON_CreateObject();
	char *text;

	(void)state;
	ctl_json_u64(object, "a", UINT64_MAX);
	ctl_json_hex64(object, "b", UINT64_MAX - 1);
	ctl_json_key(object, "\0x", 2);
	text = cJSON_PrintUnformatted(object);
	assert_string_equal(text, "{\"a\":18446744073709551615,"
			    "\"b\":\"0xfffffffffffffffe\",\"key_hex\":\"0078\"}");
	free(text);
	cJSON_Delete(object);
}
