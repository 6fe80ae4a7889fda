/* How a command reads a crawl that may be running: in short read transactions.
 *
 * What: a snapshot that is held keeps the crawl from reusing the pages of its database, so the file
 * grows for as long as the snapshot lives. A command cannot know for how long that is: its output
 * may go to `less`, which reads no further than the screen. So a command takes turns. Between two
 * steps it calls short_read_turn, and has nothing of the transaction in use then. When the
 * transaction is older than SHORT_READ_MS, or output waits to be written, the transaction is ended,
 * the output is written, which may take as long as it likes, and a new transaction begins. What was
 * found so far is remembered by keys and indices, which stay true: pages and hosts are never taken
 * away.
 *
 *   short_read_begin --> (step, short_read_turn)* --> short_read_end
 *
 * A broken pipe (`| head`) and SIGINT, SIGTERM, SIGHUP end the reading at the next turn, so that
 * the command can close what it has open. A second signal, or no turn within two seconds, ends the
 * process at once; what it leaves behind the crawl clears (store/lmdb/reader_slots.h).
 *
 * Owns: the transaction. The database and the output are borrowed.
 * Threads: one, of a process that has only one of these at a time.
 * Errors: page_db codes; SHORT_READ_OVER when nobody reads any more, or the user has had enough. */
#pragma once

#include <stdio.h>

#include "store/pages/page_db.h"

#define SHORT_READ_MS   200
#define SHORT_READ_OVER (-1)

typedef struct ShortRead {
    PageDB *db;
    FILE *out; /* NULL: no output */
    MDB_txn *txn;
    MonoTime since; /* the transaction began */
    bool gone;      /* nobody reads the output any more */
    int error;      /* errno of output that could not be written otherwise; 0 = none */
} ShortRead;

/* Begins the first transaction. out gets a buffer of its own and must not have been written to.
 * short_read_end in every case. */
int short_read_begin(ShortRead *read, PageDB *db, FILE *out);
/* A step is done, and came to rc: an error passes through. read->txn may be another one afterwards.
 */
int short_read_turn(ShortRead *read, int rc);
/* Ends the transaction: behind the last step. */
void short_read_pause(ShortRead *read);
/* The signal that has asked for the end; 0 = none. */
int short_read_signal(void);
/* Ends the transaction and writes what is left of the output. rc is what happened until now. The
 * exit status: of rc; 128 and the signal after a signal; that of success when nobody reads any
 * more, for the reader has what it wanted; EXIT_IO when the output cannot be written, which is
 * complained about as "ragno COMMAND: ...". */
int short_read_end(ShortRead *read, int rc, const char *command);
