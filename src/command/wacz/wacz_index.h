/* WACZ index: the CDXJ lines of a WACZ file, sorted and compressed in pieces.
 *
 * What: lines are collected in a file beside the output, sorted there (store/cdxj/cdxj.h), and
 * written as gzip members of WACZ_LINES lines each. A second, small index says where the members
 * are; a viewer reads that one whole, and of the other what it needs.
 * Owns: its temporary files, and removes them.
 * Threads: one.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY.
 * Source: the ZipNum index of pywb, as WACZ 1.1.1 names it. */
#ifndef COMMAND_WACZ_WACZ_INDEX_H
#define COMMAND_WACZ_WACZ_INDEX_H

#include <stddef.h>

#include "base/core/result.h"
#include "store/zip/zip_writer.h"

#define WACZ_LINES 1024u

typedef struct WaczIndex WaczIndex;

/* output: the name of the WACZ file; temporary files get names that begin so. */
Result wacz_index_new(WaczIndex **index, const char *output);
void wacz_index_delete(WaczIndex *index);
/* Adds one line, with its line feed. */
Result wacz_index_add(WaczIndex *index, const char *line, size_t length);
/* Writes both files into the WACZ file. */
Result wacz_index_write(WaczIndex *index, ZipWriter *zip);

#endif
