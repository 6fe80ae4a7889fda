#include "parse/trap/trap_content.h"

#include <string.h>

#include "base/core/hash.h"
#include "parse/text/skim_scan.h"
#include "parse/trap/trap.h"

#define URL_NUMBERS 16u
#define NO_NUMBER   UINT32_MAX
#define MAX_DIGITS  9u /* longer numbers count as they are */
#define YEAR_DIGITS 4
#define UUID_GROUP  8 /* hexadecimal digits before its first dash */

typedef struct Reader {
    uint64_t hash;    /* of what is before `from` */
    const char *from; /* what counts as it is, and is not hashed yet, begins here */
    const char *body;
    const char *end;
    const char *path; /* of the page */
    const char *path_end;
    bool path_has_number;
    bool in_tag;
    const char *name; /* the last word in this tag: of an attribute, when "=" follows */
    size_t name_length;
    const char *value_end; /* no attribute begins before it: each byte is in one value at most */
    uint32_t last;         /* number in the text; NO_NUMBER = none */
    uint32_t numbers[URL_NUMBERS]; /* of the page's URL */
    size_t n_numbers;
} Reader;

/* What stands for all of a kind; no byte of UTF-8. */
enum { ANY_IDENTIFIER = 0xFF, ANY_MONTH = 0xFE, ANY_NUMBER = 0xFD };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (scan_class(c) & SCAN_LETTER) != 0;
}

enum { WORD_LETTER = 1, WORD_DIGIT = 2 };

/* 0: of no word. */
static unsigned word_class(char c)
{
    return is_letter(c) ? (unsigned)WORD_LETTER : is_digit(c) ? (unsigned)WORD_DIGIT : 0U;
}

static bool is_word(char c)
{
    return word_class(c) != 0;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Hashes what counts as it is, up to p. */
static void flush(Reader *reader, const char *p)
{
    if (p > reader->from) {
        reader->hash = hash_64(reader->from, (size_t)(p - reader->from), reader->hash);
    }
}

/* The bytes from p to end are left out. */
static void leave_out(Reader *reader, const char *p, const char *end)
{
    flush(reader, p);
    reader->from = end;
}

/* A token stands for the bytes from p to end. */
static void replace(Reader *reader, const char *p, const char *end, uint8_t token)
{
    leave_out(reader, p, end);
    reader->hash = hash_64(&token, sizeof token, reader->hash);
}

/* The value of a word that is a number; NO_NUMBER for others. */
static uint32_t number_of(const char *word, size_t length)
{
    uint32_t value = 0;
    if (length > MAX_DIGITS) {
        return NO_NUMBER;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(word[i])) {
            return NO_NUMBER;
        }
        value = value * 10 + (uint32_t)(word[i] - '0');
    }
    return value;
}

static void read_url_numbers(Reader *reader, const Url *url)
{
    const char *p = url->href + url->path_start;
    const char *end = url->href + url->length;
    while (p < end && reader->n_numbers < URL_NUMBERS) {
        const char *start = p;
        while (p < end && is_digit(*p)) {
            p++;
        }
        uint32_t value = p > start ? number_of(start, (size_t)(p - start)) : NO_NUMBER;
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

/* The first letters of months, a bit for each: a is 1, as in ASCII. */
#define LETTER_BIT(c) (UINT32_C(1) << ((c)&31))
#define MONTH_LETTERS                                                                              \
    (LETTER_BIT('a') | LETTER_BIT('d') | LETTER_BIT('f') | LETTER_BIT('j') | LETTER_BIT('m') |     \
     LETTER_BIT('n') | LETTER_BIT('o') | LETTER_BIT('s'))

static bool is_month(const char *word, size_t length)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    char lower[9];
    if (length < 3 || length > sizeof lower || (MONTH_LETTERS >> (word[0] & 31) & 1) == 0) {
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
    if (*a == a_end || *b == b_end || (is_digit(**a) ? !is_digit(**b) : **a != **b)) {
        return false;
    }
    if (!is_digit(**a)) {
        (*a)++;
        (*b)++;
        return true;
    }
    while (*a < a_end && is_digit(**a)) {
        (*a)++;
    }
    while (*b < b_end && is_digit(**b)) {
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
static bool is_own(const Reader *reader, const char *p, const char *end)
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
    while (p < stop && (is_digit(*p) || *p == '/')) {
        p++;
    }
    return p == stop;
}

static bool is_link_name(const char *name, size_t length)
{
    const char *wanted = length == 4 ? "href" : "action";
    bool same = length == 4 || length == 6;
    for (size_t i = 0; same && i < length; i++) {
        same = (name[i] | 0x20) == wanted[i];
    }
    return same;
}

/* At the "=" of an attribute: the value of one that leads to the page itself is left out. Returns
 * where to go on. */
static const char *read_value(Reader *reader, const char *equals)
{
    const char *p = equals + 1;
    const char *stop = NULL;
    if (reader->name == NULL || !is_link_name(reader->name, reader->name_length)) {
        return p;
    }
    while (p < reader->end && is_space(*p)) {
        p++;
    }
    if (p < reader->end && (*p == '"' || *p == '\'')) {
        stop = memchr(p + 1, *p, (size_t)(reader->end - p - 1));
        p++;
    } else {
        stop = p;
        while (stop < reader->end && !is_space(*stop) && *stop != '>') {
            stop++;
        }
    }
    if (stop == NULL) {
        return equals + 1;
    }
    reader->value_end = stop;
    if (!is_own(reader, p, stop)) {
        return equals + 1;
    }
    leave_out(reader, equals + 1, stop);
    return stop;
}

/* A number in the text. */
static void read_number(Reader *reader, const char *word, const char *end)
{
    uint32_t value = number_of(word, (size_t)(end - word));
    uint32_t last = reader->last;
    if (value == NO_NUMBER) {
        return;
    }
    reader->last = value;
    if ((last != NO_NUMBER && value == last + 1) || is_near_url(reader, value)) {
        replace(reader, word, end, ANY_NUMBER);
    }
}

/* At the beginning of a word; returns its end. */
static const char *read_word(Reader *reader, const char *p)
{
    const char *stop = p;
    unsigned classes = 0;
    for (unsigned class = 0; stop < reader->end && (class = word_class(*stop)) != 0; stop++) {
        classes |= class;
    }
    bool digits = (classes & WORD_DIGIT) != 0;
    size_t length = (size_t)(stop - p);
    /* No identifier is without a digit, but for the first group of a UUID. */
    bool may_be = length >= TRAP_LEAST_IDENTIFIER &&
                  (digits || (length == UUID_GROUP && stop < reader->end && *stop == '-'));
    size_t n = may_be ? trap_identifier(reader->body, p, reader->end) : 0;
    if (n > 0) {
        replace(reader, p, p + n, ANY_IDENTIFIER);
        return p + n;
    }
    if (reader->in_tag) {
        reader->name = p;
        reader->name_length = length;
    } else if (digits) {
        read_number(reader, p, stop);
    } else if (is_month(p, length)) {
        replace(reader, p, stop, ANY_MONTH);
    }
    return stop;
}

/* The end of a number in a path. One with dots in it is a version (4.2, 1.5.4) and counts once,
 * unless a part of it may be a year: then it is a date (2031.05.01), and its parts count. */
static const char *number_end(const char *p, const char *end)
{
    const char *first_end = NULL;
    for (;;) {
        const char *start = p;
        while (p < end && is_digit(*p)) {
            p++;
        }
        first_end = first_end == NULL ? p : first_end;
        if (p - start == YEAR_DIGITS) {
            return first_end;
        }
        if (end - p < 2 || *p != '.' || !is_digit(p[1])) {
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
        if (p >= known && is_digit(*p) && !is_word(p[-1])) {
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
        reader.path_has_number = reader.path_has_number || is_digit(*p);
    }
    const char *p = body;
    while (p < reader.end) {
        if (is_word(*p)) {
            p = read_word(&reader, p);
            continue;
        }
        if (reader.in_tag && *p == '=' && p >= reader.value_end) {
            p = read_value(&reader, p);
            continue;
        }
        if (*p == '<' || *p == '>') {
            reader.in_tag = *p == '<' && p + 1 < reader.end && (is_letter(p[1]) || p[1] == '/');
            reader.name = NULL;
        }
        p++;
    }
    flush(&reader, reader.end);
    return reader.hash | 1;
}
