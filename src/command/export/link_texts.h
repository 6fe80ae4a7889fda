/* Link texts: what is written on the links of a page and around them, out of its stored answer.
 *
 * What: the text of links is in the archive already, so the database does not have it: a page is
 * read from its WARC record and parsed once more.
 * Owns: its parser and, of the page that was read last, the texts.
 * Threads: one.
 * Errors: a page that is not stored, or cannot be read, has no texts. RESULT_MEMORY. */
#ifndef COMMAND_EXPORT_LINK_TEXTS_H
#define COMMAND_EXPORT_LINK_TEXTS_H

#include "command/export/page_answer.h"
#include "parse/html/html.h"

typedef struct LinkTexts LinkTexts;

/* directory holds the WARC files. most: bytes of an anchor's text, and of the text on either side.
 * RESULT_MEMORY, and errors of page_places_new. */
Result link_texts_new(LinkTexts **texts, PageDB *db, const char *directory, size_t most);
void link_texts_delete(LinkTexts *texts);
/* Reads the page with this index and URL. */
Result link_texts_read(LinkTexts *texts, uint64_t index, const char *url, size_t length);
/* The text of the first link of that page to url of that kind; NULL: there is none. */
const PageLinkText *link_texts_find(const LinkTexts *texts, const char *url, size_t length,
                                    LinkKind kind);
/* Pages whose records could not be read. */
uint64_t link_texts_damaged(const LinkTexts *texts);

#endif
