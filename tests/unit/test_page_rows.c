#include "base/core/hash.h"
#include "store/lmdb/lmdb_result.h"
#include "store/tables/page_rows.h"

#include "store_fixture.h"
#include "unit.h"

/* ---- external rows ---- */

#define MODEL_PAGES 120u
#define MODEL_TURNS 4000u

typedef struct ExternalFixture {
    StoreFixture store;
    ExternalRows table;
} ExternalFixture;

static MDB_txn *external_begin(ExternalFixture *fixture)
{
    store_fixture_open(&fixture->store);
    MDB_txn *txn = store_fixture_begin(&fixture->store, false);
    CU_ASSERT_EQUAL_FATAL(
        lmdb_table_open(&fixture->table, txn, EXTERNAL_TABLE, MDB_CREATE | MDB_INTEGERKEY),
        RESULT_OK);
    return txn;
}

static void external_end(ExternalFixture *fixture, MDB_txn *txn)
{
    page_db_txn_abort(fixture->store.store.db, txn);
    store_fixture_close(&fixture->store, true);
}

static void add(Buffer *list, uint8_t kind, const char *url)
{
    CU_ASSERT_EQUAL_FATAL(buffer_append(list, &kind, 1), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(buffer_append(list, url, strlen(url) + 1), RESULT_OK);
}

static void put(ExternalFixture *fixture, MDB_txn *txn, uint64_t index, const Buffer *list)
{
    CU_ASSERT_EQUAL(
        external_rows_put(fixture->table, txn, index, buffer_string(list), list->length),
        RESULT_OK);
}

static bool has(MDB_txn *txn, uint64_t index, const Buffer *expected)
{
    Buffer list;
    buffer_init(&list, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(external_rows_read(txn, index, &list), RESULT_OK);
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
    put(&fixture, txn, 70000, &list);
    CU_ASSERT_TRUE(has(txn, 70000, &list));
    CU_ASSERT_TRUE(has(txn, 70001, &none));
    put(&fixture, txn, 70000, &none);
    CU_ASSERT_TRUE(has(txn, 70000, &none));
    put(&fixture, txn, 70000, &none);
    buffer_destroy(&list);
    external_end(&fixture, txn);
}

/* Random lists of random pages, replaced again and again, beside a model that keeps them whole. */
static void lists_are_as_they_were_put_whatever_came_between(void)
{
    ExternalFixture fixture;
    static Buffer model[MODEL_PAGES];
    MDB_txn *txn = external_begin(&fixture);
    for (uint64_t turn = 0; turn < MODEL_TURNS; turn++) {
        uint64_t luck = hash_mix(turn + 1);
        uint64_t index = luck / 16 % MODEL_PAGES;
        Buffer *list = &model[index];
        buffer_destroy(list);
        buffer_init(list, BUFFER_NO_LIMIT);
        for (uint64_t i = 0; i < luck / 4096 % 12; i++) {
            char url[64];
            uint64_t which = hash_mix(luck + i) % 900;
            (void)snprintf(url, sizeof url, "http://e%u.test/%u", (unsigned)(which % 30),
                           (unsigned)which);
            add(list, (uint8_t)(hash_mix(which) % 3), url);
        }
        put(&fixture, txn, index, list);
        luck = hash_mix(luck);
        CU_ASSERT_TRUE(has(txn, luck / 16 % MODEL_PAGES, &model[luck / 16 % MODEL_PAGES]));
        if (turn % 100 == 0) {
            store_fixture_commit(&fixture.store, txn);
            txn = store_fixture_begin(&fixture.store, false);
        }
    }
    for (size_t i = 0; i < MODEL_PAGES; i++) {
        buffer_destroy(&model[i]);
    }
    external_end(&fixture, txn);
}

static void what_is_no_list_is_damage(void)
{
    ExternalFixture fixture;
    MDB_txn *txn = external_begin(&fixture);
    Buffer list, frame;
    MDB_dbi dbi = 0;
    uint64_t index = 3;
    buffer_init(&list, BUFFER_NO_LIMIT);
    buffer_init(&frame, BUFFER_NO_LIMIT);
    add(&list, 1, "http://b.test/");
    CU_ASSERT_EQUAL(external_rows_pack(list.data, list.length, &frame), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "external", MDB_INTEGERKEY, &dbi), 0);
    for (size_t length = 0; length <= frame.length; length++) {
        MDB_val key = {sizeof index, &index};
        MDB_val value = {length, frame.data};
        Buffer read;
        buffer_init(&read, BUFFER_NO_LIMIT);
        CU_ASSERT_EQUAL(mdb_put(txn, dbi, &key, &value, 0), 0);
        CU_ASSERT_EQUAL(external_rows_read(txn, index, &read),
                        length == frame.length ? RESULT_OK : RESULT_DAMAGED);
        buffer_destroy(&read);
    }
    buffer_destroy(&list);
    buffer_destroy(&frame);
    external_end(&fixture, txn);
}

/* ---- held rows ---- */

static void what_is_put_is_read_in_order(void)
{
    StoreFixture fixture;
    HeldUrl read[4];
    HeldUrl one;
    size_t n = 0;
    store_fixture_open(&fixture);
    HeldRows held = fixture.store.held;
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    for (uint64_t i = 5; i > 0; i--) {
        HeldUrl url = {.index = i * 1000, .status = -5000 - (int32_t)i, .level = (uint8_t)i};
        CU_ASSERT_EQUAL(held_rows_put(held, txn, &url), RESULT_OK);
    }
    CU_ASSERT_EQUAL(held_rows_read(held, txn, 1001, read, 4, &n), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(n, 4);
    CU_ASSERT_EQUAL(read[0].index, 2000);
    CU_ASSERT_EQUAL(read[3].index, 5000);
    CU_ASSERT_EQUAL(read[3].status, -5005);
    CU_ASSERT_EQUAL(read[3].level, 5);
    CU_ASSERT_EQUAL(held_rows_remove(held, txn, 2000), RESULT_OK);
    CU_ASSERT_EQUAL(held_rows_remove(held, txn, 2000), RESULT_OK);
    CU_ASSERT_EQUAL(held_rows_get(held, txn, 2000, &one), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(held_rows_get(held, txn, 3000, &one), RESULT_OK);
    CU_ASSERT_EQUAL(one.level, 3);
    CU_ASSERT_EQUAL(held_rows_read(held, txn, 0, read, 4, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 4);
    CU_ASSERT_EQUAL(read[1].index, 3000);
    CU_ASSERT_EQUAL(held_rows_read(held, txn, 5001, read, 4, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 0);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

/* ---- seed rows ---- */

typedef struct SeedsRead {
    SeedEntry all[4];
    size_t n;
} SeedsRead;

static Result seeds_note(void *context, const SeedEntry *entry)
{
    SeedsRead *read = context;
    read->all[read->n++] = *entry;
    return read->n == 4 ? RESULT_CLOSED : RESULT_OK;
}

static void seeds_keep_their_tags(void)
{
    StoreFixture fixture;
    SeedsRead read = {.n = 0};
    SeedEntry one;
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    store_fixture_open(&fixture);
    SeedRows seeds = fixture.store.seeds;
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 7, "news"), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 3, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 9, longer), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 7, ""), RESULT_OK); /* read again without a tag */
    CU_ASSERT_EQUAL(seed_rows_get(seeds, txn, 7, &one), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(one.tag, "news");
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 7, "other"), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_each(seeds, txn, seeds_note, &read), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(read.n, 3);
    CU_ASSERT_EQUAL(read.all[0].index, 3);
    CU_ASSERT_STRING_EQUAL(read.all[0].tag, "");
    CU_ASSERT_STRING_EQUAL(read.all[1].tag, "other");
    CU_ASSERT_EQUAL(strlen(read.all[2].tag), SEED_TAG_BYTES);
    CU_ASSERT_EQUAL(seed_rows_each(seeds, txn, seeds_note, &read), RESULT_CLOSED);
    CU_ASSERT_EQUAL(read.n, 4);
    CU_ASSERT_EQUAL(seed_rows_get(seeds, txn, 4, &one), RESULT_NOT_FOUND);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("page_rows",
          {"a list comes back in its order with its kinds",
           a_list_comes_back_in_its_order_with_its_kinds},
          {"lists are as they were put whatever came between",
           lists_are_as_they_were_put_whatever_came_between},
          {"what is no list is damage", what_is_no_list_is_damage},
          {"what is put is read in order", what_is_put_is_read_in_order},
          {"seeds keep their tags", seeds_keep_their_tags})
