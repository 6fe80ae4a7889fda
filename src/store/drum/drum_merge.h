/* One merge: a sealed generation against the repository.
 *
 * What: bucket after bucket is loaded (drum_bucket.h), looked up in one sweep over the repository,
 * put, and dispatched (drum_merge.h, drum_merge.h). drum.h tells what that means to callers.
 * Owns: the bucket in memory and the outcomes; the generation is borrowed until drum_merge_end.
 * Threads: one, between drum_merge_begin and drum_merge_end; it needs no lock of the Drum's.
 * Errors: those of drum_merge_run. */
#ifndef STORE_DRUM_DRUM_MERGE_H
#define STORE_DRUM_DRUM_MERGE_H

#include "store/drum/drum_bucket.h"
#include "store/drum/drum_file.h"

/* Dispatch in the original order of all buckets (DrumOptions.global_order).
 *
 * What: while the buckets are merged one after the other, what became of their elements is written
 * to an unnamed file. At the end one stream for each bucket reads blocks and outcomes back. A heap
 * of the streams, by the sequence number of each one's next element, gives the order.
 * Owns: the unnamed file.
 * Threads: the merging one.
 * Errors: those of the callbacks; RESULT_DAMAGED, RESULT_IO, RESULT_FULL, RESULT_MEMORY. */

typedef struct DrumOrder {
    int fd; /* of the outcomes of all buckets, unnamed; -1 until the first */
    uint64_t bytes;
    uint64_t *offsets; /* per place in DrumBucket.order, and one more */
} DrumOrder;

/* RESULT_MEMORY. Destroy it in any case. */
Result drum_order_init(DrumOrder *order, const DrumFile *file);
void drum_order_destroy(DrumOrder *order);
/* Keeps the outcomes of the bucket in memory, which is bucket `number`. The file is made in
 * directory. */
Result drum_order_save(DrumOrder *order, const DrumBucket *bucket, uint32_t number, int directory);
/* When all buckets from `first` on are kept: dispatches in the original order of all. */
Result drum_order_dispatch(DrumOrder *order, DrumBucket *bucket, uint32_t first);

struct DrumMerge {
    const DrumOptions *options; /* borrowed from the Drum, constant */
    int directory;              /* borrowed */
    DrumGeneration *generation; /* borrowed until drum_merge_end */
    DrumBucket bucket;
    DrumOrder outcomes; /* global order only */
    bool wants_events;  /* a callback is set */
    bool in_sweep;      /* the repository's transaction is open */
    bool is_uncertain;  /* the last commit is there but may not be durable */
    bool replaying;     /* drum_merge_replay: every operation is a look-up */
    uint32_t unsettled; /* buckets since drum_merge_settle */
    uint64_t unsettled_elements;
    uint64_t unsettled_new;
    uint64_t merged; /* elements */
    uint64_t new_keys;
};

Result drum_merge_new(DrumMerge **merge, const DrumOptions *options, int directory,
                      DrumGeneration *generation);
void drum_merge_delete(DrumMerge *merge);

#endif
