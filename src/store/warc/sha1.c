#include "store/warc/sha1.h"

#include <string.h>

void sha1_init(Sha1 *sha1)
{
    *sha1 = (Sha1){.h = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}};
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define SHA_NI       __attribute__((target("sha,sse4.1,ssse3"), always_inline)) static inline
#define SHA_NI_ENTRY __attribute__((target("sha,sse4.1,ssse3"))) static

bool sha1_is_fast(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    bool ssse =
        __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
    return ssse && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

/* The five words as the instructions want them: a in the highest lane; e in the highest, alone. */
typedef struct State {
    __m128i abcd;
    __m128i e;
} State;

SHA_NI State sha1_load(const uint32_t h[5])
{
    __m128i abcd = _mm_loadu_si128((const __m128i *)(const void *)h);
    return (State){.abcd = _mm_shuffle_epi32(abcd, 0x1b), .e = _mm_set_epi32((int)h[4], 0, 0, 0)};
}

SHA_NI void sha1_store(uint32_t h[5], State state)
{
    _mm_storeu_si128((__m128i *)(void *)h, _mm_shuffle_epi32(state.abcd, 0x1b));
    h[4] = (uint32_t)_mm_extract_epi32(state.e, 3);
}

/* Four rounds with the words w and the constant of phase k (0..3, a literal). */
#define FOUR(k, w)                                                                                 \
    do {                                                                                           \
        __m128i e = _mm_sha1nexte_epu32(s.e, (w));                                                 \
        s.e = s.abcd;                                                                              \
        s.abcd = _mm_sha1rnds4_epu32(s.abcd, e, (k));                                              \
    } while (0)

/* The next four words of the schedule replace the oldest (a) of the last sixteen. */
#define NEXT(a, b, c, d)                                                                           \
    (a) = _mm_sha1msg2_epu32(_mm_xor_si128(_mm_sha1msg1_epu32((a), (b)), (c)), (d))

/* One block of 64 bytes. */
SHA_NI State sha1_compress(State before, const uint8_t *block)
{
    const __m128i order = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
    const __m128i *in = (const __m128i *)(const void *)block;
    __m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128(in), order);
    __m128i w1 = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), order);
    __m128i w2 = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), order);
    __m128i w3 = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), order);
    State s = before;
    __m128i first = _mm_add_epi32(s.e, w0);
    s.e = s.abcd;
    s.abcd = _mm_sha1rnds4_epu32(s.abcd, first, 0);
    FOUR(0, w1);
    FOUR(0, w2);
    FOUR(0, w3);
    NEXT(w0, w1, w2, w3);
    FOUR(0, w0);
    NEXT(w1, w2, w3, w0);
    FOUR(1, w1);
    NEXT(w2, w3, w0, w1);
    FOUR(1, w2);
    NEXT(w3, w0, w1, w2);
    FOUR(1, w3);
    NEXT(w0, w1, w2, w3);
    FOUR(1, w0);
    NEXT(w1, w2, w3, w0);
    FOUR(1, w1);
    NEXT(w2, w3, w0, w1);
    FOUR(2, w2);
    NEXT(w3, w0, w1, w2);
    FOUR(2, w3);
    NEXT(w0, w1, w2, w3);
    FOUR(2, w0);
    NEXT(w1, w2, w3, w0);
    FOUR(2, w1);
    NEXT(w2, w3, w0, w1);
    FOUR(2, w2);
    NEXT(w3, w0, w1, w2);
    FOUR(3, w3);
    NEXT(w0, w1, w2, w3);
    FOUR(3, w0);
    NEXT(w1, w2, w3, w0);
    FOUR(3, w1);
    NEXT(w2, w3, w0, w1);
    FOUR(3, w2);
    NEXT(w3, w0, w1, w2);
    FOUR(3, w3);
    return (State){.abcd = _mm_add_epi32(s.abcd, before.abcd),
                   .e = _mm_sha1nexte_epu32(s.e, before.e)};
}

SHA_NI_ENTRY void compress_many(uint32_t h[5], const uint8_t *blocks, size_t n)
{
    State s = sha1_load(h);
    for (size_t i = 0; i < n; i++) {
        s = sha1_compress(s, blocks + 64 * i);
    }
    sha1_store(h, s);
}

/* Two chains that do not depend on each other: the processor overlaps them. */
SHA_NI_ENTRY void compress_two(uint32_t h_a[5], const uint8_t *a, uint32_t h_b[5], const uint8_t *b,
                               size_t n)
{
    State s_a = sha1_load(h_a);
    State s_b = sha1_load(h_b);
    for (size_t i = 0; i < n; i++) {
        s_a = sha1_compress(s_a, a + 64 * i);
        s_b = sha1_compress(s_b, b + 64 * i);
    }
    sha1_store(h_a, s_a);
    sha1_store(h_b, s_b);
}

#else

bool sha1_is_fast(void)
{
    return false;
}

/* Never called: sha1_is_fast said no. */
static void compress_many(uint32_t h[5], const uint8_t *blocks, size_t n)
{
    (void)h;
    (void)blocks;
    (void)n;
}

static void compress_two(uint32_t h_a[5], const uint8_t *a, uint32_t h_b[5], const uint8_t *b,
                         size_t n)
{
    compress_many(h_a, a, n);
    compress_many(h_b, b, n);
}

#endif

/* Fills the partial block; returns how many bytes it took. Afterwards the block is empty, or the
 * bytes are used up. */
static size_t fill_partial(Sha1 *sha1, const uint8_t *bytes, size_t length)
{
    sha1->length += length;
    if (sha1->n_partial == 0) {
        return 0;
    }
    size_t room = sizeof sha1->partial - sha1->n_partial;
    size_t n = length < room ? length : room;
    memcpy(sha1->partial + sha1->n_partial, bytes, n);
    sha1->n_partial += n;
    if (sha1->n_partial == sizeof sha1->partial) {
        compress_many(sha1->h, sha1->partial, 1);
        sha1->n_partial = 0;
    }
    return n;
}

/* Takes whole blocks, and keeps what is left. */
static void sha1_take(Sha1 *sha1, const uint8_t *bytes, size_t length)
{
    size_t n = length / 64;
    if (n > 0) {
        compress_many(sha1->h, bytes, n);
    }
    size_t rest = length - 64 * n;
    if (rest > 0) {
        memcpy(sha1->partial, bytes + 64 * n, rest);
        sha1->n_partial = rest;
    }
}

void sha1_update(Sha1 *sha1, const void *bytes, size_t length)
{
    const uint8_t *in = bytes;
    if (length > 0) {
        size_t n = fill_partial(sha1, in, length);
        sha1_take(sha1, in + n, length - n);
    }
}

void sha1_update_pair(Sha1 *a, Sha1 *b, const void *bytes, size_t length)
{
    const uint8_t *in = bytes;
    if (length == 0) {
        return;
    }
    size_t at_a = fill_partial(a, in, length);
    size_t at_b = fill_partial(b, in, length);
    size_t n = (length - (at_a > at_b ? at_a : at_b)) / 64;
    if (n > 0) {
        compress_two(a->h, in + at_a, b->h, in + at_b, n);
        at_a += 64 * n;
        at_b += 64 * n;
    }
    sha1_take(a, in + at_a, length - at_a);
    sha1_take(b, in + at_b, length - at_b);
}

void sha1_final(Sha1 *sha1, uint8_t digest[SHA1_BYTES])
{
    uint8_t block[128] = {0};
    size_t n = sha1->n_partial;
    size_t blocks = n + 9 <= 64 ? 1 : 2;
    memcpy(block, sha1->partial, n);
    block[n] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        block[64 * blocks - 1 - i] = (uint8_t)(sha1->length * 8 >> (8 * i));
    }
    compress_many(sha1->h, block, blocks);
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 4; k++) {
            digest[4 * i + k] = (uint8_t)(sha1->h[i] >> (24 - 8 * k));
        }
    }
}
