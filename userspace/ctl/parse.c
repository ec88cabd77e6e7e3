// SPDX-License-Identifier: MIT
/* Numbers, identifiers and keys: from text and to text. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ctl.h"

bool ctl_parse_u64(const char *s, u64 max, u64 *out)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	value = strtoull(s, &end, s[0] == '0' && tolower(s[1]) == 'x' ? 16 : 10);
	if (errno || *end || value > max)
		return false;
	*out = value;
	return true;
}

/**
 * struct suffix - what may stand behind a number
 * @text: in lower case
 * @factor: multiplier
 */
struct suffix {
	const char *text;
	u64 factor;
};

/*
 * A decimal number with up to nine places behind the point and a suffix, in
 * integer arithmetic: a size must come out to the byte. What is left of a
 * fraction below one unit is refused.
 */
static bool parse_scaled(const char *s, const struct suffix *suffixes,
			 u64 *out)
{
	u64 whole, part = 0, scale = 1;
	unsigned __int128 value;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	whole = strtoull(s, &end, 10);
	if (errno)
		return false;
	if (*end == '.') {
		end++;
		if (!isdigit((unsigned char)*end))
			return false;
		for (; isdigit((unsigned char)*end); end++) {
			if (scale == 1000000000)
				return false;
			part = part * 10 + (u64)(*end - '0');
			scale *= 10;
		}
	}
	for (; suffixes->text; suffixes++)
		if (!strcasecmp(end, suffixes->text))
			break;
	if (!suffixes->text)
		return false;
	value = (unsigned __int128)part * suffixes->factor;
	if (value % scale)
		return false;
	value = value / scale + (unsigned __int128)whole * suffixes->factor;
	if (value > UINT64_MAX)
		return false;
	*out = (u64)value;
	return true;
}

bool ctl_parse_size(const char *s, u64 *out)
{
	static const struct suffix sizes[] = {
		{ "", 1 }, { "b", 1 },
		{ "k", 1ULL << 10 }, { "kb", 1ULL << 10 }, { "kib", 1ULL << 10 },
		{ "m", 1ULL << 20 }, { "mb", 1ULL << 20 }, { "mib", 1ULL << 20 },
		{ "g", 1ULL << 30 }, { "gb", 1ULL << 30 }, { "gib", 1ULL << 30 },
		{ "t", 1ULL << 40 }, { "tb", 1ULL << 40 }, { "tib", 1ULL << 40 },
		{ "p", 1ULL << 50 }, { "pb", 1ULL << 50 }, { "pib", 1ULL << 50 },
		{}
	};

	return parse_scaled(s, sizes, out);
}

bool ctl_parse_ms(const char *s, u64 unit_ms, u64 *out)
{
	const struct suffix times[] = {
		{ "", unit_ms }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 },
		{ "min", 60000 }, { "h", 3600000 }, { "d", 86400000 },
		{}
	};

	return parse_scaled(s, times, out);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

ssize_t ctl_parse_hex(const char *s, void *out, size_t room)
{
	u8 *bytes = out;
	size_t len, i;

	if (s[0] == '0' && tolower((unsigned char)s[1]) == 'x')
		s += 2;
	len = strlen(s);
	if (len % 2 || len / 2 > room)
		return -1;
	for (i = 0; i < len; i += 2) {
		int high = hex_digit(s[i]);
		int low = hex_digit(s[i + 1]);

		if (high < 0 || low < 0)
			return -1;
		bytes[i / 2] = (u8)(high << 4 | low);
	}
	return (ssize_t)(len / 2);
}

bool ctl_parse_uuid(const char *s, u8 uuid[16])
{
	char digits[33];
	size_t i, n = 0;

	if (strlen(s) != 36)
		return false;
	for (i = 0; i < 36; i++) {
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (s[i] != '-')
				return false;
		} else {
			if (hex_digit(s[i]) < 0)
				return false;
			digits[n++] = s[i];
		}
	}
	digits[32] = '\0';
	return ctl_parse_hex(digits, uuid, 16) == 16;
}

const char *ctl_size(char buf[CTL_TEXT], u64 bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB",
					     "PiB", "EiB" };
	u64 unit = 1;
	int i = 0;

	while (i < 6 && bytes / unit >= 1024) {
		unit *= 1024;
		i++;
	}
	if (bytes % unit == 0)
		snprintf(buf, CTL_TEXT, "%" PRIu64 " %s", (uint64_t)(bytes / unit),
			 units[i]);
	else
		snprintf(buf, CTL_TEXT, "%.2f %s", (double)bytes / (double)unit,
			 units[i]);
	return buf;
}

const char *ctl_uuid(char buf[CTL_TEXT], const u8 *u)
{
	snprintf(buf, CTL_TEXT,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9],
		 u[10], u[11], u[12], u[13], u[14], u[15]);
	return buf;
}

const char *ctl_hex(char *buf, size_t room, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const u8 *bytes = data;
	size_t i;

	if (!room)
		return buf;
	for (i = 0; i < len && 2 * i + 2 < room; i++) {
		buf[2 * i] = digits[bytes[i] >> 4];
		buf[2 * i + 1] = digits[bytes[i] & 15];
	}
	buf[2 * i] = '\0';
	return buf;
}

/* Length of the printable UTF-8 character at @s, 0: it is none. */
static size_t utf8_character(const u8 *s, size_t len)
{
	u32 code, least;
	size_t more, i;

	if (s[0] < 0x80)
		return s[0] > 0x20 && s[0] != 0x7f;
	if ((s[0] & 0xe0) == 0xc0) {
		more = 1;
		least = 0x80;
		code = s[0] & 0x1f;
	} else if ((s[0] & 0xf0) == 0xe0) {
		more = 2;
		least = 0x800;
		code = s[0] & 0x0f;
	} else if ((s[0] & 0xf8) == 0xf0) {
		more = 3;
		least = 0x10000;
		code = s[0] & 0x07;
	} else {
		return 0;
	}
	if (len <= more)
		return 0;
	for (i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* Overlong forms, surrogates, control characters, and the end. */
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
	    code < 0xa1)
		return 0;
	/* Line separators and marks that turn the direction of text. */
	if ((code >= 0x2028 && code <= 0x202e) ||
	    (code >= 0x2066 && code <= 0x2069))
		return 0;
	return more + 1;
}

bool ctl_key_printable(const void *key, size_t len)
{
	const u8 *s = key;
	size_t at = 0;

	if (!len || (len >= 2 && s[0] == '0' && tolower(s[1]) == 'x'))
		return false;
	while (at < len) {
		size_t step = utf8_character(s + at, len - at);

		if (!step)
			return false;
		at += step;
	}
	return true;
}

const char *ctl_key(char buf[CTL_KEY_TEXT], const void *key, size_t len)
{
	if (ctl_key_printable(key, len)) {
		memcpy(buf, key, len);
		buf[len] = '\0';
	} else {
		memcpy(buf, "0x", 3);
		ctl_hex(buf + 2, CTL_KEY_TEXT - 2, key, len);
	}
	return buf;
}
