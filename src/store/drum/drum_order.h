/* Dispatch in the original order of all buckets (DrumOptions.global_order).
 *
 * What: while the buckets are merged one after the other, what became of their elements is written
 * to an unnamed file. At the end one stream for each bucket reads blocks and outcomes back. A heap
 * of the streams, by the sequence number of each one's next element, gives the order.
 * Owns: the unnamed file.
 * Threads: the merging one.
 * Errors: those of the callbacks; RESULT_DAMAGED, RESULT_IO, RESULT_FULL, RESULT_MEMORY. */
#ifndef STORE_DRUM_DRUM_ORDER_H
#define STORE_DRUM_DRUM_ORDER_H

#include "store/drum/drum_bucket.h"

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

#endif
