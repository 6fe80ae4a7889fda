/* Files that are gone when they are closed, or when the process ends, however it ends.
 *
 * What: for work that is begun anew after a crash. The files have no name, so nothing has to be
 * cleaned up.
 * Owns: nothing; the descriptor is the caller's.
 * Threads: any, and any number of processes in the same directory: each call makes a file of its
 * own.
 * Errors: RESULT_IO, RESULT_FULL. */
#ifndef BASE_CORE_TEMPORARY_FILE_H
#define BASE_CORE_TEMPORARY_FILE_H

#include "base/core/result.h"

/* An empty file, for reading and writing, of the file system of path, a directory (relative to
 * directory, as with openat). The caller closes *fd. RESULT_IO, RESULT_FULL. */
Result temporary_file_open(int directory, const char *path, int *fd);

/* What it does on file systems without O_TMPFILE (NFS, FUSE): a new file under a random name,
 * removed at once. Nothing that is there already, link or file, is ever opened. A crash between the
 * two leaves an empty unnamed-*.tmp, which may be deleted. */
Result temporary_file_open_named(int directory, const char *path, int *fd);

#endif
