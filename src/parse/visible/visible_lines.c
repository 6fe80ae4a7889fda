#include "parse/visible/visible_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/core/ascii.h"
#include "base/memory/array.h"
#include "parse/text/entities.h"
#include "parse/url/url_encode.h"

#define SPARE 64 /* blocks of 16 are written past the end */

void visible_lines_init(VisibleLines *lines)
{
    memset(lines, 0, sizeof *lines);
}

void visible_lines_destroy(VisibleLines *lines)
{
    free(lines->out);
    visible_lines_init(lines);
}

void visible_lines_trim(VisibleLines *lines, size_t keep_bytes)
{
    if (lines->capacity > keep_bytes) {
        visible_lines_destroy(lines);
    }
}

Result visible_lines_begin(VisibleLines *lines, const char *readable, size_t length)
{
    size_t need = ENTITY_ROOM(length) + SPARE;
    lines->length = 0;
    lines->readable = readable;
    lines->breaks = 0;
    lines->space = VISIBLE_SPACE_START;
    if (need > lines->capacity) {
        free(lines->out);
        lines->out = malloc(need);
        lines->capacity = lines->out == NULL ? 0 : need;
    }
    return lines->out == NULL ? RESULT_MEMORY : RESULT_OK;
}

/* ---- what comes before text ---- */

/* Writes what is owed: something comes next. */
static void visible_lines_settle(VisibleLines *lines)
{
    char *out = lines->out + lines->length;
    for (unsigned i = 0; i < lines->breaks && lines->length > 0; i++) {
        *out++ = '\n';
    }
    if (lines->space == VISIBLE_SPACE_BLANK) {
        *out++ = ' ';
    }
    lines->length = (size_t)(out - lines->out);
    lines->breaks = 0;
    lines->space = VISIBLE_SPACE_NONE;
}

void visible_lines_break(VisibleLines *lines, unsigned breaks)
{
    lines->breaks = breaks > lines->breaks ? breaks : lines->breaks;
    lines->space = VISIBLE_SPACE_START;
}

void visible_lines_feed(VisibleLines *lines, char feed)
{
    lines->space = VISIBLE_SPACE_NONE; /* white space at the end of the line */
    visible_lines_settle(lines);
    lines->out[lines->length++] = feed;
    lines->space = VISIBLE_SPACE_START;
}

void visible_lines_object(VisibleLines *lines)
{
    /* Breaks stay owed: there is no text yet that they would be before. A space is some. */
    if (lines->breaks == 0 || lines->space == VISIBLE_SPACE_BLANK) {
        visible_lines_settle(lines);
    }
    lines->space = VISIBLE_SPACE_NONE;
}

void visible_lines_enter(VisibleLines *lines)
{
    visible_lines_object(lines);
    lines->space = VISIBLE_SPACE_START;
}

void visible_lines_leave(VisibleLines *lines)
{
    lines->space = VISIBLE_SPACE_NONE;
}

/* ---- collapsible text ---- */

/* Reading and writing of one piece of text. */
typedef struct Copy {
    const char *p;
    const char *end;
    char *out;
    bool blank; /* the last byte written is a space that may yet be taken back */
    bool decode;
} Copy;

static bool is_white(char c)
{
    return (scan_class(c) & SCAN_SPACE) != 0;
}

/* At something that is not copied as it is. */
static void copy_special(Copy *copy)
{
    const char *p = copy->p;
    if (is_white(*p)) {
        copy->p = skip_class(p, copy->end, SCAN_SPACE);
        if (!copy->blank) {
            *copy->out++ = ' ';
            copy->blank = true;
        }
        return;
    }
    char value[ENTITY_MAX_BYTES];
    size_t n = 0;
    size_t used =
        *p == '&' && copy->decode ? entity_read(p, (size_t)(copy->end - p), false, value, &n) : 0;
    if (used == 0) {
        *copy->out++ = *p;
        copy->p++;
        copy->blank = false;
        return;
    }
    copy->p += used;
    if (n == 1 && is_white(value[0])) {
        if (!copy->blank) {
            *copy->out++ = ' ';
            copy->blank = true;
        }
        return;
    }
    memcpy(copy->out, value, sizeof value);
    copy->out += n;
    copy->blank = false;
}

#ifdef __SSE2__
/* Copies up to 16 bytes, line feeds as spaces, as far as they need no second look. */
static void copy_block(Copy *copy)
{
    const __m128i blank = _mm_set1_epi8(' ');
    size_t left = (size_t)(copy->end - copy->p);
    unsigned n = left < 16 ? (unsigned)left : 16u;
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)copy->p);
    __m128i feeds = _mm_cmpeq_epi8(x, _mm_set1_epi8('\n'));
    unsigned feed = (unsigned)_mm_movemask_epi8(feeds);
    unsigned low = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, blank), x));
    unsigned space = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, blank));
    unsigned amp = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('&')));
    unsigned white = space | feed;
    unsigned repeated = white & (white << 1 | (copy->blank ? 1u : 0u));
    unsigned stop = (low & ~white) | amp | repeated;
    stop &= 0xFFFFu >> (16u - n);
    __m128i y = _mm_or_si128(_mm_andnot_si128(feeds, x), _mm_and_si128(feeds, blank));
    _mm_storeu_si128((__m128i *)(void *)copy->out, y);
    n = stop == 0 ? n : (unsigned)__builtin_ctz(stop);
    if (n > 0) {
        copy->blank = (white >> (n - 1) & 1u) != 0;
        copy->p += n;
        copy->out += n;
    }
    if (stop != 0) {
        copy_special(copy);
    }
}
#endif

/* Copies words, one space between them; p is at no white space. */
static void copy_words(VisibleLines *lines, const char *p, const char *end, bool decode)
{
    Copy copy = {
        .p = p, .end = end, .out = lines->out + lines->length, .blank = false, .decode = decode};
#ifdef __SSE2__
    while (copy.p < end && lines->readable - copy.p >= 16) {
        copy_block(&copy);
    }
#endif
    while (copy.p < end) {
        copy_special(&copy);
    }
    if (copy.blank) {
        copy.out--; /* whether there is one depends on what comes next */
        lines->space = VISIBLE_SPACE_BLANK;
    }
    lines->length = (size_t)(copy.out - lines->out);
}

/* Passes over white space, also over such as stands in character references ("&#13;"). */
static const char *skip_white(const char *p, const char *end, bool decode)
{
    for (;;) {
        p = skip_class(p, end, SCAN_SPACE);
        if (p == end || *p != '&' || !decode) {
            return p;
        }
        char value[ENTITY_MAX_BYTES];
        size_t n = 0;
        size_t used = entity_read(p, (size_t)(end - p), false, value, &n);
        if (used == 0 || n != 1 || !is_white(value[0])) {
            return p;
        }
        p += used;
    }
}

static void collapse(VisibleLines *lines, const char *p, const char *end, bool decode)
{
    const char *word = skip_white(p, end, decode);
    if (word > p && lines->space != VISIBLE_SPACE_START) {
        lines->space = VISIBLE_SPACE_BLANK;
    }
    if (word < end) {
        visible_lines_settle(lines);
        copy_words(lines, word, end, decode);
    }
}

/* ---- kept text ---- */

static void visible_lines_keep(VisibleLines *lines, const char *p, const char *end, bool decode)
{
    visible_lines_settle(lines);
    char *out = lines->out + lines->length;
    while (p < end) {
        const char *plain = p;
        while (p < end && *p != '&' && *p != '\r') {
            p++;
        }
        memcpy(out, plain, (size_t)(p - plain));
        out += p - plain;
        if (p == end) {
            break;
        }
        char value[ENTITY_MAX_BYTES];
        size_t n = 0;
        size_t used = *p == '&' && decode ? entity_read(p, (size_t)(end - p), false, value, &n) : 0;
        if (used > 0) {
            memcpy(out, value, sizeof value);
            out += n;
            p += used;
        } else if (*p == '\r') {
            *out++ = '\n';
            p += end - p > 1 && p[1] == '\n' ? 2 : 1;
        } else {
            *out++ = *p++;
        }
    }
    lines->length = (size_t)(out - lines->out);
}

static void collapse_lines(VisibleLines *lines, const char *p, const char *end, bool decode)
{
    while (p < end) {
        const char *feed = find_byte(p, end, '\n');
        if (feed > p) {
            collapse(lines, p, feed, decode);
        }
        if (feed < end) {
            visible_lines_feed(lines, '\n');
            feed++;
        }
        p = feed;
    }
}

void visible_lines_text(VisibleLines *lines, const char *p, const char *end, VisibleWhite white,
                        bool decode)
{
    if (p == end) {
        return;
    }
    switch (white) {
    case VISIBLE_WHITE_NORMAL:
        collapse(lines, p, end, decode);
        break;
    case VISIBLE_WHITE_PRE:
        visible_lines_keep(lines, p, end, decode);
        break;
    case VISIBLE_WHITE_PRE_LINE:
        collapse_lines(lines, p, end, decode);
        break;
    }
}

/* ---- letters ---- */

/* The other case of the character at p, in its n bytes at most; returns how many. */
static size_t set_letter(char *p, size_t n, uint32_t c, bool upper)
{
    char bytes[4];
    uint32_t other = (uint32_t)(upper ? u_toupper((UChar32)c) : u_tolower((UChar32)c));
    size_t length = ascii_put_utf8(other, bytes);
    if (upper && c == 0xDF) {
        memcpy(p, "SS", 2);
    } else if (other != c && length <= n) {
        memcpy(p, bytes, length);
        return length;
    }
    return n;
}

void visible_lines_set_case(VisibleLines *lines, size_t since, VisibleCase letters)
{
    char *text = lines->out;
    size_t out = since;
    bool inside = since > 0 && ((unsigned char)text[since - 1] >= 0x80 ||
                                isalnum((unsigned char)text[since - 1]) != 0);
    const char *p = text + since;
    while (p < text + lines->length) {
        const char *from = p;
        uint32_t c = url_utf8_next(&p);
        size_t n = (size_t)(p - from);
        memmove(text + out, from, n);
        bool is_word = c >= 0x80 || isalnum((int)c) != 0 || (inside && c == '\'');
        bool changes = letters != VISIBLE_CASE_TITLE || (is_word && !inside);
        inside = is_word;
        out += changes ? set_letter(text + out, n, c, letters != VISIBLE_CASE_LOWER) : n;
    }
    lines->length = out;
}

/* ---- Visible marks ---- */

void visible_marks_init(VisibleMarks *marks)
{
    memset(marks, 0, sizeof *marks);
}

void visible_marks_destroy(VisibleMarks *marks)
{
    free(marks->headings);
    free(marks->edges);
    free(marks->blocks);
    free(marks->areas);
    visible_marks_init(marks);
}

void visible_marks_begin(VisibleMarks *marks)
{
    marks->failed = false;
    marks->n_headings = 0;
    marks->n_edges = 0;
    marks->n_blocks = 0;
    marks->n_areas = 0;
    marks->block_start = 0;
    marks->link_start = VISIBLE_NO_MARK;
    marks->link_bytes = 0;
}

/* array_add, unless there are as many as may be. Returns the number of the new mark. */
static uint32_t visible_marks_add(VisibleMarks *marks, void *place, size_t *n, size_t most,
                                  size_t bytes, const void *mark)
{
    if (*n >= most) {
        return VISIBLE_NO_MARK;
    }
    if (array_add(place, n, bytes, mark) != RESULT_OK) {
        marks->failed = true;
        return VISIBLE_NO_MARK;
    }
    return (uint32_t)*n - 1;
}

uint32_t visible_marks_heading(VisibleMarks *marks, size_t at, unsigned level)
{
    VisibleMark mark = {.start = (uint32_t)at, .end = (uint32_t)at, .value = level};
    return visible_marks_add(marks, &marks->headings, &marks->n_headings, VISIBLE_HEADINGS_MAX,
                             sizeof mark, &mark);
}

void visible_marks_heading_end(VisibleMarks *marks, uint32_t heading, size_t at)
{
    if (heading != VISIBLE_NO_MARK) {
        marks->headings[heading].end = (uint32_t)at;
    }
}

void visible_marks_link(VisibleMarks *marks, size_t at)
{
    if (marks->link_start == VISIBLE_NO_MARK) {
        marks->link_start = (uint32_t)at;
    }
}

void visible_marks_link_end(VisibleMarks *marks, size_t at)
{
    if (marks->link_start != VISIBLE_NO_MARK) {
        marks->link_bytes += (uint32_t)at - marks->link_start;
        marks->link_start = VISIBLE_NO_MARK;
    }
}

void visible_marks_edge(VisibleMarks *marks, const VisibleEdge *edge)
{
    if (marks->wants_edges) {
        (void)visible_marks_add(marks, &marks->edges, &marks->n_edges, VISIBLE_EDGES_MAX,
                                sizeof *edge, edge);
    }
}

uint32_t visible_marks_area(VisibleMarks *marks, uint32_t parent, HtmlTagId id, VisibleRole role)
{
    if (!marks->wants_blocks) {
        return parent;
    }
    VisibleArea area = {.parent = parent,
                        .first_block = (uint32_t)marks->n_blocks,
                        .end_block = (uint32_t)marks->n_blocks,
                        .id = (uint8_t)id,
                        .role = (uint8_t)role,
                        .is_header = id == HTML_HEADER || id == HTML_FOOTER};
    uint32_t number = visible_marks_add(marks, &marks->areas, &marks->n_areas, VISIBLE_AREAS_MAX,
                                        sizeof area, &area);
    return number == VISIBLE_NO_MARK ? parent : number;
}

void visible_marks_area_end(VisibleMarks *marks, uint32_t area)
{
    if (area != VISIBLE_NO_MARK) {
        marks->areas[area].end_block = (uint32_t)marks->n_blocks;
    }
}

void visible_marks_block(VisibleMarks *marks, size_t at, uint32_t area)
{
    if (!marks->wants_blocks || at <= marks->block_start) {
        return;
    }
    uint32_t link_bytes = marks->link_bytes;
    if (marks->link_start != VISIBLE_NO_MARK) {
        link_bytes += (uint32_t)at - marks->link_start;
        marks->link_start = (uint32_t)at;
    }
    VisibleBlock block = {
        .start = marks->block_start, .end = (uint32_t)at, .link_bytes = link_bytes, .area = area};
    (void)visible_marks_add(marks, &marks->blocks, &marks->n_blocks, VISIBLE_BLOCKS_MAX,
                            sizeof block, &block);
    marks->block_start = (uint32_t)at;
    marks->link_bytes = 0;
}

void visible_marks_trim(const char *text, uint32_t *start, uint32_t *end)
{
    while (*start < *end && (scan_class(text[*start]) & SCAN_SPACE) != 0) {
        (*start)++;
    }
    while (*end > *start && (scan_class(text[*end - 1]) & SCAN_SPACE) != 0) {
        (*end)--;
    }
}
