/* Option INI: files of options.
 *
 *   [section]              include = FILE        before any section; what comes behind it wins
 *   key = value            ; a remark, # another, and behind a value ; a third
 *     goes on              an indented line continues the value, joined by a blank
 *   [site "pattern"]       values for the hosts that match
 *
 * What: reads a file line by line into Options. Every mistake is told with file and line, and the
 * lines behind it are read. A value is set at most once in a file; an included file may be
 * overridden.
 * Owns: nothing between calls.
 * Threads: main.
 * Errors: RESULT_INVALID when there was any mistake; RESULT_NOT_FOUND or RESULT_IO when the file
 * cannot be read. */
#ifndef BASE_OPTION_OPTION_INI_H
#define BASE_OPTION_OPTION_INI_H

#include "base/option/options.h"

/* error gets a line for each mistake. */
Result option_ini_load(Options *options, const char *path, Buffer *error);
/* The same for a file that options_print has written: the remark before each value is where it
 * comes from, and is kept. */
Result option_ini_load_printed(Options *options, const char *path, Buffer *error);

#endif
