#include "command/forget/forget_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "rules/scope/denial_list.h"

#define COLUMNS    12
#define LOOK_BYTES 4096u

enum { COLUMN_TIME = 0, COLUMN_URL = 3, COLUMN_REFERRER = 5, COLUMN_ANNOTATIONS = 11 };

/* A column of a line of crawl.log. */
typedef struct Column {
    const char *at;
    size_t length;
} Column;

static bool text_split(const char *line, size_t length, Column columns[COLUMNS])
{
    const char *end = line + length;
    size_t n = 0;
    for (const char *at = line; at < end && n < COLUMNS;) {
        while (at < end && *at == ' ') {
            at++;
        }
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *stop = space == NULL ? end : space;
        columns[n++] = (Column){at, (size_t)(stop - at)};
        at = stop;
    }
    return n == COLUMNS;
}

static bool text_is_old(const ForgetTargets *targets, const Column *time)
{
    char text[CLOCK_TEXT_BYTES];
    if (targets->before.us == 0 || time->length == 0) {
        return false;
    }
    (void)wall_format_iso(targets->before, text);
    return strncmp(time->at, text, time->length < strlen(text) - 1 ? time->length : 19) < 0;
}

/* Annotations are separated by commas; those that name it go. */
static Result text_annotations(const ForgetTargets *targets, const Column *column, Buffer *out)
{
    const char *end = column->at + column->length;
    size_t start = out->length;
    Result rc = RESULT_OK;
    for (const char *at = column->at; rc == RESULT_OK && at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma == NULL ? end : comma;
        if (!forget_is_named(targets, at, (size_t)(stop - at))) {
            rc = buffer_printf(out, "%s%.*s", out->length > start ? "," : "", (int)(stop - at), at);
        }
        at = comma == NULL ? end : comma + 1;
    }
    return rc == RESULT_OK && out->length == start ? buffer_append_char(out, '-') : rc;
}

/* A line of crawl.log as it will be, appended to out; *changed: it differs. */
static Result text_log_line(const ForgetTargets *targets, const char *line, size_t length,
                            Buffer *out, bool *changed)
{
    Column columns[COLUMNS];
    if (!text_split(line, length, columns)) {
        *changed = forget_is_named(targets, line, length);
        return *changed ? RESULT_OK : buffer_printf(out, "%.*s\n", (int)length, line);
    }
    const Column *url = &columns[COLUMN_URL];
    bool meant = forget_means_url(targets, url->at, url->length);
    *changed = meant || text_is_old(targets, &columns[COLUMN_TIME]);
    if (*changed && !(meant && targets->hash_logs)) {
        return RESULT_OK;
    }
    if (!*changed && !forget_is_named(targets, line, length)) {
        return buffer_printf(out, "%.*s\n", (int)length, line);
    }
    *changed = true;
    const char *referrer = columns[COLUMN_REFERRER].at;
    Result rc = buffer_append(out, line, (size_t)(url->at - line));
    if (rc == RESULT_OK) {
        rc = meant ? buffer_printf(out, "http://forgotten.invalid/%016" PRIx64,
                                   hash_128(url->at, url->length).low)
                   : buffer_append(out, url->at, url->length);
    }
    if (rc == RESULT_OK) {
        rc =
            buffer_append(out, url->at + url->length, (size_t)(referrer - (url->at + url->length)));
    }
    bool named = forget_is_named(targets, referrer, columns[COLUMN_REFERRER].length);
    const char *from = referrer + (named ? columns[COLUMN_REFERRER].length : 0);
    if (rc == RESULT_OK && named) {
        rc = buffer_append_char(out, '-');
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(out, from, (size_t)(columns[COLUMN_ANNOTATIONS].at - from));
    }
    if (rc == RESULT_OK) {
        rc = text_annotations(targets, &columns[COLUMN_ANNOTATIONS], out);
    }
    return rc == RESULT_OK ? buffer_append_char(out, '\n') : rc;
}

/* ---- files ---- */

/* A file, line by line, into its copy. */
static Result text_copy(ForgetTexts *texts, const char *name, FILE *in, FILE *out, uint64_t *lines)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n = 0;
    bool is_log = strncmp(name, "crawl.log", strlen("crawl.log")) == 0;
    Buffer text;
    Result rc = RESULT_OK;
    buffer_init(&text, BUFFER_NO_LIMIT);
    while (rc == RESULT_OK && (n = getline(&line, &capacity, in)) > 0) {
        size_t length = (size_t)n - (line[n - 1] == '\n');
        bool changed = false;
        buffer_reset(&text);
        if (is_log) {
            rc = text_log_line(texts->targets, line, length, &text, &changed);
        } else if (forget_is_named(texts->targets, line, length)) {
            changed = true;
        } else {
            rc = buffer_append(&text, line, (size_t)n);
        }
        *lines += changed;
        if (rc == RESULT_OK && text.length > 0 &&
            fwrite(text.data, 1, text.length, out) != text.length) {
            rc = result_of_errno(errno);
        }
    }
    rc = rc == RESULT_OK && ferror(in) != 0 ? RESULT_IO : rc;
    free(line);
    buffer_destroy(&text);
    return rc;
}

/* Whether the file begins as text does. */
static bool text_is_text(FILE *in)
{
    char bytes[LOOK_BYTES];
    size_t n = fread(bytes, 1, sizeof bytes, in);
    rewind(in);
    return memchr(bytes, '\0', n) == NULL && !(n > 1 && memcmp(bytes, "\x1f\x8b", 2) == 0) &&
           !(n > 3 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0) &&
           !(n > 3 && memcmp(bytes, "PK\3\4", 4) == 0);
}

static Result text_file(ForgetTexts *texts, const char *name, Buffer *actions)
{
    Buffer from, to;
    uint64_t lines = 0;
    buffer_init(&from, BUFFER_NO_LIMIT);
    buffer_init(&to, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&from, "%s/%s", texts->directory, name);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&to, "%s/%s", texts->staging, name);
    }
    FILE *in = rc == RESULT_OK ? fopen(from.data, "re") : NULL;
    bool is_text = in != NULL && text_is_text(in);
    if (in != NULL && !is_text) {
        texts->untouched++;
        rc = buffer_printf(&texts->names, "%s\n", name);
    }
    FILE *out = is_text ? fopen(to.data, "we") : NULL;
    if (rc == RESULT_OK && (in == NULL || (is_text && out == NULL))) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK && is_text) {
        rc = text_copy(texts, name, in, out, &lines);
    }
    if (rc == RESULT_OK && out != NULL && (fflush(out) != 0 || fsync(fileno(out)) != 0)) {
        rc = result_of_errno(errno);
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    if (out != NULL) {
        (void)fclose(out);
    }
    if (rc == RESULT_OK && lines > 0) {
        texts->files++;
        texts->lines += lines;
        rc = buffer_printf(actions, "move\t%s\t%s\n", name, name);
    }
    buffer_destroy(&from);
    buffer_destroy(&to);
    return rc;
}

/* The operator's own, and what is not text or is made anew with each start. */
static bool text_is_ours(const char *name)
{
    static const char *const others[] = {"config.ini", "in-force.ini",  DENIAL_LIST_FILE,
                                         "lock",       "crawl.pending", "status.json"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

Result forget_texts(ForgetTexts *texts, Buffer *actions)
{
    DIR *dir = opendir(texts->directory);
    const struct dirent *entry = NULL;
    Result rc = dir == NULL ? result_of_errno(errno) : RESULT_OK;
    while (rc == RESULT_OK && (entry = readdir(dir)) != NULL) {
        struct stat st;
        if (text_is_ours(entry->d_name) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode)) {
            rc = text_file(texts, entry->d_name, actions);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return rc == RESULT_OK ? buffer_append_string(actions, "drop\tcrawl.pending\n") : rc;
}
