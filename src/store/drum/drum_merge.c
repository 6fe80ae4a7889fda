#include "store/drum/drum_merge.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tags of a DrumReference. */
enum {
    TAG_NONE = 0,     /* the key does not exist */
    TAG_STORED = 1,   /* offset in stored */
    TAG_GIVEN = 2,    /* the value that came with the element at this offset of raw */
    TAG_ASSIGNED = 3, /* slot of assigned */
    TAG_OWN = 4,      /* the key does not exist, this element's value is in this slot */
    TAG_MASK = 7,
    FLAG_NEW = 8, /* in puts: the repository does not have the key */
    TAG_BITS = 4
};

#define PREFETCH_DISTANCE 16u
#define MAX_RAW_BYTES     ((size_t)1 << 30) /* DrumPair.where keeps two bits for the operation */

static DrumReference reference(uint64_t number, unsigned tag)
{
    return number << TAG_BITS | tag;
}

static unsigned tag_of(DrumReference ref)
{
    return (unsigned)(ref & TAG_MASK);
}

/* --- one bucket: load, sort ------------------------------------------------------------------ */

static int compare_rest(const void *context, const DrumPair *a, const DrumPair *b)
{
    const DrumBucket *bucket = context;
    const uint8_t *end = bucket->raw + bucket->raw_bytes;
    DrumElement x, y;
    (void)drum_element_decode(bucket->raw + (a->where >> 2), end, DRUM_KEYS_BYTES, &x);
    (void)drum_element_decode(bucket->raw + (b->where >> 2), end, DRUM_KEYS_BYTES, &y);
    size_t least =
        x.key.bytes.length < y.key.bytes.length ? x.key.bytes.length : y.key.bytes.length;
    int order = memcmp(x.key.bytes.bytes, y.key.bytes.bytes, least);
    if (order != 0) {
        return order;
    }
    return (x.key.bytes.length > y.key.bytes.length) - (x.key.bytes.length < y.key.bytes.length);
}

/* Appends one block to the bucket in memory; the bucket is unchanged when it is damaged. */
static Result load_block(DrumMerge *merge, const DrumBlock *block)
{
    DrumBucket *bucket = &merge->bucket;
    const DrumFile *file = &merge->generation->file;
    uint8_t *start = bucket->raw + bucket->raw_bytes;
    Result rc = drum_file_read_keys(file, block, start);
    if (rc == RESULT_OK && merge->options->whole_blocks) {
        rc = drum_file_read_auxiliaries(file, block, merge->auxiliaries);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    const uint8_t *at = start;
    const uint8_t *end = start + block->keys_bytes;
    uint64_t auxiliary_bytes = 0;
    for (uint32_t i = 0; i < block->elements; i++) {
        DrumElement element;
        size_t where = (size_t)(at - bucket->raw);
        at = drum_element_decode(at, end, file->keys, &element);
        if (at == NULL) {
            return RESULT_DAMAGED;
        }
        auxiliary_bytes += element.auxiliary_length;
        size_t index = bucket->n + i;
        bucket->pairs[index] = (DrumPair){.key = element.key.number,
                                          .index = (uint32_t)index,
                                          .where = (uint32_t)(where << 2 | element.operation)};
    }
    if (at != end || auxiliary_bytes != block->auxiliary_bytes) {
        return RESULT_DAMAGED;
    }
    bucket->n += block->elements;
    bucket->raw_bytes += block->keys_bytes;
    return RESULT_OK;
}

static Result load_bucket(DrumMerge *merge, uint32_t number)
{
    DrumBucket *bucket = &merge->bucket;
    bucket->raw_bytes = 0;
    bucket->n = 0;
    bucket->n_puts = 0;
    bucket->n_assigned = 0;
    buffer_reset(&bucket->stored);
    for (uint32_t i = merge->starts[number]; i < merge->starts[number + 1]; i++) {
        if (merge->order[i] == DRUM_SKIPPED) {
            continue;
        }
        const DrumBlock *block = &merge->generation->file.blocks[merge->order[i]];
        Result rc = load_block(merge, block);
        if (rc == RESULT_DAMAGED && merge->options->skip_damaged) {
            merge->damaged_elements += block->elements;
            merge->order[i] = DRUM_SKIPPED;
        } else if (rc != RESULT_OK) {
            return rc;
        }
    }
    drum_sort(bucket->pairs, bucket->scratch, bucket->n,
              merge->options->keys == DRUM_KEYS_BYTES ? compare_rest : NULL, bucket);
    bucket->before = (DrumReference *)(void *)bucket->scratch;
    bucket->puts = bucket->before + bucket->n;
    return RESULT_OK;
}

static DrumKey key_of(const DrumMerge *merge, const DrumPair *pair)
{
    const DrumBucket *bucket = &merge->bucket;
    DrumElement element;
    if (merge->options->keys == DRUM_KEYS_NUMBERS) {
        return drum_key_number(pair->key);
    }
    (void)drum_element_decode(bucket->raw + (pair->where >> 2), bucket->raw + bucket->raw_bytes,
                              DRUM_KEYS_BYTES, &element);
    return element.key;
}

/* --- one bucket: the sweep ------------------------------------------------------------------- */

static Result keep_stored(DrumMerge *merge, DrumBytes value, DrumReference *state)
{
    Buffer *stored = &merge->bucket.stored;
    *state = reference(stored->length, TAG_STORED);
    if (!merge->wants_events && stored->length > 0) {
        *state = reference(0, TAG_STORED);
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
        DrumReference given = reference(pairs[i].where >> 2, TAG_GIVEN);
        DrumReference *before = &bucket->before[pairs[i].index];
        *before = state;
        switch (merge->replaying ? DRUM_CHECK : (DrumOperation)(pairs[i].where & 3)) {
        case DRUM_CHECK:
            break;
        case DRUM_UPDATE:
            state = given;
            break;
        case DRUM_CHECK_UPDATE:
            if (state == TAG_NONE && options->assign != NULL) {
                *before = reference(bucket->n_assigned, TAG_OWN);
                state = reference(bucket->n_assigned++, TAG_ASSIGNED);
            } else if (state == TAG_NONE || !options->keep_existing) {
                state = given;
            }
            break;
        }
    }
    return state;
}

static bool same_key(const DrumMerge *merge, const DrumPair *a, const DrumPair *b)
{
    return a->key == b->key &&
           (merge->options->keys == DRUM_KEYS_NUMBERS || compare_rest(&merge->bucket, a, b) == 0);
}

/* Looks every key up, in key order, and decides what becomes of each element. */
static Result classify(DrumMerge *merge)
{
    DrumBucket *bucket = &merge->bucket;
    DrumRepository *repository = merge->options->repository;
    for (size_t i = 0, next; i < bucket->n; i = next) {
        for (next = i + 1; next < bucket->n; next++) {
            if (!same_key(merge, &bucket->pairs[i], &bucket->pairs[next])) {
                break;
            }
        }
        DrumKey key = key_of(merge, &bucket->pairs[i]);
        DrumBytes value = {NULL, 0};
        DrumReference found = TAG_NONE;
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
            bucket->puts[bucket->n_puts] = state | (found == TAG_NONE ? FLAG_NEW : 0);
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
        if (tag_of(bucket->before[i]) != TAG_OWN) {
            continue;
        }
        size_t slot = (size_t)(bucket->before[i] >> TAG_BITS);
        Result rc = options->assign(options->assign_context, &element.key, element.value,
                                    bucket->assigned + slot * width);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static DrumBytes resolve(const DrumMerge *merge, DrumReference ref)
{
    const DrumBucket *bucket = &merge->bucket;
    size_t number = (size_t)(ref >> TAG_BITS);
    DrumElement element;
    uint32_t length;
    switch (tag_of(ref)) {
    case TAG_STORED:
        memcpy(&length, bucket->stored.data + number, sizeof length);
        return (DrumBytes){bucket->stored.data + number + sizeof length, length};
    case TAG_GIVEN:
        (void)drum_element_decode(bucket->raw + number, bucket->raw + bucket->raw_bytes,
                                  merge->options->keys, &element);
        return element.value;
    case TAG_ASSIGNED:
    case TAG_OWN: {
        size_t width = merge->options->assign_bytes;
        return (DrumBytes){bucket->assigned + number * width, width};
    }
    default:
        return (DrumBytes){NULL, 0};
    }
}

static Result put_all(DrumMerge *merge)
{
    DrumBucket *bucket = &merge->bucket;
    DrumRepository *repository = merge->options->repository;
    for (size_t i = 0; i < bucket->n_puts; i++) {
        if (i + PREFETCH_DISTANCE < bucket->n_puts) {
            __builtin_prefetch(bucket->raw + (bucket->pairs[i + PREFETCH_DISTANCE].where >> 2));
        }
        DrumKey key = key_of(merge, &bucket->pairs[i]);
        bool is_new = (bucket->puts[i] & FLAG_NEW) != 0;
        Result rc = repository->put(repository, &key, resolve(merge, bucket->puts[i]), is_new);
        if (rc != RESULT_OK) {
            return rc;
        }
        merge->new_keys += is_new;
    }
    return RESULT_OK;
}

/* --- dispatch -------------------------------------------------------------------------------- */

void drum_merge_outcome(const DrumMerge *merge, size_t i, DrumOutcome *outcome)
{
    DrumReference before = merge->bucket.before[i];
    *outcome = (DrumOutcome){.existed = false};
    if (tag_of(before) == TAG_OWN) {
        outcome->was_assigned = true;
        outcome->assigned = resolve(merge, before);
    } else if (before != TAG_NONE) {
        outcome->existed = true;
        outcome->previous = resolve(merge, before);
    }
}

Result drum_merge_notify(const DrumMerge *merge, const DrumElement *element,
                         const DrumOutcome *outcome, DrumBytes auxiliary)
{
    const DrumDispatcher *dispatcher = &merge->options->dispatcher;
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
        } else if (outcome->existed && merge->options->keep_existing) {
            event.value = outcome->previous;
        }
        callback =
            outcome->existed ? dispatcher->duplicate_key_update : dispatcher->unique_key_update;
        break;
    }
    return callback != NULL ? callback(dispatcher->context, &event) : RESULT_OK;
}

/* Dispatches the bucket in memory in its original order. */
static Result dispatch_bucket(DrumMerge *merge, uint32_t number)
{
    const DrumBucket *bucket = &merge->bucket;
    const DrumFile *file = &merge->generation->file;
    const uint8_t *at = bucket->raw;
    const uint8_t *end = at + bucket->raw_bytes;
    size_t element_number = 0;
    for (uint32_t i = merge->starts[number]; i < merge->starts[number + 1]; i++) {
        if (merge->order[i] == DRUM_SKIPPED) {
            continue;
        }
        const DrumBlock *block = &file->blocks[merge->order[i]];
        Result rc = drum_file_read_auxiliaries(file, block, merge->auxiliaries);
        if (rc == RESULT_DAMAGED && merge->options->skip_damaged) {
            /* The keys are good and counted already: their auxiliaries are given as missing. */
            merge->damaged_elements += block->elements;
        } else if (rc != RESULT_OK) {
            return rc;
        }
        const uint8_t *auxiliary = merge->auxiliaries + block->auxiliary_bytes;
        for (uint32_t k = 0; k < block->elements; k++) {
            DrumElement element;
            DrumOutcome outcome;
            at = drum_element_decode(at, end, file->keys, &element);
            assert(at != NULL);
            auxiliary -= element.auxiliary_length;
            drum_merge_outcome(merge, element_number++, &outcome);
            DrumBytes given = {element.has_auxiliary && rc == RESULT_OK ? auxiliary : NULL,
                               rc == RESULT_OK ? element.auxiliary_length : 0};
            Result called = drum_merge_notify(merge, &element, &outcome, given);
            if (called != RESULT_OK) {
                return called;
            }
        }
    }
    return RESULT_OK;
}

/* --- the whole merge ------------------------------------------------------------------------- */

static Result merge_bucket(DrumMerge *merge, uint32_t number)
{
    Result rc = load_bucket(merge, number);
    if (rc == RESULT_OK && merge->bucket.n > 0) {
        rc = classify(merge);
        if (rc == RESULT_OK) {
            rc = assign_values(merge);
        }
        if (rc == RESULT_OK) {
            rc = put_all(merge);
        }
        if (rc == RESULT_OK && merge->wants_events) {
            rc = merge->options->global_order ? drum_order_save(merge, number)
                                              : dispatch_bucket(merge, number);
        }
    }
    return rc;
}

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
            rc = drum_order_dispatch(merge);
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

/* --- in pieces ---------------------------------------------------------------------------------
 */

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
    Result rc = load_bucket(merge, bucket);
    if (rc == RESULT_OK && merge->bucket.n > 0) {
        rc = classify(merge);
    }
    if (rc == RESULT_OK && merge->bucket.n > 0 && merge->wants_events) {
        rc = dispatch_bucket(merge, bucket);
    }
    merge->replaying = false;
    return rc;
}

/* --- birth and death ----------------------------------------------------------------------------
 */

/* Orders the blocks by bucket; stable, so that they stay in file order. */
static void order_blocks(DrumMerge *merge)
{
    const DrumFile *file = &merge->generation->file;
    for (size_t i = 0; i < file->n_blocks; i++) {
        merge->starts[file->blocks[i].bucket + 1]++;
    }
    for (uint32_t b = 0; b < file->buckets; b++) {
        merge->starts[b + 1] += merge->starts[b];
    }
    for (size_t i = 0; i < file->n_blocks; i++) {
        merge->order[merge->starts[file->blocks[i].bucket]++] = (uint32_t)i;
    }
    /* Each start has moved to the next one's place. */
    memmove(merge->starts + 1, merge->starts, file->buckets * sizeof *merge->starts);
    merge->starts[0] = 0;
}

/* Room for the largest bucket. */
static Result size_bucket(DrumMerge *merge)
{
    const DrumFile *file = &merge->generation->file;
    size_t raw_bytes = 0, elements = 0, auxiliary_bytes = 0;
    for (uint32_t b = 0; b < file->buckets; b++) {
        size_t raw = 0, n = 0;
        for (uint32_t i = merge->starts[b]; i < merge->starts[b + 1]; i++) {
            const DrumBlock *block = &file->blocks[merge->order[i]];
            raw += block->keys_bytes;
            n += block->elements;
            auxiliary_bytes =
                block->auxiliary_bytes > auxiliary_bytes ? block->auxiliary_bytes : auxiliary_bytes;
        }
        raw_bytes = raw > raw_bytes ? raw : raw_bytes;
        elements = n > elements ? n : elements;
    }
    if (raw_bytes >= MAX_RAW_BYTES) {
        return RESULT_LIMIT;
    }
    merge->bucket.raw = malloc(raw_bytes + 1);
    merge->bucket.pairs = malloc((elements + 1) * sizeof(DrumPair));
    merge->bucket.scratch = malloc((elements + 1) * sizeof(DrumPair));
    merge->auxiliaries = malloc(auxiliary_bytes + 1);
    return merge->bucket.raw != NULL && merge->bucket.pairs != NULL &&
                   merge->bucket.scratch != NULL && merge->auxiliaries != NULL
               ? RESULT_OK
               : RESULT_MEMORY;
}

Result drum_merge_new(DrumMerge **result, const DrumOptions *options, int directory,
                      DrumGeneration *generation)
{
    const DrumDispatcher *d = &options->dispatcher;
    const DrumFile *file = &generation->file;
    DrumMerge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) {
        return RESULT_MEMORY;
    }
    merge->options = options;
    merge->directory = directory;
    merge->generation = generation;
    merge->outcomes_fd = -1;
    merge->wants_events = d->unique_key_check != NULL || d->duplicate_key_check != NULL ||
                          d->unique_key_update != NULL || d->duplicate_key_update != NULL ||
                          d->update != NULL;
    buffer_init(&merge->bucket.stored, BUFFER_NO_LIMIT);
    merge->order = calloc(file->n_blocks + 1, sizeof *merge->order);
    merge->starts = calloc(file->buckets + 1, sizeof *merge->starts);
    merge->outcome_offsets = calloc(file->n_blocks + 1, sizeof *merge->outcome_offsets);
    if (merge->order == NULL || merge->starts == NULL || merge->outcome_offsets == NULL) {
        drum_merge_delete(merge);
        return RESULT_MEMORY;
    }
    order_blocks(merge);
    Result rc = size_bucket(merge);
    if (rc != RESULT_OK) {
        drum_merge_delete(merge);
        return rc;
    }
    *result = merge;
    return RESULT_OK;
}

void drum_merge_delete(DrumMerge *merge)
{
    if (merge == NULL) {
        return;
    }
    if (merge->outcomes_fd >= 0) {
        (void)close(merge->outcomes_fd);
    }
    free(merge->bucket.raw);
    free(merge->bucket.pairs);
    free(merge->bucket.scratch);
    free(merge->bucket.assigned);
    buffer_destroy(&merge->bucket.stored);
    free(merge->auxiliaries);
    free(merge->outcome_offsets);
    free(merge->order);
    free(merge->starts);
    free(merge);
}
