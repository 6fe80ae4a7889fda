/* Keys of pages and the table hash2idx, beside a sorted list. */
#include <stdio.h>
#include <stdlib.h>

#include "dice.h"
#include "folder_fixture.h"
#include "store/page_tables/page_key.h"
#include "store/records/url_parts.h"

#define SEED    20261128u
#define ENTRIES 4000
#define LOOKS   6000

typedef struct Row {
    PageKey key;
    PageEntry entry;
} Row;

static int row_compare(const void *a, const void *b)
{
    const Row *x = a;
    const Row *y = b;
    if (x->key.hash != y->key.hash) {
        return x->key.hash < y->key.hash ? -1 : 1;
    }
    return (x->key.print > y->key.print) - (x->key.print < y->key.print);
}

/* Few domains and hashes, so that keys meet: the same URL hash with other fingerprints. */
static PageKey draw_key(Dice *dice)
{
    static const uint32_t domains[] = {0, 1, 7, 0x80000000u, UINT32_MAX};
    uint64_t domain = domains[dice_below(dice, sizeof domains / sizeof *domains)];
    uint64_t edge = dice_below(dice, 8) == 0 ? UINT32_MAX : 0;
    uint64_t print =
        dice_below(dice, 4) == 0 ? (UINT64_C(1) << PAGE_PRINT_BITS) - 1 : dice_below(dice, 3) << 7;
    return (PageKey){.hash = domain << 32 | (edge ^ dice_below(dice, 500)), .print = print};
}

typedef struct World {
    char dir[FOLDER_BYTES];
    MDB_env *env;
    MDB_txn *txn;
    PageDBStore store;
    Row rows[ENTRIES];
    size_t n;
} World;

static World world;

/* domain 5 has a single entry: LMDB keeps it otherwise than several. */
static void world_start(Dice *dice)
{
    world = (World){.n = 0};
    folder_make(world.dir);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&world.env), 0);
    (void)mdb_env_set_maxdbs(world.env, 2);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(world.env, world.dir, MDB_NOSYNC, 0644), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(world.env, NULL, 0, &world.txn), 0);
    MDB_dbi *table = &world.store.tables.hash2idx;
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(world.txn, "hash2idx",
                                       MDB_CREATE | MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED,
                                       table),
                          0);
    for (size_t i = 0; i < ENTRIES; i++) {
        Row row = {.key = i == 0 ? (PageKey){.hash = UINT64_C(5) << 32 | 9} : draw_key(dice)};
        row.entry = (PageEntry){.url_hash = (uint32_t)row.key.hash,
                                .print = row.key.print,
                                .depth = (uint8_t)dice_below(dice, 256),
                                .index = i << 30};
        bool is_new = true;
        for (size_t k = 0; k < world.n && is_new; k++) {
            is_new = row_compare(&world.rows[k], &row) != 0;
        }
        uint8_t bytes[PAGE_ENTRY_BYTES];
        uint32_t domain = page_key_domain(&row.key);
        page_entry_write(&row.entry, bytes);
        MDB_val key = {sizeof domain, &domain};
        MDB_val value = {sizeof bytes, bytes};
        if (is_new) {
            world.rows[world.n++] = row;
            CU_ASSERT_EQUAL_FATAL(mdb_put(world.txn, *table, &key, &value, 0), 0);
        }
    }
    qsort(world.rows, world.n, sizeof *world.rows, row_compare);
}

static void world_end(void)
{
    mdb_txn_abort(world.txn);
    mdb_env_close(world.env);
    folder_remove(world.dir);
}

static const Row *world_find(const PageKey *key)
{
    Row wanted = {.key = *key};
    return bsearch(&wanted, world.rows, world.n, sizeof *world.rows, row_compare);
}

static void entries_keep_what_they_are_given_in_the_order_of_their_keys(void)
{
    Dice dice = {SEED};
    uint8_t before[PAGE_ENTRY_BYTES] = {0};
    PageEntry was = {.index = 0};
    for (unsigned i = 0; i < LOOKS; i++) {
        PageEntry entry = {.url_hash = (uint32_t)dice_below(&dice, 2) * UINT32_MAX,
                           .print = dice_next(&dice) >> (64 - PAGE_PRINT_BITS),
                           .depth = (uint8_t)dice_next(&dice),
                           .index = dice_next(&dice) >> (64 - PAGE_INDEX_BITS)};
        uint8_t bytes[PAGE_ENTRY_BYTES];
        PageEntry read;
        page_entry_write(&entry, bytes);
        page_entry_read(bytes, &read);
        CU_ASSERT_TRUE(read.url_hash == entry.url_hash && read.print == entry.print &&
                       read.depth == entry.depth && read.index == entry.index);
        if (entry.url_hash != was.url_hash || entry.print != was.print) {
            bool is_less = entry.url_hash < was.url_hash ||
                           (entry.url_hash == was.url_hash && entry.print < was.print);
            CU_ASSERT_EQUAL(memcmp(bytes, before, sizeof bytes) < 0, is_less);
        }
        was = entry;
        memcpy(before, bytes, sizeof before);
    }
}

static void a_key_is_found_with_its_fingerprint_or_the_first_without(void)
{
    Dice dice = {SEED};
    MDB_cursor *cursor = NULL;
    world_start(&dice);
    CU_ASSERT_EQUAL_FATAL(mdb_cursor_open(world.txn, world.store.tables.hash2idx, &cursor), 0);
    for (unsigned i = 0; i < LOOKS; i++) {
        PageKey key = i == 0 ? (PageKey){.hash = UINT64_C(5) << 32 | 9} : draw_key(&dice);
        const Row *row = world_find(&key);
        uint64_t index = 1;
        int rc = page_key_look_up(&world.store, world.txn, &key, &index);
        CU_ASSERT_TRUE(row == NULL ? rc == MDB_NOTFOUND : rc == 0 && index == row->entry.index);
        uint64_t first = UINT64_MAX;
        for (size_t k = 0; k < world.n; k++) {
            bool is_it = world.rows[k].key.hash == key.hash && world.rows[k].entry.index < first;
            first = is_it ? world.rows[k].entry.index : first;
        }
        rc = page_key_find(cursor, key.hash, NULL, &index);
        CU_ASSERT_TRUE(first == UINT64_MAX ? rc == MDB_NOTFOUND : rc == 0 && index == first);
    }
    mdb_cursor_close(cursor);
    world_end();
}

static void a_sweep_finds_what_single_looks_find(void)
{
    Dice dice = {SEED + 1};
    static Row asked[LOOKS];
    world_start(&dice);
    for (unsigned i = 0; i < LOOKS; i++) {
        asked[i] = (Row){.key = draw_key(&dice)};
        asked[i].key.hash =
            i % 16 == 0 ? UINT64_C(5) << 32 | dice_below(&dice, 20) : asked[i].key.hash;
    }
    qsort(asked, LOOKS, sizeof *asked, row_compare);
    PageSweep sweep = {.cursor = NULL};
    CU_ASSERT_EQUAL_FATAL(mdb_cursor_open(world.txn, world.store.tables.hash2idx, &sweep.cursor),
                          0);
    for (unsigned i = 0; i < LOOKS; i++) {
        PageEntry entry;
        bool found = false;
        const Row *row = world_find(&asked[i].key);
        CU_ASSERT_EQUAL_FATAL(page_sweep_find(&sweep, &asked[i].key, &entry, &found), 0);
        bool agrees =
            found == (row != NULL) &&
            (row == NULL || (entry.index == row->entry.index && entry.depth == row->entry.depth));
        if (!agrees) {
            (void)fprintf(stderr, "seed %u look %u\n", SEED + 1, i);
        }
        CU_ASSERT_TRUE(agrees);
        if (dice_below(&dice, 50) == 0) {
            page_sweep_restart(&sweep);
        }
    }
    mdb_cursor_close(sweep.cursor);
    world_end();
}

static void a_link_has_the_key_that_it_has_by_itself(void)
{
    static const char *const urls[] = {"http://a.org/",
                                       "http://a.org",
                                       "http://a.org/x?y#z",
                                       "http://a.org?q",
                                       "http://a.org:80/",
                                       "http://a.org:8080/",
                                       "https://a.org/",
                                       "http://a.orgx/",
                                       "http://u@a.org/",
                                       "http://u:p@a.org/x",
                                       "http://[::1]/",
                                       "http://[::1]:8/y",
                                       "http://a.org@b.org/",
                                       "http://b.org/@a.org/",
                                       "_seed_0",
                                       "_seed_1",
                                       "",
                                       "http://",
                                       "HTTP://a.org/",
                                       "http:///x",
                                       "http://a.org#f",
                                       "http://a.org\\x",
                                       "http://a.org.evil/x",
                                       "ftp://a.org/"};
    enum { N = sizeof urls / sizeof *urls };
    PageDBStore store = {.hash_mask = UINT64_MAX, .seed = 77};
    for (size_t i = 0; i < N; i++) {
        PageOrigin from;
        page_origin_of(urls[i], strlen(urls[i]), &from);
        for (size_t k = 0; k < N; k++) {
            size_t length = strlen(urls[k]);
            PageKey alone = page_key_of(&store, urls[k], length);
            PageLinkKey link = page_key_of_link(&store, urls[k], length, &from);
            PageLinkKey bare = page_key_of_link(&store, urls[k], length, NULL);
            CU_ASSERT_TRUE(link.key.hash == alone.hash && link.key.print == alone.print);
            CU_ASSERT_TRUE(bare.key.hash == alone.hash && bare.key.print == alone.print);
            CU_ASSERT_TRUE(bare.cross && link.length == length && bare.length == length);
            CU_ASSERT_EQUAL(alone.hash, page_key_hash(urls[k], length));
            if (link.cross == (same_domain(urls[i], urls[k]) != 0)) {
                (void)fprintf(stderr, "from '%s' to '%s'\n", urls[i], urls[k]);
                CU_FAIL("same_domain says otherwise");
            }
        }
    }
}

UNIT_MAIN("page_key",
          {"entries keep what they are given, in the order of their keys",
           entries_keep_what_they_are_given_in_the_order_of_their_keys},
          {"a key is found with its fingerprint, or the first without",
           a_key_is_found_with_its_fingerprint_or_the_first_without},
          {"a sweep finds what single looks find", a_sweep_finds_what_single_looks_find},
          {"a link has the key that it has by itself", a_link_has_the_key_that_it_has_by_itself})
