/* Verify, its options and its result.
 *
 * What: the types that its parts share; verify.h has the functions.
 * Owns: what each comment says.
 * Threads: as verify.h says. */
#ifndef COMMAND_VERIFY_VERIFY_TYPES_H
#define COMMAND_VERIFY_VERIFY_TYPES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/result.h"
#include "store/archive/warc.h"

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

#endif
