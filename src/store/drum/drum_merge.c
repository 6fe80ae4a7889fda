#include "store/drum/drum_merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/drum/drum_bucket.h"

/* Telling the dispatcher what became of the elements of a merge.
 *
 * What: drum.h tells the five outcomes. An event is made of an element, its outcome and its
 * auxiliary, and goes to the callback that belongs to it.
 * Owns: nothing.
 * Threads: the merging one.
 * Errors: those of the callbacks; RESULT_DAMAGED, RESULT_IO. */

/* Whether any callback is set. */
static bool drum_dispatch_is_wanted(const DrumOptions *options)
{
    const DrumDispatcher *d = &options->dispatcher;
    return d->unique_key_check != NULL || d->duplicate_key_check != NULL ||
           d->unique_key_update != NULL || d->duplicate_key_update != NULL || d->update != NULL;
}

/* Calls the callback that belongs to one element. */
static Result drum_dispatch_element(const DrumOptions *options, const DrumElement *element,
                                    const DrumOutcome *outcome, DrumBytes auxiliary)
{
    const DrumDispatcher *dispatcher = &options->dispatcher;
    DrumEvent event = {.key = element->key,
                       .value = element->value,
                       .previous = outcome->previous,
                       .auxiliary = auxiliary,
                       .existed = outcome->existed};
    DrumCallback callback = dispatcher->update;
    switch (element->operation) {
    case DRUM_CHECK:
        event.value = outcome->previous;
        callback =
            outcome->existed ? dispatcher->duplicate_key_check : dispatcher->unique_key_check;
        break;
    case DRUM_UPDATE:
        break;
    case DRUM_CHECK_UPDATE:
        if (outcome->was_assigned) {
            event.value = outcome->assigned;
        } else if (outcome->existed && options->keep_existing) {
            event.value = outcome->previous;
        }
        callback =
            outcome->existed ? dispatcher->duplicate_key_update : dispatcher->unique_key_update;
        break;
    }
    return callback != NULL ? callback(dispatcher->context, &event) : RESULT_OK;
}

/* Dispatches the bucket in memory, which is bucket `number`, in its original order. */
static Result drum_dispatch_bucket(DrumBucket *bucket, uint32_t number)
{
    const DrumFile *file = bucket->file;
    const uint8_t *at = bucket->raw;
    const uint8_t *end = at + bucket->raw_bytes;
    size_t element_number = 0;
    for (uint32_t i = bucket->starts[number]; i < bucket->starts[number + 1]; i++) {
        if (bucket->order[i] == DRUM_BLOCK_SKIPPED) {
            continue;
        }
        const DrumBlock *block = &file->blocks[bucket->order[i]];
        Result rc = drum_file_read_auxiliaries(file, block, bucket->auxiliaries);
        if (rc == RESULT_DAMAGED && bucket->options->skip_damaged) {
            /* The keys are good and counted already: their auxiliaries are given as missing. */
            bucket->damaged_elements += block->elements;
        } else if (rc != RESULT_OK) {
            return rc;
        }
        const uint8_t *auxiliary = bucket->auxiliaries + block->auxiliary_bytes;
        for (uint32_t k = 0; k < block->elements; k++) {
            DrumElement element;
            DrumOutcome outcome;
            at = drum_element_decode(at, end, file->keys, &element);
            assert(at != NULL);
            auxiliary -= element.auxiliary_length;
            drum_bucket_outcome(bucket, element_number++, &outcome);
            DrumBytes given = {element.has_auxiliary && rc == RESULT_OK ? auxiliary : NULL,
                               rc == RESULT_OK ? element.auxiliary_length : 0};
            Result called = drum_dispatch_element(bucket->options, &element, &outcome, given);
            if (called != RESULT_OK) {
                return called;
            }
        }
    }
    return RESULT_OK;
}

/* ---- One merge ---- */

#define PREFETCH_DISTANCE 16u

/* ---- one bucket ---- */

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
            rc = drum_dispatch_bucket(&merge->bucket, number);
        }
    }
    return rc;
}

/* ---- all buckets ---- */

/* Ends the sweep. */
static Result drum_merge_commit(DrumMerge *merge, uint64_t elements)
{
    DrumGeneration *generation = merge->generation;
    DrumRepository *repository = merge->options->repository;
    DrumProgress progress = {.generation = generation->file.generation + 1};
    Result rc = repository->commit(repository, progress);
    if (rc != RESULT_OK) {
        /* The commit may have reached the disk all the same, when only its sync failed. */
        DrumProgress reached = {0, 0};
        merge->is_uncertain = repository->progress(repository, &reached) == RESULT_OK &&
                              reached.generation >= progress.generation;
        if (!merge->is_uncertain) {
            return rc;
        }
    }
    merge->merged += elements;
    generation->next_bucket = generation->file.buckets;
    generation->merged = true;
    return rc;
}

Result drum_merge_run(DrumMerge *merge)
{
    DrumGeneration *generation = merge->generation;
    DrumRepository *repository = merge->options->repository;
    uint64_t elements = 0;
    /* A commit must not promise more than the bucket file still holds after a power cut. */
    Result rc = drum_file_sync(&generation->file);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = repository->begin(repository);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (uint32_t b = generation->next_bucket; b < generation->file.buckets; b++) {
        rc = merge_bucket(merge, b);
        if (rc != RESULT_OK) {
            repository->abort(repository);
            return rc;
        }
        elements += merge->bucket.n;
    }
    return drum_merge_commit(merge, elements);
}

/* ---- in pieces ---- */

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

/* ---- birth and death ---- */

Result drum_merge_new(DrumMerge **result, const DrumOptions *options, DrumGeneration *generation)
{
    DrumMerge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) {
        return RESULT_MEMORY;
    }
    merge->options = options;
    merge->generation = generation;
    merge->wants_events = drum_dispatch_is_wanted(options);
    Result rc = drum_bucket_init(&merge->bucket, options, &generation->file);
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
        drum_bucket_destroy(&merge->bucket);
        free(merge);
    }
}
