/* Fault: what the program says when a signal of the processor ends it.
 *
 * What: the database is a mapped file, and LMDB trusts it. A page number that a bad disk has
 * changed leads past the end of the file, and a sector that cannot be read raises SIGBUS instead of
 * failing a call. SIGBUS ends the program as a kill would, so nothing that was committed is lost; a
 * message tells the operator to run `ragno verify`. SIGSEGV may have the same cause, or be a bug: a
 * message says so, and the program ends as usual, with a core file. Handlers that a process already
 * has (those of sanitizers) are kept.
 * Threads: main installs the handlers; a handler runs in the thread that raised the signal. */
#ifndef CRAWL_FAULT_H
#define CRAWL_FAULT_H

/* Before any thread is started. */
void fault_install(void);

#endif
