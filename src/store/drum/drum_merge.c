#include "store/drum/drum_merge.h"

#include <assert.h>
#include <stdlib.h>

#include "store/drum/drum_dispatch.h"

#define PREFETCH_DISTANCE 16u

/* --- one bucket ------------------------------------------------------------------------------ */

static Result keep_stored(DrumMerge *merge, DrumBytes value, DrumReference *state)
{
    Buffer *stored = &merge->bucket.stored;
    *state = drum_reference(stored->length, DRUM_TAG_STORED);
    if (!merge->wants_events && stored->length > 0) {
        *state = drum_reference(0, DRUM_TAG_STORED);
        return RESULT_OK;
    }
    uint32_t length = merge->wants_events ? (uint32_t)value.length : 0;
    Result rc = buffer_append(stored, &length, sizeof length);
    return rc == RESULT_OK ? buffer_append(stored, value.bytes, length) : rc;
}

/* Replays the operations on one key in their order, from state on; returns the last state. */
static DrumReference replay(DrumMerge *merge, const DrumPair *pairs, size_t n, DrumReference state)
{
    DrumBucket *bucket = &merge->bucket;
    const DrumOptions *options = merge->options;
    for (size_t i = 0; i < n; i++) {
        DrumReference given = drum_reference(pairs[i].where >> 2, DRUM_TAG_GIVEN);
        DrumReference *before = &bucket->before[pairs[i].index];
        *before = state;
        switch (merge->replaying ? DRUM_CHECK : (DrumOperation)(pairs[i].where & 3)) {
        case DRUM_CHECK:
            break;
        case DRUM_UPDATE:
            state = given;
            break;
        case DRUM_CHECK_UPDATE:
            if (state == DRUM_TAG_NONE && options->assign != NULL) {
                *before = drum_reference(bucket->n_assigned, DRUM_TAG_OWN);
                state = drum_reference(bucket->n_assigned++, DRUM_TAG_ASSIGNED);
            } else if (state == DRUM_TAG_NONE || !options->keep_existing) {
                state = given;
            }
            break;
        }
    }
    return state;
}

/* Looks every key up, in key order, and decides what becomes of each element. */
static Result drum_merge_classify(DrumMerge *merge)
{
    DrumBucket *bucket = &merge->bucket;
    DrumRepository *repository = merge->options->repository;
    for (size_t i = 0, next; i < bucket->n; i = next) {
        for (next = i + 1; next < bucket->n; next++) {
            if (!drum_bucket_same_key(bucket, &bucket->pairs[i], &bucket->pairs[next])) {
                break;
            }
        }
        DrumKey key = drum_bucket_key(bucket, &bucket->pairs[i]);
        DrumBytes value = {NULL, 0};
        DrumReference found = DRUM_TAG_NONE;
        Result rc = repository->find(repository, &key, &value);
        if (rc == RESULT_OK) {
            rc = keep_stored(merge, value, &found);
        } else if (rc == RESULT_NOT_FOUND) {
            rc = RESULT_OK;
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        DrumReference state = replay(merge, &bucket->pairs[i], next - i, found);
        if (state != found) {
            bucket->puts[bucket->n_puts] = state | (found == DRUM_TAG_NONE ? DRUM_FLAG_NEW : 0);
            bucket->pairs[bucket->n_puts++] = bucket->pairs[i];
        }
    }
    return RESULT_OK;
}

static Result assign_values(DrumMerge *merge)
{
    DrumBucket *bucket = &merge->bucket;
    const DrumOptions *options = merge->options;
    size_t width = options->assign_bytes;
    if (bucket->n_assigned == 0) {
        return RESULT_OK;
    }
    if (bucket->n_assigned > bucket->assigned_capacity) {
        free(bucket->assigned);
        bucket->assigned = calloc(bucket->n_assigned, width);
        bucket->assigned_capacity = bucket->assigned != NULL ? bucket->n_assigned : 0;
        if (bucket->assigned == NULL) {
            return RESULT_MEMORY;
        }
    }
    const uint8_t *at = bucket->raw;
    const uint8_t *end = at + bucket->raw_bytes;
    for (size_t i = 0; i < bucket->n; i++) {
        DrumElement element;
        at = drum_element_decode(at, end, options->keys, &element);
        assert(at != NULL);
        if (drum_reference_tag(bucket->before[i]) != DRUM_TAG_OWN) {
            continue;
        }
        size_t slot = (size_t)(bucket->before[i] >> DRUM_TAG_BITS);
        Result rc = options->assign(options->assign_context, &element.key, element.value,
                                    bucket->assigned + slot * width);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static Result put_all(DrumMerge *merge)
{
    DrumBucket *bucket = &merge->bucket;
    DrumRepository *repository = merge->options->repository;
    for (size_t i = 0; i < bucket->n_puts; i++) {
        if (i + PREFETCH_DISTANCE < bucket->n_puts) {
            __builtin_prefetch(bucket->raw + (bucket->pairs[i + PREFETCH_DISTANCE].where >> 2));
        }
        DrumKey key = drum_bucket_key(bucket, &bucket->pairs[i]);
        bool is_new = (bucket->puts[i] & DRUM_FLAG_NEW) != 0;
        Result rc =
            repository->put(repository, &key, drum_bucket_value(bucket, bucket->puts[i]), is_new);
        if (rc != RESULT_OK) {
            return rc;
        }
        merge->new_keys += is_new;
    }
    return RESULT_OK;
}

static Result merge_bucket(DrumMerge *merge, uint32_t number)
{
    Result rc = drum_bucket_load(&merge->bucket, number);
    if (rc == RESULT_OK && merge->bucket.n > 0) {
        rc = drum_merge_classify(merge);
        if (rc == RESULT_OK) {
            rc = assign_values(merge);
        }
        if (rc == RESULT_OK) {
            rc = put_all(merge);
        }
        if (rc == RESULT_OK && merge->wants_events) {
            rc = merge->options->global_order
                     ? drum_order_save(&merge->outcomes, &merge->bucket, number, merge->directory)
                     : drum_dispatch_bucket(&merge->bucket, number);
        }
    }
    return rc;
}

/* --- all buckets ----------------------------------------------------------------------------- */

/* Ends the repository's transaction behind a bucket, if it is due. */
static Result commit_bucket(DrumMerge *merge, uint32_t number, uint64_t *uncommitted)
{
    DrumGeneration *generation = merge->generation;
    DrumRepository *repository = merge->options->repository;
    bool last = number + 1 == generation->file.buckets;
    if (!last && merge->options->global_order) {
        return RESULT_OK;
    }
    DrumProgress progress = {.generation = generation->file.generation + (last ? 1 : 0),
                             .bucket = last ? 0 : number + 1};
    bool ended = false;
    Result rc = repository->commit(repository, progress, last, &ended);
    if (rc != RESULT_OK) {
        /* The commit may have reached the disk all the same, when only its sync failed. */
        DrumProgress reached = {0, 0};
        merge->in_sweep = false;
        ended = repository->progress(repository, &reached) == RESULT_OK &&
                (reached.generation > progress.generation ||
                 (reached.generation == progress.generation && reached.bucket >= progress.bucket));
        merge->is_uncertain = ended;
    }
    if (ended) {
        merge->in_sweep = false;
        merge->merged += *uncommitted;
        *uncommitted = 0;
        generation->next_bucket = number + 1;
        generation->merged = last;
    }
    if (rc == RESULT_OK && last && !ended) {
        return RESULT_INTERNAL;
    }
    return rc;
}

Result drum_merge_run(DrumMerge *merge)
{
    DrumGeneration *generation = merge->generation;
    DrumRepository *repository = merge->options->repository;
    uint64_t uncommitted = 0;
    /* A commit must not promise more than the bucket file still holds after a power cut. */
    Result rc = drum_file_sync(&generation->file);
    for (uint32_t b = generation->next_bucket; rc == RESULT_OK && b < generation->file.buckets;
         b++) {
        if (!merge->in_sweep) {
            rc = repository->begin(repository);
            merge->in_sweep = rc == RESULT_OK;
        }
        if (rc == RESULT_OK) {
            rc = merge_bucket(merge, b);
        }
        uncommitted += merge->bucket.n;
        if (rc == RESULT_OK && b + 1 == generation->file.buckets && merge->options->global_order &&
            merge->wants_events) {
            rc = drum_order_dispatch(&merge->outcomes, &merge->bucket, generation->next_bucket);
        }
        if (rc == RESULT_OK) {
            rc = commit_bucket(merge, b, &uncommitted);
        }
    }
    if (rc != RESULT_OK && merge->in_sweep) {
        repository->abort(repository);
        merge->in_sweep = false;
    }
    return rc;
}

/* --- in pieces ------------------------------------------------------------------------------- */

Result drum_merge_step(DrumMerge *merge)
{
    uint32_t bucket = merge->generation->next_bucket + merge->unsettled;
    if (bucket >= merge->generation->file.buckets) {
        return RESULT_NOT_FOUND;
    }
    /* A commit must not promise more than the bucket file still holds after a power cut. */
    Result rc = bucket == 0 ? drum_file_sync(&merge->generation->file) : RESULT_OK;
    uint64_t new_before = merge->new_keys;
    if (rc == RESULT_OK) {
        rc = merge_bucket(merge, bucket);
    }
    if (rc == RESULT_OK) {
        merge->unsettled++;
        merge->unsettled_elements += merge->bucket.n;
        merge->unsettled_new += merge->new_keys - new_before;
    }
    merge->new_keys = new_before;
    return rc;
}

DrumProgress drum_merge_progress(const DrumMerge *merge)
{
    return (DrumProgress){.generation = merge->generation->file.generation,
                          .bucket = merge->generation->next_bucket + merge->unsettled};
}

void drum_merge_settle(DrumMerge *merge, bool committed)
{
    if (committed) {
        merge->generation->next_bucket += merge->unsettled;
        merge->merged += merge->unsettled_elements;
        merge->new_keys += merge->unsettled_new;
    }
    merge->unsettled = 0;
    merge->unsettled_elements = 0;
    merge->unsettled_new = 0;
}

void drum_merge_finish(DrumMerge *merge)
{
    merge->generation->merged = true;
}

Result drum_merge_replay(DrumMerge *merge, uint32_t bucket)
{
    if (bucket >= merge->generation->next_bucket) {
        return RESULT_NOT_FOUND;
    }
    merge->replaying = true;
    Result rc = drum_bucket_load(&merge->bucket, bucket);
    if (rc == RESULT_OK && merge->bucket.n > 0) {
        rc = drum_merge_classify(merge);
    }
    if (rc == RESULT_OK && merge->bucket.n > 0 && merge->wants_events) {
        rc = drum_dispatch_bucket(&merge->bucket, bucket);
    }
    merge->replaying = false;
    return rc;
}

/* --- birth and death ------------------------------------------------------------------------- */

Result drum_merge_new(DrumMerge **result, const DrumOptions *options, int directory,
                      DrumGeneration *generation)
{
    DrumMerge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) {
        return RESULT_MEMORY;
    }
    merge->options = options;
    merge->directory = directory;
    merge->generation = generation;
    merge->wants_events = drum_dispatch_is_wanted(options);
    Result rc = drum_order_init(&merge->outcomes, &generation->file);
    Result made = drum_bucket_init(&merge->bucket, options, &generation->file);
    rc = rc != RESULT_OK ? rc : made;
    if (rc != RESULT_OK) {
        drum_merge_delete(merge);
        return rc;
    }
    *result = merge;
    return RESULT_OK;
}

void drum_merge_delete(DrumMerge *merge)
{
    if (merge != NULL) {
        drum_order_destroy(&merge->outcomes);
        drum_bucket_destroy(&merge->bucket);
        free(merge);
    }
}
