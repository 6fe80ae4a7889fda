#include "parse/visible/visible.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "parse/html/html_xml.h"
#include "parse/url/url.h"
#include "parse/visible/visible_main.h"
#include "parse/visible/visible_markup.h"

#define DEFAULT_MEMORY_BYTES ((size_t)64 << 20)
#define ARENA_BLOCK_BYTES    ((size_t)16 << 10)
#define KEEP_BYTES           ((size_t)4 << 20) /* scratch memory kept from page to page */
#define MOST_BYTES           ((size_t)1 << 30) /* marks are numbers of 32 bits */

struct VisibleReader {
    VisibleOptions options;
    Arena arena;
    Buffer decoded; /* the markup when the body is not clean UTF-8 */
    VisibleLines lines;
    VisibleMarks marks;
    VisibleTree tree;
    VisibleFacts facts;
    VisibleMain main;
    Url document;
    Url base;
    Url link; /* scratch */
};

Result visible_reader_new(VisibleReader **reader, const VisibleOptions *options)
{
    VisibleReader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return RESULT_MEMORY;
    }
    r->options = *options;
    size_t memory = options->memory_bytes == 0 ? DEFAULT_MEMORY_BYTES : options->memory_bytes;
    r->options.memory_bytes = memory < MOST_BYTES ? memory : MOST_BYTES;
    arena_init(&r->arena, ARENA_BLOCK_BYTES, r->options.memory_bytes);
    buffer_init(&r->decoded, r->options.memory_bytes);
    visible_lines_init(&r->lines);
    visible_marks_init(&r->marks);
    visible_main_init(&r->main);
    r->marks.wants_links = options->links;
    r->marks.wants_blocks = options->main_text;
    url_init(&r->document);
    url_init(&r->base);
    url_init(&r->link);
    *reader = r;
    return RESULT_OK;
}

void visible_reader_delete(VisibleReader *reader)
{
    if (reader == NULL) {
        return;
    }
    visible_lines_destroy(&reader->lines);
    visible_marks_destroy(&reader->marks);
    visible_main_destroy(&reader->main);
    buffer_destroy(&reader->decoded);
    url_destroy(&reader->document);
    url_destroy(&reader->base);
    url_destroy(&reader->link);
    arena_destroy(&reader->arena);
    free(reader);
}

/* ---- one page ---- */

/* Reads the markup in this encoding. */
static Result read_as(VisibleReader *r, const VisibleInput *input, const char *encoding,
                      bool is_xml)
{
    const char *text = NULL;
    size_t length = 0;
    size_t most = r->options.memory_bytes;
    Result rc = charset_text(encoding, input->body, input->length < most ? input->length : most,
                             &r->decoded, &text, &length);
    if (rc == RESULT_OK && input->length > most) {
        rc = RESULT_LIMIT;
    }
    arena_reset(&r->arena);
    visible_facts_begin(&r->facts, &r->arena);
    visible_marks_begin(&r->marks, text);
    Result begun = visible_lines_begin(&r->lines, text + length, length);
    if (begun != RESULT_OK) {
        return begun;
    }
    visible_tree_begin(&r->tree, &r->lines, &r->marks, is_xml);
    visible_markup_read(text, length, &r->tree, &r->facts);
    return rc;
}

/* As a browser: a meta behind the prescan's reach makes it begin again. */
static Result visible_read_page(VisibleReader *r, const VisibleInput *input, VisiblePage *page)
{
    bool is_xml = html_xml_is_type(input->content_type);
    CharsetSource source = CHARSET_FROM_FALLBACK;
    page->encoding = charset_sniff_source(input->body, input->length, input->content_type, &source);
    bool guessed = source == CHARSET_FROM_FALLBACK;
    if (is_xml && guessed) {
        page->encoding = "UTF-8";
    }
    Result rc = read_as(r, input, page->encoding, is_xml);
    const char *late = r->facts.meta_encoding;
    if (rc == RESULT_OK && guessed && !is_xml && late != NULL &&
        strcmp(late, page->encoding) != 0) {
        page->encoding = late;
        if (charset_ascii_span(input->body, input->length) < input->length) {
            rc = read_as(r, input, late, is_xml);
        }
    }
    return rc;
}

/* The canonical URL, against the base and the document. NULL: none, or none of http. */
static const char *resolve_canonical(VisibleReader *r, const VisibleInput *input,
                                     const char *encoding)
{
    const char *reference = r->facts.canonical;
    const Url *base = NULL;
    if (reference == NULL || *reference == '\0') {
        return NULL;
    }
    if (input->url != NULL &&
        url_parse(&r->document, NULL, input->url, input->url_length) == RESULT_OK) {
        base = &r->document;
    }
    if (r->facts.base != NULL &&
        url_parse(&r->base, base, r->facts.base, strlen(r->facts.base)) == RESULT_OK) {
        base = &r->base;
    }
    const char *query = strcmp(encoding, "UTF-8") == 0 ? NULL : encoding;
    if (url_parse_in_document(&r->link, base, reference, strlen(reference), query) != RESULT_OK) {
        return NULL;
    }
    return arena_copy(&r->arena, r->link.href, r->link.length);
}

Result visible_read(VisibleReader *reader, const VisibleInput *input, VisiblePage *page)
{
    VisibleReader *r = reader;
    memset(page, 0, sizeof *page);
    page->encoding = "UTF-8";
    page->text = "";
    buffer_trim(&r->decoded, KEEP_BYTES);
    visible_lines_trim(&r->lines, KEEP_BYTES);
    visible_main_trim(&r->main, KEEP_BYTES);
    r->marks.n_headings = 0;
    Result rc = visible_read_page(r, input, page);
    if (rc == RESULT_MEMORY && r->lines.out == NULL) {
        return rc;
    }
    page->text = r->lines.out;
    page->length = r->lines.length;
    page->title = r->facts.title;
    page->description = r->facts.description;
    page->language = r->facts.language;
    page->canonical = resolve_canonical(r, input, page->encoding);
    page->n_headings = r->marks.n_headings;
    if (r->options.main_text) {
        Result found = visible_main_find(&r->main, page->text, &r->marks);
        page->main_text = found == RESULT_OK && r->main.text != NULL ? r->main.text : "";
        page->main_length = r->main.length;
        rc = rc == RESULT_OK ? found : rc;
    }
    return rc == RESULT_OK && (r->facts.failed || r->marks.failed) ? RESULT_MEMORY : rc;
}

VisibleHeading visible_heading(const VisibleReader *reader, size_t i)
{
    uint32_t start = reader->marks.headings[i].start;
    uint32_t end = reader->marks.headings[i].end;
    visible_marks_trim(reader->lines.out, &start, &end);
    return (VisibleHeading){.text = reader->lines.out + start,
                            .length = end - start,
                            .level = reader->marks.headings[i].value};
}
