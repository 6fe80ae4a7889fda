/* One run of `ragno verify`: what its parts (verify_run.h) work on, and how they tell what they
 * found.
 *
 * What: a problem is one line, and one problem more; a repair is one line, and one repair more.
 * Owns: verify_directory makes and frees everything in it.
 * Threads: main. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/memory/map.h"
#include "store/archive/warc.h"
#include "store/archive/warc_files.h"
#include "store/pages/page_db.h"
#include "store/archive/warc_reader.h"
#include "store/schedule/schedule.h"

/* Verify, its options and its result.
 *
 * What: the types that its parts share; verify.h has the functions.
 * Owns: what each comment says.
 * Threads: as verify.h says. */

typedef struct VerifyOptions {
    const char *directory; /* of the crawl */
    bool repair;           /* takes the lock of the directory, as a crawl does */
    bool refetch;          /* repair, and schedule pages again whose captures are lost */
    const char *absent;    /* a name that must stand nowhere any more; NULL: none */
    FILE *out;             /* one line per file, per problem, and the sums */
} VerifyOptions;

typedef struct VerifyCounts {
    uint64_t files;
    uint64_t records;
    uint64_t captures;
    uint64_t revisits;
    uint64_t elsewhere; /* of these: to records of other crawls (warc.dedup_against) */
    uint64_t pages;     /* crawled ones in PageDB */
    uint64_t strangers; /* captures of no page: robots.txt and what it redirects to, DNS */
    uint64_t problems;
    uint64_t repaired; /* what was written anew; problems it mended are counted as such */
} VerifyCounts;

typedef struct Verify {
    const VerifyOptions *options;
    VerifyCounts *counts;
    const char *warc_directory;
    const char *scratch; /* where files of its own are: the same, or another when nothing may be
                            written there */
    bool beside;         /* a crawl had the directory when the database was opened */
    PageDB *db;          /* NULL: there is none */
    uint8_t *stored;     /* one bit per page: its answer was, before the committed end was read */
    uint8_t *captured;   /* one bit per page: it was found in the files */
    uint8_t *told;       /* one bit per page: it was told as lost, with its file */
    uint64_t n_pages;
    Buffer moved;           /* names of files that were moved away, each with its NUL */
    bool is_folder_missing; /* DIR/warc, and there were files */
    WarcEnd committed;      /* empty when the database knows none */
    Map originals;     /* captures of the files that are still open; their index may not be whole */
    Map errands;       /* where robots.txt redirects, by URL: fetched for its sake, page or not */
    bool lost_records; /* were found missing: the index of payloads may name some of them */
    Buffer line;
    Buffer url;
} Verify;

#define VERIFY_DATABASE "crawl.mdb"

/* One bit for each of n pages or hosts; NULL without memory. */
static inline uint8_t *verify_bits(uint64_t n)
{
    return calloc(n / 8 + 1, 1);
}

/* Begins a transaction. RESULT_IO. */
Result verify_begin(const Verify *verify, bool writes, MDB_txn **txn);
/* Ends it: what was written counts if rc is RESULT_OK. rc, or RESULT_FULL. */
Result verify_end(const Verify *verify, bool writes, MDB_txn *txn, Result rc);

/* One line: a problem more; one page of what is missing, whose problem is told apart; a repair
 * more.
 */
typedef enum VerifyKind { VERIFY_PROBLEM, VERIFY_LOST, VERIFY_REPAIRED } VerifyKind;
void verify_tell(Verify *verify, VerifyKind kind, const char *file, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define verify_problem(verify, file, ...)  verify_tell(verify, VERIFY_PROBLEM, file, __VA_ARGS__)
#define verify_lost(verify, file, ...)     verify_tell(verify, VERIFY_LOST, file, __VA_ARGS__)
#define verify_repaired(verify, file, ...) verify_tell(verify, VERIFY_REPAIRED, file, __VA_ARGS__)

/* The parts of `ragno verify`, one call each, in the order in which verify_directory makes them.
 *
 * What: each part looks at one thing, tells what is wrong with it (verify_problem) and, with
 * options->repair, mends it (verify_repaired). A file of the same name holds each.
 * Threads: main.
 * Errors: RESULT_OK when everything could be looked at, whatever was found. */

/* Every file in DIR/warc, record by record, and its index; with options->repair, what follows the
 * last whole record of a broken file is moved aside, and indices are written anew. */
Result verify_files(Verify *verify);
/* Reads DIR/moved.txt into verify->moved. */
Result verify_moved(Verify *verify);
/* The index of an open file may be a piece, after a crash: what is captured in it is remembered. */
Result verify_remember(Verify *verify, const WarcRecord *record);
/* A request or metadata record belongs to the capture before it. */
void verify_companion(Verify *verify, const char *file, const WarcRecord *record,
                      const WarcId *capture);
/* A capture: the original of a revisit is stored; its page has an answer in the files. */
Result verify_capture(Verify *verify, const char *file, const WarcRecord *record);
/* options->absent is in these bytes; one problem more. */
void verify_absent(Verify *verify, const char *file, const char *where, WarcBytes bytes);
/* Looks for it in each byte of each file below the directory. */
Result verify_absent_files(Verify *verify);
/* A robots.txt, or what one redirects to: fetched for its own sake, whether or not it is a page. */
bool verify_is_errand(const Verify *verify, WarcBytes uri);
/* Every host is found by its name, and there are as many URLs as pages. */
Result verify_keys(Verify *verify);
/* Pages whose answers were stored and are in no WARC file; with options->refetch they are
 * scheduled again. */
Result verify_captures(Verify *verify);
/* PageDB inside, the schedule against it, the host records against it; repairs the last two. */
Result verify_database(Verify *verify);
/* The page's next visit is unconditional. */
Result verify_forget_validators(MDB_txn *txn, uint64_t index);

/* Every page that was crawled has a list of links that can be read, or its links wait in the sieve,
 * or it is fetched again. Repair takes out what cannot be read, and has pages fetched again whose
 * lists are lost. */
Result verify_links(Verify *verify);
/* Puts a page into the schedule once more; inside a transaction. */
Result verify_schedule_again(Verify *verify, MDB_txn *txn, Schedule *schedule, uint64_t index);
