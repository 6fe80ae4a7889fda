/* Page answer: what the stored answer of a page says: type, size, title, language, redirect.
 *
 * What: reads a record at its place (page_places.h). Titles and languages are those of HTML, XHTML
 * and plain text; the language is the one the text shows (text_language.h), else the one that the
 * page or its header says.
 * Owns: some open WARC files. A PageAnswer is borrowed until the next one is read.
 * Threads: one.
 * Errors: a record that cannot be read has no facts; it is counted. RESULT_MEMORY. */
#ifndef COMMAND_EXPORT_PAGE_ANSWER_H
#define COMMAND_EXPORT_PAGE_ANSWER_H

#include "command/export/page_places.h"

typedef struct PageAnswer {
    bool is_read;
    const char *mime; /* not NUL-terminated; length 0: the server sent none */
    size_t mime_length;
    uint64_t bytes;       /* of the body as it was received */
    const char *title;    /* NULL: none */
    const char *language; /* a BCP 47 tag; NULL: not known */
    const char *redirect; /* where Location points; NULL: nowhere */
} PageAnswer;

typedef struct PageAnswers PageAnswers;

/* directory and places are borrowed. RESULT_MEMORY. */
Result page_answers_new(PageAnswers **answers, const char *directory, PagePlaces *places);
void page_answers_delete(PageAnswers *answers);

/* Reads what is stored at a place of the page with this URL. */
Result page_answers_read(PageAnswers *answers, const char *url, size_t length,
                         const PagePlace *place, PageAnswer *answer);
/* The body of an answer, decoded. */
typedef struct PageBody {
    const char *bytes; /* borrowed until the next page is read */
    size_t length;
    const char *content_type; /* NULL: none */
    bool is_html;             /* else nothing was decoded */
} PageBody;

/* Reads the body of the page with this URL, if it is HTML. */
Result page_answers_body(PageAnswers *answers, const char *url, size_t length,
                         const PagePlace *place, PageBody *body);
/* Records that could not be read. */
uint64_t page_answers_damaged(const PageAnswers *answers);

#endif
