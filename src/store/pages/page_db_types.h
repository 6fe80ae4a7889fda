/* Page database, its types.
 *
 * What: the types that its parts share; page_db.h has the functions.
 * Owns: what each comment says.
 * Threads: as page_db.h says. */
#ifndef STORE_PAGES_PAGE_DB_TYPES_H
#define STORE_PAGES_PAGE_DB_TYPES_H

#include <lmdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/error.h"
#include "base/memory/buffer.h"
#include "store/lmdb/mmap_array.h"
#include "store/lmdb/txn_manager.h"
#include "store/pages/page_db_error.h"
#include "store/records/crawled_page.h"
#include "store/records/domain_temp.h"
#include "store/records/link_stream.h"
#include "store/records/page_info.h"
#include "store/records/page_ref.h"

#define PAGE_DB_DEFAULT_PERSIST 1
/* Size of the map, reserved and not used: no growth on 64-bit machines. Halved until it fits. */
#define PAGE_DB_DEFAULT_SIZE   ((size_t)1 << 40)
#define PAGE_DB_FORMAT_VERSION 3u

/* Who opens read_only is refused when less than this part of the slots for readers is free. */
#define PAGE_DB_KEPT_SHARE 4u

typedef struct PageDBStore PageDBStore;

struct PageDB {
    char *path;              /* of the directory */
    TxnManager *txn_manager; /* all transactions go through it */
    DomainTemp *domain_temp; /* NULL until page_db_set_domain_temp */
    Error *error;            /* words for the last call that failed */
    int persist;             /* if not, page_db_delete removes the files; default 1 */
    PageDBStore *store;      /* tables, caches: page_store.h */
};

typedef struct PageDBOptions {
    size_t map_bytes;     /* 0 = PAGE_DB_DEFAULT_SIZE */
    bool read_only;       /* no writes; the directory must hold a database */
    bool no_sync;         /* commits are not durable: for tests and throw-away databases */
    unsigned max_readers; /* concurrent read transactions of all processes; 0 = 510 */
    bool no_create;       /* page_db_error_invalid_path when there is no database */
    bool damaged_keys; /* open it although hash2idx has too few entries, or too many: to be looked
                          at, or for page_keys_mend */
} PageDBOptions;

/* Pages and links of one call of page_db_write, at most. */
#define PAGE_DB_WRITE_MAX ((size_t)1 << 24)

#endif
