/* Files that are gone when they are closed, or when the process ends, however it ends: for work
 * that is begun anew after a crash. They have no name, so nothing has to be cleaned up.
 *
 * Threads: any; but one process per directory where the file system wants a name (see below). */
#ifndef BASE_TEMPORARY_FILE_H
#define BASE_TEMPORARY_FILE_H

#include "base/result.h"

/* An empty file, for reading and writing, of the file system of path, a directory (relative to
 * directory, as with openat). The caller closes *fd. RESULT_IO, RESULT_FULL. */
Result temporary_file_open(int directory, const char *path, int *fd);

/* What it does on file systems without O_TMPFILE (NFS, FUSE): a file with a name, removed at once.
 * A crash between the two leaves an empty file, which the next call takes. */
Result temporary_file_open_named(int directory, const char *path, int *fd);

#endif
