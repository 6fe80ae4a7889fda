#include "parse/trap/trap_content.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/core/ascii.h"
#include "parse/text/skim_scan.h"
#include "parse/trap/trap.h"

#define URL_NUMBERS 16u
#define NO_NUMBER   UINT32_MAX
#define MAX_DIGITS  9u /* longer numbers count as they are */
#define YEAR_DIGITS 4
#define BLOCK_BYTES 64

typedef struct Reader {
    uint64_t hash;    /* of what is before `from` */
    const char *from; /* what counts as it is, and is not hashed yet, begins here */
    const char *body;
    const char *end;
    const char *path; /* of the page */
    const char *path_end;
    bool path_has_number;
    bool in_tag;
    const char *value_end; /* no attribute begins before it: each byte is in one value at most */
    uint32_t last;         /* number in the text; NO_NUMBER = none */
    uint32_t numbers[URL_NUMBERS]; /* of the page's URL */
    size_t n_numbers;
} Reader;

/* What there is among 64 bytes: a bit for each byte. */
typedef struct Block {
    uint64_t words; /* letters and digits */
    uint64_t digits;
    uint64_t marks;     /* "<", "=" and ">" */
    uint64_t tags;      /* "<" */
    uint64_t months[2]; /* their first letters, and their second letters */
} Block;

/* What stands for all of a kind; no byte of UTF-8. */
enum { ANY_IDENTIFIER = 0xFF, ANY_MONTH = 0xFE, ANY_NUMBER = 0xFD };

static bool trap_content_is_letter(char c)
{
    return (scan_class(c) & SCAN_LETTER) != 0;
}

static bool trap_content_is_word(char c)
{
    return trap_content_is_letter(c) || ascii_is_digit(c);
}

static bool trap_content_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Hashes what counts as it is, up to p. */
static void trap_content_flush(Reader *reader, const char *p)
{
    if (p > reader->from) {
        reader->hash = hash_64(reader->from, (size_t)(p - reader->from), reader->hash);
    }
}

/* The bytes from p to end are left out. */
static void trap_content_leave_out(Reader *reader, const char *p, const char *end)
{
    trap_content_flush(reader, p);
    reader->from = end;
}

/* A token stands for the bytes from p to end. */
static void trap_content_replace(Reader *reader, const char *p, const char *end, uint8_t token)
{
    trap_content_leave_out(reader, p, end);
    reader->hash = hash_64(&token, sizeof token, reader->hash);
}

/* The value of a word that is a number; NO_NUMBER for others. */
static uint32_t trap_content_number_of(const char *word, size_t length)
{
    uint64_t value = 0;
    bool is_one = length <= MAX_DIGITS && ascii_number(word, length, UINT32_MAX, &value);
    return is_one ? (uint32_t)value : NO_NUMBER;
}

static void read_url_numbers(Reader *reader, const Url *url)
{
    const char *p = url->href + url->path_start;
    const char *end = url->href + url->length;
    while (p < end && reader->n_numbers < URL_NUMBERS) {
        const char *start = p;
        while (p < end && ascii_is_digit(*p)) {
            p++;
        }
        uint32_t value = p > start ? trap_content_number_of(start, (size_t)(p - start)) : NO_NUMBER;
        if (value != NO_NUMBER) {
            reader->numbers[reader->n_numbers++] = value;
        }
        p += p == start;
    }
}

static bool is_near_url(const Reader *reader, uint32_t value)
{
    for (size_t i = 0; i < reader->n_numbers; i++) {
        if (value + 1 >= reader->numbers[i] && value <= reader->numbers[i] + 1) {
            return true;
        }
    }
    return false;
}

static bool is_month(const char *word, size_t length)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    char lower[9];
    if (length < 3 || length > sizeof lower) {
        return false;
    }
    lower[0] = (char)(word[0] | 0x20);
    lower[1] = (char)(word[1] | 0x20);
    lower[2] = (char)(word[2] | 0x20);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (lower[2] != names[i][2] || lower[0] != names[i][0] || lower[1] != names[i][1]) {
            continue;
        }
        for (size_t at = 3; at < length; at++) {
            lower[at] = (char)(word[at] | 0x20);
        }
        return length == 3 || (strlen(names[i]) == length && memcmp(lower, names[i], length) == 0);
    }
    return false;
}

/* Walks over a pair of equal bytes, or of numbers. */
static bool step_alike(const char **a, const char *a_end, const char **b, const char *b_end)
{
    if (*a == a_end || *b == b_end || (ascii_is_digit(**a) ? !ascii_is_digit(**b) : **a != **b)) {
        return false;
    }
    if (!ascii_is_digit(**a)) {
        (*a)++;
        (*b)++;
        return true;
    }
    while (*a < a_end && ascii_is_digit(**a)) {
        (*a)++;
    }
    while (*b < b_end && ascii_is_digit(**b)) {
        (*b)++;
    }
    return true;
}

/* Behind "scheme://authority" or "//authority", when the reference has one. */
static const char *skip_authority(const char *p, const char *end)
{
    const char *colon = memchr(p, ':', (size_t)(end - p));
    const char *slashes = colon != NULL ? colon + 1 : p;
    if (end - slashes < 2 || slashes[0] != '/' || slashes[1] != '/') {
        return p;
    }
    const char *slash = memchr(slashes + 2, '/', (size_t)(end - slashes - 2));
    return slash != NULL ? slash : end;
}

/* Whether a reference leads to the page itself, or to one that only numbers tell from it. */
static bool trap_content_is_own(const Reader *reader, const char *p, const char *end)
{
    const char *stop = p;
    while (stop < end && *stop != '?' && *stop != '#') {
        stop++;
    }
    p = skip_authority(p, stop);
    if (p == stop) {
        return stop < end && *stop == '?';
    }
    const char *own = reader->path;
    if (*p != '/') { /* relative to the folder of the page */
        for (const char *q = own; q < reader->path_end; q++) {
            own = *q == '/' ? q + 1 : own;
        }
    }
    while (step_alike(&own, reader->path_end, &p, stop)) {
    }
    if (own < reader->path_end) {
        return false;
    }
    if (p < stop && (!reader->path_has_number || (*p != '/' && own[-1] != '/'))) {
        return false;
    }
    while (p < stop && (ascii_is_digit(*p) || *p == '/')) {
        p++;
    }
    return p == stop;
}

/* Whether the attribute whose "=" this is may lead to a page: href or action. */
static bool is_link(const Reader *reader, const char *equals)
{
    const char *end = equals;
    while (end > reader->value_end && trap_content_is_space(end[-1])) {
        end--;
    }
    for (size_t length = 4; length <= 6; length += 2) {
        const char *name = length == 4 ? "href" : "action";
        const char *p = end - length;
        if (end - reader->body > (ptrdiff_t)length && !trap_content_is_word(p[-1])) {
            size_t i = 0;
            while (i < length && (p[i] | 0x20) == name[i]) {
                i++;
            }
            if (i == length) {
                return true;
            }
        }
    }
    return false;
}

/* At the "=" of an attribute: the value of one that leads to the page itself is left out. Returns
 * where to go on. */
static const char *trap_content_read_value(Reader *reader, const char *equals)
{
    const char *p = equals + 1;
    const char *stop = NULL;
    if (!is_link(reader, equals)) {
        return p;
    }
    while (p < reader->end && trap_content_is_space(*p)) {
        p++;
    }
    if (p < reader->end && (*p == '"' || *p == '\'')) {
        stop = memchr(p + 1, *p, (size_t)(reader->end - p - 1));
        p++;
    } else {
        stop = p;
        while (stop < reader->end && !trap_content_is_space(*stop) && *stop != '>') {
            stop++;
        }
    }
    if (stop == NULL) {
        return equals + 1;
    }
    reader->value_end = stop;
    if (!trap_content_is_own(reader, p, stop)) {
        return equals + 1;
    }
    trap_content_leave_out(reader, equals + 1, stop);
    return stop;
}

/* A number in the text. */
static void trap_content_read_number(Reader *reader, const char *word, const char *end)
{
    uint32_t value = trap_content_number_of(word, (size_t)(end - word));
    uint32_t last = reader->last;
    if (value == NO_NUMBER) {
        return;
    }
    reader->last = value;
    if ((last != NO_NUMBER && value == last + 1) || is_near_url(reader, value)) {
        trap_content_replace(reader, word, end, ANY_NUMBER);
    }
}

#ifdef __SSE2__
static uint64_t bits(__m128i bytes)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(bytes);
}

static __m128i trap_content_in_range(__m128i bytes, char first, char span)
{
    __m128i x = _mm_sub_epi8(bytes, _mm_set1_epi8(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(span)), x);
}

static __m128i trap_content_is(__m128i bytes, char c)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

/* a, d, f, j, m, n, o or s */
static __m128i is_month_first(__m128i lower)
{
    __m128i a_to_j =
        _mm_or_si128(_mm_or_si128(trap_content_is(lower, 'a'), trap_content_is(lower, 'd')),
                     _mm_or_si128(trap_content_is(lower, 'f'), trap_content_is(lower, 'j')));
    return _mm_or_si128(
        a_to_j, _mm_or_si128(trap_content_in_range(lower, 'm', 2), trap_content_is(lower, 's')));
}

/* a, c, e, o, p or u */
static __m128i is_month_second(__m128i lower)
{
    __m128i a_to_e =
        _mm_or_si128(_mm_or_si128(trap_content_is(lower, 'a'), trap_content_is(lower, 'c')),
                     trap_content_is(lower, 'e'));
    return _mm_or_si128(
        a_to_e, _mm_or_si128(trap_content_in_range(lower, 'o', 1), trap_content_is(lower, 'u')));
}

static void trap_content_look(Block *block, const char bytes[BLOCK_BYTES])
{
    *block = (Block){.words = 0};
    for (unsigned i = 0; i < BLOCK_BYTES; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
        __m128i lower = _mm_or_si128(x, _mm_set1_epi8(0x20));
        __m128i digits = trap_content_in_range(x, '0', 9);
        block->words |= bits(_mm_or_si128(trap_content_in_range(lower, 'a', 25), digits)) << i;
        block->digits |= bits(digits) << i;
        block->marks |= bits(trap_content_in_range(x, '<', 2)) << i;
        block->tags |= bits(trap_content_is(x, '<')) << i;
        block->months[0] |= bits(is_month_first(lower)) << i;
        block->months[1] |= bits(is_month_second(lower)) << i;
    }
}
#else
static void trap_content_look(Block *block, const char bytes[BLOCK_BYTES])
{
    *block = (Block){.words = 0};
    for (unsigned i = 0; i < BLOCK_BYTES; i++) {
        char c = bytes[i];
        char lower = (char)(c | 0x20);
        block->words |= (uint64_t)trap_content_is_word(c) << i;
        block->digits |= (uint64_t)ascii_is_digit(c) << i;
        block->marks |= (uint64_t)(c >= '<' && c <= '>') << i;
        block->tags |= (uint64_t)(c == '<') << i;
        block->months[0] |= (uint64_t)(memchr("adfjmnos", lower, 8) != NULL) << i;
        block->months[1] |= (uint64_t)(memchr("aceopu", lower, 6) != NULL) << i;
    }
}
#endif

/* The word that p is in, none of which is before `from`. */
static const char *read_around(Reader *reader, const char *p, const char *from)
{
    const char *stop = p;
    bool digits = false;
    while (p > from && trap_content_is_word(p[-1])) {
        p--;
    }
    for (; stop < reader->end && trap_content_is_word(*stop); stop++) {
        digits = digits || ascii_is_digit(*stop);
    }
    /* A word; digits: some of it are. Returns where to go on. */
    size_t length = (size_t)(stop - p);
    /* One UUID in 2 500 has no digit in its first group: it is not looked for. */
    bool may_be = digits && length >= TRAP_LEAST_IDENTIFIER;
    size_t n = may_be ? trap_identifier(reader->body, p, reader->end) : 0;
    if (n > 0) {
        trap_content_replace(reader, p, p + n, ANY_IDENTIFIER);
        return p + n;
    }
    if (digits && !reader->in_tag) {
        trap_content_read_number(reader, p, stop);
    } else if (!digits && is_month(p, length)) {
        trap_content_replace(reader, p, stop, ANY_MONTH);
    }
    return stop;
}

static const char *read_mark(Reader *reader, const char *p)
{
    if (*p == '=') {
        return p >= reader->value_end ? trap_content_read_value(reader, p) : p + 1;
    }
    reader->in_tag =
        *p == '<' && p + 1 < reader->end && (trap_content_is_letter(p[1]) || p[1] == '/');
    return p + 1;
}

/* The bytes at `from`, up to 64, of which those before p are read. Returns where to go on. Most
 * words are passed over: they have no digit, and do not begin as months do. */
static const char *trap_content_read_block(Reader *reader, const char *from, const char *p)
{
    size_t size = (size_t)(reader->end - from);
    char last[BLOCK_BYTES] = {0};
    Block block;
    if (size < BLOCK_BYTES) {
        memcpy(last, from, size);
    }
    trap_content_look(&block, size < BLOCK_BYTES ? last : from);
    uint64_t seconds = block.months[1] >> 1 | UINT64_C(1) << 63; /* the next block has that one */
    uint64_t months = block.words & ~(block.words << 1) & block.months[0] & seconds;
    uint64_t in_text = block.digits | block.tags | months;
    uint64_t in_tag = block.digits | block.marks;
    while (p < from + BLOCK_BYTES) {
        unsigned bit = p > from ? (unsigned)(p - from) : 0;
        uint64_t events = (reader->in_tag ? in_tag : in_text) >> bit;
        if (events == 0) {
            break;
        }
        bit += (unsigned)__builtin_ctzll(events);
        bool is_mark = (block.marks >> bit & 1) != 0;
        p = is_mark ? read_mark(reader, from + bit) : read_around(reader, from + bit, p);
    }
    return p;
}

/* The end of a number in a path. One with dots in it is a version (4.2, 1.5.4) and counts once,
 * unless a part of it may be a year: then it is a date (2031.05.01), and its parts count. */
static const char *number_end(const char *p, const char *end)
{
    const char *first_end = NULL;
    for (;;) {
        const char *start = p;
        while (p < end && ascii_is_digit(*p)) {
            p++;
        }
        first_end = first_end == NULL ? p : first_end;
        if (p - start == YEAR_DIGITS) {
            return first_end;
        }
        if (end - p < 2 || *p != '.' || !ascii_is_digit(p[1])) {
            return p;
        }
        p++;
    }
}

bool trap_content_is_due(const Url *url)
{
    const char *start = url->href + url->path_start;
    const char *end = url->href + url->query_start;
    unsigned n_numbers = 0;
    bool identifier = false;
    const char *known = start; /* the number that ends here was counted */
    for (const char *p = start; p < end; p++) {
        if (p >= known && ascii_is_digit(*p) && !trap_content_is_word(p[-1])) {
            n_numbers++;
            known = number_end(p, end);
        }
        identifier = identifier || trap_identifier(start, p, end) > 0;
    }
    return url->query_start < url->length || n_numbers >= 2 || identifier;
}

uint64_t trap_content_hash(const Url *url, const char *body, size_t length)
{
    Reader reader = {.hash = UINT64_C(0xCBF29CE484222325),
                     .from = body,
                     .body = body,
                     .end = body + length,
                     .path = url->href + url->path_start,
                     .path_end = url->href + url->query_start,
                     .value_end = body,
                     .last = NO_NUMBER};
    read_url_numbers(&reader, url);
    for (const char *p = reader.path; p < reader.path_end; p++) {
        reader.path_has_number = reader.path_has_number || ascii_is_digit(*p);
    }
    const char *p = body;
    for (const char *from = body; from < reader.end; from += BLOCK_BYTES) {
        if (p < from + BLOCK_BYTES) {
            p = trap_content_read_block(&reader, from, p);
        }
        if (reader.end - from <= BLOCK_BYTES) {
            break; /* no pointer beyond the end */
        }
    }
    trap_content_flush(&reader, reader.end);
    return reader.hash | 1;
}
