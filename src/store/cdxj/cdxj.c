#include "store/cdxj/cdxj.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/ascii.h"
#include "base/memory/array.h"
#include "store/warc/warc_head.h"
#include "base/thread/log.h"
#include "store/cdxj/surt.h"

/* ---- CDXJ ---- */

/* ---- writing ---- */

static void cdxj_put_json(Buffer *out, WarcBytes text)
{
    size_t start = 0; /* of what is copied as it is */
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        bool is_escaped = c == '"' || c == '\\';
        if (c >= 0x20 && c < 0x7f && !is_escaped) {
            continue;
        }
        buffer_append(out, text.bytes + start, i - start);
        buffer_printf(out, is_escaped ? "\\%c" : "\\u%04x", (unsigned)c);
        start = i + 1;
    }
    buffer_append(out, text.bytes + start, text.length - start);
}

/* A media type in lower case, or "unk": servers send anything. */
static void cdxj_put_mime(Buffer *out, WarcBytes mime)
{
    static const char others[] = "!#$&-^_.+/";
    bool valid = mime.length > 0 && mime.length <= 128;
    for (size_t i = 0; i < mime.length && valid; i++) {
        char c = mime.bytes[i];
        valid = ascii_is_digit(c) || ascii_is_letter(c) || (c != '\0' && strchr(others, c) != NULL);
    }
    if (!valid) {
        mime = warc_bytes("unk", 3);
    }
    for (size_t i = 0; i < mime.length; i++) {
        buffer_append_char(out, ascii_lower(mime.bytes[i]));
    }
}

Result cdxj_append_facts(Buffer *out, const CdxjFacts *facts)
{
    char timestamp[CLOCK_TEXT_BYTES];
    char digest[WARC_DIGEST_TEXT];
    size_t before = out->length;
    const char *prefix = facts->type == WARC_CONVERSION ? CDXJ_RENDERED : "";
    if (*prefix != '\0') { /* the name is its own key */
        buffer_append_string(out, prefix);
        buffer_append(out, facts->url.bytes, facts->url.length);
    } else if (surt_append(out, facts->url.bytes, facts->url.length) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    buffer_append_char(out, ' ');
    buffer_append_string(out, wall_format_seconds(facts->date, timestamp));
    buffer_append_string(out, " {\"url\": \"");
    buffer_append_string(out, prefix);
    cdxj_put_json(out, facts->url);
    buffer_append_string(out, "\", \"mime\": \"");
    if (facts->type == WARC_REVISIT) {
        buffer_append_string(out, "warc/revisit");
    } else {
        cdxj_put_mime(out, facts->mime);
    }
    if (facts->status != 0) {
        buffer_append_string(out, "\", \"status\": \"");
        buffer_append_number(out, facts->status);
    }
    if (facts->digest != NULL) {
        buffer_append_string(out, "\", \"digest\": \"");
        buffer_append_string(out, warc_digest_format(facts->digest, digest));
    }
    if (facts->usage.length > 0) {
        buffer_append_string(out, "\", \"usage\": \"");
        cdxj_put_json(out, facts->usage);
    }
    buffer_append_string(out, "\", \"length\": \"");
    return buffer_end(out, before);
}

Result cdxj_append_place(Buffer *out, uint64_t length, uint64_t offset, const char *filename)
{
    size_t before = out->length;
    buffer_append_number(out, (int64_t)length);
    buffer_append_string(out, "\", \"offset\": \"");
    buffer_append_number(out, (int64_t)offset);
    buffer_append_string(out, "\", \"filename\": \"");
    cdxj_put_json(out, warc_bytes(filename, strlen(filename)));
    buffer_append_string(out, "\"}\n");
    return buffer_end(out, before);
}

/* ---- reading ---- */

/* Skips blanks and then the character c; NULL when it is not there. */
static const char *cdxj_skip(const char *at, const char *end, char c)
{
    while (at < end && *at == ' ') {
        at++;
    }
    return at < end && *at == c ? at + 1 : NULL;
}

/* Reads a JSON string behind its opening quote; escapes make it go through scratch. Only the
 * escapes that append_json writes, and their shorter relatives, are understood. */
static const char *read_string(const char *at, const char *end, Buffer *scratch, WarcBytes *value)
{
    const char *start = at;
    while (at < end && *at != '"' && *at != '\\') {
        at++;
    }
    if (at < end && *at == '"') {
        *value = warc_bytes(start, (size_t)(at - start));
        return at + 1;
    }
    buffer_reset(scratch);
    if (buffer_append(scratch, start, (size_t)(at - start)) != RESULT_OK) {
        return NULL;
    }
    while (at < end && *at != '"') {
        char c = *at++;
        if (c == '\\' && at < end) {
            unsigned code = 0;
            c = *at++;
            if (c == 'u') {
                char digits[5] = {0};
                if (end - at < 4) {
                    return NULL;
                }
                memcpy(digits, at, 4);
                char *stop = NULL;
                code = (unsigned)strtoul(digits, &stop, 16);
                if (stop != digits + 4 || code > 0xff) {
                    return NULL;
                }
                c = (char)code;
                at += 4;
            } else if (c != '"' && c != '\\' && c != '/') {
                return NULL;
            }
        }
        if (buffer_append_char(scratch, c) != RESULT_OK) {
            return NULL;
        }
    }
    if (at >= end) {
        return NULL;
    }
    *value = warc_bytes(scratch->data, scratch->length);
    return at + 1;
}

/* Reads the value behind a name: a string, or a number, as other programs write places. */
static const char *read_value(const char *at, const char *end, Buffer *scratch, WarcBytes *value)
{
    const char *string = cdxj_skip(at, end, '"');
    if (string != NULL) {
        return read_string(string, end, scratch, value);
    }
    while (at < end && *at == ' ') {
        at++;
    }
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    *value = warc_bytes(start, (size_t)(at - start));
    return value->length > 0 ? at : NULL;
}

static bool keep_field(CdxjEntry *entry, WarcBytes name, WarcBytes value)
{
    uint64_t n = 0;
    if (warc_bytes_are(name, "url")) {
        entry->url = value;
    } else if (warc_bytes_are(name, "mime")) {
        entry->mime = value;
    } else if (warc_bytes_are(name, "digest")) {
        entry->digest = value;
    } else if (warc_bytes_are(name, "filename")) {
        entry->filename = value;
    } else if (warc_bytes_are(name, "status")) {
        if (!warc_bytes_number(value, 999, &n)) {
            return false;
        }
        entry->status = (unsigned)n;
    } else if (warc_bytes_are(name, "length")) {
        return warc_bytes_number(value, UINT64_MAX, &entry->length);
    } else if (warc_bytes_are(name, "offset")) {
        return warc_bytes_number(value, UINT64_MAX, &entry->offset);
    }
    return true;
}

Result cdxj_parse(WarcBytes line, Buffer *scratch, CdxjEntry *entry)
{
    const char *end = line.bytes + line.length;
    const char *blank = line.length == 0 ? NULL : memchr(line.bytes, ' ', line.length);
    const char *stamp = blank == NULL ? NULL : blank + 1;
    const char *json = stamp == NULL ? NULL : memchr(stamp, ' ', (size_t)(end - stamp));
    uint64_t digits = 0;
    *entry = (CdxjEntry){.offset = UINT64_MAX};
    if (json == NULL || json - stamp < 14 || json - stamp > 17 || /* some have milliseconds */
        !warc_bytes_number(warc_bytes(stamp, 14), UINT64_MAX, &digits)) {
        return RESULT_INVALID;
    }
    entry->key = warc_bytes(line.bytes, (size_t)(blank - line.bytes));
    entry->timestamp = warc_bytes(stamp, CDXJ_TIMESTAMP_BYTES);
    const char *at = cdxj_skip(json, end, '{');
    Buffer other; /* for fields other than the URL; escapes in those are refused, it is reused */
    buffer_init(&other, 4096);
    bool more = at != NULL;
    while (more) {
        WarcBytes name = {.bytes = NULL};
        WarcBytes value = {.bytes = NULL};
        at = cdxj_skip(at, end, '"');
        at = at == NULL ? NULL : read_string(at, end, &other, &name);
        at = at == NULL ? NULL : cdxj_skip(at, end, ':');
        bool is_url = at != NULL && warc_bytes_are(name, "url");
        Buffer *to = is_url ? scratch : &other;
        at = at == NULL ? NULL : read_value(at, end, to, &value);
        bool unescaped = at != NULL && other.data != NULL && value.bytes == other.data;
        if (at == NULL || unescaped || !keep_field(entry, name, value)) {
            at = NULL;
            break;
        }
        const char *comma = cdxj_skip(at, end, ',');
        more = comma != NULL;
        at = more ? comma : cdxj_skip(at, end, '}');
    }
    buffer_destroy(&other);
    bool complete = at == end && entry->url.length > 0 && entry->filename.length > 0 &&
                    entry->offset != UINT64_MAX && entry->length > 0;
    return complete ? RESULT_OK : RESULT_INVALID;
}

/* ---- looking up ---- */

typedef struct Search {
    const char *directory;
    WarcBytes url; /* bytes NULL: whatever it is */
    Buffer prefix; /* key and a blank */
    Buffer scratch;
    CdxjFound found;
    void *context;
    bool stop;
} Search;

static const char *cdxj_line_end(const char *at, const char *end)
{
    const char *lf = memchr(at, '\n', (size_t)(end - at));
    return lf == NULL ? end : lf;
}

/* Negative when the line at sorts before all lines with the prefix, 0 when it has it. */
static int compare_prefix(const char *line, const char *end, const Buffer *prefix)
{
    if (prefix->length == 0) {
        return 0; /* all lines are wanted */
    }
    size_t n = (size_t)(cdxj_line_end(line, end) - line);
    int order = memcmp(line, prefix->data, n < prefix->length ? n : prefix->length);
    return order != 0 || n >= prefix->length ? order : -1;
}

static void cdxj_report(Search *search, const char *line, const char *end)
{
    CdxjEntry entry;
    Result rc = cdxj_parse(warc_bytes(line, (size_t)(end - line)), &search->scratch, &entry);
    if (rc != RESULT_OK) {
        return;
    }
    bool is_wanted = search->url.bytes == NULL ||
                     (entry.url.length == search->url.length &&
                      memcmp(entry.url.bytes, search->url.bytes, entry.url.length) == 0);
    if (is_wanted) {
        search->stop = !search->found(search->context, &entry);
    }
}

/* The first line that does not sort before the prefix, by bisection over bytes. */
static const char *lower_bound(const char *text, const char *end, const Buffer *prefix)
{
    const char *low = text;
    const char *high = end;
    while (low < high) {
        const char *middle = low + (high - low) / 2;
        const char *lf = middle == low ? NULL : memrchr(low, '\n', (size_t)(middle - low));
        const char *line = lf == NULL ? low : lf + 1;
        if (compare_prefix(line, end, prefix) < 0) {
            const char *stop = cdxj_line_end(line, end);
            low = stop < end ? stop + 1 : end;
        } else {
            high = line;
        }
    }
    return low;
}

static void search_text(Search *search, const char *text, size_t length, bool sorted)
{
    const char *end = text + length;
    const char *at = sorted ? lower_bound(text, end, &search->prefix) : text;
    while (at < end && !search->stop) {
        const char *stop = cdxj_line_end(at, end);
        int order = compare_prefix(at, end, &search->prefix);
        if (order == 0) {
            cdxj_report(search, at, stop);
        } else if (sorted) {
            break;
        }
        at = stop < end ? stop + 1 : end;
    }
}

static Result cdxj_search_file(void *context, const char *name)
{
    Search *search = context;
    Path path;
    const char *text = NULL;
    uint64_t length = 0;
    bool sorted = file_name_ends_with(name, ".cdxj");
    if (search->stop || (!sorted && !file_name_ends_with(name, ".cdxj.open"))) {
        return RESULT_OK;
    }
    Result rc =
        file_map(AT_FDCWD, file_path(&path, "%s/%s", search->directory, name), &text, &length);
    if (text != NULL) {
        search_text(search, text, (size_t)length, sorted);
        file_unmap(text, length);
    }
    /* A journal may become an index between the listing and here: the next look sees it. */
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static Search cdxj_search_for(CdxjFound found, void *context)
{
    return (Search){.found = found,
                    .context = context,
                    .prefix = {.limit = BUFFER_NO_LIMIT},
                    .scratch = {.limit = BUFFER_NO_LIMIT}};
}

/* Looks at every line whose key begins with the prefix of the search, which is destroyed. */
static Result cdxj_search(Search *search, const char *directory)
{
    Result rc = buffer_end(&search->prefix, 0);
    if (rc == RESULT_OK) {
        search->directory = directory;
        rc = file_walk(directory, cdxj_search_file, search);
    }
    buffer_destroy(&search->prefix);
    buffer_destroy(&search->scratch);
    return rc;
}

Result cdxj_find(const char *directory, const char *url, size_t length, CdxjFound found,
                 void *context)
{
    Search search = cdxj_search_for(found, context);
    search.url = warc_bytes(url, length);
    if (surt_append(&search.prefix, url, length) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    buffer_append_char(&search.prefix, ' ');
    return cdxj_search(&search, directory);
}

Result cdxj_find_capture(const char *directory, const char *url, size_t length, CdxjFound found,
                         void *context, CdxjCapture *capture)
{
    *capture = (CdxjCapture){.offset = 0};
    Result rc = cdxj_find(directory, url, length, found, context);
    return rc == RESULT_OK && capture->filename[0] == '\0' ? RESULT_NOT_FOUND : rc;
}

Result cdxj_walk(const char *directory, CdxjFound found, void *context)
{
    Search search = cdxj_search_for(found, context);
    return cdxj_search(&search, directory);
}

Result cdxj_walk_rendered(const char *directory, CdxjFound found, void *context)
{
    Search search = cdxj_search_for(found, context);
    buffer_append_string(&search.prefix, CDXJ_RENDERED);
    return cdxj_search(&search, directory);
}

WarcBytes cdxj_plain_url(WarcBytes url)
{
    size_t n = sizeof CDXJ_RENDERED - 1;
    bool is_rendered = url.length > n && memcmp(url.bytes, CDXJ_RENDERED, n) == 0;
    return is_rendered ? warc_bytes(url.bytes + n, url.length - n) : url;
}

typedef struct Newest {
    CdxjCapture *capture;
    bool revisits;
} Newest;

bool cdxj_capture_take(CdxjCapture *capture, const CdxjEntry *entry)
{
    if (entry->filename.length >= sizeof capture->filename) {
        return false;
    }
    int order = memcmp(entry->timestamp.bytes, capture->timestamp, CDXJ_TIMESTAMP_BYTES);
    if (order < 0 || (order == 0 && entry->offset <= capture->offset)) {
        return false;
    }
    *capture = (CdxjCapture){.offset = entry->offset,
                             .length = entry->length,
                             .status = entry->status,
                             .revisit = warc_bytes_are(entry->mime, "warc/revisit")};
    memcpy(capture->filename, entry->filename.bytes, entry->filename.length);
    memcpy(capture->timestamp, entry->timestamp.bytes, CDXJ_TIMESTAMP_BYTES);
    return true;
}

static bool keep_newest(void *context, const CdxjEntry *entry)
{
    Newest *newest = context;
    if (newest->revisits || !warc_bytes_are(entry->mime, "warc/revisit")) {
        (void)cdxj_capture_take(newest->capture, entry);
    }
    return true;
}

Result cdxj_newest(const char *directory, const char *url, size_t length, bool revisits,
                   CdxjCapture *capture)
{
    Newest newest = {.capture = capture, .revisits = revisits};
    return cdxj_find_capture(directory, url, length, keep_newest, &newest, capture);
}

#define NOT_MODIFIED 304u /* confirms what was there */

typedef struct OfVisit {
    CdxjCapture *capture;
    int32_t status;
    WallTime time;
    bool is_found;
} OfVisit;

bool cdxj_is_of_visit(const CdxjEntry *entry, int32_t status, WallTime time)
{
    char last[CLOCK_TEXT_BYTES];
    (void)wall_format_seconds(time, last);
    return (entry->status == NOT_MODIFIED || (int64_t)entry->status == status) &&
           memcmp(entry->timestamp.bytes, last, CDXJ_TIMESTAMP_BYTES) <= 0;
}

static bool keep_of_visit(void *context, const CdxjEntry *entry)
{
    OfVisit *of = context;
    bool is_it = cdxj_is_of_visit(entry, of->status, of->time);
    if (is_it && !of->is_found) {
        of->is_found = true;
        *of->capture = (CdxjCapture){.offset = 0};
    }
    if (is_it == of->is_found) {
        (void)cdxj_capture_take(of->capture, entry);
    }
    return true;
}

Result cdxj_of_visit(const char *directory, const char *url, size_t length, int32_t status,
                     WallTime time, CdxjCapture *capture)
{
    OfVisit of = {.capture = capture, .status = status, .time = time};
    return cdxj_find_capture(directory, url, length, keep_of_visit, &of, capture);
}

/* ---- sorting ---- */

static Result cdxj_sort_failed(const char *what, const char *path)
{
    int error = errno;
    LOG_ERROR("cdxj", "index cannot be written", "step=%s file=%s error=%s", what, path,
              strerror(error));
    return result_of_errno(error);
}

/* Both lines have their ends, which nothing sorts before. */
static int cdxj_compare_lines(const char *a, const char *b)
{
    while (*a == *b && *a != '\n') {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static int cdxj_compare_places(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return cdxj_compare_lines(*a, *b);
}

/* Writes the lines of the journal in order into the file at path, durably. A last line without its
 * end (a crash while it was written) is dropped. */
static Result cdxj_sort_write(const char *at, const char *end, const char *path)
{
    const char **lines = NULL;
    size_t n = 0;
    Result rc = RESULT_OK;
    for (const char *next; rc == RESULT_OK && at < end && (next = cdxj_line_end(at, end)) < end;
         at = next + 1) {
        rc = array_add(&lines, &n, sizeof at, &at);
    }
    FILE *out = rc == RESULT_OK ? fopen(path, "wbe") : NULL;
    if (out == NULL) {
        free(lines);
        return rc == RESULT_OK ? cdxj_sort_failed("create", path) : rc;
    }
    if (n > 0) {
        qsort(lines, n, sizeof *lines, cdxj_compare_places);
    }
    for (size_t i = 0; i < n; i++) {
        (void)fwrite(lines[i], 1, (size_t)(cdxj_line_end(lines[i], end) + 1 - lines[i]), out);
    }
    free(lines);
    if (ferror(out) || fflush(out) != 0 || fdatasync(fileno(out)) != 0) {
        rc = cdxj_sort_failed("write", path);
    }
    if (fclose(out) != 0 && rc == RESULT_OK) {
        rc = cdxj_sort_failed("close", path);
    }
    return rc;
}

Result cdxj_sort(const char *journal, const char *index)
{
    Path path;
    const char *bytes = NULL;
    uint64_t length = 0;
    Result rc = file_map(AT_FDCWD, journal, &bytes, &length);
    if (rc != RESULT_OK) {
        return rc;
    }
    const char *at = bytes == NULL ? "" : bytes;
    rc = cdxj_sort_write(at, at + length, file_path(&path, "%s.new", index));
    if (rc == RESULT_OK && rename(path.text, index) != 0) {
        rc = cdxj_sort_failed("rename", index);
    }
    if (rc != RESULT_OK) {
        (void)unlink(path.text);
    }
    file_unmap(bytes, length);
    return rc;
}
