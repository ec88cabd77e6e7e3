// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a PCI device: peer direct|staged
 *
 * Maps memory that an NVMe controller publishes (its CMB) and puts and gets
 * objects from and to it, of all kinds of lengths and places. direct: members can
 * reach it; staged: they can't, so the kernel refuses, and the library takes a
 * way round.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvcache.h"
#include "vmtest.h"

#define PEER_BYTES	(8U << 20)

static struct kvc *kvc;
static uint8_t *peer, *plain;
static const struct kvc_call call = { .deadline_ms = 60000 };

/*
 * Whole sectors, or nothing that a device takes as it is: at other multiples of 4
 * QEMU itself exchanges bytes between an NVMe disk and memory of a device.
 */
static const struct {
	size_t at, len;
} objects[] = {
	{ 0, 4096 },	    { 0, 512 },		{ 4096, 65536 },
	{ 0, 1 << 20 },	    { 8192, 3 << 20 },	{ 512, 4096 },
	{ 1024, 100000 },   { 1, 1 },		{ 3, 4097 },
	{ 4095, 70001 },    { 101, 1000001 },
};
#define NR_OBJECTS (sizeof(objects) / sizeof(*objects))

static uint8_t *map_peer(void)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *d;
	char path[512];
	void *p = MAP_FAILED;
	int fd;

	vt_need(dir, "/sys/bus/pci/devices: %s", strerror(errno));
	while (p == MAP_FAILED && (d = readdir(dir))) {
		snprintf(path, sizeof(path),
			 "/sys/bus/pci/devices/%s/p2pmem/allocate", d->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		p = mmap(NULL, PEER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		vt_need(p != MAP_FAILED, "map %s: %s", path, strerror(errno));
		vt_note("peer memory: %s", path);
		close(fd);
	}
	closedir(dir);
	vt_need(p != MAP_FAILED, "no device publishes memory");
	return p;
}

/* As the kernel answers, with nothing between. */
static int by_kernel(unsigned long command, const char *key, void *data, size_t len,
		     size_t *transferred)
{
	struct kvcache_io io;
	struct kvcache_batch batch = {
		.size = sizeof(batch),
		.ios = (uint64_t)(uintptr_t)&io,
		.count = 1,
		.io_size = sizeof(io),
		.deadline_ms = call.deadline_ms,
	};

	kvc_prep_data(&io, key, strlen(key), data, len);
	if (ioctl(kvc_fd(kvc), command, &batch))
		return -errno;
	if (transferred)
		*transferred = io.transferred;
	return io.status;
}

static void forget(uint8_t *p)
{
	memset(p, 0xee, PEER_BYTES);
}

static void each(bool direct)
{
	size_t i, got_len;
	char key[32];
	ssize_t got;
	int err;

	for (i = 0; i < NR_OBJECTS; i++) {
		size_t at = objects[i].at, len = objects[i].len;

		/* From there, and what was put is read the ordinary way. */
		snprintf(key, sizeof(key), "peer-%zu", i);
		forget(peer);
		vt_fill(peer + at, i, 0, len);
		err = by_kernel(KVCACHE_IOC_PUT, key, peer + at, len, NULL);
		vt_expect(err == (direct ? 0 : -EOPNOTSUPP), "put %s: %d", key, err);
		if (!direct) {
			err = kvc_put(kvc, &call, key, strlen(key), peer + at, len);
			vt_expect(!err, "staged put %s: %d", key, err);
		}
		got = kvc_get(kvc, &call, key, strlen(key), plain, PEER_BYTES, NULL);
		vt_expect(got == (ssize_t)len && vt_differs(plain, i, 0, len) < 0,
			  "%s as it was put: %zd", key, got);

		/* And to there, with nothing written beside it. */
		forget(peer);
		err = by_kernel(KVCACHE_IOC_GET, key, peer + at, len, &got_len);
		vt_expect(err == (direct ? 0 : -EOPNOTSUPP), "get %s: %d", key, err);
		if (!direct)
			got_len = (size_t)kvc_get(kvc, &call, key, strlen(key),
						  peer + at, len, NULL);
		vt_expect(got_len == len && vt_differs(peer + at, i, 0, len) < 0,
			  "%s read to there: %zu", key, got_len);
		vt_expect((!at || vt_not_all(peer, 0xee, at) < 0) &&
			  vt_not_all(peer + at + len, 0xee, 4096) < 0,
			  "%s: bytes beside it were written", key);
	}
}

/* One object, half of it here and half of it there. */
static void test_mixed(bool direct)
{
	struct kvcache_iovec v[3] = {
		{ (uint64_t)(uintptr_t)plain, 8192 },
		{ (uint64_t)(uintptr_t)(peer + 4096), 65536 + 100 },
		{ (uint64_t)(uintptr_t)(plain + 65536), 5000 },
	};
	const size_t len = 8192 + 65536 + 100 + 5000;
	struct kvcache_io io;
	ssize_t got;

	vt_begin("an object in pieces, some of them there: %s",
		 direct ? "put and read" : "staged");
	vt_fill(plain, 7, 0, v[0].len);
	vt_fill(peer + 4096, 7, v[0].len, v[1].len);
	vt_fill(plain + 65536, 7, v[0].len + v[1].len, v[2].len);
	kvc_prep_iovec(&io, "mixed", 5, (struct iovec *)v, 3);
	got = kvc_batch_put(kvc, &call, &io, 1);
	vt_expect(got == 1 && !io.status, "put: %zd, %d", got, io.status);
	forget(peer);
	memset(plain, 0, PEER_BYTES);
	kvc_prep_iovec(&io, "mixed", 5, (struct iovec *)v, 3);
	got = kvc_batch_get(kvc, &call, &io, 1);
	vt_expect(got == 1 && !io.status && io.transferred == len, "get: %zd, %d",
		  got, io.status);
	vt_expect(vt_differs(plain, 7, 0, v[0].len) < 0 &&
		  vt_differs(peer + 4096, 7, v[0].len, v[1].len) < 0 &&
		  vt_differs(plain + 65536, 7, v[0].len + v[1].len, v[2].len) < 0,
		  "other bytes than were put");
	vt_end();
}

int main(int argc, char **argv)
{
	bool direct = argc > 1 && !strcmp(argv[1], "direct");

	kvc = kvc_open(NULL, 0);
	vt_need(kvc, "open: %s", strerror(errno));
	plain = vt_map(PEER_BYTES);
	peer = map_peer();
	vt_begin(direct ? "objects go straight between members and memory of a PCI device" :
			  "members that can't reach it: EOPNOTSUPP, and the library takes a way round");
	each(direct);
	vt_end();
	test_mixed(direct);
	munmap(peer, PEER_BYTES);
	kvc_close(kvc);
	vt_exit();
}
