/* SPDX-License-Identifier: GPL-2.0 */
/* The border for what a lock service says, and for what it needs to know. */
#ifndef KVC_CLUSTER_H
#define KVC_CLUSTER_H

#include <linux/fs.h>

/* KVCACHE_IOC_GRANT, KVCACHE_IOC_AGS, KVCACHE_IOC_SLOTS */
long kvc_cluster_grant(void __user *arg);
long kvc_cluster_ags(struct file *file, void __user *arg);
long kvc_cluster_slots(struct file *file, void __user *arg);

#endif
