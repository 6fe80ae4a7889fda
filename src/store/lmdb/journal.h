/* Journal: rows of large tables that changed, kept in order of arrival until a sweep writes many of
 * them at once.
 *
 * What: a result changes one row each of several tables whose keys have nothing to do with the
 * order of results. Written at once, each row costs a page of its tree. So the new content of a row
 * is appended to the journal, a table of the same environment, and is durable with the commit that
 * brought it: pages of the journal are filled one after the other. An index in memory says which
 * rows are there. When there are enough, that generation is frozen and the next one begins. With
 * every further commit a piece of the frozen one is written to its tables, in order of their keys,
 * so that a page of the tree that many rows belong to is written once; at the end it is dropped.
 *
 *   journal_put --> active generation --(enough rows, after a commit)--> frozen
 *       --(journal_sweep, a piece with each commit)--> tables, and the generation is empty
 *
 * Whoever reads a journalled table asks the journal first (journal_find), then the table. Rows are
 * whole, so that a sweep that was interrupted is begun anew and changes nothing that is newer.
 *
 * Owns: two tables, "journal0" and "journal1", and the index, 24 bytes a row. Row 0 of a table is
 * the number of its generation.
 * Threads: the one with the write transaction calls journal_put and journal_sweep; journal_settle
 * is called behind every write transaction. Reads: any thread, each in its own transaction, and it
 * sees what its snapshot has. In a process that only reads, the index follows the snapshots.
 * Invariants: 1. a row of the active generation is newer than all of the frozen one.
 * 2. A table is only changed through the journal while that has rows of it (journal_takes).
 * 3. A process that is killed leaves a journal that the next one goes on with.
 * Errors: LMDB codes and ENOMEM. */
#pragma once

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_BYTES_A_ROW 48u /* of memory: of the active generation and half a frozen one */

/* Tables whose rows it keeps; the numbers stand in its rows. */
typedef enum JournalTable {
    JOURNAL_PAGES = 1, /* records of idx2info, by index */
    JOURNAL_HOSTS,     /* by host */
    JOURNAL_SCHEDULE,  /* entries that were removed, by host: schedule_gone.h */
    JOURNAL_BODIES,    /* by the first word of the fingerprint: several rows of a word differ */
    JOURNAL_TABLES
} JournalTable;

typedef struct Journal Journal;

/* How a sweep writes to a table: begin, rows in order of key, end with the code so far (which it
 * returns, or its own). begin and end may be NULL. */
typedef struct JournalTarget {
    void *context;
    int (*begin)(void *context, MDB_txn *txn);
    int (*apply)(void *context, Journal *journal, MDB_txn *txn, uint64_t word, const MDB_val *row);
    int (*end)(void *context, int rc);
} JournalTarget;

/* Makes the tables, in the write transaction of a new database. */
int journal_create(MDB_txn *txn);
/* Opens them and reads what they have. follows: another process writes. *journal is to be closed
 * whatever is returned. */
int journal_open(Journal **journal, MDB_txn *txn, bool follows);
void journal_close(Journal *journal);
/* The first one of a table stays: its context must live as long as the environment. */
void journal_set_target(Journal *journal, JournalTable table, const JournalTarget *target);
/* It takes rows from now on, and freezes a generation that has `rows`, or fewer in a small
 * database. 0: it takes none, unless it has some. Before the first transaction. */
void journal_set_rows(Journal *journal, size_t rows);
/* Whether changes are to go through it. NULL is a journal that takes nothing. */
bool journal_takes(const Journal *journal);
/* Rows that wait. */
size_t journal_rows(const Journal *journal);

/* Appends the content of a row. */
int journal_put(Journal *journal, MDB_txn *txn, JournalTable table, uint64_t word,
                const MDB_val *row);

/* The rows of one word that the snapshot of txn has, newest first: begin with an empty walk.
 * MDB_NOTFOUND: no further one. The row is valid as long as the transaction, and until the next
 * write in it. NULL is a journal without rows. */
typedef struct JournalWalk {
    uint64_t generation; /* 0: not begun */
    uint32_t row;        /* the one to look at next; 0: those of the generation are told */
} JournalWalk;
int journal_find(Journal *journal, MDB_txn *txn, JournalTable table, uint64_t word,
                 JournalWalk *walk, MDB_val *row);
/* Whether there is one, in the write transaction. */
bool journal_has(Journal *journal, JournalTable table, uint64_t word);
/* The newest alone. */
int journal_get(Journal *journal, MDB_txn *txn, JournalTable table, uint64_t word, MDB_val *row);

/* Writes a piece of the frozen generation to its tables, in proportion to what this transaction has
 * appended; the last thing before a commit. */
int journal_sweep(Journal *journal, MDB_txn *txn);
/* Writes up to n rows, whether a generation is frozen or not. *done: no row is left. For
 * transactions of its own, one after the other. */
int journal_drain(Journal *journal, MDB_txn *txn, size_t n, bool *done);
/* Behind every write transaction. NULL is accepted. */
void journal_settle(Journal *journal, bool committed);
