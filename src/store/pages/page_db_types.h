/* Page database, its types.
 *
 * What: the types that its parts share; page_db.h has the functions.
 * Owns: what each comment says.
 * Threads: as page_db.h says. */
#ifndef STORE_PAGES_PAGE_DB_TYPES_H
#define STORE_PAGES_PAGE_DB_TYPES_H

#include <lmdb.h>
#include <stdio.h>

#include "base/memory/buffer.h"
#include "store/lmdb/mmap_array.h"
#include "store/lmdb/txn_manager.h"
#include "store/records/domain_temp.h"
#include "store/records/link_stream.h"
#include "store/records/page_info.h"
#include "store/records/page_ref.h"

/* PageDB error: what a call of PageDB can return.
 *
 * What: streams return these codes, too, so they have a header of their own. */

typedef enum PageDBError {
    page_db_error_ok = 0,       /* no error */
    page_db_error_memory,       /* error allocating memory */
    page_db_error_invalid_path, /* file system error: no such directory, no permission */
    page_db_error_internal,     /* unexpected error */
    page_db_error_no_page,      /* a page was requested but could not be found */
    /* Beyond the documented ones: */
    page_db_error_full,      /* disk or map full: nothing was written; make room and try again */
    page_db_error_version,   /* written in another format; left alone */
    page_db_error_damaged,   /* not a database, or its structure is broken */
    page_db_error_locked,    /* too many readers, or locked by another process */
    page_db_error_read_only, /* a write to a database opened read_only */
    page_db_error_invalid,   /* an argument is NULL or out of range */
    page_db_error_io         /* a write or a sync failed; nothing more can be committed until the
                                database is opened anew, and is then as of the last commit */
} PageDBError;

typedef struct PageDB PageDB; /* page_db.h */

#define PAGE_DB_DEFAULT_PERSIST 1
/* Size of the map, reserved and not used: no growth on 64-bit machines. Halved until it fits. */
#define PAGE_DB_DEFAULT_SIZE   ((size_t)1 << 40)
#define PAGE_DB_FORMAT_VERSION 6u

/* Who opens read_only is refused when less than this part of the slots for readers is free. */
#define PAGE_DB_KEPT_SHARE 4u

typedef struct PageDBStore PageDBStore;
typedef struct Journal Journal; /* store/lmdb/journal.h */

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
