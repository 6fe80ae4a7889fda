/* The snapshot of a stream: a read transaction with a cursor that can be taken away and given back.
 *
 * What: a stream reads the database as it was when its snapshot began. A snapshot that lives long
 * keeps the database from using freed pages again. So in a database that was opened read_only,
 * which another process writes, the next look after PAGE_SNAPSHOT_MS begins a new one. When the map
 * must grow, all snapshots are parked, that is ended, and the next look begins a new one, too. Each
 * time the stream has to find its place again. Owns: the transaction and the cursor. The store owns
 * the list of the open snapshots. Threads: a snapshot belongs to one thread, which looks at the
 * database only between enter and leave; any thread may park. streams_mutex (RANK_STORE) guards the
 * list and is held between enter and leave. Errors: LMDB codes and ENOMEM. */
#ifndef STORE_PAGE_TABLES_PAGE_SNAPSHOT_H
#define STORE_PAGE_TABLES_PAGE_SNAPSHOT_H

#include "store/page_tables/page_store.h"

/* How long a snapshot may last while its stream is read. */
#define PAGE_SNAPSHOT_MS       1000
#define PAGE_SNAPSHOT_FOR_EVER INT64_MAX

/* Opens a snapshot with a cursor of table dbi in *cursor, which is the stream's field and NULL
 * while the snapshot is parked. On failure *snapshot is NULL. */
int page_snapshot_open(PageSnapshot **snapshot, PageDBStore *store, MDB_dbi dbi,
                       MDB_cursor **cursor);
void page_snapshot_close(PageSnapshot *snapshot);
/* Between enter and leave the snapshot cannot be parked. *lost: it was, and the cursor has lost its
 * place. A failed enter needs no leave. */
int page_snapshot_enter(PageSnapshot *snapshot, bool *lost);
void page_snapshot_leave(PageSnapshot *snapshot);
/* Between enter and leave: its transaction; and parking it, so that the next enter says lost. */
MDB_txn *page_snapshot_txn(PageSnapshot *snapshot);
void page_snapshot_park(PageSnapshot *snapshot);
/* Moves the snapshot to the present. */
int page_snapshot_renew(PageSnapshot *snapshot);
/* Parks all snapshots of a store. */
void page_snapshots_park(PageDBStore *store);

#endif
