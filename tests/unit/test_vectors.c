// SPDX-License-Identifier: MIT
/* CRC32C and siphash against published test vectors. */
#include "support.h"

static u32 iscsi(const void *data, size_t len)
{
	return ~crc32c(~0U, data, len);
}

/* RFC 3720, appendix B.4, and the check value of the CRC catalogues. */
static void crc32c_vectors(void **state)
{
	static const u8 read10[48] = {
		0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x14, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
		0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0,
	};
	u8 data[32];
	int i;

	(void)state;
	assert_int_equal(0xe3069283, iscsi("123456789", 9));
	memset(data, 0, sizeof(data));
	assert_int_equal(0x8a9136aa, iscsi(data, sizeof(data)));
	memset(data, 0xff, sizeof(data));
	assert_int_equal(0x62a8ab43, iscsi(data, sizeof(data)));
	for (i = 0; i < 32; i++)
		data[i] = i;
	assert_int_equal(0x46dd794e, iscsi(data, sizeof(data)));
	for (i = 0; i < 32; i++)
		data[i] = 31 - i;
	assert_int_equal(0x113fdb5c, iscsi(data, sizeof(data)));
	assert_int_equal(0xd9963a56, iscsi(read10, sizeof(read10)));
}

/* In pieces and at any alignment it is the same; one bit at a time, too. */
static void crc32c_pieces(void **state)
{
	u64 seed = 4, at, cut;
	u8 data[300];
	u32 crc, i, k;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = kvc_fixture_random(&seed);
	for (at = 0; at < 9; at++) {
		crc = 0x12345678;
		for (i = at; i < sizeof(data); i++) {
			crc ^= data[i];
			for (k = 0; k < 8; k++)
				crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		}
		for (cut = at; cut <= sizeof(data); cut++)
			assert_int_equal(crc,
				crc32c(crc32c(0x12345678, data + at, cut - at),
				       data + cut, sizeof(data) - cut));
	}
}

/*
 * From the reference implementation of siphash-2-4: key 00 01 .. 0f, message
 * 00 01 .. of each length from 0 to 63; the first eight, the example of the
 * paper (15), and the last.
 */
static void siphash_vectors(void **state)
{
	static const struct {
		size_t len;
		u64 hash;
	} vectors[] = {
		{ 0, 0x726fdb47dd0e0e31ULL }, { 1, 0x74f839c593dc67fdULL },
		{ 2, 0x0d6c8009d9a94f5aULL }, { 3, 0x85676696d7fb7e2dULL },
		{ 4, 0xcf2794e0277187b7ULL }, { 5, 0x18765564cd99a68dULL },
		{ 6, 0xcbc9466e58fee3ceULL }, { 7, 0xab0200f58b01d137ULL },
		{ 8, 0x93f5f5799a932462ULL }, { 15, 0xa129ca6149be45e5ULL },
		{ 63, 0x958a324ceb064572ULL },
	};
	siphash_key_t key = {
		{ 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL }
	};
	u8 data[65];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = i;
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		assert_true(vectors[i].hash ==
			    siphash(data, vectors[i].len, &key));
		memmove(data + 1, data, 64);
		assert_true(vectors[i].hash ==
			    siphash(data + 1, vectors[i].len, &key));
		memmove(data, data + 1, 64);
	}
}

static void byte_order(void **state)
{
	static const u8 bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__le16 x16;
	__le32 x32;
	__le64 x64;

	(void)state;
	memcpy(&x16, bytes, sizeof(x16));
	memcpy(&x32, bytes, sizeof(x32));
	memcpy(&x64, bytes, sizeof(x64));
	assert_int_equal(0x0201, le16_to_cpu(x16));
	assert_int_equal(0x04030201, le32_to_cpu(x32));
	assert_true(le64_to_cpu(x64) == 0x0807060504030201ULL);
	assert_true(cpu_to_le16(0x0201) == x16);
	assert_true(cpu_to_le32(0x04030201) == x32);
	assert_true(cpu_to_le64(0x0807060504030201ULL) == x64);
	assert_int_equal(0, ilog2(1));
	assert_int_equal(31, ilog2(0xffffffff));
	assert_int_equal(63, ilog2(U64_MAX));
	assert_int_equal(4096, round_up(4095u, 4096));
	assert_int_equal(4096, round_up(4096u, 4096));
	assert_int_equal(0, round_down(4095u, 4096));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c_vectors),
		cmocka_unit_test(crc32c_pieces),
		cmocka_unit_test(siphash_vectors),
		cmocka_unit_test(byte_order),
	};

	return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
