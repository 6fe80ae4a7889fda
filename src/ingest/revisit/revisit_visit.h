/* Revisit visit: what the answer to one visit changes in a page's note.
 *
 * What: the note (store/tables/revisit_table.h) holds the validators of what is stored and how
 * often in a row the page was missed. A pure function of the answer: no tables, no clock. */
#ifndef INGEST_REVISIT_REVISIT_VISIT_H
#define INGEST_REVISIT_REVISIT_VISIT_H

#include "page/parsed_page.h"
#include "store/tables/revisit_table.h"

/* Updates a note. Validators come from an answer that brought or confirmed content. 404 and 410
 * count as a miss, and so does no answer at all when the page was never crawled; any other answer
 * ends the misses. ref is the page as it is stored. */
void revisit_visit_note(const ParsedPage *page, const PageRef *ref, RevisitNote *note);
/* Whether the two notes are the same, so that no new record is needed. */
bool revisit_visit_is_same(const RevisitNote *a, const RevisitNote *b);

#endif
