// SPDX-License-Identifier: MIT
/* Runs the checker on a pool in memory. See check.h. */
#include <stdio.h>
#include <string.h>
#include "check.h"

struct source {
	const u8 *memory;
	u64 unreadable;
};

static int read_memory(void *private, u64 block, void *buf, u32 nr)
{
	const struct source *s = private;

	if (s->unreadable - block < nr)
		return -EIO;
	memcpy(buf, s->memory + (block << KVC_BLOCK_SHIFT),
	       (size_t)nr << KVC_BLOCK_SHIFT);
	return 0;
}

static void collect(void *private, const struct pr_finding *f)
{
	struct seen *s = private;

	if (!s->nr[f->code][f->severity]++)
		snprintf(s->text[f->code], sizeof(s->text[0]), "%s", f->text);
}

/* Must the object be found? */
static bool should_live(struct img_ag *a, const struct img_object *o)
{
	const struct img_segment *s = img_segment(a, o->put.segment);

	return !o->dead && !o->forgotten &&
	       s->rec.generation == o->put.generation &&
	       (s->rec.state == KVC_SEG_OPEN || s->rec.state == KVC_SEG_SEALED);
}

static void compare_model(struct img *img, const struct pr_ag *got,
			  struct seen *seen)
{
	struct img_ag *a = &img->ags[got->ag];
	u32 i, want = 0, have = 0;

	if (seen->model[0])
		return;
	for (i = 0; i < a->nr_objects; i++) {
		const struct img_object *o = &a->objects[i];
		const struct pr_object *found;

		if (!should_live(a, o))
			continue;
		want++;
		found = got->has_view ?
			pr_view_find(&got->view, o->put.hash, o->put.segment,
				     o->put.generation, o->put.offset) : NULL;
		if (found && pr_object_live(&got->view, found) &&
		    found->bytes == o->put.bytes &&
		    found->data_crc == o->put.data_crc)
			continue;
		snprintf(seen->model, sizeof(seen->model),
			 "AG %u: the object at segment %u, block %u is not found",
			 a->ag, o->put.segment, o->put.offset);
		return;
	}
	for (i = 0; got->has_view && i < got->view.nr_objects; i++)
		have += pr_object_live(&got->view, &got->view.objects[i]);
	if (have != want)
		snprintf(seen->model, sizeof(seen->model),
			 "AG %u: %u objects are found, %u should be", a->ag,
			 have, want);
}

static int check_ags(struct pr_pool *p, struct img *img, const struct check *c,
		     struct seen *seen)
{
	struct pr_ag a;
	u32 ag, i;
	int err = 0;

	for (ag = 0; !err && ag < p->g.nr_ags; ag++) {
		err = pr_ag_load(&a, p, ag);
		if (!err && c->data)
			err = pr_ag_data(&a, NULL, NULL, &seen->checked);
		for (i = 0; a.has_view && i < a.view.nr_objects; i++)
			seen->objects += pr_object_live(&a.view,
							&a.view.objects[i]);
		if (!err && c->compare)
			compare_model(img, &a, seen);
		pr_ag_free(&a);
	}
	return err;
}

void check_image(struct img *img, const struct check *c, struct seen *seen)
{
	struct pr_source sources[8];
	struct source memory[8];
	struct pr_pool pool = {
		.report = collect, .report_private = seen, .now = c->now,
		.journal_only = c->journal_only,
	};
	u32 i, nr = c->nr ? c->nr : img->g.nr_members;

	memset(seen, 0, sizeof(*seen));
	for (i = 0; i < nr; i++) {
		u32 m = c->nr ? c->order[i] : i;

		memory[i].memory = img->members[m];
		memory[i].unreadable = c->has_unreadable &&
			c->unreadable.member == m ? c->unreadable.block :
			PR_NONE64;
		sources[i] = (struct pr_source){
			.read = read_memory, .private = &memory[i],
			.name = "memory",
			.blocks = img->g.members[m].blocks - c->cut,
		};
	}
	seen->result = pr_open(&pool, sources, nr);
	if (!seen->result)
		seen->result = pr_slots(&pool);
	if (!seen->result)
		seen->result = check_ags(&pool, img, c, seen);
	pr_close(&pool);
}

void seen_names(const struct seen *seen, bool remarks, char *buf, size_t room)
{
	u32 code, severity;
	size_t used = 0;

	buf[0] = '\0';
	for (code = 0; code < PR_NR_CODES; code++) {
		for (severity = remarks ? PR_INFO : PR_WARNING;
		     severity <= PR_ERROR; severity++) {
			if (!seen->nr[code][severity] || used >= room)
				continue;
			used += snprintf(buf + used, room - used, "%s%s(%s)",
					 used ? " " : "",
					 pr_code_info(code)->name,
					 pr_severity_name(severity));
		}
	}
}
