/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between kernel versions: Debian's 6.1, 6.12 and 7.x.
 */
#ifndef KVC_COMPAT_H
#define KVC_COMPAT_H

#include <linux/version.h>
#include <linux/blkdev.h>

#endif
