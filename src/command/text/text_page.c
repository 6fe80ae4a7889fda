#include "command/text/text_page.h"

#include <stdlib.h>
#include <string.h>

#include "page/tool/text_language.h"
#include "parse/charset/charset.h"
#include "parse/http/decode.h"

#define ARENA_BLOCK_BYTES ((size_t)4096)
#define ARENA_BYTES       ((size_t)1 << 20)
#define MEMORY_BYTES      ((size_t)1 << 30)
#define KEEP_BYTES        ((size_t)4 << 20)

#define SHEET_BYTES     ((size_t)4 << 20) /* a longer one is none */
#define SHEET_RATIO     1000u
#define SHEET_REDIRECTS 5u

/* A style sheet by its URL, or that there is none. */
typedef struct TextSheet {
    Buffer url;
    Buffer text;
    bool is_there;
} TextSheet;

struct TextPages {
    TextPagesOptions options;
    VisibleReader *reader;
    Arena arena; /* of this page */
    Buffer plain;
    Url document;
    Url link;
    Decoder *decoder;
    Map sheets; /* of TextSheet, by hash of the URL that was asked for */
    size_t sheets_bytes;
};

/* ---- style sheets of the archive ---- */

static void text_sheet_delete(TextSheet *sheet)
{
    buffer_destroy(&sheet->url);
    buffer_destroy(&sheet->text);
    free(sheet);
}

static void text_pages_forget_sheets(TextPages *pages)
{
    size_t place = 0;
    for (TextSheet *sheet = map_next(&pages->sheets, &place); sheet != NULL;
         sheet = map_next(&pages->sheets, &place)) {
        text_sheet_delete(sheet);
    }
    map_destroy(&pages->sheets);
    pages->sheets_bytes = 0;
}

/* Takes an answer as the sheet; *again: it redirects, and pages->link is where to. */
static Result text_sheet_take(TextPages *pages, TextSheet *sheet, WarcAnswer *answer, bool *again)
{
    HttpHeader header;
    WarcBytes from = warc_bytes(sheet->url.data, sheet->url.length);
    if (http_header_parse(&header, buffer_string(&answer->header), answer->header.length) !=
        RESULT_OK) {
        return RESULT_NOT_FOUND;
    }
    if (text_redirect_of(&header, answer->status, from, &pages->document, &pages->link)) {
        *again = true;
        buffer_reset(&sheet->url);
        return buffer_append(&sheet->url, pages->link.href, pages->link.length);
    }
    DecodeStatus status = decode_answer(pages->decoder, &header, answer->body.data,
                                        answer->body.length, &sheet->text, SHEET_RATIO);
    sheet->is_there = answer->status == 200 && status == DECODE_OK;
    return RESULT_OK;
}

static Result text_sheet_load(TextPages *pages, TextSheet *sheet)
{
    Result rc = RESULT_OK;
    bool again = true;
    for (unsigned i = 0; i < SHEET_REDIRECTS && again && rc == RESULT_OK; i++) {
        WarcAnswer answer;
        again = false;
        warc_answer_init(&answer);
        rc = warc_load(pages->options.warc_directory, sheet->url.data, sheet->url.length, &answer);
        if (rc == RESULT_OK) {
            rc = text_sheet_take(pages, sheet, &answer, &again);
        }
        warc_answer_destroy(&answer);
    }
    return rc;
}

/* VisibleSheetLoad. */
static bool text_pages_load_sheet(void *context, HtmlSlice base, HtmlSlice reference,
                                  HtmlSlice *text, HtmlSlice *url)
{
    TextPages *pages = context;
    const Url *from = NULL;
    if (base.length > 0 &&
        url_parse(&pages->document, NULL, base.bytes, base.length) == RESULT_OK) {
        from = &pages->document;
    }
    if (url_parse(&pages->link, from, reference.bytes, reference.length) != RESULT_OK) {
        return false;
    }
    MapKey key = map_key_of(pages->link.href, pages->link.length);
    TextSheet *sheet = map_get(&pages->sheets, key);
    if (sheet == NULL) {
        sheet = calloc(1, sizeof *sheet);
        if (sheet == NULL) {
            return false;
        }
        buffer_init(&sheet->url, BUFFER_NO_LIMIT);
        buffer_init(&sheet->text, SHEET_BYTES);
        if (buffer_append(&sheet->url, pages->link.href, pages->link.length) != RESULT_OK ||
            map_put(&pages->sheets, key, sheet) != RESULT_OK) {
            text_sheet_delete(sheet);
            return false;
        }
        (void)text_sheet_load(pages, sheet); /* one that cannot be read is not there */
        pages->sheets_bytes += sheet->text.length + sizeof *sheet + sheet->url.length;
    }
    *text = (HtmlSlice){.bytes = buffer_string(&sheet->text), .length = sheet->text.length};
    *url = (HtmlSlice){.bytes = buffer_string(&sheet->url), .length = sheet->url.length};
    return sheet->is_there;
}

/* ---- pages ---- */

Result text_pages_new(TextPages **out, const TextPagesOptions *options)
{
    TextPages *pages = calloc(1, sizeof *pages);
    if (pages == NULL) {
        return RESULT_MEMORY;
    }
    pages->options = *options;
    arena_init(&pages->arena, ARENA_BLOCK_BYTES, ARENA_BYTES);
    buffer_init(&pages->plain, MEMORY_BYTES);
    VisibleOptions visible = {.memory_bytes = MEMORY_BYTES,
                              .main_text = options->main_text,
                              .styles = options->styles,
                              .markdown = options->markdown,
                              .data_bytes = options->data_bytes,
                              .load = text_pages_load_sheet,
                              .load_context = pages};
    Result rc = visible_reader_new(&pages->reader, &visible);
    if (rc == RESULT_OK) {
        rc = decoder_new(&pages->decoder);
    }
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
    text_pages_forget_sheets(pages);
    map_destroy(&pages->sheets);
    decoder_delete(pages->decoder);
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

/* PDF, by a process of its own. */
static Result text_pages_read_pdf(TextPages *pages, const TextCapture *capture, TextPage *page)
{
    VisiblePage *visible = &page->visible;
    memset(visible, 0, sizeof *visible);
    buffer_trim(&pages->plain, KEEP_BYTES);
    buffer_reset(&pages->plain);
    Result rc = text_pdf_read(&pages->options.pdf, capture->body, capture->length, &pages->plain);
    page->is_cut |= rc != RESULT_OK;
    visible->encoding = "UTF-8";
    visible->text = buffer_string(&pages->plain);
    visible->length = pages->plain.length;
    return rc == RESULT_MEMORY || rc == RESULT_NOT_FOUND ? rc : RESULT_OK;
}

Result text_pages_read(TextPages *pages, const TextCapture *capture, TextPage *page)
{
    arena_reset(&pages->arena);
    if (pages->sheets_bytes > TEXT_SHEETS_BYTES) {
        text_pages_forget_sheets(pages);
    }
    *page = (TextPage){.capture = capture, .is_cut = capture->is_cut};
    Result rc = RESULT_OK;
    if (capture->is_pdf) {
        rc = text_pages_read_pdf(pages, capture, page);
    } else if (capture->is_plain) {
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
    if (pages->options.markdown && !capture->is_plain && !capture->is_pdf) {
        buffer_trim(&pages->plain, KEEP_BYTES);
        buffer_reset(&pages->plain);
        rc = visible_page_markdown(pages->reader, &pages->plain);
        page->text = buffer_string(&pages->plain);
        page->length = pages->plain.length;
    }
    return rc;
}

VisibleHeading text_pages_heading(const TextPages *pages, size_t i)
{
    return visible_heading(pages->reader, i);
}
