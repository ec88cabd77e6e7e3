// SPDX-License-Identifier: GPL-2.0
/*
 * What a program would do without kvcache, for scripts/bench: the same puts, gets
 * and exists by io_uring, on
 *
 *   raw	a block device: no names at all, only offsets
 *   file	one file per object in a directory, O_DIRECT. A get opens, reads and
 *		closes; a put creates, writes, fsyncs and closes
 *   table	one large file, O_DIRECT, and a table from key to offset in memory. A
 *		put writes its data, then a block of the table's log, which it shares
 *		with all puts whose data is down, and fdatasync
 *
 * Answers of puts mean the same as kvcache's: it is on media.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "benchtime.h"
#include "vmtest.h"

#define DEPTH_MAX	128
#define KEY_SIZE	64
#define COMMIT		DEPTH_MAX	/* user_data of a commit's entries */
#define MINOR		(1U << 16)	/* user_data: only its failure matters */

enum op { PUT, GET, EXISTS };
enum kind { RAW, FILES, TABLE };

static struct options {
	enum op op;
	enum kind kind;
	size_t size;
	unsigned int depth;
	uint64_t count;
	uint64_t objects;
	uint64_t first;
	const char *path;
} o = { .op = GET, .kind = RAW, .size = 4096, .depth = 1, .count = 1000,
	.objects = 1000 };

static struct io_uring ring;
static struct bench_times times;
static uint8_t *data, *block;
static uint64_t starts[DEPTH_MAX];
static uint64_t number[DEPTH_MAX];	/* of the object that a place is at */
static unsigned int left[DEPTH_MAX];	/* entries that have not ended */
static char names[DEPTH_MAX][24];
static int fd = -1, table_fd = -1;
static uint64_t begun, ended;

/* --- the table --- */

struct row {
	char key[KEY_SIZE];
	uint64_t offset;
	uint64_t length;
};

static struct row *rows;
static uint64_t nr_rows, log_at;
static unsigned int waiting[DEPTH_MAX], nr_waiting, committing[DEPTH_MAX],
		    nr_committing;

static void key_of(char *key, uint64_t n)
{
	static const char hex[] = "0123456789abcdef";
	size_t i;

	memset(key, 'k', KEY_SIZE);
	for (i = KEY_SIZE; i-- > KEY_SIZE - 12; n >>= 4)
		key[i] = hex[n & 15];
}

static uint64_t hash_of(const char *key)
{
	uint64_t h = 0, word;
	unsigned int i;

	for (i = 0; i < KEY_SIZE; i += 8) {
		memcpy(&word, key + i, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	return h;
}

static struct row *row_of(const char *key)
{
	uint64_t at = hash_of(key) & (nr_rows - 1);

	while (rows[at].length && memcmp(rows[at].key, key, KEY_SIZE))
		at = (at + 1) & (nr_rows - 1);
	return &rows[at];
}

static void row_add(uint64_t n)
{
	char key[KEY_SIZE];
	struct row *row;

	key_of(key, n);
	row = row_of(key);
	memcpy(row->key, key, KEY_SIZE);
	row->offset = n * o.size;
	row->length = o.size;
}

static const struct row *row_get(uint64_t n)
{
	char key[KEY_SIZE];
	struct row *row;

	key_of(key, n);
	row = row_of(key);
	return row->length ? row : NULL;
}

static void table_begin(void)
{
	uint64_t i;

	for (nr_rows = 1024; nr_rows < 2 * (o.objects + o.first + o.count); nr_rows *= 2)
		;
	rows = calloc(nr_rows, sizeof(*rows));
	vt_need(rows, "memory");
	for (i = 0; o.op != PUT && i < o.objects; i++)
		row_add(i);
}

/* --- entries --- */

static struct io_uring_sqe *entry(uint64_t user_data, unsigned int flags)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	vt_need(sqe, "a submission entry");
	sqe->user_data = user_data;
	sqe->flags = (uint8_t)flags;
	return sqe;
}

/* prep functions clear what was set before. */
static void entry_is(struct io_uring_sqe *sqe, uint64_t user_data, unsigned int flags)
{
	sqe->user_data = user_data;
	sqe->flags |= (uint8_t)flags;
}

static void name_of(unsigned int k)
{
	snprintf(names[k], sizeof(names[k]), "%012" PRIx64, number[k]);
}

static void begin_file(unsigned int k)
{
	uint8_t *at = data + k * o.size;
	struct io_uring_sqe *sqe;

	name_of(k);
	sqe = entry(0, 0);
	io_uring_prep_openat_direct(sqe, fd, names[k], o.op == PUT ?
				    O_CREAT | O_EXCL | O_WRONLY | O_DIRECT :
				    O_RDONLY | O_DIRECT, 0600, k);
	entry_is(sqe, k | MINOR, IOSQE_IO_LINK);
	sqe = entry(0, 0);
	if (o.op == PUT)
		io_uring_prep_write_fixed(sqe, (int)k, at, (unsigned int)o.size, 0, 0);
	else
		io_uring_prep_read_fixed(sqe, (int)k, at, (unsigned int)o.size, 0, 0);
	entry_is(sqe, k, IOSQE_IO_LINK | IOSQE_FIXED_FILE);
	left[k] = 3;
	if (o.op == PUT) {
		sqe = entry(0, 0);
		io_uring_prep_fsync(sqe, (int)k, 0);
		entry_is(sqe, k | MINOR, IOSQE_IO_LINK | IOSQE_FIXED_FILE);
		left[k] = 4;
	}
	sqe = entry(0, 0);
	io_uring_prep_close_direct(sqe, k);
	entry_is(sqe, k | MINOR, 0);
}

static void begin_run(unsigned int k)
{
	uint64_t offset = number[k] * o.size;
	uint8_t *at = data + k * o.size;
	struct io_uring_sqe *sqe;

	if (o.kind == TABLE && o.op == GET) {
		const struct row *row = row_get(number[k]);

		vt_need(row, "object %" PRIu64 " is in the table", number[k]);
		offset = row->offset;
	}
	sqe = entry(0, 0);
	if (o.op == PUT)
		io_uring_prep_write_fixed(sqe, 0, at, (unsigned int)o.size, offset, 0);
	else
		io_uring_prep_read_fixed(sqe, 0, at, (unsigned int)o.size, offset, 0);
	entry_is(sqe, k, IOSQE_FIXED_FILE);
	left[k] = 1;
}

/* All puts whose data is down share one block of the log. */
static void begin_commit(void)
{
	struct io_uring_sqe *sqe;
	unsigned int i;

	memcpy(committing, waiting, sizeof(waiting));
	nr_committing = nr_waiting;
	nr_waiting = 0;
	for (i = 0; i < nr_committing; i++) {
		struct row row = { .offset = number[committing[i]] * o.size,
				   .length = o.size };

		key_of(row.key, number[committing[i]]);
		memcpy(block + i * sizeof(row), &row, sizeof(row));
	}
	sqe = entry(0, 0);
	io_uring_prep_write_fixed(sqe, 1, block, 16384, log_at, 1);
	entry_is(sqe, COMMIT | MINOR, IOSQE_IO_LINK | IOSQE_FIXED_FILE);
	log_at = (log_at + 16384) % (1U << 20);
	sqe = entry(0, 0);
	io_uring_prep_fsync(sqe, 0, IORING_FSYNC_DATASYNC);
	entry_is(sqe, COMMIT, IOSQE_FIXED_FILE);
}

static void done(unsigned int k)
{
	bench_took(&times, bench_ns() - starts[k]);
	starts[k] = 0;
	ended++;
}

static void completed(const struct io_uring_cqe *cqe)
{
	const unsigned int k = (unsigned int)cqe->user_data & (MINOR - 1);
	unsigned int i;

	vt_need(cqe->res >= 0, "entry %llx: %s", (unsigned long long)cqe->user_data,
		strerror(-cqe->res));
	if (k == COMMIT) {
		if (cqe->user_data & MINOR)
			return;
		for (i = 0; i < nr_committing; i++) {
			row_add(number[committing[i]]);
			done(committing[i]);
		}
		nr_committing = 0;
		return;
	}
	vt_need(cqe->user_data & MINOR || cqe->res == (int)o.size,
		"%d bytes instead of %zu", cqe->res, o.size);
	if (--left[k])
		return;
	if (o.kind == TABLE && o.op == PUT)
		waiting[nr_waiting++] = k;
	else
		done(k);
}

static void run(void)
{
	struct io_uring_cqe *cqe;
	unsigned int k;
	int ret;

	while (ended < o.count) {
		for (k = 0; k < o.depth && begun < o.count; k++) {
			if (starts[k])
				continue;
			number[k] = o.op == PUT ? o.first + begun :
						  vt_mix(begun, 1) % o.objects;
			begun++;
			starts[k] = bench_ns();
			if (o.kind == FILES)
				begin_file(k);
			else
				begin_run(k);
		}
		if (nr_waiting && !nr_committing)
			begin_commit();
		ret = io_uring_submit_and_wait(&ring, 1);
		vt_need(ret >= 0, "submit: %s", strerror(-ret));
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			completed(cqe);
			io_uring_cqe_seen(&ring, cqe);
		}
	}
}

/* No I/O: a look into the table, or a path that is walked. */
static void run_exists(void)
{
	uint64_t i, start;

	for (i = 0; i < o.count; i++) {
		number[0] = vt_mix(i, 1) % o.objects;
		start = bench_ns();
		if (o.kind == FILES) {
			name_of(0);
			vt_need(!faccessat(fd, names[0], F_OK, 0), "%s is there",
				names[0]);
		} else {
			vt_need(row_get(number[0]), "it is in the table");
		}
		bench_took(&times, bench_ns() - start);
	}
}

/* --- what to do --- */

static void begin(void)
{
	struct iovec iov[2];
	char path[256];
	int files[DEPTH_MAX], ret;
	unsigned int k;

	data = aligned_alloc(4096, o.size * o.depth);
	block = aligned_alloc(4096, 16384);
	vt_need(data && block, "memory");
	memset(data, 0x5a, o.size * o.depth);
	memset(block, 0, 16384);
	ret = io_uring_queue_init(o.depth * 4 + 4, &ring, IORING_SETUP_SINGLE_ISSUER |
				  IORING_SETUP_DEFER_TASKRUN);
	vt_need(!ret, "a ring: %s", strerror(-ret));
	iov[0] = (struct iovec){ data, o.size * o.depth };
	iov[1] = (struct iovec){ block, 16384 };
	ret = io_uring_register_buffers(&ring, iov, 2);
	vt_need(!ret, "register the memory: %s", strerror(-ret));
	for (k = 0; k < DEPTH_MAX; k++)
		files[k] = -1;
	if (o.kind == FILES) {
		fd = open(o.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} else {
		fd = open(o.path, O_RDWR | O_DIRECT | O_CLOEXEC);
		files[0] = fd;
	}
	vt_need(fd >= 0, "open %s: %s", o.path, strerror(errno));
	if (o.kind == TABLE) {
		table_begin();
		snprintf(path, sizeof(path), "%s.log", o.path);
		table_fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
		vt_need(table_fd >= 0, "open %s: %s", path, strerror(errno));
		files[1] = table_fd;
	}
	ret = io_uring_register_files(&ring, files, DEPTH_MAX);
	vt_need(!ret, "register the files: %s", strerror(-ret));
}

static unsigned int one_of(const char *value, const char *const *values)
{
	unsigned int i;

	for (i = 0; values[i]; i++)
		if (!strcmp(value, values[i]))
			return i;
	fprintf(stderr, "bench_peer: what is '%s'?\n", value);
	exit(2);
}

int main(int argc, char **argv)
{
	static const char *const ops[] = { "put", "get", "exists", NULL };
	static const char *const kinds[] = { "raw", "file", "table", NULL };
	static const struct option options[] = {
		{ "path", required_argument, NULL, 'p' },
		{ "op", required_argument, NULL, 'o' },
		{ "kind", required_argument, NULL, 'k' },
		{ "size", required_argument, NULL, 's' },
		{ "depth", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		{ "objects", required_argument, NULL, 'n' },
		{ "first", required_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 }
	};
	uint64_t start;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p': o.path = optarg; break;
		case 'o': o.op = (enum op)one_of(optarg, ops); break;
		case 'k': o.kind = (enum kind)one_of(optarg, kinds); break;
		case 's': o.size = strtoull(optarg, NULL, 0); break;
		case 'd': o.depth = (unsigned int)strtoul(optarg, NULL, 0); break;
		case 'c': o.count = strtoull(optarg, NULL, 0); break;
		case 'n': o.objects = strtoull(optarg, NULL, 0); break;
		case 'f': o.first = strtoull(optarg, NULL, 0); break;
		default: exit(2);
		}
	}
	if (!o.path || !o.depth || o.depth > DEPTH_MAX || !o.size || !o.count ||
	    !o.objects || (o.op == EXISTS && o.kind == RAW))
		exit(2);
	bench_times_begin(&times, o.count);
	begin();
	start = bench_ns();
	if (o.op == EXISTS)
		run_exists();
	else
		run();
	bench_report(&times, o.count, o.size, bench_ns() - start);
	return 0;
}
