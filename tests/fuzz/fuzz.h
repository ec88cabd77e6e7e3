/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzers of the on-media parsers share.
 *
 * An input is a control byte and then a block (a record for fuzz_record), which
 * zeroes complete. Control bits:
 *
 *	FUZZ_FIX	magic, version, type, pool UUID and CRC are made right, so
 *			that the fuzzer gets past them
 *	bits 1 and 2	which pool the block is of
 *	bit 7		the block is read from the wrong place
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "kvc_fixture.h"

#define FUZZ_FIX	0x1

/* Stronger than assert(): there whatever NDEBUG says. */
#define MUST(condition) do {						\
	if (!(condition)) {						\
		fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__,	\
			__LINE__, #condition);				\
		abort();						\
	}								\
} while (0)

struct fuzz_block {
	u8 b[KVC_BLOCK_SIZE];
} __aligned(8);

/* The pool that a control byte names. */
const struct kvc_geometry *fuzz_pool(u8 control);

/**
 * fuzz_input() - make a block of an input
 * @data: input
 * @size: its size
 * @type: enum kvc_block_type
 * @block: filled in
 *
 * Return: the pool, or NULL if the input is empty.
 */
const struct kvc_geometry *fuzz_input(const u8 *data, size_t size, u8 type,
				      struct fuzz_block *block);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif
