// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchtime.h"
#include "vmtest.h"

void bench_times_begin(struct bench_times *t, uint64_t count)
{
	t->nr = 0;
	t->room = count < 1U << 20 ? count : 1U << 20;
	t->ns = malloc(t->room * sizeof(*t->ns));
	vt_need(t->ns, "memory");
	memset(t->ns, 1, t->room * sizeof(*t->ns));
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void bench_report(struct bench_times *t, uint64_t ops, size_t size, uint64_t ns)
{
	double sum = 0;
	uint64_t i;

	for (i = 0; i < t->nr; i++)
		sum += (double)t->ns[i];
	if (t->nr)
		qsort(t->ns, t->nr, sizeof(*t->ns), compare);
	printf("ops=%llu ns=%llu per_op_ns=%.1f per_s=%.1f bytes_per_s=%.0f",
	       (unsigned long long)ops, (unsigned long long)ns,
	       (double)ns / (double)ops, (double)ops * 1e9 / (double)ns,
	       (double)ops * (double)size * 1e9 / (double)ns);
	if (t->nr)
		printf(" mean_ns=%.1f p50_ns=%llu p99_ns=%llu", sum / (double)t->nr,
		       (unsigned long long)t->ns[t->nr / 2],
		       (unsigned long long)t->ns[t->nr * 99 / 100]);
	printf("\n");
}
