/* SPDX-License-Identifier: MIT */
/* What the userspace tests share. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kvc_fixture.h"

/* A block of the media, aligned as the codec wants it. */
struct block {
	u8 b[KVC_BLOCK_SIZE];
} __aligned(8);

#define assert_fails(error, expression) \
	assert_int_equal(-(error), expression)

#endif
