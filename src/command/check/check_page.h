/* Check page: a file read as a page, for `ragno check links`, `charset` and `digest`.
 *
 * What: the arguments that these commands share, and the parsed file.
 * Threads: main. */
#ifndef COMMAND_CHECK_CHECK_PAGE_H
#define COMMAND_CHECK_CHECK_PAGE_H

#include "base/memory/buffer.h"
#include "parse/html/html.h"

typedef struct CheckPage {
    const char *file;
    const char *base;         /* the document's URL */
    const char *content_type; /* or NULL */
    bool styles;
    bool use_libxml2;
    size_t link_text; /* HtmlOptions.link_text */
    Buffer body;
    HtmlParser *parser;
    Page page;
} CheckPage;

/* Reads the arguments, and reads and parses the file. Prints its own error messages. Returns 0 or
 * the exit status; call check_page_close in either case. */
int check_page_open(CheckPage *check, int argc, char **argv, const char *usage);
void check_page_close(CheckPage *check);

#endif
