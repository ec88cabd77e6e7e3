// SPDX-License-Identifier: MIT
/* Devices and image files as sources of a pool that is read offline. */
#include <stdlib.h>

#include "kvcache.h"
#include "poolsource.h"

static int read_dev(void *private, u64 block, void *buf, u32 nr)
{
	return ctl_dev_read(private, block, buf, nr);
}

int pool_sources_open(struct ctl *ctl, struct pool_sources *s,
		      char *const *paths, int nr)
{
	int i, err;

	s->devs = ctl_alloc((size_t)nr * sizeof(*s->devs));
	s->sources = ctl_alloc((size_t)nr * sizeof(*s->sources));
	s->nr = 0;
	for (i = 0; i < nr; i++) {
		err = ctl_dev_open(ctl, &s->devs[i], paths[i], CTL_DEV_READ);
		if (err) {
			pool_sources_close(s);
			return err;
		}
		s->sources[i] = (struct pr_source){
			.read = read_dev,
			.private = &s->devs[i],
			.name = s->devs[i].path,
			.blocks = s->devs[i].blocks,
		};
		s->nr++;
	}
	return 0;
}

void pool_sources_close(struct pool_sources *s)
{
	u32 i;

	for (i = 0; i < s->nr; i++)
		ctl_dev_close(&s->devs[i]);
	free(s->devs);
	free(s->sources);
	*s = (struct pool_sources){};
}

u64 pool_sources_wwid(const struct pool_sources *s, u32 dev)
{
	char wwid[512];

	if (!s->devs[dev].is_block)
		return 0;
	ctl_wwid(&s->devs[dev], wwid, sizeof(wwid));
	return kvc_wwid_hash(wwid);
}
