/* One merge: a sealed generation against the repository.
 *
 * What: bucket after bucket is loaded (drum_bucket.h), looked up in one sweep over the repository,
 * put, and dispatched (drum_merge.c). drum.h tells what that means to callers.
 * Owns: the bucket in memory; the generation is borrowed until drum_merge_end.
 * Threads: one, between drum_merge_begin and drum_merge_end; it needs no lock of the Drum's.
 * Errors: those of drum_merge_run. */
#ifndef STORE_DRUM_DRUM_MERGE_H
#define STORE_DRUM_DRUM_MERGE_H

#include "store/drum/drum_bucket.h"
#include "store/drum/drum_file.h"

struct DrumMerge {
    const DrumOptions *options; /* borrowed from the Drum, constant */
    DrumGeneration *generation; /* borrowed until drum_merge_end */
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

Result drum_merge_new(DrumMerge **merge, const DrumOptions *options, DrumGeneration *generation);
void drum_merge_delete(DrumMerge *merge);

#endif
