/* `ragno verify DIR`: do the WARC files, their indices and PageDB agree?
 *
 * Reads every record of every file in DIR/warc strictly (store/warc_reader.h), recomputes its
 * digests, derives the index from it and compares it line by line with the one beside the file;
 * finds the original of every revisit; looks up the page of every capture in PageDB, and then every
 * crawled page that had none. No file may end before the end that the database has committed.
 *
 * Nothing is changed but by --repair, which writes indices anew from their WARC files. May run
 * beside a crawl: what is behind the last whole record of a file that is still being written is no
 * problem. Memory: one bit per page, and the sorter's. */
#ifndef VERIFY_H
#define VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/result.h"
#include "store/warc.h"

typedef struct VerifyOptions {
    const char *directory; /* of the crawl */
    bool repair;
    FILE *out; /* one line per file, per problem, and the sums */
} VerifyOptions;

typedef struct VerifyCounts {
    uint64_t files;
    uint64_t records;
    uint64_t captures;
    uint64_t revisits;
    uint64_t pages;     /* crawled ones in PageDB */
    uint64_t strangers; /* captures of no page: robots.txt and what it redirects to, DNS */
    uint64_t problems;
    uint64_t repaired; /* indices written anew; they count as problems too */
} VerifyCounts;

/* RESULT_OK when everything could be looked at, whatever was found. */
Result verify_directory(const VerifyOptions *options, VerifyCounts *counts);

/* `ragno verify DIR [--repair]`: exit status 0 no problem, 1 problems, 2 usage, 3 cannot be read.
 */
int verify_main(int argc, char **argv);

#endif
