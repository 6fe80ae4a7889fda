/* The bytes of a page in idx2info.
 *
 * What: a record is
 *
 *   ten bytes of state that change in place: hop and marks, flags, level, tries, status (16 bits),
 *   score (32 bits);
 *   varints: host number, depth, and where the page was linked from, relative to its own index;
 *   the hash of that page: 32 bits when it is of the same domain, else 64;
 *   of a page that was crawled: how many bytes follow about that, as a varint; n_crawls and
 *   first_crawl; from the second crawl on also last_crawl and n_changes; then the content hash;
 *   the URL without its origin, to the end of the record. Userinfo, which is not part of an origin,
 *   stands in front of the path and is marked.
 *
 * Numbers are little-endian. The crawls stand with the rest of the page, since the result of a page
 * changes its state anyway: in a table of their own they were one more page of the tree to write
 * for nearly every result of a large crawl.
 *
 * Threads: pure functions. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"
#include "base/core/varint.h"

#define PAGE_RECORD_HEAD_BYTES 10
#define PAGE_RECORD_MAX_BYTES                                                                      \
    (PAGE_RECORD_HEAD_BYTES + 3 * MAX_VARINT_SIZE + 8)  /* plus the path                           \
                                                         */
#define PAGE_CRAWL_MAX_BYTES (2 * MAX_VARINT_SIZE + 16) /* plus the hash */

typedef struct PageRecord {
    uint8_t hop; /* capital letter or 0 */
    bool crawled;
    bool userinfo; /* path begins with "user@" */
    uint8_t flags;
    uint8_t level;
    uint8_t tries;
    int32_t status;
    float score;
    uint32_t host;
    uint64_t depth;
    uint64_t linked_from; /* PAGE_DB_NO_INDEX = none */
    uint64_t linked_hash; /* page hash of it; 0 = none */
    size_t head_length;   /* of what is before the crawls */
    const uint8_t *crawl; /* all crawls, for page_crawl_read; NULL: none */
    size_t crawl_length;
    const char *path;
    size_t path_length;
} PageRecord;

/* false: the bytes are not a record. crawl and path point into bytes. domain: of the page itself,
 * the upper half of its hash; without it (0) linked_hash is not to be trusted. */
bool page_record_read(const void *bytes, size_t length, uint64_t index, uint32_t domain,
                      PageRecord *record);
/* Writes what is before the crawls to out (PAGE_RECORD_MAX_BYTES); returns how many bytes. */
size_t page_record_write(const PageRecord *record, uint64_t index, uint32_t domain, uint8_t *out);
/* Overwrites the state of a record, in a copy of it. */
void page_record_write_head(const PageRecord *record, uint8_t *out);
/* The score alone. */
float page_record_score(const void *bytes);

/* A URL as origin and path. The origin is "http://" and authority without userinfo; it is split in
 * two pieces when there is userinfo in between. */
typedef struct PageUrl {
    const char *scheme; /* "http://" or "https://", or anything of length 0 */
    size_t scheme_length;
    const char *authority; /* host and port */
    size_t authority_length;
    const char *userinfo; /* with "@" */
    size_t userinfo_length;
    const char *path;
    size_t path_length;
} PageUrl;

void page_url_split(const char *url, size_t length, PageUrl *parts);
/* Bytes of the URL of a record; and the URL itself, NUL-terminated, to out. */
size_t page_url_length(size_t origin_length, const PageRecord *record);
void page_url_join(const char *origin, size_t origin_length, const PageRecord *record, char *out);

typedef struct PageCrawl {
    uint64_t n_crawls; /* at least 1 in a record */
    double first_crawl;
    double last_crawl;
    uint64_t n_changes;
    const char *hash;
    size_t hash_length;
} PageCrawl;

/* false: the bytes are not the crawls of a page. hash points into bytes. */
bool page_crawl_read(const void *bytes, size_t length, PageCrawl *crawl);
/* Writes everything but the hash to out (PAGE_CRAWL_MAX_BYTES); returns how many bytes. */
size_t page_crawl_write(const PageCrawl *crawl, uint8_t *out);
/* Appends crawls as they stand in a record. RESULT_MEMORY. */
Result page_crawl_append(const PageCrawl *crawl, Buffer *record);
