/* Text page: what is exported of one capture.
 *
 * What: the text of the page, all that is visible or the main text, and what the page says of
 * itself.
 * Of a PDF document that is over a limit, or broken, the text is what there was until then.
 * The style sheets that it links are the newest captures in the archive, whatever was captured
 * when; TEXT_SHEETS_BYTES of them are kept from page to page.
 * Owns: a TextPage borrows from its capture and its reader until the next one is read.
 * Threads: one. */
#pragma once

#include "command/text/text_pdf.h"
#include "command/text/text_source.h"
#include "parse/visible/visible.h"

/* What the exports of pages and texts can be told about such lists. */
#define TEXT_DATA_BYTES 262144u
#define TEXT_DATA_LEAST 1024
#define TEXT_DATA_MOST  67108864

#define TEXT_SHEETS_BYTES ((size_t)16 << 20)

typedef struct TextPage {
    const TextCapture *capture;
    VisiblePage visible; /* of plain text and PDF: the text alone */
    bool is_cut;         /* the text is not all of it */
    const char *text;    /* what is wanted of it: all that is visible, or the main text; or that as
                            Markdown */
    size_t length;
    const char *canonical; /* of the page, else of its header; or NULL */
    const char *language;  /* as the text itself shows (text_language.h), or NULL */
    const char *declared;  /* as the page or its header says, or NULL */
} TextPage;

typedef struct TextPages TextPages;

typedef struct TextPagesOptions {
    bool main_text;             /* only the main text */
    bool language;              /* find out the language */
    bool styles;                /* style sheets count */
    bool markdown;              /* text is Markdown (visible_markdown.h) */
    uint64_t data_bytes;        /* of each list for programs (visible_data.h); 0: none is made */
    TextPdfOptions pdf;         /* of captures that are PDF documents */
    const char *warc_directory; /* borrowed: where the sheets are that pages link */
} TextPagesOptions;

/* RESULT_MEMORY. */
Result text_pages_new(TextPages **pages, const TextPagesOptions *options);
void text_pages_delete(TextPages *pages);

/* Reads a capture. RESULT_MEMORY: page is not valid. RESULT_NOT_FOUND: it is a PDF document, and
 * there is no pdftotext. */
Result text_pages_read(TextPages *pages, const TextCapture *capture, TextPage *page);
/* The i-th of page->visible.n_headings. */
VisibleHeading text_pages_heading(const TextPages *pages, size_t i);
