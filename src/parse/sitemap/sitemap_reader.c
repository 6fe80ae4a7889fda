#include "parse/sitemap/sitemap_reader.h"

#include <string.h>
#include <strings.h>

#include "parse/charset/charset.h"

#define REFERENCE_BYTES   32 /* "&" to ";"; longer is none */
#define DECLARATION_BYTES 256
#define HELD_BYTES        4096

void sitemap_cleaner_init(SitemapCleaner *cleaner)
{
    *cleaner = (SitemapCleaner){.encoding = NULL};
    buffer_init(&cleaner->utf8, BUFFER_NO_LIMIT);
    buffer_init(&cleaner->held, BUFFER_NO_LIMIT);
    buffer_init(&cleaner->pending, BUFFER_NO_LIMIT);
    buffer_init(&cleaner->clean, BUFFER_NO_LIMIT);
}

void sitemap_cleaner_destroy(SitemapCleaner *cleaner)
{
    buffer_destroy(&cleaner->utf8);
    buffer_destroy(&cleaner->held);
    buffer_destroy(&cleaner->pending);
    buffer_destroy(&cleaner->clean);
}

void sitemap_cleaner_reset(SitemapCleaner *cleaner)
{
    SitemapCleaner fresh = {.utf8 = cleaner->utf8,
                            .held = cleaner->held,
                            .pending = cleaner->pending,
                            .clean = cleaner->clean};
    *cleaner = fresh;
    buffer_reset(&cleaner->utf8);
    buffer_reset(&cleaner->held);
    buffer_reset(&cleaner->pending);
    buffer_reset(&cleaner->clean);
}

/* ---- UTF-16 ---- */

static Result put_unit(SitemapCleaner *cleaner, uint16_t unit)
{
    bool is_low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (cleaner->high != 0) {
        uint32_t high = cleaner->high;
        cleaner->high = 0;
        if (is_low) {
            return buffer_append_code_point(&cleaner->utf8,
                                            0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00u));
        }
        Result rc = buffer_append_code_point(&cleaner->utf8, 0xFFFD);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        cleaner->high = unit;
        return RESULT_OK;
    }
    return buffer_append_code_point(&cleaner->utf8, is_low ? 0xFFFD : unit);
}

static Result convert_utf16(SitemapCleaner *cleaner, const char *bytes, size_t length)
{
    Result rc = RESULT_OK;
    buffer_reset(&cleaner->utf8);
    for (size_t i = 0; i < length && rc == RESULT_OK; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        if (!cleaner->has_odd) {
            cleaner->odd = byte;
            cleaner->has_odd = true;
            continue;
        }
        cleaner->has_odd = false;
        unsigned unit = cleaner->is_big_endian ? (unsigned)cleaner->odd << 8 | byte
                                               : (unsigned)byte << 8 | cleaner->odd;
        rc = put_unit(cleaner, (uint16_t)unit);
    }
    return rc;
}

/* ---- declared encodings ---- */

/* The encoding in the XML declaration, or NULL when it is UTF-8 or nothing that can be decoded. */
static const char *declared(const char *bytes, size_t length)
{
    size_t n = length < DECLARATION_BYTES ? length : DECLARATION_BYTES;
    const char *end = memmem(bytes, n, "?>", 2);
    const char *word = end == NULL ? NULL : memmem(bytes, (size_t)(end - bytes), "encoding", 8);
    if (word == NULL) {
        return NULL;
    }
    word += 8;
    while (word < end && *word != '\0' && strchr(" \t\r\n=\"'", *word) != NULL) {
        word++;
    }
    const char *stop = word;
    while (stop < end && *stop != '\0' && strchr(" \t\r\n\"'", *stop) == NULL) {
        stop++;
    }
    const char *name = charset_of_meta_label(word, (size_t)(stop - word));
    bool is_utf8 = name == NULL || strcmp(name, "UTF-8") == 0 || strcmp(name, "replacement") == 0;
    return is_utf8 ? NULL : name;
}

/* How much of the bytes ends between characters. No encoding of the standard has bytes below 0x30
 * behind the first of a character, but ISO-2022-JP has all but blanks. An address has a slash, so
 * what is held back is short; where there is none for a whole block the text is no text. */
static size_t whole_characters(const SitemapCleaner *cleaner, const Buffer *bytes)
{
    uint8_t most = strcmp(cleaner->encoding, "ISO-2022-JP") == 0 ? 0x20 : 0x2F;
    size_t n = bytes->length;
    while (n > 0 && (uint8_t)bytes->data[n - 1] > most) {
        n--;
    }
    return n == 0 && bytes->length > HELD_BYTES ? bytes->length : n;
}

static Result sitemap_clean_decode(SitemapCleaner *cleaner, const char *bytes, size_t length,
                                   bool is_last)
{
    Buffer *held = &cleaner->held;
    buffer_reset(&cleaner->utf8);
    Result rc = buffer_append(held, bytes, length);
    size_t n = is_last ? held->length : whole_characters(cleaner, held);
    if (rc != RESULT_OK || n == 0) {
        return rc;
    }
    rc = charset_decode(cleaner->encoding, held->data, n, &cleaner->utf8);
    if (rc == RESULT_INVALID) { /* this system's iconv lacks it */
        rc = buffer_append(&cleaner->utf8, held->data, n);
    }
    memmove(held->data, held->data + n, held->length - n);
    held->length -= n;
    return rc;
}

static void detect(SitemapCleaner *cleaner, const char **bytes, size_t *length)
{
    const uint8_t *b = (const uint8_t *)*bytes;
    size_t skip = 0;
    cleaner->has_started = true;
    if (*length >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF) {
        skip = 3;
    } else if (*length >= 2 && ((b[0] == 0xFE && b[1] == 0xFF) || (b[0] == 0xFF && b[1] == 0xFE))) {
        cleaner->is_utf16 = true;
        cleaner->is_big_endian = b[0] == 0xFE;
        skip = 2;
    } else if (*length >= 2 && ((b[0] == 0 && b[1] == '<') || (b[0] == '<' && b[1] == 0))) {
        cleaner->is_utf16 = true;
        cleaner->is_big_endian = b[0] == 0;
    }
    *bytes += skip;
    *length -= skip;
    if (!cleaner->is_utf16 && skip == 0) {
        cleaner->encoding = declared(*bytes, *length);
    }
}

Result sitemap_cleaner_to_utf8(SitemapCleaner *cleaner, const char **bytes, size_t *length,
                               bool is_last)
{
    if (!cleaner->has_started) {
        detect(cleaner, bytes, length);
    }
    if (!cleaner->is_utf16 && cleaner->encoding == NULL) {
        return RESULT_OK;
    }
    Result rc = cleaner->is_utf16 ? convert_utf16(cleaner, *bytes, *length)
                                  : sitemap_clean_decode(cleaner, *bytes, *length, is_last);
    *bytes = buffer_string(&cleaner->utf8);
    *length = cleaner->utf8.length;
    return rc;
}

/* ---- mending ---- */

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Whether "&" at p starts a reference: "&name;", "&#1;", "&#x1;". */
static bool sitemap_clean_is_reference(const char *p, const char *end)
{
    const char *start = ++p;
    if (p < end && *p == '#') {
        p++;
        start = p;
    }
    while (p < end && is_letter_or_digit(*p)) {
        p++;
    }
    return p > start && p < end && *p == ';';
}

/* Length of the well-formed UTF-8 sequence at p, 0 when it is malformed. */
static size_t sequence_length(const uint8_t *p, size_t left)
{
    size_t n = p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    if (n == 0 || n > left) {
        return 0;
    }
    uint8_t least = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    uint8_t most = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < least || p[1] > most) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return n;
}

static bool sitemap_clean_starts_with(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* Whether c is passed on without a look. */
static bool is_ordinary(const SitemapCleaner *cleaner, uint8_t c)
{
    return cleaner->mode != CLEAN_DOCTYPE && c >= 0x20 && c != '&' && c != '<' && c != '>' &&
           c < 0x7F;
}

static Result pass_on(SitemapCleaner *cleaner, const char *bytes, size_t length)
{
    if (length >= 2) {
        /* cppcheck-suppress pointerOutOfBoundsCond */
        memcpy(cleaner->last, bytes + length - 2, 2);
    } else if (length == 1) {
        cleaner->last[0] = cleaner->last[1];
        cleaner->last[1] = bytes[0];
    }
    return buffer_append(&cleaner->clean, bytes, length);
}

/* Steps over what belongs together in a DOCTYPE; nothing of it is passed on. */
static void skip_doctype(SitemapCleaner *cleaner, const char **p, const char *end)
{
    char c = **p;
    size_t n = 1;
    if (cleaner->in_remark) {
        cleaner->in_remark = !sitemap_clean_starts_with(*p, end, "-->");
        n = cleaner->in_remark ? 1 : 3;
    } else if (cleaner->quote != '\0') {
        cleaner->quote = c == cleaner->quote ? '\0' : cleaner->quote;
    } else if (c == '"' || c == '\'') {
        cleaner->quote = c;
    } else if (sitemap_clean_starts_with(*p, end, "<!--")) {
        cleaner->in_remark = true;
        n = 4;
    } else if (c == '[' || c == ']') {
        cleaner->in_subset = c == '[';
    } else if (c == '>' && !cleaner->in_subset) {
        cleaner->mode = CLEAN_TEXT;
    }
    *p += n;
}

static bool is_doctype(const char *p, const char *end)
{
    return end - p >= 9 && memcmp(p, "<!", 2) == 0 && strncasecmp(p + 2, "doctype", 7) == 0;
}

/* XML's own entities become numbers, since libxml2 drops them behind the first error of a file
 * ("&nbsp;" in a title): half an address is another address. What starts no reference is an
 * ampersand; other references are passed on. */
static Result mend_ampersand(SitemapCleaner *cleaner, const char **p, const char *end)
{
    static const struct {
        const char *name;
        const char *number;
    } entities[] = {{"&amp;", "&#38;"},
                    {"&lt;", "&#60;"},
                    {"&gt;", "&#62;"},
                    {"&quot;", "&#34;"},
                    {"&apos;", "&#39;"}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        if (sitemap_clean_starts_with(*p, end, entities[i].name)) {
            *p += strlen(entities[i].name);
            return pass_on(cleaner, entities[i].number, 5);
        }
    }
    bool is_other = sitemap_clean_is_reference(*p, end);
    *p += 1;
    return is_other ? pass_on(cleaner, "&", 1) : pass_on(cleaner, "&#38;", 5);
}

/* One byte, or what belongs to it; steps *p forward. */
static Result mend_one(SitemapCleaner *cleaner, const char **p, const char *end)
{
    uint8_t c = (uint8_t) * *p;
    const char *at = *p;
    size_t n = 1;
    if (c == '&' && cleaner->mode == CLEAN_TEXT) {
        return mend_ampersand(cleaner, p, end);
    }
    if (cleaner->mode == CLEAN_DOCTYPE) {
        skip_doctype(cleaner, p, end);
        return RESULT_OK;
    }
    if (c == '<' && cleaner->mode == CLEAN_TEXT && is_doctype(at, end)) {
        cleaner->mode = CLEAN_DOCTYPE;
        *p += 9;
        return RESULT_OK;
    }
    if (c == '<' && cleaner->mode == CLEAN_TEXT) {
        cleaner->mode = sitemap_clean_starts_with(at, end, "<![CDATA[") ? CLEAN_CDATA
                        : sitemap_clean_starts_with(at, end, "<!--")    ? CLEAN_COMMENT
                                                                        : CLEAN_TEXT;
        n = cleaner->mode == CLEAN_CDATA ? 9 : cleaner->mode == CLEAN_COMMENT ? 4 : 1;
    } else if (c == '>') {
        const char *mark = cleaner->mode == CLEAN_CDATA ? "]]" : "--";
        if (cleaner->mode != CLEAN_TEXT && memcmp(cleaner->last, mark, 2) == 0) {
            cleaner->mode = CLEAN_TEXT;
        }
    } else if (c >= 0x80) {
        n = sequence_length((const uint8_t *)at, (size_t)(end - at));
        if (n == 0) {
            *p += 1;
            return pass_on(cleaner, "\xEF\xBF\xBD", 3);
        }
    } else if (c == 0x7F || (c < 0x20 && c != '\t' && c != '\n' && c != '\r')) {
        *p += 1;
        return pass_on(cleaner, " ", 1);
    }
    *p += n;
    return pass_on(cleaner, at, n);
}

Result sitemap_cleaner_mend(SitemapCleaner *cleaner, const char *bytes, size_t length, bool is_last)
{
    Result rc = buffer_append(&cleaner->pending, bytes, length);
    buffer_reset(&cleaner->clean);
    const char *p = buffer_string(&cleaner->pending);
    const char *end = p + cleaner->pending.length;
    while (rc == RESULT_OK && p < end) {
        const char *start = p;
        while (p < end && is_ordinary(cleaner, (uint8_t)*p)) {
            p++;
        }
        rc = pass_on(cleaner, start, (size_t)(p - start));
        if (end - p < REFERENCE_BYTES && !is_last) {
            break; /* a reference or a sequence may be cut here */
        }
        if (rc == RESULT_OK && p < end) {
            rc = mend_one(cleaner, &p, end);
        }
    }
    size_t left = (size_t)(end - p);
    if (left > 0) {
        memmove(cleaner->pending.data, p, left);
    }
    cleaner->pending.length = left;
    return rc;
}
