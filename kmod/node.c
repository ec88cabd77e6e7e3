// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/miscdevice.h>
#include <linux/slab.h>
#include "node.h"

/**
 * struct kvc_node - a node
 * @misc: device
 * @number: of the pool, 0: default
 * @name: of the device
 */
struct kvc_node {
	struct miscdevice misc;
	u32 number;
	char name[24];
};

static const struct file_operations *kvc_node_fops;
static struct kvc_node *kvc_node_default;

struct kvc_node *kvc_node_add(u32 number)
{
	struct kvc_node *node = kzalloc(sizeof(*node), GFP_KERNEL);
	int err;

	if (!node)
		return ERR_PTR(-ENOMEM);
	if (number)
		snprintf(node->name, sizeof(node->name), "kvcache%u", number);
	else
		strscpy(node->name, "kvcache", sizeof(node->name));
	node->number = number;
	node->misc.minor = MISC_DYNAMIC_MINOR;
	node->misc.name = node->name;
	node->misc.mode = 0660;
	node->misc.fops = kvc_node_fops;
	err = misc_register(&node->misc);
	if (!err)
		return node;
	kfree(node);
	return ERR_PTR(err);
}

void kvc_node_del(struct kvc_node *node)
{
	/* No open is under way after this, and files don't point to it. */
	misc_deregister(&node->misc);
	kfree(node);
}

int kvc_node_open(struct inode *inode, struct file *file)
{
	struct kvc_node *node = container_of(file->private_data,
					     struct kvc_node, misc);

	file->private_data = (void *)(unsigned long)node->number;
	return 0;
}

int kvc_nodes_init(const struct file_operations *fops)
{
	kvc_node_fops = fops;
	kvc_node_default = kvc_node_add(0);
	return PTR_ERR_OR_ZERO(kvc_node_default);
}

void kvc_nodes_exit(void)
{
	kvc_node_del(kvc_node_default);
}
