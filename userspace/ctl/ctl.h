/* SPDX-License-Identifier: MIT */
/*
 * kvcachectl: what its sub-commands share.
 *
 * A sub-command is one file, cmd_NAME.c, with one entry, cmd_NAME(). It states
 * its options in a struct ctl_usage, from which --help is printed, reads them
 * with ctl_getopt(), and returns an enum ctl_exit. It never calls exit().
 *
 *	static const struct ctl_option options[] = {
 *		{ 'n', "name", "NAME", "name of the pool" },
 *		{ 1000, "dry-run", NULL, "only say what would be done" },
 *		{}
 *	};
 *	static const struct ctl_usage usage = {
 *		.args = "[options] device...",
 *		.about = "One or more sentences.",
 *		.options = options,
 *	};
 *
 *	int cmd_example(struct ctl *ctl, int argc, char **argv)
 *	{
 *		int c;
 *
 *		while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1)
 *			switch (c) { ... ctl_optarg ... }
 *		(arguments are argv[ctl_optind] .. argv[argc - 1])
 *
 * --help, -o/--output, -q/--quiet and -d/--device need no entry.
 *
 * What people or scripts asked for goes to stdout, everything else to stderr.
 * With ctl->json, stdout is exactly one JSON value.
 */
#ifndef KVC_CTL_H
#define KVC_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <cjson/cJSON.h>

#include "kvc_codec.h"

/* Exit codes, documented in kvcachectl(8). */
enum ctl_exit {
	CTL_OK		= 0,
	CTL_FAIL	= 1,	/* it did not work: device, kernel, memory */
	CTL_USAGE	= 2,	/* the command line is wrong */
	CTL_MISS	= 3,	/* no such object, or no such pool */
	CTL_EXISTS	= 4,	/* put: the key is there; attach: so is the pool */
	CTL_BUSY	= 5,	/* not this moment, or the deadline passed */
	CTL_REFUSED	= 6,	/* format, attach, connect: refused for safety */
	CTL_DAMAGE	= 7,	/* fsck, dump: media are damaged; get: bad data */
	CTL_UNFIT	= 8,	/* check: at least one FAIL line */
};

/**
 * struct ctl - what the command line said for all commands
 * @prog: "kvcachectl"
 * @command: name of the running sub-command
 * @device: character device of the module (-d)
 * @json: -o json: stdout is one JSON value
 * @quiet: -q: no progress, no remarks; errors still show
 */
struct ctl {
	const char *prog;
	const char *command;
	const char *device;
	bool json;
	bool quiet;
};

#define CTL_DEVICE "/dev/kvcache"

/* --- commands --- */

int cmd_connect(struct ctl *ctl, int argc, char **argv);
int cmd_format(struct ctl *ctl, int argc, char **argv);
int cmd_attach(struct ctl *ctl, int argc, char **argv);
int cmd_detach(struct ctl *ctl, int argc, char **argv);
int cmd_info(struct ctl *ctl, int argc, char **argv);
int cmd_stat(struct ctl *ctl, int argc, char **argv);
int cmd_put(struct ctl *ctl, int argc, char **argv);
int cmd_get(struct ctl *ctl, int argc, char **argv);
int cmd_exists(struct ctl *ctl, int argc, char **argv);
int cmd_rm(struct ctl *ctl, int argc, char **argv);
int cmd_ls(struct ctl *ctl, int argc, char **argv);
int cmd_check(struct ctl *ctl, int argc, char **argv);
int cmd_fsck(struct ctl *ctl, int argc, char **argv);
int cmd_dump(struct ctl *ctl, int argc, char **argv);
int cmd_replay(struct ctl *ctl, int argc, char **argv);
int cmd_ags(struct ctl *ctl, int argc, char **argv);
int cmd_slots(struct ctl *ctl, int argc, char **argv);
int cmd_grant(struct ctl *ctl, int argc, char **argv);
int cmd_grow(struct ctl *ctl, int argc, char **argv);
int cmd_refresh(struct ctl *ctl, int argc, char **argv);
int cmd_drain(struct ctl *ctl, int argc, char **argv);
int cmd_remove(struct ctl *ctl, int argc, char **argv);

/* --- options (options.c) --- */

/**
 * struct ctl_option - one option of a sub-command
 * @id: what ctl_getopt() returns: its letter, or a number from 1000 for an
 *	option that has only a long form
 * @name: long form, without the dashes
 * @arg: name of its argument, NULL: it takes none
 * @help: one sentence without a full stop
 */
struct ctl_option {
	int id;
	const char *name;
	const char *arg;
	const char *help;
};

/**
 * struct ctl_usage - what --help prints
 * @args: behind the command's name in the usage line
 * @about: what it does; may have several lines
 * @options: ends with an entry of zeroes
 */
struct ctl_usage {
	const char *args;
	const char *about;
	const struct ctl_option *options;
};

/*
 * Next option's id, -1 at the end. Help (exit status 0) and wrong options
 * (CTL_USAGE) end the program right here.
 */
int ctl_getopt(struct ctl *ctl, const struct ctl_usage *usage, int argc,
	       char **argv);
extern char *ctl_optarg;
extern int ctl_optind;

/* Take one of the options of all commands, for main(); false: it is none. */
bool ctl_common_option(struct ctl *ctl, int id, char *argument);

/* The command line is wrong: say what, point to --help, exit(CTL_USAGE). */
void ctl_usage_error(struct ctl *ctl, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* --- messages (message.c) --- */

/**
 * ctl_err() - say what went wrong, about what, and what to do next
 * @ctl: program
 * @subject: device, pool, file or key concerned; NULL: none
 * @next: what to do about it, a sentence; NULL: nothing helpful to say
 * @fmt: what happened
 *
 * With -o json, one JSON object on a line of stderr.
 *
 * Return: CTL_FAIL, for "return ctl_err(...)".
 */
int ctl_err(struct ctl *ctl, const char *subject, const char *next,
	    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The same for something that does not stop the command. */
void ctl_warn(struct ctl *ctl, const char *subject, const char *next,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* A remark on stderr; nothing with -q or -o json. */
void ctl_note(struct ctl *ctl, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Out of memory ends the program. */
void *ctl_alloc(size_t bytes);		/* zeroed */
char *ctl_strdup(const char *s);
char *ctl_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- numbers (parse.c) --- */

/* "4096", "64k", "256MiB", "1.5G"; powers of 1024; the whole string. */
bool ctl_parse_size(const char *s, u64 *out);
/* Decimal or 0x hexadecimal; the whole string; at most @max. */
bool ctl_parse_u64(const char *s, u64 max, u64 *out);
/* "10", "10s", "500ms", "5m", "2h", "1d"; a bare number counts in @unit_ms. */
bool ctl_parse_ms(const char *s, u64 unit_ms, u64 *out);
/* Even number of hex digits, optionally with 0x; bytes, or -1. */
ssize_t ctl_parse_hex(const char *s, void *out, size_t room);
/* 8-4-4-4-12. */
bool ctl_parse_uuid(const char *s, u8 uuid[16]);

#define CTL_TEXT 48
/* "256 MiB", "1.5 GiB", "17 B". Returns @buf. */
const char *ctl_size(char buf[CTL_TEXT], u64 bytes);
const char *ctl_uuid(char buf[CTL_TEXT], const u8 *uuid);
/* Two digits per byte; @room >= 2 * len + 1. */
const char *ctl_hex(char *buf, size_t room, const void *data, size_t len);
/*
 * A key for people: as it is if all of it is printable UTF-8 without blanks
 * and does not begin with "0x", else 0x and hex digits. Room for any key:
 */
#define CTL_KEY_TEXT (2 * KVC_MAX_KEY + 3)
const char *ctl_key(char buf[CTL_KEY_TEXT], const void *key, size_t len);
bool ctl_key_printable(const void *key, size_t len);

/* --- JSON (json.c) --- */

/* cJSON keeps numbers as double: these keep all 64 bits. */
void ctl_json_u64(cJSON *object, const char *name, u64 value);
void ctl_json_hex64(cJSON *object, const char *name, u64 value); /* "0x..." */
void ctl_json_uuid(cJSON *object, const char *name, const u8 *uuid);
void ctl_json_hex(cJSON *object, const char *name, const void *data, size_t len);
/* "key" if it is printable UTF-8, else "key_hex". */
void ctl_json_key(cJSON *object, const void *key, size_t len);

/* Print to stdout and free. */
void ctl_json_print(cJSON *value);

/**
 * struct ctl_json_array - an array too long for memory, item by item
 *
 * Usage: begin (prints "["), any number of items, end (prints "]"). For an
 * array inside of an object, print what is around it yourself.
 */
struct ctl_json_array {
	u64 count;
};
void ctl_json_array_begin(struct ctl_json_array *a);
void ctl_json_array_item(struct ctl_json_array *a, cJSON *item); /* frees it */
void ctl_json_array_end(struct ctl_json_array *a);

/* --- progress (progress.c) --- */

/**
 * struct ctl_progress - how far long work has come, on stderr
 *
 * A bar that is redrawn on a terminal, a line every 10 s elsewhere, nothing
 * with -q; nothing at all for work that takes less than a second.
 */
struct ctl_progress {
	struct ctl *ctl;
	const char *what;
	u64 total;
	u64 done;
	u64 begun_ns;
	u64 shown_ns;
	bool terminal;
	bool drawn;
};
/* @what: "reading journals"; @total: in any unit, 0: not known. */
void ctl_progress_begin(struct ctl_progress *p, struct ctl *ctl,
			const char *what, u64 total);
void ctl_progress_set(struct ctl_progress *p, u64 done);
void ctl_progress_add(struct ctl_progress *p, u64 more);
void ctl_progress_end(struct ctl_progress *p);

/* --- devices (dev.c) --- */

#define CTL_DEV_READ	0x0
#define CTL_DEV_WRITE	0x1
#define CTL_DEV_EXCL	0x2	/* O_EXCL: refused if mounted or held */
#define CTL_DEV_QUIET	0x4	/* no message on failure */

/**
 * struct ctl_dev - a member, or what may be one: block device or image file
 * @path: as given
 * @fd: file
 * @is_block: a block device, not a regular file
 * @writable: opened with CTL_DEV_WRITE
 * @bytes: size
 * @blocks: whole 4 KiB blocks in it
 * @id: st_rdev of a block device; of a file 0
 * @ino: st_dev and st_ino, to tell that two paths are one file
 */
struct ctl_dev {
	char *path;
	int fd;
	bool is_block;
	bool writable;
	u64 bytes;
	u64 blocks;
	dev_t id;
	dev_t ino_dev;
	ino_t ino;
};

/* O_DIRECT where the file allows it. 0 or -errno, with a message. */
int ctl_dev_open(struct ctl *ctl, struct ctl_dev *dev, const char *path,
		 unsigned int flags);
void ctl_dev_close(struct ctl_dev *dev);
bool ctl_dev_same(const struct ctl_dev *a, const struct ctl_dev *b);

/* Whole 4 KiB blocks, @buf from ctl_buffer(). 0 or -errno; no message. */
int ctl_dev_read(const struct ctl_dev *dev, u64 block, void *buf, size_t blocks);
int ctl_dev_write(const struct ctl_dev *dev, u64 block, const void *buf,
		  size_t blocks);
int ctl_dev_zero(const struct ctl_dev *dev, u64 block, u64 blocks);
int ctl_dev_flush(const struct ctl_dev *dev);

/* Zeroed memory for O_DIRECT; free() it. Out of memory ends the program. */
void *ctl_buffer(size_t blocks);

/*
 * What the kernel says about a device (sysfs.c): the value of an attribute
 * without the line's end; its length or -errno. @path as in printf().
 */
int ctl_attribute(char *value, size_t room, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* World wide identifier of a block device; empty if it has none. */
void ctl_wwid(const struct ctl_dev *dev, char *wwid, size_t room);
/* Name of the block device under /sys/class/block; false: not one. */
bool ctl_sys_name(const struct ctl_dev *dev, char *name, size_t room);

/* --- pools on media (probe.c) --- */

/**
 * struct pool_label - one of a member's two labels, as read
 * @error: 0, or the -errno of the read
 * @verdict: of kvc_block_verify(), for any pool and address
 * @usable: sound, stands where it says, decoded and its geometry is sane
 * @why: if not @usable, a clause that says why
 * @sequence: if sound
 * @incarnation: if sound: of its writer
 * @member: if sound: whose label it says it is
 * @g: if @usable
 */
struct pool_label {
	int error;
	enum kvc_block_verdict verdict;
	bool usable;
	const char *why;
	u64 sequence;
	u64 incarnation;
	u32 member;
	struct kvc_geometry g;
};

/**
 * struct pool_dev - a device that was probed
 * @dev: the open device
 * @label: at its start and at its end
 * @newest: the usable one with the higher sequence, NULL: none
 * @wwid_hash: of the device as it is now, 0: it has no identifier
 * @member: if it is a member of the pool that was chosen: its number, else -1
 */
struct pool_dev {
	struct ctl_dev dev;
	struct pool_label label[2];
	struct pool_label *newest;
	u64 wwid_hash;
	int member;
};

/**
 * struct pool_problem - one thing that is not as it should be
 * @error: true: the kernel would refuse the pool; false: a remark
 * @dev: index in pool_probe.devs, -1: none in particular
 * @text: a sentence for people, without the device's name
 */
struct pool_problem {
	bool error;
	int dev;
	char *text;
};

/**
 * struct pool_probe - the pool that a set of devices holds
 * @devs: every device given, in the order given
 * @nr_devs: how many
 * @found: a pool was found: the fields below hold
 * @g: geometry of the newest usable label of all devices
 * @sequence: its sequence
 * @source: device that it was read from (index)
 * @members: per member number: its device, NULL: not among those given
 * @nr_present: members that have a device
 * @problems: what is wrong, most serious first
 * @nr_problems: how many
 * @nr_errors: of these, errors
 */
struct pool_probe {
	struct pool_dev *devs;
	u32 nr_devs;
	bool found;
	struct kvc_geometry g;
	u64 sequence;
	u32 source;
	struct pool_dev *members[KVC_MAX_MEMBERS];
	u32 nr_present;
	struct pool_problem *problems;
	u32 nr_problems;
	u32 nr_errors;
};

/**
 * pool_probe() - read the labels of devices and find out which pool they are
 * @ctl: program
 * @p: filled in; pool_probe_free() it, also on failure
 * @paths: devices or image files, in any order
 * @nr: how many
 * @flags: CTL_DEV_*
 *
 * Disagreement between labels is no failure: it stands in @p->problems. The
 * pool is the one that most of the devices belong to, as its newest label tells
 * it; devices of other pools are problems.
 *
 * Return: 0, or -errno with a message: a device can't be opened.
 */
int pool_probe(struct ctl *ctl, struct pool_probe *p, char *const *paths,
	       int nr, unsigned int flags);
void pool_probe_free(struct pool_probe *p);

/* Tell the problems: warnings and errors on stderr. */
void pool_probe_report(struct ctl *ctl, const struct pool_probe *p);

/* Array of { "level", "device", "text" }. */
cJSON *pool_probe_json(const struct pool_probe *p);

/* Read blocks of a member: -ENXIO if it is not there, -ERANGE behind its end. */
int pool_read(const struct pool_probe *p, struct kvc_place place, void *buf,
	      size_t blocks);
int pool_write(const struct pool_probe *p, struct kvc_place place,
	       const void *buf, size_t blocks);

/**
 * pool_scan() - find the members of a pool among all block devices
 * @ctl: program
 * @pool: name or UUID; NULL: every pool
 * @paths: set to an array of paths to free, and each of them, too
 *
 * A name that two pools bear is an error that says their UUIDs.
 *
 * Return: how many, or -errno with a message.
 */
int pool_scan(struct ctl *ctl, const char *pool, char ***paths);

#endif
