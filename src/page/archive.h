/* Archive: every answer that a fetch got, in WARC files under DIR/warc.
 *
 *   parsing thread: archive_record (digests, compression)  -->  ParsedPage.group
 *   ingest thread:  archive_append ... archive_prepare(txn) --> commit --> archive_committed
 *
 * What: the end of what is committed travels in the transaction that refers to it. At the start
 * everything behind that end is cut off.
 *
 * Owns: the WARC files and their index. A group is its holder's (archive_group_delete).
 * Threads: the Archive is the ingest thread's; each parsing thread has an ArchiveRecorder.
 * Invariant: WARC files and database never disagree. */
#pragma once

#include <lmdb.h>

#include "fetch/transfer/fetch_result.h"
#include "rules/config.h"
#include "store/archive/warc.h"
#include "store/pages/page_db.h"

/* Discovery: how a page was found.
 *
 * What: the letters from the seed to the page, and the page that linked to it, as crawl.log and the
 * archive's metadata records tell them. For example "LLR" is a redirect of a link of a link of a
 * seed.
 * Threads: any, with a read transaction.
 * Source: Heritrix's discovery path. */

#define DISCOVERY_STEPS 1024

/* Steps that were taken: the paths of many pages meet on their way to few seeds. Zeroed, it is
 * empty; it holds while the transaction writes nothing. */
typedef struct DiscoverySteps {
    struct {
        uint64_t page; /* its index, plus one; 0 = none */
        uint64_t linked_from;
        uint8_t hop;
    } of[DISCOVERY_STEPS];
} DiscoverySteps;

/* *seed (may be NULL): the index of the seed at the start, or PAGE_DB_NO_INDEX when the path is
 * longer than what is followed. Appends the letters (at most 64, the last of the path; nothing for
 * PAGE_DB_NO_INDEX); the URL of the linking page replaces what is in referrer (a seed has none).
 * What cannot be read is left out. steps: NULL for one page alone. */
void discovery_find(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *path, Buffer *referrer,
                    uint64_t *seed, DiscoverySteps *steps);

typedef struct Archive Archive;
typedef struct ArchiveRecorder ArchiveRecorder;

/* Opens the files, in the warc folder of the crawl's directory, and the tables; recovers from a
 * crash. config: its section [warc], and who crawls; not used after the call. RESULT_DAMAGED: error
 * says what is missing. */
Result archive_open(Archive **archive, const char *directory, const Config *config,
                    const char *user_agent, PageDB *db, Buffer *error);
/* Whether another crawl that was named has a fresh capture of a URL.
 * Threads: any. */
bool archive_is_fresh_elsewhere(const Archive *archive, const char *url, size_t length);
/* Finishes the current file. No recorder may be left. */
Result archive_close(Archive *archive);

Result archive_recorder_new(ArchiveRecorder **recorder, Archive *archive);
void archive_recorder_delete(ArchiveRecorder *recorder);
/* The records of a fetch with an answer, as a new group; NULL when it cannot be stored (logged). A
 * 304 that answers a condition becomes a revisit record that refers to the payload it confirms. */
WarcGroup *archive_record(ArchiveRecorder *recorder, const FetchResult *fetch);
/* The record of a DNS answer (FETCHED_DNS), as a new group; NULL when it cannot be stored (logged).
 */
WarcGroup *archive_record_dns(ArchiveRecorder *recorder, const FetchResult *fetch);
/* The records of what a browser made of a page (FETCHED_RENDERED): the document as a conversion,
 * how it was made, and what was found in it (NULL: nothing); NULL when it cannot be stored
 * (logged).
 */
WarcGroup *archive_record_rendered(ArchiveRecorder *recorder, const FetchResult *fetch,
                                   const Page *found);
/* The record of a picture of it; NULL: there is none, or it cannot be stored. */
WarcGroup *archive_record_picture(ArchiveRecorder *recorder, const FetchResult *fetch);
/* Whether pages get a metadata record. */
bool archive_wants_metadata(const Archive *archive);
/* Adds a metadata record to the group of a page: how it was found, and of an HTML page its
 * encoding, digests and links. found may be NULL; more are links that are in no document, of
 * headers and sitemaps. Without memory for it the group stays as it is (logged). */
void archive_describe(ArchiveRecorder *recorder, WarcGroup *group, const FetchResult *fetch,
                      const Page *found, const PageLink *const *more, size_t n_more);
void archive_group_delete(WarcGroup *group);

/* Appends the records of a group to the files, and frees them; a group without (any more) is left
 * alone, and NULL. It may be done before the batch of its page is whole: what stands behind the
 * committed end is no part of the crawl. RESULT_FULL, RESULT_IO: it was not taken. */
Result archive_append(Archive *archive, WarcGroup *group);
/* Enters what an appended group holds into the tables, in the transaction of its batch: the digest
 * of its payload, and that the page of this fetch has a capture. */
Result archive_remember(Archive *archive, MDB_txn *txn, const WarcGroup *group,
                        const FetchResult *fetch);
/* Makes the appended records durable, and writes the end of the files into the transaction. */
Result archive_prepare(Archive *archive, MDB_txn *txn);
/* Says that the transaction of archive_prepare is committed. */
void archive_committed(Archive *archive);
/* Drops what was appended since the last commit: archive_prepare leaves the end where it was, and
 * the next archive_open cuts off the rest. Nothing may be appended afterwards. */
void archive_freeze(Archive *archive);
