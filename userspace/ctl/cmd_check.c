// SPDX-License-Identifier: MIT
/* kvcachectl check: is this host set up well? Comes next. */
#include "ctl.h"

int cmd_check(struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return ctl_err(ctl, NULL, NULL, "is not there yet");
}
