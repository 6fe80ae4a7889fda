#include "store/page_tables/page_store.h"

#include <endian.h>
#include <string.h>

/* ---- The LMDB tables of PageDB, and the numbers that describe them ---- */

int page_tables_open(MDB_txn *txn, PageTables *t, bool create)
{
    const struct {
        const char *name;
        unsigned flags;
        MDB_dbi *dbi;
    } tables[] = {
        {PAGE_TABLES_INFO, 0, &t->info},
        {"hash2idx", MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED, &t->hash2idx},
        {"idx2info", MDB_INTEGERKEY, &t->idx2info},
        {"links", MDB_INTEGERKEY, &t->links},
        {"origins", MDB_INTEGERKEY, &t->origins},
        {"origin2host", MDB_INTEGERKEY, &t->origin2host},
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++) {
        unsigned flags = tables[i].flags | (create ? MDB_CREATE : 0u);
        rc = mdb_dbi_open(txn, tables[i].name, flags, tables[i].dbi);
    }
    return rc;
}

static MDB_val page_tables_key_of(const char *name)
{
    return (MDB_val){strlen(name), (char *)(uintptr_t)name};
}

int page_tables_read_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t *number)
{
    MDB_val key = page_tables_key_of(name), value;
    int rc = mdb_get(txn, info, &key, &value);
    if (rc == 0 && value.mv_size != sizeof *number) {
        return MDB_INVALID;
    }
    if (rc == 0) {
        memcpy(number, value.mv_data, sizeof *number);
        *number = le64toh(*number);
    }
    return rc;
}

int page_tables_write_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t number)
{
    number = htole64(number);
    MDB_val key = page_tables_key_of(name), value = {sizeof number, &number};
    return mdb_put(txn, info, &key, &value, 0);
}

/* ---- The inside of a PageDB ---- */

int page_store_count_pages(PageDBStore *store, MDB_txn *txn, uint64_t *n_pages)
{
    return page_tables_read_number(txn, store->tables.info, PAGE_TABLES_N_PAGES, n_pages);
}

int page_store_set_n_pages(PageDBStore *store, MDB_txn *txn, uint64_t n_pages)
{
    return page_tables_write_number(txn, store->tables.info, PAGE_TABLES_N_PAGES, n_pages);
}

/* ---- What a sweep of the journal writes ---- */

static int page_store_sweep_begin(void *context, MDB_txn *txn)
{
    PageDBStore *store = context;
    page_pack_editor_begin(&store->sweep, txn, store->tables.idx2info, NULL);
    return store->sweep.rows.code;
}

static int page_store_sweep_row(void *context, Journal *journal, MDB_txn *txn, uint64_t index,
                                const MDB_val *row)
{
    (void)journal;
    PageDBStore *store = context;
    (void)txn;
    page_store_looked_up(store, 1);
    page_pack_editor_set(&store->sweep, index, row);
    return store->sweep.rows.code;
}

static int page_store_sweep_end(void *context, int rc)
{
    PageDBStore *store = context;
    return page_pack_editor_end(&store->sweep, rc);
}

int page_store_open_journal(PageDBStore *store, MDB_txn *txn)
{
    JournalTarget target = {.context = store,
                            .begin = page_store_sweep_begin,
                            .apply = page_store_sweep_row,
                            .end = page_store_sweep_end};
    int rc = journal_open(&store->journal, txn, store->read_only);
    if (rc == 0) {
        journal_set_target(store->journal, JOURNAL_PAGES, &target);
    }
    return rc;
}

void page_store_check_residence(PageDBStore *store)
{
    mdb_filehandle_t file = -1;
    if (mdb_env_get_fd(store->env, &file) == 0) {
        (void)map_residence_check(&store->residence,
                                  file); /* a budget that is missed is no error */
    }
}
