/* Lists of links whose bytes were changed: found, taken out, written anew. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dice.h"
#include "store/pages/page_db.h"
#include "store/check/page_links_check.h"

#define PAGES     200u
#define MAX_LINKS 40u
#define URL_BYTES 48u

typedef struct World {
    char directory[64];
    PageDB *db;
    MDB_txn *txn;
    MDB_dbi links;
    char urls[PAGES][URL_BYTES];
    unsigned to[PAGES][MAX_LINKS]; /* pages */
    unsigned n_links[PAGES];
    uint8_t crawled[PAGES / 8 + 1];
    uint8_t listed[PAGES / 8 + 1];
    PageLinksCheck check;
} World;

static void make_page(World *world, unsigned i, LinkInfo *links, uint8_t *kinds)
{
    for (unsigned k = 0; k < world->n_links[i]; k++) {
        links[k] = (LinkInfo){.url = world->urls[world->to[i][k]], .score = 1.0F};
        kinds[k] = (uint8_t)(i % 3 == 0 ? k % 4 : 0);
    }
}

/* Writes a page for the first time, or its list alone. */
static void write_page(World *world, unsigned i, bool again)
{
    LinkInfo infos[MAX_LINKS];
    uint8_t kinds[MAX_LINKS];
    make_page(world, i, infos, kinds);
    PageLinks links = {.link_info = infos, .n_links = world->n_links[i]};
    CrawledPage page = {.url = world->urls[i], .links = &links, .time = 7.0};
    PageWrite write = {.page = &page, .link_kinds = kinds, .status = 200};
    CU_ASSERT_EQUAL_FATAL(again ? page_db_relink(world->db, world->txn, &write, NULL)
                                : page_db_write(world->db, world->txn, &write, 1, NULL),
                          page_db_error_ok);
}

static World *world_new(void)
{
    World *world = calloc(1, sizeof *world);
    Dice dice = {.state = 5};
    CU_ASSERT_PTR_NOT_NULL_FATAL(world);
    folder_make(world->directory);
    PageDBOptions options = {.map_bytes = (size_t)64 << 20, .no_sync = true};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&world->db, world->directory, &options), 0);
    page_db_set_persist(world->db, 0);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(world->db, false, &world->txn), 0);
    for (unsigned i = 0; i < PAGES; i++) {
        (void)snprintf(world->urls[i], URL_BYTES, "http://h%u.example.org/%u", i % 7, i);
        world->n_links[i] = (unsigned)dice_below(&dice, MAX_LINKS + 1);
        for (unsigned k = 0; k < world->n_links[i]; k++) {
            world->to[i][k] = (unsigned)dice_below(&dice, PAGES);
        }
    }
    for (unsigned i = 0; i < PAGES; i++) {
        write_page(world, i, false);
    }
    CU_ASSERT_EQUAL_FATAL(page_db_n_pages(world->db, world->txn), PAGES);
    memset(world->crawled, 0xff, sizeof world->crawled);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(world->txn, "links", 0, &world->links), 0);
    return world;
}

static void world_delete(World *world)
{
    page_db_txn_abort(world->db, world->txn);
    CU_ASSERT_EQUAL(page_db_delete(world->db), 0);
    folder_remove(world->directory);
    free(world);
}

/* Pages without a sound list. */
static unsigned look(World *world, bool mend)
{
    unsigned n = 0;
    memset(world->listed, 0, sizeof world->listed);
    world->check =
        (PageLinksCheck){.crawled = world->crawled, .n_pages = PAGES, .listed = world->listed};
    CU_ASSERT_EQUAL(page_links_check(world->db, world->txn, &world->check, mend), RESULT_OK);
    for (unsigned i = 0; i < PAGES; i++) {
        n += (world->listed[i / 8] >> i % 8 & 1) == 0;
    }
    return n;
}

/* The list of a page is that of the model; equal links may stand in any order. */
static bool is_as_written(World *world, unsigned i)
{
    uint64_t *to = NULL;
    uint64_t index = 0;
    size_t n = 0, n_diff = 0;
    long sum[2] = {0, 0};
    int rc = page_db_find(world->db, world->txn, world->urls[i], strlen(world->urls[i]), &index);
    if (rc == 0) {
        rc = page_db_get_links(world->db, world->txn, index, &to, &n, &n_diff);
    }
    for (size_t k = 0; rc == 0 && k < n; k++) {
        sum[0] += (long)(to[k] * to[k]);
    }
    for (unsigned k = 0; rc == 0 && k < world->n_links[i]; k++) {
        const char *url = world->urls[world->to[i][k]];
        CU_ASSERT_EQUAL(page_db_find(world->db, world->txn, url, strlen(url), &index), 0);
        sum[1] += (long)(index * index);
    }
    free(to);
    return rc == 0 && n == world->n_links[i] && sum[0] == sum[1];
}

static void sound_lists_are_left_alone(void)
{
    World *world = world_new();
    CU_ASSERT_EQUAL(look(world, false), 0);
    CU_ASSERT_EQUAL(look(world, true), 0);
    CU_ASSERT_EQUAL(world->check.n_broken, 0);
    for (unsigned i = 0; i < PAGES; i++) {
        CU_ASSERT(is_as_written(world, i));
    }
    world_delete(world);
}

/* Changes a record: some bytes, or its end is gone, or all of it. */
static void damage(World *world, Dice *dice)
{
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    uint8_t bytes[4096];
    CU_ASSERT_EQUAL_FATAL(mdb_cursor_open(world->txn, world->links, &cursor), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
    for (uint64_t skip = dice_below(dice, 6); skip > 0; skip--) {
        if (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) != 0) {
            break;
        }
    }
    CU_ASSERT_FATAL(value.mv_size <= sizeof bytes && value.mv_size > 0);
    memcpy(bytes, value.mv_data, value.mv_size);
    size_t length = value.mv_size;
    switch (dice_below(dice, 4)) {
    case 0:
        length = 1 + (size_t)dice_below(dice, length);
        break;
    case 1:
        memset(bytes, 0xff, length);
        break;
    default:
        bytes[dice_below(dice, length)] ^= (uint8_t)(1 + dice_below(dice, 255));
        break;
    }
    uint64_t first = 0;
    memcpy(&first, key.mv_data, sizeof first);
    key = (MDB_val){sizeof first, &first};
    value = (MDB_val){length, bytes};
    CU_ASSERT_EQUAL(mdb_cursor_put(cursor, &key, &value, 0), 0);
    mdb_cursor_close(cursor);
}

/* What is found is taken out and written again; then nothing is found, and what was written is as
 * it was. */
static void damaged_lists_are_written_anew(void)
{
    Dice dice = {.state = 11};
    unsigned n_lost = 0;
    World *world = world_new();
    for (unsigned round = 0; round < 400; round++) {
        damage(world, &dice);
        unsigned before = look(world, false);
        unsigned lost = look(world, true);
        CU_ASSERT_EQUAL(lost, before);
        uint8_t listed[sizeof world->listed];
        memcpy(listed, world->listed, sizeof listed);
        CU_ASSERT_EQUAL(look(world, false), lost);
        CU_ASSERT_EQUAL(world->check.n_broken, 0);
        for (unsigned i = 0; i < PAGES; i++) {
            uint64_t index = 0;
            CU_ASSERT_EQUAL(
                page_db_find(world->db, world->txn, world->urls[i], strlen(world->urls[i]), &index),
                0);
            if ((listed[index / 8] >> index % 8 & 1) == 0) {
                write_page(world, i, true);
                CU_ASSERT(is_as_written(world, i));
            }
        }
        CU_ASSERT_EQUAL(look(world, false), 0);
        for (unsigned i = 0; i < PAGES; i++) { /* what no check can see */
            if (!is_as_written(world, i)) {
                write_page(world, i, true);
            }
        }
        n_lost += lost;
    }
    CU_ASSERT(n_lost > 2000);
    world_delete(world);
}

static void a_page_without_a_crawl_gets_no_list(void)
{
    World *world = world_new();
    PageLinks links = {.n_links = 0};
    CrawledPage page = {.url = (char *)(uintptr_t) "http://example.org/unknown", .links = &links};
    PageWrite write = {.page = &page};
    CU_ASSERT_EQUAL(page_db_relink(world->db, world->txn, &write, NULL), page_db_error_no_page);
    LinkInfo seed = {.url = page.url, .score = 1.0F};
    CU_ASSERT_EQUAL(
        page_db_discover(world->db, world->txn, &seed, NULL, 1, PAGE_DB_NO_INDEX, 0, NULL), 0);
    CU_ASSERT_EQUAL(page_db_relink(world->db, world->txn, &write, NULL), page_db_error_no_page);
    world_delete(world);
}

UNIT_MAIN("page_links_check", {"sound lists are left alone", sound_lists_are_left_alone},
          {"damaged lists are written anew", damaged_lists_are_written_anew},
          {"a page without a crawl gets no list", a_page_without_a_crawl_gets_no_list})
