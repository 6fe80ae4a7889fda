#include "store/dedup/dedup_source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory/array.h"
#include "base/memory/file.h"
#include "store/foreign/foreign_reader.h"
#include "store/zip/zip_reader.h"

#define LINE_BYTES ((size_t)1 << 20) /* of a line, at most */
#define STEP_BYTES ((size_t)64 << 10)

/* ---- which files ---- */

static bool dedup_source_ends_with(const char *name, size_t length, const char *suffix)
{
    size_t n = strlen(suffix);
    return length > n && memcmp(name + length - n, suffix, n) == 0;
}

static Result sources_add(DedupSources *sources, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return RESULT_OK; /* of a folder: gone since it was listed */
    }
    char *copy = strdup(path);
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = array_add(&sources->paths, &sources->n, sizeof copy, &copy);
    if (rc != RESULT_OK) {
        free(copy);
        return rc;
    }
    return buffer_printf(&sources->stamps, "%s\t%lld\t%lld.%09ld\n", path, (long long)info.st_size,
                         (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

typedef struct SourceFolder {
    DedupSources *sources;
    const char *path;
} SourceFolder;

static Result sources_add_index(void *context, const char *name)
{
    const SourceFolder *folder = context;
    Path path;
    return dedup_source_ends_with(name, strlen(name), ".cdxj")
               ? sources_add(folder->sources, file_path(&path, "%s/%s", folder->path, name))
               : RESULT_OK;
}

static Result sources_add_word(DedupSources *sources, const char *word, Buffer *error)
{
    struct stat info;
    Path warc;
    size_t before = sources->n;
    if (stat(word, &info) != 0) {
        (void)buffer_printf(error, "warc.dedup_against: %s cannot be read: %s", word,
                            result_name(RESULT_NOT_FOUND));
        return RESULT_NOT_FOUND;
    }
    if (!S_ISDIR(info.st_mode)) {
        return sources_add(sources, word);
    }
    SourceFolder folder = {sources, file_path(&warc, "%s/warc", word)};
    folder.path = file_exists(folder.path) ? folder.path : word;
    Result rc = file_walk(folder.path, sources_add_index, &folder);
    if (rc == RESULT_OK && sources->n == before) {
        (void)buffer_printf(error, "warc.dedup_against: %s has no file NAME.cdxj", word);
        rc = RESULT_INVALID;
    }
    return rc;
}

static int sources_compare(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return strcmp(*a, *b);
}

Result dedup_sources_find(DedupSources *sources, const char *words, Buffer *error)
{
    *sources = (DedupSources){.n = 0};
    buffer_init(&sources->stamps, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    char *copy = strdup(words);
    char *rest = NULL;
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    for (char *word = strtok_r(copy, " \t,", &rest); rc == RESULT_OK && word != NULL;
         word = strtok_r(NULL, " \t,", &rest)) {
        rc = sources_add_word(sources, word, error);
    }
    free(copy);
    if (sources->n > 0) {
        qsort(sources->paths, sources->n, sizeof *sources->paths, sources_compare);
    }
    return rc;
}

void dedup_sources_destroy(DedupSources *sources)
{
    for (size_t i = 0; i < sources->n; i++) {
        free(sources->paths[i]);
    }
    free(sources->paths);
    buffer_destroy(&sources->stamps);
}

/* ---- their lines ---- */

typedef struct DedupReading {
    Result (*found)(void *context, const CdxjEntry *entry);
    void *context;
    uint64_t others;
    Buffer scratch;
    const char *path;
    size_t indices; /* in a WACZ file */
} DedupReading;

static Result reading_take_line(DedupReading *reading, const char *line, size_t length)
{
    CdxjEntry entry;
    length -= length > 0 && line[length - 1] == '\r' ? 1 : 0;
    if (cdxj_parse(warc_bytes(line, length), &reading->scratch, &entry) != RESULT_OK) {
        reading->others++;
        return RESULT_OK;
    }
    return reading->found(reading->context, &entry);
}

/* More bytes of the stream. RESULT_NOT_FOUND: there are none. */
static Result reading_more(ForeignStream *stream, size_t length)
{
    return foreign_stream_is_at_member_end(stream)
               ? foreign_stream_next_member(stream)
               : foreign_stream_fill(stream, length + STEP_BYTES);
}

static Result reading_lines(DedupReading *reading, ForeignStream *stream)
{
    Result rc = RESULT_OK;
    size_t length = 0;
    const char *bytes = NULL;
    while (rc == RESULT_OK) {
        bytes = foreign_stream_bytes(stream, &length);
        const char *lf = memchr(bytes, '\n', length);
        if (lf == NULL) {
            rc = reading_more(stream, length);
            continue;
        }
        rc = reading_take_line(reading, bytes, (size_t)(lf - bytes));
        foreign_stream_take(stream, (size_t)(lf - bytes) + 1);
    }
    if (rc == RESULT_NOT_FOUND) {
        rc = length == 0 ? RESULT_OK : reading_take_line(reading, bytes, length);
    }
    return rc;
}

static Result reading_part(DedupReading *reading, uint64_t offset, uint64_t length)
{
    ForeignStream *stream = NULL;
    Result rc = foreign_stream_open(&stream, reading->path, offset, length, LINE_BYTES);
    if (rc == RESULT_OK) {
        rc = reading_lines(reading, stream);
        foreign_stream_close(stream);
    }
    return rc;
}

static Result reading_take_entry(void *context, const ZipMember *entry)
{
    DedupReading *reading = context;
    size_t n = entry->name_length;
    if (n < 8 || memcmp(entry->name, "indexes/", 8) != 0 ||
        dedup_source_ends_with(entry->name, n, ".idx") ||
        memmem(entry->name, n, ".cdx", 4) == NULL) {
        return RESULT_OK;
    }
    reading->indices++;
    return entry->is_stored ? reading_part(reading, entry->offset, entry->size) : RESULT_INVALID;
}

static Result reading_wacz(DedupReading *reading)
{
    const char *bytes = NULL;
    uint64_t length = 0;
    Result rc = file_map(AT_FDCWD, reading->path, &bytes, &length);
    if (rc == RESULT_OK) {
        rc = zip_members_walk(bytes, length, reading_take_entry, reading);
        file_unmap(bytes, length);
    }
    return rc == RESULT_OK && reading->indices == 0 ? RESULT_INVALID : rc;
}

Result dedup_source_read(const char *path, Result (*found)(void *context, const CdxjEntry *entry),
                         void *context, uint64_t *others)
{
    DedupReading reading = {.found = found, .context = context, .path = path};
    buffer_init(&reading.scratch, BUFFER_NO_LIMIT);
    Result rc = dedup_source_ends_with(path, strlen(path), ".wacz")
                    ? reading_wacz(&reading)
                    : reading_part(&reading, 0, UINT64_MAX);
    buffer_destroy(&reading.scratch);
    *others = reading.others;
    return rc;
}
