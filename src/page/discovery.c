#include "page/discovery.h"
#include "store/pages/page_db_read.h"

#include <stdbool.h>

#define STEPS 64u /* longer paths are cut at the front */

/* The page that linked to this one. False: it cannot be read. */
static bool discovery_take_step(PageDB *db, MDB_txn *txn, DiscoverySteps *steps, uint64_t *index,
                                uint8_t *hop)
{
    uint64_t page = *index;
    if (steps == NULL) {
        return page_db_get_way(db, txn, page, index, hop, NULL) == 0;
    }
    size_t place = page % DISCOVERY_STEPS;
    if (steps->of[place].page != page + 1) {
        if (page_db_get_way(db, txn, page, index, hop, NULL) != 0) {
            return false;
        }
        steps->of[place].page = page + 1;
        steps->of[place].linked_from = *index;
        steps->of[place].hop = *hop;
    }
    *index = steps->of[place].linked_from;
    *hop = steps->of[place].hop;
    return true;
}

void discovery_find(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *path, Buffer *referrer,
                    uint64_t *seed, DiscoverySteps *steps)
{
    char letters[STEPS];
    size_t n = 0;
    uint64_t last = PAGE_DB_NO_INDEX;
    while (index != PAGE_DB_NO_INDEX && n < STEPS) {
        uint8_t hop = 0;
        uint64_t page = index;
        if (n == 1 ? page_db_get_way(db, txn, page, &index, &hop, referrer) != 0
                   : !discovery_take_step(db, txn, steps, &index, &hop)) {
            break;
        }
        last = page;
        letters[n++] = (char)hop;
    }
    /* A seed is M by itself; as the start of a path it has no letter. */
    if (seed != NULL) {
        *seed = index == PAGE_DB_NO_INDEX ? last : PAGE_DB_NO_INDEX;
    }
    bool from_seed = n > 1 && index == PAGE_DB_NO_INDEX && letters[n - 1] == 'M';
    size_t first = from_seed ? n - 1 : n;
    for (size_t i = first; i > 0; i--) {
        (void)buffer_append_char(path, letters[i - 1]);
    }
}
