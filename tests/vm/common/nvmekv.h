/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVMe KV commands as programs send them, by ioctl and by io_uring: the tests'
 * own declaration of both, from linux/nvme_ioctl.h.
 */
#ifndef KVC_NVMEKV_H
#define KVC_NVMEKV_H

#include <linux/nvme_ioctl.h>
#include <liburing.h>
#include "vmtest.h"

enum nk_opcode {
	NK_STORE	= 0x01,
	NK_RETRIEVE	= 0x02,
	NK_LIST		= 0x06,
	NK_DELETE	= 0x10,
	NK_EXIST	= 0x14,
};

enum nk_status {
	NK_INVALID_OPCODE	= 0x01,
	NK_INVALID_FIELD	= 0x02,
	NK_INVALID_NS		= 0x0b,
	NK_NOT_READY		= 0x82,
	NK_INVALID_VALUE_SIZE	= 0x85,
	NK_INVALID_KEY_SIZE	= 0x86,
	NK_NO_KEY		= 0x87,
	NK_UNRECOVERED		= 0x88,
	NK_KEY_EXISTS		= 0x89,
};

#define NK_MUST_EXIST		0x1
#define NK_MUST_NOT_EXIST	0x2

struct nk_cmd {
	struct nvme_passthru_cmd64 c;
	int status;		/* of the completion, or -errno */
	bool done;
};

/* Ready for one key of up to 16 bytes, and memory. */
void nk_prep(struct nk_cmd *cmd, uint8_t opcode, const void *key, size_t key_len,
	     void *data, uint32_t len);
void nk_options(struct nk_cmd *cmd, uint8_t options);

/* By ioctl. As @cmd->status; @cmd->c.result. */
int nk_ioctl(int fd, struct nk_cmd *cmd);
int nk_ioctl_admin(int fd, struct nk_cmd *cmd);
/* By the ioctl with the narrow result. */
int nk_ioctl32(int fd, struct nk_cmd *cmd);

/**
 * struct nk_ring - a ring for commands
 * @ring: liburing's
 * @big: completions have a result
 */
struct nk_ring {
	struct io_uring ring;
	bool big;
};

/* 0 or -errno. @flags: IORING_SETUP_* besides SQE128. */
int nk_ring_open(struct nk_ring *r, unsigned int entries, unsigned int flags);
void nk_ring_close(struct nk_ring *r);
/* Queue a command; it must stay until it is done. Its entry can still be changed. */
struct io_uring_sqe *nk_ring_queue(struct nk_ring *r, int fd, struct nk_cmd *cmd);
/* Submit what is queued and wait until @n more commands are done. */
void nk_ring_wait(struct nk_ring *r, unsigned int n);
int nk_ring_run(struct nk_ring *r, int fd, struct nk_cmd *cmd);

#endif
