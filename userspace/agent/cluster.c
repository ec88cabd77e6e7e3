// SPDX-License-Identifier: MIT
/* The cluster as it stands in etcd. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "cluster.h"
#include "log.h"

/* More of anything than a pool can have makes no sense. */
#define AGS_MAX		1024
#define QUIET_MAX	65536

/* --- numbers --- */

static bool parse_u64(const char *text, uint64_t max, uint64_t *out)
{
	char *end;
	unsigned long long value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value > max)
		return false;
	*out = value;
	return true;
}

static bool get_u64(const cJSON *item, uint64_t max, uint64_t *out)
{
	if (cJSON_IsString(item))
		return parse_u64(item->valuestring, max, out);
	/* A double holds no more. */
	if (!cJSON_IsNumber(item) || item->valuedouble < 0 ||
	    item->valuedouble > 9007199254740992.0 ||
	    item->valuedouble > (double)max)
		return false;
	*out = (uint64_t)item->valuedouble;
	return true;
}

static void add_u64(cJSON *object, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	cJSON_AddStringToObject(object, name, text);
}

static void get_words(const cJSON *object, const char *name, char *out,
		      size_t room)
{
	const cJSON *item = cJSON_GetObjectItem(object, name);

	snprintf(out, room, "%s", cJSON_IsString(item) ? item->valuestring : "");
}

static char *print(cJSON *object)
{
	char *text = cJSON_PrintUnformatted(object);

	if (!text)
		abort();
	cJSON_Delete(object);
	return text;
}

/* --- slots --- */

char *cluster_slot_value(const struct cluster_slot *slot)
{
	cJSON *object = cJSON_CreateObject();

	add_u64(object, "incarnation", slot->incarnation);
	cJSON_AddStringToObject(object, "node", slot->node);
	cJSON_AddStringToObject(object, "nqn", slot->nqn);
	cJSON_AddStringToObject(object, "boot", slot->boot);
	return print(object);
}

static bool parse_slot(struct cluster_slot *slot, const struct etcd_kv *kv)
{
	cJSON *object = cJSON_Parse(kv->value);
	bool good;

	/* Taken, whatever stands in it. */
	slot->taken = true;
	slot->lease = kv->lease;
	good = get_u64(cJSON_GetObjectItem(object, "incarnation"), UINT64_MAX,
		       &slot->incarnation);
	get_words(object, "node", slot->node, sizeof(slot->node));
	get_words(object, "nqn", slot->nqn, sizeof(slot->nqn));
	get_words(object, "boot", slot->boot, sizeof(slot->boot));
	cJSON_Delete(object);
	return good;
}

/* --- reports --- */

static void add_epochs(cJSON *object, const char *name,
		       const struct plan_epoch *list, uint32_t nr, bool next)
{
	cJSON *array = cJSON_AddArrayToObject(object, name);
	uint32_t i;

	for (i = 0; i < nr; i++) {
		cJSON *item = cJSON_CreateArray();

		cJSON_AddItemToArray(item, cJSON_CreateNumber(list[i].ag));
		cJSON_AddItemToArray(item, cJSON_CreateNumber((double)list[i].epoch));
		if (next)
			cJSON_AddItemToArray(item,
					     cJSON_CreateNumber((double)list[i].next));
		cJSON_AddItemToArray(array, item);
	}
}

char *cluster_report_value(const struct cluster_report *report)
{
	const struct plan_host *host = &report->host;
	cJSON *object = cJSON_CreateObject();

	add_u64(object, "incarnation", host->incarnation);
	cJSON_AddBoolToObject(object, "joined", host->joined);
	cJSON_AddBoolToObject(object, "leaving", host->leaving);
	add_u64(object, "seen", host->seen);
	add_epochs(object, "held", report->held, host->nr_held, false);
	add_epochs(object, "refused", report->refused, host->nr_refused, true);
	add_epochs(object, "floors", report->floors, report->nr_floors, false);
	add_epochs(object, "lost", report->lost, report->nr_lost, false);
	return print(object);
}

static bool parse_epochs(const cJSON *object, const char *name, bool next,
			 struct plan_epoch **list, uint32_t *nr)
{
	const cJSON *array = cJSON_GetObjectItem(object, name), *item;
	int count = cJSON_GetArraySize(array);
	uint64_t ag;

	*nr = 0;
	if (!cJSON_IsArray(array) || count > AGS_MAX)
		return false;
	*list = calloc((size_t)count + 1, sizeof(**list));
	if (!*list)
		abort();
	cJSON_ArrayForEach(item, array) {
		struct plan_epoch *e = &(*list)[*nr];

		if (!get_u64(cJSON_GetArrayItem(item, 0), AGS_MAX, &ag) ||
		    !get_u64(cJSON_GetArrayItem(item, 1), PLAN_EPOCH_MAX, &e->epoch))
			return false;
		if (next && !get_u64(cJSON_GetArrayItem(item, 2),
				     PLAN_EPOCH_MAX, &e->next))
			return false;
		e->ag = (uint32_t)ag;
		(*nr)++;
	}
	return true;
}

static void free_report(struct cluster_report *report)
{
	free(report->held);
	free(report->refused);
	free(report->floors);
	free(report->lost);
	memset(report, 0, sizeof(*report));
}

static bool parse_report(struct cluster_report *report, uint32_t slot,
			 const struct etcd_kv *kv)
{
	cJSON *object = cJSON_Parse(kv->value);
	struct plan_host *host = &report->host;

	host->slot = slot;
	host->joined = cJSON_IsTrue(cJSON_GetObjectItem(object, "joined"));
	host->leaving = cJSON_IsTrue(cJSON_GetObjectItem(object, "leaving"));
	report->there =
		get_u64(cJSON_GetObjectItem(object, "incarnation"), UINT64_MAX,
			&host->incarnation) &&
		get_u64(cJSON_GetObjectItem(object, "seen"), UINT64_MAX,
			&host->seen) &&
		parse_epochs(object, "held", false, &report->held,
			     &host->nr_held) &&
		parse_epochs(object, "refused", true, &report->refused,
			     &host->nr_refused) &&
		parse_epochs(object, "floors", false, &report->floors,
			     &report->nr_floors) &&
		/* Agents before this one said nothing of that. */
		(!cJSON_GetObjectItem(object, "lost") ||
		 parse_epochs(object, "lost", false, &report->lost,
			      &report->nr_lost));
	host->held = report->held;
	host->refused = report->refused;
	cJSON_Delete(object);
	return report->there;
}

/* --- leader and map --- */

char *cluster_leader_value(uint32_t slot, uint64_t incarnation)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddNumberToObject(object, "slot", slot);
	add_u64(object, "incarnation", incarnation);
	return print(object);
}

static void parse_leader(struct cluster *c, const struct etcd_kv *kv)
{
	cJSON *object = cJSON_Parse(kv->value);
	uint64_t slot;

	c->leader_create = kv->create;
	c->leader_lease = kv->lease;
	c->leader_slot = get_u64(cJSON_GetObjectItem(object, "slot"),
				 CLUSTER_SLOTS - 1, &slot) ?
			 (uint32_t)slot : PLAN_NOBODY;
	cJSON_Delete(object);
}

char *cluster_map_value(uint64_t version, const struct plan_ag *ags,
			uint32_t nr_ags)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *array;
	uint32_t i;

	add_u64(object, "version", version);
	array = cJSON_AddArrayToObject(object, "ags");
	for (i = 0; i < nr_ags; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddNumberToObject(item, "epoch", (double)ags[i].epoch);
		add_u64(item, "since", ags[i].since);
		if (ags[i].slot != PLAN_NOBODY) {
			cJSON_AddNumberToObject(item, "slot", ags[i].slot);
			add_u64(item, "incarnation", ags[i].incarnation);
		}
		if (ags[i].release)
			cJSON_AddTrueToObject(item, "release");
		cJSON_AddItemToArray(array, item);
	}
	return print(object);
}

static bool parse_ag(const cJSON *item, struct plan_ag *ag)
{
	const cJSON *slot = cJSON_GetObjectItem(item, "slot");
	uint64_t number;

	ag->slot = PLAN_NOBODY;
	ag->release = cJSON_IsTrue(cJSON_GetObjectItem(item, "release"));
	if (!get_u64(cJSON_GetObjectItem(item, "epoch"), PLAN_EPOCH_MAX,
		     &ag->epoch) ||
	    !get_u64(cJSON_GetObjectItem(item, "since"), UINT64_MAX, &ag->since))
		return false;
	if (!slot)
		return true;
	if (!get_u64(slot, CLUSTER_SLOTS - 1, &number))
		return false;
	ag->slot = (uint32_t)number;
	return get_u64(cJSON_GetObjectItem(item, "incarnation"), UINT64_MAX,
		       &ag->incarnation);
}

static bool parse_map(struct cluster *c, const struct etcd_kv *kv)
{
	cJSON *object = cJSON_Parse(kv->value);
	const cJSON *array = cJSON_GetObjectItem(object, "ags"), *item;
	int count = cJSON_GetArraySize(array);
	bool good;

	c->map_mod = kv->mod;
	good = get_u64(cJSON_GetObjectItem(object, "version"), UINT64_MAX,
		       &c->version) && count > 0 && count <= AGS_MAX;
	if (good) {
		c->ags = calloc((size_t)count, sizeof(*c->ags));
		if (!c->ags)
			abort();
		cJSON_ArrayForEach(item, array)
			good = good && parse_ag(item, &c->ags[c->nr_ags++]);
	}
	cJSON_Delete(object);
	c->bad |= !good;
	return good;
}

static bool parse_quiet(struct cluster *c, const char *name)
{
	struct plan_epoch *grown;
	uint64_t ag, epoch;
	char number[24];
	const char *slash = strchr(name, '/');

	if (!slash || (size_t)(slash - name) >= sizeof(number) ||
	    c->nr_quiet == QUIET_MAX)
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)(slash - name), name);
	if (!parse_u64(number, AGS_MAX, &ag) ||
	    !parse_u64(slash + 1, PLAN_EPOCH_MAX, &epoch))
		return false;
	grown = realloc(c->quiet, (c->nr_quiet + 1) * sizeof(*grown));
	if (!grown)
		abort();
	c->quiet = grown;
	c->quiet[c->nr_quiet++] = (struct plan_epoch) {
		.ag = (uint32_t)ag,
		.epoch = epoch,
	};
	return true;
}

/* --- all of it --- */

/* Number of the slot that the key @name/N is about. */
static bool slot_key(const char *key, const char *name, uint64_t *slot)
{
	size_t len = strlen(name);

	return !strncmp(key, name, len) &&
	       parse_u64(key + len, CLUSTER_SLOTS - 1, slot);
}

static bool parse_key(struct cluster *c, const char *key,
		      const struct etcd_kv *kv)
{
	uint64_t slot;

	if (slot_key(key, "slots/", &slot)) {
		if (parse_slot(&c->slots[slot], kv))
			return true;
		c->bad = true;
		return false;
	}
	if (slot_key(key, "reserved/", &slot)) {
		c->slots[slot].reserved = true;
		c->slots[slot].reserved_lease = kv->lease;
		return true;
	}
	if (slot_key(key, "hosts/", &slot))
		return parse_report(&c->reports[slot], (uint32_t)slot, kv);
	if (!strcmp(key, "leader")) {
		parse_leader(c, kv);
		return true;
	}
	if (!strcmp(key, "incarnation")) {
		c->counter_mod = kv->mod;
		if (parse_u64(kv->value, UINT64_MAX, &c->counter))
			return true;
		/* There is no higher one then: no slot can be taken. */
		c->counter = UINT64_MAX;
		return false;
	}
	if (!strcmp(key, "map"))
		return parse_map(c, kv);
	if (!strncmp(key, "quiet/", 6))
		return parse_quiet(c, key + 6);
	return false;
}

void cluster_parse(struct cluster *c, const char *prefix,
		   const struct etcd_kvs *kvs)
{
	size_t len = strlen(prefix), i;
	uint32_t slot;

	memset(c, 0, sizeof(*c));
	c->revision = kvs->revision;
	for (i = 0; i < kvs->count; i++) {
		const struct etcd_kv *kv = &kvs->kvs[i];

		if (strncmp(kv->key, prefix, len))
			continue;
		if (!parse_key(c, kv->key + len, kv))
			log_debug("%s: makes no sense: %.100s", kv->key,
				  kv->value);
	}
	/* A report of whoever had the slot before says nothing. */
	for (slot = 0; slot < CLUSTER_SLOTS; slot++)
		if (!c->reports[slot].there || !c->slots[slot].taken ||
		    c->reports[slot].host.incarnation != c->slots[slot].incarnation)
			free_report(&c->reports[slot]);
}

void cluster_free(struct cluster *c)
{
	uint32_t slot;

	for (slot = 0; slot < CLUSTER_SLOTS; slot++)
		free_report(&c->reports[slot]);
	free(c->ags);
	free(c->quiet);
	memset(c, 0, sizeof(*c));
}
