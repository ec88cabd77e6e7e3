/* SPDX-License-Identifier: MIT */
/*
 * The surroundings of the pure files (kvc_types.h) in userspace: the kernel's
 * fixed-size types, byte order helpers, small macros and CRC32C, with the
 * kernel's names and meaning. Compile with -Iuserspace/compat -Ikmod and link
 * kvc_user.c.
 */
#ifndef KVC_USER_H
#define KVC_USER_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#ifndef __force
#ifdef __CHECKER__
#define __force		__attribute__((force))
#else
#define __force
#endif
#endif

#define U8_MAX		((u8)~0U)
#define U16_MAX		((u16)~0U)
#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)

#ifndef likely
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#endif

/* As in the kernel: the message may be left out. */
#undef static_assert
#define static_assert(expr, ...) kvc_static_assert(expr, ##__VA_ARGS__, #expr)
#define kvc_static_assert(expr, message, ...) _Static_assert(expr, message)

#ifndef __aligned
#define __aligned(n)	__attribute__((__aligned__(n)))
#endif

#ifndef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#endif

#ifndef fallthrough
#define fallthrough	__attribute__((__fallthrough__))
#endif

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define BIT(n)			(1UL << (n))
#define hweight_long(w)		((u32)__builtin_popcountl(w))
#define BIT_ULL(n)		(1ULL << (n))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

/* @to: a power of two */
#define round_up(n, to)		((((n) - 1) | ((__typeof__(n))(to) - 1)) + 1)
#define round_down(n, to)	((n) & ~((__typeof__(n))(to) - 1))

#ifndef min
#define min(a, b) __extension__({			\
	__typeof__(a) kvc_min_a = (a);			\
	__typeof__(b) kvc_min_b = (b);			\
	kvc_min_a < kvc_min_b ? kvc_min_a : kvc_min_b;	\
})
#define max(a, b) __extension__({			\
	__typeof__(a) kvc_max_a = (a);			\
	__typeof__(b) kvc_max_b = (b);			\
	kvc_max_a > kvc_max_b ? kvc_max_a : kvc_max_b;	\
})
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#endif

/* --- byte order --- */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KVC_SWAP16(x)	(x)
#define KVC_SWAP32(x)	(x)
#define KVC_SWAP64(x)	(x)
#else
#define KVC_SWAP16(x)	__builtin_bswap16(x)
#define KVC_SWAP32(x)	__builtin_bswap32(x)
#define KVC_SWAP64(x)	__builtin_bswap64(x)
#endif

static inline u16 le16_to_cpu(__le16 x) { return KVC_SWAP16((__force u16)x); }
static inline u32 le32_to_cpu(__le32 x) { return KVC_SWAP32((__force u32)x); }
static inline u64 le64_to_cpu(__le64 x) { return KVC_SWAP64((__force u64)x); }
static inline __le16 cpu_to_le16(u16 x) { return (__force __le16)KVC_SWAP16(x); }
static inline __le32 cpu_to_le32(u32 x) { return (__force __le32)KVC_SWAP32(x); }
static inline __le64 cpu_to_le64(u64 x) { return (__force __le64)KVC_SWAP64(x); }

/* --- arithmetic --- */

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* Of a value > 0. */
static inline int ilog2(u64 n)
{
	return 63 - __builtin_clzll(n);
}

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = (u32)(dividend % divisor);
	return dividend / divisor;
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

/* --- CRC32C --- */

u32 kvc_user_crc32c(u32 crc, const void *data, size_t len);

/* As in the kernel: neither the initial nor the final value is inverted. */
static inline u32 crc32c(u32 crc, const void *data, size_t len)
{
	return kvc_user_crc32c(crc, data, len);
}

#endif
