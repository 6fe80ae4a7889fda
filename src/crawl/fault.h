/* Fault: a database that is damaged, whoever meets it, ends the program with EXIT_DIRECTORY, a
 * sentence that names it, and what to do.
 *
 * What: the database is a mapped file, and LMDB trusts it. Before it is opened, its pages are
 * looked at (crawl_store_look). What is not seen there, or breaks later, comes as an error of a
 * call (fault_note), as an assertion of LMDB (SIGABRT), or as a wrong access to memory: a page
 * number that a bad disk has changed leads past the end of the file, and a sector that cannot be
 * read raises SIGBUS. In the handler a child process, `ragno check database DIR`, looks at the
 * pages: broken ones are the reason. If it finds none, the fault is a bug, and the program ends as
 * usual, with a core file. What was committed is as it was in either case. Handlers that a process
 * already has (those of sanitizers) are kept.
 * Threads: main; fault_note any. A handler runs in the thread that raised the signal; other
 * threads that fault meanwhile wait for it. */
#pragma once

#include <stdbool.h>

/* Before any thread is started. */
void fault_install(void);
/* The database of this directory is about to be opened. */
void fault_watch(const char *directory);
/* It was found to be damaged. */
void fault_note(void);
bool fault_is_known(void);
/* The program's last word: when damage was noted, or a command that could not read or write finds
 * its database broken, the exit status is EXIT_DIRECTORY, and standard error says what to do; else
 * it is status. */
int fault_end(int status);
