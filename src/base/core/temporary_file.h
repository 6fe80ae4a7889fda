/* Temporary file: a file without a name, which is gone when it is closed or the process ends.
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

/* Opens an empty file for reading and writing on the file system of the directory path, which is
 * relative to directory as with openat. The caller closes *fd. RESULT_IO, RESULT_FULL. */
Result temporary_file_open(int directory, const char *path, int *fd);

/* The same for file systems without O_TMPFILE (NFS, FUSE): makes a new file under a random name and
 * removes the name at once. It never opens an existing file or link. A crash between the two steps
 * leaves an empty unnamed-*.tmp, which may be deleted. */
Result temporary_file_open_named(int directory, const char *path, int *fd);

#endif
