#include "base/memory/array.h"

/* What qsort_r passes on. */
typedef struct ArrayOrder {
    ArrayKey by;
    ArrayKey then;
} ArrayOrder;

static uint64_t array_number(const char *element, ArrayKey key)
{
    const char *at = element + key.offset;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (key.bytes == 1) {
        return (unsigned char)*at;
    }
    memcpy(key.bytes == sizeof wide ? (void *)&wide : (void *)&narrow, at, key.bytes);
    return key.bytes == sizeof wide ? wide : narrow;
}

static int array_compare_by(const void *a, const void *b, ArrayKey key)
{
    uint64_t x = array_number(a, key);
    uint64_t y = array_number(b, key);
    return key.falls ? (x < y) - (x > y) : (x > y) - (x < y);
}

static int array_compare(const void *a, const void *b, void *context)
{
    const ArrayOrder *order = context;
    int first = array_compare_by(a, b, order->by);
    return first != 0 || order->then.bytes == 0 ? first : array_compare_by(a, b, order->then);
}

void array_sort(void *array, size_t n, size_t bytes, ArrayKey by, ArrayKey then)
{
    ArrayOrder order = {.by = by, .then = then};
    if (n > 1) {
        qsort_r(array, n, bytes, array_compare, &order);
    }
}

void *array_find(const void *array, size_t n, size_t bytes, ArrayKey by, uint64_t number)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *element = (const char *)array + middle * bytes;
        uint64_t found = array_number(element, by);
        if (found == number) {
            return (void *)(uintptr_t)element;
        }
        low = found < number ? middle + 1 : low;
        high = found < number ? high : middle;
    }
    return NULL;
}
