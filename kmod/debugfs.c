// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: /sys/kernel/debug/kvcache/
 *
 * abandon: write a pool's number, and the attachment ends as if the host had
 *	crashed there and then: no bio goes out any more, nothing is written, all
 *	state is forgotten. For tests: hundreds of crashes in one boot.
 * abandon_after: write how many bios that write may still go out; then I/O
 *	stops for the attachment that sends the next one, be it still attaching.
 *	An attach fails by that, a pool that serves is to be written to abandon.
 *	Reads back what is left.
 * pace: every live member of every pool: how much data may be on its way to it,
 *	and what reads from it usually take.
 * ags: every AG of every pool: epoch, journal, segments by state.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include "debugfs.h"
#include "pool.h"

static struct dentry *kvc_debugfs;

static ssize_t kvc_abandon_write(struct file *file, const char __user *ubuf,
				 size_t len, loff_t *pos)
{
	struct kvc_pool *pool;
	u32 number;
	int err;

	err = kstrtou32_from_user(ubuf, len, 0, &number);
	if (err)
		return err;
	pool = number ? kvc_pool_get(number) : NULL;
	if (!pool)
		return -ENODEV;
	err = kvc_pool_abandon(pool);
	kvc_pool_put(pool);
	return err ?: len;
}

static const struct file_operations kvc_abandon_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kvc_abandon_write,
};

/* --- abandon_after --- */

atomic_t kvc_abandon_left __read_mostly;

static int kvc_abandon_after_get(void *unused, u64 *writes)
{
	*writes = max(atomic_read(&kvc_abandon_left) - 1, 0);
	return 0;
}

static int kvc_abandon_after_set(void *unused, u64 writes)
{
	if (writes >= INT_MAX)
		return -EINVAL;
	atomic_set(&kvc_abandon_left, writes ? writes + 1 : 0);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(kvc_abandon_after_fops, kvc_abandon_after_get,
			 kvc_abandon_after_set, "%llu\n");

/* --- ags --- */

static void kvc_show_ag(struct seq_file *m, struct kvc_ag *ag)
{
	u32 i, state[4] = {}, live = 0, dead = 0;

	mutex_lock(&ag->lock);
	for (i = 0; i < ag->nr; i++) {
		state[ag->segments[i].s.state & 3]++;
		live += atomic_read(&ag->segments[i].live);
		dead += atomic_read(&ag->segments[i].dead);
	}
	seq_printf(m, "  ag %u epoch %llu head %llu durable %llu next %llu killed %d free %u open %u sealed %u retired %u live %u dead %u checkpoint %llu/%llu\n",
		   ag->number, ag->journal.epoch, ag->journal.head,
		   ag->journal.durable, ag->journal.next, ag->journal.killed,
		   state[KVC_SEG_FREE], state[KVC_SEG_OPEN],
		   state[KVC_SEG_SEALED], state[KVC_SEG_RETIRED], live, dead,
		   kvc_ag_checkpoint_bytes(ag), ag->checkpoint_limit);
	mutex_unlock(&ag->lock);
}

/* Every pool in turn, while it serves. */
static void kvc_show_pools(struct seq_file *m,
			   void (*show)(struct seq_file *m, struct kvc_pool *pool))
{
	u32 numbers[16], i, n;

	n = min_t(u32, kvc_pool_numbers(numbers, ARRAY_SIZE(numbers)),
		  ARRAY_SIZE(numbers));
	for (i = 0; i < n; i++) {
		struct kvc_pool *pool = kvc_pool_get(numbers[i]);

		if (!pool)
			continue;
		if (!kvc_pool_enter(pool)) {
			seq_printf(m, "pool %u %s\n", pool->number,
				   pool->g.name);
			show(m, pool);
			kvc_pool_leave(pool);
		}
		kvc_pool_put(pool);
	}
}

static void kvc_show_ags(struct seq_file *m, struct kvc_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->g.nr_ags; i++)
		if (pool->join->ags[i].owned)
			kvc_show_ag(m, &pool->join->ags[i]);
}

static int kvc_ags_show(struct seq_file *m, void *unused)
{
	kvc_show_pools(m, kvc_show_ags);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kvc_ags);

/* --- pace --- */

static void kvc_show_paces(struct seq_file *m, struct kvc_pool *pool)
{
	struct kvc_member_set *set = pool->join->set;
	u32 i, k;

	for (i = 0; i < set->nr; i++) {
		struct kvc_pace *pace = &set->m[i].pace;
		u32 limit = READ_ONCE(pace->limit);

		if (kvc_member_health(&set->m[i]) != KVC_HEALTH_LIVE)
			continue;
		seq_printf(m, "  member %u limit ", i);
		if (limit == KVC_PACE_OPEN)
			seq_puts(m, "none");
		else
			seq_printf(m, "%u", limit);
		seq_printf(m, " writing %d held_back %llu usual_ns",
			   atomic_read(&pace->writing),
			   READ_ONCE(pace->held_back));
		for (k = 0; k < KVC_PACE_CLASSES; k++)
			seq_printf(m, " %u", READ_ONCE(pace->usual[k]));
		seq_putc(m, '\n');
	}
}

static int kvc_pace_show(struct seq_file *m, void *unused)
{
	kvc_show_pools(m, kvc_show_paces);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kvc_pace);

void kvc_debugfs_init(void)
{
	kvc_debugfs = debugfs_create_dir("kvcache", NULL);
	debugfs_create_file("abandon", 0200, kvc_debugfs, NULL,
			    &kvc_abandon_fops);
	debugfs_create_file_unsafe("abandon_after", 0600, kvc_debugfs, NULL,
				   &kvc_abandon_after_fops);
	debugfs_create_file("ags", 0400, kvc_debugfs, NULL, &kvc_ags_fops);
	debugfs_create_file("pace", 0400, kvc_debugfs, NULL, &kvc_pace_fops);
}

void kvc_debugfs_exit(void)
{
	debugfs_remove_recursive(kvc_debugfs);
}
