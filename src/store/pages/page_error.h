/* How the codes of LMDB and of the system become PageDB's.
 *
 * What: the rooms below PageDB answer with LMDB codes and errno. Here they become a PageDBError,
 * and the words for the operator go into the database's Error.
 * Threads: any; Error has a lock of its own. */
#pragma once

#include "store/pages/page_db_types.h"

/* The code of page_db.h for an LMDB return code or errno. */
int page_db_code(int rc);
/* What a code of page_db.h means for the crawl; RESULT_IO: any that has no Result of its own. */
Result page_db_result(int code);
/* Sets the error of db and returns code. what: "page_db_add: ...". */
int page_db_fail(PageDB *db, int code, const char *what);
/* The same for an LMDB return code or errno; 0 is success and leaves the error alone. */
int page_db_fail_mdb(PageDB *db, int rc, const char *what);
/* The same for a look-up: MDB_NOTFOUND is page_db_error_no_page. */
int page_db_fail_find(PageDB *db, int rc, const char *what);

/* What a caller can get wrong, before anything is done: no database, one that was not opened, or a
 * NULL argument (is_given is false). Starts the error clean. page_db_error_invalid with words. */
int page_db_check(PageDB *db, bool is_given, const char *function);
