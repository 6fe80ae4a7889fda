#include "store/page_tables/page_snapshot.h"

#include <errno.h>
#include <stdlib.h>

struct PageSnapshot {
    PageDBStore *store;
    MDB_txn *txn;       /* NULL while parked */
    MDB_dbi dbi;        /* of the cursor */
    MDB_cursor **cur;   /* the stream's cursor */
    MonoTime since;     /* the transaction began */
    PageSnapshot *next; /* all open ones of the store; guarded by its streams_mutex */
    PageSnapshot *previous;
};

static int begin_snapshot(PageSnapshot *s)
{
    int rc = txn_manager_begin_mdb(s->store->txn_manager, MDB_RDONLY, &s->txn);
    if (rc != 0) {
        s->txn = NULL;
        return rc;
    }
    s->since = mono_now();
    rc = mdb_cursor_open(s->txn, s->dbi, s->cur);
    if (rc != 0) {
        txn_manager_abort_mdb(s->store->txn_manager, s->txn);
        s->txn = NULL;
    }
    return rc;
}

static void end_snapshot(PageSnapshot *s)
{
    if (s->txn != NULL) {
        mdb_cursor_close(*s->cur);
        *s->cur = NULL;
        txn_manager_abort_mdb(s->store->txn_manager, s->txn);
        s->txn = NULL;
    }
}

int page_snapshot_open(PageSnapshot **snapshot, PageDBStore *store, MDB_dbi dbi, MDB_cursor **cur)
{
    *snapshot = NULL;
    PageSnapshot *s = malloc(sizeof *s);
    if (s == NULL) {
        return ENOMEM;
    }
    *s = (PageSnapshot){.store = store, .dbi = dbi, .cur = cur};
    int rc = begin_snapshot(s);
    if (rc != 0) {
        free(s);
        return rc;
    }
    mutex_lock(&store->streams_mutex);
    s->next = store->streams;
    if (s->next != NULL) {
        s->next->previous = s;
    }
    store->streams = s;
    mutex_unlock(&store->streams_mutex);
    *snapshot = s;
    return 0;
}

void page_snapshot_close(PageSnapshot *s)
{
    PageDBStore *store = s->store;
    mutex_lock(&store->streams_mutex);
    if (s->previous != NULL) {
        s->previous->next = s->next;
    } else {
        store->streams = s->next;
    }
    if (s->next != NULL) {
        s->next->previous = s->previous;
    }
    end_snapshot(s);
    mutex_unlock(&store->streams_mutex);
    free(s);
}

void page_snapshots_park(PageDBStore *store)
{
    mutex_lock(&store->streams_mutex);
    for (PageSnapshot *s = store->streams; s != NULL; s = s->next) {
        end_snapshot(s);
    }
    mutex_unlock(&store->streams_mutex);
}

/* While the mutex is held a growth may make us wait in begin_snapshot; it does not need the mutex
 * then. */
int page_snapshot_enter(PageSnapshot *s, bool *lost)
{
    mutex_lock(&s->store->streams_mutex);
    if (s->txn != NULL && mono_ms_between(s->since, mono_now()) >= s->store->snapshot_ms) {
        end_snapshot(s);
    }
    *lost = s->txn == NULL;
    int rc = 0;
    if (*lost) {
        rc = begin_snapshot(s);
    }
    if (rc != 0) {
        mutex_unlock(&s->store->streams_mutex);
    }
    return rc;
}

void page_snapshot_leave(PageSnapshot *s)
{
    mutex_unlock(&s->store->streams_mutex);
}

MDB_txn *page_snapshot_txn(PageSnapshot *s)
{
    return s->txn;
}

void page_snapshot_park(PageSnapshot *s)
{
    end_snapshot(s);
}

int page_snapshot_renew(PageSnapshot *s)
{
    mutex_lock(&s->store->streams_mutex);
    end_snapshot(s);
    int rc = begin_snapshot(s);
    mutex_unlock(&s->store->streams_mutex);
    return rc;
}
