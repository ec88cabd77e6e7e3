// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs that many hosts share a pool: attachments in one kernel, each
 * with an AG of its own.
 *
 * usage: scale HOSTS [SECONDS]
 *
 * Prints "name: value". For virtual time, and members that answer after a time
 * that is long against the CPU's: then times divided by it are round trips.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "members.h"

#define HOSTS_MAX	64
#define PUTS		64

static struct vt_members pool;
static struct kvc *kvc[HOSTS_MAX];
static unsigned int hosts;
static char reason[1024];
static const struct kvc_call call = { .deadline_ms = 60000 };

static uint64_t ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void attach(unsigned int host)
{
	const struct kvc_attach_options o = {
		.paths = (const char *const *)pool.path,
		.nr_members = pool.nr,
		.flags = KVC_ATTACH_SHARED,
		.node = "scale",
		.mode = KVCACHE_MODE_STATIC,
		.host = host,
		.hosts = hosts,
	};
	struct kvc *any = kvc_open(NULL, 0);
	int number, tries = 0;

	do {
		number = kvc_attach(any, &o, reason, sizeof(reason));
	} while ((number == -ESTALE || number == -ETIMEDOUT) && tries++ < 10);
	vt_need(number > 0, "attach host %u: %d: %s", host, number, reason);
	kvc[host] = kvc_open(NULL, (unsigned int)number);
	vt_need(kvc[host], "open pool %d", number);
	kvc_close(any);
}

static struct kvcache_info info(unsigned int host)
{
	struct kvcache_info i = {};

	vt_need(!kvc_info(kvc[host], &i, NULL, 0), "info of host %u", host);
	return i;
}

/* Bytes written to members by a host, metadata and all. */
static uint64_t written(unsigned int host)
{
	struct kvcache_member_info m[8];
	struct kvcache_info i;
	uint64_t bytes = 0;
	unsigned int k;

	vt_need(!kvc_info(kvc[host], &i, m, 8), "info of host %u", host);
	for (k = 0; k < i.nr_members && k < 8; k++)
		bytes += m[k].written_bytes;
	return bytes;
}

/* At rest: what hosts read and write to know that nothing happens. */
static void rest(unsigned int seconds)
{
	struct kvcache_info was[HOSTS_MAX], now;
	uint64_t start, wrote[HOSTS_MAX], bytes = 0;
	double passes = 0, blocks = 0, took;
	unsigned int h;

	vt_sleep_ms(2000);
	start = ns();
	for (h = 0; h < hosts; h++) {
		was[h] = info(h);
		wrote[h] = written(h);
	}
	vt_sleep_ms(seconds * 1000);
	for (h = 0; h < hosts; h++) {
		now = info(h);
		passes += (double)(now.refreshes - was[h].refreshes);
		blocks += (double)(now.refresh_blocks - was[h].refresh_blocks);
		bytes += written(h) - wrote[h];
	}
	took = (double)(ns() - start) / 1e9;
	printf("rest_passes_per_host_s: %.2f\n", passes / took / hosts);
	printf("rest_journal_blocks_per_host_s: %.1f\n", blocks / took / hosts);
	printf("rest_written_bytes_per_host_s: %.0f\n", (double)bytes / took / hosts);
}

static void put(unsigned int host, const char *key)
{
	char data[4096];
	int err;

	memset(data, (int)strlen(key), sizeof(data));
	err = kvc_put(kvc[host], &call, key, strlen(key), data, sizeof(data));
	vt_need(!err, "put %s on host %u: %d", key, host, err);
}

static uint64_t get(unsigned int host, const char *key)
{
	char data[4096];
	uint64_t start = ns();
	ssize_t got = kvc_get(kvc[host], &call, key, strlen(key), data,
			      sizeof(data), NULL);

	vt_need(got == sizeof(data), "get %s on host %u: %zd", key, host, got);
	return ns() - start;
}

/* From a put's return to the same object on another host. */
static void visible(uint64_t trip)
{
	uint64_t first = 0, again = 0, own = 0, miss = 0, start;
	double first_trips, again_trips;
	unsigned int i, reader = hosts > 1;
	char key[32];

	for (i = 0; i < PUTS; i++) {
		snprintf(key, sizeof(key), "seen-%u", i);
		put(0, key);
		own += get(0, key);
		first += get(reader, key);
		again += get(reader, key);
		start = ns();
		vt_need(kvc_exists(kvc[reader], &call, "nothing", 7, NULL) == -ENOENT,
			"exists");
		miss += ns() - start;
		vt_sleep_ms(20);
	}
	printf("get_own_ns: %llu\n", (unsigned long long)own / PUTS);
	printf("get_other_first_ns: %llu\n", (unsigned long long)first / PUTS);
	printf("get_other_again_ns: %llu\n", (unsigned long long)again / PUTS);
	printf("miss_ns: %llu\n", (unsigned long long)miss / PUTS);
	first_trips = ((double)first - (double)again) / PUTS / (double)trip;
	again_trips = ((double)again - (double)own) / PUTS / (double)trip;
	printf("visible_first_trips: %.2f\n", first_trips);
	printf("visible_again_trips: %.2f\n", again_trips);
	printf("miss_trips: %.2f\n", (double)miss / PUTS / (double)trip);
	vt_result(first_trips <= 2, "what another host has just put costs %.2f round trips more, the first time",
		  first_trips);
	vt_result(again_trips <= 0.1, "and %.2f after that", again_trips);
}

/* From the RETIRE of a segment to its next use: the whole pool goes round. */
static void grace(void)
{
	uint64_t start = ns(), bytes = 0;
	static char data[65536];
	struct kvcache_info i;
	unsigned int k;
	char key[32];
	int err;

	for (k = 0; k < 2000; k++) {
		snprintf(key, sizeof(key), "round-%u", k);
		err = kvc_put(kvc[0], &call, key, strlen(key), data, sizeof(data));
		vt_need(!err, "put %s: %d", key, err);
		bytes += sizeof(data);
	}
	i = info(0);
	printf("round_evicted: %llu\n", (unsigned long long)i.evicted_objects);
	printf("round_mb_s: %.1f\n",
	       (double)bytes / 1e6 / ((double)(ns() - start) / 1e9));
}

int main(int argc, char **argv)
{
	unsigned int h, seconds = argc > 2 ? (unsigned int)atoi(argv[2]) : 5;
	uint64_t start, trip = argc > 3 ? strtoull(argv[3], NULL, 10) : 10000;
	char options[200];

	vt_need(argc > 1, "usage: scale HOSTS [SECONDS [ROUND-TRIP-NS]]");
	hosts = (unsigned int)atoi(argv[1]);
	vt_need(hosts && hosts <= HOSTS_MAX, "1 to %u hosts", HOSTS_MAX);
	vt_members_env(&pool, 0, 4);
	snprintf(options, sizeof(options),
		 "--name scale --lease 10s --q 0 --segment-size 1M --ags %u --slots %u --ring 256K",
		 hosts, hosts);
	vt_format(&pool, options);
	printf("hosts: %u\n", hosts);
	start = ns();
	for (h = 0; h < hosts; h++)
		attach(h);
	printf("attach_s: %.2f\n", (double)(ns() - start) / 1e9);
	rest(seconds);
	visible(trip);
	grace();
	for (h = 0; h < hosts; h++) {
		vt_need(!vt_detach(kvc_pool(kvc[h])), "detach of host %u", h);
		kvc_close(kvc[h]);
	}
	vt_ok("%u hosts", hosts);
	vt_exit();
}
