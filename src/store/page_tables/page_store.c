#include "store/page_tables/page_store.h"

int page_store_count_pages(PageDBStore *store, MDB_txn *txn, uint64_t *n_pages)
{
    return page_tables_read_number(txn, store->tables.info, PAGE_TABLES_N_PAGES, n_pages);
}

int page_store_set_n_pages(PageDBStore *store, MDB_txn *txn, uint64_t n_pages)
{
    return page_tables_write_number(txn, store->tables.info, PAGE_TABLES_N_PAGES, n_pages);
}

void page_store_check_residence(PageDBStore *store)
{
    mdb_filehandle_t file = -1;
    if (mdb_env_get_fd(store->env, &file) == 0) {
        (void)map_residence_check(&store->residence,
                                  file); /* a budget that is missed is no error */
    }
}
