/* File: paths of files, and files as a whole: read, replaced, copied, listed, removed.
 *
 * What: a Path has room for every path that the system takes, so that nothing is allocated for one
 * and no error of memory has to be handled.
 *
 *   Path path;
 *   rc = file_read(file_path(&path, "%s/moved.txt", directory), &text);
 *
 * Threads: any; a Path belongs to one.
 * Errors: those of errno, as result_of_errno has them. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/memory/buffer.h"

typedef struct Path {
    char text[PATH_MAX + 1];
} Path;

/* Sets the path and returns its text. What is longer than the system takes is cut to a text that is
 * still too long: every call that is given it fails with ENAMETOOLONG. */
const char *file_path(Path *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool file_exists(const char *path);
/* Appends the file to out, or what is left of an open one. Errors of the file and of out. */
Result file_read(const char *path, Buffer *out);
Result file_read_rest(FILE *file, Buffer *out);
/* Maps the whole file, which must not shrink meanwhile; path is relative to directory as with
 * openat. *bytes is NULL when it is empty; else unmap it. RESULT_INVALID: no regular file. */
Result file_map(int directory, const char *path, const char **bytes, uint64_t *length);
void file_unmap(const char *bytes, uint64_t length); /* NULL is allowed */
/* Maps n zeroes of a file without a name, which the system pages in and out: for more than memory
 * should hold. NULL after an error; else munmap gives it back. */
Result file_map_scratch(void **map, size_t n);
/* Opens a file of secrets to read. RESULT_INVALID: others than its owner may read it;
 * RESULT_NOT_FOUND, RESULT_IO. error: what is wrong with it, in words. */
Result file_open_private(FILE **file, const char *path, Buffer *error);
/* Makes durable what was written, unless rc is an error, and closes the file. Returns the first
 * error. */
Result file_close(FILE *file, Result rc);
/* Closes a descriptor; nothing when it is -1. What was written is not made durable. */
void file_close_fd(int fd);
/* Writes the bytes beside their place, syncs them, and puts them there: after a crash the file is
 * the old one or the new one, whole. */
Result file_replace(const char *path, const void *bytes, size_t n);
/* Writes all of it where the file stands, or at a place; however the system cuts it up. */
Result file_write(int fd, const void *bytes, size_t n);
Result file_write_at(int fd, const void *bytes, size_t n, uint64_t at);
/* Reads n bytes at a place. RESULT_DAMAGED: the file ends before. */
Result file_read_at(int fd, void *bytes, size_t n, uint64_t at);
/* Makes the names in a folder durable. */
Result file_sync_folder(const char *path);
/* Appends up to n bytes of the one from place `at` on to the other, and nothing behind the end of
 * the first. */
Result file_copy(int from, uint64_t at, uint64_t n, int to);

/* Calls visit with the name of each regular file of a folder, links to such ones included, until it
 * does not return RESULT_OK. RESULT_NOT_FOUND: there is no such folder; or what visit returned. */
Result file_walk(const char *path, Result (*visit)(void *context, const char *name), void *context);
/* Whether a name ends with suffix, and has something before it. */
bool file_name_ends_with(const char *name, const char *suffix);
/* Removes a file, or a folder with all that is in it; links are not followed. */
void file_remove(const char *path);
/* Makes a folder of this process, "ragno-NAME-" and six characters, in TMPDIR or /tmp. */
Result file_make_folder(Path *folder, const char *name);
/* What it takes on the disk: bytes of all blocks. */
double file_bytes(const char *path);

/* Temporary file: a file without a name, which is gone when it is closed or the process ends.
 *
 * What: for work that is begun anew after a crash. The files have no name, so nothing has to be
 * cleaned up.
 * Owns: nothing; the descriptor is the caller's.
 * Threads: any, and any number of processes in the same directory: each call makes a file of its
 * own.
 * Errors: RESULT_IO, RESULT_FULL. */

/* Opens an empty file for reading and writing on the file system of the directory path, which is
 * relative to directory as with openat. The caller closes *fd. RESULT_IO, RESULT_FULL. */
Result temporary_file_open(int directory, const char *path, int *fd);

/* The same for file systems without O_TMPFILE (NFS, FUSE): makes a new file under a random name and
 * removes the name at once. It never opens an existing file or link. A crash between the two steps
 * leaves an empty unnamed-*.tmp, which may be deleted. */
Result temporary_file_open_named(int directory, const char *path, int *fd);
