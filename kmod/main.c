// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include "batch.h"
#include "chardev.h"
#include "debugfs.h"
#include "object.h"
#include "pool.h"
#include "uring.h"
#include "xfer.h"

#define CREATE_TRACE_POINTS
#include "tracepoints.h"

static int __init kvc_init(void)
{
	int err;

	err = kvc_xfer_init();
	if (err)
		return err;
	err = kvc_put_init();
	if (err)
		goto exit_xfer;
	err = kvc_batch_init();
	if (err)
		goto exit_put;
	err = kvc_uring_init();
	if (err)
		goto exit_batch;
	err = kvc_chardev_init();
	if (err)
		goto exit_uring;
	kvc_debugfs_init();
	return 0;

exit_uring:
	kvc_uring_exit();
exit_batch:
	kvc_batch_exit();
exit_put:
	kvc_put_exit();
exit_xfer:
	kvc_xfer_exit();
	return err;
}

/* No file is open any more: what is still attached is detached in order. */
static void __exit kvc_exit(void)
{
	kvc_debugfs_exit();
	kvc_chardev_exit();
	kvc_pools_exit();
	rcu_barrier();		/* chunks on their way to be freed */
	kvc_uring_exit();
	kvc_batch_exit();
	kvc_put_exit();
	kvc_xfer_exit();
}

module_init(kvc_init);
module_exit(kvc_exit);

MODULE_DESCRIPTION("Key-value objects on block devices that many hosts share");
MODULE_AUTHOR("kvcache developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
MODULE_SOFTDEP("pre: crc32c");
