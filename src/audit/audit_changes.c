#include "audit/audit_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "logs/log_reader.h"
#include "logs/log_text.h"

#define CHANGED "config: changed key="

typedef struct Reading {
    AuditChanges *changes;
    bool has_compared; /* the start that comes was preceded by its changes */
} Reading;

/* "TIME LEVEL THREAD EVENT": the text behind the third blank is the program's own, and no value can
 * pose as it. */
static bool find_event(const char *line, size_t length, WallTime *time, LogText *event)
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
    if (at == NULL) {
        return false;
    }
    *event = (LogText){at, (size_t)(end - at)};
    return log_text_time((LogText){line, (size_t)(time_end - line)}, time);
}

static bool audit_changes_starts_with(LogText text, const char *word)
{
    return text.length >= strlen(word) && memcmp(text.bytes, word, strlen(word)) == 0;
}

/* The value behind name, such as old="50ms"; NULL: it is not there, or there is no memory. */
static char *audit_changes_value_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    const char *value = at == NULL ? NULL : at + strlen(name);
    const char *end = value == NULL ? NULL : strchr(value, '"');
    return end == NULL ? NULL : strndup(value, (size_t)(end - value));
}

static void audit_changes_release(AuditChange *change)
{
    free(change->text);
    free(change->name);
    free(change->site);
    free(change->from);
    free(change->to);
}

/* text: from the key on. */
static Result audit_changes_take_change(AuditChanges *changes, LogText text, WallTime time)
{
    bool is_delay = audit_changes_starts_with(text, "politeness.");
    if (!is_delay && !audit_changes_starts_with(text, "[site]")) {
        return RESULT_OK;
    }
    AuditChange *more = realloc(changes->list, (changes->n + 1) * sizeof *more);
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    changes->list = more;
    AuditChange change = {.time = time, .text = strndup(text.bytes, text.length)};
    if (change.text == NULL) {
        return RESULT_MEMORY;
    }
    change.from = audit_changes_value_of(change.text, " old=\"");
    change.to = audit_changes_value_of(change.text, " new=\"");
    change.site = audit_changes_value_of(change.text, " site=\"");
    if (is_delay && change.from != NULL && change.to != NULL) {
        change.name = strndup(change.text, strcspn(change.text, " "));
    }
    changes->list[changes->n++] = change;
    return RESULT_OK;
}

static Result audit_changes_take_line(Reading *reading, const char *line, size_t length)
{
    AuditChanges *changes = reading->changes;
    LogText event;
    WallTime time;
    if (!find_event(line, length, &time, &event)) {
        return RESULT_OK;
    }
    if (audit_changes_starts_with(event, CHANGED)) {
        size_t n = sizeof CHANGED - 1;
        return audit_changes_take_change(changes, (LogText){event.bytes + n, event.length - n},
                                         time);
    }
    bool is_new = audit_changes_starts_with(event, "config: is new ");
    if (is_new ||
        audit_changes_starts_with(event, "config: compared with that of the run before ")) {
        changes->since = is_new || !changes->is_whole ? time : changes->since;
        changes->is_whole = true;
        reading->has_compared = true;
    } else if (audit_changes_starts_with(event, "agent: start ")) {
        changes->is_whole = reading->has_compared; /* or the log lacks what changed then */
        reading->has_compared = false;
    }
    return RESULT_OK;
}

Result audit_changes_read(AuditChanges *changes, const char *directory)
{
    const char *line = NULL;
    size_t length = 0;
    LogReader *reader = NULL;
    Reading reading = {.changes = changes};
    Buffer path;
    *changes = (AuditChanges){.n = 0};
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/ragno.log", directory);
    rc = rc == RESULT_OK ? log_reader_open(&reader, buffer_string(&path)) : rc;
    while (rc == RESULT_OK && log_reader_next(reader, &line, &length)) {
        rc = audit_changes_take_line(&reading, line, length);
    }
    log_reader_close(reader);
    buffer_destroy(&path);
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

void audit_changes_destroy(AuditChanges *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        audit_changes_release(&changes->list[i]);
    }
    free(changes->list);
    *changes = (AuditChanges){.n = 0};
}
