#include "page/discovery.h"

#define STEPS 64u /* longer paths are cut at the front */

void discovery_find(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *path, Buffer *referrer,
                    uint64_t *seed)
{
    char letters[STEPS];
    size_t n = 0;
    uint64_t last = PAGE_DB_NO_INDEX;
    while (index != PAGE_DB_NO_INDEX && n < STEPS) {
        PageRef page;
        int rc = n == 1 ? page_db_get(db, txn, index, &page, referrer)
                        : page_db_get_way(db, txn, index, &page.linked_from, &page.hop);
        if (rc != 0) {
            break;
        }
        last = index;
        letters[n++] = (char)page.hop;
        index = page.linked_from;
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
