// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/kvcache: the border for administration and listing. Everything from
 * user memory is copied once and checked before anything is done with it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <uapi/linux/kvcache.h>
#include "batch.h"
#include "chardev.h"
#include "cluster.h"
#include "drain.h"
#include "grow.h"
#include "list.h"
#include "node.h"
#include "nvme_kv.h"
#include "object.h"
#include "uring.h"
#include "watch.h"

#define KVC_LIST_BUFFER_MAX	(4U << 20)

static long kvc_ioctl_caps(void __user *arg)
{
	struct kvcache_caps c;
	u32 size;
	int err = kvc_struct_in(&c, sizeof(c), arg);

	if (err)
		return err;
	if (c.reserved)
		return -EINVAL;
	size = c.size;
	c.version = KVCACHE_API_VERSION;
	c.features = KVCACHE_FEAT_PIN | KVCACHE_FEAT_RANGE | KVCACHE_FEAT_LIST |
		     KVCACHE_FEAT_NVME_KV | KVCACHE_FEAT_WATCH |
		     KVCACHE_FEAT_SETTLE | KVCACHE_FEAT_SHARED | KVCACHE_FEAT_URING |
		     KVCACHE_FEAT_FENCE | KVCACHE_FEAT_PRESENCE |
		     KVCACHE_FEAT_GROW;
	c.key_max = KVCACHE_KEY_MAX;
	c.batch_max = KVCACHE_BATCH_MAX;
	c.iov_max = KVCACHE_IOV_MAX;
	return kvc_struct_out(arg, &c, sizeof(c), size);
}

/* --- attach, detach --- */

static void kvc_attach_free(struct kvc_attach_args *args)
{
	u32 i;

	for (i = 0; args->paths && i < args->nr; i++)
		kfree(args->paths[i]);
	kfree(args->paths);
	kfree(args->wwid_hashes);
	kfree(args->reason);
}

static int kvc_attach_members(struct kvc_attach_args *args, u64 members,
			      u32 nr_members)
{
	struct kvcache_attach_member __user *u = u64_to_user_ptr(members);
	struct kvcache_attach_member m;
	u32 i;

	args->paths = kcalloc(nr_members, sizeof(*args->paths), GFP_KERNEL);
	args->wwid_hashes = kcalloc(nr_members, sizeof(*args->wwid_hashes),
				    GFP_KERNEL);
	args->reason = kzalloc(KVC_REASON_SIZE, GFP_KERNEL);
	if (!args->paths || !args->wwid_hashes || !args->reason)
		return -ENOMEM;
	args->nr = nr_members;
	for (i = 0; i < args->nr; i++) {
		char *path;

		if (copy_from_user(&m, &u[i], sizeof(m)))
			return -EFAULT;
		path = strndup_user(u64_to_user_ptr(m.path), KVCACHE_PATH_MAX);
		if (IS_ERR(path))
			return PTR_ERR(path);
		args->paths[i] = path;
		args->wwid_hashes[i] = m.wwid_hash;
	}
	return 0;
}

static bool kvc_terminated(const u8 *s, size_t size)
{
	return strnlen((const char *)s, size) < size;
}

static void kvc_attach_tell(u64 to, u32 len, const char *what, char *reason)
{
	size_t n;

	if (!reason || !reason[0])
		return;
	pr_err("%s: %s\n", what, reason);
	n = min_t(size_t, len, strlen(reason) + 1);
	if (!n || !to)
		return;
	reason[n - 1] = '\0';		/* also where it is cut */
	/* The errno says it as well: a bad pointer here is the caller's loss. */
	if (copy_to_user(u64_to_user_ptr(to), reason, n))
		pr_debug("%s: the reason could not be copied out\n", what);
}

static bool kvc_attach_mode_sound(const struct kvcache_attach *a)
{
	if (a->mode > KVCACHE_MODE_GRANTED ||
	    a->max_staleness_ms > KVCACHE_STALENESS_MAX_MS ||
	    memchr_inv(a->reserved2, 0, sizeof(a->reserved2)))
		return false;
	if (a->mode == KVCACHE_MODE_EXCLUSIVE && a->max_staleness_ms)
		return false;
	if (a->mode != KVCACHE_MODE_STATIC)
		return !a->host && !a->hosts;
	return a->hosts && a->hosts <= KVCACHE_HOSTS_MAX && a->host < a->hosts;
}

static long kvc_ioctl_attach(void __user *arg)
{
	struct kvc_attach_args args = {};
	struct kvcache_attach a;
	u32 number;
	int err;

	err = kvc_admin_struct_in(&a, sizeof(a), arg);
	if (err)
		return err;
	if (a.flags & ~KVCACHE_ATTACH_FLAGS || a.reserved || !a.nr_members ||
	    a.nr_members > KVCACHE_MEMBERS_MAX || a.pool > INT_MAX ||
	    !kvc_attach_mode_sound(&a) ||
	    !kvc_terminated(a.nqn, sizeof(a.nqn)) ||
	    !kvc_terminated(a.node, sizeof(a.node)))
		return -EINVAL;
	args.number = a.pool;
	args.degraded = a.flags & KVCACHE_ATTACH_DEGRADED;
	args.fence = a.flags & KVCACHE_ATTACH_FENCE;
	args.mode = a.mode;
	args.host = a.host;
	args.hosts = a.hosts;
	args.staleness_ms = a.max_staleness_ms;
	memcpy(args.id.nqn, a.nqn, sizeof(args.id.nqn));
	memcpy(args.id.node, a.node, sizeof(args.id.node));
	memcpy(args.id.boot_id, a.boot_id, sizeof(args.id.boot_id));
	err = kvc_attach_members(&args, a.members, a.nr_members);
	if (!err)
		err = kvc_pool_attach(&args, &number);
	if (!err) {
		a.pool = number;
		err = kvc_struct_out(arg, &a, sizeof(a), a.size);
	} else {
		kvc_attach_tell(a.reason, a.reason_len, "attach", args.reason);
	}
	kvc_attach_free(&args);
	return err;
}

static int kvc_grow_numbered(u32 number, struct kvc_grow_args *args)
{
	struct kvc_pool *pool = kvc_pool_get(number);
	int err;

	if (!pool)
		return -ENODEV;
	err = kvc_pool_grow(pool, args);
	kvc_pool_put(pool);
	return err;
}

static long kvc_ioctl_grow(void __user *arg)
{
	struct kvc_grow_args args = {};
	struct kvcache_grow g;
	int err;

	err = kvc_admin_struct_in(&g, sizeof(g), arg);
	if (err)
		return err;
	if (g.flags || g.reserved || !g.pool || !g.nr_members ||
	    g.nr_members > KVCACHE_MEMBERS_MAX)
		return -EINVAL;
	args.nr_ags = g.nr_ags;
	args.width = g.width;
	err = kvc_attach_members(&args.new, g.members, g.nr_members);
	if (!err)
		err = kvc_grow_numbered(g.pool, &args);
	if (!err) {
		g.nr_members = args.nr_members;
		g.nr_ags = args.total_ags;
		g.capacity = args.capacity;
		err = kvc_struct_out(arg, &g, sizeof(g), g.size);
	} else {
		kvc_attach_tell(g.reason, g.reason_len, "grow", args.new.reason);
	}
	kvc_attach_free(&args.new);
	return err;
}

static long kvc_ioctl_refresh(void __user *arg)
{
	struct kvc_attach_args args = {};
	struct kvcache_refresh r;
	struct kvc_pool *pool;
	int err;

	err = kvc_admin_struct_in(&r, sizeof(r), arg);
	if (err)
		return err;
	if (r.flags || r.reserved || !r.pool || !r.nr_members ||
	    r.nr_members > KVCACHE_MEMBERS_MAX)
		return -EINVAL;
	pool = kvc_pool_get(r.pool);
	if (!pool)
		return -ENODEV;
	err = kvc_attach_members(&args, r.members, r.nr_members);
	if (!err)
		err = kvc_pool_refresh(pool, &args);
	kvc_pool_put(pool);
	if (err)
		kvc_attach_tell(r.reason, r.reason_len, "refresh", args.reason);
	kvc_attach_free(&args);
	return err;
}

static long kvc_ioctl_detach(void __user *arg)
{
	struct kvcache_detach d;
	int err;

	err = kvc_admin_struct_in(&d, sizeof(d), arg);
	if (err)
		return err;
	if (d.flags || !d.pool || d.timeout_ms > KVCACHE_DEADLINE_MAX_MS)
		return -EINVAL;
	return kvc_pool_detach(d.pool, d.timeout_ms);
}

static int kvc_member_numbered(struct kvcache_member *u,
			       struct kvc_drain_args *args)
{
	struct kvc_pool *pool = kvc_pool_get(u->pool);
	int err;

	if (!pool)
		return -ENODEV;
	args->reason = kzalloc(KVC_REASON_SIZE, GFP_KERNEL);
	err = args->reason ? kvc_pool_member(pool, args) : -ENOMEM;
	kvc_pool_put(pool);
	if (err)
		kvc_attach_tell(u->reason, u->reason_len, "member", args->reason);
	kfree(args->reason);
	return err;
}

static long kvc_ioctl_member(void __user *arg)
{
	struct kvc_drain_args args = {};
	struct kvcache_member u;
	int err;

	err = kvc_admin_struct_in(&u, sizeof(u), arg);
	if (err)
		return err;
	if (u.flags & ~KVCACHE_MEMBER_FLAGS || u.reserved || !u.pool ||
	    u.op > KVCACHE_MEMBER_REMOVE ||
	    (u.flags && u.op != KVCACHE_MEMBER_REMOVE))
		return -EINVAL;
	args.op = u.op;
	args.member = u.member;
	args.lost = u.flags & KVCACHE_MEMBER_LOST;
	err = kvc_member_numbered(&u, &args);
	if (err)
		return err;
	u.role = args.role;
	u.objects = args.objects;
	u.bytes = args.bytes;
	u.segments = args.segments;
	u.behind = args.behind;
	return kvc_struct_out(arg, &u, sizeof(u), u.size);
}

/* --- info --- */

static void kvc_info_segments(struct kvc_join *join, struct kvcache_info *i)
{
	u64 live_blocks = 0;
	u32 a, k;

	for (a = 0; a < join->g->nr_ags; a++) {
		struct kvc_ag *ag = &join->ags[a];

		/* Its segments don't change hands meanwhile. */
		mutex_lock(&ag->lock);
		for (k = 0; k < ag->nr; k++) {
			struct kvc_segment *seg = &ag->segments[k];
			u32 state = READ_ONCE(seg->s.state);

			i->objects += atomic_read(&seg->live);
			live_blocks += atomic_read(&seg->live_blocks);
			if (state == KVC_SEG_FREE || state == KVC_SEG_RETIRED)
				i->free_segments++;
		}
		mutex_unlock(&ag->lock);
		i->owned_ags += ag->owned && !READ_ONCE(ag->journal.killed);
		i->journal_blocks += ag->journal.blocks_written;
		i->journal_commits += ag->journal.commits_written;
	}
	i->live = live_blocks << KVC_BLOCK_SHIFT;
	i->used = (u64)(i->nr_segments - i->free_segments) * i->segment_bytes;
}

static void kvc_info_join(struct kvc_join *join, struct kvcache_info *i)
{
	u64 now = ktime_get_boottime_ns();
	u64 until = READ_ONCE(join->lease_until);

	i->slot = join->writer.slot;
	i->incarnation = join->writer.incarnation;
	if (until > now)
		i->lease_left_ms = (u32)div_u64(until - now, NSEC_PER_MSEC);
	i->index_bytes = kvc_index_bytes(&join->index) +
			 kvc_presence_bytes(join->pool);
	i->attach_ns = join->load_ns;
	i->attach_objects = join->load_objects;
	kvc_info_segments(join, i);
}

static void kvc_info_pool(const struct kvc_pool *pool, struct kvcache_info *i)
{
	const struct kvc_geometry *g = &pool->g;

	i->pool = pool->number;
	memcpy(i->uuid, g->uuid, sizeof(i->uuid));
	memcpy(i->name, g->name, sizeof(i->name));
	i->capacity = (u64)g->nr_segments << g->segment_shift;
	i->max_object = kvc_max_object(g);
	i->segment_bytes = kvc_segment_bytes(g);
	i->nr_segments = g->nr_segments;
	i->nr_ags = g->nr_ags;
	i->flags_out = g->flags;
	i->lease_ms = g->lease_ms;
	i->mode = pool->mode;
	i->state = READ_ONCE(pool->state);
}

static void kvc_info_stats(struct kvc_stats __percpu *s, struct kvcache_info *i)
{
	i->puts = kvc_stat_sum(s, KVC_STAT_PUTS);
	i->put_bytes = kvc_stat_sum(s, KVC_STAT_PUT_BYTES);
	i->put_exists = kvc_stat_sum(s, KVC_STAT_PUT_EXISTS);
	i->gets = kvc_stat_sum(s, KVC_STAT_GETS);
	i->get_bytes = kvc_stat_sum(s, KVC_STAT_GET_BYTES);
	i->misses = kvc_stat_sum(s, KVC_STAT_MISSES);
	i->exists_hits = kvc_stat_sum(s, KVC_STAT_EXISTS_HITS);
	i->exists_misses = kvc_stat_sum(s, KVC_STAT_EXISTS_MISSES);
	i->deletes = kvc_stat_sum(s, KVC_STAT_DELETES);
	i->evicted_objects = kvc_stat_sum(s, KVC_STAT_EVICTED);
	i->evicted_bytes = kvc_stat_sum(s, KVC_STAT_EVICTED_BYTES);
	i->rewritten_objects = kvc_stat_sum(s, KVC_STAT_REWRITTEN);
	i->rewritten_bytes = kvc_stat_sum(s, KVC_STAT_REWRITTEN_BYTES);
	i->expired = kvc_stat_sum(s, KVC_STAT_EXPIRED);
	i->bad_data = kvc_stat_sum(s, KVC_STAT_BAD_DATA);
	i->timeouts = kvc_stat_sum(s, KVC_STAT_TIMEOUTS);
	i->checkpoints = kvc_stat_sum(s, KVC_STAT_CHECKPOINTS);
	i->discards = kvc_stat_sum(s, KVC_STAT_DISCARDS);
	i->refreshes = kvc_stat_sum(s, KVC_STAT_REFRESHES);
	i->refresh_blocks = kvc_stat_sum(s, KVC_STAT_REFRESH_BLOCKS);
	i->followed_blocks = kvc_stat_sum(s, KVC_STAT_FOLLOWED_BLOCKS);
	i->loads = kvc_stat_sum(s, KVC_STAT_LOADS);
	i->rotten_blocks = kvc_stat_sum(s, KVC_STAT_ROTTEN_BLOCKS);
	i->asks = kvc_stat_sum(s, KVC_STAT_ASKS);
	i->touches = kvc_stat_sum(s, KVC_STAT_TOUCHES);
	i->fenced = kvc_stat_sum(s, KVC_STAT_FENCED);
}

static int kvc_info_members(struct kvc_pool *pool, struct kvcache_info *i,
			    u32 room)
{
	struct kvcache_member_info __user *u = u64_to_user_ptr(i->members);
	struct kvcache_member_info *info;
	u32 k;
	int err = 0;

	i->nr_members = pool->g.nr_members;
	if (!i->members)
		return 0;
	info = kmalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	for (k = 0; k < min(room, i->nr_members) && !err; k++) {
		struct kvc_member *m = &pool->set.m[k];

		memset(info, 0, sizeof(*info));
		strscpy((char *)info->path, m->path, sizeof(info->path));
		memcpy(info->uuid, pool->g.members[k].uuid, sizeof(info->uuid));
		info->state = kvc_member_health(m);
		info->index = k;
		info->bytes = kvc_member_blocks(m) << KVC_BLOCK_SHIFT;
		info->read_bytes = percpu_counter_sum(&m->read_bytes);
		info->written_bytes = percpu_counter_sum(&m->written_bytes);
		info->errors = atomic64_read(&m->errors);
		info->volatile_cache = m->volatile_cache;
		info->registered = READ_ONCE(pool->fence.members) >> k & 1;
		if (copy_to_user(&u[k], info, sizeof(*info)))
			err = -EFAULT;
	}
	kfree(info);
	return err;
}

/* Also of a pool that is joining anew, which may take long: no waiting for it. */
static int kvc_info_fill(struct kvc_pool *pool, struct kvcache_info *i, u32 room)
{
	int err;

	down_read(&pool->members_lock);
	err = kvc_pool_enter(pool);
	if (pool->gone || err == -ENODEV) {
		up_read(&pool->members_lock);
		return -ENODEV;
	}
	kvc_info_pool(pool, i);
	kvc_info_stats(pool->stats, i);
	i->refused = atomic64_read(&pool->set.refusals);
	if (!err) {
		kvc_info_join(pool->join, i);
		kvc_pool_leave(pool);
	}
	err = kvc_info_members(pool, i, room);
	up_read(&pool->members_lock);
	return err;
}

static long kvc_ioctl_info(struct file *file, void __user *arg)
{
	struct kvcache_info in, *i = NULL;
	struct kvc_pool *pool;
	int err;

	err = kvc_struct_in(&in, sizeof(in), arg);
	if (err)
		return err;
	if (in.flags || memchr_inv(in.reserved, 0, sizeof(in.reserved)))
		return -EINVAL;
	err = kvc_node_choose(file, &in.pool);
	if (err)
		return err;
	pool = kvc_pool_get(in.pool);
	if (!pool)
		return -ENODEV;
	i = kzalloc(sizeof(*i), GFP_KERNEL);
	err = i ? 0 : -ENOMEM;
	if (err)
		goto out;
	i->members = in.members;
	err = kvc_info_fill(pool, i, in.nr_members);
	if (!err)
		err = kvc_struct_out(arg, i, sizeof(*i), in.size);
out:
	kfree(i);
	kvc_pool_put(pool);
	return err;
}

static long kvc_ioctl_pools(void __user *arg)
{
	struct kvcache_pools p;
	u32 *numbers, room, n;
	int err = kvc_struct_in(&p, sizeof(p), arg);

	if (err)
		return err;
	room = min_t(u32, p.count, 4096);
	numbers = kvcalloc(room + 1, sizeof(*numbers), GFP_KERNEL);
	if (!numbers)
		return -ENOMEM;
	n = kvc_pool_numbers(numbers, room);
	p.count = n;
	if (copy_to_user(u64_to_user_ptr(p.pools), numbers,
			 min(n, room) * sizeof(*numbers)))
		err = -EFAULT;
	kvfree(numbers);
	return err ?: kvc_struct_out(arg, &p, sizeof(p), p.size);
}

/* --- list --- */

static int kvc_list_check(const struct kvcache_list *l)
{
	if (l->flags & ~KVCACHE_LIST_FLAGS || l->reserved ||
	    l->buffer_len < 4096 || l->prefix_len > KVCACHE_KEY_MAX ||
	    (l->prefix_len && !l->prefix) ||
	    l->deadline_ms > KVCACHE_DEADLINE_MAX_MS)
		return -EINVAL;
	return 0;
}

static int kvc_list_run(struct kvcache_list *l, struct kvc_list_args *a)
{
	struct kvc_pool *pool = kvc_pool_get(l->pool);
	int err;

	if (!pool)
		return -ENODEV;
	err = kvc_pool_enter(pool);
	if (!err) {
		err = kvc_list(pool->join, a);
		kvc_pool_leave(pool);
	}
	kvc_pool_put(pool);
	return err;
}

int kvc_list_ioctl(struct file *file, void __user *arg)
{
	struct kvc_list_args *a;
	struct kvcache_list l;
	int err;

	err = kvc_struct_in(&l, sizeof(l), arg) ?: kvc_list_check(&l) ?:
	      kvc_node_choose(file, &l.pool);
	if (err)
		return err;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	a->tenant = l.tenant;
	a->all = l.flags & KVCACHE_LIST_ALL_TENANTS;
	a->prefix_len = l.prefix_len;
	a->cookie = l.cookie;
	a->deadline = kvc_deadline(l.deadline_ms);
	a->room = min(l.buffer_len, KVC_LIST_BUFFER_MAX);
	a->buf = kvmalloc(a->room, GFP_KERNEL);
	err = a->buf ? 0 : -ENOMEM;
	if (!err && copy_from_user(a->prefix, u64_to_user_ptr(l.prefix),
				   l.prefix_len))
		err = -EFAULT;
	if (!err)
		err = kvc_list_run(&l, a);
	if (!err && copy_to_user(u64_to_user_ptr(l.buffer), a->buf, a->used))
		err = -EFAULT;
	if (!err) {
		l.used = a->used;
		l.count = a->count;
		l.cookie = a->cookie;
		err = kvc_struct_out(arg, &l, sizeof(l), l.size);
	}
	kvfree(a->buf);
	kfree(a);
	return err;
}

/* --- the device --- */

static long kvc_ioctl(struct file *file, unsigned int cmd, unsigned long argv)
{
	void __user *arg = (void __user *)argv;

	if (_IOC_TYPE(cmd) == 'N')
		return kvc_nvme_ioctl(file, cmd, arg);
	/* By number: the size in @cmd is that of the caller's structure. */
	if (_IOC_TYPE(cmd) != 'K')
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(KVCACHE_IOC_CAPS):
		return kvc_ioctl_caps(arg);
	case _IOC_NR(KVCACHE_IOC_ATTACH):
		return kvc_ioctl_attach(arg);
	case _IOC_NR(KVCACHE_IOC_DETACH):
		return kvc_ioctl_detach(arg);
	case _IOC_NR(KVCACHE_IOC_GROW):
		return kvc_ioctl_grow(arg);
	case _IOC_NR(KVCACHE_IOC_REFRESH):
		return kvc_ioctl_refresh(arg);
	case _IOC_NR(KVCACHE_IOC_MEMBER):
		return kvc_ioctl_member(arg);
	case _IOC_NR(KVCACHE_IOC_INFO):
		return kvc_ioctl_info(file, arg);
	case _IOC_NR(KVCACHE_IOC_POOLS):
		return kvc_ioctl_pools(arg);
	case _IOC_NR(KVCACHE_IOC_GRANT):
		return kvc_cluster_grant(arg);
	case _IOC_NR(KVCACHE_IOC_AGS):
		return kvc_cluster_ags(file, arg);
	case _IOC_NR(KVCACHE_IOC_SLOTS):
		return kvc_cluster_slots(file, arg);
	case _IOC_NR(KVCACHE_IOC_LIST):
		return kvc_list_ioctl(file, arg);
	case _IOC_NR(KVCACHE_IOC_WATCH):
		return kvc_watch_ioctl(file, arg);
	case _IOC_NR(KVCACHE_IOC_PRESENCE):
		return kvc_presence_ioctl(file, arg);
	case _IOC_NR(KVCACHE_IOC_PUT):
	case _IOC_NR(KVCACHE_IOC_GET):
	case _IOC_NR(KVCACHE_IOC_EXISTS):
	case _IOC_NR(KVCACHE_IOC_DELETE):
		return kvc_batch_ioctl(file, _IOC_NR(cmd), arg);
	}
	return -ENOTTY;
}

static const struct file_operations kvc_fops = {
	.owner = THIS_MODULE,
	.open = kvc_node_open,
	.unlocked_ioctl = kvc_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = kvc_uring_cmd,
	.mmap = kvc_presence_mmap,
	.llseek = noop_llseek,
};

int kvc_chardev_init(void)
{
	return kvc_nodes_init(&kvc_fops);
}

void kvc_chardev_exit(void)
{
	kvc_nodes_exit();
}
