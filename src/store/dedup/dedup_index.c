#include "store/dedup/dedup_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/hash.h"
#include "base/memory/array.h"
#include "base/thread/log.h"
#include "store/cdxj/cdxj.h"
#include "store/drum/drum.h"
#include "store/foreign/foreign_reader.h"
#include "store/zip/zip_writer.h"

#define LINE_BYTES ((size_t)1 << 20) /* of a line, at most */
#define STEP_BYTES ((size_t)64 << 10)
#define FORMAT     "format 2\n" /* of our own files; they are made anew when it is another */

/* The files that the words come to; the stamps are compared with those of the last time. */
typedef struct DedupSources {
    char **paths;
    size_t n;
    Buffer stamps; /* a line for each: path, bytes, time of the last change */
} DedupSources;

/* ---- which files ---- */

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
    /* The time to the nanosecond: a file that was written anew within the second, at the same size,
     * is another one. */
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
    return file_name_ends_with(name, ".cdxj")
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
    /* A crawl of ours has its indices in DIR/warc; any other folder is taken as it is. */
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

static Result dedup_sources_find(DedupSources *sources, const char *words, Buffer *error)
{
    *sources = (DedupSources){.stamps = {.limit = BUFFER_NO_LIMIT}};
    char *copy = strdup(words);
    char *rest = NULL;
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    /* The format is the first stamp: files of an earlier program do not match, and are made
     * anew. */
    Result rc = buffer_append(&sources->stamps, FORMAT, strlen(FORMAT));
    for (char *word = strtok_r(copy, " \t,", &rest); rc == RESULT_OK && word != NULL;
         word = strtok_r(NULL, " \t,", &rest)) {
        rc = sources_add_word(sources, word, error);
    }
    free(copy);
    /* The first capture of a payload counts, so the order must not be that of a readdir. */
    if (sources->n > 0) {
        qsort(sources->paths, sources->n, sizeof *sources->paths, sources_compare);
    }
    return rc;
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
    /* Headers of pywb, and lines of plain CDX: counted, since a file that has nothing else is
     * refused. */
    if (cdxj_parse(warc_bytes(line, length), &reading->scratch, &entry) != RESULT_OK) {
        reading->others++;
        return RESULT_OK;
    }
    return reading->found(reading->context, &entry);
}

static Result reading_lines(DedupReading *reading, ForeignStream *stream)
{
    Result rc = RESULT_OK;
    size_t length = 0;
    const char *bytes = NULL;
    while (rc == RESULT_OK) {
        bytes = foreign_stream_bytes(stream, &length);
        /* A line ends within what is filled, or more is filled: LINE_BYTES, the stream's window,
         * bounds it. */
        const char *lf = memchr(bytes, '\n', length);
        if (lf == NULL) {
            /* More bytes of the stream. RESULT_NOT_FOUND: there are none. */
            rc = foreign_stream_is_at_member_end(stream)
                     ? foreign_stream_next_member(stream)
                     : foreign_stream_fill(stream, length + STEP_BYTES);
            continue;
        }
        rc = reading_take_line(reading, bytes, (size_t)(lf - bytes));
        foreign_stream_take(stream, (size_t)(lf - bytes) + 1);
    }
    /* The last line may lack its end. */
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
    /* .idx is an index of the index, whose lines repeat some of the others. */
    if (n < 8 || memcmp(entry->name, "indexes/", 8) != 0 ||
        memmem(entry->name, n, ".idx", 4) != NULL || memmem(entry->name, n, ".cdx", 4) == NULL) {
        return RESULT_OK;
    }
    reading->indices++;
    /* Compressed by ZIP it could not be read from a place in the file: WACZ forbids it. */
    return entry->is_stored ? reading_part(reading, entry->offset, entry->size) : RESULT_INVALID;
}

static Result reading_wacz(DedupReading *reading)
{
    const char *bytes = NULL;
    uint64_t length = 0;
    /* Mapped, since a ZIP file is read from its end. Only its directory is touched. */
    Result rc = file_map(AT_FDCWD, reading->path, &bytes, &length);
    if (rc == RESULT_OK) {
        rc = zip_members_walk(bytes, length, reading_take_entry, reading);
        file_unmap(bytes, length);
    }
    return rc == RESULT_OK && reading->indices == 0 ? RESULT_INVALID : rc;
}

/* Calls found for each line of the file that is one of CDXJ; *others: the lines that are not.
 * RESULT_INVALID: no ZIP file, or no index in it; RESULT_DAMAGED: its compression is broken; or
 * what found returned. */
static Result dedup_source_read(const char *path,
                                Result (*found)(void *context, const CdxjEntry *entry),
                                void *context, uint64_t *others)
{
    DedupReading reading = {.found = found, .context = context, .path = path};
    buffer_init(&reading.scratch, BUFFER_NO_LIMIT);
    Result rc = file_name_ends_with(path, ".wacz") ? reading_wacz(&reading)
                                                   : reading_part(&reading, 0, UINT64_MAX);
    buffer_destroy(&reading.scratch);
    *others = reading.others;
    return rc;
}

/* ---- the index ---- */

/* 1024 buckets of an array of 32 KiB are the 32 MiB of dedup_index.h; then merging holds a 1 024th
 * of all digests at a time. */
#define BUCKETS      1024u
#define ARRAY_BYTES  ((size_t)32 << 10)
#define BUCKET_BYTES ((size_t)256 << 20) /* no bound: the generation ends with the sources */

typedef struct DedupEntry {
    uint64_t key;
    uint64_t place; /* of a payload: in originals; of a URL: the date, in microseconds */
} DedupEntry;

#define PAGE_ENTRIES  255u /* that fit */
#define PAGE_EXPECTED 208u /* on average; then one page in 1 500 is too small for its keys */

/* The unit of reading. The pages stand in order of keys, and the key says which page it is in;
 * those for which there is no room begin the next one.
 *
 *   keys of page 0   page 0 and page 1    page 2                     number of pages and entries
 *   [ 208 ........ ] [ 255, overflows ]   [ 3 of page 1, 201 ... ]   ...   tail
 *
 * The merge puts keys in ascending order, so a file is written from its beginning to its end, one
 * page in memory. A full page overflows only when the key that comes next is its own: then a
 * question for a key that is not there ends at the first page that does not. */
typedef struct DedupPage {
    uint64_t n;
    uint64_t overflows;               /* 1: those behind it begin the next page */
    DedupEntry entries[PAGE_ENTRIES]; /* ascending */
} DedupPage;

_Static_assert(sizeof(DedupPage) == 4096, "a page of the disk");

/* What stands behind the pages of a file. */
typedef struct DedupTail {
    uint64_t n_pages; /* that keys are spread over; there may be one more */
    uint64_t n_entries;
} DedupTail;

typedef struct DedupTable {
    int file; /* descriptor; -1: it is not wanted */
    DedupTail tail;
} DedupTable;

struct DedupIndex {
    DedupTable payloads;
    DedupTable urls;
    int originals; /* descriptor */
    int64_t fresh_us;
    atomic_uint_fast64_t asked;
    atomic_uint_fast64_t found;
};

/* What stands before the URL in a record of originals. */
typedef struct DedupRecord {
    WarcDigest digest;
    uint32_t url_length;
    int64_t date_us;
} DedupRecord;

_Static_assert(sizeof(DedupRecord) == 32, "no padding");

static uint64_t dedup_key(const WarcDigest *digest)
{
    uint64_t key = 0;
    /* Big-endian, so that keys order as digests do. SHA-1 spreads them evenly, which the pages rely
     * on. */
    for (size_t i = 0; i < sizeof key; i++) {
        key = key << 8 | digest->bytes[i];
    }
    return key;
}

/* The page in which a key is, or from which on; of 2^32 pages at most, which are 16 TiB. */
static uint64_t dedup_page_of(uint64_t key, uint64_t n_pages)
{
    /* A multiplication instead of a search: the share of the key in all keys is the share of the
     * page. */
    return (key >> 32) * n_pages >> 32;
}

/* ---- building ---- */

/* What the merge puts, in ascending order of keys, goes to the end of a file. */
typedef struct DedupEntries {
    DrumRepository interface; /* first */
    FILE *file;
    Drum *drum;
    DrumProgress progress;
    DedupTail tail;
    DedupPage page; /* is being filled */
    uint64_t n_written;
} DedupEntries;

static Result entries_progress(DrumRepository *repository, DrumProgress *progress)
{
    *progress = ((const DedupEntries *)repository)->progress;
    return RESULT_OK;
}

/* There is one merge: nothing was put before it. Equal keys meet within it, and keep_existing says
 * which of them counts. */
static Result entries_find(DrumRepository *repository, const DrumKey *key, DrumBytes *value)
{
    (void)repository;
    (void)key;
    (void)value;
    return RESULT_NOT_FOUND;
}

static Result entries_end_page(DedupEntries *entries)
{
    size_t n = fwrite(&entries->page, sizeof entries->page, 1, entries->file);
    entries->page = (DedupPage){.n = 0};
    entries->n_written++;
    return n == 1 ? RESULT_OK : result_of_errno(errno);
}

static Result entries_put(DrumRepository *repository, const DrumKey *key, DrumBytes value,
                          bool is_new)
{
    DedupEntries *entries = (DedupEntries *)repository;
    uint64_t page = dedup_page_of(key->number, entries->tail.n_pages);
    (void)is_new;
    /* Set by the key that no longer fits; page <= n_written says that it belongs here, or
     * before. */
    entries->page.overflows = entries->page.n == PAGE_ENTRIES && page <= entries->n_written;
    /* Pages that no key falls into are written empty: places must follow from keys alone. */
    while (entries->n_written < page || entries->page.n == PAGE_ENTRIES) {
        Result rc = entries_end_page(entries);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    DedupEntry *entry = &entries->page.entries[entries->page.n++];
    entry->key = key->number;
    memcpy(&entry->place, value.bytes, sizeof entry->place);
    entries->tail.n_entries++;
    return RESULT_OK;
}

static Result entries_commit(DrumRepository *repository, DrumProgress progress)
{
    /* Nothing is durable before entries_close: a build that is cut short is begun anew as a
     * whole. */
    ((DedupEntries *)repository)->progress = progress;
    return RESULT_OK;
}

/* Begins the file of this name. keep: of values of one key the first counts, else the last.
 * entries_close in every case. */
static Result entries_open(DedupEntries *entries, const char *folder, const char *name, bool keep)
{
    Path path;
    Path generation;
    entries->interface = (DrumRepository){.keys = DRUM_KEYS_NUMBERS,
                                          .progress = entries_progress,
                                          .find = entries_find,
                                          .put = entries_put,
                                          .commit = entries_commit};
    const DrumOptions options = {.directory = file_path(&generation, "%s/%s.new", folder, name),
                                 .repository = &entries->interface,
                                 .keys = DRUM_KEYS_NUMBERS,
                                 .buckets = BUCKETS,
                                 .array_bytes = ARRAY_BYTES,
                                 .bucket_bytes = BUCKET_BYTES,
                                 .manual_merge = true,
                                 .manual_seal = true,
                                 .keep_existing = keep};
    entries->file = fopen(file_path(&path, "%s/%s", folder, name), "wbe");
    return entries->file == NULL ? result_of_errno(errno)
                                 : drum_open(&entries->drum, &options, NULL);
}

static Result entries_close(DedupEntries *entries, const char *folder, const char *name, Result rc)
{
    Path generation;
    if (entries->drum != NULL) {
        /* Known only now, and needed by the first put, which comes with the merge: counted before
         * equal keys have met, so pages are rather too many than too few. */
        entries->tail.n_pages = drum_collected(entries->drum) / PAGE_EXPECTED + 1;
        if (rc == RESULT_OK) {
            rc = drum_synchronize(entries->drum); /* the generation becomes the run */
        }
        /* Up to the last page that a key may point to, and the one that it may overflow into. */
        while (rc == RESULT_OK &&
               (entries->page.n > 0 || entries->n_written < entries->tail.n_pages)) {
            rc = entries_end_page(entries);
        }
        if (rc == RESULT_OK &&
            fwrite(&entries->tail, sizeof entries->tail, 1, entries->file) != 1) {
            rc = result_of_errno(errno);
        }
        (void)drum_dispose(entries->drum);
    }
    file_remove(file_path(&generation, "%s/%s.new", folder, name));
    return entries->file == NULL ? rc : file_close(entries->file, rc);
}

static Result entries_add(DedupEntries *entries, uint64_t key, uint64_t place)
{
    DrumBytes value = {&place, sizeof place};
    return drum_check_update(entries->drum, drum_key_number(key), value);
}

typedef struct DedupBuild {
    DedupEntries payloads;
    DedupEntries urls;
    int64_t fresh_from; /* dates of URLs that are kept; INT64_MAX: none */
    FILE *originals;
    uint64_t place;
    uint64_t captures; /* with a payload and its digest, of the present file */
} DedupBuild;

/* Bare base32 is what indices had before they named the algorithm. */
static bool dedup_digest_of(WarcBytes text, WarcDigest *digest)
{
    char named[WARC_DIGEST_TEXT];
    if (text.length != 32) {
        return warc_digest_parse(text, digest);
    }
    int n = snprintf(named, sizeof named, "sha1:%.32s", text.bytes);
    return warc_digest_parse(warc_bytes(named, (size_t)n), digest);
}

static uint64_t dedup_url_key(const char *url, size_t length)
{
    return hash_128(url, length).high;
}

static Result dedup_build_payload(DedupBuild *build, const CdxjEntry *entry, WallTime date)
{
    DedupRecord record = {.url_length = (uint32_t)entry->url.length, .date_us = date.us};
    if (!dedup_digest_of(entry->digest, &record.digest)) {
        return RESULT_OK;
    }
    if (fwrite(&record, sizeof record, 1, build->originals) != 1 ||
        fwrite(entry->url.bytes, entry->url.length, 1, build->originals) != 1) {
        return result_of_errno(errno);
    }
    /* By place, not by content: DRUM sorts 16 bytes for each capture, and URLs are written once. */
    Result rc = entries_add(&build->payloads, dedup_key(&record.digest), build->place);
    build->place += sizeof record + entry->url.length;
    build->captures++;
    return rc;
}

static Result dedup_build_take(void *context, const CdxjEntry *entry)
{
    DedupBuild *build = context;
    WallTime date;
    bool is_revisit = warc_bytes_are(entry->mime, "warc/revisit");
    /* Also dns:, urn: and metadata records stand in indices. */
    if (entry->url.length < 5 || memcmp(entry->url.bytes, "http", 4) != 0 ||
        !warc_date_of_timestamp(entry->timestamp, &date)) {
        return RESULT_OK;
    }
    Result rc = RESULT_OK;
    /* A revisit record says that the page was there and had not changed: as good as a 200. */
    if (date.us >= build->fresh_from && (is_revisit || entry->status == 200)) {
        rc = entries_add(&build->urls, dedup_url_key(entry->url.bytes, entry->url.length),
                         (uint64_t)date.us);
    }
    /* It has no body of its own to refer to. */
    return rc != RESULT_OK || is_revisit ? rc : dedup_build_payload(build, entry, date);
}

static Result dedup_build_file(DedupBuild *build, const char *path, Buffer *error)
{
    uint64_t others = 0;
    build->captures = 0;
    Result rc = dedup_source_read(path, dedup_build_take, build, &others);
    if (rc == RESULT_OK && build->captures == 0) {
        (void)buffer_printf(error,
                            "warc.dedup_against: %s has no capture with a digest of SHA-1 (%" PRIu64
                            " lines are not CDXJ)",
                            path, others);
        return RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        LOG_INFO("dedup", "index of another crawl was read",
                 "file=%s captures=%" PRIu64 " other_lines=%" PRIu64, path, build->captures,
                 others);
    } else {
        (void)buffer_printf(error, "warc.dedup_against: %s cannot be read: %s", path,
                            result_name(rc));
    }
    return rc;
}

static Result dedup_build(const char *folder, const DedupSources *sources, int64_t fresh_us,
                          Buffer *error)
{
    Path path;
    DedupBuild build = {.originals = fopen(file_path(&path, "%s/originals", folder), "wbe"),
                        .fresh_from = fresh_us > 0 ? wall_now().us - fresh_us : INT64_MAX};
    if (build.originals == NULL) {
        return result_of_errno(errno);
    }
    Result rc = entries_open(&build.payloads, folder, "payloads", true);
    if (rc == RESULT_OK && fresh_us > 0) {
        rc = entries_open(&build.urls, folder, "urls", false);
    }
    for (size_t i = 0; rc == RESULT_OK && i < sources->n; i++) {
        rc = dedup_build_file(&build, sources->paths[i], error);
    }
    /* Closed in any case, each with the first error: a half-made index has no `sources` and is made
     * anew. */
    rc = entries_close(&build.payloads, folder, "payloads", rc);
    rc = entries_close(&build.urls, folder, "urls", rc);
    return file_close(build.originals, rc);
}

/* ---- opening ---- */

static bool dedup_is_made_of(const char *folder, const DedupSources *sources)
{
    Path path;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    bool is = file_read(file_path(&path, "%s/sources", folder), &text) == RESULT_OK &&
              text.length == sources->stamps.length &&
              memcmp(text.data, sources->stamps.data, text.length) == 0;
    buffer_destroy(&text);
    return is;
}

static Result dedup_table_open(DedupTable *table, const char *folder, const char *name)
{
    Path path;
    struct stat info;
    table->file = open(file_path(&path, "%s/%s", folder, name), O_RDONLY | O_CLOEXEC);
    if (table->file < 0 || fstat(table->file, &info) != 0) {
        return result_of_errno(errno);
    }
    /* A page is all that a question needs of its neighbourhood. */
    (void)posix_fadvise(table->file, 0, 0, POSIX_FADV_RANDOM);
    return file_read_at(table->file, &table->tail, sizeof table->tail,
                        (uint64_t)info.st_size - sizeof table->tail);
}

static Result dedup_index_prepare(DedupIndex *index, const char *folder,
                                  const DedupSources *sources, Buffer *error)
{
    Path path;
    /* `sources` is written last, and takes the names of the others to the disk with its own
     * (file_replace syncs the folder). Without it all is made anew, whatever is there. */
    bool is_made = dedup_is_made_of(folder, sources);
    if (!is_made) {
        file_remove(folder);
        if (mkdir(folder, 0755) != 0) {
            return result_of_errno(errno);
        }
    }
    Result rc = is_made ? RESULT_OK : dedup_build(folder, sources, index->fresh_us, error);
    if (rc == RESULT_OK && !is_made) {
        rc = file_replace(file_path(&path, "%s/sources", folder), sources->stamps.data,
                          sources->stamps.length);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    index->originals = open(file_path(&path, "%s/originals", folder), O_RDONLY | O_CLOEXEC);
    if (index->originals < 0) {
        return result_of_errno(errno);
    }
    rc = dedup_table_open(&index->payloads, folder, "payloads");
    if (rc == RESULT_OK && index->fresh_us > 0) {
        rc = dedup_table_open(&index->urls, folder, "urls");
    }
    return rc;
}

Result dedup_index_open(DedupIndex **out, const char *directory, const char *words,
                        int64_t fresh_ms, Buffer *error)
{
    Path folder;
    DedupSources sources;
    DedupIndex *index = calloc(1, sizeof *index);
    if (index == NULL) {
        return RESULT_MEMORY;
    }
    index->originals = -1;
    index->payloads.file = -1;
    index->urls.file = -1;
    index->fresh_us = fresh_ms * 1000;
    Result rc = dedup_sources_find(&sources, words, error);
    if (rc == RESULT_OK && fresh_ms > 0) {
        /* Another age needs other URLs, so it is a stamp, too. */
        rc = buffer_printf(&sources.stamps, "fresh\t%" PRId64 "\n", fresh_ms);
    }
    if (rc == RESULT_OK) {
        rc = dedup_index_prepare(index, file_path(&folder, "%s/dedup", directory), &sources, error);
    }
    for (size_t i = 0; i < sources.n; i++) {
        free(sources.paths[i]);
    }
    free(sources.paths);
    buffer_destroy(&sources.stamps);
    if (rc != RESULT_OK) {
        if (error->length == 0) {
            (void)buffer_printf(error, "%s/dedup cannot be made: %s", directory, result_name(rc));
        }
        dedup_index_close(index);
        return rc;
    }
    LOG_INFO("dedup", "payloads of other crawls are known", "payloads=%" PRIu64,
             dedup_index_count(index));
    *out = index;
    return RESULT_OK;
}

void dedup_index_close(DedupIndex *index)
{
    if (index == NULL) {
        return;
    }
    LOG_INFO("dedup", "payloads were looked for in other crawls",
             "asked=%" PRIu64 " found=%" PRIu64, (uint64_t)atomic_load(&index->asked),
             (uint64_t)atomic_load(&index->found));
    const int files[] = {index->payloads.file, index->urls.file, index->originals};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        file_close_fd(files[i]);
    }
    free(index);
}

uint64_t dedup_index_count(const DedupIndex *index)
{
    return index->payloads.tail.n_entries;
}

/* ---- looking up ---- */

static Result dedup_find_place(const DedupTable *table, uint64_t key, uint64_t *place)
{
    /* 4 KiB of stack, so that any number of threads may ask. */
    DedupPage page = {.overflows = 1};
    const DedupEntry *entry = NULL;
    for (uint64_t i = dedup_page_of(key, table->tail.n_pages); entry == NULL && page.overflows;
         i++) {
        Result rc = file_read_at(table->file, &page, sizeof page, i * sizeof page);
        if (rc != RESULT_OK || page.n > PAGE_ENTRIES) {
            return rc == RESULT_OK ? RESULT_DAMAGED : rc;
        }
        entry = array_find(page.entries, page.n, sizeof *entry, ARRAY_KEY(DedupEntry, key), key);
    }
    if (entry == NULL) {
        return RESULT_NOT_FOUND;
    }
    *place = entry->place;
    return RESULT_OK;
}

Result dedup_index_find(DedupIndex *index, const WarcDigest *payload, WarcOriginal *original)
{
    uint64_t place = 0;
    DedupRecord record;
    atomic_fetch_add(&index->asked, 1);
    Result rc = dedup_find_place(&index->payloads, dedup_key(payload), &place);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = file_read_at(index->originals, &record, sizeof record, place);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* The key was the first 8 bytes only: of two payloads that begin alike one is in the index. */
    if (memcmp(&record.digest, payload, sizeof *payload) != 0) {
        return RESULT_NOT_FOUND;
    }
    atomic_fetch_add(&index->found, 1);
    buffer_reset(&original->uri);
    rc = buffer_reserve(&original->uri, record.url_length);
    if (rc != RESULT_OK) {
        return rc;
    }
    original->uri.length = record.url_length;
    original->date = (WallTime){record.date_us};
    original->id = (WarcId){.bytes = {0}};
    return file_read_at(index->originals, original->uri.data, record.url_length,
                        place + sizeof record);
}

Result dedup_index_fresh(const DedupIndex *index, const char *url, size_t length, WallTime now)
{
    uint64_t date = 0;
    if (index->urls.file < 0) {
        return RESULT_NOT_FOUND;
    }
    Result rc = dedup_find_place(&index->urls, dedup_url_key(url, length), &date);
    /* The index was built with the age of that time; meanwhile captures have grown older. */
    return rc == RESULT_OK && (int64_t)date < now.us - index->fresh_us ? RESULT_NOT_FOUND : rc;
}
