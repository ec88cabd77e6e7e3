// SPDX-License-Identifier: MIT
/* CRC32C and the hash of keys against published test vectors. */
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

/* siphash-c-d with 128 bits of result, word by word as the paper has it. */
static struct kvc_hash sip(int c, int d, const u64 *key, const u8 *message,
			   size_t len)
{
	u64 v[4] = {
		key[0] ^ 0x736f6d6570736575ULL,
		key[1] ^ 0x646f72616e646f6dULL ^ 0xee,
		key[0] ^ 0x6c7967656e657261ULL,
		key[1] ^ 0x7465646279746573ULL,
	};
	size_t at, words = len / 8 + 1;
	struct kvc_hash hash = { 0 };
	u64 m;
	int i;

#define ROTATE(x, by)	((x) = (x) << (by) | (x) >> (64 - (by)))
#define ROUNDS(n)							\
	for (i = 0; i < (n); i++) {					\
		v[0] += v[1], ROTATE(v[1], 13), v[1] ^= v[0];		\
		ROTATE(v[0], 32);					\
		v[2] += v[3], ROTATE(v[3], 16), v[3] ^= v[2];		\
		v[0] += v[3], ROTATE(v[3], 21), v[3] ^= v[0];		\
		v[2] += v[1], ROTATE(v[1], 17), v[1] ^= v[2];		\
		ROTATE(v[2], 32);					\
	}
	for (at = 0; at < words; at++) {
		m = at == words - 1 ? (u64)len << 56 : 0;
		for (i = 0; i < 8 && at * 8 + i < len; i++)
			m |= (u64)message[at * 8 + i] << 8 * i;
		v[3] ^= m;
		ROUNDS(c);
		v[0] ^= m;
	}
	v[2] ^= 0xee;
	ROUNDS(d);
	hash.lo = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	ROUNDS(d);
	hash.hi = v[0] ^ v[1] ^ v[2] ^ v[3];
	return hash;
}

/*
 * Key 00 01 .. 0f, message 00 01 .. of some lengths: the empty message as it is
 * published for siphash-2-4 and -1-3 with 128 bits; the others were computed
 * with OpenSSL's SIPHASH.
 */
static void siphash_vectors(void **state)
{
	static const u64 key[2] = {
		0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL
	};
	static const struct {
		size_t len;
		u64 lo, hi;
	} vectors[] = {
		{ 0, 0xbea58827b2bc7ee7ULL, 0x013030dd6adb62fdULL },
		{ 5, 0x0c625b3489db28f3ULL, 0x3e849526a4295279ULL },
		{ 12, 0xa819489e85923fe5ULL, 0x658cea9f739506dcULL },
		{ 15, 0x6c52bdb205557ec1ULL, 0x09017e1eeccd2129ULL },
		{ 68, 0x9902f994758aa242ULL, 0x6b477f7988fc6fa6ULL },
	};
	struct kvc_hash hash;
	u8 message[128];
	u32 tenant;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(message); i++)
		message[i] = i;
	hash = sip(2, 4, key, message, 0);
	assert_true(hash.lo == 0xe6a825ba047f81a3ULL);
	assert_true(hash.hi == 0x930255c71472f66dULL);
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		size_t len = vectors[i].len;

		hash = sip(1, 3, key, message, len);
		assert_true(hash.lo == vectors[i].lo);
		assert_true(hash.hi == vectors[i].hi);
		if (len < 5)
			continue;
		/* A key of the pool, and its tenant behind it. */
		memcpy(&tenant, message + len - 4, 4);
		tenant = le32_to_cpu((__force __le32)tenant);
		hash = kvc_key_hash((const u8 *)key, tenant,
				    message, len - 4);
		assert_true(hash.lo == vectors[i].lo);
		assert_true(hash.hi == vectors[i].hi);
	}
}

/* Keys of every length, at any alignment. */
static void hash_of_every_key(void **state)
{
	u8 message[8 + KVC_MAX_KEY + 4];
	struct kvc_hash a, b;
	u64 key[4], seed = 3;
	u32 len, i, at, tenant;

	(void)state;
	for (i = 0; i < sizeof(message); i++)
		message[i] = kvc_fixture_random(&seed);
	for (i = 0; i < 4; i++)
		key[i] = kvc_fixture_random(&seed);
	for (len = 1; len <= KVC_MAX_KEY; len++) {
		at = len % 8;
		tenant = kvc_fixture_random(&seed);
		for (i = 0; i < 4; i++)
			message[at + len + i] = tenant >> 8 * i;
		a = sip(1, 3, key, message + at, len + 4);
		b = kvc_key_hash((const u8 *)key, tenant, message + at,
				 len);
		assert_true(a.lo == b.lo && a.hi == b.hi);
		for (i = 0; i < 4; i++)
			message[at + len + i] = kvc_fixture_random(&seed);
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
		cmocka_unit_test(hash_of_every_key),
		cmocka_unit_test(byte_order),
	};

	return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
