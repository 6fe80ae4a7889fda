/* Sorting the elements of a DRUM bucket: stable, by key, in place with one scratch array.
 *
 * What: a least-significant-digit radix sort over as many of the leading bits as tell n random keys
 * apart, then a stable merge sort of the short runs that still tie. Keys that are not random (equal
 * prefixes, small integers) cost what a merge sort costs.
 * Owns: nothing.
 * Threads: pure functions. */
#ifndef STORE_DRUM_DRUM_SORT_H
#define STORE_DRUM_DRUM_SORT_H

#include <stddef.h>
#include <stdint.h>

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

#endif
