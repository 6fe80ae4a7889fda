/* What a reader sees of a page: its visible text, title, description, headings.
 *
 * What: the text is what a browser's innerText says of the body: blocks on lines of their own, an
 * empty line around paragraphs, a tab between the cells of a row, white space collapsed outside of
 * <pre>. Scripts, styles, templates and whatever is not rendered are left out: hidden, what style
 * attributes, and with options.styles style elements and sheets, do not display, closed details and
 * dialogs, noscript. Scripts are not run. Options of a <select> are text, its form controls' values
 * are not.
 *
 * Flow: the encoding is found and undone as in parse/html/html.h; the markup is tokenized once
 * (visible.h), open elements are kept track of (visible_tree.h, visible_stack.h), their text
 * is laid out (visible_lines.h), what the page says of itself is noted (visible.h).
 * tests/interop/browser_text.py compares the result with Chromium's, word by word.
 *
 * Owns: a VisiblePage borrows from its reader until the next page is read.
 * Threads: a reader belongs to one thread.
 * Errors: RESULT_MEMORY; whatever the page holds is data. */
#pragma once

#include "parse/visible/visible_data.h"
#include "parse/visible/visible_style.h"

typedef struct VisibleOptions {
    size_t memory_bytes; /* of decoded text, and of facts; 0 = 64 Mi */
    bool markdown;       /* visible_markdown will be asked for */
    bool main_text;      /* find the main text (visible.h) */
    bool styles; /* style elements and sheets count (visible_style.h), not only attributes */
    VisibleSheetLoad load; /* where the sheets are that a page links; NULL: they are not there */
    void *load_context;
    size_t data_bytes; /* of each list of what is for programs (visible_data.h); 0: none is made */
} VisibleOptions;

typedef struct VisibleInput {
    const char *body; /* after content decoding */
    size_t length;
    const char *content_type; /* header value or NULL */
    const char *url; /* of the document, absolute; NULL: relative references stay unknown */
    size_t url_length;
} VisibleInput;

typedef struct VisibleHeading {
    const char *text; /* without white space at its ends; a line feed in it is one of the text */
    size_t length;
    unsigned level; /* 1 to 6 */
} VisibleHeading;

typedef struct VisiblePage {
    const char *encoding; /* WHATWG name, static */
    const char *text;     /* UTF-8 */
    size_t length;
    const char *main_text; /* with options.main_text: a part of it; else NULL */
    size_t main_length;
    const char *title; /* NUL-terminated; NULL: none, as below */
    const char *description;
    const char *canonical; /* absolute, of http or https, without fragment */
    const char *language;  /* as the page says, unchecked: "en", "de-AT" */
    size_t n_headings;
    HtmlSlice data[VISIBLE_DATA_KINDS]; /* JSON arrays; empty slices without options.data_bytes */
    bool data_cut;                      /* there was more */
    bool styles_cut; /* matching style sheets took too long: they hold for its beginning */
} VisiblePage;

typedef struct VisibleReader VisibleReader;

/* RESULT_MEMORY. */
Result visible_reader_new(VisibleReader **reader, const VisibleOptions *options);
void visible_reader_delete(VisibleReader *reader);

/* Reads one page. RESULT_MEMORY: page holds what was read until then. RESULT_LIMIT: the document is
 * larger than memory_bytes, and page is of its beginning. */
Result visible_read(VisibleReader *reader, const VisibleInput *input, VisiblePage *page);

/* The i-th heading of the page that was read last, in document order. */
VisibleHeading visible_heading(const VisibleReader *reader, size_t i);

/* Appends the text of the page that was read last, or its main text, as Markdown
 * (visible_markdown.h); the reader has options.markdown, and the page's body and URL are still
 * there. */
Result visible_page_markdown(VisibleReader *reader, Buffer *out);
