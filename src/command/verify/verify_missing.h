/* WARC files that are not in DIR/warc any more: moved away, which is allowed, or lost.
 *
 * What: finished files may be moved away. The operator puts the name of the file into DIR/moved.txt
 * and leaves its index in DIR/warc: it says what is in the file, so the pages in it are not missed,
 * and a revisit finds its original. A file that is gone and is not named is one problem, and its
 * pages are named on lines that begin with "lost".
 * Owns: nothing. DIR/moved.txt, names of WARC files without a directory, one a line, is the
 * operator's.
 * Threads: main.
 * Errors: RESULT_OK when everything could be looked at, whatever was found. */
#ifndef COMMAND_VERIFY_VERIFY_MISSING_H
#define COMMAND_VERIFY_VERIFY_MISSING_H

#include "command/verify/verify_run.h"
#include "store/archive/warc_files.h"

/* Reads DIR/moved.txt into verify->moved. */
Result verify_moved(Verify *verify);
/* After the files: what was in those that are not there. */
Result verify_missing(Verify *verify);

#endif
