#include "frontier/sieve/sieve_walk.h"

#include <stdlib.h>

#include "base/memory/map.h"
#include "frontier/sieve/sieve_link.h"

/* One crawl of a page. */
typedef struct Seen {
    uint64_t page;
    uint32_t n_links;
    uint32_t found;
} Seen;

static Result on_element(void *context, uint64_t generation, const DrumKey *key,
                         DrumBytes auxiliary)
{
    Map *crawls = context;
    SieveLink link;
    (void)key;
    if (!sieve_link_read(auxiliary, &link)) {
        return RESULT_OK; /* counts as missing */
    }
    MapKey name = {.low = link.from, .high = generation << 32 | link.number};
    Seen *seen = map_get(crawls, name);
    if (seen == NULL) {
        seen = calloc(1, sizeof *seen);
        Result rc = seen == NULL ? RESULT_MEMORY : map_put(crawls, name, seen);
        if (rc != RESULT_OK) {
            free(seen);
            return rc;
        }
        *seen = (Seen){.page = link.from, .n_links = link.n_links};
    }
    seen->found++;
    return RESULT_OK;
}

Result sieve_walk(const char *directory, const SieveState *state, uint8_t *pages, uint64_t n_pages,
                  DrumRecovery *recovery)
{
    Map crawls;
    map_init(&crawls);
    Result rc =
        drum_walk(directory, state->progress, state->position, on_element, &crawls, recovery);
    size_t place = 0;
    Seen *seen = NULL;
    while ((seen = map_next(&crawls, &place)) != NULL) {
        uint32_t elements = seen->n_links == 0 ? 1 : seen->n_links;
        if (seen->found == elements && seen->page < n_pages) {
            pages[seen->page / 8] |= (uint8_t)(1u << seen->page % 8);
        }
        free(seen);
    }
    map_destroy(&crawls);
    return rc;
}
