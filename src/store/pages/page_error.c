#include "store/pages/page_error.h"

#include <errno.h>
#include <stdio.h>

#define MESSAGE_BYTES 512

int page_db_fail(PageDB *db, int code, const char *what)
{
    if (code != page_db_error_ok) {
        error_set(db->error, code, what);
    }
    return code;
}

int page_db_code(int rc)
{
    switch (rc) {
    case 0:
        return page_db_error_ok;
    case ENOMEM:
        return page_db_error_memory;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return page_db_error_full;
    case EIO:
    case MDB_PANIC:
    case MDB_BAD_TXN: /* a call before this one failed in the same transaction */
        return page_db_error_io;
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
        return page_db_error_version;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL: /* a tree that leads back to itself */
    case MDB_BAD_VALSIZE: /* a key of nonsense */
        return page_db_error_damaged;
    case MDB_READERS_FULL:
    case EAGAIN:
    case EBUSY:
        return page_db_error_locked;
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
        return page_db_error_invalid_path;
    default:
        return page_db_error_internal;
    }
}

Result page_db_result(int code)
{
    switch (code) {
    case page_db_error_ok:
        return RESULT_OK;
    case page_db_error_version:
        return RESULT_VERSION;
    case page_db_error_locked:
        return RESULT_LOCKED;
    case page_db_error_full:
        return RESULT_FULL;
    case page_db_error_memory:
        return RESULT_MEMORY;
    case page_db_error_damaged:
        return RESULT_DAMAGED;
    default:
        return RESULT_IO;
    }
}

int page_db_fail_mdb(PageDB *db, int rc, const char *what)
{
    if (rc == 0) {
        return page_db_error_ok;
    }
    char text[MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s: %s", what, mdb_strerror(rc));
    return page_db_fail(db, page_db_code(rc), text);
}

int page_db_fail_find(PageDB *db, int rc, const char *what)
{
    return rc == MDB_NOTFOUND ? page_db_fail(db, page_db_error_no_page, "there is no such page")
                              : page_db_fail_mdb(db, rc, what);
}

int page_db_check(PageDB *db, bool is_given, const char *function)
{
    char text[MESSAGE_BYTES];
    if (db == NULL) {
        return page_db_error_invalid;
    }
    error_clean(db->error);
    if (db->txn_manager != NULL && is_given) {
        return page_db_error_ok;
    }
    (void)snprintf(text, sizeof text, "%s: %s", function,
                   is_given ? "the database was not opened" : "an argument is NULL");
    return page_db_fail(db, page_db_error_invalid, text);
}
