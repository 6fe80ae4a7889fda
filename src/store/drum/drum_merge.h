/* One merge: a sealed generation against the repository.
 *
 * What: bucket after bucket is loaded (drum_merge.h), looked up in one sweep over the repository,
 * put, and dispatched (drum_merge.c). drum.h tells what that means to callers.
 * Owns: the bucket in memory; the generation is borrowed until drum_merge_end.
 * Threads: one, between drum_merge_begin and drum_merge_end; it needs no lock of the Drum's.
 * Errors: those of drum_merge_run. */
#pragma once

#include "store/drum/drum_file.h"

#include "base/memory/buffer.h"

/* One bucket of a generation in memory, while it is merged.
 *
 * What: the elements of the bucket, loaded from the blocks of its file and sorted by key, and what
 * the merge finds out about each:
 *
 *   raw       keys and values as in the file, in original order; kept until dispatch
 *   pairs     (key, position, offset), sorted; then compacted to the keys that are put
 *   scratch   of the sort; then `before` and `puts`
 *   before    by element, in original order: where its key's value was before the operation
 *   stored    values that the repository had
 *   assigned  values that options.assign made
 *
 * Owns: its memory, sized once for the largest bucket of the generation. Options and file are
 * borrowed.
 * Threads: the merging one.
 * Errors: RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY, RESULT_LIMIT. */

/* Sorting the elements of a DRUM bucket: stable, by key, in place with one scratch array.
 *
 * What: a least-significant-digit radix sort over as many of the leading bits as tell n random keys
 * apart, then an insertion sort of the short runs that still tie, and qsort_r of long ones, with
 * the index as the last key. Keys that are not random (equal prefixes) cost what qsort_r costs.
 * Owns: nothing.
 * Threads: pure functions. */

typedef struct DrumPair {
    uint64_t key;   /* the number, or the first 8 bytes of a byte string as big-endian number */
    uint32_t index; /* position in the original order */
    uint32_t where; /* offset of the element among the bucket's keys and values */
} DrumPair;

/* Compares what is behind the first 8 bytes of two keys: negative, 0, positive. */
typedef int (*DrumCompareRest)(const void *context, const DrumPair *a, const DrumPair *b);

/* Sorts pairs, whose indices ascend, by key and then index; scratch has room for n. rest is NULL
 * when the number is the whole key. */
void drum_sort(DrumPair *pairs, DrumPair *scratch, size_t n, DrumCompareRest rest,
               const void *context);

/* A value by reference: a tag in the low bits, an offset or a slot above them. */
typedef uint64_t DrumReference;

/* Tags of a DrumReference. */
enum {
    DRUM_TAG_NONE = 0,     /* the key does not exist */
    DRUM_TAG_STORED = 1,   /* offset in stored */
    DRUM_TAG_GIVEN = 2,    /* the value that came with the element at this offset of raw */
    DRUM_TAG_ASSIGNED = 3, /* slot of assigned */
    DRUM_TAG_OWN = 4,      /* the key does not exist, this element's value is in this slot */
    DRUM_TAG_MASK = 7,
    DRUM_FLAG_NEW = 8, /* in puts: the repository does not have the key */
    DRUM_TAG_BITS = 4
};

#define DRUM_BLOCK_SKIPPED UINT32_MAX /* in order: a damaged block left out */

typedef struct DrumBucket {
    const DrumOptions *options;
    const DrumFile *file;
    uint32_t *order;      /* block numbers by bucket, then in file order */
    uint32_t *starts;     /* where each bucket's begin in order; buckets + 1 */
    uint8_t *auxiliaries; /* room for the largest section */
    uint8_t *raw;
    size_t raw_bytes;
    size_t n; /* elements */
    DrumPair *pairs;
    DrumPair *scratch;
    DrumReference *before; /* n, in scratch */
    DrumReference *puts;   /* n_puts, in scratch behind before; belongs to pairs[i] */
    size_t n_puts;
    Buffer stored;     /* u32 length and bytes, each */
    uint8_t *assigned; /* slots of options.assign_bytes */
    size_t n_assigned;
    size_t assigned_capacity;
    uint64_t damaged_elements; /* left out, or without their auxiliaries, so far */
} DrumBucket;

static inline DrumReference drum_reference(uint64_t number, unsigned tag)
{
    return number << DRUM_TAG_BITS | tag;
}

static inline unsigned drum_reference_tag(DrumReference reference)
{
    return (unsigned)(reference & DRUM_TAG_MASK);
}

/* Memory for every bucket of the file. Destroy it in any case. */
Result drum_bucket_init(DrumBucket *bucket, const DrumOptions *options, const DrumFile *file);
void drum_bucket_destroy(DrumBucket *bucket);

/* Loads and sorts bucket `number`, and empties what a merge has found out. */
Result drum_bucket_load(DrumBucket *bucket, uint32_t number);
/* The key of one pair, when keys are byte strings; and whether two such keys agree behind their
 * first 8 bytes. */
DrumKey drum_bucket_byte_key(const DrumBucket *bucket, const DrumPair *pair);
bool drum_bucket_same_rest(const DrumBucket *bucket, const DrumPair *a, const DrumPair *b);

static inline DrumKey drum_bucket_key(const DrumBucket *bucket, const DrumPair *pair)
{
    return bucket->options->keys == DRUM_KEYS_NUMBERS ? drum_key_number(pair->key)
                                                      : drum_bucket_byte_key(bucket, pair);
}

static inline bool drum_bucket_same_key(const DrumBucket *bucket, const DrumPair *a,
                                        const DrumPair *b)
{
    return a->key == b->key &&
           (bucket->options->keys == DRUM_KEYS_NUMBERS || drum_bucket_same_rest(bucket, a, b));
}

/* The value that a reference means; valid until the next load. */
DrumBytes drum_bucket_value(const DrumBucket *bucket, DrumReference reference);

struct DrumMerge {
    const DrumOptions *options; /* borrowed from the Drum, constant */
    DrumFile *file;             /* of the generation; borrowed until drum_merge_end */
    DrumBucket bucket;
    bool wants_events;  /* a callback is set */
    bool is_uncertain;  /* the last commit is there but may not be durable */
    bool replaying;     /* drum_merge_replay: every operation is a look-up */
    uint32_t unsettled; /* buckets since drum_merge_settle */
    uint64_t unsettled_elements;
    uint64_t unsettled_new;
    uint64_t merged; /* elements */
    uint64_t new_keys;
};

Result drum_merge_new(DrumMerge **merge, const DrumOptions *options, DrumFile *file);
void drum_merge_delete(DrumMerge *merge);
