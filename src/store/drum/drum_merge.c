#include "store/drum/drum_merge.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/temporary_file.h"
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

/* ---- Dispatch in the original order of all buckets (DrumOptions ---- */

/* An outcome in the file: flags, u32 length and bytes of the previous value, the assigned value. */
enum { FLAG_EXISTED = 1, FLAG_ASSIGNED = 2 };

typedef struct Stream {
    uint64_t sequence;   /* of the element at hand */
    uint32_t place;      /* of the block at hand, in bucket->order */
    uint32_t end;        /* behind the bucket's last place */
    uint32_t left;       /* elements of the block behind the one at hand */
    bool no_auxiliaries; /* they are damaged */
    DrumElement element;
    const uint8_t *keys;
    const uint8_t *keys_end;
    const uint8_t *auxiliary;
    const uint8_t *outcome;
    const uint8_t *outcome_end;
    Buffer keys_room;
    Buffer auxiliary_room;
    Buffer outcome_room;
} Stream;

static Result write_outcomes(DrumOrder *order, const Buffer *buffer)
{
    for (size_t done = 0; done < buffer->length;) {
        ssize_t n =
            pwrite(order->fd, buffer->data + done, buffer->length - done, (off_t)order->bytes);
        if (n < 0 && errno != EINTR) {
            return result_of_errno(errno);
        }
        if (n > 0) {
            done += (size_t)n;
            order->bytes += (uint64_t)n;
        }
    }
    return RESULT_OK;
}

static Result append_outcome(Buffer *buffer, const DrumOutcome *outcome)
{
    char flags =
        (char)((outcome->existed ? FLAG_EXISTED : 0) | (outcome->was_assigned ? FLAG_ASSIGNED : 0));
    Result rc = buffer_append_char(buffer, flags);
    if (rc == RESULT_OK && outcome->existed) {
        uint32_t length = (uint32_t)outcome->previous.length;
        rc = buffer_append(buffer, &length, sizeof length);
        if (rc == RESULT_OK) {
            rc = buffer_append(buffer, outcome->previous.bytes, length);
        }
    }
    if (rc == RESULT_OK && outcome->was_assigned) {
        rc = buffer_append(buffer, outcome->assigned.bytes, outcome->assigned.length);
    }
    return rc;
}

Result drum_order_init(DrumOrder *order, const DrumFile *file)
{
    *order = (DrumOrder){.fd = -1};
    order->offsets = calloc(file->n_blocks + 1, sizeof *order->offsets);
    return order->offsets != NULL ? RESULT_OK : RESULT_MEMORY;
}

void drum_order_destroy(DrumOrder *order)
{
    if (order->fd >= 0) {
        (void)close(order->fd);
    }
    free(order->offsets);
}

Result drum_order_save(DrumOrder *order, const DrumBucket *bucket, uint32_t number, int directory)
{
    if (order->fd < 0) {
        int fd = -1;
        Result opened = temporary_file_open(directory, ".", &fd);
        if (opened != RESULT_OK) {
            return opened;
        }
        order->fd = fd;
    }
    Buffer buffer;
    buffer_init(&buffer, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    size_t element = 0;
    for (uint32_t i = bucket->starts[number]; rc == RESULT_OK && i < bucket->starts[number + 1];
         i++) {
        if (bucket->order[i] == DRUM_BLOCK_SKIPPED) {
            continue;
        }
        const DrumBlock *block = &bucket->file->blocks[bucket->order[i]];
        order->offsets[i] = order->bytes;
        buffer_reset(&buffer);
        for (uint32_t k = 0; rc == RESULT_OK && k < block->elements; k++) {
            DrumOutcome outcome;
            drum_bucket_outcome(bucket, element++, &outcome);
            rc = append_outcome(&buffer, &outcome);
        }
        if (rc == RESULT_OK) {
            rc = write_outcomes(order, &buffer);
        }
    }
    buffer_destroy(&buffer);
    return rc;
}

/* ---- streams ---- */

/* A dispatch under way. */
typedef struct Dispatch {
    const DrumOrder *order;
    DrumBucket *bucket;
    uint32_t first; /* bucket */
} Dispatch;

static Result read_outcomes(const Dispatch *d, uint32_t place, Stream *stream)
{
    /* Blocks are written in the order of places, so the next one that was not skipped ends this. */
    uint64_t start = d->order->offsets[place];
    uint64_t end = d->order->bytes;
    for (uint32_t i = place + 1; i < d->bucket->file->n_blocks; i++) {
        if (d->bucket->order[i] != DRUM_BLOCK_SKIPPED) {
            end = d->order->offsets[i];
            break;
        }
    }
    size_t length = (size_t)(end - start);
    buffer_reset(&stream->outcome_room);
    Result rc = buffer_reserve(&stream->outcome_room, length);
    for (size_t done = 0; rc == RESULT_OK && done < length;) {
        ssize_t n = pread(d->order->fd, stream->outcome_room.data + done, length - done,
                          (off_t)(start + done));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return n == 0 ? RESULT_IO : result_of_errno(errno);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    stream->outcome = (const uint8_t *)stream->outcome_room.data;
    stream->outcome_end = stream->outcome + length;
    return rc;
}

static Result drum_order_load_block(const Dispatch *d, Stream *stream)
{
    const DrumFile *file = d->bucket->file;
    const DrumBlock *block = &file->blocks[d->bucket->order[stream->place]];
    buffer_reset(&stream->keys_room);
    buffer_reset(&stream->auxiliary_room);
    Result rc = buffer_reserve(&stream->keys_room, block->keys_bytes);
    if (rc == RESULT_OK) {
        rc = buffer_reserve(&stream->auxiliary_room, (size_t)block->auxiliary_bytes + 1);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    uint8_t *keys = (uint8_t *)stream->keys_room.data;
    uint8_t *auxiliary = (uint8_t *)stream->auxiliary_room.data;
    rc = drum_file_read_keys(file, block, keys);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = drum_file_read_auxiliaries(file, block, auxiliary);
    stream->no_auxiliaries = rc == RESULT_DAMAGED && d->bucket->options->skip_damaged;
    if (rc != RESULT_OK && !stream->no_auxiliaries) {
        return rc;
    }
    stream->keys = keys;
    stream->keys_end = keys + block->keys_bytes;
    stream->auxiliary = auxiliary + block->auxiliary_bytes;
    stream->left = block->elements;
    stream->sequence = block->first_sequence;
    return read_outcomes(d, stream->place, stream);
}

/* Goes to the next element; *more = false behind the last. */
static Result drum_order_advance(const Dispatch *d, Stream *stream, bool *more)
{
    *more = true;
    if (stream->left == 0) {
        do {
            stream->place++;
        } while (stream->place < stream->end &&
                 d->bucket->order[stream->place] == DRUM_BLOCK_SKIPPED);
        if (stream->place >= stream->end) {
            *more = false;
            return RESULT_OK;
        }
        Result rc = drum_order_load_block(d, stream);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    stream->keys = drum_element_decode(stream->keys, stream->keys_end, d->bucket->file->keys,
                                       &stream->element);
    if (stream->keys == NULL) {
        return RESULT_DAMAGED;
    }
    stream->left--;
    stream->sequence += stream->element.distance;
    stream->auxiliary -= stream->element.auxiliary_length;
    return RESULT_OK;
}

static Result take_outcome(const Dispatch *d, Stream *stream, DrumOutcome *outcome)
{
    const uint8_t *at = stream->outcome;
    const uint8_t *end = stream->outcome_end;
    *outcome = (DrumOutcome){.existed = false};
    if (at == end) {
        return RESULT_IO;
    }
    uint8_t flags = *at++;
    if ((flags & FLAG_EXISTED) != 0) {
        uint32_t length;
        if ((size_t)(end - at) < sizeof length) {
            return RESULT_IO;
        }
        memcpy(&length, at, sizeof length);
        at += sizeof length;
        if (length > (size_t)(end - at)) {
            return RESULT_IO;
        }
        outcome->existed = true;
        outcome->previous = (DrumBytes){at, length};
        at += length;
    }
    if ((flags & FLAG_ASSIGNED) != 0) {
        size_t width = d->bucket->options->assign_bytes;
        if (width > (size_t)(end - at)) {
            return RESULT_IO;
        }
        outcome->was_assigned = true;
        outcome->assigned = (DrumBytes){at, width};
        at += width;
    }
    stream->outcome = at;
    return RESULT_OK;
}

static Result notify(Dispatch *d, Stream *stream)
{
    DrumOutcome outcome;
    Result rc = take_outcome(d, stream, &outcome);
    if (rc != RESULT_OK) {
        return rc;
    }
    const DrumElement *element = &stream->element;
    DrumBytes auxiliary = {NULL, 0};
    if (element->has_auxiliary && stream->no_auxiliaries) {
        d->bucket->damaged_elements++;
    } else if (element->has_auxiliary) {
        auxiliary = (DrumBytes){stream->auxiliary, element->auxiliary_length};
    }
    return drum_dispatch_element(d->bucket->options, element, &outcome, auxiliary);
}

/* ---- the heap of streams ---- */

static void drum_order_sift_down(Stream **heap, size_t n, size_t at)
{
    Stream *moving = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n) {
            break;
        }
        if (child + 1 < n && heap[child + 1]->sequence < heap[child]->sequence) {
            child++;
        }
        if (heap[child]->sequence >= moving->sequence) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static Result start_streams(const Dispatch *d, Stream *streams, Stream **heap, size_t *n)
{
    uint32_t buckets = d->bucket->file->buckets;
    *n = 0;
    for (uint32_t b = d->first; b < buckets; b++) {
        Stream *stream = &streams[b];
        bool more;
        stream->end = d->bucket->starts[b + 1];
        stream->place = d->bucket->starts[b] - 1; /* wraps for 0; advance adds the 1 back */
        Result rc = drum_order_advance(d, stream, &more);
        if (rc != RESULT_OK) {
            return rc;
        }
        if (more) {
            heap[(*n)++] = stream;
        }
    }
    for (size_t i = *n / 2; i-- > 0;) {
        drum_order_sift_down(heap, *n, i);
    }
    return RESULT_OK;
}

static Result run_streams(Dispatch *d, Stream **heap, size_t n)
{
    while (n > 0) {
        bool more;
        Result rc = notify(d, heap[0]);
        if (rc == RESULT_OK) {
            rc = drum_order_advance(d, heap[0], &more);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        if (!more) {
            heap[0] = heap[--n];
        }
        if (n > 1) {
            drum_order_sift_down(heap, n, 0);
        }
    }
    return RESULT_OK;
}

Result drum_order_dispatch(DrumOrder *order, DrumBucket *bucket, uint32_t first)
{
    Dispatch d = {.order = order, .bucket = bucket, .first = first};
    uint32_t buckets = bucket->file->buckets;
    Stream *streams = calloc(buckets, sizeof *streams);
    Stream **heap = calloc(buckets, sizeof *heap);
    Result rc = RESULT_MEMORY;
    size_t n = 0;
    if (streams != NULL && heap != NULL) {
        for (uint32_t b = 0; b < buckets; b++) {
            buffer_init(&streams[b].keys_room, BUFFER_NO_LIMIT);
            buffer_init(&streams[b].auxiliary_room, BUFFER_NO_LIMIT);
            buffer_init(&streams[b].outcome_room, BUFFER_NO_LIMIT);
        }
        rc = start_streams(&d, streams, heap, &n);
        if (rc == RESULT_OK) {
            rc = run_streams(&d, heap, n);
        }
        for (uint32_t b = 0; b < buckets; b++) {
            buffer_destroy(&streams[b].keys_room);
            buffer_destroy(&streams[b].auxiliary_room);
            buffer_destroy(&streams[b].outcome_room);
        }
    }
    free(heap);
    free(streams);
    return rc;
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
            rc = merge->options->global_order
                     ? drum_order_save(&merge->outcomes, &merge->bucket, number, merge->directory)
                     : drum_dispatch_bucket(&merge->bucket, number);
        }
    }
    return rc;
}

/* ---- all buckets ---- */

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
