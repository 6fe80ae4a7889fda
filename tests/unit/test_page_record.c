/* The bytes of a page: what is written is read back, and what nobody has written is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "store/format/page_record.h"
#include "store/records/page_ref.h"
#include "unit.h"

#define SEED   20261128u
#define ROUNDS 20000u
#define PATHS  40u

/* Numbers of all sizes, the ends among them. */
static uint64_t draw_number(Dice *dice)
{
    uint64_t n = dice_next(dice) >> dice_below(dice, 64);
    return dice_below(dice, 10) == 0 ? UINT64_MAX - dice_below(dice, 2) : n;
}

static PageRecord draw_record(Dice *dice, uint64_t index, uint32_t domain)
{
    PageRecord record = {.hop =
                             (uint8_t)(dice_below(dice, 4) == 0 ? 0 : 'A' + dice_below(dice, 26)),
                         .crawled = dice_below(dice, 2) == 0,
                         .userinfo = dice_below(dice, 2) == 0,
                         .flags = (uint8_t)dice_next(dice),
                         .level = (uint8_t)dice_next(dice),
                         .tries = (uint8_t)dice_next(dice),
                         .status = (int32_t)dice_below(dice, 65536) - 32768,
                         .score = (float)dice_below(dice, 1000) / 7,
                         .host = (uint32_t)draw_number(dice),
                         .depth = draw_number(dice),
                         .linked_from = PAGE_DB_NO_INDEX};
    uint64_t from = draw_number(dice);
    if (dice_below(dice, 3) > 0 && from != index && from != PAGE_DB_NO_INDEX) {
        record.linked_from = from;
        record.linked_hash = dice_below(dice, 2) == 0
                                 ? (uint64_t)domain << 32 | (uint32_t)dice_next(dice)
                                 : dice_next(dice);
    }
    return record;
}

static bool are_same(const PageRecord *a, const PageRecord *b)
{
    return a->hop == b->hop && a->crawled == b->crawled && a->userinfo == b->userinfo &&
           a->flags == b->flags && a->level == b->level && a->tries == b->tries &&
           a->status == b->status && a->score == b->score && a->host == b->host &&
           a->depth == b->depth && a->linked_from == b->linked_from &&
           a->linked_hash == b->linked_hash;
}

/* A copy of exactly so many bytes, so that a read behind them is seen. */
static bool read_copy(const uint8_t *bytes, size_t length, uint64_t index, uint32_t domain,
                      PageRecord *record, size_t *used)
{
    uint8_t *copy = malloc(length + (length == 0));
    memcpy(copy, bytes, length);
    bool is_one = page_record_read(copy, length, index, domain, record);
    PageCrawl crawl;
    *used = is_one ? record->head_length + record->crawl_length + record->path_length : 0;
    if (is_one && record->crawl != NULL) {
        (void)page_crawl_read(record->crawl, record->crawl_length, &crawl);
    }
    free(copy);
    return is_one;
}

static void a_record_is_read_as_it_was_written(void)
{
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t index = dice_next(&dice) >> 17;
        uint32_t domain = (uint32_t)dice_next(&dice);
        PageRecord record = draw_record(&dice, index, domain);
        PageRecord read;
        Buffer bytes = {.limit = BUFFER_NO_LIMIT};
        uint8_t head[PAGE_RECORD_MAX_BYTES];
        size_t n = page_record_write(&record, index, domain, head);
        PageCrawl crawl = {.n_crawls = 1 + draw_number(&dice) / 2,
                           .first_crawl = 1.6e9,
                           .last_crawl = 1.7e9,
                           .n_changes = draw_number(&dice),
                           .hash = "hashhash",
                           .hash_length = dice_below(&dice, 9)};
        (void)buffer_append(&bytes, head, n);
        CU_ASSERT_TRUE(!record.crawled || page_crawl_append(&crawl, &bytes) == RESULT_OK);
        (void)buffer_append(&bytes, "/path", 5);
        size_t used = 0;
        bool is_one = page_record_read(bytes.data, bytes.length, index, domain, &read);
        if (!is_one || !are_same(&record, &read)) {
            (void)fprintf(stderr, "seed %u round %u\n", SEED, round);
            CU_FAIL("another record");
        }
        CU_ASSERT_TRUE(is_one && read.head_length == n && read.path_length == 5 &&
                       memcmp(read.path, "/path", 5) == 0);
        CU_ASSERT_EQUAL(page_record_score(bytes.data), record.score);
        if (record.crawled) {
            PageCrawl again;
            CU_ASSERT_TRUE_FATAL(page_crawl_read(read.crawl, read.crawl_length, &again));
            bool is_first = crawl.n_crawls == 1;
            CU_ASSERT_TRUE(again.n_crawls == crawl.n_crawls && again.first_crawl == 1.6e9 &&
                           again.last_crawl == (is_first ? 1.6e9 : 1.7e9) &&
                           again.n_changes == (is_first ? 0 : crawl.n_changes) &&
                           again.hash_length == crawl.hash_length &&
                           memcmp(again.hash, "hashhash", again.hash_length) == 0);
        }
        /* Cut anywhere, and with a byte changed, nothing is read that is not there. */
        size_t cut = dice_below(&dice, bytes.length);
        (void)read_copy((uint8_t *)bytes.data, cut, index, domain, &read, &used);
        CU_ASSERT_TRUE(used <= cut);
        bytes.data[dice_below(&dice, bytes.length)] = (char)dice_next(&dice);
        (void)read_copy((uint8_t *)bytes.data, bytes.length, index, domain, &read, &used);
        CU_ASSERT_TRUE(used <= bytes.length);
        buffer_destroy(&bytes);
    }
}

static void the_state_changes_in_place(void)
{
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS / 10; round++) {
        uint8_t bytes[PAGE_RECORD_MAX_BYTES];
        PageRecord record = draw_record(&dice, 7, 9);
        PageRecord read;
        size_t n = page_record_write(&record, 7, 9, bytes);
        record.crawled = false;
        record.status = (int32_t)dice_below(&dice, 200000) - 100000;
        record.level ^= 1;
        page_record_write_head(&record, bytes);
        record.status = record.status > INT16_MAX ? INT16_MAX : record.status;
        record.status = record.status < INT16_MIN ? INT16_MIN : record.status;
        CU_ASSERT_TRUE(page_record_read(bytes, n, 7, 9, &read) && are_same(&record, &read));
    }
}

static void a_url_is_taken_apart_and_put_together(void)
{
    static const char *const urls[] = {"http://a.org/x?y",
                                       "https://a.org:81/",
                                       "http://u:p@a.org/x",
                                       "https://u@a.org?q",
                                       "http://u@v@a.org/x",
                                       "http://a.org/x@y",
                                       "http://a.org",
                                       "https://@a.org/@",
                                       "_seed_1",
                                       "ftp://u@a.org/",
                                       "",
                                       "http://[::1]:8/x",
                                       "http://u@[::1]/x",
                                       "http://a.org\\u@b.org/x",
                                       "http://a.org#x@y"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        PageUrl parts;
        Buffer origin = {.limit = 1000};
        Buffer path = {.limit = 1000};
        char whole[PATHS + 1];
        page_url_split(urls[i], strlen(urls[i]), &parts);
        (void)buffer_append(&origin, parts.scheme, parts.scheme_length);
        (void)buffer_append(&origin, parts.authority, parts.authority_length);
        (void)buffer_append(&path, parts.userinfo, parts.userinfo_length);
        (void)buffer_append(&path, parts.path, parts.path_length);
        CU_ASSERT_PTR_NULL(strchr(buffer_string(&origin), '@'));
        PageRecord record = {.userinfo = parts.userinfo_length > 0,
                             .path = buffer_string(&path),
                             .path_length = path.length};
        CU_ASSERT_EQUAL_FATAL(page_url_length(origin.length, &record), strlen(urls[i]));
        page_url_join(buffer_string(&origin), origin.length, &record, whole);
        CU_ASSERT_STRING_EQUAL(whole, urls[i]);
        buffer_destroy(&origin);
        buffer_destroy(&path);
    }
}

UNIT_MAIN("page_record", {"a record is read as it was written", a_record_is_read_as_it_was_written},
          {"the state changes in place", the_state_changes_in_place},
          {"a URL is taken apart and put together", a_url_is_taken_apart_and_put_together})
