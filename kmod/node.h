/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Character nodes: /dev/kvcache, and /dev/kvcacheN for each pool, for programs
 * that are told a path and no number.
 */
#ifndef KVC_NODE_H
#define KVC_NODE_H

#include <linux/fs.h>

struct kvc_node;

/* Make /dev/kvcache. @fops is for all nodes; kvc_node_open() is to open them. */
int kvc_nodes_init(const struct file_operations *fops);
void kvc_nodes_exit(void);

/* Make a pool's node. ERR_PTR() on failure: the pool can do without. */
struct kvc_node *kvc_node_add(u32 number);

/* Files that are open stay open, and say ENODEV if the pool is gone. */
void kvc_node_del(struct kvc_node *node);

int kvc_node_open(struct inode *inode, struct file *file);

/* Number of the pool whose node this is, 0: of /dev/kvcache. */
static inline u32 kvc_node_pool(const struct file *file)
{
	return (u32)(unsigned long)file->private_data;
}

/**
 * kvc_node_choose() - which pool is meant?
 * @file: node
 * @number: as the caller gave it, 0: the node's; set to it
 *
 * Return: 0 or -EINVAL: another pool than the node's.
 */
static inline int kvc_node_choose(const struct file *file, u32 *number)
{
	const u32 node = kvc_node_pool(file);

	if (node && *number && *number != node)
		return -EINVAL;
	if (!*number)
		*number = node;
	return 0;
}

#endif
