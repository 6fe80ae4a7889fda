/* Recovery of a WARC directory: what a crash left, brought back to the last commit.
 *
 * What: warc_open (warc.h) describes it. Tails behind the committed end are cut off, journals are
 * rebuilt, files that nothing was committed to are removed.
 * Owns: WarcCurrent owns its names.
 * Threads: the one that opens the archive.
 * Errors: RESULT_DAMAGED, RESULT_IO, RESULT_FULL, RESULT_MEMORY; logged with their file. */
#ifndef STORE_ARCHIVE_WARC_RECOVERY_H
#define STORE_ARCHIVE_WARC_RECOVERY_H

#include "store/archive/warc_files.h"

/* The files to go on with after a recovery: cut, journals rebuilt. */
typedef struct WarcCurrent {
    WarcFile files[WARC_FILES_MAX];
    unsigned n;
    uint32_t last_serial; /* the highest number in use */
} WarcCurrent;

/* Recovery as warc_open describes it. */
Result warc_files_recover(const char *directory, const WarcEnd *committed, size_t memory_bytes,
                          WarcCurrent *current);
/* Frees the names. */
void warc_current_free(WarcCurrent *current);

#endif
