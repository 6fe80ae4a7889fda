#include "store/cdxj/cdxj.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "store/cdxj/surt.h"

/* ---- CDXJ ---- */

/* ---- writing ---- */

static Result append_json(Buffer *out, WarcBytes text)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < text.length && rc == RESULT_OK; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\') {
            rc = buffer_append_char(out, '\\');
        }
        if (rc != RESULT_OK) {
            break;
        }
        rc = c < 0x20 || c >= 0x7f ? buffer_printf(out, "\\u%04x", (unsigned)c)
                                   : buffer_append_char(out, (char)c);
    }
    return rc;
}

/* A media type in lower case, or "unk": servers send anything. */
static Result append_mime(Buffer *out, WarcBytes mime)
{
    static const char others[] = "!#$&-^_.+/";
    Result rc = RESULT_OK;
    bool valid = mime.length > 0 && mime.length <= 128;
    for (size_t i = 0; i < mime.length && valid; i++) {
        char c = mime.bytes[i];
        valid = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                (c != '\0' && strchr(others, c) != NULL);
    }
    if (!valid) {
        return buffer_append_string(out, "unk");
    }
    for (size_t i = 0; i < mime.length && rc == RESULT_OK; i++) {
        char c = mime.bytes[i];
        rc = buffer_append_char(out, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
    }
    return rc;
}

Result cdxj_append_facts(Buffer *out, const CdxjFacts *facts)
{
    char timestamp[WARC_DATE_BYTES];
    char digest[WARC_DIGEST_TEXT];
    const char *prefix = facts->type == WARC_CONVERSION ? CDXJ_RENDERED : "";
    Result rc = RESULT_OK;
    if (*prefix != '\0') { /* the key of such a name is the name */
        rc = buffer_printf(out, "%s%.*s", prefix, (int)facts->url.length, facts->url.bytes);
    } else {
        rc = surt_append(out, facts->url.bytes, facts->url.length);
    }
    if (rc == RESULT_OK) {
        rc = buffer_printf(out, " %s {\"url\": \"%s", warc_date_timestamp(facts->date, timestamp),
                           prefix);
    }
    if (rc == RESULT_OK) {
        rc = append_json(out, facts->url);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append_string(out, "\", \"mime\": \"");
    }
    if (rc == RESULT_OK) {
        rc = facts->type == WARC_REVISIT ? buffer_append_string(out, "warc/revisit")
                                         : append_mime(out, facts->mime);
    }
    if (rc == RESULT_OK && facts->status != 0) {
        rc = buffer_printf(out, "\", \"status\": \"%u", facts->status);
    }
    if (rc == RESULT_OK && facts->digest != NULL) {
        rc = buffer_printf(out, "\", \"digest\": \"%s", warc_digest_format(facts->digest, digest));
    }
    return rc == RESULT_OK ? buffer_append_string(out, "\", \"length\": \"") : rc;
}

Result cdxj_append_place(Buffer *out, uint64_t length, uint64_t offset, const char *filename)
{
    Result rc = buffer_printf(out, "%" PRIu64 "\", \"offset\": \"%" PRIu64 "\", \"filename\": \"",
                              length, offset);
    if (rc == RESULT_OK) {
        rc = append_json(out, warc_bytes(filename, strlen(filename)));
    }
    return rc == RESULT_OK ? buffer_append_string(out, "\"}\n") : rc;
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

static bool keep_field(CdxjEntry *entry, WarcBytes name, WarcBytes value)
{
    uint64_t n = 0;
    WarcBytes *text = warc_bytes_are(name, "url")        ? &entry->url
                      : warc_bytes_are(name, "mime")     ? &entry->mime
                      : warc_bytes_are(name, "digest")   ? &entry->digest
                      : warc_bytes_are(name, "filename") ? &entry->filename
                                                         : NULL;
    if (text != NULL) {
        *text = value;
        return true;
    }
    if (warc_bytes_are(name, "status")) {
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
    if (json == NULL || json - stamp != 14 ||
        !warc_bytes_number(warc_bytes(stamp, 14), UINT64_MAX, &digits)) {
        return RESULT_INVALID;
    }
    entry->key = warc_bytes(line.bytes, (size_t)(blank - line.bytes));
    entry->timestamp = warc_bytes(stamp, 14);
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
        at = at == NULL ? NULL : cdxj_skip(at, end, '"');
        bool is_url = at != NULL && warc_bytes_are(name, "url");
        at = at == NULL ? NULL : read_string(at, end, is_url ? scratch : &other, &value);
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
    bool all; /* whatever the URL; otherwise: */
    WarcBytes url;
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
    bool is_wanted =
        search->all || (entry.url.length == search->url.length &&
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

static Result search_file(Search *search, int directory, const char *name, bool sorted)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    struct stat info = {0};
    if (fd < 0 || fstat(fd, &info) != 0) {
        Result rc = result_of_errno(errno);
        if (fd >= 0) {
            (void)close(fd);
        }
        /* A journal may become an index between readdir and here: the next look sees it. */
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    Result rc = RESULT_OK;
    if (info.st_size > 0) {
        size_t length = (size_t)info.st_size;
        char *text = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
        if (text == MAP_FAILED) {
            rc = result_of_errno(errno);
        } else {
            search_text(search, text, length, sorted);
            (void)munmap(text, length);
        }
    }
    (void)close(fd);
    return rc;
}

static bool cdxj_ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name);
    size_t m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

static Result search_directory(Search *search, const char *directory)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    const struct dirent *item = NULL;
    while (rc == RESULT_OK && !search->stop && (item = readdir(dir)) != NULL) {
        bool sorted = cdxj_ends_with(item->d_name, ".cdxj");
        if (sorted || cdxj_ends_with(item->d_name, ".cdxj.open")) {
            rc = search_file(search, dirfd(dir), item->d_name, sorted);
        }
    }
    (void)closedir(dir);
    return rc;
}

Result cdxj_find(const char *directory, const char *url, size_t length, CdxjFound found,
                 void *context)
{
    Search search = {.url = warc_bytes(url, length), .found = found, .context = context};
    buffer_init(&search.prefix, BUFFER_NO_LIMIT);
    buffer_init(&search.scratch, BUFFER_NO_LIMIT);
    Result rc = surt_append(&search.prefix, url, length);
    if (rc == RESULT_OK) {
        rc = buffer_append_char(&search.prefix, ' ');
    }
    if (rc == RESULT_OK) {
        rc = search_directory(&search, directory);
    }
    buffer_destroy(&search.prefix);
    buffer_destroy(&search.scratch);
    return rc;
}

/* Lines whose keys begin with prefix. */
static Result cdxj_walk_prefix(const char *directory, const char *prefix, CdxjFound found,
                               void *context)
{
    Search search = {.all = true, .found = found, .context = context};
    buffer_init(&search.prefix, BUFFER_NO_LIMIT);
    buffer_init(&search.scratch, BUFFER_NO_LIMIT);
    Result rc = buffer_append_string(&search.prefix, prefix);
    if (rc == RESULT_OK) {
        rc = search_directory(&search, directory);
    }
    buffer_destroy(&search.prefix);
    buffer_destroy(&search.scratch);
    return rc;
}

Result cdxj_walk(const char *directory, CdxjFound found, void *context)
{
    return cdxj_walk_prefix(directory, "", found, context);
}

Result cdxj_walk_rendered(const char *directory, CdxjFound found, void *context)
{
    return cdxj_walk_prefix(directory, CDXJ_RENDERED, found, context);
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
    unsigned status; /* 0: any */
    bool any;
} Newest;

static void cdxj_copy_text(char *out, size_t size, WarcBytes text)
{
    size_t n = text.length < size ? text.length : size - 1;
    memcpy(out, text.bytes, n);
    out[n] = '\0';
}

static bool keep_newest(void *context, const CdxjEntry *entry)
{
    Newest *newest = context;
    CdxjCapture *capture = newest->capture;
    bool revisit = warc_bytes_are(entry->mime, "warc/revisit");
    bool wanted = newest->status == 0 || entry->status == newest->status;
    if (!wanted || (revisit && !newest->revisits) ||
        entry->filename.length >= sizeof capture->filename) {
        return true;
    }
    int order = newest->any ? memcmp(entry->timestamp.bytes, capture->timestamp, 14) : 1;
    if (order > 0 || (order == 0 && entry->offset > capture->offset)) {
        cdxj_copy_text(capture->filename, sizeof capture->filename, entry->filename);
        cdxj_copy_text(capture->timestamp, sizeof capture->timestamp, entry->timestamp);
        capture->offset = entry->offset;
        capture->length = entry->length;
        capture->revisit = revisit;
        newest->any = true;
    }
    return true;
}

static Result find_newest(const char *directory, const char *url, size_t length, Newest *newest)
{
    *newest->capture = (CdxjCapture){.offset = 0};
    Result rc = cdxj_find(directory, url, length, keep_newest, newest);
    return rc == RESULT_OK && !newest->any ? RESULT_NOT_FOUND : rc;
}

Result cdxj_newest(const char *directory, const char *url, size_t length, bool revisits,
                   CdxjCapture *capture)
{
    Newest newest = {.capture = capture, .revisits = revisits};
    return find_newest(directory, url, length, &newest);
}

Result cdxj_newest_status(const char *directory, const char *url, size_t length, unsigned status,
                          CdxjCapture *capture)
{
    Newest newest = {.capture = capture, .revisits = true, .status = status};
    return find_newest(directory, url, length, &newest);
}

/* The sorter of cdxj.h: runs of at most memory_bytes, sorted in RAM; when there are several, they
 * go to temporary files beside the index and are merged. Lines are compared as bytes. */

#define COMPONENT   "cdxj"
#define LINE_LIMIT  ((size_t)8 << 20)
#define MERGE_WIDTH 64u /* runs merged at once: as many files are open */
#define LEAST_RUN   ((size_t)64 << 10)

typedef struct Sorter {
    const char *index;
    Buffer text;      /* lines of the run being collected */
    WarcBytes *lines; /* into text, once it is complete */
    size_t memory_bytes;
    unsigned first_run; /* runs first_run..n_runs-1 are on disk and not merged yet */
    unsigned n_runs;
} Sorter;

static Result cdxj_sort_failed(const char *what, const char *path)
{
    int error = errno;
    LOG_ERROR(COMPONENT, "index cannot be written", "step=%s file=%s error=%s", what, path,
              strerror(error));
    return result_of_errno(error);
}

static int compare_lines(const void *left, const void *right)
{
    const WarcBytes *a = left;
    const WarcBytes *b = right;
    size_t n = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, n);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static Result run_path(const Sorter *sorter, unsigned run, Buffer *path)
{
    buffer_reset(path);
    return buffer_printf(path, "%s.run%u", sorter->index, run);
}

/* Cuts the text into lines (with their line ends) and sorts them. */
static Result sort_text(Sorter *sorter, size_t *n_lines)
{
    const char *end = sorter->text.data + sorter->text.length;
    size_t n = 0;
    for (const char *at = sorter->text.data; at < end; n++) {
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    }
    sorter->lines = malloc((n + 1) * sizeof *sorter->lines);
    if (sorter->lines == NULL) {
        return RESULT_MEMORY;
    }
    n = 0;
    for (const char *at = sorter->text.data; at < end; n++) {
        const char *next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        sorter->lines[n] = warc_bytes(at, (size_t)(next - at));
        at = next;
    }
    qsort(sorter->lines, n, sizeof *sorter->lines, compare_lines);
    *n_lines = n;
    return RESULT_OK;
}

/* Ends a written file: its bytes are on the disk when durable, its errors are seen. */
static Result close_written(FILE *file, const char *path, bool durable)
{
    Result rc = RESULT_OK;
    if (fflush(file) != 0 || (durable && fdatasync(fileno(file)) != 0)) {
        rc = cdxj_sort_failed("write", path);
    }
    if (fclose(file) != 0 && rc == RESULT_OK) {
        rc = cdxj_sort_failed("close", path);
    }
    return rc;
}

static Result cdxj_sort_write_lines(const WarcBytes *lines, size_t n, const char *path,
                                    bool durable)
{
    FILE *file = fopen(path, "wbe");
    if (file == NULL) {
        return cdxj_sort_failed("create", path);
    }
    for (size_t i = 0; i < n; i++) {
        if (fwrite(lines[i].bytes, 1, lines[i].length, file) != lines[i].length) {
            Result rc = cdxj_sort_failed("write", path);
            (void)fclose(file);
            return rc;
        }
    }
    return close_written(file, path, durable);
}

static Result cdxj_sort_spill(Sorter *sorter)
{
    Buffer path;
    size_t n = 0;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = sort_text(sorter, &n);
    if (rc == RESULT_OK) {
        rc = run_path(sorter, sorter->n_runs, &path);
    }
    if (rc == RESULT_OK) {
        sorter->n_runs++;
        rc = cdxj_sort_write_lines(sorter->lines, n, path.data, false);
    }
    free(sorter->lines);
    sorter->lines = NULL;
    buffer_reset(&sorter->text);
    buffer_destroy(&path);
    return rc;
}

/* One input of a merge; line is its least line not yet written. */
typedef struct Run {
    FILE *file;
    char *line;
    size_t capacity;
    WarcBytes current; /* length 0: exhausted */
} Run;

static Result run_advance(Run *run)
{
    ssize_t n = getline(&run->line, &run->capacity, run->file);
    run->current = warc_bytes(run->line, n > 0 ? (size_t)n : 0);
    return n < 0 && ferror(run->file) ? RESULT_IO : RESULT_OK;
}

static Result merge_into(Run *runs, unsigned n, FILE *out, const char *path)
{
    for (;;) {
        Run *least = NULL;
        for (unsigned i = 0; i < n; i++) {
            if (runs[i].current.length > 0 &&
                (least == NULL || compare_lines(&runs[i].current, &least->current) < 0)) {
                least = &runs[i];
            }
        }
        if (least == NULL) {
            return RESULT_OK;
        }
        if (fwrite(least->current.bytes, 1, least->current.length, out) != least->current.length) {
            return cdxj_sort_failed("write", path);
        }
        Result rc = run_advance(least);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
}

/* Merges the n oldest runs into the file at path and removes them. */
static Result cdxj_sort_merge(Sorter *sorter, unsigned n, const char *path, bool durable)
{
    Run runs[MERGE_WIDTH] = {{0}};
    Buffer name;
    buffer_init(&name, BUFFER_NO_LIMIT);
    FILE *out = fopen(path, "wbe");
    Result rc = out == NULL ? cdxj_sort_failed("create", path) : RESULT_OK;
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        rc = run_path(sorter, sorter->first_run + i, &name);
        if (rc == RESULT_OK) {
            runs[i].file = fopen(name.data, "rbe");
            rc = runs[i].file == NULL ? cdxj_sort_failed("open", name.data) : run_advance(&runs[i]);
        }
    }
    if (rc == RESULT_OK) {
        rc = merge_into(runs, n, out, path);
    }
    for (unsigned i = 0; i < n; i++) {
        if (runs[i].file != NULL) {
            (void)fclose(runs[i].file);
        }
        free(runs[i].line);
    }
    if (out != NULL) {
        Result closed = close_written(out, path, durable);
        rc = rc == RESULT_OK ? closed : rc;
    }
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        rc = run_path(sorter, sorter->first_run + i, &name);
        (void)unlink(name.data);
    }
    sorter->first_run += rc == RESULT_OK ? n : 0;
    buffer_destroy(&name);
    return rc;
}

/* While there are more runs than one merge takes, merges the oldest into a new one. */
static Result merge_all(Sorter *sorter, const char *path)
{
    Buffer name;
    buffer_init(&name, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && sorter->n_runs - sorter->first_run > MERGE_WIDTH) {
        rc = run_path(sorter, sorter->n_runs, &name);
        if (rc == RESULT_OK) {
            sorter->n_runs++;
            rc = cdxj_sort_merge(sorter, MERGE_WIDTH, name.data, false);
        }
    }
    buffer_destroy(&name);
    return rc == RESULT_OK ? cdxj_sort_merge(sorter, sorter->n_runs - sorter->first_run, path, true)
                           : rc;
}

static void remove_runs(Sorter *sorter)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    for (unsigned i = sorter->first_run; i < sorter->n_runs; i++) {
        if (run_path(sorter, i, &path) == RESULT_OK) {
            (void)unlink(path.data);
        }
    }
    buffer_destroy(&path);
}

/* Reads the journal and spills a run whenever the memory is full. A last line without its line end
 * (a crash while it was written) is dropped. */
static Result cdxj_sort_collect(Sorter *sorter, FILE *journal)
{
    char *line = NULL;
    size_t capacity = 0;
    Result rc = RESULT_OK;
    ssize_t n = 0;
    while (rc == RESULT_OK && (n = getline(&line, &capacity, journal)) > 0) {
        size_t length = (size_t)n;
        if (length > LINE_LIMIT || line[length - 1] != '\n') {
            continue;
        }
        if (sorter->text.length > 0 && sorter->text.length + length > sorter->memory_bytes) {
            rc = cdxj_sort_spill(sorter);
        }
        if (rc == RESULT_OK) {
            rc = buffer_append(&sorter->text, line, length);
        }
    }
    if (rc == RESULT_OK && ferror(journal)) {
        rc = RESULT_IO;
    }
    free(line);
    return rc;
}

static Result write_sorted(Sorter *sorter, const char *path)
{
    Result rc = RESULT_OK;
    if (sorter->n_runs == 0) {
        size_t n = 0;
        rc = sort_text(sorter, &n);
        return rc == RESULT_OK ? cdxj_sort_write_lines(sorter->lines, n, path, true) : rc;
    }
    rc = sorter->text.length > 0 ? cdxj_sort_spill(sorter) : RESULT_OK;
    return rc == RESULT_OK ? merge_all(sorter, path) : rc;
}

Result cdxj_sort(const char *journal, const char *index, size_t memory_bytes)
{
    FILE *in = fopen(journal, "rbe");
    if (in == NULL) {
        return result_of_errno(errno);
    }
    Sorter sorter = {.index = index,
                     .memory_bytes = memory_bytes < LEAST_RUN ? LEAST_RUN : memory_bytes};
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&sorter.text, BUFFER_NO_LIMIT);
    Result rc = cdxj_sort_collect(&sorter, in);
    (void)fclose(in);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&path, "%s.new", index);
    }
    if (rc == RESULT_OK) {
        rc = write_sorted(&sorter, path.data);
        if (rc == RESULT_OK && rename(path.data, index) != 0) {
            rc = cdxj_sort_failed("rename", index);
        }
        if (rc != RESULT_OK) {
            (void)unlink(path.data);
        }
    }
    remove_runs(&sorter);
    free(sorter.lines);
    buffer_destroy(&sorter.text);
    buffer_destroy(&path);
    return rc;
}
