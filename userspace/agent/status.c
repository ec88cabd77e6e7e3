// SPDX-License-Identifier: MIT
/* The status file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cjson/cJSON.h>

#include "agent.h"
#include "log.h"

#define STATUS_PATH 512

static void status_path(const struct config *config, char path[STATUS_PATH])
{
	snprintf(path, STATUS_PATH, "%s/%s.json", config->run_dir, config->pool);
}

static void add_u64(cJSON *object, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	cJSON_AddRawToObject(object, name, text);
}

static void add_uuid(cJSON *object, const uint8_t *u)
{
	char text[40];

	snprintf(text, sizeof(text),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9],
		 u[10], u[11], u[12], u[13], u[14], u[15]);
	cJSON_AddStringToObject(object, "uuid", text);
}

/* Numbers of the AGs that the kernel has in a state. */
static void add_ags(const struct agent *a, cJSON *object, const char *name,
		    uint32_t state)
{
	cJSON *array = cJSON_AddArrayToObject(object, name);
	uint32_t i;

	for (i = 0; i < a->nr_ags; i++)
		if (a->ags[i].state == state)
			cJSON_AddItemToArray(array, cJSON_CreateNumber(i));
}

static void add_hosts(const struct agent *a, cJSON *object)
{
	cJSON *array = cJSON_AddArrayToObject(object, "hosts");
	const struct cluster *c = &a->cluster;
	uint32_t i, j;

	for (i = 0; i < CLUSTER_SLOTS; i++) {
		const struct cluster_slot *s = &c->slots[i];
		uint32_t owned = 0;
		cJSON *item;

		if (!s->taken)
			continue;
		for (j = 0; j < c->nr_ags; j++)
			owned += c->ags[j].slot == i &&
				 c->ags[j].incarnation == s->incarnation;
		item = cJSON_CreateObject();
		cJSON_AddNumberToObject(item, "slot", i);
		add_u64(item, "incarnation", s->incarnation);
		cJSON_AddStringToObject(item, "node", s->node);
		cJSON_AddNumberToObject(item, "ags", owned);
		cJSON_AddBoolToObject(item, "joined", c->reports[i].host.joined);
		cJSON_AddBoolToObject(item, "leaving", c->reports[i].host.leaving);
		cJSON_AddBoolToObject(item, "leader", c->leader_create &&
				      c->leader_slot == i);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_etcd(const struct agent *a, cJSON *object)
{
	cJSON *etcd = cJSON_AddObjectToObject(object, "etcd");

	cJSON_AddStringToObject(etcd, "endpoint", etcd_endpoint(a->etcd));
	cJSON_AddBoolToObject(etcd, "reachable", a->reachable);
	add_u64(etcd, "ttl_ms", a->ttl_ms);
	add_u64(etcd, "revision", (uint64_t)a->cluster.revision);
}

static void add_counters(const struct agent *a, cJSON *object)
{
	const struct agent_counters *c = &a->counters;
	cJSON *counters = cJSON_AddObjectToObject(object, "counters");

	add_u64(counters, "joins", c->joins);
	add_u64(counters, "lapses", c->lapses);
	add_u64(counters, "renewals", c->renewals);
	add_u64(counters, "failed_renewals", c->failed_renewals);
	add_u64(counters, "steps", c->steps);
	add_u64(counters, "watches", c->watches);
}

static char *make_status(const struct agent *a)
{
	cJSON *object = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(object, "pool", a->config->pool);
	add_uuid(object, a->pool.uuid);
	cJSON_AddNumberToObject(object, "number", a->pool.number);
	cJSON_AddNumberToObject(object, "pid", getpid());
	cJSON_AddStringToObject(object, "boot", a->boot);
	cJSON_AddStringToObject(object, "node", a->node);
	cJSON_AddStringToObject(object, "state", agent_state_name(a));
	cJSON_AddBoolToObject(object, "leaving", a->leaving);
	cJSON_AddBoolToObject(object, "attached", a->attached);
	if (a->lease) {
		cJSON_AddNumberToObject(object, "slot", a->slot);
		add_u64(object, "incarnation", a->incarnation);
		add_u64(object, "deadline_ns", a->told_deadline_ns);
	} else {
		cJSON_AddNullToObject(object, "slot");
	}
	cJSON_AddBoolToObject(object, "leader", agent_leads(a));
	add_u64(object, "map", a->cluster.version);
	cJSON_AddNumberToObject(object, "ags", a->pool.nr_ags);
	add_ags(a, object, "owned", KVCACHE_AG_OWNED);
	add_ags(a, object, "taking", KVCACHE_AG_TAKING);
	add_ags(a, object, "releasing", KVCACHE_AG_RELEASING);
	add_hosts(a, object);
	add_etcd(a, object);
	add_counters(a, object);
	if (*a->problem)
		cJSON_AddStringToObject(object, "problem", a->problem);
	else
		cJSON_AddNullToObject(object, "problem");
	text = cJSON_Print(object);
	cJSON_Delete(object);
	if (!text)
		abort();
	return text;
}

void agent_write_status(struct agent *a)
{
	char *text = make_status(a);
	char path[STATUS_PATH], new[STATUS_PATH + 8];
	FILE *file;

	if (a->status_text && !strcmp(text, a->status_text)) {
		free(text);
		return;
	}
	free(a->status_text);
	a->status_text = text;
	status_path(a->config, path);
	snprintf(new, sizeof(new), "%s.new", path);
	file = fopen(new, "we");
	if (!file) {
		log_warning("%s: can't write it: %s", new, strerror(errno));
		return;
	}
	fprintf(file, "%s\n", text);
	if (fclose(file) || rename(new, path))
		log_warning("%s: can't write it: %s", path, strerror(errno));
}

/* NULL: there is none. */
static cJSON *read_status(const struct config *config, char **text)
{
	char path[STATUS_PATH];
	cJSON *object = NULL;
	size_t room = 0;
	FILE *file;

	*text = NULL;
	status_path(config, path);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	if (getdelim(text, &room, '\0', file) > 0)
		object = cJSON_Parse(*text);
	fclose(file);
	return object;
}

bool agent_attached_before(const struct agent *a)
{
	char *text;
	cJSON *object = read_status(a->config, &text);
	const cJSON *boot = cJSON_GetObjectItem(object, "boot");
	bool attached = cJSON_IsTrue(cJSON_GetObjectItem(object, "attached")) &&
			cJSON_IsString(boot) && !strcmp(boot->valuestring, a->boot);

	cJSON_Delete(object);
	free(text);
	return attached;
}

int agent_print_status(const struct config *config)
{
	char path[STATUS_PATH];
	char *text;
	cJSON *object = read_status(config, &text);
	const cJSON *uuid = cJSON_GetObjectItem(object, "uuid");
	const cJSON *number = cJSON_GetObjectItem(object, "number");
	int fd, status = 0;

	if (!cJSON_IsString(uuid) || !cJSON_IsNumber(number)) {
		status_path(config, path);
		fprintf(stderr, "kvcached: %s: not there: no agent has run for pool '%s', or with another 'run_dir'\n",
			path, config->pool);
		free(text);
		cJSON_Delete(object);
		return 3;
	}
	fputs(text, stdout);
	/* Whoever wrote this holds the lock for as long as it runs. */
	snprintf(path, sizeof(path), "%s/%.40s.%d.lock", config->run_dir,
		 uuid->valuestring, number->valueint);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB)) {
		fprintf(stderr, "kvcached: the agent that wrote this does not run any more\n");
		status = 3;
	}
	if (fd >= 0)
		close(fd);
	free(text);
	cJSON_Delete(object);
	return status;
}
