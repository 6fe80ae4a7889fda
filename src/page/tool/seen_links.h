/* Seen links: the keys of the links that a page has already named.
 *
 * What: a hash set of 64-bit keys, used again for page after page. It holds a bounded number of
 * keys, since a page may name any number of URLs: what is beyond counts as new each time.
 * Emptying it costs what was put in, not what there is room for.
 * Owns: its table, which grows with the links of a page and is given back after a large one.
 * Threads: one.
 * Errors: without memory for a larger table keys count as new. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

/* External links: links of one page that lead out of scope, as the graph keeps them.
 *
 * What: a list as store/tables/page_rows.h has it. It ends at as many links as the caller
 * wants, and at EXTERNAL_LINKS_BYTES.
 * Owns: the list.
 * Threads: one parsing thread. */

#define EXTERNAL_LINKS_BYTES ((size_t)1 << 20)

typedef struct ExternalLinks {
    Buffer list;
    size_t n;
} ExternalLinks;

void external_links_init(ExternalLinks *links);
void external_links_forget(ExternalLinks *links);
/* Forgets what came behind the first n, which take length bytes. */
void external_links_rewind(ExternalLinks *links, size_t n, size_t length);
/* kind: link_kind_byte. */
void external_links_add(ExternalLinks *links, uint8_t kind, const char *url, size_t length,
                        size_t most);
/* A copy, which becomes the caller's, *length bytes; NULL: there are none, or no memory. */
char *external_links_copy(const ExternalLinks *links, size_t *length);

typedef struct SeenLinks {
    uint64_t *keys; /* open addressing; 0 = free */
    uint32_t *used; /* the slots that are not, in order of coming */
    size_t slots;
    size_t count;
} SeenLinks;

/* Adds a key while there are fewer than most of them (at least 4 096). True: it was not there. */
bool seen_links_note(SeenLinks *seen, uint64_t key, size_t most);
/* Empties the set. */
void seen_links_forget(SeenLinks *seen);
/* Frees the table; a zeroed set is an empty one. */
void seen_links_destroy(SeenLinks *seen);
