/* A file of a crawl in its backup: linked, copied, or lengthened.
 *
 * What: a file that never changes again (a finished WARC file and its index) is linked where both
 * are on one file system; anything else is copied, and synced. A copy takes the place of the old
 * one when it is whole. A log only grows: when the copy is its beginning, what is new is appended.
 * Owns: nothing.
 * Threads: any.
 * Errors: RESULT_NOT_FOUND: there is no such file any more; RESULT_FULL, RESULT_IO. */
#ifndef COMMAND_BACKUP_BACKUP_FILE_H
#define COMMAND_BACKUP_BACKUP_FILE_H

#include <stdint.h>

#include "base/core/result.h"

typedef enum BackupWay {
    BACKUP_LINK, /* never changes again; skipped when the copy has its length */
    BACKUP_GROW, /* only grows, or begins anew */
    BACKUP_COPY
} BackupWay;

typedef struct BackupCounts {
    uint64_t linked;
    uint64_t copied;
    uint64_t kept;  /* were there already */
    uint64_t bytes; /* written */
} BackupCounts;

/* *to has what *from has, up to its first `most` bytes. */
Result backup_file(const char *from, const char *to, BackupWay way, uint64_t most,
                   BackupCounts *counts);
/* The same from an open file, which may have no name any more. */
Result backup_file_of(int from, const char *to, uint64_t most, BackupCounts *counts);

#endif
