/* Telling the dispatcher what became of the elements of a merge.
 *
 * What: drum.h tells the five outcomes. An event is made of an element, its outcome and its
 * auxiliary, and goes to the callback that belongs to it.
 * Owns: nothing.
 * Threads: the merging one.
 * Errors: those of the callbacks; RESULT_DAMAGED, RESULT_IO. */
#ifndef STORE_DRUM_DRUM_DISPATCH_H
#define STORE_DRUM_DRUM_DISPATCH_H

#include "store/drum/drum_bucket.h"

/* Whether any callback is set. */
bool drum_dispatch_is_wanted(const DrumOptions *options);
/* Calls the callback that belongs to one element. */
Result drum_dispatch_element(const DrumOptions *options, const DrumElement *element,
                             const DrumOutcome *outcome, DrumBytes auxiliary);
/* Dispatches the bucket in memory, which is bucket `number`, in its original order. */
Result drum_dispatch_bucket(DrumBucket *bucket, uint32_t number);

#endif
