/* Revisit visit: what the answer to one visit changes in a page's note.
 *
 * What: the note (store/tables/revisit_table.h) holds the validators of what is stored and how
 * often in a row the page was missed. A pure function of the answer: no tables, no clock. */
#ifndef INGEST_REVISIT_REVISIT_VISIT_H
#define INGEST_REVISIT_REVISIT_VISIT_H

#include "page/parsed_page.h"
#include "store/tables/revisit_table.h"

/* Validators are taken from an answer that brought content, or confirmed it; 404, 410 and no answer
 * at all to a page that was never crawled count as a miss, any other answer ends the misses. ref is
 * the page as it is stored. */
void revisit_visit_note(const ParsedPage *page, const PageRef *ref, RevisitNote *note);
/* Whether the two notes need no new record. */
bool revisit_visit_is_same(const RevisitNote *a, const RevisitNote *b);

#endif
