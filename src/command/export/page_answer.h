/* Page answer: what the stored answer of a page says: type, size, title, language, redirect; and
 * where it is.
 *
 * What: reads the indices beside the WARC files once (store/cdxj/cdxj.h) and notes a place for each
 * page of the database: that of its newest answer. An answer 304 does not count: what it confirms
 * is stored earlier. Then it loads the answer of one page after the other. Titles and languages are
 * those of HTML, XHTML and plain text; the language is the one the text shows (text_language.h),
 * else the one that the page or its header says.
 * Owns: a temporary file of PAGE_PLACE_BYTES for each page, the names of the WARC files, and what
 * was read last, from which a PageAnswer borrows until the next one.
 * Threads: one. A crawl may be running; what it adds later is not seen.
 * Errors: a record that cannot be read has no facts; it is counted. RESULT_IO, RESULT_FULL,
 * RESULT_MEMORY. */
#pragma once

#include "parse/usage/usage.h"
#include "parse/visible/visible.h"
#include "store/pages/page_db.h"

#define PAGE_PLACE_BYTES 16u

typedef struct PageAnswer {
    const char *file; /* where it is stored; NULL: nowhere */
    uint64_t offset;
    bool is_read;
    const char *mime; /* not NUL-terminated; length 0: the server sent none */
    size_t mime_length;
    uint64_t bytes;        /* of the body as it was received */
    const char *title;     /* NULL: none */
    const char *language;  /* a BCP 47 tag; NULL: not known */
    const char *redirect;  /* where Location points; NULL: nowhere */
    unsigned allowed;      /* usages, expressly */
    const char *canonical; /* NULL: none */
    const HtmlSlice *data; /* [VISIBLE_DATA_KINDS], JSON; NULL: it has no text */
} PageAnswer;

typedef struct PageAnswers PageAnswers;

/* directory holds the WARC files, and is borrowed; when it is missing, no page is stored. The
 * caller has no read transaction of its own meanwhile. data_bytes: of TextPagesOptions. */
Result page_answers_new(PageAnswers **answers, PageDB *db, const char *directory,
                        uint64_t data_bytes);
void page_answers_delete(PageAnswers *answers);

/* Reads the answer of a page with this URL. */
Result page_answers_read(PageAnswers *answers, uint64_t page, const char *url, size_t length,
                         PageAnswer *answer);
/* Says on standard error how many records could not be read, and how many pages had more for
 * programs than data_bytes. */
void page_answers_tell(const PageAnswers *answers);
