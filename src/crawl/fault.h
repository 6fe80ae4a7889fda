/* Fault: what the program says when the processor stops it.
 *
 * What: the database is a mapped file, and LMDB trusts it. A page number that a disk has changed
 * leads behind the end of the file, and a sector that cannot be read is not the error of a call but
 * SIGBUS. The signal ends the program as a kill would, so nothing that was committed is lost; the
 * operator is told where to look. SIGSEGV may have the same cause, or be a bug: it is told, and
 * ends the program as usual, with its core. A process that has handlers already (sanitizers) keeps
 * them.
 * Threads: installed by main; a handler runs in the thread that was stopped. */
#ifndef CRAWL_FAULT_H
#define CRAWL_FAULT_H

/* Before any thread is started. */
void fault_install(void);

#endif
