// SPDX-License-Identifier: GPL-2.0
/*
 * Print the rate of this machine's time stamp counter in kHz.
 *
 * An emulated machine counts with it, too, but measures its rate against
 * emulated timers: on a host with much to do it once found a sixth, and its
 * seconds were that much shorter.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sight {
	uint64_t tsc;
	uint64_t ns;
};

/* Both clocks at once: the best of several tries, in which nothing came between. */
static struct sight look(void)
{
	struct sight best = { 0, 0 };
	uint64_t gap = UINT64_MAX;
	int i;

	for (i = 0; i < 50; i++) {
		uint64_t before = __rdtsc(), after;
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC_RAW, &t);
		after = __rdtsc();
		if (after - before >= gap)
			continue;
		gap = after - before;
		best.tsc = before + gap / 2;
		best.ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	}
	return best;
}

int main(void)
{
	const struct timespec pause = { 0, 50000000 };
	struct sight a = look(), b;

	nanosleep(&pause, NULL);
	b = look();
	printf("%llu\n", (unsigned long long)
	       ((b.tsc - a.tsc) * 1000000 / (b.ns - a.ns)));
	return 0;
}
