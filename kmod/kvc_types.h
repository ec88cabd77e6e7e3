/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the pure files (format, layout, segment, clock) need of their
 * surroundings: fixed-size types, byte order, errno and CRC32C, in the kernel
 * and in userspace. Pure files include nothing else, allocate nothing and lock
 * nothing.
 */
#ifndef KVC_TYPES_H
#define KVC_TYPES_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/kernel.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/crc32c.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <asm/byteorder.h>

#else

#include "kvc_user.h"

#endif
#endif
