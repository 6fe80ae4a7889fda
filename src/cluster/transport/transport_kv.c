#include "cluster/transport/transport_kv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/base64.h"

/* err_code of the server's answers */
#define NO_STREAM      10059u
#define NO_MESSAGE     10037u
#define WRONG_REVISION 10071u
#define NAME_IN_USE    10058u

void kv_subject_of_look(const char *crawl, char subject[KV_SUBJECT_BYTES])
{
    (void)snprintf(subject, KV_SUBJECT_BYTES, "$JS.API.STREAM.MSG.GET.KV_ragno_%s", crawl);
}

void kv_subject_of_making(const char *crawl, char subject[KV_SUBJECT_BYTES])
{
    (void)snprintf(subject, KV_SUBJECT_BYTES, "$JS.API.STREAM.CREATE.KV_ragno_%s", crawl);
}

void kv_subject_of_key(const char *crawl, const char *key, char subject[KV_SUBJECT_BYTES])
{
    (void)snprintf(subject, KV_SUBJECT_BYTES, "$KV.ragno_%s.%s", crawl, key);
}

const char *kv_key_of_subject(const char *crawl, const char *subject)
{
    char head[KV_SUBJECT_BYTES];
    kv_subject_of_key(crawl, "", head);
    size_t length = strlen(head);
    return strncmp(subject, head, length) == 0 ? subject + length : NULL;
}

Result kv_write_look(const char *crawl, const char *key, Buffer *out)
{
    char subject[KV_SUBJECT_BYTES];
    kv_subject_of_key(crawl, key, subject);
    return buffer_printf(out, "{\"last_by_subj\":\"%s\"}", subject);
}

/* As other programs make buckets, so that their tools show it. */
Result kv_write_making(const char *crawl, unsigned replicas, Buffer *out)
{
    return buffer_printf(out,
                         "{\"name\":\"KV_ragno_%s\",\"subjects\":[\"$KV.ragno_%s.>\"],"
                         "\"retention\":\"limits\",\"storage\":\"file\",\"discard\":\"new\","
                         "\"max_msgs_per_subject\":1,\"max_consumers\":-1,\"max_msgs\":-1,"
                         "\"max_bytes\":-1,\"max_age\":0,\"max_msg_size\":-1,"
                         "\"duplicate_window\":120000000000,\"num_replicas\":%u,"
                         "\"allow_rollup_hdrs\":true,\"deny_delete\":true,\"allow_direct\":true}",
                         crawl, crawl, replicas);
}

/* ---- answers ---- */

/* The number behind "name": in JSON whose numbers are never inside of strings; 0: there is none. */
static uint64_t transport_kv_number_of(const char *text, const char *name)
{
    const char *place = strstr(text, name);
    if (place == NULL) {
        return 0;
    }
    place += strlen(name);
    place += strspn(place, " ");
    return strtoull(place, NULL, 10);
}

/* The string behind "name":, without escapes; its length in *length. */
static const char *string_of(const char *text, const char *name, size_t *length)
{
    const char *place = strstr(text, name);
    if (place == NULL) {
        return NULL;
    }
    place += strlen(name);
    place += strspn(place, " ");
    if (*place != '"') {
        return NULL;
    }
    place++;
    *length = strcspn(place, "\"\\");
    return place[*length] == '"' ? place : NULL;
}

static KvAnswer transport_kv_failed(const char *text)
{
    KvAnswer answer = {.kind = KV_FAILED};
    size_t length = 0;
    const char *words = string_of(text, "\"description\":", &length);
    if (words == NULL) {
        words = "an answer that is not understood";
        length = strlen(words);
    }
    (void)snprintf(answer.text, sizeof answer.text, "%.*s", (int)(length < 150 ? length : 150),
                   words);
    return answer;
}

/* A bucket that is there with other settings, because an operator made it, is as good. */
static KvAnswer kv_read_error(const char *text)
{
    switch (transport_kv_number_of(text, "\"err_code\":")) {
    case NO_MESSAGE:
        return (KvAnswer){.kind = KV_VALUE};
    case NO_STREAM:
        return (KvAnswer){.kind = KV_NO_BUCKET};
    case WRONG_REVISION:
        return (KvAnswer){.kind = KV_CONFLICT};
    case NAME_IN_USE:
        return (KvAnswer){.kind = KV_MADE};
    default:
        return transport_kv_failed(text);
    }
}

KvAnswer kv_read(const char *text, Buffer *value)
{
    size_t length = 0;
    if (strstr(text, "\"error\":") != NULL) {
        return kv_read_error(text);
    }
    if (strstr(text, "\"config\":") != NULL) {
        return (KvAnswer){.kind = KV_MADE};
    }
    uint64_t revision = transport_kv_number_of(text, "\"seq\":");
    const char *data = string_of(text, "\"data\":", &length);
    bool looked = strstr(text, "\"message\":") != NULL;
    if (revision == 0 ||
        (data != NULL && base64_read(value, data, length, BASE64_STANDARD) != RESULT_OK)) {
        return transport_kv_failed(text);
    }
    return (KvAnswer){.kind = looked ? KV_VALUE : KV_STORED, .revision = revision};
}
