/* Text filter: a filter expression asked about a capture of an archive.
 *
 * What: the expression sees the URL, the status, the content type, the decoded body and the digest
 * of the payload.
 * Owns: its scratch. The expression is borrowed.
 * Threads: one. */
#ifndef COMMAND_TEXT_TEXT_FILTER_H
#define COMMAND_TEXT_TEXT_FILTER_H

#include "command/text/text_source.h"
#include "parse/filter/filter.h"

/* What an expression may ask about. */
#define TEXT_FILTER_HAS (FILTER_HAS_RESPONSE | FILTER_HAS_STATUS | FILTER_HAS_TYPE)

typedef struct TextFilter {
    const Filter *where; /* NULL: everything passes */
    FilterScratch *scratch;
    Url url;
} TextFilter;

/* RESULT_MEMORY; text_filter_destroy in every case. */
Result text_filter_init(TextFilter *filter, const Filter *where);
void text_filter_destroy(TextFilter *filter);
bool text_filter_passes(TextFilter *filter, const TextCapture *capture);

#endif
