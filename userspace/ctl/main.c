// SPDX-License-Identifier: MIT
/* kvcachectl: the table of sub-commands. */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

/**
 * struct command - a sub-command
 * @name: as on the command line
 * @run: entry
 * @summary: one line for --help
 */
struct command {
	const char *name;
	int (*run)(struct ctl *ctl, int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
	{ "connect", cmd_connect, "connect namespaces over NVMe-oF with time-outs that fit a pool" },
	{ "format", cmd_format, "make a new pool out of block devices" },
	{ "attach", cmd_attach, "take a pool over and serve it" },
	{ "detach", cmd_detach, "leave a pool in good order" },
	{ "info", cmd_info, "show attached pools, or the labels of devices" },
	{ "stat", cmd_stat, "show a pool's counters, or their rates" },
	{ "ags", cmd_ags, "show the allocation groups of a pool and who owns them" },
	{ "slots", cmd_slots, "show the hosts of a pool" },
	{ "grant", cmd_grant, "say what this host owns of a shared pool" },
	{ "grow", cmd_grow, "give a pool more members" },
	{ "drain", cmd_drain, "empty a member of a pool" },
	{ "remove", cmd_remove, "let an empty member leave a pool" },
	{ "refresh", cmd_refresh, "take up here that a pool has got or lost members" },
	{ "put", cmd_put, "store an object" },
	{ "get", cmd_get, "read an object" },
	{ "exists", cmd_exists, "ask whether objects are there" },
	{ "rm", cmd_rm, "delete objects" },
	{ "ls", cmd_ls, "list objects" },
	{ "check", cmd_check, "check whether this host is set up well" },
	{ "fsck", cmd_fsck, "check the media of a pool that is not attached" },
	{ "dump", cmd_dump, "print what stands on media" },
	{ "replay", cmd_replay, "replay a trace of keys against a pool" },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	size_t i;

	printf("Usage: kvcachectl [-o json] [-q] [-d DEVICE] COMMAND [options] [arguments]\n\n"
	       "Manages and uses kvcache pools: key-value objects on shared block devices.\n\n"
	       "Commands:\n");
	for (i = 0; i < NR_COMMANDS; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\nOptions:\n"
	       "  -o, --output FORMAT  text (default) or json\n"
	       "  -q, --quiet          no progress and no remarks\n"
	       "  -d, --device PATH    device of the module (default " CTL_DEVICE ")\n"
	       "  -V, --version        version of this program\n"
	       "  -h, --help           this text\n"
	       "\nExit status: 0 done, 1 failed, 2 wrong command line, 3 no such object or pool,\n"
	       "4 it is there already, 5 not this moment, 6 refused for safety, 7 damaged\n"
	       "media or data, 8 check found faults.\n"
	       "\n'kvcachectl COMMAND --help' tells more; see kvcachectl(8).\n");
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* What could not be printed was not done. */
static int finish(struct ctl *ctl, int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		ctl_err(ctl, "standard output", NULL, "can't write: %m");
		return status ? status : CTL_FAIL;
	}
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "device", required_argument, NULL, 'd' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	struct ctl ctl = { .prog = "kvcachectl", .device = CTL_DEVICE };
	const struct command *command;
	int c;

	signal(SIGPIPE, SIG_DFL);
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:o:qd:Vh", options, NULL)) != -1) {
		switch (c) {
		case 'V':
			printf("kvcachectl %s\n", KVC_VERSION);
			return finish(&ctl, CTL_OK);
		case 'h':
			print_help();
			return finish(&ctl, CTL_OK);
		case ':':
			ctl_usage_error(&ctl, "option '%s' needs an argument",
					argv[optind - 1]);
		case '?':
			ctl_usage_error(&ctl, "unknown option '%s'",
					argv[optind - 1]);
		default:
			ctl_common_option(&ctl, c, optarg);
		}
	}
	if (optind == argc)
		ctl_usage_error(&ctl, "no command is given");
	command = find(argv[optind]);
	if (!command)
		ctl_usage_error(&ctl, "unknown command '%s'", argv[optind]);
	ctl.command = command->name;
	argc -= optind;
	argv += optind;
	optind = 0;	/* begin anew */
	return finish(&ctl, command->run(&ctl, argc, argv));
}
