#include "audit/audit_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "base/option/option.h"
#include "logs/log_reader.h"
#include "logs/log_text.h"

#define EVENT "config: changed key="

/* "TIME LEVEL THREAD config: changed key=...": the text behind the third blank is the program's
 * own, and no value can pose as it. */
static bool find_event(const char *line, size_t length, WallTime *time, LogText *change)
{
    const char *at = line;
    const char *end = line + length;
    const char *time_end = memchr(line, ' ', length);
    for (int word = 0; word < 3 && at != NULL; word++) {
        at = memchr(at, ' ', (size_t)(end - at));
        while (at != NULL && at < end && *at == ' ') {
            at++;
        }
    }
    size_t event = sizeof EVENT - 1;
    if (at == NULL || (size_t)(end - at) <= event || memcmp(at, EVENT, event) != 0) {
        return false;
    }
    *change = (LogText){at + event, (size_t)(end - at) - event};
    return log_text_time((LogText){line, (size_t)(time_end - line)}, time);
}

static bool starts_with(LogText text, const char *word)
{
    return text.length >= strlen(word) && memcmp(text.bytes, word, strlen(word)) == 0;
}

/* The time behind name, such as old="50ms". */
static bool time_of(const char *text, const char *name, int64_t *ms)
{
    char value[64];
    const char *at = strstr(text, name);
    const char *end = at == NULL ? NULL : strchr(at + strlen(name), '"');
    size_t n = end == NULL ? sizeof value : (size_t)(end - at) - strlen(name);
    if (n >= sizeof value) {
        return false;
    }
    memcpy(value, at + strlen(name), n);
    value[n] = '\0';
    return option_parse_time(value, ms) == RESULT_OK;
}

static Result take_line(AuditChanges *changes, const char *line, size_t length)
{
    LogText text;
    AuditChange change = {.is_site = false};
    if (!find_event(line, length, &change.time, &text)) {
        return RESULT_OK;
    }
    change.is_site = starts_with(text, "[site]");
    if (!change.is_site && !starts_with(text, "politeness.")) {
        return RESULT_OK;
    }
    AuditChange *more = realloc(changes->list, (changes->n + 1) * sizeof *more);
    changes->list = more != NULL ? more : changes->list;
    change.text = strndup(text.bytes, text.length);
    if (more == NULL || change.text == NULL) {
        free(change.text);
        return RESULT_MEMORY;
    }
    change.is_host_delay = starts_with(text, "politeness.host_delay ") &&
                           time_of(change.text, " old=\"", &change.from_ms) &&
                           time_of(change.text, " new=\"", &change.to_ms);
    more[changes->n++] = change;
    return RESULT_OK;
}

Result audit_changes_read(AuditChanges *changes, const char *directory)
{
    const char *line = NULL;
    size_t length = 0;
    LogReader *reader = NULL;
    Buffer path;
    *changes = (AuditChanges){.n = 0};
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/ragno.log", directory);
    rc = rc == RESULT_OK ? log_reader_open(&reader, buffer_string(&path)) : rc;
    while (rc == RESULT_OK && log_reader_next(reader, &line, &length)) {
        rc = take_line(changes, line, length);
    }
    log_reader_close(reader);
    buffer_destroy(&path);
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

void audit_changes_destroy(AuditChanges *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        free(changes->list[i].text);
    }
    free(changes->list);
    *changes = (AuditChanges){.n = 0};
}

static void widen(AuditForce *force, int64_t least_ms, int64_t most_ms)
{
    force->least_ms = least_ms < force->least_ms ? least_ms : force->least_ms;
    force->most_ms = most_ms > force->most_ms ? most_ms : force->most_ms;
    force->has_changed = true;
}

AuditForce audit_changes_between(const AuditChanges *changes, WallTime from, WallTime until,
                                 int64_t now_ms)
{
    bool site_is_known = true;
    AuditForce force = {.least_ms = INT64_MAX};
    for (size_t i = changes->n; i-- > 0 && changes->list[i].time.us >= from.us - AUDIT_CHANGE_US;) {
        const AuditChange *change = &changes->list[i];
        bool is_within = change->time.us <= until.us + AUDIT_CHANGE_US;
        if (is_within && change->is_host_delay) {
            widen(&force, change->from_ms, change->from_ms);
            widen(&force, change->to_ms, change->to_ms);
        } else if (is_within && change->is_site) {
            widen(&force, site_is_known ? now_ms : 0, INT64_MAX);
        }
        site_is_known = site_is_known && !change->is_site;
    }
    return force;
}
