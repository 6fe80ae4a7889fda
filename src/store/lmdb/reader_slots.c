#include "store/lmdb/reader_slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

typedef struct Listing {
    ReaderTable *table;
    size_t last_txn; /* the last commit */
} Listing;

/* One line of mdb_reader_list: "PID THREAD TXN", where TXN is "-" without a snapshot. Other lines
 * are headings. */
static int reader_slots_take_line(const char *line, void *context)
{
    Listing *listing = context;
    ReaderTable *table = listing->table;
    char *end = NULL;
    long pid = strtol(line, &end, 10);
    if (end == line || pid <= 0) {
        return 0;
    }
    table->slots++;
    end += strspn(end, " ");
    end += strcspn(end, " \n"); /* the thread */
    end += strspn(end, " ");
    if (*end < '0' || *end > '9') {
        return 0;
    }
    size_t txn = (size_t)strtoull(end, NULL, 10);
    if (txn < listing->last_txn && (table->oldest_pid == 0 || txn < table->oldest_txn)) {
        table->oldest_pid = pid;
        table->oldest_txn = txn;
    }
    return 0;
}

int reader_slots_check(MDB_env *env, ReaderTable *table)
{
    MDB_envinfo info;
    int dead = 0;
    *table = (ReaderTable){.slots = 0};
    int rc = mdb_reader_check(env, &dead);
    if (rc == 0) {
        rc = mdb_env_info(env, &info);
    }
    if (rc != 0) {
        return rc;
    }
    table->cleared = dead > 0 ? (unsigned)dead : 0;
    table->limit = info.me_maxreaders;
    Listing listing = {.table = table, .last_txn = info.me_last_txnid};
    rc = mdb_reader_list(env, reader_slots_take_line, &listing);
    return rc < 0 ? rc : 0;
}

int reader_slots_tell(MDB_env *env, ReaderTable *table)
{
    int rc = reader_slots_check(env, table);
    if (table->cleared > 0) {
        LOG_INFO("db", "slots of dead readers cleared", "slots=%u", table->cleared);
    }
    return rc;
}

int64_t reader_watch_look(ReaderWatch *watch, const ReaderTable *table, MonoTime now)
{
    if (table->oldest_pid != watch->pid || table->oldest_txn != watch->txn) {
        *watch = (ReaderWatch){.pid = table->oldest_pid, .txn = table->oldest_txn, .since = now};
    }
    return watch->pid == 0 ? 0 : mono_ms_between(watch->since, now);
}
