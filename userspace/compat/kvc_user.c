// SPDX-License-Identifier: MIT
/*
 * CRC32C in portable C, see kvc_user.h.
 */
#include "kvc_user.h"

/* CRC32C, reflected, sliced by eight. */
#define KVC_CRC32C_POLYNOMIAL	0x82f63b78U

static u32 crc_table[8][256];

__attribute__((constructor)) static void crc_table_fill(void)
{
	u32 i, k, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? KVC_CRC32C_POLYNOMIAL : 0);
		crc_table[0][i] = crc;
	}
	for (i = 0; i < 256; i++) {
		crc = crc_table[0][i];
		for (k = 1; k < 8; k++) {
			crc = crc >> 8 ^ crc_table[0][crc & 0xff];
			crc_table[k][i] = crc;
		}
	}
}

static u64 load_le64(const u8 *p)
{
	u64 x;

	memcpy(&x, p, sizeof(x));
	return KVC_SWAP64(x);
}

u32 kvc_user_crc32c(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	u64 x;

	for (; len >= 8; len -= 8, p += 8) {
		x = load_le64(p) ^ crc;
		crc = crc_table[7][x & 0xff] ^
		      crc_table[6][x >> 8 & 0xff] ^
		      crc_table[5][x >> 16 & 0xff] ^
		      crc_table[4][x >> 24 & 0xff] ^
		      crc_table[3][x >> 32 & 0xff] ^
		      crc_table[2][x >> 40 & 0xff] ^
		      crc_table[1][x >> 48 & 0xff] ^
		      crc_table[0][x >> 56];
	}
	for (; len; len--, p++)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 0xff];
	return crc;
}
