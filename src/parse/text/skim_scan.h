/* The inner loops of the skimmer: classes of bytes, and searches that stop at the end of the text.
 *
 * What: SSE2 where there is SSE2, plain loops elsewhere.
 * Threads: pure functions. */
#pragma once

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {                        /* classes of bytes */
       SCAN_SPACE = 1,        /* tab, LF, FF, CR, space */
       SCAN_TAG_NAME_END = 2, /* "/" and ">" */
       SCAN_NAME_END = 4,     /* ends an attribute's name: white space, "/", ">", "=" */
       SCAN_VALUE_END = 8,    /* ends an unquoted value: white space, ">" */
       SCAN_LETTER = 16
};

#define SCAN_WHITE (SCAN_SPACE | SCAN_NAME_END | SCAN_VALUE_END)

/* Rows of the table: two letters, and so on up to the alphabet. */
#define SCAN_2(c) [c] = SCAN_LETTER, [(c) + 1] = SCAN_LETTER
#define SCAN_6(c) SCAN_2(c), SCAN_2((c) + 2), SCAN_2((c) + 4)
#define SCAN_LETTERS(c)                                                                            \
    SCAN_6(c), SCAN_6((c) + 6), SCAN_6((c) + 12), SCAN_6((c) + 18), SCAN_2((c) + 24)

static const uint8_t scan_classes[256] = {
    ['\t'] = SCAN_WHITE,
    ['\n'] = SCAN_WHITE,
    ['\f'] = SCAN_WHITE,
    ['\r'] = SCAN_WHITE,
    [' '] = SCAN_WHITE,
    ['/'] = SCAN_TAG_NAME_END | SCAN_NAME_END,
    ['>'] = SCAN_TAG_NAME_END | SCAN_NAME_END | SCAN_VALUE_END,
    ['='] = SCAN_NAME_END,
    SCAN_LETTERS('A'),
    SCAN_LETTERS('a'),
};

static inline unsigned scan_class(char c)
{
    return scan_classes[(unsigned char)c];
}

/* The first byte of one of the classes, or end. */
static inline const char *find_class(const char *p, const char *end, unsigned classes)
{
    while (p < end && (scan_class(*p) & classes) == 0) {
        p++;
    }
    return p;
}

/* The first byte that is of none of the classes, or end. */
static inline const char *skip_class(const char *p, const char *end, unsigned classes)
{
    while (p < end && (scan_class(*p) & classes) != 0) {
        p++;
    }
    return p;
}

/* The first c, or end. Inline because most distances are short. */
static inline const char *find_byte(const char *p, const char *end, char c)
{
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8(c);
    for (int i = 0; i < 4; i++) {
        if (end - p < 16) {
            break;
        }
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, wanted));
        if (mask != 0) {
            return p + __builtin_ctz(mask);
        }
        p += 16;
    }
#endif
    const char *found = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
    return found == NULL ? end : found;
}

#ifdef __SSE2__
/* Marks the places among sixteen at which the pair begins; reads one byte more. */
static inline __m128i find_pair_marks(const char *p, __m128i first, __m128i letter)
{
    __m128i here = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(p + 1));
    __m128i small = _mm_or_si128(next, _mm_set1_epi8(0x20));
    return _mm_and_si128(_mm_cmpeq_epi8(here, first), _mm_cmpeq_epi8(small, letter));
}
#endif

/* The first place of a byte with this letter behind it, small or capital, or end: "<m", "_c". Looks
 * at 32 places at a time. */
static inline const char *find_pair(const char *p, const char *end, char first, char letter)
{
#ifdef __SSE2__
    const __m128i mark = _mm_set1_epi8(first);
    const __m128i wanted = _mm_set1_epi8(letter);
    for (; end - p > 32; p += 32) {
        __m128i low = find_pair_marks(p, mark, wanted);
        __m128i high = find_pair_marks(p + 16, mark, wanted);
        if (_mm_movemask_epi8(_mm_or_si128(low, high)) != 0) {
            unsigned marks = (unsigned)_mm_movemask_epi8(low) | (unsigned)_mm_movemask_epi8(high)
                                                                    << 16;
            return p + __builtin_ctz(marks);
        }
    }
#endif
    while (end - p > 1 && (*p != first || (p[1] | 0x20) != letter)) {
        p++;
    }
    return end - p > 1 ? p : end;
}
