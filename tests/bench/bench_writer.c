/* The floor beneath the thread that writes: what LMDB alone takes for the rows of a crawl.
 *
 *   bench_writer FILE PAGES DIRECTORY
 *
 * FILE is what tests/crash/rows_shim.c has recorded of a crawl of so many PAGES; DIRECTORY gets an
 * empty database with the same flags and the same tables. Each transaction is done again: of a row
 * that it wrote several times the last content only, table by table, in order of keys, with one
 * cursor for each table, and committed as durably. Nothing is computed: no key, no record, no list.
 * CPU of this one thread, by page:
 *
 *   writer.floor_rows     puts, deletes and commits
 *   writer.floor          and the look-ups, each once in a transaction, in order of keys: a writer
 *                         that does not know whether a URL is new has to ask; and what it wrote to
 *                         files (crawl.log, crawl.pending, WARC): as many bytes, synced as often
 *
 * To standard error: by table, rows and look-ups a page. That the crawl's thread writes some rows
 * twice, to the journal and later to their table, is in the floor: it is what LMDB has to do here.
 * bench_crawl.py compares. */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../crash/rows_log.h"
#include "base/core/clock.h"

#define TABLES 64u
#define FILES  1024u
#define CHECK(call)                                                                                \
    do {                                                                                           \
        int check_rc = (call);                                                                     \
        if (check_rc != 0) {                                                                       \
            fprintf(stderr, "bench: writer: %s: %s\n", #call, mdb_strerror(check_rc));             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A row that a transaction writes, or a look-up. */
typedef struct Row {
    uint8_t op;
    bool has_value;
    bool again; /* taken out and appended, not changed in its place */
    uint16_t table;
    unsigned flags;
    size_t seq;
    MDB_val key;
    MDB_val value;
} Row;

typedef struct Table {
    const char *name; /* NULL: it has none; borrowed from the log */
    size_t n_name;
    bool exists;
    unsigned flags;
    MDB_dbi dbi;
    MDB_cursor *cursor; /* of the transaction under way */
    bool clears;        /* a key of it loses all its values in this transaction */
    size_t n_puts, n_deletes, n_seeks, n_bytes;
} Table;

typedef struct Replay {
    const uint8_t *log;
    size_t length;
    const char *directory;
    bool all; /* look-ups and files, too */
    MDB_env *env;
    MDB_txn *txn;
    Table tables[TABLES];
    int files[FILES]; /* 0: not open */
    Row *rows;        /* of the transaction under way */
    size_t n_rows, m_rows;
    char *junk; /* as long as the longest value */
    double cpu_s;
} Replay;

static double thread_s(void)
{
    return (double)cpu_thread_ns() / 1e9;
}

/* ---- the log ---- */

typedef struct LogEntry {
    RowsEntry head;
    MDB_val key;
    MDB_val value;
} LogEntry;

/* The entry at *at, which moves behind it; false: it was the last one. */
static bool log_next(const Replay *replay, size_t *at, LogEntry *entry)
{
    if (replay->length - *at < sizeof entry->head) {
        return false;
    }
    memcpy(&entry->head, replay->log + *at, sizeof entry->head);
    const RowsEntry *head = &entry->head;
    const uint8_t *bytes = replay->log + *at + sizeof *head;
    bool bare =
        head->op == ROWS_WRITE || (head->op == ROWS_PUT && (head->flags & MDB_RESERVE) != 0);
    entry->key = (MDB_val){head->n_key, (void *)(uintptr_t)bytes};
    entry->value =
        (MDB_val){head->n_value, bare ? replay->junk : (char *)(uintptr_t)bytes + head->n_key};
    *at += sizeof *head + head->n_key + (bare ? 0 : head->n_value);
    return *at <= replay->length;
}

/* What all tables are called, and how long values are. */
static void log_survey(Replay *replay, uint64_t env[2])
{
    LogEntry entry;
    size_t longest = 0;
    for (size_t at = 0; log_next(replay, &at, &entry);) {
        longest = entry.head.n_value > longest ? entry.head.n_value : longest;
        if (entry.head.op == ROWS_ENV) {
            memcpy(env, entry.value.mv_data, 2 * sizeof *env);
        }
        if (entry.head.op == ROWS_TABLE) {
            CHECK(entry.head.table >= TABLES ? MDB_DBS_FULL : 0);
            Table *table = &replay->tables[entry.head.table];
            *table = (Table){.name = entry.key.mv_size == 0 ? NULL : entry.key.mv_data,
                             .n_name = entry.key.mv_size,
                             .exists = true,
                             .flags = entry.head.flags};
        }
    }
    replay->junk = calloc(1, longest + 1);
    CHECK(replay->junk == NULL ? ENOMEM : 0);
}

/* ---- one transaction ---- */

static void add(Replay *replay, const LogEntry *entry)
{
    if (replay->n_rows == replay->m_rows) {
        replay->m_rows = replay->m_rows == 0 ? 4096 : 2 * replay->m_rows;
        replay->rows = reallocarray(replay->rows, replay->m_rows, sizeof *replay->rows);
        CHECK(replay->rows == NULL ? ENOMEM : 0);
    }
    Table *table = &replay->tables[entry->head.table];
    bool doubles = (table->flags & MDB_DUPSORT) != 0;
    Row row = {.op = entry->head.op,
               .has_value =
                   entry->head.has_value != 0 && (doubles || entry->head.op != ROWS_DELETE),
               .table = entry->head.table,
               .flags = entry->head.flags,
               .seq = replay->n_rows,
               .key = entry->key,
               .value = entry->value};
    table->clears = table->clears || (doubles && row.op == ROWS_DELETE && !row.has_value);
    replay->rows[replay->n_rows++] = row;
}

/* What was done to a table before it was emptied does not count. */
static void drop(Replay *replay, const LogEntry *entry)
{
    size_t kept = 0;
    for (size_t i = 0; i < replay->n_rows; i++) {
        if (replay->rows[i].table != entry->head.table) {
            replay->rows[kept++] = replay->rows[i];
        }
    }
    replay->n_rows = kept;
    add(replay, entry);
}

/* Drops, look-ups, then rows. */
static unsigned phase(const Row *row)
{
    return row->op == ROWS_DROP ? 0 : row->op == ROWS_SEEK ? 1 : 2;
}

static int compare_content(const Replay *replay, const Row *a, const Row *b)
{
    const Table *table = &replay->tables[a->table];
    int order = a->op == ROWS_DROP ? 0 : mdb_cmp(replay->txn, table->dbi, &a->key, &b->key);
    bool by_value = (table->flags & MDB_DUPSORT) != 0 && !table->clears;
    if (order == 0 && by_value && a->has_value && b->has_value) {
        order = mdb_dcmp(replay->txn, table->dbi, &a->value, &b->value);
    }
    return order;
}

static int compare_rows(const void *x, const void *y, void *context)
{
    const Row *a = x;
    const Row *b = y;
    int order =
        a->table != b->table ? (int)a->table - (int)b->table : (int)phase(a) - (int)phase(b);
    order = order == 0 ? compare_content(context, a, b) : order;
    return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

/* Sorted, the last word on each row. */
static void prepare(Replay *replay)
{
    size_t n = 0;
    if (replay->n_rows > 1) {
        qsort_r(replay->rows, replay->n_rows, sizeof *replay->rows, compare_rows, replay);
    }
    for (size_t i = 0; i < replay->n_rows; i++) {
        Row row = replay->rows[i];
        const Table *table = &replay->tables[row.table];
        Row *last = n == 0 ? NULL : &replay->rows[n - 1];
        bool same = last != NULL && last->table == row.table && phase(last) == phase(&row) &&
                    (row.op == ROWS_SEEK ? last->flags == row.flags : !table->clears) &&
                    compare_content(replay, last, &row) == 0;
        if (same) {
            row.again = row.op == ROWS_PUT && (last->again || last->op == ROWS_DELETE) &&
                        (row.flags & MDB_APPEND) != 0;
            n--;
        }
        replay->rows[n++] = row;
    }
    replay->n_rows = n;
}

static void remove_row(const Table *table, const Row *row)
{
    MDB_val key = row->key;
    MDB_val value = row->value;
    int rc = mdb_cursor_get(table->cursor, &key, &value, row->has_value ? MDB_GET_BOTH : MDB_SET);
    bool all = (table->flags & MDB_DUPSORT) != 0 && !row->has_value;
    if (rc == 0) {
        rc = mdb_cursor_del(table->cursor, all ? MDB_NODUPDATA : 0);
    }
    CHECK(rc == MDB_NOTFOUND ? 0 : rc);
}

static void put_row(const Table *table, const Row *row)
{
    MDB_val key = row->key;
    MDB_val value = row->value;
    unsigned flags = row->flags & (MDB_APPEND | MDB_APPENDDUP);
    if (row->again) {
        remove_row(table, &(Row){.key = row->key});
    }
    int rc = mdb_cursor_put(table->cursor, &key, &value, flags);
    CHECK(rc == MDB_KEYEXIST ? mdb_cursor_put(table->cursor, &key, &value, 0) : rc);
}

static void apply(Replay *replay, const Row *row)
{
    Table *table = &replay->tables[row->table];
    MDB_val key = row->key;
    MDB_val value = row->value;
    if (table->cursor == NULL) {
        CHECK(mdb_cursor_open(replay->txn, table->dbi, &table->cursor));
    }
    if (row->op == ROWS_DROP) {
        CHECK(mdb_drop(replay->txn, table->dbi, 0));
    } else if (row->op == ROWS_PUT) {
        put_row(table, row);
        table->n_puts++;
        table->n_bytes += row->key.mv_size + row->value.mv_size;
    } else if (row->op == ROWS_DELETE) {
        remove_row(table, row);
        table->n_deletes++;
    } else if (replay->all) {
        (void)mdb_cursor_get(table->cursor, &key, &value, (MDB_cursor_op)row->flags);
        table->n_seeks++;
    }
}

static void commit(Replay *replay, bool counts)
{
    prepare(replay);
    double before = thread_s();
    for (size_t i = 0; i < replay->n_rows; i++) {
        apply(replay, &replay->rows[i]);
    }
    for (size_t i = 0; i < TABLES; i++) {
        if (replay->tables[i].cursor != NULL) {
            mdb_cursor_close(replay->tables[i].cursor);
        }
    }
    CHECK(mdb_txn_commit(replay->txn));
    replay->cpu_s += counts ? thread_s() - before : 0;
}

/* ---- the whole ---- */

/* A write, or a sync, of a file. */
static void use_file(Replay *replay, const LogEntry *entry)
{
    char path[4096];
    int *fd = &replay->files[entry->head.table % FILES];
    if (*fd == 0) {
        (void)snprintf(path, sizeof path, "%s/file-%u", replay->directory, entry->head.table);
        *fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(*fd < 0 ? EIO : 0);
    }
    double before = thread_s();
    bool done = entry->head.op == ROWS_SYNC
                    ? fdatasync(*fd) == 0
                    : write(*fd, replay->junk, entry->head.n_value) == (ssize_t)entry->head.n_value;
    replay->cpu_s += thread_s() - before;
    CHECK(done ? 0 : EIO);
}

static void open_tables(Replay *replay)
{
    MDB_txn *txn = NULL;
    CHECK(mdb_txn_begin(replay->env, NULL, 0, &txn));
    for (size_t i = 0; i < TABLES; i++) {
        Table *table = &replay->tables[i];
        char name[256];
        if (table->exists) {
            (void)snprintf(name, sizeof name, "%.*s", (int)table->n_name, table->name);
            CHECK(mdb_dbi_open(txn, table->name == NULL ? NULL : name, table->flags | MDB_CREATE,
                               &table->dbi));
        }
    }
    CHECK(mdb_txn_commit(txn));
}

static void replay_log(Replay *replay)
{
    LogEntry entry;
    bool counts = false;
    double before = 0;
    for (size_t at = 0; log_next(replay, &at, &entry);) {
        switch ((RowsOp)entry.head.op) {
        case ROWS_BEGIN:
            counts = entry.head.flags != 0;
            before = thread_s();
            CHECK(mdb_txn_begin(replay->env, NULL, 0, &replay->txn));
            replay->cpu_s += counts ? thread_s() - before : 0;
            replay->n_rows = 0;
            for (size_t i = 0; i < TABLES; i++) {
                replay->tables[i].cursor = NULL;
                replay->tables[i].clears = false;
            }
            break;
        case ROWS_COMMIT:
            commit(replay, counts);
            break;
        case ROWS_ABORT:
            mdb_txn_abort(replay->txn);
            break;
        case ROWS_DROP:
            drop(replay, &entry);
            break;
        case ROWS_PUT:
        case ROWS_DELETE:
        case ROWS_SEEK:
            add(replay, &entry);
            break;
        case ROWS_WRITE:
        case ROWS_SYNC:
            if (replay->all) {
                use_file(replay, &entry);
            }
            break;
        case ROWS_ENV:
        case ROWS_TABLE:
            break;
        }
    }
}

/* CPU seconds of the whole log. */
static double run(const Replay *log, bool all, double pages)
{
    static Replay replay;
    char folder[4096];
    uint64_t env[2] = {0};
    replay = *log;
    replay.all = all;
    (void)snprintf(folder, sizeof folder, "%s/%s", log->directory, all ? "all" : "rows");
    CHECK(mkdir(folder, 0700) == 0 ? 0 : EIO);
    log_survey(&replay, env);
    CHECK(mdb_env_create(&replay.env));
    CHECK(mdb_env_set_maxdbs(replay.env, TABLES));
    CHECK(mdb_env_set_mapsize(replay.env, (size_t)env[1]));
    CHECK(mdb_env_open(replay.env, folder, (unsigned)env[0], 0600));
    open_tables(&replay);
    replay_log(&replay);
    for (size_t i = 0; all && i < TABLES; i++) {
        const Table *table = &replay.tables[i];
        if (table->n_puts + table->n_deletes + table->n_seeks > 0) {
            fprintf(stderr,
                    "    %-16.*s %7.3f puts of %5.0f bytes %7.3f deletes %7.3f look-ups a page\n",
                    (int)table->n_name, table->name, (double)table->n_puts / pages,
                    (double)table->n_bytes / (double)(table->n_puts + 1),
                    (double)table->n_deletes / pages, (double)table->n_seeks / pages);
        }
    }
    mdb_env_close(replay.env);
    free(replay.rows);
    free(replay.junk);
    return replay.cpu_s;
}

int main(int argc, char **argv)
{
    struct stat status;
    if (argc == 1) {
        return 0; /* `make bench`: crawl and its workloads run it */
    }
    if (argc != 4) {
        fprintf(stderr, "usage: bench_writer FILE PAGES DIRECTORY\n");
        return 2;
    }
    int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    double pages = strtod(argv[2], NULL);
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(argv[1]);
        return 1;
    }
    Replay log = {.length = (size_t)status.st_size, .directory = argv[3]};
    void *map = mmap(NULL, log.length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    log.log = map;
    printf("writer.floor_rows = %.4f ms\n", run(&log, false, pages) * 1000 / pages);
    printf("writer.floor = %.4f ms\n", run(&log, true, pages) * 1000 / pages);
    return 0;
}
