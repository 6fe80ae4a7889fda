/* Dedup index: which payloads other crawls have, by digest.
 *
 * What: the captures of the sources that have a body and a digest of SHA-1, in two
 * files of our own, so that the sources are read once:
 *
 *   DIR/dedup/originals    date, URL and whole digest of each, one behind the other
 *   DIR/dedup/payloads     pages of 4 KiB: the first 8 bytes of digests and the places in originals
 *   DIR/dedup/urls         when that is asked for, the same of URLs that were captured lately: a
 *                          hash and the date
 *   DIR/dedup/sources      path, size and time of the files they were made of; written last
 *
 * All digests are one generation of DRUM, which one merge puts in order: sequential bytes, whatever
 * the memory. Behind that the index never changes, and nothing of it is in memory: digests are
 * spread evenly, so the digest says which page it is in, and a question reads one page of the disk,
 * and one more when the answer is yes, however many digests there are.
 * DRUM's own check would read all keys for each batch of a crawl, which pays with millions of
 * digests a batch and not with hundreds. Of captures of one payload the first counts; of two
 * payloads whose digests begin alike one is stored once more.
 *
 * A word of warc.dedup_against, which names the sources, is one of
 *
 *   FILE          lines of CDXJ, plain or compressed by gzip or Zstandard
 *   FILE.wacz     the same lines in its entries indexes/NAME, which ZIP itself must not compress
 *   DIR           a crawl of ours (the indices in DIR/warc), or a folder with NAME.cdxj files
 *
 * Memory: while it is built, 32 MiB and about 65 bytes for each 1 024th digest, twice that with the
 * URLs; then none. Disk: 52 bytes and the URL for each. CPU time (tests/bench/bench_dedup.c) of 20
 * M and 200 M digests: .60 and .58 us each to build; 29 and 37 us a question when nothing is in the
 * page cache (the kernel's reads), 2.2 and 2.4 when the pages are.
 *
 * Owns: its files; the directory is the crawl's.
 * Threads: find: any.
 * Errors: of opening, error has a sentence.
 * Source: the CDXJ of pywb; WACZ 1.1.1. */
#pragma once

#include "store/warc/warc_head.h"

typedef struct DedupIndex DedupIndex;

/* directory: of the crawl. words: the sources. fresh_ms: for how long a capture is fresh; 0: none
 * is. Builds the index unless it was made of the same files as they are now. RESULT_INVALID: a
 * source is no index, or has no digest of SHA-1. */
Result dedup_index_open(DedupIndex **index, const char *directory, const char *words,
                        int64_t fresh_ms, Buffer *error);
void dedup_index_close(DedupIndex *index);
/* How many payloads it has. */
uint64_t dedup_index_count(const DedupIndex *index);
/* Fills original, whose id is empty: indices do not tell it. RESULT_NOT_FOUND, RESULT_DAMAGED,
 * RESULT_IO, RESULT_MEMORY. */
Result dedup_index_find(DedupIndex *index, const WarcDigest *payload, WarcOriginal *original);

/* Whether a source has a capture of this URL that is fresh: answered with 200, or a revisit record;
 * of several that were fresh when the index was built, the one that was read last counts.
 * RESULT_NOT_FOUND: it has none; RESULT_IO. */
Result dedup_index_fresh(const DedupIndex *index, const char *url, size_t length, WallTime now);
