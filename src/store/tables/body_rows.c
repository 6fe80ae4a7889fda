#include "store/tables/body_rows.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

struct BodyRows {
    MDB_dbi dbi;
    Journal *journal; /* borrowed; NULL: none */
};

/* A row of the journal; one that ends behind `second` says that the entry is gone. */
typedef struct BodyRow {
    uint64_t second; /* half of the fingerprint */
    BodyOwner owner;
} BodyRow;

#define GONE_BYTES sizeof(uint64_t)

/* By this number rows of the journal come in the order of the table's keys. */
static uint64_t body_word(uint64_t first)
{
    return be64toh(first);
}

static MDB_val body_key(const uint64_t print[2])
{
    return lmdb_bytes(print, 2 * sizeof *print);
}

static int body_read_row(const MDB_val *value, BodyRow *row)
{
    if (value->mv_size != GONE_BYTES && value->mv_size != sizeof *row) {
        return MDB_CORRUPTED;
    }
    memcpy(row, value->mv_data, value->mv_size);
    return 0;
}

static int body_rows_sweep_row(void *context, Journal *journal, MDB_txn *txn, uint64_t word,
                               const MDB_val *value)
{
    (void)journal;
    MDB_dbi dbi = (MDB_dbi)(uintptr_t)context;
    BodyRow row;
    int rc = body_read_row(value, &row);
    if (rc != 0) {
        return rc;
    }
    const uint64_t print[2] = {htobe64(word), row.second};
    MDB_val key = body_key(print);
    MDB_val owner = {sizeof row.owner, &row.owner};
    if (value->mv_size == sizeof row) {
        return mdb_put(txn, dbi, &key, &owner, 0);
    }
    rc = mdb_del(txn, dbi, &key, NULL);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

Result body_rows_open(BodyRows **out, MDB_txn *txn, Journal *journal)
{
    BodyRows *table = calloc(1, sizeof *table);
    Result rc = RESULT_MEMORY;
    if (table != NULL) {
        rc = lmdb_table_open(&table->dbi, txn, "bodies", MDB_CREATE);
    }
    if (rc != RESULT_OK) {
        free(table);
        return rc;
    }
    *out = table;
    table->journal = journal;
    if (journal != NULL) {
        JournalTarget target = {.context = (void *)(uintptr_t)table->dbi,
                                .apply = body_rows_sweep_row};
        journal_set_target(journal, JOURNAL_BODIES, &target);
    }
    return RESULT_OK;
}

void body_rows_close(BodyRows *table)
{
    free(table);
}

/* The owner of a fingerprint, in the journal or in the table. */
static int body_find(BodyRows *table, MDB_txn *txn, const uint64_t print[2], BodyOwner *owner)
{
    JournalWalk walk = {.generation = 0};
    MDB_val value;
    BodyRow row;
    int rc = journal_find(table->journal, txn, JOURNAL_BODIES, body_word(print[0]), &walk, &value);
    while (rc == 0) {
        rc = body_read_row(&value, &row);
        if (rc == 0 && row.second == print[1]) {
            *owner = row.owner;
            return value.mv_size == sizeof row ? 0 : MDB_NOTFOUND;
        }
        if (rc == 0) {
            rc = journal_find(table->journal, txn, JOURNAL_BODIES, body_word(print[0]), &walk,
                              &value);
        }
    }
    MDB_val key = body_key(print);
    rc = rc == MDB_NOTFOUND ? mdb_get(txn, table->dbi, &key, &value) : rc;
    if (rc == 0 && value.mv_size != sizeof *owner) {
        rc = MDB_CORRUPTED;
    }
    if (rc == 0) {
        memcpy(owner, value.mv_data, sizeof *owner);
    }
    return rc;
}

/* owner NULL: the entry goes. */
static int body_change(BodyRows *table, MDB_txn *txn, const uint64_t print[2],
                       const BodyOwner *owner)
{
    if (journal_takes(table->journal)) {
        BodyRow row = {.second = print[1]};
        row.owner = owner == NULL ? row.owner : *owner;
        MDB_val value = {owner == NULL ? GONE_BYTES : sizeof row, &row};
        return journal_put(table->journal, txn, JOURNAL_BODIES, body_word(print[0]), &value);
    }
    MDB_val key = body_key(print);
    MDB_val value = lmdb_bytes(owner, sizeof *owner);
    return owner == NULL ? mdb_del(txn, table->dbi, &key, NULL)
                         : mdb_put(txn, table->dbi, &key, &value, 0);
}

Result body_rows_enter(BodyRows *table, MDB_txn *txn, const uint64_t print[2], BodyOwner *owner,
                       bool *found)
{
    BodyOwner first;
    int rc = body_find(table, txn, print, &first);
    *found = rc == 0;
    if (*found) {
        *owner = first;
    } else if (rc == MDB_NOTFOUND) {
        rc = body_change(table, txn, print, owner);
    }
    return lmdb_result(rc, "put body fingerprint");
}

Result body_rows_forget(BodyRows *table, MDB_txn *txn, const uint64_t print[2], uint64_t page)
{
    BodyOwner owner;
    int rc = body_find(table, txn, print, &owner);
    if (rc == 0 && owner.page == page) {
        rc = body_change(table, txn, print, NULL);
    }
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "forget body fingerprint");
}

/* A fingerprint of the page in the journal that begins with the word. */
static int body_find_journalled(BodyRows *table, MDB_txn *txn, uint64_t word, uint64_t page,
                                uint64_t print[2])
{
    JournalWalk walk = {.generation = 0};
    MDB_val value;
    BodyRow row;
    int rc = 0;
    while (rc == 0) {
        rc = journal_find(table->journal, txn, JOURNAL_BODIES, body_word(word), &walk, &value);
        if (rc == 0) {
            rc = body_read_row(&value, &row);
        }
        if (rc == 0 && value.mv_size == sizeof row && row.owner.page == page) {
            print[0] = word;
            print[1] = row.second;
            return 0;
        }
    }
    return rc;
}

/* The same in the table. */
static Result body_find_stored(BodyRows *table, MDB_txn *txn, uint64_t word, uint64_t page,
                               uint64_t print[2])
{
    const uint64_t first[2] = {word, 0};
    LmdbRows rows;
    bool found = false;
    lmdb_rows_begin(&rows, txn, table->dbi, body_key(first));
    while (!found && lmdb_rows_next(&rows) && memcmp(rows.key.mv_data, &word, sizeof word) == 0) {
        found = rows.key.mv_size == sizeof first && rows.value.mv_size == sizeof(BodyOwner) &&
                memcmp(rows.value.mv_data, &page, sizeof page) == 0;
    }
    if (found) {
        memcpy(print, rows.key.mv_data, sizeof first);
    }
    return lmdb_rows_end(&rows, found ? RESULT_OK : RESULT_NOT_FOUND, "forget body fingerprint");
}

Result body_rows_forget_word(BodyRows *table, MDB_txn *txn, uint64_t word, uint64_t page)
{
    uint64_t print[2] = {word, 0};
    Result rc =
        lmdb_result(body_find_journalled(table, txn, word, page, print), "forget body fingerprint");
    if (rc == RESULT_NOT_FOUND) {
        rc = body_find_stored(table, txn, word, page, print);
    }
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    return body_rows_forget(table, txn, print, page);
}

Result body_rows_put_own(BodyRows *table, MDB_txn *txn, uint64_t page, const uint64_t print[2])
{
    return lmdb_put(txn, table->dbi, lmdb_bytes(&page, sizeof page), body_key(print),
                    "put key of body");
}

Result body_rows_get_own(BodyRows *table, MDB_txn *txn, uint64_t page, uint64_t print[2])
{
    Result rc = lmdb_get_struct(txn, table->dbi, lmdb_bytes(&page, sizeof page), print,
                                2 * sizeof *print, "get key of body");
    return rc == RESULT_VERSION ? RESULT_NOT_FOUND : rc;
}

Result body_rows_remove_own(BodyRows *table, MDB_txn *txn, uint64_t page)
{
    return lmdb_remove(txn, table->dbi, lmdb_bytes(&page, sizeof page), "forget key of body");
}
