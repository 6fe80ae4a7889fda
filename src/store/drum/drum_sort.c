#include "store/drum/drum_sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS  11u
#define DIGIT_COUNT (1u << DIGIT_BITS)
#define MAX_PASSES  6u
#define SMALL_RUN   24u

typedef struct Order {
    DrumCompareRest rest;
    const void *context;
} Order;

/* True when b must stand before a; false for equal keys, so that sorting is stable. */
static inline bool comes_before(const Order *order, const DrumPair *b, const DrumPair *a)
{
    if (b->key != a->key) {
        return b->key < a->key;
    }
    return order->rest != NULL && order->rest(order->context, b, a) < 0;
}

static void drum_sort_insertion_sort(DrumPair *pairs, size_t n, const Order *order)
{
    for (size_t i = 1; i < n; i++) {
        DrumPair moving = pairs[i];
        size_t at = i;
        while (at > 0 && comes_before(order, &moving, &pairs[at - 1])) {
            pairs[at] = pairs[at - 1];
            at--;
        }
        pairs[at] = moving;
    }
}

static void merge_sort(DrumPair *pairs, DrumPair *scratch, size_t n, const Order *order)
{
    if (n <= SMALL_RUN) {
        drum_sort_insertion_sort(pairs, n, order);
        return;
    }
    size_t half = n / 2;
    merge_sort(pairs, scratch, half, order);
    merge_sort(pairs + half, scratch, n - half, order);
    if (!comes_before(order, &pairs[half], &pairs[half - 1])) {
        return;
    }
    memcpy(scratch, pairs, half * sizeof *pairs);
    size_t a = 0, b = half, out = 0;
    while (a < half && b < n) {
        if (comes_before(order, &pairs[b], &scratch[a])) {
            pairs[out++] = pairs[b++];
        } else {
            pairs[out++] = scratch[a++];
        }
    }
    memcpy(pairs + out, scratch + a, (half - a) * sizeof *pairs);
}

/* Sorts by passes digits that begin at bit shift; returns the array that holds the result. */
static DrumPair *radix_sort(DrumPair *from, DrumPair *to, size_t n, unsigned shift, unsigned passes)
{
    uint32_t counts[MAX_PASSES][DIGIT_COUNT];
    memset(counts, 0, passes * sizeof counts[0]);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = from[i].key >> shift;
        for (unsigned p = 0; p < passes; p++) {
            counts[p][key & (DIGIT_COUNT - 1)]++;
            key >>= DIGIT_BITS;
        }
    }
    for (unsigned p = 0; p < passes; p++) {
        uint32_t sum = 0;
        for (unsigned d = 0; d < DIGIT_COUNT; d++) {
            uint32_t count = counts[p][d];
            counts[p][d] = sum;
            sum += count;
        }
        unsigned digit_shift = shift + p * DIGIT_BITS;
        for (size_t i = 0; i < n; i++) {
            to[counts[p][from[i].key >> digit_shift & (DIGIT_COUNT - 1)]++] = from[i];
        }
        DrumPair *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

void drum_sort(DrumPair *pairs, DrumPair *scratch, size_t n, DrumCompareRest rest,
               const void *context)
{
    Order order = {rest, context};
    if (n <= SMALL_RUN) {
        drum_sort_insertion_sort(pairs, n, &order);
        return;
    }
    uint64_t differing = 0;
    for (size_t i = 1; i < n; i++) {
        differing |= pairs[i].key ^ pairs[0].key;
    }
    unsigned top = differing == 0 ? 0 : 64 - (unsigned)__builtin_clzll(differing);
    unsigned wanted = 64 - (unsigned)__builtin_clzll(n) + 6;
    unsigned passes = ((wanted < top ? wanted : top) + DIGIT_BITS - 1) / DIGIT_BITS;
    unsigned shift = top > passes * DIGIT_BITS ? top - passes * DIGIT_BITS : 0;
    DrumPair *sorted = radix_sort(pairs, scratch, n, shift, passes);
    if (sorted != pairs) {
        memcpy(pairs, sorted, n * sizeof *pairs);
    }
    if (shift == 0 && rest == NULL) {
        return;
    }
    for (size_t start = 0, i = 1; i <= n; i++) {
        if (i == n || (pairs[i].key ^ pairs[start].key) >> shift != 0) {
            if (i - start > 1) {
                merge_sort(pairs + start, scratch, i - start, &order);
            }
            start = i;
        }
    }
}
