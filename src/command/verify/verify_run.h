/* One run of `ragno verify`: what its parts (verify_parts.h) work on, and how they tell what they
 * found.
 *
 * What: a problem is one line, and one problem more; a repair is one line, and one repair more.
 * Owns: verify_directory makes and frees everything in it.
 * Threads: main. */
#ifndef COMMAND_VERIFY_VERIFY_RUN_H
#define COMMAND_VERIFY_VERIFY_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/result.h"
#include "base/memory/map.h"
#include "store/archive/warc.h"
#include "store/archive/warc_end.h"
#include "store/pages/page_db.h"

/* Verify, its options and its result.
 *
 * What: the types that its parts share; verify.h has the functions.
 * Owns: what each comment says.
 * Threads: as verify.h says. */

typedef struct VerifyOptions {
    const char *directory;    /* of the crawl */
    bool repair;              /* takes the lock of the directory, as a crawl does */
    bool refetch;             /* repair, and schedule pages again whose captures are lost */
    FILE *out;                /* one line per file, per problem, and the sums */
    const char *const *moved; /* WARC files that were moved away, by name or where they are now */
    size_t n_moved;
} VerifyOptions;

typedef struct VerifyCounts {
    uint64_t files;
    uint64_t records;
    uint64_t captures;
    uint64_t revisits;
    uint64_t pages;     /* crawled ones in PageDB */
    uint64_t strangers; /* captures of no page: robots.txt and what it redirects to, DNS */
    uint64_t problems;
    uint64_t repaired; /* what was written anew; problems it mended are counted as such */
} VerifyCounts;

typedef struct Verify {
    const VerifyOptions *options;
    VerifyCounts *counts;
    char *warc_directory;
    bool beside;       /* a crawl had the directory when the database was opened */
    PageDB *db;        /* NULL: there is none */
    uint8_t *stored;   /* one bit per page: its answer was, before the committed end was read */
    uint8_t *captured; /* one bit per page: it was found in the files */
    uint8_t *told;     /* one bit per page: it was told as lost, with its file */
    uint64_t n_pages;
    Buffer moved;   /* names of files that were moved away, each with its NUL */
    Map declared;   /* the same, by verify_moved_key */
    Buffer missing; /* numbers of files that have left no index: "2, 5, ..." */
    uint32_t n_missing;
    bool is_folder_missing; /* DIR/warc, and there were files */
    WarcEnd committed;      /* empty when the database knows none */
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
/* One line about one page of what is missing; the problem is told apart. */
void verify_lost(Verify *verify, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One line, and one repair more. */
void verify_repaired(Verify *verify, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
