/* External links: links of one page that lead out of scope, as the graph keeps them.
 *
 * What: a list as store/tables/external_table.h has it. It ends at as many links as the caller
 * wants, and at EXTERNAL_LINKS_BYTES.
 * Owns: the list.
 * Threads: one parsing thread. */
#ifndef PAGE_TOOL_EXTERNAL_LINKS_H
#define PAGE_TOOL_EXTERNAL_LINKS_H

#include "base/memory/buffer.h"

#define EXTERNAL_LINKS_BYTES ((size_t)1 << 20)

typedef struct ExternalLinks {
    Buffer list;
    size_t n;
} ExternalLinks;

void external_links_init(ExternalLinks *links);
void external_links_destroy(ExternalLinks *links);
void external_links_forget(ExternalLinks *links);
/* kind: link_kind_byte. */
void external_links_add(ExternalLinks *links, uint8_t kind, const char *url, size_t length,
                        size_t most);
/* A copy, which becomes the caller's, *length bytes; NULL: there are none, or no memory. */
char *external_links_copy(const ExternalLinks *links, size_t *length);

#endif
