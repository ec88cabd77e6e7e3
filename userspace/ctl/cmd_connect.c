// SPDX-License-Identifier: MIT
/* kvcachectl connect: NVMe-oF with safe time-outs? Comes next. */
#include "ctl.h"

int cmd_connect(struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return ctl_err(ctl, NULL, NULL, "is not there yet");
}
