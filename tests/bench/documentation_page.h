/* A page in the manner of documentation, always the same: a head, paragraphs with inline markup,
 * links within the page and to its neighbours. 26 kB, 107 anchors. */
#ifndef DOCUMENTATION_PAGE_H
#define DOCUMENTATION_PAGE_H

#include "base/memory/buffer.h"

/* Appends the page. */
void documentation_page(Buffer *page);

#endif
