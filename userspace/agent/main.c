// SPDX-License-Identifier: MIT
/* kvcached: command line and signals. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent.h"
#include "log.h"

/* Exit codes, documented in kvcached(8). */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

static void print_help(void)
{
	printf("Usage: kvcached [-c FILE] [-o KEY=VALUE]... [-p POOL]\n"
	       "       kvcached --status|--check-config [-c FILE] [-o KEY=VALUE]... [-p POOL]\n\n"
	       "Runs one shared pool on this host: holds its place in the cluster by leases in\n"
	       "etcd, and tells the kernel which allocation groups it owns.\n\n"
	       "Options:\n"
	       "  -c, --config FILE    settings, lines of the form key = value\n"
	       "  -o, --option K=V     one more such line; wins over the file\n"
	       "  -p, --pool POOL      the same as -o pool=POOL\n"
	       "  -v, --verbose        debugging messages as well\n"
	       "      --status         print what the agent of this pool says of itself (JSON)\n"
	       "      --check-config   only say whether the settings are sound\n"
	       "  -V, --version        version of this program\n"
	       "  -h, --help           this text\n"
	       "\nExit status: 0 done, 1 failed, 2 wrong command line or settings, 3 (--status) no\n"
	       "agent runs.\n"
	       "\nSee kvcached(8).\n");
}

static int usage_error(const char *text)
{
	fprintf(stderr, "kvcached: %s\n  Try 'kvcached --help'.\n", text);
	return EXIT_USAGE;
}

static int serve(const struct config *config)
{
	char reason[KERNEL_REASON] = "";
	struct kernel *kernel;
	sigset_t signals;
	int fd, status;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	/* Before there are threads. */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		abort();
	kernel = kernel_open(config, reason);
	if (!kernel) {
		log_error("%s", reason);
		return EXIT_FAILED;
	}
	status = agent_run(config, kernel, fd);
	kernel_close(kernel);
	close(fd);
	return status;
}

int main(int argc, char **argv)
{
	enum { OPT_STATUS = 1000, OPT_CHECK };
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "option", required_argument, NULL, 'o' },
		{ "pool", required_argument, NULL, 'p' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "status", no_argument, NULL, OPT_STATUS },
		{ "check-config", no_argument, NULL, OPT_CHECK },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	char error[CONFIG_ERROR], line[512];
	int c, what = 0, status = EXIT_DONE;
	const char *file = NULL;
	struct config config;
	int i, nr_lines = 0;
	char **lines = calloc((size_t)argc + 1, sizeof(*lines));

	if (!lines)
		abort();
	config_init(&config);
	while ((c = getopt_long(argc, argv, "c:o:p:vVh", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			file = optarg;
			break;
		case 'p':
			snprintf(line, sizeof(line), "pool=%s", optarg);
			lines[nr_lines++] = strdup(line);
			break;
		case 'o':
			lines[nr_lines++] = strdup(optarg);
			break;
		case 'v':
			lines[nr_lines++] = strdup("verbose=yes");
			break;
		case OPT_STATUS:
		case OPT_CHECK:
			what = c;
			break;
		case 'V':
			printf("kvcached %s\n", KVC_VERSION);
			goto done;
		case 'h':
			print_help();
			goto done;
		default:
			status = EXIT_USAGE;
			goto done;
		}
	}
	if (optind < argc) {
		status = usage_error("there are no arguments");
		goto done;
	}
	if (file && !config_file(&config, file, error)) {
		status = usage_error(error);
		goto done;
	}
	for (i = 0; i < nr_lines; i++)
		if (!config_line(&config, lines[i], error)) {
			status = usage_error(error);
			goto done;
		}
	if (!config_finish(&config, error)) {
		status = usage_error(error);
		goto done;
	}
	log_open("kvcached", config.verbose);
	if (what == OPT_STATUS)
		status = agent_print_status(&config);
	else if (what != OPT_CHECK)
		status = serve(&config);
done:
	for (i = 0; i < nr_lines; i++)
		free(lines[i]);
	free(lines);
	config_free(&config);
	return status;
}
