/* Revisit line: how the due pages of one host get into its schedule.
 *
 * What: of a host, host_share due pages are in the schedule at once, at REVISIT_LEVEL, which is
 * above all scores. The others wait in the host's line, in order of due time, and come as a group
 * when those are done.
 *
 * Owns: nothing; borrows the tables.
 * Threads: ingest, inside the batch's transaction.
 * Invariants:
 *  1. A due page is in the schedule at most once: entries are keyed by host, level and page, and
 *     the level is the one that PageDB has for the page.
 *  2. A host that has new URLs gets as many fetches of those between two groups as the last group
 *     had pages (HostRecord.owed): due pages and new ones do not starve each other. */
#ifndef INGEST_REVISIT_REVISIT_LINE_H
#define INGEST_REVISIT_REVISIT_LINE_H

#include "ingest/batch/ingest_batch.h"

#define REVISIT_LEVEL 0u

typedef struct RevisitLine {
    const RevisitTable *table;
    PageDB *db;
    Schedule *schedule;
    unsigned host_share; /* at most 255, as HostRecord.owed */
} RevisitLine;

/* A page is due: it goes into the schedule, or to the end of its host's line. */
Result revisit_line_admit(const RevisitLine *line, const Batch *batch, BatchHost *host,
                          const PageRef *page, const RevisitDue *due);
/* Schedules the next group of the host's line, if no due page of the host is left in the schedule.
 * url is scratch memory. */
Result revisit_line_move_up(const RevisitLine *line, const Batch *batch, BatchHost *host,
                            Buffer *url);

#endif
