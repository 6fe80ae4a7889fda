#include "store/drum/drum_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/temporary_file.h"
#include "store/drum/drum_dispatch.h"

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

/* --- streams --------------------------------------------------------------------------------- */

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

/* --- the heap of streams --------------------------------------------------------------------- */

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
