#include "command/forget/forget_database.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/bits.h"
#include "base/memory/file.h"
#include "fetch/transfer/fetch_result.h"
#include "store/archive/capture_index.h"
#include "store/format/page_packs.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_key.h"
#include "store/page_tables/page_store.h"
#include "store/pages/page_db_open.h"
#include "store/records/page_ref.h"

/* ---- looking ---- */

static int database_get(const ForgetDatabase *d, const char *table, const void *key, size_t length,
                        MDB_val *value)
{
    MDB_dbi dbi = 0;
    MDB_val name = {length, (void *)(uintptr_t)key};
    int rc = forget_table(d->read, table, &dbi);
    return rc == 0 ? mdb_get(d->read, dbi, &name, value) : rc;
}

size_t forget_database_origin(const ForgetDatabase *d, uint32_t host, bool renamed, char *out)
{
    MDB_val origin = {0, NULL};
    if (renamed) {
        return (size_t)snprintf(out, FORGET_NAME_BYTES, "http://%" PRIu32 ".forgotten.invalid",
                                host);
    }
    if (database_get(d, "origins", &host, sizeof host, &origin) != 0 || origin.mv_size < 1 ||
        origin.mv_size > FORGET_URL_BYTES) {
        return 0;
    }
    memcpy(out, (const char *)origin.mv_data + 1, origin.mv_size - 1);
    return origin.mv_size - 1;
}

size_t forget_database_url(const ForgetDatabase *d, const PageRecord *record, uint64_t index,
                           bool after, char *out)
{
    size_t n =
        forget_database_origin(d, record->host, after && bits_has(d->hosts, record->host), out);
    if (after && bits_has(d->pages, index)) {
        return n + (size_t)snprintf(out + n, FORGET_NAME_BYTES, "/.forgotten/%" PRIx64, index);
    }
    if (n + record->path_length >= FORGET_URL_BYTES) {
        return n;
    }
    char origin[FORGET_URL_BYTES];
    memcpy(origin, out, n);
    page_url_join(origin, n, record, out);
    return n + record->path_length;
}

bool forget_database_record(const ForgetDatabase *d, uint64_t index, PageRecord *record)
{
    MDB_dbi dbi = 0;
    MDB_val bytes;
    return forget_table(d->read, "idx2info", &dbi) == 0 &&
           page_pack_find(d->read, dbi, NULL, index, &bytes) == 0 &&
           page_record_read(bytes.mv_data, bytes.mv_size, index, 0, record) &&
           record->host < d->n_hosts;
}

/* Counts a page as it will be. */
static void database_tally_page(ForgetDatabase *d, uint64_t index, const PageRecord *record,
                                const PageCrawl *crawl)
{
    ForgetTally *tally = &d->tallies[record->host];
    bool forgotten = bits_has(d->pages, index);
    bool crawled = crawl->n_crawls > 0;
    tally->touched |= forgotten;
    if (forgotten) {
        tally->urls += crawled && d->targets->keep_graph;
        return;
    }
    tally->urls += record->level != PAGE_DB_NO_LEVEL || record->status != 0 || crawled;
    tally->denied += record->status == STATUS_ROBOTS;
    tally->good += crawled && record->status >= 200 && record->status < 300;
    tally->again |= crawl->n_crawls > 1;
    tally->queued += record->level != PAGE_DB_NO_LEVEL && !crawled;
}

static Result database_look_at_pages(ForgetDatabase *d)
{
    char url[FORGET_URL_BYTES];
    for (uint64_t i = 0; i < d->n_pages; i++) {
        PageRecord record;
        PageCrawl crawl = {.n_crawls = 0};
        if (!forget_database_record(d, i, &record)) {
            return RESULT_DAMAGED;
        }
        bool crawled =
            record.crawl != NULL && page_crawl_read(record.crawl, record.crawl_length, &crawl);
        bool old = d->targets->before.us != 0 && crawled &&
                   crawl.last_crawl * 1e6 < (double)d->targets->before.us;
        if (bits_has(d->hosts, record.host) || old ||
            (d->targets->n > 0 &&
             forget_means_url(d->targets, url, forget_database_url(d, &record, i, false, url)))) {
            bits_set(d->pages, i);
            d->forgotten_pages++;
        }
        database_tally_page(d, i, &record, &crawl);
    }
    return RESULT_OK;
}

static Result database_read_counts(ForgetDatabase *d)
{
    MDB_dbi dbi = 0;
    MDB_stat stat = {.ms_entries = 0};
    int rc = forget_table(d->read, PAGE_TABLES_INFO, &dbi);
    if (rc == 0) {
        rc = page_tables_read_number(d->read, dbi, PAGE_TABLES_N_PAGES, &d->n_pages);
    }
    if (rc == 0) {
        rc = page_tables_read_number(d->read, dbi, PAGE_TABLES_SEED, &d->seed);
    }
    if (rc == 0) {
        rc = forget_table(d->read, "origins", &dbi);
    }
    if (rc == 0) {
        rc = mdb_stat(d->read, dbi, &stat);
    }
    d->n_hosts = (uint32_t)stat.ms_entries;
    d->is_shared = rc == 0 && forget_table(d->read, "outbox", &dbi) == 0;
    d->pages = calloc(d->n_pages / 8 + 1, 1);
    d->hosts = calloc((size_t)d->n_hosts / 8 + 1, 1);
    d->tallies = calloc((size_t)d->n_hosts + 1, sizeof *d->tallies);
    if (d->pages == NULL || d->hosts == NULL || d->tallies == NULL) {
        return RESULT_MEMORY;
    }
    return lmdb_result(rc, "read the database");
}

static int database_open(ForgetDatabase *d, const char *path)
{
    int rc = mdb_env_create(&d->from);
    if (rc == 0) {
        rc = mdb_env_set_maxdbs(d->from, PAGE_DIRECTORY_MAX_TABLES);
    }
    if (rc == 0) {
        rc = mdb_env_open(d->from, path, MDB_RDONLY | MDB_NORDAHEAD, PAGE_DIRECTORY_FILE_MODE);
    }
    if (rc == 0) {
        rc = mdb_txn_begin(d->from, NULL, MDB_RDONLY, &d->read);
    }
    return rc;
}

bool forget_database_is_shared(const char *directory)
{
    Path path;
    MDB_dbi dbi = 0;
    ForgetDatabase d = {.from = NULL};
    bool found = database_open(&d, file_path(&path, "%s/crawl.mdb", directory)) == 0 &&
                 forget_table(d.read, "outbox", &dbi) == 0;
    forget_database_destroy(&d);
    return found;
}

Result forget_database_look(ForgetDatabase *d, const char *path, const ForgetTargets *targets)
{
    *d = (ForgetDatabase){.targets = targets};
    Result result = lmdb_result(database_open(d, path), "open the database");
    if (result == RESULT_OK) {
        result = database_read_counts(d);
    }
    if (result == RESULT_OK) {
        char origin[FORGET_URL_BYTES];
        for (uint32_t host = 0; host < d->n_hosts; host++) {
            size_t n = forget_database_origin(d, host, false, origin);
            d->tallies[host].best = FORGET_NO_LEVEL;
            const char *name = memmem(origin, n, "://", 3);
            if (name != NULL) {
                size_t length = n - (size_t)(name + 3 - origin);
                const char *colon = memrchr(name + 3, ':', length);
                bool port =
                    colon != NULL && memchr(colon, ']', n - (size_t)(colon - origin)) == NULL;
                length = port ? (size_t)(colon - name - 3) : length;
                if (forget_means_host(d->targets, name + 3, length)) {
                    bits_set(d->hosts, host);
                    d->forgotten_hosts++;
                }
            }
        }
        result = database_look_at_pages(d);
    }
    return result;
}

void forget_database_destroy(ForgetDatabase *d)
{
    if (d->read != NULL) {
        mdb_txn_abort(d->read);
    }
    if (d->from != NULL) {
        mdb_env_close(d->from);
    }
    free(d->pages);
    free(d->hosts);
    free(d->tallies);
    *d = (ForgetDatabase){.from = NULL};
}

bool forget_database_is_old(ForgetDatabase *d, const char *url, size_t length, WarcDigest *payload,
                            bool *has_payload)
{
    PageDBStore store = {.seed = d->seed, .hash_mask = UINT64_MAX};
    uint64_t index = 0;
    CaptureIndex *captures = NULL;
    Capture capture = {.has_payload = false};
    *has_payload = false;
    PageKey key = page_key_of(&store, url, length);
    if (forget_table(d->read, "hash2idx", &store.tables.hash2idx) != 0 ||
        page_key_look_up(&store, d->read, &key, &index) != 0 || index >= d->n_pages) {
        return false;
    }
    if (capture_index_open(&captures, d->read, false) == RESULT_OK) {
        *has_payload = !bits_has(d->pages, index) &&
                       capture_index_get(captures, d->read, index, &capture) == RESULT_OK &&
                       capture.has_payload;
        *payload = capture.payload;
    }
    capture_index_close(captures);
    return bits_has(d->pages, index);
}

Result forget_database_warc_end(ForgetDatabase *d, WarcEnd *end)
{
    Result rc = warc_end_get(d->read, end);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
