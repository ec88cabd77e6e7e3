// SPDX-License-Identifier: MIT
/* JSON: what cJSON lacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

void ctl_json_u64(cJSON *object, const char *name, u64 value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)value);
	cJSON_AddRawToObject(object, name, text);
}

void ctl_json_hex64(cJSON *object, const char *name, u64 value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%016" PRIx64, (uint64_t)value);
	cJSON_AddStringToObject(object, name, text);
}

void ctl_json_uuid(cJSON *object, const char *name, const u8 *uuid)
{
	char text[CTL_TEXT];

	cJSON_AddStringToObject(object, name, ctl_uuid(text, uuid));
}

void ctl_json_hex(cJSON *object, const char *name, const void *data, size_t len)
{
	char *text = ctl_alloc(2 * len + 1);

	cJSON_AddStringToObject(object, name, ctl_hex(text, 2 * len + 1, data, len));
	free(text);
}

void ctl_json_key(cJSON *object, const void *key, size_t len)
{
	char text[CTL_KEY_TEXT];

	if (ctl_key_printable(key, len))
		cJSON_AddStringToObject(object, "key", ctl_key(text, key, len));
	else
		ctl_json_hex(object, "key_hex", key, len);
}

static void print_value(cJSON *value)
{
	char *text = cJSON_Print(value);

	if (text)
		fputs(text, stdout);
	free(text);
	cJSON_Delete(value);
}

void ctl_json_print(cJSON *value)
{
	print_value(value);
	putchar('\n');
}

void ctl_json_array_begin(struct ctl_json_array *a)
{
	a->count = 0;
	putchar('[');
}

void ctl_json_array_item(struct ctl_json_array *a, cJSON *item)
{
	char *text = cJSON_PrintUnformatted(item);

	printf("%s\n%s", a->count++ ? "," : "", text ? text : "null");
	free(text);
	cJSON_Delete(item);
}

void ctl_json_array_end(struct ctl_json_array *a)
{
	printf("%s]\n", a->count ? "\n" : "");
}
