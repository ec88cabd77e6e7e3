// SPDX-License-Identifier: GPL-2.0
/* What Identify tells of a pool: a controller with one KV namespace. */
#include <linux/nvme.h>
#include <linux/utsname.h>
#include "ag.h"
#include "nvme_kv.h"

#define KVC_CSI_KV		1
#define KVC_CNS_CSI_NS_LIST	0x07	/* active namespaces of a command set */
#define KVC_CNS_INDEPENDENT	0x08
#define KVC_CNS_COMMAND_SETS	0x1c

/* Identify Namespace for the KV command set: the specification's figure 39. */
struct kvc_nvme_kv_format {
	__le16 key_max;
	u8 reserved2;
	u8 options;
	__le32 value_max;
	__le32 keys_max;	/* 0: as many as fit */
	u8 reserved12[4];
};

struct kvc_nvme_kv_ns {
	__le64 nsze;		/* bytes */
	u8 reserved8[8];
	__le64 nuse;		/* bytes */
	u8 nsfeat;
	u8 nkvf;		/* formats, less one */
	u8 nmic;
	u8 rescap;
	u8 fpi;
	u8 reserved29[3];
	__le32 novg;		/* optimal granularity of values, bytes */
	__le32 anagrpid;
	u8 reserved40[3];
	u8 nsattr;
	__le16 nvmsetid;
	__le16 endgid;
	u8 nguid[16];
	u8 eui64[8];
	struct kvc_nvme_kv_format kvf[16];
	u8 reserved328[3768];
};

/* Bytes of segments that are in use; 0 while the pool is joining anew. */
static u64 kvc_id_used(struct kvc_pool *pool)
{
	u64 used = 0;
	u32 a, k;

	if (kvc_pool_enter(pool))
		return 0;
	for (a = 0; a < pool->g.nr_ags; a++) {
		struct kvc_ag *ag = &pool->join->ags[a];

		mutex_lock(&ag->lock);
		for (k = 0; k < ag->nr; k++) {
			u32 state = READ_ONCE(ag->segments[k].s.state);

			if (state != KVC_SEG_FREE && state != KVC_SEG_RETIRED)
				used += kvc_segment_bytes(&pool->g);
		}
		mutex_unlock(&ag->lock);
	}
	kvc_pool_leave(pool);
	return used;
}

static void kvc_id_namespace(struct kvc_pool *pool, struct kvc_nvme_kv_ns *id)
{
	const struct kvc_geometry *g = &pool->g;

	BUILD_BUG_ON(sizeof(*id) != 4096);
	id->nsze = cpu_to_le64((u64)g->nr_segments << g->segment_shift);
	id->nuse = cpu_to_le64(kvc_id_used(pool));
	id->nmic = 1;		/* more than one host may be attached */
	id->novg = cpu_to_le32(KVC_BLOCK_SIZE);
	memcpy(id->nguid, g->uuid, sizeof(id->nguid));
	id->kvf[0].key_max = cpu_to_le16(KVC_NVME_KEY_MAX);
	id->kvf[0].value_max = cpu_to_le32(min_t(u64, kvc_max_object(g),
						 MAX_RW_COUNT));
}

static void kvc_id_text(char *field, size_t size, const char *text)
{
	memset(field, ' ', size);	/* not terminated */
	memcpy(field, text, min(size, strlen(text)));
}

static void kvc_id_controller(struct kvc_pool *pool, struct nvme_id_ctrl *id)
{
	char serial[sizeof(id->sn) + 1];

	BUILD_BUG_ON(sizeof(*id) != 4096);
	snprintf(serial, sizeof(serial), "%*phN", 10, pool->g.uuid);
	kvc_id_text(id->sn, sizeof(id->sn), serial);
	kvc_id_text(id->mn, sizeof(id->mn), "kvcache pool");
	kvc_id_text(id->fr, sizeof(id->fr), utsname()->release);
	id->cmic = 2;			/* more controllers: the other hosts */
	id->cntlid = cpu_to_le16(pool->number);
	id->ver = cpu_to_le32(0x20000);	/* 2.0 */
	id->cntrltype = 1;		/* I/O controller */
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->nn = cpu_to_le32(1);
	id->mnan = cpu_to_le32(1);
	snprintf(id->subnqn, sizeof(id->subnqn),
		 "nqn.2014-08.org.nvmexpress:uuid:%pUb", pool->g.uuid);
}

static void *kvc_id_descriptor(void *at, u8 type, u8 len, const void *data)
{
	struct nvme_ns_id_desc *d = at;

	d->nidt = type;
	d->nidl = len;
	memcpy(d + 1, data, len);
	return at + sizeof(*d) + len;
}

static void kvc_id_descriptors(struct kvc_pool *pool, void *page)
{
	const u8 csi = KVC_CSI_KV;

	page = kvc_id_descriptor(page, NVME_NIDT_UUID, NVME_NIDT_UUID_LEN,
				 pool->g.uuid);
	kvc_id_descriptor(page, NVME_NIDT_CSI, NVME_NIDT_CSI_LEN, &csi);
}

static void kvc_id_independent(u8 *page)
{
	page[1] = 1;	/* nmic: shared */
	page[14] = 1;	/* nstat: ready */
}

int kvc_nvme_identify(struct kvc_pool *pool, const struct nvme_uring_cmd *c,
		      void *page)
{
	const u8 csi = c->cdw11 >> 24;
	const u8 cns = (u8)c->cdw10;

	switch (cns) {
	case KVC_CNS_CSI_NS_LIST:
		if (csi != KVC_CSI_KV)
			return KVC_NVME_INVALID_FIELD;
		fallthrough;
	case NVME_ID_CNS_NS_ACTIVE_LIST:
		if (c->nsid >= 0xfffffffe)
			return KVC_NVME_INVALID_NS;
		if (c->nsid < KVC_NVME_NSID)
			*(__le32 *)page = cpu_to_le32(KVC_NVME_NSID);
		return 0;
	case NVME_ID_CNS_CTRL:
		kvc_id_controller(pool, page);
		return 0;
	case NVME_ID_CNS_CS_CTRL:
		return csi == KVC_CSI_KV ? 0 : KVC_NVME_INVALID_FIELD;
	case KVC_CNS_COMMAND_SETS:
		*(__le64 *)page = cpu_to_le64(BIT(KVC_CSI_KV));
		return 0;
	case NVME_ID_CNS_NS_DESC_LIST:
	case KVC_CNS_INDEPENDENT:
	case NVME_ID_CNS_CS_NS:
		break;
	default:
		/* Also the NVM command set's Identify Namespace: it is not one. */
		return KVC_NVME_INVALID_FIELD;
	}

	if (c->nsid != KVC_NVME_NSID)
		return KVC_NVME_INVALID_NS;
	if (cns == NVME_ID_CNS_NS_DESC_LIST)
		kvc_id_descriptors(pool, page);
	else if (cns == KVC_CNS_INDEPENDENT)
		kvc_id_independent(page);
	else if (csi != KVC_CSI_KV)
		return KVC_NVME_INVALID_FIELD;
	else
		kvc_id_namespace(pool, page);
	return 0;
}
