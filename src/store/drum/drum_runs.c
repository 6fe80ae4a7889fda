#include "store/drum/drum_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/core/varint.h"
#include "base/memory/file.h"
#include "store/drum/drum_file.h"

#define RUNS_ENTRIES  4096u             /* of a block */
#define RUNS_BYTES    ((size_t)1 << 20) /* a block with more is closed early */
#define RUNS_MANIFEST "manifest"
#define RUNS_MAGIC    UINT64_C(0x54534E5552474152)
#define RUNS_VERSION  3u
#define RUNS_NAMED    (DRUM_RUNS_MOST + 1) /* between a new run and their merge */

typedef struct RunsBlock {
    uint64_t checksum; /* of the fields behind it */
    uint64_t payload_checksum;
    uint64_t last_key;
    uint32_t n;     /* entries; 0: the end of the run */
    uint32_t bytes; /* of the entries */
} RunsBlock;

_Static_assert(sizeof(RunsBlock) == 32, "no padding");

/* What is committed. */
typedef struct RunsManifest {
    uint64_t magic;
    uint32_t version;
    uint32_t bucket; /* with generation: the progress */
    uint64_t generation;
    uint64_t keys;     /* distinct ones in all runs */
    uint64_t next_run; /* the number of the next file */
    uint64_t runs[RUNS_NAMED];
    uint32_t n_runs; /* oldest first */
    uint32_t reserved;
    uint64_t checksum; /* of the bytes before it */
} RunsManifest;

/* A place in a run, which moves forward. */
typedef struct RunsReader {
    int fd; /* of the run; owned */
    uint64_t size;
    uint64_t next; /* where the next block begins */
    Buffer block;  /* the entries of the one at hand */
    const uint8_t *at;
    const uint8_t *end;
    uint64_t last_key; /* of the block */
    bool has_entry;    /* the rest is of an entry */
    uint64_t key;
    DrumBytes value;
} RunsReader;

typedef struct Runs {
    DrumRepository interface; /* first */
    int directory;            /* open and locked */
    char *path;               /* of it */
    RunsManifest manifest;
    RunsReader readers[RUNS_NAMED]; /* of manifest.n_runs */
    int out;                        /* the run that is written; -1: nothing was put */
    uint32_t n;                     /* entries of its block */
    uint64_t before;                /* the last of them */
    Buffer block;                   /* room for its header, and its entries */
    uint64_t new_keys;              /* put since begin */
} Runs;

/* "0000000000000001.run" */
static const char *runs_path(const Runs *runs, uint64_t number, Path *path)
{
    return file_path(path, "%s/%016" PRIx64 ".run", runs->path, number);
}

/* ---- the manifest: replacing it is the commit ---- */

static uint64_t runs_manifest_checksum(const RunsManifest *manifest)
{
    return hash_64(manifest, offsetof(RunsManifest, checksum), 0);
}

/* An empty one when there is no file. */
static Result runs_manifest_read(const char *directory, RunsManifest *manifest)
{
    Path path;
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    *manifest = (RunsManifest){.magic = RUNS_MAGIC, .version = RUNS_VERSION};
    Result rc = file_read(file_path(&path, "%s/" RUNS_MANIFEST, directory), &bytes);
    if (rc == RESULT_OK) {
        bool is_whole = bytes.length == sizeof *manifest;
        memcpy(manifest, bytes.data, is_whole ? sizeof *manifest : 0);
        rc = is_whole && manifest->checksum == runs_manifest_checksum(manifest) ? RESULT_OK
                                                                                : RESULT_DAMAGED;
        if (bytes.length >= 12 && memcmp(bytes.data, &(uint64_t){RUNS_MAGIC}, 8) == 0 &&
            memcmp(bytes.data + 8, &(uint32_t){RUNS_VERSION}, 4) != 0) {
            rc = RESULT_VERSION;
        }
    }
    buffer_destroy(&bytes);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* *replaced: the one on disk is the new one, which an error does not rule out. */
static Result runs_manifest_write(const Runs *runs, RunsManifest *manifest, bool *replaced)
{
    Path path;
    RunsManifest there;
    manifest->checksum = runs_manifest_checksum(manifest);
    Result rc =
        file_replace(file_path(&path, "%s/" RUNS_MANIFEST, runs->path), manifest, sizeof *manifest);
    *replaced = rc == RESULT_OK || (runs_manifest_read(runs->path, &there) == RESULT_OK &&
                                    there.checksum == manifest->checksum);
    return rc;
}

/* ---- reading ---- */

static uint64_t runs_block_checksum(const RunsBlock *header)
{
    return hash_64(&header->payload_checksum, sizeof *header - sizeof header->checksum, 0);
}

static Result runs_reader_open(const Runs *runs, RunsReader *reader, uint64_t number)
{
    Path path;
    struct stat status;
    *reader = (RunsReader){.fd = open(runs_path(runs, number, &path), O_RDONLY | O_CLOEXEC),
                           .block = {.limit = BUFFER_NO_LIMIT}};
    if (reader->fd < 0 || fstat(reader->fd, &status) != 0) {
        return result_of_errno(errno);
    }
    reader->size = (uint64_t)status.st_size;
    return RESULT_OK;
}

static void runs_reader_close(RunsReader *reader)
{
    file_close_fd(reader->fd);
    reader->fd = -1;
    buffer_destroy(&reader->block);
}

static void runs_rewind(RunsReader *reader)
{
    reader->next = 0;
    reader->at = reader->end = NULL;
    reader->has_entry = false;
}

static Result runs_read_header(const RunsReader *reader, RunsBlock *header)
{
    Result rc = file_read_at(reader->fd, header, sizeof *header, reader->next);
    return rc == RESULT_OK && header->checksum != runs_block_checksum(header) ? RESULT_DAMAGED : rc;
}

/* Loads the next block that does not end before key. RESULT_NOT_FOUND: there is none, nor later. */
static Result runs_load(RunsReader *reader, uint64_t key)
{
    RunsBlock header = {.n = 0};
    reader->at = reader->end = NULL;
    reader->has_entry = false;
    Result rc = runs_read_header(reader, &header);
    while (rc == RESULT_OK && header.n > 0 && header.last_key < key) {
        reader->next += sizeof header + header.bytes;
        rc = runs_read_header(reader, &header);
    }
    if (rc != RESULT_OK || header.n == 0) {
        return rc == RESULT_OK ? RESULT_NOT_FOUND : rc;
    }
    buffer_reset(&reader->block);
    rc = buffer_reserve(&reader->block, header.bytes);
    if (rc == RESULT_OK) {
        rc = file_read_at(reader->fd, reader->block.data, header.bytes,
                          reader->next + sizeof header);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    reader->next += sizeof header + header.bytes;
    reader->at = (const uint8_t *)reader->block.data;
    reader->end = reader->at + header.bytes;
    reader->last_key = header.last_key;
    return hash_64(reader->at, header.bytes, 0) == header.payload_checksum ? RESULT_OK
                                                                           : RESULT_DAMAGED;
}

/* Moves to the next entry. RESULT_NOT_FOUND behind the last. */
static Result runs_next(RunsReader *reader)
{
    uint64_t distance = 0;
    uint64_t length = 0;
    Result rc = reader->at == reader->end ? runs_load(reader, 0) : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    const uint8_t *at = varint_read(reader->at, reader->end, &distance);
    at = at == NULL ? NULL : varint_read(at, reader->end, &length);
    if (at == NULL || length > (uint64_t)(reader->end - at)) {
        return RESULT_DAMAGED;
    }
    reader->key = reader->has_entry ? reader->key + distance : distance;
    reader->value = (DrumBytes){at, (size_t)length};
    reader->at = at + length;
    reader->has_entry = true;
    return RESULT_OK;
}

/* Moves to the first entry at or behind key, never backwards. RESULT_NOT_FOUND behind the last. */
static Result runs_seek(RunsReader *reader, uint64_t key)
{
    Result rc = RESULT_OK;
    bool is_there = reader->has_entry && reader->key >= key;
    if (!is_there && (reader->at == reader->end || reader->last_key < key)) {
        rc = runs_load(reader, key);
    }
    while (rc == RESULT_OK && (!reader->has_entry || reader->key < key)) {
        rc = runs_next(reader);
    }
    return rc;
}

/* ---- writing ---- */

/* Writes the block at hand; one without entries is the end. Begins the next. */
static Result runs_close_block(Runs *runs)
{
    const char *payload = runs->block.data + sizeof(RunsBlock);
    size_t bytes = runs->block.length - sizeof(RunsBlock);
    RunsBlock header = {.payload_checksum = hash_64(payload, bytes, 0),
                        .last_key = runs->before,
                        .n = runs->n,
                        .bytes = (uint32_t)bytes};
    header.checksum = runs_block_checksum(&header);
    memcpy(runs->block.data, &header, sizeof header);
    Result rc = file_write(runs->out, runs->block.data, runs->block.length);
    if (rc == RESULT_OK) {
        runs->n = 0;
        runs->block.length = sizeof header;
    }
    return rc;
}

static Result runs_write(Runs *runs, uint64_t key, DrumBytes value)
{
    uint8_t head[2 * MAX_VARINT_SIZE];
    uint8_t *end = varint_encode_uint64(runs->n == 0 ? key : key - runs->before, head);
    end = varint_encode_uint64(value.length, end);
    (void)buffer_append(&runs->block, head, (size_t)(end - head));
    (void)buffer_append(&runs->block, value.bytes, value.length);
    if (runs->block.failed != RESULT_OK) {
        return runs->block.failed;
    }
    runs->before = key;
    runs->n++;
    return runs->n == RUNS_ENTRIES || runs->block.length >= RUNS_BYTES ? runs_close_block(runs)
                                                                       : RESULT_OK;
}

static Result runs_create(Runs *runs, uint64_t number)
{
    static const RunsBlock room = {.n = 0};
    Path path;
    runs->n = 0;
    buffer_reset(&runs->block);
    Result rc = buffer_append(&runs->block, &room, sizeof room);
    if (rc != RESULT_OK) {
        return rc;
    }
    runs->out =
        open(runs_path(runs, number, &path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return runs->out >= 0 ? RESULT_OK : result_of_errno(errno);
}

/* Ends the run that is written; it stays, or is removed when that fails or it is unwanted. */
static Result runs_finish(Runs *runs, uint64_t number, bool wanted)
{
    Path path;
    Result rc = RESULT_OK;
    if (wanted && runs->n > 0) {
        rc = runs_close_block(runs);
    }
    if (wanted && rc == RESULT_OK) {
        rc = runs_close_block(runs);
    }
    if (wanted && rc == RESULT_OK && fsync(runs->out) != 0) {
        rc = result_of_errno(errno);
    }
    if (runs->out >= 0) {
        (void)close(runs->out);
        runs->out = -1;
        if (!wanted || rc != RESULT_OK) {
            (void)unlink(runs_path(runs, number, &path)); /* else drum_runs_open removes it */
        }
    }
    return rc;
}

/* ---- the sweep ---- */

static Result runs_progress(DrumRepository *interface, DrumProgress *progress)
{
    const Runs *runs = (const Runs *)interface;
    *progress = (DrumProgress){runs->manifest.generation, runs->manifest.bucket};
    return RESULT_OK;
}

static Result runs_begin(DrumRepository *interface)
{
    Runs *runs = (Runs *)interface;
    for (uint32_t i = 0; i < runs->manifest.n_runs; i++) {
        runs_rewind(&runs->readers[i]);
    }
    runs->new_keys = 0;
    return RESULT_OK;
}

static Result runs_find(DrumRepository *interface, const DrumKey *key, DrumBytes *value)
{
    Runs *runs = (Runs *)interface;
    for (uint32_t i = runs->manifest.n_runs; i-- > 0;) {
        RunsReader *reader = &runs->readers[i];
        Result rc = runs_seek(reader, key->number);
        if (rc == RESULT_OK && reader->key == key->number) {
            *value = reader->value;
            return RESULT_OK;
        }
        if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
            return rc;
        }
    }
    return RESULT_NOT_FOUND;
}

static Result runs_put(DrumRepository *interface, const DrumKey *key, DrumBytes value, bool is_new)
{
    Runs *runs = (Runs *)interface;
    Result rc = runs->out < 0 ? runs_create(runs, runs->manifest.next_run) : RESULT_OK;
    runs->new_keys += is_new;
    return rc == RESULT_OK ? runs_write(runs, key->number, value) : rc;
}

static void runs_abort(DrumRepository *interface)
{
    Runs *runs = (Runs *)interface;
    (void)runs_finish(runs, runs->manifest.next_run, false);
}

/* Merges readers first..end-1 into the run that is written; of equal keys the youngest stays. */
static Result runs_merge(Runs *runs, uint32_t first, uint32_t end)
{
    Result rc = RESULT_OK;
    for (uint32_t i = first; rc == RESULT_OK && i < end; i++) {
        runs_rewind(&runs->readers[i]);
        rc = runs_next(&runs->readers[i]);
    }
    while (rc == RESULT_OK) {
        const RunsReader *best = NULL;
        for (uint32_t i = first; i < end; i++) {
            const RunsReader *reader = &runs->readers[i];
            if (reader->has_entry && (best == NULL || reader->key <= best->key)) {
                best = reader;
            }
        }
        if (best == NULL) {
            break;
        }
        uint64_t key = best->key;
        rc = runs_write(runs, key, best->value);
        for (uint32_t i = first; rc == RESULT_OK && i < end; i++) {
            RunsReader *reader = &runs->readers[i];
            if (reader->has_entry && reader->key == key) {
                rc = runs_next(reader);
                rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
            }
        }
    }
    return rc;
}

/* Which runs are merged when there are too many: from the first that is not more than twice what is
 * younger than it. So a key is rewritten a number of times that grows with the logarithm only. */
static uint32_t runs_first_to_merge(const RunsReader *readers, uint32_t n)
{
    uint64_t younger = readers[n - 1].size;
    uint32_t first = n - 2;
    for (uint32_t i = n - 1; i-- > 0;) {
        if (readers[i].size <= 2 * younger) {
            first = i;
        }
        younger += readers[i].size;
    }
    return first;
}

/* Replaces the youngest runs of next by one; the replaced readers stay open until the commit. */
static Result runs_compact(Runs *runs, RunsManifest *next, RunsReader *merged, uint32_t *first)
{
    *first = runs_first_to_merge(runs->readers, next->n_runs);
    Result rc = runs_create(runs, next->next_run);
    if (rc == RESULT_OK) {
        rc = runs_merge(runs, *first, next->n_runs);
    }
    Result finished = runs_finish(runs, next->next_run, rc == RESULT_OK);
    if (rc == RESULT_OK) {
        rc = finished;
    }
    if (rc == RESULT_OK) {
        rc = runs_reader_open(runs, merged, next->next_run);
    }
    if (rc == RESULT_OK) {
        next->n_runs = *first + 1;
        next->runs[*first] = next->next_run++;
    }
    return rc;
}

/* Closes readers first..end-1 and, unless numbers is NULL, removes their files. */
static void runs_drop(Runs *runs, const uint64_t *numbers, uint32_t first, uint32_t end)
{
    Path path;
    for (uint32_t i = first; i < end; i++) {
        runs_reader_close(&runs->readers[i]);
        if (numbers != NULL) {
            (void)unlink(runs_path(runs, numbers[i], &path)); /* else drum_runs_open removes it */
        }
    }
}

/* 1. The run being written is finished and synced.
 * 2. If there are too many runs, the youngest are merged into a new one, which is synced.
 * 3. The manifest is replaced: this is the commit.
 * 4. Files that the manifest no longer names are removed.
 * A crash before 3 leaves runs that are not named yet, one after it runs that are no longer named;
 * the next drum_runs_open removes either. Readers of merged runs stay open until 4, because they
 * remain in use if 3 fails. If 3 replaced the manifest but could not sync its folder, a power cut
 * may bring the old manifest back; so 4 then removes nothing. */
static Result runs_commit(DrumRepository *interface, DrumProgress progress)
{
    Runs *runs = (Runs *)interface;
    RunsManifest next = runs->manifest;
    RunsReader merged = {.fd = -1};
    uint64_t numbers[RUNS_NAMED];
    bool replaced = false;
    Result rc = RESULT_OK;
    next.generation = progress.generation;
    next.bucket = progress.bucket;
    next.keys += runs->new_keys;
    if (runs->out >= 0) {
        rc = runs_finish(runs, next.next_run, true);
        if (rc != RESULT_OK) {
            return rc;
        }
        rc = runs_reader_open(runs, &runs->readers[next.n_runs], next.next_run);
        next.runs[next.n_runs++] = next.next_run++;
    }
    uint32_t n_all = next.n_runs; /* before they are merged */
    uint32_t first = n_all;
    memcpy(numbers, next.runs, sizeof numbers);
    if (rc == RESULT_OK && n_all > DRUM_RUNS_MOST) {
        rc = runs_compact(runs, &next, &merged, &first);
    }
    if (rc == RESULT_OK) {
        rc = runs_manifest_write(runs, &next, &replaced);
    }
    if (!replaced) {
        runs_drop(runs, numbers, runs->manifest.n_runs, n_all);
        runs_reader_close(&merged); /* its file is one that the next drum_runs_open removes */
        return rc;
    }
    runs_drop(runs, rc == RESULT_OK ? numbers : NULL, first, n_all);
    if (first < n_all) {
        runs->readers[first] = merged;
    }
    runs->manifest = next;
    return rc;
}

/* ---- opening ---- */

/* Removes a run that the manifest does not name. */
static Result runs_visit(void *context, const char *name)
{
    const Runs *runs = context;
    char *end = NULL;
    uint64_t number = strtoull(name, &end, 16);
    bool is_named = end != name + 16 || strcmp(end, ".run") != 0;
    for (uint32_t i = 0; i < runs->manifest.n_runs; i++) {
        is_named = is_named || runs->manifest.runs[i] == number;
    }
    if (!is_named) {
        (void)unlinkat(runs->directory, name, 0);
    }
    return RESULT_OK;
}

static Result runs_open_all(Runs *runs, const char *directory)
{
    runs->path = strdup(directory);
    Result rc =
        runs->path == NULL ? RESULT_MEMORY : drum_directory_open(directory, &runs->directory);
    if (rc == RESULT_OK) {
        rc = runs_manifest_read(directory, &runs->manifest);
    }
    uint32_t n = runs->manifest.n_runs;
    runs->manifest.n_runs = 0;
    for (uint32_t i = 0; rc == RESULT_OK && i < n; i++) {
        rc = runs_reader_open(runs, &runs->readers[i], runs->manifest.runs[i]);
        rc = rc == RESULT_NOT_FOUND ? RESULT_DAMAGED : rc;
        runs->manifest.n_runs++;
    }
    return rc == RESULT_OK ? file_walk(directory, runs_visit, runs) : rc;
}

Result drum_runs_open(DrumRepository **repository, const DrumRunsOptions *options)
{
    *repository = NULL;
    Runs *runs = calloc(1, sizeof *runs);
    if (runs == NULL) {
        return RESULT_MEMORY;
    }
    runs->directory = runs->out = -1;
    buffer_init(&runs->block, BUFFER_NO_LIMIT);
    runs->interface = (DrumRepository){.keys = DRUM_KEYS_NUMBERS,
                                       .progress = runs_progress,
                                       .begin = runs_begin,
                                       .find = runs_find,
                                       .put = runs_put,
                                       .commit = runs_commit,
                                       .abort = runs_abort};
    Result rc = runs_open_all(runs, options->directory);
    if (rc != RESULT_OK) {
        drum_runs_close(&runs->interface);
        return rc;
    }
    *repository = &runs->interface;
    return RESULT_OK;
}

void drum_runs_close(DrumRepository *interface)
{
    Runs *runs = (Runs *)interface;
    if (runs == NULL) {
        return;
    }
    runs_abort(interface);
    for (uint32_t i = 0; i < runs->manifest.n_runs; i++) {
        runs_reader_close(&runs->readers[i]);
    }
    buffer_destroy(&runs->block);
    file_close_fd(runs->directory);
    free(runs->path);
    free(runs);
}

Result drum_runs_get(DrumRepository *interface, uint64_t number, void **value, size_t *length)
{
    DrumKey key = drum_key_number(number);
    DrumBytes found;
    *value = NULL;
    (void)runs_begin(interface);
    Result rc = runs_find(interface, &key, &found);
    if (rc != RESULT_OK) {
        return rc;
    }
    *value = malloc(found.length + 1);
    if (*value == NULL) {
        return RESULT_MEMORY;
    }
    memcpy(*value, found.bytes, found.length);
    *length = found.length;
    return RESULT_OK;
}

uint64_t drum_runs_count(DrumRepository *interface)
{
    return ((const Runs *)interface)->manifest.keys;
}

Result drum_runs_verify(DrumRepository *interface)
{
    Runs *runs = (Runs *)interface;
    Result rc = RESULT_NOT_FOUND;
    for (uint32_t i = 0; rc == RESULT_NOT_FOUND && i < runs->manifest.n_runs; i++) {
        RunsReader *reader = &runs->readers[i];
        runs_rewind(reader);
        rc = runs_next(reader);
        while (rc == RESULT_OK) {
            uint64_t before = reader->key;
            rc = runs_next(reader);
            if (rc == RESULT_OK && reader->key <= before) {
                rc = RESULT_DAMAGED;
            }
        }
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
