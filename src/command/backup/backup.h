/* `ragno backup DIR TO` and `ragno restore FROM DIR`: a crawl as it is at one commit, elsewhere.
 *
 * What: may run beside the crawl, and takes files in this order:
 *
 *   1 TO/backup.unfinished            until the end: a restore refuses what is not whole
 *   2 the bucket files of the sieve   are opened, so that a merge cannot take them away
 *   3 the database                    a copy of one commit; it says how far all other files count
 *   4 bucket files                    those of 2, and those that have come since
 *   5 WARC files and indices          finished ones are linked (or copied); of one that is written
 *                                     the part that the commit knows, with its index: a finished
 *                                     file of the copy
 *   6 logs, settings, all else        copied; a log is lengthened
 *   7 the database takes its place    and what is no longer there in DIR goes from TO
 *
 * Repeated into the same TO it writes the database, what is new of logs, and what is new of the
 * archive. WARC files that were moved away (moved.txt) stay in TO.
 * Owns: nothing; takes no lock.
 * Threads: main.
 * Errors: exit status 0; 2 usage; 3 input or output; 17 an erasure is under way, or FROM is not
 * whole. */
#pragma once

int backup_main(int argc, char **argv);
int restore_main(int argc, char **argv);
