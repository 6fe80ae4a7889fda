/* Any bytes as a page's text. The first byte chooses the Content-Type. Beyond not crashing: the
 * text is UTF-8 without NUL and no longer than it may be, nothing is owed at its end, and headings
 * lie in it; and a copy of the same bytes that ends where its memory ends gives the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "parse/visible/visible.h"

#define DATA_BYTES (1u << 14) /* of each list */
#define PAGE_URL   "http://h.test/d/p.html"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_page(const VisibleReader *reader, const VisiblePage *page)
{
    if (charset_utf8_span(page->text, page->length) != page->length) {
        abort();
    }
    for (size_t i = 0; i < page->n_headings; i++) {
        VisibleHeading heading = visible_heading(reader, i);
        if (heading.text < page->text || heading.level < 1 || heading.level > 6 ||
            heading.length > page->length ||
            (size_t)(heading.text - page->text) > page->length - heading.length) {
            abort();
        }
    }
    for (size_t i = 0; i < VISIBLE_DATA_KINDS; i++) {
        HtmlSlice list = page->data[i];
        if (list.length < 2 || list.bytes[0] != '[' || list.bytes[list.length - 1] != ']' ||
            list.length > DATA_BYTES + 1) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {NULL, "text/html; charset=utf-8", "text/html; charset=gbk",
                                        "text/html; charset=utf-16", "application/xhtml+xml"};
    if (size == 0) {
        return 0;
    }
    char *exact = exact_copy(data + 1, size - 1);
    VisibleInput input = {.length = size - 1,
                          .content_type = types[data[0] % 5],
                          .url = PAGE_URL,
                          .url_length = sizeof PAGE_URL - 1};
    VisibleOptions options = {.memory_bytes = 1u << 16,
                              .main_text = true,
                              .markdown = true,
                              .styles = true,
                              .data_bytes = DATA_BYTES};
    VisibleReader *readers[2] = {NULL, NULL};
    VisiblePage pages[2];
    for (int i = 0; i < 2; i++) {
        input.body = i == 0 ? exact : (const char *)data + 1;
        if (visible_reader_new(&readers[i], &options) != RESULT_OK) {
            abort();
        }
        (void)visible_read(readers[i], &input, &pages[i]);
        check_page(readers[i], &pages[i]);
        Buffer markdown = {.limit = BUFFER_NO_LIMIT};
        (void)visible_page_markdown(readers[i], &markdown);
        buffer_destroy(&markdown);
    }
    if (pages[0].length != pages[1].length ||
        memcmp(pages[0].text, pages[1].text, pages[0].length) != 0) {
        abort();
    }
    visible_reader_delete(readers[0]);
    visible_reader_delete(readers[1]);
    free(exact);
    return 0;
}
