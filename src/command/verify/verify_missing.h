/* WARC files that are not in DIR/warc any more: moved away, which is allowed, or lost.
 *
 * What: finished files may be moved away. The operator says so (`ragno verify DIR --moved FILE`),
 * and the name of the file becomes a line of DIR/moved.txt. The index stays in DIR/warc, or is
 * copied back there when it lies beside the FILE that is named: it says what is in the file, so the
 * pages in it are not missed, and a revisit finds its original. A file that is gone and was not
 * declared is one problem, and its pages are named on lines that begin with "lost".
 * Owns: DIR/moved.txt: names of WARC files without a directory, one a line.
 * Threads: main.
 * Errors: RESULT_OK when everything could be looked at, whatever was found. */
#ifndef COMMAND_VERIFY_VERIFY_MISSING_H
#define COMMAND_VERIFY_VERIFY_MISSING_H

#include "command/verify/verify_run.h"
#include "store/archive/warc_files.h"

/* The key of a WARC file in verify->declared: its name without suffix. */
MapKey verify_moved_key(const char *name, size_t length);
/* Reads DIR/moved.txt into verify->moved and verify->declared after the files of options->moved
 * were added to it. RESULT_INVALID: a file cannot be declared; why was told on standard error, and
 * none was added from there on. */
Result verify_moved(Verify *verify);
/* After the files: what was in those that are not there. */
Result verify_missing(Verify *verify);

#endif
