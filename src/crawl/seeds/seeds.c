#include "crawl/seeds/seeds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/url/url.h"
#include "parse/host/authority.h"

#define BATCH           10000u
#define COMPLAINTS_MAX  20u  /* printed; the rest is counted */
#define COMPLAINT_BYTES 100u /* of the line */

typedef struct SeedBatch {
    SeedReader *reader;
    LinkInfo *seeds;
    char **tags; /* NULL where there is none; all owned */
    size_t n;
    Url url;
} SeedBatch;

static Result batch_open(SeedBatch *batch, SeedReader *reader)
{
    *batch = (SeedBatch){.reader = reader,
                         .seeds = calloc(BATCH, sizeof *batch->seeds),
                         .tags = calloc(BATCH, sizeof *batch->tags)};
    return batch->seeds == NULL || batch->tags == NULL ? RESULT_MEMORY : RESULT_OK;
}

static void batch_clear(SeedBatch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        free(batch->seeds[i].url);
        free(batch->tags[i]);
    }
    batch->n = 0;
}

static Result batch_flush(SeedBatch *batch)
{
    Result rc = RESULT_OK;
    if (batch->n > 0) {
        rc = batch->reader->batch(batch->reader->context, batch->seeds,
                                  (const char *const *)batch->tags, batch->n);
    }
    batch_clear(batch);
    return rc;
}

static void batch_close(SeedBatch *batch)
{
    batch_clear(batch);
    free(batch->seeds);
    free(batch->tags);
    url_destroy(&batch->url);
}

/* Parses one seed; adds http:// when there is no scheme at all. */
static Result parse_seed(Url *url, const char *text, size_t length)
{
    Result rc = url_parse(url, NULL, text, length);
    if (rc != RESULT_INVALID || memmem(text, length, "://", 3) != NULL ||
        memchr(text, '.', length) == NULL) {
        return rc;
    }
    Buffer longer = {.limit = BUFFER_NO_LIMIT};
    rc = buffer_append_string(&longer, "http://");
    if (rc == RESULT_OK) {
        rc = buffer_append(&longer, text, length);
    }
    if (rc == RESULT_OK) {
        rc = url_parse(url, NULL, longer.data, longer.length);
    }
    buffer_destroy(&longer);
    return rc;
}

/* Not as it is: a terminal obeys some of what a file that is no seed file may hold. */
static void seeds_complain(const char *where, unsigned long line, const char *what,
                           const char *text, size_t length)
{
    char shown[COMPLAINT_BYTES + 1];
    size_t n = length < COMPLAINT_BYTES ? length : COMPLAINT_BYTES;
    for (size_t i = 0; i < n; i++) {
        shown[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    }
    shown[n] = '\0';
    (void)fprintf(stderr, "ragno: %s:%lu: %s: %s%s\n", where, line, what, shown,
                  n < length ? "..." : "");
}

static void seeds_leave_out(SeedReader *reader, const char *where, unsigned long line,
                            const char *why, const char *text, size_t length)
{
    reader->bad++;
    if (reader->bad <= COMPLAINTS_MAX) {
        seeds_complain(where, line, why, text, length);
    }
}

/* Takes "user:password@" out unless it is to be kept; what was in it is not printed. */
static void strip_credentials(const SeedReader *reader, Url *url, const char *where,
                              unsigned long line)
{
    Authority at = authority_of(url->href, url->length);
    if (reader->keep_credentials || at.host == at.start) {
        return;
    }
    url->length = (uint32_t)authority_strip(url->href, url->length);
    seeds_complain(where, line,
                   "user information was removed (scope.seed_credentials = yes keeps it)",
                   url->href, url->length);
}

static bool seeds_is_blank(char c)
{
    return (unsigned char)c <= ' ';
}

/* A line in its parts: "URL [TAG] [# comment]". A '#' that no blank is before belongs to the URL.
 */
typedef struct SeedParts {
    size_t url; /* bytes, from the start */
    const char *tag;
    size_t tag_length; /* 0: none */
    bool has_more;     /* than these */
} SeedParts;

static const char *seeds_skip_blanks(const char *at, const char *end)
{
    while (at < end && seeds_is_blank(*at)) {
        at++;
    }
    return at;
}

static const char *seeds_skip_word(const char *at, const char *end)
{
    while (at < end && !seeds_is_blank(*at)) {
        at++;
    }
    return at;
}

static SeedParts seeds_split(const char *line, size_t length)
{
    const char *end = line + length;
    const char *at = seeds_skip_word(line, end);
    SeedParts parts = {.url = (size_t)(at - line)};
    at = seeds_skip_blanks(at, end);
    if (at < end && *at != '#') {
        parts.tag = at;
        at = seeds_skip_word(at, end);
        parts.tag_length = (size_t)(at - parts.tag);
        at = seeds_skip_blanks(at, end);
    }
    parts.has_more = at < end && *at != '#';
    return parts;
}

static Result seeds_add_seed(SeedBatch *batch, const char *text, size_t length, SeedParts parts,
                             const char *where, unsigned long line)
{
    Result rc = parse_seed(&batch->url, text, parts.url);
    if (rc == RESULT_INVALID || rc == RESULT_LIMIT) {
        seeds_leave_out(batch->reader, where, line, "not an http or https URL, left out", text,
                        length);
        return RESULT_OK;
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (parts.has_more) {
        seeds_leave_out(batch->reader, where, line,
                        "more than a URL and a tag (a blank in a URL is %20), left out", text,
                        length);
        return RESULT_OK;
    }
    if (!port_set_has(batch->reader->ports, batch->url.port)) {
        seeds_leave_out(batch->reader, where, line,
                        "a port that is not connected to (scope.ports, or a bad port), left out",
                        text, length);
        return RESULT_OK;
    }
    strip_credentials(batch->reader, &batch->url, where, line);
    char *copy = strndup(batch->url.href, batch->url.length);
    char *tag = parts.tag_length == 0 ? NULL : strndup(parts.tag, parts.tag_length);
    if (copy == NULL || (tag == NULL && parts.tag_length > 0)) {
        free(copy);
        free(tag);
        return RESULT_MEMORY;
    }
    batch->tags[batch->n] = tag;
    batch->seeds[batch->n++] = (LinkInfo){.url = copy, .score = 1.0f};
    batch->reader->good++;
    return batch->n == BATCH ? batch_flush(batch) : RESULT_OK;
}

static Result seeds_read_lines(SeedBatch *batch, FILE *file, const char *where)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n = 0;
    unsigned long number = 0;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && (n = getline(&line, &capacity, file)) >= 0) {
        number++;
        const char *start = line;
        size_t length = (size_t)n;
        if (number == 1 && length >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
            start += 3;
            length -= 3;
        }
        while (length > 0 && (unsigned char)start[length - 1] <= ' ') {
            length--;
        }
        while (length > 0 && (unsigned char)*start <= ' ') {
            start++;
            length--;
        }
        if (length > 0 && *start != '#') {
            rc = seeds_add_seed(batch, start, length, seeds_split(start, length), where, number);
        }
    }
    if (rc == RESULT_OK && ferror(file)) {
        (void)fprintf(stderr, "ragno: %s: cannot be read: %s\n", where, strerror(errno));
        rc = RESULT_IO;
    }
    free(line);
    return rc;
}

/* What a file is by its first bytes, where it is not lines of text; NULL: it may be. */
static const char *seeds_foreign(const char *line, ssize_t n)
{
    bool is_utf_16 =
        n >= 2 && (memcmp(line, "\xff\xfe", 2) == 0 || memcmp(line, "\xfe\xff", 2) == 0);
    if (is_utf_16) {
        return "UTF-16, and seeds are read as UTF-8: give what `iconv -f UTF-16 -t UTF-8` makes of "
               "it";
    }
    bool is_gzip = n >= 2 && memcmp(line, "\x1f\x8b", 2) == 0;
    return is_gzip ? "compressed: give what `gzip -dc` makes of it" : NULL;
}

/* Reads a file until its first good seed; *found when there is one. */
static Result probe(const char *path, bool *found, Buffer *error)
{
    errno = 0;
    FILE *file = fopen(path, "re");
    const char *foreign = NULL;
    char *line = NULL;
    size_t capacity = 0;
    Url url = {.href = NULL};
    for (unsigned long number = 1; file != NULL && !*found && foreign == NULL; number++) {
        ssize_t n = getline(&line, &capacity, file);
        if (n < 0) {
            break;
        }
        foreign = number == 1 ? seeds_foreign(line, n) : NULL;
        const char *start = line + strspn(line, " \t\xef\xbb\xbf");
        size_t length = strcspn(start, " \t\r\n");
        *found = length > 0 && *start != '#' && parse_seed(&url, start, length) == RESULT_OK;
    }
    int code = file == NULL || ferror(file) ? errno : 0;
    if (code != 0) {
        (void)buffer_printf(error, "cannot read the seed file %s: %s", path, strerror(code));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    free(line);
    url_destroy(&url);
    if (code != 0) {
        return code == ENOENT ? RESULT_NOT_FOUND : RESULT_IO;
    }
    if (foreign != NULL) {
        (void)buffer_printf(error, "the seed file %s is %s", path, foreign);
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

Result seeds_probe(const char *const *paths, size_t n_paths, char *const *words, size_t n_words,
                   bool *found, Buffer *error)
{
    Url url = {.href = NULL};
    Result rc = RESULT_OK;
    *found = false;
    for (size_t i = 0; i < n_words && rc == RESULT_OK; i++) {
        rc = parse_seed(&url, words[i], strlen(words[i]));
        *found |= rc == RESULT_OK;
        if (rc != RESULT_OK) {
            (void)buffer_printf(error, "'%.200s' is not an http or https URL", words[i]);
        }
    }
    for (size_t i = 0; i < n_paths && rc == RESULT_OK; i++) {
        if (strcmp(paths[i], "-") == 0) {
            *found = true; /* it can be read only once */
        } else {
            bool here = false;
            rc = probe(paths[i], &here, error);
            *found |= here;
        }
    }
    url_destroy(&url);
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND || rc == RESULT_INVALID) {
        return rc;
    }
    return rc == RESULT_LIMIT ? RESULT_INVALID : RESULT_IO;
}

Result seeds_read_file(SeedReader *reader, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    uint64_t bad_before = reader->bad;
    if (file == NULL) {
        (void)fprintf(stderr, "ragno: cannot read the seed file %s: %s\n", path, strerror(errno));
        return result_of_errno(errno);
    }
    SeedBatch batch;
    Result rc = batch_open(&batch, reader);
    if (rc == RESULT_OK) {
        rc = seeds_read_lines(&batch, file, is_stdin ? "standard input" : path);
    }
    if (rc == RESULT_OK) {
        rc = batch_flush(&batch);
    }
    batch_close(&batch);
    if (!is_stdin) {
        (void)fclose(file);
    }
    if (reader->bad > COMPLAINTS_MAX && reader->bad > bad_before) {
        (void)fprintf(stderr, "ragno: %s: %llu lines that are not URLs were left out\n", path,
                      (unsigned long long)(reader->bad - bad_before));
    }
    return rc;
}

Result seeds_read_words(SeedReader *reader, char *const *words, size_t n)
{
    SeedBatch batch;
    Result rc = batch_open(&batch, reader);
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        SeedParts whole = {.url = strlen(words[i])};
        rc = seeds_add_seed(&batch, words[i], whole.url, whole, "command line", i + 1);
    }
    if (rc == RESULT_OK) {
        rc = batch_flush(&batch);
    }
    batch_close(&batch);
    return rc;
}
