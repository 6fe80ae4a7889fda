/* Writing one page: title, text and links.
 *
 * A PageWriter spreads the text evenly between the links, so that the page has about the size it
 * was given whatever their number. Text is pointed to, links are copied into the Reply. */
#ifndef TESTS_WEB_PAGE_H
#define TESTS_WEB_PAGE_H

#include "random.h"
#include "reply.h"
#include "text.h"

typedef struct PageWriter {
    Reply *reply;
    const Text *text;
    Random *random;
    size_t bytes_per_link; /* of text before each link */
} PageWriter;

/* Starts a page about number (its title) of about page_bytes (an exponential-like spread around
 * it) with n_links to come. */
void page_begin(PageWriter *page, uint64_t number, size_t page_bytes, uint32_t n_links);
/* One anchor. href is NUL-terminated and needs no escaping. */
void page_link(PageWriter *page, const char *href);
/* Ends the page and puts the header in front: 200, text/html; with further header lines. */
void page_end(PageWriter *page);
void page_end_with(PageWriter *page, const char *extra);

#endif
