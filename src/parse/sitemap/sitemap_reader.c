#include "parse/sitemap/sitemap_reader.h"

#include <string.h>
#include <strings.h>

#include "parse/charset/charset.h"

#define REFERENCE_BYTES 32 /* "&" to ";"; longer is none */

void sitemap_cleaner_init(SitemapCleaner *cleaner)
{
    *cleaner = (SitemapCleaner){.mode = CLEAN_TEXT};
    charset_stream_init(&cleaner->characters);
    buffer_init(&cleaner->pending, BUFFER_NO_LIMIT);
    buffer_init(&cleaner->clean, BUFFER_NO_LIMIT);
}

void sitemap_cleaner_destroy(SitemapCleaner *cleaner)
{
    charset_stream_destroy(&cleaner->characters);
    buffer_destroy(&cleaner->pending);
    buffer_destroy(&cleaner->clean);
}

void sitemap_cleaner_reset(SitemapCleaner *cleaner)
{
    SitemapCleaner fresh = {
        .characters = cleaner->characters, .pending = cleaner->pending, .clean = cleaner->clean};
    *cleaner = fresh;
    buffer_reset(&cleaner->pending);
    buffer_reset(&cleaner->clean);
}

/* ---- encodings ---- */

/* The encoding by byte order mark, first "<" or XML declaration; what says none is UTF-8. */
static const char *encoding_of(const char *bytes, size_t length)
{
    CharsetSource source = CHARSET_FROM_FALLBACK;
    const char *encoding = charset_sniff_source(bytes, length, NULL, &source);
    if (source != CHARSET_FROM_BOM && length >= 2 && (bytes[0] == '\0') != (bytes[1] == '\0') &&
        (bytes[0] == '<' || bytes[1] == '<')) {
        return bytes[0] == '\0' ? "UTF-16BE" : "UTF-16LE";
    }
    bool is_none = source == CHARSET_FROM_FALLBACK || strcmp(encoding, "replacement") == 0;
    return is_none ? "UTF-8" : encoding;
}

Result sitemap_cleaner_to_utf8(SitemapCleaner *cleaner, const char **bytes, size_t *length,
                               bool is_last)
{
    if (!cleaner->has_started) {
        cleaner->has_started = true;
        charset_stream_begin(&cleaner->characters, encoding_of(*bytes, *length));
    }
    return charset_stream_next(&cleaner->characters, *bytes, *length, is_last, bytes, length);
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

static bool sitemap_clean_starts_with(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* Whether c is passed on without a look. */
static bool is_ordinary(const SitemapCleaner *cleaner, uint8_t c)
{
    return cleaner->mode != CLEAN_DOCTYPE && c >= 0x20 && c != '&' && c != '<' && c != '>' &&
           c != 0x7F;
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
        if (sitemap_clean_starts_with(at, end, "<![CDATA[")) {
            cleaner->mode = CLEAN_CDATA;
            n = strlen("<![CDATA[");
        } else if (sitemap_clean_starts_with(at, end, "<!--")) {
            cleaner->mode = CLEAN_COMMENT;
            n = strlen("<!--");
        }
    } else if (c == '>') {
        const char *mark = cleaner->mode == CLEAN_CDATA ? "]]" : "--";
        if (cleaner->mode != CLEAN_TEXT && memcmp(cleaner->last, mark, 2) == 0) {
            cleaner->mode = CLEAN_TEXT;
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
