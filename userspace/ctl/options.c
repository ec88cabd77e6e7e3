// SPDX-License-Identifier: MIT
/* Options of the sub-commands, and the help that is made from them. */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define MAX_OPTIONS	64
#define HELP_COLUMN	30
#define LINE_WIDTH	79

char *ctl_optarg;
int ctl_optind;

/* What every command takes. */
static const struct ctl_option common[] = {
	{ 'o', "output", "FORMAT", "text (default) or json" },
	{ 'q', "quiet", NULL, "no progress and no remarks" },
	{ 'd', "device", "PATH", "device of the module (default " CTL_DEVICE ")" },
	{ 'h', "help", NULL, "this text" },
	{}
};

/* Words of @text from @column on, broken at the end of the line. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (column > indent && column + 1 + word > LINE_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", word, text);
		column += word;
		text += word + strspn(text + word, " ");
	}
	putchar('\n');
}

static void print_options(const struct ctl_option *options)
{
	const struct ctl_option *o;

	for (o = options; o->id; o++) {
		char left[80];
		int used;

		if (o->id < 1000)
			used = snprintf(left, sizeof(left), "  -%c, --%s", o->id,
					o->name);
		else
			used = snprintf(left, sizeof(left), "      --%s", o->name);
		if (o->arg)
			snprintf(left + used, sizeof(left) - (size_t)used, " %s",
				 o->arg);
		if (strlen(left) >= HELP_COLUMN)
			printf("%s\n%*s", left, HELP_COLUMN, "");
		else
			printf("%-*s", HELP_COLUMN, left);
		print_wrapped(o->help, HELP_COLUMN);
	}
}

static void print_help(struct ctl *ctl, const struct ctl_usage *usage)
{
	printf("Usage: %s %s %s\n\n%s\n", ctl->prog, ctl->command, usage->args,
	       usage->about);
	if (usage->options && usage->options->id) {
		printf("\nOptions:\n");
		print_options(usage->options);
	}
	printf("\nOptions of all commands:\n");
	print_options(common);
	printf("\nSee %s-%s(8).\n", ctl->prog, ctl->command);
}

void ctl_usage_error(struct ctl *ctl, const char *fmt, ...)
{
	char text[512];
	char next[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (ctl->command)
		snprintf(next, sizeof(next), "Try '%s %s --help'.", ctl->prog,
			 ctl->command);
	else
		snprintf(next, sizeof(next), "Try '%s --help'.", ctl->prog);
	ctl_err(ctl, NULL, next, "%s", text);
	exit(CTL_USAGE);
}

bool ctl_common_option(struct ctl *ctl, int id, char *argument)
{
	switch (id) {
	case 'o':
		if (!strcmp(argument, "json"))
			ctl->json = true;
		else if (!strcmp(argument, "text"))
			ctl->json = false;
		else
			ctl_usage_error(ctl, "unknown output format '%s'; there are text and json",
					argument);
		return true;
	case 'q':
		ctl->quiet = true;
		return true;
	case 'd':
		ctl->device = argument;
		return true;
	}
	return false;
}

/* Append @options to what getopt_long() wants. */
static void collect(const struct ctl_option *options, struct option *longs,
		    size_t *count, char *shorts)
{
	const struct ctl_option *o;

	for (o = options; o && o->id; o++) {
		if (*count == MAX_OPTIONS)
			abort();
		longs[(*count)++] = (struct option) {
			.name = o->name,
			.has_arg = o->arg ? required_argument : no_argument,
			.val = o->id,
		};
		if (o->id < 1000) {
			size_t len = strlen(shorts);

			shorts[len++] = (char)o->id;
			if (o->arg)
				shorts[len++] = ':';
			shorts[len] = '\0';
		}
	}
}

/* A command may use a common letter for something else. */
static bool own_option(const struct ctl_usage *usage, int id)
{
	const struct ctl_option *o;

	for (o = usage->options; o && o->id; o++)
		if (o->id == id)
			return true;
	return false;
}

/* A short one may stand in the middle of a word. */
static void unknown_option(struct ctl *ctl, char **argv)
{
	const char *word = argv[optind - 1];

	if (optopt > 0 && optopt < 256 && strncmp(word, "--", 2))
		ctl_usage_error(ctl, "unknown option '-%c'", optopt);
	ctl_usage_error(ctl, "unknown option '%s'", word);
}

int ctl_getopt(struct ctl *ctl, const struct ctl_usage *usage, int argc,
	       char **argv)
{
	struct option longs[MAX_OPTIONS + 1] = { 0 };
	char shorts[2 * MAX_OPTIONS + 2] = ":";
	size_t count = 0;
	int c;

	/* A command's own letters come first, so that they win. */
	collect(usage->options, longs, &count, shorts);
	collect(common, longs, &count, shorts);
	opterr = 0;
	for (;;) {
		c = getopt_long(argc, argv, shorts, longs, NULL);
		ctl_optarg = optarg;
		ctl_optind = optind;
		if (c == 'h') {
			print_help(ctl, usage);
			exit(CTL_OK);
		}
		if (c == ':')
			ctl_usage_error(ctl, "option '%s' needs an argument",
					argv[optind - 1]);
		if (c == '?')
			unknown_option(ctl, argv);
		if (c == -1 || own_option(usage, c) ||
		    !ctl_common_option(ctl, c, optarg))
			return c;
	}
}
