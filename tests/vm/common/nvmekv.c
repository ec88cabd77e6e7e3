// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "nvmekv.h"

void nk_prep(struct nk_cmd *cmd, uint8_t opcode, const void *key, size_t key_len,
	     void *data, uint32_t len)
{
	uint8_t bytes[16] = {};
	uint32_t dwords[4];

	memset(cmd, 0, sizeof(*cmd));
	memcpy(bytes, key, key_len < 16 ? key_len : 16);
	memcpy(dwords, bytes, sizeof(dwords));
	cmd->c.opcode = opcode;
	cmd->c.nsid = 1;
	cmd->c.cdw2 = dwords[0];
	cmd->c.cdw3 = dwords[1];
	cmd->c.cdw14 = dwords[2];
	cmd->c.cdw15 = dwords[3];
	cmd->c.cdw11 = (uint32_t)key_len;
	cmd->c.addr = (uint64_t)(uintptr_t)data;
	cmd->c.data_len = len;
	cmd->c.cdw10 = len;
}

void nk_options(struct nk_cmd *cmd, uint8_t options)
{
	cmd->c.cdw11 |= (uint32_t)options << 8;
}

static int send_cmd(int fd, unsigned long request, struct nk_cmd *cmd)
{
	int ret = ioctl(fd, request, &cmd->c);

	cmd->status = ret < 0 ? -errno : ret;
	cmd->done = true;
	return cmd->status;
}

int nk_ioctl(int fd, struct nk_cmd *cmd)
{
	return send_cmd(fd, NVME_IOCTL_IO64_CMD, cmd);
}

int nk_ioctl_admin(int fd, struct nk_cmd *cmd)
{
	return send_cmd(fd, NVME_IOCTL_ADMIN64_CMD, cmd);
}

int nk_ioctl32(int fd, struct nk_cmd *cmd)
{
	struct nvme_passthru_cmd c;
	int ret;

	memcpy(&c, &cmd->c, offsetof(struct nvme_passthru_cmd, result));
	c.result = 0xdeadbeef;
	ret = ioctl(fd, NVME_IOCTL_IO_CMD, &c);
	cmd->c.result = c.result;
	cmd->status = ret < 0 ? -errno : ret;
	cmd->done = true;
	return cmd->status;
}

int nk_ring_open(struct nk_ring *r, unsigned int entries, unsigned int flags)
{
	r->big = flags & IORING_SETUP_CQE32;
	return io_uring_queue_init(entries, &r->ring, IORING_SETUP_SQE128 | flags);
}

void nk_ring_close(struct nk_ring *r)
{
	io_uring_queue_exit(&r->ring);
}

struct io_uring_sqe *nk_ring_queue(struct nk_ring *r, int fd, struct nk_cmd *cmd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);
	struct nvme_uring_cmd *u;

	if (!sqe) {
		int ret = io_uring_submit(&r->ring);

		vt_need(ret >= 0, "submit: %s", strerror(-ret));
		sqe = io_uring_get_sqe(&r->ring);
		vt_need(sqe, "a submission entry");
	}
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = NVME_URING_CMD_IO;
	sqe->user_data = (uint64_t)(uintptr_t)cmd;
	u = (struct nvme_uring_cmd *)sqe->cmd;
	memcpy(u, &cmd->c, offsetof(struct nvme_passthru_cmd64, rsvd2));
	cmd->done = false;
	return sqe;
}

void nk_ring_wait(struct nk_ring *r, unsigned int n)
{
	struct io_uring_cqe *cqe;
	struct nk_cmd *cmd;
	int ret;

	while (n) {
		ret = io_uring_submit_and_wait(&r->ring, 1);
		vt_need(ret >= 0 || ret == -EINTR, "wait: %s", strerror(-ret));
		while (n && !io_uring_peek_cqe(&r->ring, &cqe)) {
			cmd = (struct nk_cmd *)(uintptr_t)cqe->user_data;
			vt_expect(!cmd->done, "a command has ended twice");
			cmd->status = cqe->res;
			if (r->big)
				cmd->c.result = cqe->big_cqe[0];
			cmd->done = true;
			io_uring_cqe_seen(&r->ring, cqe);
			n--;
		}
	}
}

int nk_ring_run(struct nk_ring *r, int fd, struct nk_cmd *cmd)
{
	nk_ring_queue(r, fd, cmd);
	nk_ring_wait(r, 1);
	return cmd->status;
}
