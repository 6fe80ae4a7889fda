/* Export of the host graph: which host links to which, and how often.
 *
 * What: sums the links of each pair of hosts, in memory, or in a file.
 * Threads: one. */
#pragma once

#include "command/export/export_view.h"

/* Counts pairs of numbers, more of them than fit into memory: the arcs of the host graph.
 *
 * What: pairs are collected in an array of fixed size. When it is full it is sorted, equal pairs
 * are added up, and what is left goes to an unnamed temporary file. At the end that file is sorted
 * where it is mapped.
 * Owns: the array and the file.
 * Threads: one.
 * Errors: RESULT_MEMORY, RESULT_FULL, RESULT_IO. */

typedef struct ExportPairs ExportPairs;

typedef struct PairCount {
    uint32_t from;
    uint32_t to;
    uint64_t count;
} PairCount;

/* memory_bytes: of the array. RESULT_MEMORY. */
Result export_pairs_new(ExportPairs **pairs, size_t memory_bytes);
void export_pairs_delete(ExportPairs *pairs);
/* RESULT_IO, RESULT_FULL: a run could not be written, and the pairs can only be deleted. */
Result export_pairs_add(ExportPairs *pairs, uint32_t from, uint32_t to, uint64_t count);
/* Calls each for every pair, ascending; a result other than RESULT_OK stops and is returned. */
Result export_pairs_each(ExportPairs *pairs, Result (*each)(void *context, const PairCount *pair),
                         void *context);

Result page_export_hosts(PageDB *db, const PageExportOptions *options);
