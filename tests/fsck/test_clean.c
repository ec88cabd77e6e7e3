// SPDX-License-Identifier: MIT
/*
 * Pools that are as they should be: whatever a host did, and wherever it
 * crashed, the checker must have nothing to say but remarks, and must find
 * exactly the objects that are there.
 */
#include <stdio.h>
#include <stdlib.h>
#include "check.h"

static int failed;

static void tell(const char *what, u64 seed, struct img *img, bool data)
{
	struct check c = { .compare = true, .data = data };
	struct seen seen;
	char names[2000];

	check_image(img, &c, &seen);
	seen_names(&seen, false, names, sizeof(names));
	if (!names[0] && !seen.model[0] && !seen.result &&
	    (!data || seen.checked == seen.objects))
		return;
	failed = 1;
	seen_names(&seen, true, names, sizeof(names));
	printf("not ok - %s, seed %llu: %s; %s; result %d\n", what, seed, names,
	       seen.model, seen.result);
	for (u32 i = 0; i < PR_NR_CODES; i++) {
		if (seen.text[i][0])
			printf("# %s: %s\n", pr_code_info(i)->name,
			       seen.text[i]);
	}
}

/* A pool's life with crashes at random moments. */
static void life(u64 seed, u32 width, u32 members)
{
	struct img_options o = {
		.seed = seed, .width = width, .members = members,
		.ring = 40 + seed % 3 * 17,
	};
	enum img_attach_stage stage;
	struct img img;
	u32 i;

	img_make(&img, &o);
	tell("fresh", seed, &img, false);
	for (i = 0; i < 8; i++) {
		stage = img_random(&img, 3) ? IMG_ATTACHED :
			1 + img_random(&img, 4);
		img_attach(&img, 0, stage);
		if (stage != IMG_ATTACHED) {
			tell("interrupted attach", seed, &img, false);
			continue;
		}
		img_work(&img, 50 + img_random(&img, 1500));
		if (img_random(&img, 4)) {
			img_crash(&img);
			tell("crash", seed, &img, i == 7);
		} else {
			img_detach(&img, 0);
			tell("detach", seed, &img, i == 7);
		}
	}
	img_free(&img);
}

/* A crash within a checkpoint, and one between it and its header. */
static void crash_at_checkpoint(u64 seed)
{
	struct img_options o = { .seed = seed };
	struct img img;
	u32 parts;

	img_make(&img, &o);
	img_attach(&img, 0, IMG_ATTACHED);
	img_work(&img, 600);
	img_flush(&img, &img.ags[1]);
	for (parts = 0; parts < 3; parts++) {
		img_checkpoint_cut(&img, &img.ags[0], parts);
		tell("crash within a checkpoint", seed, &img, false);
	}
	img_checkpoint(&img, &img.ags[0], false);
	tell("crash before the header", seed, &img, false);
	img_free(&img);
}

/* A slot write that reached only some copies. */
static void crash_at_slot(u64 seed)
{
	struct img_options o = { .seed = seed };
	struct img img;
	u32 copies;

	img_make(&img, &o);
	for (copies = 1; copies < 8; copies++) {
		img_attach(&img, 0, IMG_ATTACHED);
		img_write_slot(&img, 0, copies);
		tell("crash in a slot write", seed, &img, false);
	}
	img_free(&img);
}

int main(int argc, char **argv)
{
	u64 seeds = argc > 1 ? strtoull(argv[1], NULL, 0) : 60, seed;
	static const struct {
		u32 width;
		u32 members;
	} shapes[] = { { 1, 3 }, { 2, 3 }, { 1, 1 }, { 4, 4 } };

	for (seed = 0; seed < seeds; seed++) {
		life(seed, shapes[seed % 4].width, shapes[seed % 4].members);
		crash_at_checkpoint(seed);
		if (seed < 4)
			crash_at_slot(seed);
	}
	if (!failed)
		printf("ok - %llu lives of a pool with crashes leave nothing to find\n",
		       seeds);
	return failed;
}
