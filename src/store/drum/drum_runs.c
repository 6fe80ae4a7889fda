#include "store/drum/drum_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/memory/file.h"
#include "store/drum/drum_run.h"

/* The manifest of a directory of sorted runs: which runs count, and how far the merges are.
 *
 * What: a file that is replaced as a whole (write, fsync, rename, fsync of the directory).
 * Replacing it is the commit of a repository of runs.
 * Owns: nothing.
 * Threads: the merging one.
 * Errors: RESULT_DAMAGED, RESULT_VERSION, RESULT_FULL, RESULT_IO. */

#define DRUM_MANIFEST_RUNS       (DRUM_RUNS_MOST + 1) /* between a new run and their merge */
#define DRUM_MANIFEST_NAME_BYTES 32u

typedef struct DrumManifest {
    uint64_t magic;
    uint32_t version;
    uint32_t n_runs;
    uint64_t generation; /* the progress */
    uint32_t bucket;
    uint32_t reserved;
    uint64_t keys;      /* distinct ones in all runs */
    uint64_t next_name; /* the number of the next run's file */
    uint64_t names[DRUM_MANIFEST_RUNS];
    uint64_t checksum; /* of the bytes before it */
} DrumManifest;

#define MANIFEST         "manifest"
#define MANIFEST_MAGIC   UINT64_C(0x54534E5552474152)
#define MANIFEST_VERSION 2u

static uint64_t drum_manifest_checksum(const DrumManifest *manifest)
{
    return hash_64(manifest, offsetof(DrumManifest, checksum), 0);
}

/* "0000000000000001.run": the file of a run. */
static void drum_manifest_run_name(uint64_t number, char name[DRUM_MANIFEST_NAME_BYTES])
{
    (void)snprintf(name, DRUM_MANIFEST_NAME_BYTES, "%016" PRIx64 ".run", number);
}

/* An empty manifest when there is no file. */
static Result drum_manifest_read(const char *directory, DrumManifest *manifest)
{
    Path path;
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    *manifest = (DrumManifest){.magic = MANIFEST_MAGIC, .version = MANIFEST_VERSION};
    Result rc = file_read(file_path(&path, "%s/" MANIFEST, directory), &bytes);
    if (rc == RESULT_OK) {
        memcpy(manifest, bytes.data,
               bytes.length < sizeof *manifest ? bytes.length : sizeof *manifest);
        bool is_whole = bytes.length == sizeof *manifest && manifest->magic == MANIFEST_MAGIC &&
                        manifest->n_runs <= DRUM_MANIFEST_RUNS &&
                        manifest->checksum == drum_manifest_checksum(manifest);
        bool is_other = bytes.length >= 12 && manifest->magic == MANIFEST_MAGIC &&
                        manifest->version != MANIFEST_VERSION;
        rc = is_whole ? RESULT_OK : RESULT_DAMAGED;
        rc = is_other ? RESULT_VERSION : rc;
    }
    buffer_destroy(&bytes);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* *replaced tells whether the manifest on disk is the new one, which an error does not rule out. */
static Result drum_manifest_write(const char *directory, DrumManifest *manifest, bool *replaced)
{
    Path path;
    DrumManifest there;
    manifest->checksum = drum_manifest_checksum(manifest);
    Result rc =
        file_replace(file_path(&path, "%s/" MANIFEST, directory), manifest, sizeof *manifest);
    *replaced = rc == RESULT_OK || (drum_manifest_read(directory, &there) == RESULT_OK &&
                                    there.checksum == manifest->checksum);
    return rc;
}

/* ---- A DRUM repository of its own file format ---- */

typedef struct Repository {
    DrumRepository interface;                  /* first */
    int directory;                             /* open and locked */
    char *path;                                /* of it */
    DrumManifest manifest;                     /* what is committed */
    DrumRunReader readers[DRUM_MANIFEST_RUNS]; /* manifest.n_runs, oldest first */
    bool is_writing;                           /* writer is open, its file is named next_name */
    DrumRunWriter writer;
    uint64_t new_keys; /* put since begin */
} Repository;

/* ---- sweeping ---- */

static Result runs_progress(DrumRepository *interface, DrumProgress *progress)
{
    const Repository *repository = (const Repository *)interface;
    *progress = (DrumProgress){repository->manifest.generation, repository->manifest.bucket};
    return RESULT_OK;
}

static Result runs_begin(DrumRepository *interface)
{
    Repository *repository = (Repository *)interface;
    for (uint32_t i = 0; i < repository->manifest.n_runs; i++) {
        drum_run_reader_rewind(&repository->readers[i]);
    }
    repository->new_keys = 0;
    return RESULT_OK;
}

static Result runs_find(DrumRepository *interface, const DrumKey *key, DrumBytes *value)
{
    Repository *repository = (Repository *)interface;
    for (uint32_t i = repository->manifest.n_runs; i-- > 0;) {
        DrumRunReader *reader = &repository->readers[i];
        Result rc = drum_run_reader_seek(reader, key->number);
        if (rc == RESULT_OK && drum_run_reader_key(reader) == key->number) {
            *value = drum_run_reader_value(reader);
            return RESULT_OK;
        }
        if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
            return rc;
        }
    }
    return RESULT_NOT_FOUND;
}

static void discard_writer(Repository *repository)
{
    if (repository->is_writing) {
        char name[DRUM_MANIFEST_NAME_BYTES];
        drum_manifest_run_name(repository->manifest.next_name, name);
        drum_run_writer_destroy(&repository->writer);
        (void)unlinkat(repository->directory, name, 0); /* else drum_runs_open removes it */
        repository->is_writing = false;
    }
}

static Result start_writer(Repository *repository, uint64_t number)
{
    char name[DRUM_MANIFEST_NAME_BYTES];
    drum_manifest_run_name(number, name);
    return drum_run_writer_open(&repository->writer, repository->directory, name);
}

static Result runs_put(DrumRepository *interface, const DrumKey *key, DrumBytes value, bool is_new)
{
    Repository *repository = (Repository *)interface;
    if (!repository->is_writing) {
        Result rc = start_writer(repository, repository->manifest.next_name);
        repository->is_writing = true;
        if (rc != RESULT_OK) {
            discard_writer(repository);
            return rc;
        }
    }
    repository->new_keys += is_new;
    return drum_run_writer_put(&repository->writer, key->number, value);
}

static void runs_abort(DrumRepository *interface)
{
    discard_writer((Repository *)interface);
}

/* ---- committing ---- */

/* Merges runs first..n-1 into the writer; where keys are equal the youngest run's value stays. */
static Result merge_runs(Repository *repository, DrumRunReader *readers, uint32_t n)
{
    bool left[DRUM_MANIFEST_RUNS];
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        drum_run_reader_rewind(&readers[i]);
        Result rc = drum_run_reader_next(&readers[i]);
        if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
            return rc;
        }
        left[i] = rc == RESULT_OK;
        n_left += left[i];
    }
    while (n_left > 0) {
        uint32_t best = n;
        for (uint32_t i = 0; i < n; i++) {
            if (left[i] && (best == n || drum_run_reader_key(&readers[i]) <=
                                             drum_run_reader_key(&readers[best]))) {
                best = i;
            }
        }
        uint64_t key = drum_run_reader_key(&readers[best]);
        Result rc =
            drum_run_writer_put(&repository->writer, key, drum_run_reader_value(&readers[best]));
        for (uint32_t i = 0; rc == RESULT_OK && i < n; i++) {
            if (left[i] && drum_run_reader_key(&readers[i]) == key) {
                rc = drum_run_reader_next(&readers[i]);
                left[i] = rc == RESULT_OK;
                n_left -= rc == RESULT_NOT_FOUND;
                rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
            }
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

/* Which runs are merged when there are too many: from the first that is not more than twice what is
 * younger than it. So a key is rewritten a number of times that grows with the logarithm only. */
static uint32_t first_to_merge(const DrumRunReader *readers, uint32_t n)
{
    uint64_t younger = readers[n - 1].entries;
    uint32_t first = n - 1;
    for (uint32_t i = n - 1; i-- > 0;) {
        if (readers[i].entries <= 2 * younger) {
            first = i;
        }
        younger += readers[i].entries;
    }
    return first < n - 1 ? first : n - 2;
}

static void remove_run(const Repository *repository, uint64_t number)
{
    char name[DRUM_MANIFEST_NAME_BYTES];
    drum_manifest_run_name(number, name);
    (void)unlinkat(repository->directory, name, 0); /* else drum_runs_open removes it */
}

/* Opens the finished run as the youngest of next. */
static Result add_run(Repository *repository, DrumManifest *next, DrumRunReader *readers)
{
    char name[DRUM_MANIFEST_NAME_BYTES];
    drum_manifest_run_name(next->next_name, name);
    Result rc = drum_run_reader_open(&readers[next->n_runs], repository->directory, name);
    if (rc == RESULT_OK) {
        next->names[next->n_runs++] = next->next_name++;
    }
    return rc;
}

/* Replaces the youngest runs of next by one; the replaced readers stay open until the commit. */
static Result drum_runs_compact(Repository *repository, DrumManifest *next, DrumRunReader *readers,
                                DrumRunReader *merged, uint32_t *first)
{
    char name[DRUM_MANIFEST_NAME_BYTES];
    *first = first_to_merge(readers, next->n_runs);
    drum_manifest_run_name(next->next_name, name);
    Result rc = start_writer(repository, next->next_name);
    if (rc == RESULT_OK) {
        rc = merge_runs(repository, readers + *first, next->n_runs - *first);
    }
    if (rc == RESULT_OK) {
        rc = drum_run_writer_finish(&repository->writer);
    }
    drum_run_writer_destroy(&repository->writer);
    if (rc == RESULT_OK) {
        rc = drum_run_reader_open(merged, repository->directory, name);
    }
    if (rc != RESULT_OK) {
        (void)unlinkat(repository->directory, name, 0);
        return rc;
    }
    next->n_runs = *first + 1;
    next->names[*first] = next->next_name++;
    return RESULT_OK;
}

/* Finishes the run that was put, if any, and opens it as the youngest of next. */
static Result finish_run(Repository *repository, DrumManifest *next)
{
    if (!repository->is_writing) {
        return RESULT_OK;
    }
    Result rc = drum_run_writer_finish(&repository->writer);
    if (rc == RESULT_OK) {
        rc = add_run(repository, next, repository->readers);
    }
    if (rc != RESULT_OK) {
        discard_writer(repository);
        return rc;
    }
    drum_run_writer_destroy(&repository->writer);
    repository->is_writing = false;
    return RESULT_OK;
}

/* Closes readers first..end-1 and removes their files. */
static void drop_runs(Repository *repository, const uint64_t *names, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        drum_run_reader_destroy(&repository->readers[i]);
        remove_run(repository, names[i]);
    }
}

static Result runs_commit(DrumRepository *interface, DrumProgress progress)
{
    Repository *repository = (Repository *)interface;
    DrumManifest next = repository->manifest;
    uint32_t n_old = next.n_runs;
    next.generation = progress.generation;
    next.bucket = progress.bucket;
    next.keys += repository->new_keys;
    Result rc = finish_run(repository, &next);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t names[DRUM_MANIFEST_RUNS];
    uint32_t n_all = next.n_runs; /* before they are merged */
    uint32_t first = n_all;
    bool replaced = false;
    DrumRunReader merged = {.fd = -1};
    memcpy(names, next.names, sizeof names);
    if (n_all > DRUM_RUNS_MOST) {
        rc = drum_runs_compact(repository, &next, repository->readers, &merged, &first);
    }
    if (rc == RESULT_OK) {
        rc = drum_manifest_write(repository->path, &next, &replaced);
    }
    if (!replaced) {
        drop_runs(repository, names, n_old, n_all);
        if (merged.fd >= 0) {
            drum_run_reader_destroy(&merged);
            remove_run(repository, next.names[first]);
        }
        return rc;
    }
    drop_runs(repository, names, first, n_all);
    if (first < n_all) {
        repository->readers[first] = merged;
    }
    repository->manifest = next;
    return rc;
}

/* ---- opening ---- */

/* Removes a run file that the manifest does not name. */
static Result drum_runs_visit(void *context, const char *file)
{
    const Repository *repository = context;
    size_t length = strlen(file);
    bool is_named = length != 20 || strcmp(file + 16, ".run") != 0;
    for (uint32_t i = 0; !is_named && i < repository->manifest.n_runs; i++) {
        char name[DRUM_MANIFEST_NAME_BYTES];
        drum_manifest_run_name(repository->manifest.names[i], name);
        is_named = strcmp(name, file) == 0;
    }
    if (!is_named) {
        (void)unlinkat(repository->directory, file, 0);
    }
    return RESULT_OK;
}

static Result drum_runs_open_all(Repository *repository, const char *path)
{
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        return result_of_errno(errno);
    }
    repository->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (repository->directory < 0) {
        return result_of_errno(errno);
    }
    if (flock(repository->directory, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? RESULT_LOCKED : result_of_errno(errno);
    }
    repository->path = strdup(path);
    if (repository->path == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = drum_manifest_read(repository->path, &repository->manifest);
    uint32_t n_runs = repository->manifest.n_runs;
    repository->manifest.n_runs = 0;
    for (uint32_t i = 0; rc == RESULT_OK && i < n_runs; i++) {
        char name[DRUM_MANIFEST_NAME_BYTES];
        drum_manifest_run_name(repository->manifest.names[i], name);
        rc = drum_run_reader_open(&repository->readers[i], repository->directory, name);
        rc = rc == RESULT_NOT_FOUND ? RESULT_DAMAGED : rc;
        repository->manifest.n_runs += rc == RESULT_OK;
    }
    return rc == RESULT_OK ? file_walk(path, drum_runs_visit, repository) : rc;
}

Result drum_runs_open(DrumRepository **result, const DrumRunsOptions *options)
{
    *result = NULL;
    Repository *repository = calloc(1, sizeof *repository);
    if (repository == NULL) {
        return RESULT_MEMORY;
    }
    repository->directory = -1;
    repository->interface = (DrumRepository){.keys = DRUM_KEYS_NUMBERS,
                                             .progress = runs_progress,
                                             .begin = runs_begin,
                                             .find = runs_find,
                                             .put = runs_put,
                                             .commit = runs_commit,
                                             .abort = runs_abort};
    Result rc = drum_runs_open_all(repository, options->directory);
    if (rc != RESULT_OK) {
        drum_runs_close(&repository->interface);
        return rc;
    }
    *result = &repository->interface;
    return RESULT_OK;
}

void drum_runs_close(DrumRepository *interface)
{
    Repository *repository = (Repository *)interface;
    if (repository == NULL) {
        return;
    }
    discard_writer(repository);
    for (uint32_t i = 0; i < repository->manifest.n_runs; i++) {
        drum_run_reader_destroy(&repository->readers[i]);
    }
    if (repository->directory >= 0) {
        (void)close(repository->directory);
    }
    free(repository->path);
    free(repository);
}

Result drum_runs_get(DrumRepository *interface, uint64_t number, void **value, size_t *length)
{
    DrumKey key = drum_key_number(number);
    DrumBytes found;
    *value = NULL;
    Result rc = runs_begin(interface);
    if (rc == RESULT_OK) {
        rc = runs_find(interface, &key, &found);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    *value = malloc(found.length + 1);
    if (*value == NULL) {
        return RESULT_MEMORY;
    }
    if (found.length > 0) {
        memcpy(*value, found.bytes, found.length);
    }
    *length = found.length;
    return RESULT_OK;
}

uint64_t drum_runs_count(DrumRepository *interface)
{
    return ((const Repository *)interface)->manifest.keys;
}

Result drum_runs_verify(DrumRepository *interface)
{
    Repository *repository = (Repository *)interface;
    for (uint32_t i = 0; i < repository->manifest.n_runs; i++) {
        DrumRunReader *reader = &repository->readers[i];
        uint64_t entries = 0, before = 0;
        drum_run_reader_rewind(reader);
        Result rc = drum_run_reader_next(reader);
        for (; rc == RESULT_OK; rc = drum_run_reader_next(reader)) {
            uint64_t key = drum_run_reader_key(reader);
            if (entries++ > 0 && key <= before) {
                return RESULT_DAMAGED;
            }
            before = key;
        }
        if (rc != RESULT_NOT_FOUND) {
            return rc;
        }
        if (entries != reader->entries) {
            return RESULT_DAMAGED;
        }
    }
    return RESULT_OK;
}
