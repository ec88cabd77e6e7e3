/* SPDX-License-Identifier: MIT */
/*
 * A kernel for the library's tests: every ioctl() that the library makes must
 * be the next one expected, with exactly the bytes expected, and gets the
 * answer given. The linker's --wrap puts it in place.
 */
#ifndef KVC_TESTS_MOCK_H
#define KVC_TESTS_MOCK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kvcache.h"

#define MOCK_FD 4711

/**
 * struct mock_call - one ioctl() that is expected
 * @command: KVCACHE_IOC_*
 * @want: the structure that the library must pass
 * @len: its size
 * @result: 0, or a positive errno to fail with
 * @answer: changes the structure, and the arrays that it points to, as the
 *	kernel would; may be NULL
 * @context: for @answer
 */
struct mock_call {
	unsigned long command;
	const void *want;
	size_t len;
	int result;
	void (*answer)(void *argument, void *context);
	void *context;
};

/* Forget everything. */
void mock_reset(void);
/* @call and what it points to must stay until the ioctl() was made. */
void mock_expect(const struct mock_call *call);
/* Every expected ioctl() has been made. */
void mock_done(void);

/* What open() answers: 0, or a positive errno. */
extern int mock_open_error;
/* What the last open() was asked for, and how often close() was called. */
extern const char *mock_opened;
extern int mock_closed;
/* What CAPS says about batch_max. */
extern uint32_t mock_batch_max;
/* What CAPS says about features. */
extern uint64_t mock_features;
/* File that is mapped in the device's place. */
extern int mock_table;

/* A handle, its CAPS call done. */
struct kvc *mock_handle(unsigned int pool);

#endif
