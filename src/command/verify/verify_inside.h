/* What the parts of `ragno verify` share: verify.c (WARC files and indices), verify_records.c (what
 * is in them), verify_captures.c (which pages must be), verify_unlisted.c, verify_keys.c,
 * verify_links.c, verify_sieve.c, verify_database.c, verify_revisits.c, verify_config.c. */
#ifndef COMMAND_VERIFY_VERIFY_INSIDE_H
#define COMMAND_VERIFY_VERIFY_INSIDE_H

#include "base/memory/map.h"
#include "store/pages/page_db.h"
#include "store/archive/warc_reader.h"
#include "store/schedule/schedule.h"
#include "command/verify/verify.h"

typedef struct Verify {
    const VerifyOptions *options;
    VerifyCounts *counts;
    char *warc_directory;
    PageDB *db;        /* NULL: there is none */
    uint8_t *stored;   /* one bit per page: its answer was, before the committed end was read */
    uint8_t *captured; /* one bit per page: it was found in the files */
    uint64_t n_pages;
    WarcEnd committed; /* empty when the database knows none */
    Map originals;     /* captures of the files that are still open; their index may not be whole */
    Map errands;       /* where robots.txt redirects, by URL: fetched for its sake, page or not */
    Buffer untried;    /* UntriedCapture with its text, one behind the other: judged at the end */
    bool lost_records; /* were found missing: the index of payloads may name some of them */
    Buffer line;
    Buffer url;
} Verify;

#define VERIFY_DATABASE "crawl.mdb"

static inline bool verify_bit(const uint8_t *bits, uint64_t index)
{
    return (bits[index / 8] >> index % 8 & 1) != 0;
}

static inline void verify_set_bit(uint8_t *bits, uint64_t index)
{
    bits[index / 8] |= (uint8_t)(1u << index % 8);
}

/* One line, and one problem more. */
void verify_problem(Verify *verify, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One line, and one repair more. */
void verify_repaired(Verify *verify, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* config.ini is there, whole, and can be read. */
Result verify_config(Verify *verify);

/* The index of an open file may be a piece, after a crash: what is captured in it is remembered. */
Result verify_remember(Verify *verify, const WarcRecord *record);
/* A request or metadata record belongs to the capture before it. */
void verify_companion(Verify *verify, const char *file, const WarcRecord *record,
                      const WarcId *capture);
/* A capture: the original of a revisit is stored, its page is known and was tried. */
Result verify_capture(Verify *verify, const char *file, const WarcRecord *record);
/* A robots.txt, or what one redirects to: fetched for its own sake, whether or not it is a page. */
bool verify_is_errand(const Verify *verify, WarcBytes uri);
/* After the last file: captures of known pages that were never tried, but for what robots.txt
 * redirects to. */
Result verify_untried(Verify *verify);

/* Looks whether the file of DIR/crawl.mdb is whole, if there is one, opens it, has its keys checked
 * (verify_keys), notes whose answers are stored, and then reads the committed end: so whatever a
 * running crawl adds meanwhile is not missed in the files. RESULT_DAMAGED, RESULT_VERSION: told. */
Result verify_open_database(Verify *verify);
/* Every page is found by its URL and every host by its name, and nothing else is; repair completes
 * both tables (store/check/page_keys_check.h). */
Result verify_keys(Verify *verify);
/* Pages whose answers were stored and are in no WARC file; with options->refetch they are
 * scheduled again. */
Result verify_captures(Verify *verify);
/* The other way round: pages whose answers are in the files, and not in the index of captures;
 * repair enters them. */
Result verify_unlisted(Verify *verify, MDB_txn *txn);
/* PageDB inside, the schedule against it, the host records against it; repairs the last two. */
Result verify_database(Verify *verify);
/* The next visits of schedule.mode = continuous; repairs by emptying them, so that the next crawl
 * enters all pages. */
Result verify_revisits(Verify *verify, MDB_txn *txn);
/* The page's next visit is unconditional. */
Result verify_forget_validators(MDB_txn *txn, uint64_t index);
/* Puts the committed end back to what is left of a file that was cut. */
Result verify_set_end(Verify *verify);

/* Every page that was crawled has a list of links that can be read, or its links wait in the sieve,
 * or it is fetched again. Repair takes out what cannot be read, and makes what is lost from the
 * stored answers; where there is none the page is fetched again. */
Result verify_links(Verify *verify);
/* The sieve's bucket files can be read; sets the bits of the pages whose links are all in them. */
Result verify_sieve(Verify *verify, MDB_txn *txn, uint8_t *waiting, uint64_t n_pages);
/* Puts a page into the schedule once more; inside a transaction. */
Result verify_schedule_again(Verify *verify, MDB_txn *txn, Schedule *schedule, uint64_t index);

#endif
