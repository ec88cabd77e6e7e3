/* SPDX-License-Identifier: MIT */
/* What the commands that talk to the module share. */
#ifndef KVC_CTL_CALL_H
#define KVC_CTL_CALL_H

#include "ctl.h"
#include "kvcache.h"

/* Options that such commands have in common, for their struct ctl_option. */
#define CALL_OPTION_POOL						\
	{ 'p', "pool", "POOL", "number, name or UUID of an attached pool (default: the lowest number)" }
#define CALL_OPTION_TENANT						\
	{ 't', "tenant", "N", "tenant that the keys belong to (default 0)" }
#define CALL_OPTION_HEX							\
	{ 'x', "hex", NULL, "keys are given as hex digits" }
#define CALL_OPTION_DEADLINE						\
	{ 'D', "deadline", "TIME", "give up after this time, as 500ms or 10s (default 1s)" }

/**
 * struct call - what the common options said
 * @pool: text of --pool, NULL: not given
 * @hex: --hex
 * @call: tenant and deadline for the library
 * @kvc: handle, after call_open()
 */
struct call {
	const char *pool;
	bool hex;
	struct kvc_call call;
	struct kvc *kvc;
};

/* Take one of the options above; false: it is none of them. */
bool call_option(struct ctl *ctl, struct call *call, int id);

/* Open the device and find the pool: CTL_OK, or an exit code with a message. */
int call_open(struct ctl *ctl, struct call *call);
void call_close(struct call *call);

/* A handle without a pool, for attach, detach and info; NULL with a message. */
struct kvc *call_device(struct ctl *ctl);

/* Number of an attached pool by number, name or UUID; 0 with a message. */
unsigned int call_find_pool(struct ctl *ctl, struct kvc *kvc, const char *text);

/* Name of a KVCACHE_MODE_*. */
const char *call_mode_name(u32 mode);

/* Has this attached pool the name or UUID? */
bool call_pool_matches(struct ctl *ctl, unsigned int pool, const char *text);

/* Tell an error of the library about something, return the exit code. */
int call_failed(struct ctl *ctl, const char *subject, int error);
/* The exit code alone. */
int call_exit_code(int error);

/**
 * struct call_key - a key from the command line
 * @len: bytes
 * @bytes: the key
 * @text: for messages
 */
struct call_key {
	size_t len;
	u8 bytes[KVCACHE_KEY_MAX];
	char text[CTL_KEY_TEXT];
};

/* Ends the program if the text is no key. */
void call_key(struct ctl *ctl, const struct call *call, const char *text,
	      struct call_key *key);

/* "1700000000", or "+10m" from now on; seconds since 1970. */
bool call_parse_moment(const char *text, u64 *seconds);

#endif
