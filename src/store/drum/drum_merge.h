/* One merge: a sealed generation against the repository. The mechanism is told in
 * store/drum/drum.h.
 *
 * A bucket in memory, and what becomes of each part:
 *   raw       keys and values as in the file, in original order; kept until dispatch
 *   pairs     (key, position, offset), sorted; then compacted to the keys that are put
 *   scratch   of the sort; then `before` and `puts`
 *   before    per element, original order: where its key's value was before the operation
 *   stored    values that the repository had
 *   assigned  values that options.assign made
 *
 * Belongs to one thread between drum_merge_begin and drum_merge_end. */
#ifndef STORE_DRUM_DRUM_MERGE_H
#define STORE_DRUM_DRUM_MERGE_H

#include "base/memory/buffer.h"
#include "store/drum/drum_file.h"
#include "store/drum/drum_sort.h"

typedef struct DrumGeneration {
    DrumFile file;
    uint32_t next_bucket; /* those before it are committed in the repository */
    bool merged;          /* all are */
} DrumGeneration;

/* A value by reference: a tag in the low bits, an offset or a slot above them. */
typedef uint64_t DrumReference;

typedef struct DrumBucket {
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
} DrumBucket;

struct DrumMerge {
    const DrumOptions *options; /* borrowed from the Drum, constant */
    int directory;              /* borrowed */
    DrumGeneration *generation; /* borrowed until drum_merge_end */
    uint32_t *order;            /* block numbers by bucket, then in file order */
    uint32_t *starts;           /* where each bucket's begin in order; buckets + 1 */
    DrumBucket bucket;
    uint8_t *auxiliaries; /* room for the largest section */
    bool wants_events;    /* a callback is set */
    bool in_sweep;        /* the repository's transaction is open */
    bool is_uncertain;    /* the last commit is there but may not be durable */
    bool replaying;       /* drum_merge_replay: every operation is a look-up */
    uint32_t unsettled;   /* buckets since drum_merge_settle */
    uint64_t unsettled_elements;
    uint64_t unsettled_new;
    uint64_t merged; /* elements */
    uint64_t new_keys;
    uint64_t damaged_elements;
    /* global order only */
    int outcomes_fd; /* of the outcomes of all buckets, unnamed; -1 */
    uint64_t outcomes_bytes;
    uint64_t *outcome_offsets; /* per place in order, and one more */
};

#define DRUM_SKIPPED UINT32_MAX /* in order: a damaged block left out */

/* What a bucket's element came to, for dispatch. */
typedef struct DrumOutcome {
    bool existed;
    DrumBytes previous;
    bool was_assigned;
    DrumBytes assigned;
} DrumOutcome;

Result drum_merge_new(DrumMerge **merge, const DrumOptions *options, int directory,
                      DrumGeneration *generation);
void drum_merge_delete(DrumMerge *merge);

/* Calls the callback that belongs to the element. */
Result drum_merge_notify(const DrumMerge *merge, const DrumElement *element,
                         const DrumOutcome *outcome, DrumBytes auxiliary);

/* The outcome of element i of the bucket in memory. */
void drum_merge_outcome(const DrumMerge *merge, size_t i, DrumOutcome *outcome);

/* store/drum/drum_order.c: keeps the outcomes of the bucket in memory in a temporary file ... */
Result drum_order_save(DrumMerge *merge, uint32_t bucket);
/* ... and, when all are there, dispatches in the original order of all. */
Result drum_order_dispatch(DrumMerge *merge);

#endif
