#include "parse/trap/trap_content.h"

#include <string.h>

#include "parse/trap/trap.h"

#define URL_NUMBERS 16u
#define NO_NUMBER   UINT32_MAX
#define MAX_DIGITS  9u /* longer numbers count as they are */

typedef struct Reader {
    uint64_t hash;
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

static bool is_word(char c)
{
    char lower = (char)(c | 0x20);
    return is_digit(c) || (lower >= 'a' && lower <= 'z');
}

static bool is_letter(char c)
{
    return is_word(c) && !is_digit(c);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* FNV-1a */
static void add_byte(Reader *reader, uint8_t byte)
{
    reader->hash = (reader->hash ^ byte) * UINT64_C(0x100000001B3);
}

static void add(Reader *reader, const char *p, const char *end)
{
    uint64_t hash = reader->hash;
    while (p < end) {
        hash = (hash ^ (uint8_t)*p++) * UINT64_C(0x100000001B3);
    }
    reader->hash = hash;
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

static bool is_month(const char *word, size_t length)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    char lower[9];
    if (length < 3 || length > sizeof lower || strchr("jfmasondJFMASOND", word[0]) == NULL) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        lower[i] = (char)(word[i] | 0x20);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (memcmp(lower, names[i], 3) == 0) {
            return length == 3 ||
                   (strlen(names[i]) == length && memcmp(lower, names[i], length) == 0);
        }
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
    return is_own(reader, p, stop) ? stop : equals + 1;
}

/* A word of the text. */
static void add_text(Reader *reader, const char *word, size_t length)
{
    uint32_t value = number_of(word, length);
    uint32_t last = reader->last;
    if (value == NO_NUMBER && !is_month(word, length)) {
        add(reader, word, word + length);
        return;
    }
    if (value == NO_NUMBER) {
        add_byte(reader, ANY_MONTH);
        return;
    }
    reader->last = value;
    if ((last != NO_NUMBER && value == last + 1) || is_near_url(reader, value)) {
        add_byte(reader, ANY_NUMBER);
    } else {
        add(reader, word, word + length);
    }
}

/* At the beginning of a word; returns its end. */
static const char *read_word(Reader *reader, const char *p)
{
    const char *stop = p;
    while (stop < reader->end && is_word(*stop)) {
        stop++;
    }
    size_t n =
        stop - p >= TRAP_LEAST_IDENTIFIER ? trap_identifier(reader->body, p, reader->end) : 0;
    if (n > 0) {
        add_byte(reader, ANY_IDENTIFIER);
        return p + n;
    }
    if (reader->in_tag) {
        add(reader, p, stop);
        reader->name = p;
        reader->name_length = (size_t)(stop - p);
    } else {
        add_text(reader, p, (size_t)(stop - p));
    }
    return stop;
}

bool trap_content_is_due(const Url *url)
{
    const char *start = url->href + url->path_start;
    const char *end = url->href + url->query_start;
    unsigned n_numbers = 0;
    bool identifier = false;
    for (const char *p = start; p < end; p++) {
        n_numbers += is_digit(*p) && !is_word(p[-1]);
        identifier = identifier || trap_identifier(start, p, end) > 0;
    }
    return url->query_start < url->length || n_numbers >= 2 || identifier;
}

uint64_t trap_content_hash(const Url *url, const char *body, size_t length)
{
    Reader reader = {.hash = UINT64_C(0xCBF29CE484222325),
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
        add_byte(&reader, (uint8_t)*p);
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
    return reader.hash | 1;
}
