#include "store/front/bf_window.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_WINDOW   16u /* entries read at first; twice as many each time */
#define LARGEST_WINDOW 256u

void bf_window_destroy(BFWindow *window)
{
    free(window->entries);
}

static Result bf_window_reserve(BFWindow *window, uint32_t capacity)
{
    if (window->begin > 0) {
        memmove(window->entries, window->entries + window->begin,
                (window->end - window->begin) * sizeof *window->entries);
        window->end -= window->begin;
        window->begin = 0;
    }
    if (capacity <= window->capacity) {
        return RESULT_OK;
    }
    BFOrder *entries = realloc(window->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return RESULT_MEMORY;
    }
    window->entries = entries;
    window->capacity = capacity;
    return RESULT_OK;
}

Result bf_window_fill(BFWindow *window, Schedule *schedule, MDB_txn *txn, uint32_t host,
                      const BFSet *leases)
{
    uint32_t want = window->capacity == 0                   ? FIRST_WINDOW
                    : window->capacity * 2 > LARGEST_WINDOW ? LARGEST_WINDOW
                                                            : window->capacity * 2;
    Result rc = bf_window_reserve(window, want);
    while (rc == RESULT_OK && window->begin == window->end &&
           window->complete_to != BF_WINDOW_COMPLETE) {
        ScheduleItem items[LARGEST_WINDOW];
        BFOrder last = window->complete_to == 0 ? 0 : window->complete_to - 1;
        ScheduleItem after = {.index = bf_order_value(last), .level = bf_order_level(last)};
        size_t n = 0;
        rc = schedule_head(schedule, txn, host, window->complete_to == 0 ? NULL : &after, items,
                           want, &n);
        if (rc != RESULT_OK) {
            break;
        }
        window->begin = 0;
        window->end = 0;
        for (size_t i = 0; i < n; i++) {
            if (!bf_set_has(leases, bf_order_index(items[i].index))) {
                window->entries[window->end++] = bf_order(items[i].level, items[i].index);
            }
        }
        window->complete_to =
            n < want ? BF_WINDOW_COMPLETE : bf_order(items[n - 1].level, items[n - 1].index) + 1;
    }
    return rc;
}

/* The place of the first entry not before order. */
static uint32_t bf_window_find(const BFWindow *window, BFOrder order)
{
    uint32_t low = window->begin;
    uint32_t high = window->end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (window->entries[middle] < order) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

Result bf_window_insert(BFWindow *window, BFOrder order)
{
    uint32_t at = bf_window_find(window, order);
    if (at < window->end && window->entries[at] == order) {
        return RESULT_OK;
    }
    if (window->end - window->begin >= LARGEST_WINDOW) { /* what falls off at the end is on disk */
        if (at == window->end) {
            window->complete_to = order;
            return RESULT_OK;
        }
        window->complete_to = window->entries[--window->end];
    }
    if (window->end == window->capacity) {
        uint32_t shift = window->begin;
        uint32_t used = window->end - window->begin;
        uint32_t want = used < window->capacity ? window->capacity
                        : window->capacity == 0 ? FIRST_WINDOW
                                                : window->capacity * 2;
        Result rc = bf_window_reserve(window, want);
        if (rc != RESULT_OK) {
            return rc;
        }
        at -= shift;
    }
    memmove(window->entries + at + 1, window->entries + at,
            (window->end - at) * sizeof *window->entries);
    window->entries[at] = order;
    window->end++;
    return RESULT_OK;
}

bool bf_window_remove(BFWindow *window, BFOrder order)
{
    uint32_t at = bf_window_find(window, order);
    if (at == window->end || window->entries[at] != order) {
        return false;
    }
    memmove(window->entries + at, window->entries + at + 1,
            (window->end - at - 1) * sizeof *window->entries);
    window->end--;
    return true;
}
