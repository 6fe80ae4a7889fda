/* Page answer: what the stored answer of a page says: type, size, title, language, redirect.
 *
 * What: loads a capture at its place. Titles and languages are those of HTML, XHTML
 * and plain text; the language is the one the text shows (text_language.h), else the one that the
 * page or its header says.
 * Owns: what was read last, from which a PageAnswer borrows until the next one.
 * Threads: one.
 * Errors: a record that cannot be read has no facts; it is counted. RESULT_MEMORY. */
#ifndef COMMAND_EXPORT_PAGE_ANSWER_H
#define COMMAND_EXPORT_PAGE_ANSWER_H

#include <stdbool.h>

#include "parse/usage/usage.h"
#include "store/pages/page_db.h"

/* Page places: where in the WARC files the newest answer of each page is stored.
 *
 * What: reads the indices beside the WARC files once (store/cdxj/cdxj.h) and notes a place for each
 * page of the database. An answer 304 does not count: what it confirms is stored earlier.
 * Owns: a temporary file of PAGE_PLACE_BYTES for each page, and the names of the WARC files.
 * Threads: one. A crawl may be running; what it adds later is not seen.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY. */

#define PAGE_PLACE_BYTES 16u

typedef struct PagePlace {
    uint64_t offset;
    uint32_t file; /* number of its name */
    uint32_t date; /* seconds since 1970; 0 = the page is not stored */
} PagePlace;

typedef struct PagePlaces PagePlaces;

/* directory holds the WARC files; when it is missing, no page is stored. The caller has no read
 * transaction of its own meanwhile. */
Result page_places_new(PagePlaces **places, PageDB *db, const char *directory);
void page_places_delete(PagePlaces *places);

/* False: it is not stored. */
bool page_places_get(PagePlaces *places, uint64_t page, PagePlace *place);
const char *page_places_name(const PagePlaces *places, uint32_t file);

typedef struct PageAnswer {
    bool is_read;
    const char *mime; /* not NUL-terminated; length 0: the server sent none */
    size_t mime_length;
    uint64_t bytes;       /* of the body as it was received */
    const char *title;    /* NULL: none */
    const char *language; /* a BCP 47 tag; NULL: not known */
    const char *redirect; /* where Location points; NULL: nowhere */
    unsigned allowed;     /* usages, expressly */
} PageAnswer;

typedef struct PageAnswers PageAnswers;

/* directory and places are borrowed. RESULT_MEMORY. */
Result page_answers_new(PageAnswers **answers, const char *directory, PagePlaces *places);
void page_answers_delete(PageAnswers *answers);

/* Reads what is stored at a place of the page with this URL. */
Result page_answers_read(PageAnswers *answers, const char *url, size_t length,
                         const PagePlace *place, PageAnswer *answer);
/* Records that could not be read. */
uint64_t page_answers_damaged(const PageAnswers *answers);

#endif
