/* Export of pages, its options.
 *
 * What: the types that its parts share; page_export.h has the functions.
 * Owns: what each comment says.
 * Threads: as page_export.h says. */
#ifndef COMMAND_EXPORT_PAGE_EXPORT_TYPES_H
#define COMMAND_EXPORT_PAGE_EXPORT_TYPES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/core/result.h"
#include "command/export/export_row.h"
#include "parse/filter/filter.h"
#include "store/pages/page_db.h"

#define PAGE_EXPORT_AGENTS 256u

typedef struct PageExportOptions {
    ExportFormat format;
    bool header;     /* a line of names first (TSV, CSV) */
    bool ids;        /* numbers for pages and hosts, not URLs */
    bool arcs;       /* nothing but "from TAB to", ascending, no arc twice: WebGraph's arc list */
    bool no_self;    /* leave out arcs from a page or host to itself */
    bool only_cross; /* links: only those that leave the domain */
    size_t memory_bytes;       /* of the host graph's sorter; 0 = 64 Mi */
    FILE *file;                /* borrowed */
    size_t link_text;          /* links: bytes of the text on links, and on either side; 0 = none */
    const char *const *agents; /* pages: directories of other agents, n_agents of them; borrowed */
    size_t n_agents;           /* PAGE_EXPORT_AGENTS at most */
    const char *directory; /* pages: of the crawl, to ask other agents of a cluster; NULL: none */
    const char *archive;   /* the crawl's WARC files, for fields of pages; NULL: without those */
    const Filter *where;   /* borrowed; NULL: all rows. What it is asked about: see above */
    /* Called now and then with the progress: steps done, steps in all, rows written. May be NULL.
     */
    void (*step)(void *context, uint64_t done, uint64_t total, uint64_t n_rows);
    void *step_context;
} PageExportOptions;

/* What a filter may ask about: FILTER_HAS_... */
#define PAGE_EXPORT_HAS_PAGES (FILTER_HAS_SOURCE | FILTER_HAS_DEPTH | FILTER_HAS_STATUS)
#define PAGE_EXPORT_HAS_LINKS (FILTER_HAS_SOURCE | FILTER_HAS_DEPTH | FILTER_HAS_STATUS)
#define PAGE_EXPORT_HAS_HOSTS FILTER_HAS_SOURCE

#endif
