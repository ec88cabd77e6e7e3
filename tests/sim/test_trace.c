// SPDX-License-Identifier: MIT
/*
 * The trace reader, with lines as they should and should not be, and the
 * generator: the same on every machine, and of the shape that was asked for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace.h"

/* A trace that holds @text. */
static struct trace *trace_of(const char *text, size_t len)
{
	char path[] = "/tmp/kvc-trace-XXXXXX";
	int fd = mkstemp(path);
	struct trace *t;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	t = trace_open(path);
	assert_non_null(t);
	unlink(path);
	return t;
}

#define TRACE_OF(text) trace_of(text, sizeof(text) - 1)

static void reads_requests(void **state)
{
	struct trace *t = TRACE_OF(
		"{\"timestamp\": 5, \"input_length\": 1100, \"output_length\": 3, \"hash_ids\": [7, 9007199254740992, 0]}\r\n"
		"\n  \t\n"
		"{\"hash_ids\":[],\"more\":{\"a\":[null]},\"output_length\":0,\"input_length\":0,\"timestamp\":9}");
	struct trace_request r;

	(void)state;
	assert_int_equal(trace_next(t, &r), 1);
	assert_int_equal(r.timestamp_ms, 5);
	assert_int_equal(r.input_length, 1100);
	assert_int_equal(r.output_length, 3);
	assert_int_equal(r.nr_blocks, 3);
	assert_int_equal(r.hash_ids[0], 7);
	assert_int_equal(r.hash_ids[1], 1ULL << 53);
	assert_int_equal(r.hash_ids[2], 0);
	/* The last line may lack its end. */
	assert_int_equal(trace_next(t, &r), 1);
	assert_int_equal(r.timestamp_ms, 9);
	assert_int_equal(r.nr_blocks, 0);
	assert_int_equal(trace_next(t, &r), 0);
	assert_int_equal(trace_next(t, &r), 0);
	trace_close(t);
}

#define HEAD	"{\"timestamp\":1,\"input_length\":2,\"output_length\":3"
#define GOOD	HEAD ",\"hash_ids\":[4]}\n"

/* A malformed line between two good ones is named and passed over. */
static void names_malformed_lines(void **state)
{
	static const struct {
		const char *line;
		const char *error;
	} cases[] = {
		{ "hello\n", "line 3: not JSON" },
		{ HEAD ",\"hash_ids\":[4\n", "line 3: not JSON" },
		{ HEAD ",\"hash_ids\":[4]}}\n", "line 3: something after the JSON object" },
		{ "[1]\n", "line 3: not a JSON object" },
		{ HEAD "}\n", "line 3: no list \"hash_ids\"" },
		{ HEAD ",\"hash_ids\":{}}\n", "line 3: no list \"hash_ids\"" },
		{ HEAD ",\"hash_ids\":[4,\"5\"]}\n",
		  "line 3: a hash id is not a whole number of 0 .. 2^53" },
		{ HEAD ",\"hash_ids\":[-1]}\n",
		  "line 3: a hash id is not a whole number of 0 .. 2^53" },
		{ HEAD ",\"hash_ids\":[1e300]}\n",
		  "line 3: a hash id is not a whole number of 0 .. 2^53" },
		{ "{\"timestamp\":1.5,\"input_length\":2,\"output_length\":3,\"hash_ids\":[4]}\n",
		  "line 3: no whole number \"timestamp\"" },
		{ "{\"timestamp\":1,\"output_length\":3,\"hash_ids\":[4]}\n",
		  "line 3: no whole number \"input_length\"" },
		{ "{\"timestamp\":1,\"input_length\":2,\"output_length\":null,\"hash_ids\":[4]}\n",
		  "line 3: no whole number \"output_length\"" },
	};
	struct trace_request r;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[512];
		struct trace *t;
		int len = snprintf(text, sizeof(text), GOOD "\n%s" GOOD, cases[i].line);

		t = trace_of(text, len);
		assert_int_equal(trace_next(t, &r), 1);
		assert_int_equal(trace_next(t, &r), -EINVAL);
		assert_string_equal(trace_error(t), cases[i].error);
		assert_int_equal(trace_next(t, &r), 1);
		assert_int_equal(r.hash_ids[0], 4);
		assert_int_equal(trace_next(t, &r), 0);
		trace_close(t);
	}
}

static void survives_strange_bytes(void **state)
{
	struct trace *t = TRACE_OF("\0\0\n" "{\"timestamp\":1\0}\n" "\xff\xfe\n" GOOD);
	struct trace_request r;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(trace_next(t, &r), -EINVAL);
	assert_int_equal(trace_next(t, &r), 1);
	assert_int_equal(trace_next(t, &r), 0);
	trace_close(t);
}

static void bounds_lines_and_lists(void **state)
{
	size_t room = TRACE_MAX_LINE + 4096, i, len;
	char *text = malloc(room);
	struct trace_request r;
	struct trace *t;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', room);
	text[TRACE_MAX_LINE + 100] = '\n';
	memcpy(text + TRACE_MAX_LINE + 101, GOOD, sizeof(GOOD) - 1);
	t = trace_of(text, TRACE_MAX_LINE + 101 + sizeof(GOOD) - 1);
	assert_int_equal(trace_next(t, &r), -EINVAL);
	assert_string_equal(trace_error(t), "line 1: longer than 16 MiB");
	assert_int_equal(trace_next(t, &r), 1);
	trace_close(t);

	len = sprintf(text, HEAD ",\"hash_ids\":[1");
	for (i = 0; i < TRACE_MAX_BLOCKS; i++)
		len += sprintf(text + len, ",%zu", i);
	len += sprintf(text + len, "]}\n" GOOD);
	t = trace_of(text, len);
	assert_int_equal(trace_next(t, &r), -EINVAL);
	assert_string_equal(trace_error(t), "line 1: more than 65536 hash_ids");
	assert_int_equal(trace_next(t, &r), 1);
	trace_close(t);
	free(text);
}

static void reports_files_that_cannot_be_read(void **state)
{
	struct trace_request r;
	struct trace *t;

	(void)state;
	assert_null(trace_open("/nonexistent/trace.jsonl"));
	assert_int_equal(errno, ENOENT);
	t = trace_open("/");
	assert_non_null(t);
	assert_int_equal(trace_next(t, &r), -EIO);
	assert_string_equal(trace_error(t), "line 1: Is a directory");
	trace_close(t);
}

/* --- the generator --- */

static u64 fold(u64 sum, u64 value)
{
	return (sum ^ value) * 0x100000001b3;
}

static u64 checksum(u64 seed)
{
	struct trace_shape shape = { .seed = seed, .requests = 2000 };
	struct trace *t = trace_generate(&shape);
	u64 sum = 0xcbf29ce484222325;
	struct trace_request r;
	u32 i;

	assert_non_null(t);
	while (trace_next(t, &r) == 1) {
		sum = fold(sum, r.timestamp_ms);
		sum = fold(sum, r.input_length);
		sum = fold(sum, r.output_length);
		for (i = 0; i < r.nr_blocks; i++)
			sum = fold(sum, r.hash_ids[i]);
	}
	trace_close(t);
	return sum;
}

static void makes_the_same_trace_everywhere(void **state)
{
	(void)state;
	/* Figures in the documentation rest on these traces. */
	assert_int_equal(checksum(1), 0xdd87da5e48ad912d);
	assert_int_equal(checksum(2), 0x40617c388c39670b);
}

static void makes_the_shape_asked_for(void **state)
{
	struct trace_shape shape = { .seed = 7, .requests = 20000, .prompts = 3,
				     .prompt_tokens = 5000, .sessions = 100 };
	struct trace *t = trace_generate(&shape);
	u64 last_ms = 0, outputs = 0, new_blocks = 0, shared = 0, next = 0;
	struct trace_request r;
	u32 n = 0, i;

	(void)state;
	assert_non_null(t);
	assert_int_equal(shape.new_percent, 65);
	while (trace_next(t, &r) == 1) {
		assert_true(r.timestamp_ms >= last_ms);
		last_ms = r.timestamp_ms;
		assert_in_range(r.input_length, 1, shape.max_tokens);
		assert_int_equal(r.nr_blocks, (r.input_length + 511) / 512);
		/* What others share comes first, what is new behind it. */
		for (i = 0; i < r.nr_blocks && r.hash_ids[i] < next; i++)
			shared++;
		for (; i < r.nr_blocks; i++, new_blocks++)
			assert_int_equal(r.hash_ids[i], next++);
		outputs += r.output_length;
		n++;
	}
	assert_int_equal(n, shape.requests);
	/* Means, within five standard errors. */
	assert_in_range(last_ms / n, 289, 311);
	assert_in_range(outputs / n, 370, 398);
	assert_in_range(100 * shared / (shared + new_blocks), 40, 60);
	trace_close(t);
}

static void refuses_shapes_that_are_too_large(void **state)
{
	struct trace_shape shape = { .new_percent = 101 };

	(void)state;
	assert_null(trace_generate(&shape));
	assert_int_equal(errno, EINVAL);
}

static void makes_the_smallest_shapes(void **state)
{
	struct trace_shape shape = {
		.requests = 1000, .sessions = 1, .interval_ms = 1, .new_percent = 1,
		.prompts = 1, .prompt_tokens = 1, .first_tokens = 1,
		.turn_tokens = 1, .output_tokens = 1, .max_tokens = 1,
	};
	struct trace *t = trace_generate(&shape);
	struct trace_request r;
	u32 n = 0;

	(void)state;
	assert_non_null(t);
	while (trace_next(t, &r) == 1) {
		assert_int_equal(r.nr_blocks, 1);
		n++;
	}
	assert_int_equal(n, 1000);
	trace_close(t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_requests),
		cmocka_unit_test(names_malformed_lines),
		cmocka_unit_test(survives_strange_bytes),
		cmocka_unit_test(bounds_lines_and_lists),
		cmocka_unit_test(reports_files_that_cannot_be_read),
		cmocka_unit_test(makes_the_same_trace_everywhere),
		cmocka_unit_test(makes_the_shape_asked_for),
		cmocka_unit_test(refuses_shapes_that_are_too_large),
		cmocka_unit_test(makes_the_smallest_shapes),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
