/* Warc files: lists the files of a WARC directory, makes their indices, and gives them their final
 * names.
 *
 * What: a file is NAME.open while it is written, with a journal of index lines beside it; finishing
 * it sorts the journal into the index and takes .open away.
 * Owns: a list owns its names.
 * Threads: the one that writes; lists any.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY, RESULT_DAMAGED; logged with their file. */
#pragma once

#include <lmdb.h>

#include "store/archive/warc_types.h"

/* One file found in a directory. */
typedef struct WarcFile {
    char *name; /* without .open; owned */
    WarcCompression compression;
    uint32_t serial; /* from its warcinfo; 0 = not one of ours, or unreadable */
    bool open;
    bool readable; /* its warcinfo record is */
    Result error;  /* why it cannot be opened, or RESULT_OK */
    uint64_t size; /* 0: it cannot be opened */
    WallTime date; /* of its warcinfo record; 0 when that cannot be read */
} WarcFile;

typedef struct WarcFileList {
    const char *directory; /* borrowed */
    WarcFile *files;       /* by serial, then name */
    size_t n;
} WarcFileList;

/* All NAME.warc.gz and NAME.warc.zst in directory, with and without .open. */
Result warc_files_list(const char *directory, WarcFileList *list);
/* The same with those that cannot be opened: who reads them says so. */
Result warc_files_list_any(const char *directory, WarcFileList *list);
void warc_files_free(WarcFileList *list);

/* Writes the index lines of the first end bytes of a file to out_path; RESULT_DAMAGED: end is not
 * the end of a record, or a record before it is broken (logged). */
Result warc_files_index(const char *warc_path, const char *filename, uint64_t end,
                        const char *out_path);
/* The index of the first `end` bytes of a finished file, sorted, where it belongs. Errors as these
 * of warc_files_index. */
Result warc_files_index_sorted(const char *directory, const char *name, uint64_t end);

/* Sorts the journal into the index and takes .open from the name. */
Result warc_files_finish(const char *directory, const char *name);

/* Logs that a step with a file failed; the Result of errno. */
Result warc_files_failed(const char *step, const char *path);

/* Makes renames, creations and removals in directory durable. */
Result warc_files_sync_directory(const char *directory);

/* The committed end of the WARC files, in the database.
 *
 * What: LMDB table `warc`, key "end": twelve bytes, the number of the newest file and the offset
 * in it, big-endian; zeroes when there is none. It is written by the transaction that commits the
 * batch whose records lie before it. warc_open reads it at the start, and so does `ragno verify`.
 * Owns: nothing.
 * Threads: the one with the transaction. The first call in a process opens the handle of the table:
 * make it before other threads have transactions (a rule of LMDB).
 * Errors: RESULT_NOT_FOUND, RESULT_DAMAGED, RESULT_FULL, RESULT_IO. */

/* Stores it; txn is a write transaction. RESULT_FULL: the map must grow. RESULT_IO, RESULT_DAMAGED.
 */
Result warc_end_put(MDB_txn *txn, const WarcEnd *end);
/* RESULT_NOT_FOUND: nothing was ever committed, *end is empty. RESULT_DAMAGED. */
Result warc_end_get(MDB_txn *txn, WarcEnd *end);
/* Where this file ends: the offset if it is the newest, UINT64_MAX if all of it lies before the
 * end, 0 if nothing does. */
uint64_t warc_end_of(const WarcEnd *end, uint32_t file);
