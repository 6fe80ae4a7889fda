#include "store/format/page_links.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_LIST 64

static int page_links_compare_indices(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_indices(uint64_t *to, size_t n)
{
    if (n > SMALL_LIST) {
        qsort(to, n, sizeof *to, page_links_compare_indices);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint64_t x = to[i];
        size_t k = i;
        for (; k > 0 && to[k - 1] > x; k--) {
            to[k] = to[k - 1];
        }
        to[k] = x;
    }
}

/* A group that is sorted. */
static uint8_t *encode_group(uint64_t index, const uint64_t *to, size_t n, uint8_t *out)
{
    if (n == 0) {
        return out;
    }
    out = varint_encode_int64((int64_t)(to[0] - index), out);
    for (size_t i = 1; i < n; i++) {
        out = varint_encode_uint64(to[i] - to[i - 1], out);
    }
    return out;
}

size_t page_links_encode(uint64_t index, uint64_t *to, size_t n_diff, size_t n, uint8_t *out)
{
    sort_indices(to, n_diff);
    sort_indices(to + n_diff, n - n_diff);
    uint8_t *p = varint_encode_uint64((uint64_t)n_diff << 1, out);
    p = encode_group(index, to, n_diff, p);
    p = encode_group(index, to + n_diff, n - n_diff, p);
    return (size_t)(p - out);
}

static uint8_t page_links_kind_of(uint64_t element)
{
    return (uint8_t)(element & ((1u << PAGE_LINKS_KIND_BITS) - 1));
}

/* Writes the runs, or nothing when out is NULL; returns how many bytes they take. */
static size_t encode_runs(const uint64_t *to, size_t n, uint8_t *out)
{
    uint8_t unwanted[MAX_VARINT_SIZE] = {0};
    size_t bytes = 0;
    while (n > 0 && page_links_kind_of(to[n - 1]) == 0) {
        n--;
    }
    for (size_t i = 0; i < n;) {
        size_t k = i + 1;
        while (k < n && page_links_kind_of(to[k]) == page_links_kind_of(to[i])) {
            k++;
        }
        uint8_t *run = out == NULL ? unwanted : out + bytes + 1;
        if (out != NULL) {
            out[bytes] = page_links_kind_of(to[i]);
        }
        bytes += 1 + (size_t)(varint_encode_uint64(k - i, run) - run);
        i = k;
    }
    return bytes;
}

size_t page_links_encode_kinds(uint64_t index, uint64_t *to, size_t n_diff, size_t n, uint8_t *out)
{
    sort_indices(to, n_diff);
    sort_indices(to + n_diff, n - n_diff);
    size_t bytes = encode_runs(to, n, NULL);
    uint8_t *p = varint_encode_uint64((uint64_t)n_diff << 1 | (bytes > 0), out);
    if (bytes > 0) {
        p = varint_encode_uint64(bytes, p);
        p += encode_runs(to, n, p);
    }
    for (size_t i = 0; i < n; i++) {
        to[i] >>= PAGE_LINKS_KIND_BITS;
    }
    p = encode_group(index, to, n_diff, p);
    p = encode_group(index, to + n_diff, n - n_diff, p);
    return (size_t)(p - out);
}

/* Reads what stands before the groups; NULL: not a list. */
static const uint8_t *page_links_read_head(const uint8_t *list, const uint8_t *end,
                                           uint64_t *n_diff, uint64_t *kind_bytes)
{
    uint64_t head = 0;
    const uint8_t *p = varint_read(list, end, &head);
    *n_diff = head >> 1;
    *kind_bytes = 0;
    if (p != NULL && (head & 1) != 0) {
        p = varint_read(p, end, kind_bytes);
        if (p != NULL && *kind_bytes > (uint64_t)(end - p)) {
            return NULL;
        }
    }
    return p;
}

bool page_links_decode_kinds(const uint8_t *list, size_t length, uint8_t *kinds, size_t n)
{
    uint64_t n_diff = 0;
    uint64_t bytes = 0;
    size_t i = 0;
    const uint8_t *p = page_links_read_head(list, list + length, &n_diff, &bytes);
    if (p == NULL) {
        return false;
    }
    for (const uint8_t *end = p + bytes; p < end;) {
        uint8_t kind = *p++;
        uint64_t run = 0;
        p = varint_read(p, end, &run);
        if (p == NULL || run > n - i) {
            return false;
        }
        memset(kinds + i, kind, (size_t)run);
        i += (size_t)run;
    }
    memset(kinds + i, 0, n - i);
    return true;
}

#define WORD_BYTES 8
#define TOP_BITS   UINT64_C(0x8080808080808080)

/* Closes the gaps that the top bits leave between groups of seven. */
static inline uint64_t close_gaps(uint64_t v)
{
    uint64_t n = (v & 0x7f) | (v >> 1 & 0x3f80) | (v >> 2 & 0x1fc000) | (v >> 3 & 0xfe00000);
    if (v >> 32 != 0) {
        n |= (v >> 4 & UINT64_C(0x7f0000000)) | (v >> 5 & UINT64_C(0x3f800000000)) |
             (v >> 6 & UINT64_C(0x1fc0000000000)) | (v >> 7 & UINT64_C(0xfe000000000000));
    }
    return n;
}

/* What an instruction of newer processors (BMI2) does at once. */
#ifdef __x86_64__
#define HAS_BMI2() __builtin_cpu_supports("bmi2")
static inline uint64_t close_gaps_bmi2(uint64_t v)
{
    uint64_t n;
    __asm__("pextq %2, %1, %0" : "=r"(n) : "r"(v), "r"(~TOP_BITS));
    return n;
}
#else
#define HAS_BMI2()         false
#define close_gaps_bmi2(v) close_gaps(v)
#endif

/* Takes the first number out of a word; *ends and *start move behind it. */
static inline uint64_t page_links_take_number(uint64_t word, uint64_t *ends, unsigned *start,
                                              bool bmi2)
{
    uint64_t v = (word & (*ends ^ (*ends - 1))) >> (*start & 63);
    *start = (unsigned)__builtin_ctzll(*ends | UINT64_C(1) << 63) + 1;
    *ends &= *ends - 1;
    return bmi2 ? close_gaps_bmi2(v) : close_gaps(v);
}

/* Reads up to max varints; *count is how many. Returns the byte behind them, or NULL. Eight bytes
 * at a time: the bytes that end a number are found for all of them at once, so that the numbers do
 * not wait for each other and their lengths need not be guessed. Most words hold three to five
 * numbers; the first four are taken whether they are there or not, which writes up to
 * PAGE_LINKS_SLACK elements too many. */
static inline __attribute__((always_inline)) const uint8_t *
decode_varints_with(const uint8_t *p, const uint8_t *end, size_t max, uint64_t *out, size_t *count,
                    bool bmi2)
{
    size_t i = 0;
    while (p < end && i < max) {
        uint64_t word = 0, ends = TOP_BITS;
        size_t rest = (size_t)(end - p);
        if (rest >= WORD_BYTES) {
            memcpy(&word, p, WORD_BYTES);
        } else {
            memcpy(&word, p, rest);
            ends &= (UINT64_C(1) << (8 * rest)) - 1;
        }
        word = le64toh(word);
        ends &= ~word;
        if (ends == 0) {
            p = varint_read(p, end, &out[i++]);
            if (p == NULL) {
                return NULL;
            }
            continue;
        }
        p += (64 - (unsigned)__builtin_clzll(ends)) / 8;
        /* The top bits, brought to the lowest byte and added up there. */
        size_t n = (size_t)((ends >> 7) * UINT64_C(0x0101010101010101) >> 56);
        unsigned start = 0;
        out[i] = page_links_take_number(word, &ends, &start, bmi2);
        out[i + 1] = page_links_take_number(word, &ends, &start, bmi2);
        out[i + 2] = page_links_take_number(word, &ends, &start, bmi2);
        out[i + 3] = page_links_take_number(word, &ends, &start, bmi2);
        i += n < 4 ? n : 4;
        while (ends != 0) {
            out[i++] = page_links_take_number(word, &ends, &start, bmi2);
        }
    }
    *count = i < max ? i : max;
    return p;
}

static const uint8_t *decode_varints(const uint8_t *p, const uint8_t *end, size_t max,
                                     uint64_t *out, size_t *count)
{
    return HAS_BMI2() ? decode_varints_with(p, end, max, out, count, true)
                      : decode_varints_with(p, end, max, out, count, false);
}

/* Turns distances into indices. */
static void sum_group(uint64_t index, uint64_t *to, size_t n)
{
    if (n == 0) {
        return;
    }
    uint64_t value = index + (uint64_t)varint_sign_unfold(to[0]);
    to[0] = value;
    for (size_t i = 1; i < n; i++) {
        value += to[i];
        to[i] = value;
    }
}

bool page_links_decode(uint64_t index, const uint8_t *list, size_t length, bool only_diff,
                       uint64_t *to, size_t *n_diff, size_t *n)
{
    const uint8_t *end = list + length;
    uint64_t wanted = 0;
    uint64_t kind_bytes = 0;
    const uint8_t *p = page_links_read_head(list, end, &wanted, &kind_bytes);
    if (p == NULL || wanted > length) {
        return false;
    }
    p = decode_varints(p + kind_bytes, end, only_diff ? (size_t)wanted : SIZE_MAX, to, n);
    if (p == NULL || *n < wanted) {
        return false;
    }
    *n_diff = (size_t)wanted;
    sum_group(index, to, *n_diff);
    sum_group(index, to + *n_diff, *n - *n_diff);
    return true;
}
