/* The database of a crawl, written anew without what is to be forgotten, table by table.
 *
 * What: every table is read in order and its rows are written into a new file, which takes the
 * place of the old one at the end (forget_order.h). So a kill leaves the old database whole, and no
 * byte of a forgotten row stays: LMDB never clears a page from which it deletes. What becomes of
 * pages and hosts is told in forget_database.h; counters, groups and the table of hosts with work
 * follow from what is left.
 * Owns: the new environment, while it writes.
 * Threads: one; nobody writes the old database meanwhile.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED, with a sentence. */
#pragma once

#include "command/forget/forget_database.h"

/* Writes all into a new environment in the folder path, which is empty, and syncs it. end: of the
 * WARC files as they will be. */
Result forget_rows_write(ForgetDatabase *database, const char *path, const WarcEnd *end,
                         Buffer *error);
