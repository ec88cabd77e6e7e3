/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The KUnit suites of kvcache-kunit.ko, see kunit_main.c. */
#ifndef KVC_KUNIT_H
#define KVC_KUNIT_H

#include <kunit/test.h>

extern struct kunit_suite kvc_layout_suite;
extern struct kunit_suite kvc_codec_suite;
extern struct kunit_suite kvc_clock_suite;
extern struct kunit_suite kvc_cut_suite;
extern struct kunit_suite kvc_segment_suite;
extern struct kunit_suite kvc_index_suite;
extern struct kunit_suite kvc_journal_suite;

#endif
