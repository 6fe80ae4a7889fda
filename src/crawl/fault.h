/* What the program says when the processor stops it.
 *
 * The database is a mapped file, and LMDB trusts it: a page number that a disk has changed leads
 * behind the file's end, and a sector that cannot be read is no error of a call, but SIGBUS. It
 * ends the program as a kill would, so nothing that was committed is lost; but the operator is told
 * where to look. SIGSEGV may be the same, or a bug: it is told, and ends the program as ever, with
 * its core. A process that has handlers already (sanitizers) keeps them. */
#ifndef CRAWL_FAULT_H
#define CRAWL_FAULT_H

/* Before any thread is started. */
void fault_install(void);

#endif
