/* WARC files written anew without what is to be forgotten.
 *
 * What: every file is read once. One that has nothing of it stays as it is. Of another a copy is
 * made in the staging folder, under a new name (NAME-r1.warc.gz, NAME-r2 ...), with its index and
 * with the number that it had:
 *
 *   records of URLs that are meant    are left out, also dns:HOST
 *   metadata of other pages           lose the lines that name them (via, outlink)
 *   revisits of other pages, whose    become responses: their header, and the body that the
 *   original is left out              original had
 *   all others                        are copied byte for byte
 *
 * With an age: captures from before that time go, except the answer that a page stands on which was
 * confirmed (304) later.
 *
 * Owns: nothing.
 * Threads: one.
 * Errors: RESULT_DAMAGED: a file cannot be read to its end (ragno verify); RESULT_FULL, RESULT_IO,
 * RESULT_MEMORY. error gets a sentence. */
#pragma once

#include "command/forget/forget_database.h"
#include "crawl/progress.h"

typedef struct ForgetArchive {
    ForgetDatabase *database; /* tells what is old; borrowed, as the rest */
    const char *warc;         /* folder of the files */
    const char *staging;      /* folder for the new ones */
    Progress *progress;
    uint64_t files;   /* that were written anew */
    uint64_t records; /* left out */
    uint64_t changed; /* metadata, and revisits that became responses */
    uint64_t orphans; /* revisits whose original could not be read: left out as well */
} ForgetArchive;

/* end: that of the crawl, changed for files that are shorter. actions gets lines for forget.c: the
 * new files, and the old ones. */
Result forget_archive(ForgetArchive *archive, WarcEnd *end, Buffer *actions, Buffer *error);
