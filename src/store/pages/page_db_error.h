/* PageDB error: what a call of PageDB can return.
 *
 * What: streams return these codes, too, so they have a header of their own. */
#ifndef STORE_PAGES_PAGE_DB_ERROR_H
#define STORE_PAGES_PAGE_DB_ERROR_H

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

#endif
