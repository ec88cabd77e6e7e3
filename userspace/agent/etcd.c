// SPDX-License-Identifier: MIT
/* etcd v3 through its JSON gateway. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include <curl/curl.h>

#include "etcd.h"
#include "log.h"

#define WAIT_FDS	8
/* An answer, or a message of a watch, that is longer makes no sense. */
#define BUFFER_MAX	(64U << 20)

/* gRPC status codes, as the gateway tells them. */
enum {
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16,
};

/**
 * struct buffer - bytes that come in
 * @bytes: with a NUL behind
 * @len: how many
 */
struct buffer {
	char *bytes;
	size_t len;
};

/**
 * struct etcd - a client
 * @config: endpoints and certificates
 * @timeout_ms: of a request
 * @endpoint: in use, index in the list
 * @call: for requests, one after the other
 * @answer: to the last request
 * @headers: of requests
 * @token: of the user, NULL: not signed in
 * @error: what went wrong last
 * @multi: what the watch runs in
 * @watch: the watch, NULL: none
 * @watch_endpoint: endpoint that it goes to
 * @watch_headers: of its request
 * @watch_body: of its request
 * @news: what came from it and is no whole line yet
 * @changed: it told of a change, or broke
 */
struct etcd {
	const struct config *config;
	unsigned int timeout_ms;
	unsigned int endpoint;
	CURL *call;
	struct buffer answer;
	struct curl_slist *headers;
	char *token;
	char error[256];
	CURLM *multi;
	CURL *watch;
	unsigned int watch_endpoint;
	struct curl_slist *watch_headers;
	char *watch_body;
	struct buffer news;
	bool changed;
};

/* --- base64 --- */

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *data, size_t len)
{
	const uint8_t *in = data;
	char *out = malloc((len + 2) / 3 * 4 + 1), *at = out;
	size_t i;

	if (!out)
		abort();
	for (i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)in[i] << 16;

		if (i + 1 < len)
			bits |= (uint32_t)in[i + 1] << 8;
		if (i + 2 < len)
			bits |= in[i + 2];
		*at++ = digits[bits >> 18];
		*at++ = digits[bits >> 12 & 63];
		*at++ = i + 1 < len ? digits[bits >> 6 & 63] : '=';
		*at++ = i + 2 < len ? digits[bits & 63] : '=';
	}
	*at = '\0';
	return out;
}

char *base64_decode(const char *text, size_t *len)
{
	size_t room = strlen(text) / 4 * 3 + 4, used = 0;
	char *out = malloc(room);
	uint32_t bits = 0;
	int have = 0;

	if (!out)
		abort();
	for (; *text && *text != '='; text++) {
		const char *digit = strchr(digits, *text);

		if (!digit) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (uint32_t)(digit - digits);
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[used++] = (char)(bits >> have & 0xff);
		}
	}
	out[used] = '\0';
	*len = used;
	return out;
}

/* --- requests --- */

static size_t collect(char *data, size_t size, size_t count, void *context)
{
	struct buffer *b = context;
	size_t len = size * count;
	char *grown;

	if (len > BUFFER_MAX - b->len)
		return 0;
	grown = realloc(b->bytes, b->len + len + 1);
	if (!grown)
		return 0;
	memcpy(grown + b->len, data, len);
	b->bytes = grown;
	b->len += len;
	b->bytes[b->len] = '\0';
	return len;
}

const char *etcd_error(const struct etcd *e)
{
	return e->error;
}

const char *etcd_endpoint(const struct etcd *e)
{
	return e->config->etcd.values[e->endpoint];
}

static void next_endpoint(struct etcd *e)
{
	e->endpoint = (e->endpoint + 1) % e->config->etcd.count;
}

static void set_up(const struct etcd *e, CURL *curl, const char *url,
		   struct curl_slist *headers, const char *body,
		   struct buffer *into)
{
	const struct config *c = e->config;

	curl_easy_setopt(curl, CURLOPT_URL, url);
	/* A lock service is spoken to directly. */
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, into);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)e->timeout_ms);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 5L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 2L);
	if (c->cacert)
		curl_easy_setopt(curl, CURLOPT_CAINFO, c->cacert);
	if (c->cert) {
		curl_easy_setopt(curl, CURLOPT_SSLCERT, c->cert);
		curl_easy_setopt(curl, CURLOPT_SSLKEY, c->key);
	}
}

static struct curl_slist *make_headers(const struct etcd *e)
{
	struct curl_slist *headers;
	char line[1024];

	headers = curl_slist_append(NULL, "Content-Type: application/json");
	/* Or curl waits for a "continue" before large bodies. */
	headers = curl_slist_append(headers, "Expect:");
	if (e->token) {
		snprintf(line, sizeof(line), "Authorization: %s", e->token);
		headers = curl_slist_append(headers, line);
	}
	return headers;
}

static int fail(struct etcd *e, int error, const char *text)
{
	snprintf(e->error, sizeof(e->error), "%s: %s", etcd_endpoint(e), text);
	return error;
}

/* What the gateway says went wrong. */
static int refusal(struct etcd *e, const cJSON *answer, long status)
{
	const cJSON *text = cJSON_GetObjectItem(answer, "error");
	const cJSON *code = cJSON_GetObjectItem(answer, "code");
	char other[64];

	if (!cJSON_IsString(text) || !cJSON_IsNumber(code)) {
		snprintf(other, sizeof(other), "HTTP status %ld: not an etcd?",
			 status);
		return fail(e, -EPROTO, other);
	}
	switch (code->valueint) {
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_UNAVAILABLE:
		return fail(e, -EHOSTUNREACH, text->valuestring);
	case GRPC_NOT_FOUND:
		return fail(e, -ENOENT, text->valuestring);
	case GRPC_PERMISSION_DENIED:
	case GRPC_UNAUTHENTICATED:
		return fail(e, -EACCES, text->valuestring);
	case GRPC_RESOURCE_EXHAUSTED:
		return fail(e, -ENOSPC, text->valuestring);
	default:
		return fail(e, -EIO, text->valuestring);
	}
}

/* One request to the current endpoint. *@again: another may do better, now. */
static int try_endpoint(struct etcd *e, const char *path, const char *body,
			cJSON **answer, bool *again)
{
	char url[512];
	long status = 0;
	CURLcode code;
	int error;

	*again = false;
	snprintf(url, sizeof(url), "%s%s", etcd_endpoint(e), path);
	curl_slist_free_all(e->headers);
	e->headers = make_headers(e);
	e->answer.len = 0;
	/* Keeps connections; and forgets what was set. */
	curl_easy_reset(e->call);
	set_up(e, e->call, url, e->headers, body, &e->answer);
	curl_easy_setopt(e->call, CURLOPT_TIMEOUT_MS, (long)e->timeout_ms);
	code = curl_easy_perform(e->call);
	if (code != CURLE_OK) {
		/* What took all the time there is, is not tried twice. */
		*again = code != CURLE_OPERATION_TIMEDOUT;
		return fail(e, -EHOSTUNREACH, curl_easy_strerror(code));
	}
	curl_easy_getinfo(e->call, CURLINFO_RESPONSE_CODE, &status);
	*answer = cJSON_Parse(e->answer.len ? e->answer.bytes : "");
	if (status == 200) {
		if (*answer)
			return 0;
		return fail(e, -EPROTO, "the answer is no JSON");
	}
	error = refusal(e, *answer, status);
	*again = error == -EHOSTUNREACH;
	cJSON_Delete(*answer);
	*answer = NULL;
	return error;
}

static int request(struct etcd *e, const char *path, const char *body,
		   cJSON **answer)
{
	unsigned int tries;
	int error = -EHOSTUNREACH;
	bool again = true;

	for (tries = 0; again && tries < e->config->etcd.count; tries++) {
		error = try_endpoint(e, path, body, answer, &again);
		if (error == -EHOSTUNREACH || error == -EPROTO)
			next_endpoint(e);
	}
	return error;
}

static bool read_password(struct etcd *e, char *password, size_t room)
{
	FILE *file = fopen(e->config->password_file, "re");
	bool good;

	if (!file)
		return false;
	good = fgets(password, (int)room, file) != NULL;
	fclose(file);
	password[good ? strcspn(password, "\r\n") : 0] = '\0';
	return good;
}

static int sign_in(struct etcd *e)
{
	cJSON *ask = cJSON_CreateObject(), *answer = NULL;
	char password[256];
	const cJSON *token;
	char *body;
	int error;

	if (!read_password(e, password, sizeof(password))) {
		cJSON_Delete(ask);
		return fail(e, -EACCES, "can't read the password file");
	}
	cJSON_AddStringToObject(ask, "name", e->config->user);
	cJSON_AddStringToObject(ask, "password", password);
	body = cJSON_PrintUnformatted(ask);
	cJSON_Delete(ask);
	error = request(e, "/v3/auth/authenticate", body, &answer);
	free(body);
	explicit_bzero(password, sizeof(password));
	if (error == -EIO)
		error = -EACCES;	/* so etcd calls a wrong password */
	if (error)
		return error;
	token = cJSON_GetObjectItem(answer, "token");
	if (cJSON_IsString(token))
		e->token = strdup(token->valuestring);
	else
		error = fail(e, -EPROTO, "no token came");
	cJSON_Delete(answer);
	return error;
}

/* @ask is freed. */
static int call(struct etcd *e, const char *path, cJSON *ask, cJSON **answer)
{
	char *body = cJSON_PrintUnformatted(ask);
	int error = 0;

	cJSON_Delete(ask);
	*answer = NULL;
	if (!body)
		return fail(e, -ENOMEM, "out of memory");
	if (e->config->user && !e->token)
		error = sign_in(e);
	if (!error)
		error = request(e, path, body, answer);
	if (error == -EACCES && e->token) {
		/* A token has an end, or does not outlive etcd. */
		free(e->token);
		e->token = NULL;
		error = sign_in(e);
		if (!error)
			error = request(e, path, body, answer);
	}
	free(body);
	return error;
}

/* 64 bits are text in protobuf's JSON; 0 is left out. */
static int64_t get_i64(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(object, name);

	if (cJSON_IsString(item))
		return strtoll(item->valuestring, NULL, 10);
	if (cJSON_IsNumber(item))
		return (int64_t)item->valuedouble;
	return 0;
}

static void add_i64(cJSON *object, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	cJSON_AddStringToObject(object, name, text);
}

static void add_text(cJSON *object, const char *name, const char *text)
{
	char *coded = base64_encode(text, strlen(text));

	cJSON_AddStringToObject(object, name, coded);
	free(coded);
}

/* All keys that begin with @prefix. */
static void add_prefix(cJSON *object, const char *prefix)
{
	char *end = strdup(prefix);

	if (!end)
		abort();
	end[strlen(end) - 1]++;
	add_text(object, "key", prefix);
	add_text(object, "range_end", end);
	free(end);
}

static char *get_text(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(object, name);
	size_t len;

	return base64_decode(cJSON_IsString(item) ? item->valuestring : "", &len);
}

void etcd_kvs_free(struct etcd_kvs *kvs)
{
	while (kvs->count) {
		kvs->count--;
		free(kvs->kvs[kvs->count].key);
		free(kvs->kvs[kvs->count].value);
	}
	free(kvs->kvs);
	memset(kvs, 0, sizeof(*kvs));
}

int etcd_read(struct etcd *e, const char *prefix, struct etcd_kvs *out)
{
	cJSON *ask = cJSON_CreateObject(), *answer;
	const cJSON *kvs, *item;
	int error;

	memset(out, 0, sizeof(*out));
	add_prefix(ask, prefix);
	error = call(e, "/v3/kv/range", ask, &answer);
	if (error)
		return error;
	out->revision = get_i64(cJSON_GetObjectItem(answer, "header"), "revision");
	kvs = cJSON_GetObjectItem(answer, "kvs");
	if (!out->revision) {
		error = fail(e, -EPROTO, "an answer without a revision");
		kvs = NULL;
	}
	if (cJSON_IsArray(kvs))
		out->kvs = calloc((size_t)cJSON_GetArraySize(kvs) + 1,
				  sizeof(*out->kvs));
	cJSON_ArrayForEach(item, kvs) {
		struct etcd_kv *kv = &out->kvs[out->count++];

		kv->key = get_text(item, "key");
		kv->value = get_text(item, "value");
		kv->create = get_i64(item, "create_revision");
		kv->mod = get_i64(item, "mod_revision");
		kv->lease = get_i64(item, "lease");
		if (!kv->key || !kv->value)
			error = fail(e, -EPROTO, "a key that is no base64");
	}
	cJSON_Delete(answer);
	if (error)
		etcd_kvs_free(out);
	return error;
}

int etcd_transact(struct etcd *e, const struct etcd_compare *compares,
		  size_t nr_compares, const struct etcd_op *ops, size_t nr_ops,
		  bool *done)
{
	cJSON *ask = cJSON_CreateObject(), *answer, *list, *item, *inner;
	size_t i;
	int error;

	*done = false;
	list = cJSON_AddArrayToObject(ask, "compare");
	for (i = 0; i < nr_compares; i++) {
		item = cJSON_CreateObject();
		add_text(item, "key", compares[i].key);
		cJSON_AddStringToObject(item, "result", "EQUAL");
		cJSON_AddStringToObject(item, "target",
					compares[i].create ? "CREATE" : "MOD");
		add_i64(item, compares[i].create ? "create_revision" :
			"mod_revision", compares[i].revision);
		cJSON_AddItemToArray(list, item);
	}
	list = cJSON_AddArrayToObject(ask, "success");
	for (i = 0; i < nr_ops; i++) {
		item = cJSON_CreateObject();
		inner = cJSON_AddObjectToObject(item, ops[i].value ?
						"request_put" :
						"request_delete_range");
		add_text(inner, "key", ops[i].key);
		if (ops[i].value)
			add_text(inner, "value", ops[i].value);
		if (ops[i].value && ops[i].lease)
			add_i64(inner, "lease", ops[i].lease);
		cJSON_AddItemToArray(list, item);
	}
	error = call(e, "/v3/kv/txn", ask, &answer);
	if (error)
		return error;
	*done = cJSON_IsTrue(cJSON_GetObjectItem(answer, "succeeded"));
	cJSON_Delete(answer);
	return 0;
}

int etcd_grant(struct etcd *e, uint32_t ttl_s, int64_t *lease, uint64_t *ttl_ms)
{
	cJSON *ask = cJSON_CreateObject(), *answer;
	int error;

	add_i64(ask, "TTL", ttl_s);
	error = call(e, "/v3/lease/grant", ask, &answer);
	if (error)
		return error;
	*lease = get_i64(answer, "ID");
	*ttl_ms = (uint64_t)get_i64(answer, "TTL") * 1000;
	cJSON_Delete(answer);
	if (*lease <= 0 || !*ttl_ms)
		return fail(e, -EPROTO, "a lease without identifier or end");
	return 0;
}

int etcd_keep_alive(struct etcd *e, int64_t lease, uint64_t *ttl_ms)
{
	cJSON *ask = cJSON_CreateObject(), *answer;
	int64_t ttl;
	int error;

	add_i64(ask, "ID", lease);
	error = call(e, "/v3/lease/keepalive", ask, &answer);
	if (error)
		return error;
	/* It is the first message of a stream. */
	ttl = get_i64(cJSON_GetObjectItem(answer, "result"), "TTL");
	cJSON_Delete(answer);
	if (ttl <= 0)
		return fail(e, -ENOENT, "the lease is over");
	*ttl_ms = (uint64_t)ttl * 1000;
	return 0;
}

int etcd_revoke(struct etcd *e, int64_t lease)
{
	cJSON *ask = cJSON_CreateObject(), *answer;
	int error;

	add_i64(ask, "ID", lease);
	error = call(e, "/v3/lease/revoke", ask, &answer);
	cJSON_Delete(error ? NULL : answer);
	return error;
}

/* --- watch --- */

static void end_watch(struct etcd *e)
{
	if (!e->watch)
		return;
	curl_multi_remove_handle(e->multi, e->watch);
	curl_easy_cleanup(e->watch);
	curl_slist_free_all(e->watch_headers);
	free(e->watch_body);
	e->watch = NULL;
	e->watch_headers = NULL;
	e->watch_body = NULL;
	e->news.len = 0;
}

bool etcd_watching(const struct etcd *e)
{
	return e->watch != NULL;
}

void etcd_watch(struct etcd *e, const char *prefix, int64_t revision)
{
	cJSON *ask = cJSON_CreateObject(), *create;
	char url[512];

	end_watch(e);
	create = cJSON_AddObjectToObject(ask, "create_request");
	add_prefix(create, prefix);
	add_i64(create, "start_revision", revision);
	e->watch_body = cJSON_PrintUnformatted(ask);
	cJSON_Delete(ask);
	e->watch = curl_easy_init();
	if (!e->watch || !e->watch_body)
		abort();
	snprintf(url, sizeof(url), "%s/v3/watch", etcd_endpoint(e));
	e->watch_endpoint = e->endpoint;
	e->watch_headers = make_headers(e);
	set_up(e, e->watch, url, e->watch_headers, e->watch_body, &e->news);
	curl_multi_add_handle(e->multi, e->watch);
}

/* One message of the watch: does it tell of a change? False in *@good: no. */
static bool take_message(struct etcd *e, const char *line, bool *good)
{
	cJSON *message = cJSON_Parse(line);
	const cJSON *result = cJSON_GetObjectItem(message, "result");
	bool changed;

	*good = cJSON_IsObject(result) &&
		!cJSON_IsTrue(cJSON_GetObjectItem(result, "canceled"));
	/* Canceled: compacted behind us, or the token has ended. */
	if (!*good)
		log_debug("%s: the watch ended: %.200s", etcd_endpoint(e), line);
	changed = cJSON_GetArraySize(cJSON_GetObjectItem(result, "events")) > 0;
	cJSON_Delete(message);
	return changed;
}

static void take_news(struct etcd *e)
{
	char *line = e->news.bytes, *end;
	bool good = true;

	if (!e->news.len)
		return;
	while (good && (end = strchr(line, '\n'))) {
		*end = '\0';
		if (*line)
			e->changed |= take_message(e, line, &good);
		line = end + 1;
	}
	if (!good) {
		end_watch(e);
		e->changed = true;
		return;
	}
	e->news.len -= (size_t)(line - e->news.bytes);
	memmove(e->news.bytes, line, e->news.len + 1);
}

static void run_watch(struct etcd *e)
{
	CURLMsg *message;
	int running, left;

	curl_multi_perform(e->multi, &running);
	take_news(e);
	while ((message = curl_multi_info_read(e->multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		log_debug("%s: the watch broke: %s",
			  e->config->etcd.values[e->watch_endpoint],
			  curl_easy_strerror(message->data.result));
		if (e->watch_endpoint == e->endpoint)
			next_endpoint(e);
		end_watch(e);
		e->changed = true;
		break;
	}
}

bool etcd_wait(struct etcd *e, const int *fds, size_t nr_fds, int timeout_ms)
{
	struct curl_waitfd waits[WAIT_FDS] = { 0 };
	bool changed;
	size_t i;

	for (i = 0; i < nr_fds && i < WAIT_FDS; i++) {
		waits[i].fd = fds[i];
		waits[i].events = CURL_WAIT_POLLIN;
	}
	run_watch(e);
	if (!e->changed) {
		curl_multi_poll(e->multi, waits, (unsigned int)i, timeout_ms, NULL);
		run_watch(e);
	}
	changed = e->changed;
	e->changed = false;
	return changed;
}

/* --- client --- */

struct etcd *etcd_open(const struct config *config, unsigned int timeout_ms)
{
	struct etcd *e = calloc(1, sizeof(*e));

	if (!e || curl_global_init(CURL_GLOBAL_DEFAULT))
		abort();
	e->config = config;
	e->timeout_ms = timeout_ms;
	e->call = curl_easy_init();
	e->multi = curl_multi_init();
	if (!e->call || !e->multi)
		abort();
	return e;
}

void etcd_set_timeout(struct etcd *e, unsigned int timeout_ms)
{
	e->timeout_ms = timeout_ms;
}

void etcd_close(struct etcd *e)
{
	if (!e)
		return;
	end_watch(e);
	curl_multi_cleanup(e->multi);
	curl_easy_cleanup(e->call);
	curl_slist_free_all(e->headers);
	free(e->answer.bytes);
	free(e->news.bytes);
	free(e->token);
	free(e);
	curl_global_cleanup();
}
