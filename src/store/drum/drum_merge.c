#include "store/drum/drum_merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* Calls the callback that belongs to one element. before: what its key's value was (DrumBucket). */
static Result drum_dispatch_element(const DrumBucket *bucket, const DrumElement *element,
                                    DrumReference before, DrumBytes auxiliary)
{
    const DrumDispatcher *dispatcher = &bucket->options->dispatcher;
    /* DRUM_TAG_OWN: this element is the one that made the key, so to it the key did not exist.
     * Every later element of the key has DRUM_TAG_ASSIGNED, and existed. */
    bool was_assigned = drum_reference_tag(before) == DRUM_TAG_OWN;
    DrumBytes known = drum_bucket_value(bucket, before);
    DrumEvent event = {.key = element->key,
                       .value = element->value,
                       .auxiliary = auxiliary,
                       .existed = before != DRUM_TAG_NONE && !was_assigned};
    if (event.existed) {
        event.previous = known;
    }
    DrumCallback callback = dispatcher->update;
    switch (element->operation) {
    case DRUM_CHECK:
        event.value = event.previous;
        callback = event.existed ? dispatcher->duplicate_key_check : dispatcher->unique_key_check;
        break;
    case DRUM_UPDATE:
        break;
    case DRUM_CHECK_UPDATE:
        if (was_assigned || (event.existed && bucket->options->keep_existing)) {
            event.value = known;
        }
        callback = event.existed ? dispatcher->duplicate_key_update : dispatcher->unique_key_update;
        break;
    }
    return callback != NULL ? callback(dispatcher->context, &event) : RESULT_OK;
}

/* Dispatches the bucket in memory, which is bucket `number`, in its original order. */
static Result drum_dispatch_bucket(DrumBucket *bucket, uint32_t number)
{
    const DrumFile *file = bucket->file;
    /* raw holds only the blocks that were loaded, in the order of `order`: walking both in step
     * finds each element's block without an index. */
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
            at = drum_element_decode(at, end, file->keys, &element);
            /* drum_bucket_load_block has decoded these bytes before, and raw has not changed
             * since. */
            assert(at != NULL);
            auxiliary -= element.auxiliary_length;
            DrumBytes given = {element.has_auxiliary && rc == RESULT_OK ? auxiliary : NULL,
                               rc == RESULT_OK ? element.auxiliary_length : 0};
            Result called =
                drum_dispatch_element(bucket, &element, bucket->before[element_number++], given);
            if (called != RESULT_OK) {
                return called;
            }
        }
    }
    return RESULT_OK;
}

/* ---- One merge ---- */

/* The four passes over a bucket, and the order that each of them needs:
 *
 *   classify   by key: the repository is swept once, from its first leaf to its last
 *   assign     by arrival: values such as indices follow the order in which keys appeared
 *   put        by key again
 *   dispatch   by arrival, so that auxiliaries are read as they lie in the file
 *
 * `before` carries what classify found over to dispatch. It takes eight bytes an element of the
 * sixteen of scratch, which the sort no longer needs, and puts has the other half: a key is put
 * once at most, however many elements it has. */

#define PREFETCH_DISTANCE 16u

/* ---- one bucket ---- */

static Result keep_stored(DrumMerge *merge, DrumBytes value, DrumReference *state)
{
    Buffer *stored = &merge->bucket.stored;
    *state = drum_reference(stored->length, DRUM_TAG_STORED);
    /* When nobody is told of values, only whether one is stored matters: all share one, empty. */
    if (!merge->wants_events && stored->length > 0) {
        *state = drum_reference(0, DRUM_TAG_STORED);
        return RESULT_OK;
    }
    uint32_t length = merge->wants_events ? (uint32_t)value.length : 0;
    (void)buffer_append(stored, &length, sizeof length);
    (void)buffer_append(stored, value.bytes, length);
    return stored->failed;
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
        /* In a replay all operations look up only: what they did is committed already, and doing it
         * again would assign new values to keys that have theirs. */
        switch (merge->replaying ? DRUM_CHECK : (DrumOperation)(pairs[i].where & 3)) {
        case DRUM_CHECK:
            break;
        case DRUM_UPDATE:
            state = given;
            break;
        case DRUM_CHECK_UPDATE:
            if (state == DRUM_TAG_NONE && options->assign != NULL) {
                /* The slot is numbered now, in the order of keys, and filled by assign_values in
                 * the order of arrival. */
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
        /* Equal keys are neighbours, in their order of arrival: the sort is stable. */
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
        /* Pairs that need no put are dropped by moving the others up; n_puts <= i, so nothing
         * unread is overwritten. An element's puts entry lies behind all of `before`. */
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
    /* Through raw, not through pairs: raw is in the order of arrival, and pairs are compacted by
     * now. */
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
        /* Keys ascend here, but raw is in the order of arrival: each look into it would be a cache
         * miss. */
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

/* ---- in pieces ---- */

Result drum_merge_step(DrumMerge *merge)
{
    /* Steps not settled yet count: they are in the caller's open transaction. */
    uint32_t bucket = merge->file->next_bucket + merge->unsettled;
    if (bucket >= merge->file->buckets) {
        return RESULT_NOT_FOUND;
    }
    /* A commit must not promise more than the bucket file still holds after a power cut. */
    Result rc = bucket == 0 ? drum_file_sync(merge->file) : RESULT_OK;
    uint64_t new_before = merge->new_keys;
    if (rc == RESULT_OK) {
        rc = drum_bucket_load(&merge->bucket, bucket);
        if (rc == RESULT_OK && merge->bucket.n > 0) {
            rc = drum_merge_classify(merge);
            if (rc == RESULT_OK) {
                rc = assign_values(merge);
            }
            if (rc == RESULT_OK) {
                rc = put_all(merge);
            }
            if (rc == RESULT_OK && merge->wants_events) {
                rc = drum_dispatch_bucket(&merge->bucket, bucket);
            }
        }
    }
    if (rc == RESULT_OK) {
        merge->unsettled++;
        merge->unsettled_elements += merge->bucket.n;
        merge->unsettled_new += merge->new_keys - new_before;
    }
    /* new_keys counts what is committed. The step's share waits in unsettled_new, or is lost with
     * it. */
    merge->new_keys = new_before;
    return rc;
}

DrumProgress drum_merge_progress(const DrumMerge *merge)
{
    return (DrumProgress){.generation = merge->file->generation,
                          .bucket = merge->file->next_bucket + merge->unsettled};
}

void drum_merge_settle(DrumMerge *merge, bool committed)
{
    if (committed) {
        merge->file->next_bucket += merge->unsettled;
        merge->merged += merge->unsettled_elements;
        merge->new_keys += merge->unsettled_new;
    }
    merge->unsettled = 0;
    merge->unsettled_elements = 0;
    merge->unsettled_new = 0;
}

void drum_merge_finish(DrumMerge *merge)
{
    merge->file->merged = true;
}

/* ---- all buckets ---- */

Result drum_merge_run(DrumMerge *merge)
{
    DrumRepository *repository = merge->options->repository;
    DrumProgress end = {.generation = merge->file->generation + 1};
    Result rc = repository->begin == NULL ? RESULT_OK : repository->begin(repository);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* All buckets in one transaction, since a repository of sorted runs is one sweep. An owner that
     * wants smaller ones takes drum_merge_step. */
    while (rc == RESULT_OK) {
        rc = drum_merge_step(merge);
    }
    if (rc != RESULT_NOT_FOUND) {
        if (repository->abort != NULL) {
            repository->abort(repository);
        }
        drum_merge_settle(merge, false);
        return rc;
    }
    rc = repository->commit(repository, end);
    if (rc != RESULT_OK) {
        /* The commit may have reached the disk all the same, when only its sync failed. */
        DrumProgress reached = {0, 0};
        merge->is_uncertain = repository->progress(repository, &reached) == RESULT_OK &&
                              reached.generation >= end.generation;
    }
    merge->file->merged = rc == RESULT_OK || merge->is_uncertain;
    drum_merge_settle(merge, merge->file->merged);
    return rc;
}

Result drum_merge_replay(DrumMerge *merge, uint32_t bucket)
{
    /* Only buckets that are committed: the others are still to be merged, and would be told
     * twice. */
    if (bucket >= merge->file->next_bucket) {
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

Result drum_merge_new(DrumMerge **result, const DrumOptions *options, DrumFile *file)
{
    DrumMerge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) {
        return RESULT_MEMORY;
    }
    merge->options = options;
    merge->file = file;
    merge->wants_events = drum_dispatch_is_wanted(options);
    Result rc = drum_bucket_init(&merge->bucket, options, file);
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

/* The sort looks at leading bits only, as many as tell n random keys apart, and mends the ties that
 * are left: three passes for a million keys instead of six.
 *
 * Six passes of 11 bits cover 64. 2048 counters of 4 bytes each are 8 KiB a pass: a pass's counters
 * stay in the first cache, and all six are 48 KiB of stack. */

#define DIGIT_BITS  11u
#define DIGIT_COUNT (1u << DIGIT_BITS)
#define MAX_PASSES  6u
#define SMALL_RUN   24u

typedef struct Order {
    DrumCompareRest rest;
    const void *context;
} Order;

/* True when b must stand before a; false for equal keys, so that sorting is stable. */
static inline bool comes_before(const Order *order, const DrumPair *b, const DrumPair *a)
{
    if (b->key != a->key) {
        return b->key < a->key;
    }
    return order->rest != NULL && order->rest(order->context, b, a) < 0;
}

static int drum_sort_compare(const void *left, const void *right, void *context)
{
    const DrumPair *a = left;
    const DrumPair *b = right;
    const Order *order = context;
    if (comes_before(order, a, b)) {
        return -1;
    }
    /* qsort_r need not be stable: the index makes it so. */
    return comes_before(order, b, a) ? 1 : (a->index > b->index) - (a->index < b->index);
}

static void drum_sort_run(DrumPair *pairs, size_t n, Order *order)
{
    if (n > SMALL_RUN) {
        qsort_r(pairs, n, sizeof *pairs, drum_sort_compare, order);
        return;
    }
    /* Of random keys nearly every run is a single pair: no reason to call qsort_r. */
    for (size_t i = 1; i < n; i++) {
        DrumPair moving = pairs[i];
        size_t at = i;
        while (at > 0 && comes_before(order, &moving, &pairs[at - 1])) {
            pairs[at] = pairs[at - 1];
            at--;
        }
        pairs[at] = moving;
    }
}

/* Sorts by passes digits that begin at bit shift; returns the array that holds the result. */
static DrumPair *radix_sort(DrumPair *from, DrumPair *to, size_t n, unsigned shift, unsigned passes)
{
    uint32_t counts[MAX_PASSES][DIGIT_COUNT];
    memset(counts, 0, passes * sizeof counts[0]);
    /* All digits are counted in one pass: passes permute the pairs, which changes no count. */
    for (size_t i = 0; i < n; i++) {
        uint64_t key = from[i].key >> shift;
        for (unsigned p = 0; p < passes; p++) {
            counts[p][key & (DIGIT_COUNT - 1)]++;
            key >>= DIGIT_BITS;
        }
    }
    for (unsigned p = 0; p < passes; p++) {
        uint32_t sum = 0;
        for (unsigned d = 0; d < DIGIT_COUNT; d++) {
            uint32_t count = counts[p][d];
            counts[p][d] = sum;
            sum += count;
        }
        unsigned digit_shift = shift + p * DIGIT_BITS;
        for (size_t i = 0; i < n; i++) {
            to[counts[p][from[i].key >> digit_shift & (DIGIT_COUNT - 1)]++] = from[i];
        }
        DrumPair *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

void drum_sort(DrumPair *pairs, DrumPair *scratch, size_t n, DrumCompareRest rest,
               const void *context)
{
    Order order = {rest, context};
    if (n <= SMALL_RUN) {
        drum_sort_run(pairs, n, &order);
        return;
    }
    uint64_t differing = 0;
    for (size_t i = 1; i < n; i++) {
        differing |= pairs[i].key ^ pairs[0].key;
    }
    /* Bits above `top` are the same in all keys: those of one bucket share its number there. Six
     * bits more than log2(n) leave n random keys with hardly a tie for the runs below. */
    unsigned top = differing == 0 ? 0 : 64 - (unsigned)__builtin_clzll(differing);
    unsigned wanted = 64 - (unsigned)__builtin_clzll(n) + 6;
    unsigned passes = ((wanted < top ? wanted : top) + DIGIT_BITS - 1) / DIGIT_BITS;
    unsigned shift = top > passes * DIGIT_BITS ? top - passes * DIGIT_BITS : 0;
    DrumPair *sorted = radix_sort(pairs, scratch, n, shift, passes);
    if (sorted != pairs) {
        memcpy(pairs, sorted, n * sizeof *pairs);
    }
    /* The digits were the whole key: equal ones are in order, as each pass is stable. */
    if (shift == 0 && rest == NULL) {
        return;
    }
    for (size_t start = 0, i = 1; i <= n; i++) {
        if (i == n || (pairs[i].key ^ pairs[start].key) >> shift != 0) {
            drum_sort_run(pairs + start, i - start, &order);
            start = i;
        }
    }
}

/* ---- One bucket of a generation in memory, while it is merged ---- */

#define MAX_RAW_BYTES ((size_t)1 << 30) /* DrumPair.where keeps two bits for the operation */

static int compare_rest(const void *context, const DrumPair *a, const DrumPair *b)
{
    const DrumBucket *bucket = context;
    const uint8_t *end = bucket->raw + bucket->raw_bytes;
    DrumElement x, y;
    (void)drum_element_decode(bucket->raw + (a->where >> 2), end, DRUM_KEYS_BYTES, &x);
    (void)drum_element_decode(bucket->raw + (b->where >> 2), end, DRUM_KEYS_BYTES, &y);
    size_t least =
        x.key.bytes.length < y.key.bytes.length ? x.key.bytes.length : y.key.bytes.length;
    /* From the first byte on, although 8 are equal: a key shorter than 8 bytes was filled up with
     * zeros, and "a" and "a\0" share a number. */
    int order = memcmp(x.key.bytes.bytes, y.key.bytes.bytes, least);
    if (order != 0) {
        return order;
    }
    return (x.key.bytes.length > y.key.bytes.length) - (x.key.bytes.length < y.key.bytes.length);
}

/* Appends one block to the bucket in memory; the bucket is unchanged when it is damaged. */
static Result drum_bucket_load_block(DrumBucket *bucket, const DrumBlock *block)
{
    const DrumFile *file = bucket->file;
    /* raw and pairs have room for the largest bucket (drum_bucket_reserve), so nothing grows
     * here. */
    uint8_t *start = bucket->raw + bucket->raw_bytes;
    Result rc = drum_file_read_keys(file, block, start);
    if (rc == RESULT_OK && bucket->options->whole_blocks) {
        rc = drum_file_read_auxiliaries(file, block, bucket->auxiliaries);
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
    /* Only now are n and raw_bytes moved on: a block that is refused leaves nothing behind. */
    if (at != end || auxiliary_bytes != block->auxiliary_bytes) {
        return RESULT_DAMAGED;
    }
    bucket->n += block->elements;
    bucket->raw_bytes += block->keys_bytes;
    return RESULT_OK;
}

Result drum_bucket_load(DrumBucket *bucket, uint32_t number)
{
    bucket->raw_bytes = 0;
    bucket->n = 0;
    bucket->n_puts = 0;
    bucket->n_assigned = 0;
    buffer_reset(&bucket->stored);
    for (uint32_t i = bucket->starts[number]; i < bucket->starts[number + 1]; i++) {
        if (bucket->order[i] == DRUM_BLOCK_SKIPPED) {
            continue;
        }
        const DrumBlock *block = &bucket->file->blocks[bucket->order[i]];
        Result rc = drum_bucket_load_block(bucket, block);
        if (rc == RESULT_DAMAGED && bucket->options->skip_damaged) {
            bucket->damaged_elements += block->elements;
            /* Remembered, so that dispatch leaves out the same blocks, and a second try does not
             * count them twice. */
            bucket->order[i] = DRUM_BLOCK_SKIPPED;
        } else if (rc != RESULT_OK) {
            return rc;
        }
    }
    drum_sort(bucket->pairs, bucket->scratch, bucket->n,
              bucket->options->keys == DRUM_KEYS_BYTES ? compare_rest : NULL, bucket);
    /* The sort is done with its scratch: 16 bytes a pair become 8 for `before` and 8 for `puts`. */
    bucket->before = (DrumReference *)(void *)bucket->scratch;
    bucket->puts = bucket->before + bucket->n;
    return RESULT_OK;
}

DrumKey drum_bucket_byte_key(const DrumBucket *bucket, const DrumPair *pair)
{
    DrumElement element;
    (void)drum_element_decode(bucket->raw + (pair->where >> 2), bucket->raw + bucket->raw_bytes,
                              DRUM_KEYS_BYTES, &element);
    return element.key;
}

bool drum_bucket_same_rest(const DrumBucket *bucket, const DrumPair *a, const DrumPair *b)
{
    return compare_rest(bucket, a, b) == 0;
}

DrumBytes drum_bucket_value(const DrumBucket *bucket, DrumReference ref)
{
    size_t number = (size_t)(ref >> DRUM_TAG_BITS);
    DrumElement element;
    uint32_t length;
    switch (drum_reference_tag(ref)) {
    case DRUM_TAG_STORED:
        /* Records in stored are not aligned. */
        memcpy(&length, bucket->stored.data + number, sizeof length);
        return (DrumBytes){bucket->stored.data + number + sizeof length, length};
    case DRUM_TAG_GIVEN:
        (void)drum_element_decode(bucket->raw + number, bucket->raw + bucket->raw_bytes,
                                  bucket->options->keys, &element);
        return element.value;
    case DRUM_TAG_ASSIGNED:
    case DRUM_TAG_OWN: {
        size_t width = bucket->options->assign_bytes;
        return (DrumBytes){bucket->assigned + number * width, width};
    }
    default:
        return (DrumBytes){NULL, 0};
    }
}

/* Orders the blocks by bucket; stable, so that they stay in file order. */
static void order_blocks(DrumBucket *bucket)
{
    const DrumFile *file = bucket->file;
    for (size_t i = 0; i < file->n_blocks; i++) {
        bucket->starts[file->blocks[i].bucket + 1]++;
    }
    for (uint32_t b = 0; b < file->buckets; b++) {
        bucket->starts[b + 1] += bucket->starts[b];
    }
    for (size_t i = 0; i < file->n_blocks; i++) {
        bucket->order[bucket->starts[file->blocks[i].bucket]++] = (uint32_t)i;
    }
    /* Each start has moved to the next one's place. */
    memmove(bucket->starts + 1, bucket->starts, file->buckets * sizeof *bucket->starts);
    bucket->starts[0] = 0;
}

/* Room for the largest bucket. */
static Result drum_bucket_reserve(DrumBucket *bucket)
{
    const DrumFile *file = bucket->file;
    size_t raw_bytes = 0, elements = 0, auxiliary_bytes = 0;
    for (uint32_t b = 0; b < file->buckets; b++) {
        size_t raw = 0, n = 0;
        for (uint32_t i = bucket->starts[b]; i < bucket->starts[b + 1]; i++) {
            const DrumBlock *block = &file->blocks[bucket->order[i]];
            raw += block->keys_bytes;
            n += block->elements;
            auxiliary_bytes =
                block->auxiliary_bytes > auxiliary_bytes ? block->auxiliary_bytes : auxiliary_bytes;
        }
        raw_bytes = raw > raw_bytes ? raw : raw_bytes;
        elements = n > elements ? n : elements;
    }
    /* Nothing is cut here: a bucket of that size was let grow by its owner, who must split it or
     * raise the number of buckets. */
    if (raw_bytes >= MAX_RAW_BYTES) {
        return RESULT_LIMIT;
    }
    /* One more, so that an empty bucket gets no NULL, which would be told as lack of memory. */
    bucket->raw = malloc(raw_bytes + 1);
    bucket->pairs = malloc((elements + 1) * sizeof(DrumPair));
    bucket->scratch = malloc((elements + 1) * sizeof(DrumPair));
    bucket->auxiliaries = malloc(auxiliary_bytes + 1);
    return bucket->raw != NULL && bucket->pairs != NULL && bucket->scratch != NULL &&
                   bucket->auxiliaries != NULL
               ? RESULT_OK
               : RESULT_MEMORY;
}

Result drum_bucket_init(DrumBucket *bucket, const DrumOptions *options, const DrumFile *file)
{
    *bucket = (DrumBucket){.options = options, .file = file};
    buffer_init(&bucket->stored, BUFFER_NO_LIMIT);
    bucket->order = calloc(file->n_blocks + 1, sizeof *bucket->order);
    bucket->starts = calloc(file->buckets + 1, sizeof *bucket->starts);
    if (bucket->order == NULL || bucket->starts == NULL) {
        return RESULT_MEMORY;
    }
    order_blocks(bucket);
    return drum_bucket_reserve(bucket);
}

void drum_bucket_destroy(DrumBucket *bucket)
{
    free(bucket->raw);
    free(bucket->pairs);
    free(bucket->scratch);
    free(bucket->assigned);
    free(bucket->auxiliaries);
    free(bucket->order);
    free(bucket->starts);
    buffer_destroy(&bucket->stored);
}
