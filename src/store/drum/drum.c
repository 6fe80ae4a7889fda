#include "store/drum/drum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/file.h"
#include "store/drum/drum_merge.h"

/* What drum_open does with the bucket files of an earlier run.
 *
 * What: files that are merged already, or that the owner's last commit does not know of, are
 * removed. Torn tails are cut off. What is damaged is counted, and set aside when not even its
 * header can be read. What remains is lined up for its merge.
 * Threads: the one that opens the Drum.
 * Errors: those of drum_open. */

/* A recovery under way. */
typedef struct Recover {
    int directory;
    const DrumOptions *options;
    DrumProgress progress; /* of the repository */
    DrumFile **end;        /* of the list of what was sealed: where the next one goes */
    DrumRecovery *found;
} Recover;

/* Puts a file whose header is lost out of the way, for a human. */
static Result drum_recover_set_aside(int directory, uint64_t number)
{
    char name[DRUM_FILE_NAME_BYTES];
    char aside[DRUM_FILE_NAME_BYTES + 16];
    drum_file_name(number, name);
    /* Renamed, so that neither the next drum_open nor a generation of the same number touches
     * it. */
    int n = snprintf(aside, sizeof aside, "%s.damaged", name);
    if (n <= 0 || renameat(directory, name, directory, aside) != 0) {
        return result_of_errno(errno);
    }
    return RESULT_OK;
}

static uint64_t elements_left(const DrumFile *file)
{
    /* Buckets before next_bucket are in the repository already: their blocks are never read
     * again. */
    uint64_t elements = 0;
    for (size_t i = 0; i < file->n_blocks; i++) {
        elements += file->blocks[i].bucket >= file->next_bucket ? file->blocks[i].elements : 0;
    }
    return elements;
}

/* What becomes of a bucket file, by its number, when the owner's last commit says up to where files
 * count (`committed`) and the repository how far the merge is (`progress`):
 *
 *     removed, merged | waits, whole | waits, cut to committed.bytes | removed, not committed
 *   ------------------+--------------+-------------------------------+-------------------------> n
 *         progress.generation     committed.generation
 *
 * The one at progress.generation is continued behind progress.bucket. Without `committed` no file
 * is unknown, and the checksums of the last one say where it ends. */

/* Cuts off what the owner's last commit does not know of. A file that ends before it has lost
 * something that was durable. */
static Result cut_uncommitted(const Recover *recover, uint64_t number)
{
    DrumRecovery *recovery = recover->found;
    char name[DRUM_FILE_NAME_BYTES];
    uint64_t bytes = recover->options->committed->bytes;
    drum_file_name(number, name);
    int fd = openat(recover->directory, name, O_RDWR | O_CLOEXEC);
    struct stat status = {.st_size = 0};
    Result rc = fd >= 0 && fstat(fd, &status) == 0 ? RESULT_OK : result_of_errno(errno);
    /* Whole blocks go, too: what made them was not committed, and will be done, and added, once
     * more. */
    if (rc == RESULT_OK && (uint64_t)status.st_size > bytes) {
        recovery->torn_bytes += (uint64_t)status.st_size - bytes;
        rc = ftruncate(fd, (off_t)bytes) == 0 && fdatasync(fd) == 0 ? RESULT_OK
                                                                    : result_of_errno(errno);
    } else if (rc == RESULT_OK && (uint64_t)status.st_size < bytes) {
        recovery->damaged_bytes += bytes - (uint64_t)status.st_size;
        /* At least one; how many cannot be told. */
        recovery->damaged_elements++;
    }
    file_close_fd(fd);
    return rc;
}

/* Opens one file of an earlier run and lines it up for its merge. */
static Result recover_generation(Recover *recover, uint64_t number)
{
    DrumProgress progress = recover->progress;
    DrumRecovery *recovery = recover->found;
    const DrumOptions *options = recover->options;
    const DrumPosition *committed = options->committed;
    /* A file of which nothing was committed counts as unknown, even with the committed number: it
     * was begun behind the last commit. */
    bool is_unknown =
        committed != NULL && (number > committed->generation ||
                              (number == committed->generation && committed->bytes == 0));
    if (number < progress.generation || is_unknown) {
        recovery->dropped_files++;
        return drum_file_unlink(recover->directory, number);
    }
    uint64_t damaged_before = recovery->damaged_bytes;
    Result rc = RESULT_OK;
    if (committed != NULL && number == committed->generation) {
        rc = cut_uncommitted(recover, number);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    DrumFile *file = drum_file_new(recover->directory, number, options->keys, options->buckets);
    if (file == NULL) {
        return RESULT_MEMORY;
    }
    if (committed != NULL) { /* a position is told behind drum_persist, which syncs all files */
        file->durable = number == committed->generation ? committed->bytes : UINT64_MAX;
    }
    rc = drum_file_recover(file, true, false, recovery);
    /* Headless: nothing of the file can be used. RESULT_NOT_FOUND: nothing was promised, so it is a
     * torn beginning and goes. RESULT_DAMAGED: something was, so it is kept aside. */
    bool headless = rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND;
    if (rc == RESULT_NOT_FOUND) {
        rc = drum_file_unlink(recover->directory, number);
    } else if (recovery->damaged_bytes > damaged_before && !options->skip_damaged) {
        rc = RESULT_DAMAGED;
    } else if (rc == RESULT_DAMAGED) {
        rc = drum_recover_set_aside(recover->directory, number);
    } else if (rc == RESULT_OK && file->keys != options->keys) {
        rc = RESULT_INVALID;
    }
    /* A bucket beyond the file's means that file and repository do not belong together. */
    file->next_bucket = number == progress.generation ? progress.bucket : 0;
    if (rc == RESULT_OK && !headless && file->next_bucket > file->buckets) {
        rc = RESULT_DAMAGED;
    }
    if (rc != RESULT_OK || headless) {
        drum_file_delete(file);
        return rc;
    }
    recovery->generations++;
    recovery->elements += elements_left(file);
    /* Numbers ascend, so that appending keeps the order in which generations are merged. */
    *recover->end = file;
    recover->end = &file->next;
    return RESULT_OK;
}

/* Generations that the owner's last commit knows of and that have no file. */
static Result miss_files(const Recover *recover, const uint64_t *numbers, size_t n)
{
    DrumProgress progress = recover->progress;
    const DrumPosition *committed = recover->options->committed;
    if (committed == NULL) {
        return RESULT_OK;
    }
    /* Every generation from the one that is merged to the committed one had elements, so had a
     * file. */
    uint64_t end = committed->generation + (committed->bytes > 0 ? 1 : 0);
    uint64_t missing = end > progress.generation ? end - progress.generation : 0;
    for (size_t i = 0; i < n; i++) {
        missing -= numbers[i] >= progress.generation && numbers[i] < end ? 1 : 0;
    }
    recover->found->damaged_elements += missing;
    recover->found->damaged_bytes += missing * DRUM_FILE_HEADER;
    return missing == 0 || recover->options->skip_damaged ? RESULT_OK : RESULT_DAMAGED;
}

/* Adds what the directory holds to sealed, also before an error, and makes the generation that
 * collects next. */
static Result drum_recover(int directory, const DrumOptions *options, DrumFile **sealed,
                           DrumFile **collecting, DrumRecovery *recovery)
{
    Recover recover = {
        .directory = directory, .options = options, .end = sealed, .found = recovery};
    uint64_t *numbers = NULL;
    size_t n = 0;
    Result rc = options->repository->progress(options->repository, &recover.progress);
    if (rc == RESULT_OK) {
        rc = drum_generations_list_files(directory, &numbers, &n);
    }
    if (rc == RESULT_OK) {
        rc = miss_files(&recover, numbers, n);
    }
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        rc = recover_generation(&recover, numbers[i]);
    }
    /* A half-merged generation whose file is gone must not lend its number to a new one: the
     * repository would take the new one's first buckets for merged. */
    uint64_t next = recover.progress.generation + (recover.progress.bucket > 0 ? 1 : 0);
    const DrumPosition *committed = options->committed;
    uint64_t end = n > 0 ? numbers[n - 1] + 1 : 0;
    if (committed != NULL) {
        end = committed->generation + (committed->bytes > 0);
    }
    next = end > next ? end : next;
    free(numbers);
    if (rc == RESULT_OK) {
        *collecting = drum_file_new(directory, next, options->keys, options->buckets);
        rc = *collecting != NULL ? RESULT_OK : RESULT_MEMORY;
    }
    return rc;
}

/* ---- DRUM, a disk repository with update management ---- */

/* The elements of a bucket until they are written: accept adds, flush_array writes them as one
 * block.
 *
 *    bytes: [ keys and values --> front | free | back <-- auxiliaries ]
 *
 * Growing from both ends, neither section needs a size of its own, and each is one run of bytes
 * when the block is written. The three bucket_ counts go on over a flush; empty_arrays begins them
 * anew with the next generation. */
typedef struct DrumArray {
    uint8_t *bytes; /* array_bytes, a part of Drum.arrays_room */
    uint32_t front;
    uint32_t back;
    uint32_t elements;
    uint64_t first_sequence;
    uint64_t last_sequence;
    uint64_t bucket_elements; /* of the bucket in this generation */
    uint64_t bucket_bytes;    /* of the bucket in this generation, keys and values */
    uint64_t auxiliary_bytes; /* of the bucket in this generation */
} DrumArray;

struct Drum {
    DrumOptions options;
    int directory;         /* open and locked */
    unsigned bucket_shift; /* bucket = key number >> it; 64 means bucket 0 */
    DrumArray *arrays;
    uint8_t *arrays_room;
    DrumFile *collecting;
    uint64_t sequence; /* of the next element in the generation */
    uint64_t collecting_bytes;
    bool is_full;            /* a bucket has reached its size */
    DrumFile *sealed;        /* the oldest; the others behind it */
    bool merging;            /* the oldest of sealed is with drum_merge_begin's caller */
    bool merging_is_durable; /* drum_persist has synced it meanwhile */
    DrumStats stats;
};

/* ---- options ---- */

static void complete_options(DrumOptions *options)
{
    const DrumOptions given = *options;
    options->buckets = given.buckets == 0 ? 16 : given.buckets;
    options->array_bytes = given.array_bytes == 0 ? (size_t)128 << 10 : given.array_bytes;
    options->bucket_bytes = given.bucket_bytes == 0 ? (size_t)8 << 20 : given.bucket_bytes;
    /* A merge reads auxiliaries block by block and never has a whole bucket's in memory, so they
     * may be larger than the keys. */
    options->auxiliary_bytes =
        given.auxiliary_bytes == 0 ? 8 * options->bucket_bytes : given.auxiliary_bytes;
}

const char *drum_problem(const DrumOptions *given)
{
    if (given == NULL) {
        return "options is NULL";
    }
    DrumOptions options = *given;
    complete_options(&options);
    if (options.directory == NULL || options.repository == NULL) {
        return options.directory == NULL ? "options.directory is NULL"
                                         : "options.repository is NULL";
    }
    if (options.keys > DRUM_KEYS_BYTES || options.keys != options.repository->keys) {
        return "options.keys are not the kind of keys that the repository holds";
    }
    if (options.buckets > DRUM_MAX_BUCKETS || (options.buckets & (options.buckets - 1)) != 0) {
        return "options.buckets is not a power of two from 1 to 4096";
    }
    if (options.array_bytes < 64 || options.array_bytes > (size_t)64 << 20) {
        return "options.array_bytes is not between 64 bytes and 64 MiB";
    }
    /* Well below the 1 GiB that DrumPair.where can address (drum_merge.c), since a bucket may
     * exceed it by an array, or by one large element. */
    if (options.bucket_bytes > (size_t)256 << 20) {
        return "options.bucket_bytes is above 256 MiB";
    }
    return options.assign != NULL &&
                   (options.assign_bytes == 0 || options.assign_bytes > DRUM_MAX_ASSIGNED)
               ? "options.assign_bytes is not between 1 and 64"
               : NULL;
}

static void empty_arrays(Drum *drum)
{
    for (unsigned b = 0; b < drum->options.buckets; b++) {
        drum->arrays[b] =
            (DrumArray){.bytes = drum->arrays_room + (size_t)b * drum->options.array_bytes};
    }
    drum->sequence = 0;
    drum->collecting_bytes = 0;
    drum->is_full = false;
}

/* ---- opening ---- */

static void drum_free(Drum *drum)
{
    while (drum->sealed != NULL) {
        DrumFile *next = drum->sealed->next;
        drum_file_delete(drum->sealed);
        drum->sealed = next;
    }
    drum_file_delete(drum->collecting);
    file_close_fd(drum->directory);
    free(drum->arrays);
    free(drum->arrays_room);
    free(drum);
}

Result drum_open(Drum **result, const DrumOptions *options, DrumRecovery *recovery)
{
    DrumRecovery unwanted = {.generations = 0};
    recovery = recovery != NULL ? recovery : &unwanted;
    *recovery = (DrumRecovery){.generations = 0};
    if (result == NULL) {
        return RESULT_INVALID;
    }
    *result = NULL;
    if (drum_problem(options) != NULL) {
        return RESULT_INVALID;
    }
    Drum *drum = calloc(1, sizeof *drum);
    if (drum == NULL) {
        return RESULT_MEMORY;
    }
    drum->directory = -1;
    drum->options = *options;
    complete_options(&drum->options);
    /* With one bucket the shift is 64, which C does not define: accept asks before it shifts. */
    drum->bucket_shift = 64 - (unsigned)__builtin_ctz(drum->options.buckets);
    drum->arrays = calloc(drum->options.buckets, sizeof *drum->arrays);
    drum->arrays_room = malloc(drum->options.buckets * drum->options.array_bytes);
    Result rc = drum->arrays != NULL && drum->arrays_room != NULL ? RESULT_OK : RESULT_MEMORY;
    if (rc == RESULT_OK) {
        empty_arrays(drum);
        rc = drum_directory_open(options->directory, &drum->directory);
        /* Borrowed from the caller only until here; the descriptor stands for it from now on. */
        drum->options.directory = NULL;
    }
    if (rc == RESULT_OK) {
        rc = drum_recover(drum->directory, &drum->options, &drum->sealed, &drum->collecting,
                          recovery);
        drum->options.committed = NULL;
    }
    if (rc != RESULT_OK) {
        drum_free(drum);
        return rc;
    }
    *result = drum;
    return RESULT_OK;
}

/* ---- collecting ---- */

static Result flush_array(Drum *drum, unsigned bucket)
{
    DrumArray *array = &drum->arrays[bucket];
    if (array->elements == 0) {
        return RESULT_OK;
    }
    DrumBlock block = {
        .bucket = bucket, .elements = array->elements, .first_sequence = array->first_sequence};
    uint8_t *back = array->bytes + drum->options.array_bytes - array->back;
    Result rc = drum_file_append(drum->collecting, &block, (DrumBytes){array->bytes, array->front},
                                 (DrumBytes){back, array->back});
    if (rc == RESULT_OK) {
        /* Emptied only behind a whole write: after RESULT_FULL the elements wait for the next try.
         * last_sequence stays, but distances begin at 0 again, as the block names its first. */
        array->front = 0;
        array->back = 0;
        array->elements = 0;
    }
    return rc;
}

/* Writes a whole element; returns the byte behind it. */
static uint8_t *drum_element_put(uint8_t *at, const uint8_t *head, size_t head_bytes,
                                 const DrumElement *element)
{
    at = mempcpy(at, head, head_bytes);
    if (element->key.bytes.length > 0) {
        at = mempcpy(at, element->key.bytes.bytes, element->key.bytes.length);
    }
    return element->value.length > 0 ? mempcpy(at, element->value.bytes, element->value.length)
                                     : at;
}

/* An element larger than an array is a block of its own. */
static Result append_large(Drum *drum, unsigned bucket, const uint8_t *head, size_t head_bytes,
                           const DrumElement *element, DrumBytes auxiliary)
{
    size_t length = head_bytes + element->key.bytes.length + element->value.length;
    uint8_t *keys = malloc(length);
    if (keys == NULL) {
        return RESULT_MEMORY;
    }
    /* accept has flushed the bucket's array before, so this block stands behind all that came
     * earlier. */
    (void)drum_element_put(keys, head, head_bytes, element);
    DrumBlock block = {.bucket = bucket, .elements = 1, .first_sequence = drum->sequence};
    Result rc = drum_file_append(drum->collecting, &block, (DrumBytes){keys, length}, auxiliary);
    free(keys);
    return rc;
}

static void append_small(Drum *drum, DrumArray *array, const uint8_t *head, size_t head_bytes,
                         const DrumElement *element, DrumBytes auxiliary)
{
    const uint8_t *end = drum_element_put(array->bytes + array->front, head, head_bytes, element);
    array->front = (uint32_t)(end - array->bytes);
    if (auxiliary.length > 0) {
        array->back += (uint32_t)auxiliary.length;
        memcpy(array->bytes + drum->options.array_bytes - array->back, auxiliary.bytes,
               auxiliary.length);
    }
    if (array->elements++ == 0) {
        array->first_sequence = drum->sequence;
    }
    array->last_sequence = drum->sequence;
}

static Result check_lengths(const Drum *drum, const DrumKey *key, DrumBytes value,
                            DrumBytes auxiliary)
{
    if (drum->options.keys == DRUM_KEYS_BYTES) {
        if (key->bytes.length == 0) {
            return RESULT_INVALID;
        }
        if (key->bytes.length > drum->options.repository->key_limit ||
            key->bytes.length > DRUM_MAX_KEY) {
            return RESULT_LIMIT;
        }
    } else if (key->bytes.length != 0) {
        return RESULT_INVALID;
    }
    return value.length > DRUM_MAX_VALUE || auxiliary.length > DRUM_MAX_VALUE ? RESULT_LIMIT
                                                                              : RESULT_OK;
}

/* Puts an element into its array or file; auxiliary is NULL when it comes without. */
static Result accept(Drum *drum, DrumElement *element, const DrumBytes *auxiliary)
{
    DrumBytes given = auxiliary != NULL ? *auxiliary : (DrumBytes){NULL, 0};
    Result rc = check_lengths(drum, &element->key, element->value, given);
    if (rc != RESULT_OK) {
        return rc;
    }
    unsigned bucket =
        drum->bucket_shift < 64 ? (unsigned)(element->key.number >> drum->bucket_shift) : 0;
    DrumArray *array = &drum->arrays[bucket];
    element->has_auxiliary = auxiliary != NULL;
    element->auxiliary_length = (uint32_t)given.length;
    element->distance = array->elements > 0 ? drum->sequence - array->last_sequence : 0;
    uint8_t head[DRUM_ELEMENT_HEAD];
    size_t head_bytes = drum_element_encode(head, drum->options.keys, element);
    size_t keys_bytes = head_bytes + element->key.bytes.length + element->value.length;
    size_t needed = keys_bytes + given.length;
    /* Also before a block of its own, so that a bucket keeps the order of arrival. `needed` counts
     * a distance that the flush makes 0, so it is too much rather than too little. */
    if (needed > drum->options.array_bytes - array->front - array->back) {
        rc = flush_array(drum, bucket);
        if (rc != RESULT_OK) {
            return rc;
        }
        element->distance = 0;
        head_bytes = drum_element_encode(head, drum->options.keys, element);
    }
    if (needed > drum->options.array_bytes) {
        rc = append_large(drum, bucket, head, head_bytes, element, given);
        if (rc != RESULT_OK) {
            return rc;
        }
    } else {
        append_small(drum, array, head, head_bytes, element, given);
    }
    /* Nothing below can fail: an element is counted if and only if it is in its array or its
     * file. */
    drum->sequence++;
    drum->stats.accepted++;
    drum->collecting_bytes += needed;
    array->bucket_elements++;
    array->bucket_bytes += keys_bytes;
    array->auxiliary_bytes += given.length;
    drum->is_full = drum->is_full || array->bucket_bytes >= drum->options.bucket_bytes ||
                    array->auxiliary_bytes >= drum->options.auxiliary_bytes;
    return RESULT_OK;
}

static Result drum_add(Drum *drum, DrumOperation operation, DrumKey key, DrumBytes value,
                       const DrumBytes *auxiliary)
{
    DrumElement element = {.key = key, .operation = operation, .value = value};
    Result rc = accept(drum, &element, auxiliary);
    if (rc != RESULT_OK || !drum->is_full) {
        return rc;
    }
    /* A callback may add to its own Drum: then the merge under way is followed by the next. */
    if (drum->options.manual_seal) {
        return RESULT_OK;
    }
    return drum->options.manual_merge || drum->merging ? drum_seal(drum) : drum_synchronize(drum);
}

Result drum_check(Drum *drum, DrumKey key)
{
    return drum_add(drum, DRUM_CHECK, key, (DrumBytes){NULL, 0}, NULL);
}

Result drum_check_with(Drum *drum, DrumKey key, DrumBytes auxiliary)
{
    return drum_add(drum, DRUM_CHECK, key, (DrumBytes){NULL, 0}, &auxiliary);
}

Result drum_update(Drum *drum, DrumKey key, DrumBytes value)
{
    return drum_add(drum, DRUM_UPDATE, key, value, NULL);
}

Result drum_update_with(Drum *drum, DrumKey key, DrumBytes value, DrumBytes auxiliary)
{
    return drum_add(drum, DRUM_UPDATE, key, value, &auxiliary);
}

Result drum_check_update(Drum *drum, DrumKey key, DrumBytes value)
{
    return drum_add(drum, DRUM_CHECK_UPDATE, key, value, NULL);
}

Result drum_check_update_with(Drum *drum, DrumKey key, DrumBytes value, DrumBytes auxiliary)
{
    return drum_add(drum, DRUM_CHECK_UPDATE, key, value, &auxiliary);
}

static Result flush_arrays(Drum *drum)
{
    for (unsigned b = 0; b < drum->options.buckets; b++) {
        Result rc = flush_array(drum, b);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

Result drum_persist(Drum *drum)
{
    Result rc = flush_arrays(drum);
    /* From the oldest to the newest: an error midway leaves a prefix of what was accepted
     * durable. */
    DrumFile *file = drum->sealed;
    if (rc == RESULT_OK && drum->merging) {
        /* Its file belongs to the merging thread, which may be about to sync it, or not yet. */
        if (!drum->merging_is_durable) {
            rc = drum_file_sync_shared(file);
            drum->merging_is_durable = rc == RESULT_OK;
        }
        file = file->next;
    }
    for (; rc == RESULT_OK && file != NULL; file = file->next) {
        rc = drum_file_sync(file);
    }
    return rc == RESULT_OK ? drum_file_sync(drum->collecting) : rc;
}

DrumPosition drum_position(const Drum *drum)
{
    const DrumFile *file = drum->collecting;
    return (DrumPosition){.generation = file->generation, .bytes = file->size};
}

bool drum_is_full(const Drum *drum)
{
    return drum->is_full;
}

uint64_t drum_collected(const Drum *drum)
{
    return drum->sequence;
}

Result drum_seal(Drum *drum)
{
    if (drum->sequence == 0) {
        return RESULT_OK;
    }
    /* No sync: drum_persist, and the first bucket of a merge, sync a sealed file. Everything that
     * may fail comes before the lists change, so a failed call may be repeated. */
    Result rc = flush_arrays(drum);
    if (rc != RESULT_OK) {
        return rc;
    }
    DrumFile *fresh = drum_file_new(drum->directory, drum->collecting->generation + 1,
                                    drum->options.keys, drum->options.buckets);
    if (fresh == NULL) {
        return RESULT_MEMORY;
    }
    /* drum_seal leads from collecting to sealed; drum_merge_begin takes the head of this list. */
    DrumFile **end = &drum->sealed;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = drum->collecting;
    drum->collecting = fresh;
    empty_arrays(drum);
    return RESULT_OK;
}

size_t drum_sealed_count(const Drum *drum)
{
    size_t n = 0;
    for (const DrumFile *file = drum->sealed; file != NULL; file = file->next) {
        n++;
    }
    return n;
}

/* ---- merging ---- */

Result drum_merge_begin(Drum *drum, DrumMerge **merge)
{
    *merge = NULL;
    if (drum->merging || drum->sealed == NULL) {
        return RESULT_NOT_FOUND;
    }
    Result rc = drum_merge_new(merge, &drum->options, drum->sealed);
    drum->merging = rc == RESULT_OK;
    /* The file stays at the head of sealed while it is merged, so that drum_persist can find it. */
    drum->merging_is_durable = false;
    return rc;
}

Result drum_merge_end(Drum *drum, DrumMerge *merge)
{
    Result rc = RESULT_OK;
    drum->merging = false;
    drum->stats.merged += merge->merged;
    drum->stats.new_keys += merge->new_keys;
    drum->stats.damaged_elements += merge->bucket.damaged_elements;
    /* Not merged, after an error: the file stays the oldest sealed one, and next_bucket says where
     * the next merge goes on. */
    DrumFile *file = merge->file;
    if (file->merged) {
        drum->stats.merges++;
        /* In the list's order, and before anything that fails: it must not be merged twice. */
        drum->sealed = file->next;
        /* If it stays, the next drum_open removes it: the repository knows that it is merged. */
        if (!merge->is_uncertain && file->fd >= 0) {
            rc = drum_file_unlink(drum->directory, file->generation);
        }
        drum_file_delete(file);
    }
    drum_merge_delete(merge);
    return rc;
}

Result drum_synchronize(Drum *drum)
{
    if (drum->merging) {
        return RESULT_LOCKED;
    }
    DrumMerge *merge = NULL;
    Result rc = drum_seal(drum);
    while (rc == RESULT_OK && drum->sealed != NULL) {
        rc = drum_merge_begin(drum, &merge);
        if (rc != RESULT_OK) {
            return rc;
        }
        rc = drum_merge_run(merge);
        rc = result_first(rc, drum_merge_end(drum, merge));
        if (rc == RESULT_OK) {
            rc = drum_seal(drum);
        }
    }
    return rc;
}

void drum_stats(const Drum *drum, DrumStats *stats)
{
    *stats = drum->stats;
    stats->collecting_bytes = drum->collecting_bytes;
    stats->collecting_elements = drum->sequence;
    /* The fullest bucket bounds the memory of the coming merge, and says whether keys are spread
     * evenly. */
    stats->largest_bucket = 0;
    for (unsigned b = 0; b < drum->options.buckets; b++) {
        uint64_t elements = drum->arrays[b].bucket_elements;
        stats->largest_bucket = elements > stats->largest_bucket ? elements : stats->largest_bucket;
    }
    stats->sealed_generations = drum_sealed_count(drum);
}

Result drum_dispose(Drum *drum)
{
    if (drum == NULL) {
        return RESULT_OK;
    }
    Result rc = drum_persist(drum);
    drum_free(drum);
    return rc;
}

/* Reading the bucket files of a directory that no process has open: drum_verify, drum_walk. */

Result drum_verify(const char *directory, DrumRecovery *recovery)
{
    uint64_t *numbers = NULL;
    size_t n = 0;
    *recovery = (DrumRecovery){.generations = 0};
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = drum_generations_list_files(fd, &numbers, &n);
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        /* What a header says replaces the kind of keys and the one bucket given here. */
        DrumFile *file = drum_file_new(fd, numbers[i], DRUM_KEYS_NUMBERS, 1);
        rc = file == NULL ? RESULT_MEMORY : drum_file_recover(file, false, true, recovery);
        if (rc == RESULT_OK) {
            recovery->generations++;
            recovery->elements += file->elements;
        } else if (rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND) {
            rc = RESULT_OK; /* counted in recovery */
        }
        drum_file_delete(file);
    }
    free(numbers);
    (void)close(fd);
    /* A torn tail is no fault of the disk, but drum_open would change the file: told as well. */
    bool clean = recovery->torn_bytes == 0 && recovery->damaged_bytes == 0;
    return rc == RESULT_OK && !clean ? RESULT_DAMAGED : rc;
}

typedef struct Walk {
    DrumVisit visit;
    void *context;
    DrumRecovery *recovery;
    uint8_t *keys; /* of one block */
    uint8_t *auxiliaries;
} Walk;

static Result walk_elements(const Walk *walk, const DrumFile *file, const DrumBlock *block)
{
    const uint8_t *at = walk->keys;
    const uint8_t *end = at + block->keys_bytes;
    /* Auxiliaries lie from the section's end to its start (drum_file.h), one step back for each
     * element. */
    size_t left = block->auxiliary_bytes;
    for (uint32_t i = 0; i < block->elements; i++) {
        DrumElement element;
        at = drum_element_decode(at, end, file->keys, &element);
        if (at == NULL || element.auxiliary_length > left) {
            return RESULT_DAMAGED;
        }
        left -= element.auxiliary_length;
        DrumBytes auxiliary = {element.has_auxiliary ? walk->auxiliaries + left : NULL,
                               element.auxiliary_length};
        Result rc = walk->visit(walk->context, file->generation, &element.key, auxiliary);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static Result walk_block(Walk *walk, const DrumFile *file, const DrumBlock *block)
{
    free(walk->keys);
    free(walk->auxiliaries);
    walk->keys = malloc((size_t)block->keys_bytes + 1);
    walk->auxiliaries = malloc((size_t)block->auxiliary_bytes + 1);
    if (walk->keys == NULL || walk->auxiliaries == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = drum_file_read_keys(file, block, walk->keys);
    if (rc == RESULT_OK) {
        rc = drum_file_read_auxiliaries(file, block, walk->auxiliaries);
    }
    /* One bad block costs its elements, not the walk: its neighbours have checksums of their
     * own. */
    if (rc == RESULT_DAMAGED) {
        walk->recovery->damaged_bytes += block->keys_bytes + block->auxiliary_bytes;
        walk->recovery->damaged_elements += block->elements;
        return RESULT_OK;
    }
    return rc == RESULT_OK ? walk_elements(walk, file, block) : rc;
}

/* One file, up to bytes. */
static Result drum_walk_file(Walk *walk, int directory, uint64_t number, uint64_t bytes)
{
    DrumRecovery found = {.generations = 0};
    DrumFile *file = drum_file_new(directory, number, DRUM_KEYS_NUMBERS, 1);
    if (file == NULL) {
        return RESULT_MEMORY;
    }
    /* Told as durable, so that whatever cannot be read before it is damage, never a torn tail. */
    file->durable = bytes;
    Result rc = drum_file_recover(file, false, false, &found);
    if (bytes != UINT64_MAX &&
        (rc == RESULT_NOT_FOUND || (rc == RESULT_OK && file->size < bytes))) {
        found.damaged_bytes += bytes - file->size;
    }
    if (rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND) {
        found.damaged_elements += rc == RESULT_NOT_FOUND;
        rc = RESULT_OK;
    } else if (rc == RESULT_OK) {
        walk->recovery->generations++;
        for (size_t i = 0; rc == RESULT_OK && i < file->n_blocks; i++) {
            if (file->blocks[i].offset < bytes) {
                walk->recovery->elements += file->blocks[i].elements;
                rc = walk_block(walk, file, &file->blocks[i]);
            }
        }
    }
    walk->recovery->damaged_bytes += found.damaged_bytes;
    walk->recovery->damaged_elements += found.damaged_elements;
    drum_file_delete(file);
    return rc;
}

Result drum_walk(const char *path, DrumProgress from, DrumPosition committed, DrumVisit visit,
                 void *context, DrumRecovery *recovery)
{
    Walk walk = {.visit = visit, .context = context, .recovery = recovery};
    *recovery = (DrumRecovery){.generations = 0};
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t end = committed.generation + (committed.bytes > 0 ? 1 : 0);
    /* Without a directory, but with nothing committed, there is nothing to miss. */
    Result rc = directory >= 0 || end <= from.generation ? RESULT_OK : result_of_errno(errno);
    for (uint64_t n = from.generation; rc == RESULT_OK && n < end; n++) {
        rc = drum_walk_file(&walk, directory, n,
                            n == committed.generation ? committed.bytes : UINT64_MAX);
    }
    file_close_fd(directory);
    free(walk.keys);
    free(walk.auxiliaries);
    return rc;
}
