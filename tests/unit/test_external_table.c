#include "store/tables/external_table.h"

#include "base/core/hash.h"
#include "store_fixture.h"
#include "unit.h"

#define MODEL_HOSTS 3u
#define MODEL_PAGES 40u
#define MODEL_TURNS 4000u
#define MANY        400000u /* as many URLs of one host that some of them share a hash */
#define MANY_STEP   500u

typedef struct ExternalFixture {
    StoreFixture store;
    ExternalTable *table;
} ExternalFixture;

static MDB_txn *external_begin(ExternalFixture *fixture)
{
    store_fixture_open(&fixture->store);
    MDB_txn *txn = store_fixture_begin(&fixture->store, false);
    CU_ASSERT_EQUAL_FATAL(external_table_open(&fixture->table, txn), RESULT_OK);
    return txn;
}

static void external_end(ExternalFixture *fixture, MDB_txn *txn)
{
    page_db_txn_abort(fixture->store.store.db, txn);
    external_table_close(fixture->table);
    store_fixture_close(&fixture->store, true);
}

static void add(Buffer *list, uint8_t kind, const char *url)
{
    CU_ASSERT_EQUAL_FATAL(buffer_append(list, &kind, 1), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(buffer_append(list, url, strlen(url) + 1), RESULT_OK);
}

static void put(ExternalFixture *fixture, MDB_txn *txn, uint32_t host, uint64_t index,
                const Buffer *list)
{
    CU_ASSERT_EQUAL(
        external_table_put(fixture->table, txn, host, index, buffer_string(list), list->length),
        RESULT_OK);
}

static bool has(MDB_txn *txn, uint32_t host, uint64_t index, const Buffer *expected)
{
    Buffer list;
    buffer_init(&list, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(external_table_read(txn, host, index, &list), RESULT_OK);
    bool same = list.length == expected->length &&
                memcmp(buffer_string(&list), buffer_string(expected), list.length) == 0;
    buffer_destroy(&list);
    return same;
}

static void a_list_comes_back_in_its_order_with_its_kinds(void)
{
    ExternalFixture fixture;
    MDB_txn *txn = external_begin(&fixture);
    Buffer list, none;
    buffer_init(&list, BUFFER_NO_LIMIT);
    buffer_init(&none, BUFFER_NO_LIMIT);
    add(&list, 0, "http://b.test/");
    add(&list, 7, "http://b.test/x");
    add(&list, 7, "http://a.test/");
    add(&list, 0, "");
    add(&list, 9, "http://b.test/");
    put(&fixture, txn, 5, 70000, &list);
    CU_ASSERT_TRUE(has(txn, 5, 70000, &list));
    CU_ASSERT_TRUE(has(txn, 5, 70001, &none));
    CU_ASSERT_TRUE(has(txn, 6, 70000, &none));
    put(&fixture, txn, 5, 70000, &none);
    CU_ASSERT_TRUE(has(txn, 5, 70000, &none));
    put(&fixture, txn, 5, 70000, &none);
    buffer_destroy(&list);
    external_end(&fixture, txn);
}

/* Random lists of random pages, replaced again and again, beside a model that keeps them whole. */
static void lists_are_as_they_were_put_whatever_came_between(void)
{
    ExternalFixture fixture;
    static Buffer model[MODEL_HOSTS][MODEL_PAGES];
    MDB_txn *txn = external_begin(&fixture);
    for (uint64_t turn = 0; turn < MODEL_TURNS; turn++) {
        uint64_t luck = hash_mix(turn + 1);
        uint32_t host = (uint32_t)(luck % MODEL_HOSTS);
        uint64_t index = luck / 16 % MODEL_PAGES;
        Buffer *list = &model[host][index];
        buffer_init(list, BUFFER_NO_LIMIT);
        for (uint64_t i = 0; i < luck / 4096 % 12; i++) {
            char url[64];
            uint64_t which = hash_mix(luck + i) % 900;
            (void)snprintf(url, sizeof url, "http://e%u.test/%u", (unsigned)(which % 30),
                           (unsigned)which);
            add(list, (uint8_t)(hash_mix(which) % 3), url);
        }
        put(&fixture, txn, host, index, list);
        luck = hash_mix(luck);
        CU_ASSERT_TRUE(has(txn, (uint32_t)(luck % MODEL_HOSTS), luck / 16 % MODEL_PAGES,
                           &model[luck % MODEL_HOSTS][luck / 16 % MODEL_PAGES]));
        if (turn % 100 == 0) {
            store_fixture_commit(&fixture.store, txn);
            txn = store_fixture_begin(&fixture.store, false);
        }
    }
    external_end(&fixture, txn);
}

static size_t table_bytes(MDB_txn *txn)
{
    MDB_dbi dbi = 0;
    MDB_stat stat;
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "external_links", 0, &dbi), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_stat(txn, dbi, &stat), 0);
    return (stat.ms_leaf_pages + stat.ms_overflow_pages + stat.ms_branch_pages) * stat.ms_psize;
}

static void a_url_that_all_pages_of_a_host_have_is_stored_once(void)
{
    ExternalFixture fixture;
    MDB_txn *txn = external_begin(&fixture);
    Buffer list;
    buffer_init(&list, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 20; i++) {
        char url[128];
        (void)snprintf(url, sizeof url, "https://elsewhere.example/%0100u", i);
        add(&list, 0, url);
    }
    for (uint64_t index = 0; index < 1000; index++) {
        put(&fixture, txn, 1, index, &list);
    }
    CU_ASSERT_TRUE(has(txn, 1, 999, &list));
    CU_ASSERT_TRUE(table_bytes(txn) < 1000 * 120); /* 2.6 MB of URLs */
    external_end(&fixture, txn);
    buffer_destroy(&list);
}

static void urls_with_the_same_hash_are_told_apart(void)
{
    ExternalFixture fixture;
    MDB_txn *txn = external_begin(&fixture);
    Buffer list;
    buffer_init(&list, BUFFER_NO_LIMIT);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i += MANY_STEP) {
            buffer_reset(&list);
            for (unsigned j = i; j < i + MANY_STEP; j++) {
                char url[32];
                (void)snprintf(url, sizeof url, "http://e.test/%u", j);
                add(&list, 0, url);
            }
            if (round == 0) {
                put(&fixture, txn, 1, i, &list);
            } else {
                CU_ASSERT_TRUE(has(txn, 1, i, &list));
            }
        }
    }
    buffer_destroy(&list);
    external_end(&fixture, txn);
}

UNIT_MAIN("external table",
          {"a list comes back in its order with its kinds",
           a_list_comes_back_in_its_order_with_its_kinds},
          {"lists are as they were put whatever came between",
           lists_are_as_they_were_put_whatever_came_between},
          {"a URL that all pages of a host have is stored once",
           a_url_that_all_pages_of_a_host_have_is_stored_once},
          {"URLs with the same hash are told apart", urls_with_the_same_hash_are_told_apart})
