#include "store/drum/drum_bucket.h"

#include <stdlib.h>
#include <string.h>

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
            bucket->order[i] = DRUM_BLOCK_SKIPPED;
        } else if (rc != RESULT_OK) {
            return rc;
        }
    }
    drum_sort(bucket->pairs, bucket->scratch, bucket->n,
              bucket->options->keys == DRUM_KEYS_BYTES ? compare_rest : NULL, bucket);
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

void drum_bucket_outcome(const DrumBucket *bucket, size_t i, DrumOutcome *outcome)
{
    DrumReference before = bucket->before[i];
    *outcome = (DrumOutcome){.existed = false};
    if (drum_reference_tag(before) == DRUM_TAG_OWN) {
        outcome->was_assigned = true;
        outcome->assigned = drum_bucket_value(bucket, before);
    } else if (before != DRUM_TAG_NONE) {
        outcome->existed = true;
        outcome->previous = drum_bucket_value(bucket, before);
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
    if (raw_bytes >= MAX_RAW_BYTES) {
        return RESULT_LIMIT;
    }
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
