#include "command/text/text_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "page/tool/text_language.h"
#include "parse/charset/charset.h"
#include "parse/url/url.h"

#define ARENA_BLOCK_BYTES ((size_t)4096)
#define ARENA_BYTES       ((size_t)1 << 20)
#define MEMORY_BYTES      ((size_t)1 << 30)
#define KEEP_BYTES        ((size_t)4 << 20)

struct TextPages {
    TextPagesOptions options;
    VisibleReader *reader;
    Arena arena; /* of this page */
    Buffer plain;
    Url document;
    Url link;
};

Result text_pages_new(TextPages **out, const TextPagesOptions *options)
{
    TextPages *pages = calloc(1, sizeof *pages);
    if (pages == NULL) {
        return RESULT_MEMORY;
    }
    pages->options = *options;
    arena_init(&pages->arena, ARENA_BLOCK_BYTES, ARENA_BYTES);
    buffer_init(&pages->plain, MEMORY_BYTES);
    url_init(&pages->document);
    url_init(&pages->link);
    VisibleOptions visible = {.memory_bytes = MEMORY_BYTES, .main_text = options->main_text};
    Result rc = visible_reader_new(&pages->reader, &visible);
    if (rc != RESULT_OK) {
        text_pages_delete(pages);
        return rc;
    }
    *out = pages;
    return RESULT_OK;
}

void text_pages_delete(TextPages *pages)
{
    if (pages == NULL) {
        return;
    }
    visible_reader_delete(pages->reader);
    arena_destroy(&pages->arena);
    buffer_destroy(&pages->plain);
    url_destroy(&pages->document);
    url_destroy(&pages->link);
    free(pages);
}

/* Plain text: decoded, with line feeds for line ends. */
static Result read_plain(TextPages *pages, const TextCapture *capture, VisiblePage *page)
{
    const char *text = NULL;
    size_t length = 0;
    memset(page, 0, sizeof *page);
    page->encoding = charset_sniff(capture->body, capture->length, capture->content_type);
    buffer_trim(&pages->plain, KEEP_BYTES);
    Result rc =
        charset_text(page->encoding, capture->body, capture->length, &pages->plain, &text, &length);
    if (rc == RESULT_MEMORY) {
        return rc;
    }
    if (memchr(text, '\r', length) != NULL) {
        if (text != pages->plain.data) {
            buffer_reset(&pages->plain);
            rc = buffer_append(&pages->plain, text, length);
            if (rc != RESULT_OK) {
                return RESULT_MEMORY;
            }
        }
        size_t n = 0;
        char *data = pages->plain.data;
        for (size_t i = 0; i < length; i++) {
            bool pair = data[i] == '\r' && i + 1 < length && data[i + 1] == '\n';
            if (!pair) {
                data[n++] = (char)(data[i] == '\r' ? '\n' : data[i]);
            }
        }
        text = data;
        length = n;
    }
    page->text = text;
    page->length = length;
    return RESULT_OK;
}

Result text_pages_read(TextPages *pages, const TextCapture *capture, TextPage *page)
{
    arena_reset(&pages->arena);
    *page = (TextPage){.capture = capture};
    Result rc = RESULT_OK;
    if (capture->is_plain) {
        rc = read_plain(pages, capture, &page->visible);
    } else {
        VisibleInput input = {.body = capture->body,
                              .length = capture->length,
                              .content_type = capture->content_type,
                              .url = capture->url.bytes,
                              .url_length = capture->url.length};
        rc = visible_read(pages->reader, &input, &page->visible);
        rc = rc == RESULT_LIMIT ? RESULT_OK : rc;
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    bool part = page->visible.main_text != NULL;
    page->text = part ? page->visible.main_text : page->visible.text;
    page->length = part ? page->visible.main_length : page->visible.length;
    /* What the header says, for pages that say nothing. */
    page->canonical = page->visible.canonical;
    page->declared = page->visible.language;
    if (page->canonical == NULL && capture->link_header.length > 0 &&
        url_parse(&pages->document, NULL, capture->url.bytes, capture->url.length) == RESULT_OK &&
        url_parse(&pages->link, &pages->document, capture->link_header.bytes,
                  capture->link_header.length) == RESULT_OK) {
        page->canonical = pages->link.href;
    }
    if ((page->declared == NULL || *page->declared == '\0') &&
        capture->content_language.length > 0) {
        page->declared = arena_copy(&pages->arena, capture->content_language.bytes,
                                    capture->content_language.length);
    }
    if (page->declared != NULL && *page->declared == '\0') {
        page->declared = NULL;
    }
    if (pages->options.language) {
        page->language = text_language_of(page->text, page->length);
    }
    return RESULT_OK;
}

VisibleHeading text_pages_heading(const TextPages *pages, size_t i)
{
    return visible_heading(pages->reader, i);
}
