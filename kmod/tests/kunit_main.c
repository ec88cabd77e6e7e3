// SPDX-License-Identifier: GPL-2.0
/*
 * kvcache-kunit.ko: all KUnit suites of the pure files in one module, since
 * older kernels take one kunit_test_suites() in a module.
 */
#include <linux/module.h>

#include "kvc_kunit.h"

kunit_test_suites(&kvc_layout_suite, &kvc_codec_suite, &kvc_clock_suite,
		  &kvc_cut_suite, &kvc_segment_suite, &kvc_index_suite,
		  &kvc_journal_suite);

MODULE_DESCRIPTION("KUnit tests of kvcache");
MODULE_LICENSE("GPL");
