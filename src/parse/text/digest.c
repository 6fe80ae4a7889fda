#include "parse/text/digest.h"

#include <stdlib.h>
#include <string.h>

/* ---- Simhash ---- */

/* ---- counting ---- */

/* Adds three bits of equal weight for 64 columns: the sum bit stays in *a, the carry is returned.
 */
static uint64_t add_3(uint64_t *a, uint64_t b, uint64_t c)
{
    uint64_t u = *a ^ b;
    uint64_t carry = (*a & b) | (u & c);
    *a = u ^ c;
    return carry;
}

void simhash_flush(SimhashCounter *counter)
{
    for (unsigned i = 0; counter->bins != NULL && i < counter->n_batch; i++) {
        sketch_add(counter->bins, counter->batch[i]);
    }
    for (unsigned i = counter->n_batch; i < SIMHASH_BATCH; i++) {
        counter->batch[i] = 0;
    }
    const uint64_t *h = counter->batch;
    uint64_t *planes = counter->planes;
    uint64_t twos_a = add_3(&planes[0], h[0], h[1]);
    uint64_t twos_b = add_3(&planes[0], h[2], h[3]);
    uint64_t fours_a = add_3(&planes[1], twos_a, twos_b);
    twos_a = add_3(&planes[0], h[4], h[5]);
    twos_b = add_3(&planes[0], h[6], h[7]);
    uint64_t fours_b = add_3(&planes[1], twos_a, twos_b);
    uint64_t carry = add_3(&planes[2], fours_a, fours_b);
    for (unsigned k = 3; carry != 0 && k < SIMHASH_PLANES; k++) {
        uint64_t next = planes[k] & carry;
        planes[k] ^= carry;
        carry = next;
    }
    counter->n += counter->n_batch;
    counter->n_batch = 0;
}

uint64_t simhash_of_counter(SimhashCounter *counter)
{
    simhash_flush(counter);
    /* Compares all 64 counts with half of n, from the highest plane down. */
    uint64_t half = counter->n / 2;
    uint64_t greater = 0;
    uint64_t equal = ~UINT64_C(0);
    for (unsigned k = SIMHASH_PLANES; k-- > 0;) {
        uint64_t bit = (half >> k & 1) != 0 ? ~UINT64_C(0) : 0;
        greater |= equal & counter->planes[k] & ~bit;
        equal &= ~(counter->planes[k] ^ bit);
    }
    return greater;
}

/* ---- What a page says, as fingerprints ---- */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "parse/text/entities.h"
#include "parse/text/skim_scan.h"

#define STREAM_SPARE 1024 /* blocks of 16 are written past the end */
#define MARK_START   0x01 /* tags in the stream: three bytes below ' ', so that words end there */
#define MARK_END     0x02
#define HOST_MAX     256

typedef struct Words {
    SimhashCounter counter;
    uint64_t hashes[2]; /* of the two words before */
    uint64_t n;
    uint64_t bytes;
} Words;

/* The stream is hashed when it is full enough (digest_drain) and at the end (digest_finish), a page
 * that is in memory at the end alone. Two ends of it move apart: the hash takes all that was
 * written, words only those that are complete, and what belongs to the last word stays at the front
 * of the stream until the rest of it comes. */
struct DigestDone {
    HashStream *hash;
    size_t hashed; /* bytes at the front of the stream that the hash has, of an open word */
    size_t host;   /* and bytes that are no words */
    bool any;      /* something besides the host was hashed */
    Words words;
};

void digest_init(Digest *digest)
{
    memset(digest, 0, sizeof *digest);
}

void digest_destroy(Digest *digest)
{
    free(digest->stream);
    if (digest->done != NULL) {
        hash_stream_delete(digest->done->hash);
        free(digest->done);
    }
    digest_init(digest);
}

void digest_trim(Digest *digest, size_t keep_bytes)
{
    if (digest->capacity > keep_bytes) {
        digest_destroy(digest);
    }
}

/* Room for a stream of need bytes, and for what was hashed of it. */
static Result digest_reserve(Digest *digest, size_t need)
{
    if (digest->done == NULL) {
        digest->done = calloc(1, sizeof *digest->done);
        if (digest->done == NULL) {
            return RESULT_MEMORY;
        }
    }
    if (digest->done->hash == NULL) {
        digest->done->hash = hash_stream_new();
    }
    if (need > digest->capacity) {
        char *stream = realloc(digest->stream, need);
        if (stream == NULL) {
            return RESULT_MEMORY;
        }
        digest->stream = stream;
        digest->capacity = need;
    }
    return digest->done->hash == NULL ? RESULT_MEMORY : RESULT_OK;
}

Result digest_begin(Digest *digest, size_t text_bytes, const char *host, size_t host_length)
{
    Result rc = digest_reserve(digest, text_bytes + text_bytes / 4 + STREAM_SPARE);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (digest->numbers != NULL) {
        *digest->numbers = (NumberList){.n = 0};
    }
    if (digest->bins != NULL) {
        memset(digest->bins, 0, sizeof *digest->bins);
    }
    /* The host alone is no stream: see digest_finish. */
    size_t n = host_length < HOST_MAX ? host_length : HOST_MAX;
    memcpy(digest->stream, n > 0 ? host : "", n);
    digest->stream[n] = '\0';
    digest->length = n + 1;
    digest->in_space = false;
    HashStream *hash = digest->done->hash;
    hash_stream_reset(hash);
    *digest->done =
        (DigestDone){.hash = hash, .host = digest->length, .words = {.counter.bins = digest->bins}};
    return RESULT_OK;
}

/* ---- normalising ---- */

static bool digest_is_blank(unsigned char c)
{
    return c == ' ' || (c >= '0' && c <= '9') || (c >= '\t' && c <= '\r');
}

static void normalise_bytes(Digest *digest, const char *text, size_t length)
{
    char *out = digest->stream + digest->length;
    unsigned before = digest->in_space ? 1 : 0;
    for (size_t i = 0; i < length; i++) {
        unsigned blank = digest_is_blank((unsigned char)text[i]) ? 1 : 0;
        *out = (char)(blank != 0 ? ' ' : text[i]);
        out += 1 - (blank & before);
        before = blank;
    }
    digest->length = (size_t)(out - digest->stream);
    digest->in_space = before != 0;
}

#ifdef __SSE2__
static __m128i digest_in_range(__m128i bytes, char first, char span)
{
    __m128i x = _mm_sub_epi8(bytes, _mm_set1_epi8(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(span)), x);
}

/* Sixteen bytes at a time while no two blanks are neighbours, which in prose they seldom are. */
static size_t normalise_blocks(Digest *digest, const char *text, size_t length)
{
    size_t i = 0;
    const __m128i space = _mm_set1_epi8(' ');
    for (; i + 16 <= length; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(text + i));
        __m128i blank =
            _mm_or_si128(_mm_or_si128(digest_in_range(x, '\t', 4), digest_in_range(x, '0', 9)),
                         _mm_cmpeq_epi8(x, space));
        unsigned mask = (unsigned)_mm_movemask_epi8(blank);
        if ((mask & (mask << 1 | (digest->in_space ? 1u : 0u))) != 0) {
            normalise_bytes(digest, text + i, 16);
            continue;
        }
        x = _mm_or_si128(_mm_andnot_si128(blank, x), _mm_and_si128(blank, space));
        _mm_storeu_si128((__m128i *)(void *)(digest->stream + digest->length), x);
        digest->length += 16;
        digest->in_space = (mask & 0x8000u) != 0;
    }
    return i;
}
#else
static size_t normalise_blocks(Digest *digest, const char *text, size_t length)
{
    (void)digest;
    (void)text;
    (void)length;
    return 0;
}
#endif

static void digest_normalise(Digest *digest, const char *text, size_t length)
{
    size_t done = normalise_blocks(digest, text, length);
    normalise_bytes(digest, text + done, length - done);
}

void digest_text(Digest *digest, const char *text, size_t length, bool decode)
{
    const char *p = text;
    const char *end = text + length;
    if (digest->numbers != NULL) {
        numbers_add(digest->numbers, text, length);
    }
    while (decode && p < end) {
        const char *amp = find_byte(p, end, '&');
        if (amp == end) {
            break;
        }
        char value[ENTITY_MAX_BYTES];
        size_t n = 0;
        size_t used = entity_read(amp, (size_t)(end - amp), false, value, &n);
        digest_normalise(digest, p, (size_t)(amp - p) + (used == 0 ? 1 : 0));
        normalise_bytes(digest, value, n);
        p = amp + (used == 0 ? 1 : used);
    }
    digest_normalise(digest, p, (size_t)(end - p));
}

void digest_tag(Digest *digest, unsigned id, bool is_end)
{
    char *out = digest->stream + digest->length;
    out[0] = is_end ? MARK_END : MARK_START;
    out[1] = (char)(1 + (id >> 4));
    out[2] = (char)(1 + (id & 15));
    digest->length += 3;
    digest->in_space = false;
}

void digest_frame(Digest *digest, const char *src, size_t length)
{
    digest->stream[digest->length++] = '"';
    memcpy(digest->stream + digest->length, src, length);
    digest->length += length;
    digest->stream[digest->length++] = '"';
    digest->in_space = false;
}

/* ---- words ---- */

__extension__ typedef unsigned __int128 Product;

#define KEEP_1(n) ((n) >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * ((n)&7))) - 1)
#define KEEP_2(n) ((n) <= 8 ? UINT64_C(0) : KEEP_1((n)-8))
#define KEEP(n)                                                                                    \
    {                                                                                              \
        KEEP_1(n), KEEP_2(n)                                                                       \
    }

/* A word's hash. Sixteen bytes can be read at p, whatever its length: the stream has room behind.
 * One multiplication, no branch for the usual lengths: this is done for every word of every page.
 */
static uint64_t word_hash(const char *p, size_t length)
{
    static const uint64_t keep[17][2] = {KEEP(0),  KEEP(1),  KEEP(2),  KEEP(3),  KEEP(4),  KEEP(5),
                                         KEEP(6),  KEEP(7),  KEEP(8),  KEEP(9),  KEEP(10), KEEP(11),
                                         KEEP(12), KEEP(13), KEEP(14), KEEP(15), KEEP(16)};
    if (length > 16) {
        return hash_64(p, length, 0);
    }
    uint64_t words[2];
    memcpy(words, p, sizeof words);
    words[0] = (words[0] & keep[length][0]) ^ UINT64_C(0x9E3779B97F4A7C15);
    words[1] = (words[1] & keep[length][1]) ^ UINT64_C(0xC2B2AE3D27D4EB4F);
    Product product = (Product)words[0] * words[1];
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void add_word(Words *words, const char *p, size_t length)
{
    uint64_t h = word_hash(p, length);
    if (words->n >= 2) {
        uint64_t shingle = (words->hashes[0] << 21 | words->hashes[0] >> 43) +
                           (words->hashes[1] << 42 | words->hashes[1] >> 22) + h;
        simhash_add(&words->counter, shingle);
    }
    words->hashes[0] = words->hashes[1];
    words->hashes[1] = h;
    words->n++;
    words->bytes += length;
}

/* A bit for each of the 64 bytes at p that ends a word: white space and marks of tags. */
static uint64_t separators_64(const char *p)
{
    uint64_t mask = 0;
#ifdef __SSE2__
    for (unsigned k = 0; k < 4; k++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + (size_t)k * 16));
        unsigned bits =
            (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(' ')), x));
        mask |= (uint64_t)bits << (16 * k);
    }
#else
    for (unsigned k = 0; k < 64; k++) {
        mask |= (uint64_t)((unsigned char)p[k] <= ' ' ? 1 : 0) << k;
    }
#endif
    return mask;
}

/* stream[length..length + 64) are separators: every word ends, and no block shows more. */
static void add_words(Words *words, const char *stream, size_t length)
{
    uint64_t carry = 1; /* whether the byte before the block is a separator */
    size_t start = 0;
    bool open = false; /* a word began in a block before */
    for (size_t block = 0; block <= length; block += 64) {
        uint64_t mask = separators_64(stream + block);
        uint64_t before = mask << 1 | carry;
        uint64_t starts = ~mask & before;
        uint64_t ends = mask & ~before;
        carry = mask >> 63;
        if (open && ends != 0) {
            add_word(words, stream + start, block + (size_t)__builtin_ctzll(ends) - start);
            ends &= ends - 1;
            open = false;
        }
        for (; ends != 0; ends &= ends - 1, starts &= starts - 1) {
            unsigned at = (unsigned)__builtin_ctzll(starts);
            add_word(words, stream + block + at, (unsigned)__builtin_ctzll(ends) - at);
        }
        if (starts != 0) {
            start = block + (size_t)__builtin_ctzll(starts);
            open = true;
        }
    }
}

/* Adds the words of stream[from..to), where a word ends whatever follows. */
static void add_words_to(Digest *digest, Words *words, size_t from, size_t to)
{
    char behind[2 * 64];
    char *end = digest->stream + to;
    memcpy(behind, end, sizeof behind);
    memset(end, 0, sizeof behind);
    add_words(words, digest->stream + from, to - from);
    memcpy(end, behind, sizeof behind);
}

static void hash_rest(Digest *digest)
{
    DigestDone *done = digest->done;
    hash_stream_add(done->hash, digest->stream + done->hashed, digest->length - done->hashed);
    done->any = done->any || digest->length > done->host;
    done->hashed = digest->length;
}

void digest_drain(Digest *digest)
{
    DigestDone *done = digest->done;
    if (done == NULL || digest->length < DIGEST_DRAIN_BYTES) {
        return;
    }
    size_t cut = digest->length;
    while (cut > done->host && (unsigned char)digest->stream[cut - 1] > ' ') {
        cut--;
    }
    if (cut == done->host) { /* one word */
        if (digest->length < DIGEST_WORD_BYTES) {
            return;
        }
        cut = digest->length;
    }
    hash_rest(digest);
    add_words_to(digest, &done->words, done->host, cut);
    memmove(digest->stream, digest->stream + cut, digest->length - cut);
    digest->length -= cut;
    done->hashed = digest->length;
    done->host = 0;
}

DigestResult digest_finish(Digest *digest)
{
    DigestResult result = {.text = {0, 0}, .simhash = 0};
    DigestDone *done = digest->done;
    if (done == NULL) {
        return result;
    }
    hash_rest(digest);
    if (!done->any) {
        return result;
    }
    result.text = hash_stream_result(done->hash);
    Words *words = &done->words;
    add_words_to(digest, words, done->host, digest->length);
    result.text_bytes = words->bytes;
    result.words = words->n;
    if (words->n >= DIGEST_MIN_WORDS) {
        result.simhash = simhash_of_counter(&words->counter);
    }
    return result;
}
