#include "floor_work.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "parse/robots/robots.h"

#define PATH_BYTES    4096
#define BATCH_ANSWERS 2048u /* store.batch_pages, which counts files of rules, too */
#define MAP_BYTES     ((size_t)1 << 34)

/* ---- what is done with a page ---- */

static int by_hash(const void *a, const void *b)
{
    const FloorSeen *x = a;
    const FloorSeen *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* A URL's row in the schedule; those of a host are neighbours. */
static uint64_t row_of(const char *url, size_t length)
{
    size_t host = length > 8 ? strcspn(url + 8, "/") + 8 : length;
    return (uint64_t)hash_32(url, host < length ? host : length, 0) << 32 | hash_32(url, length, 0);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds what was found to the schedule, and takes out what is fetched. */
static int keep_schedule(FloorWork *work)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(work->txn, work->schedule, &cursor);
    for (int fetched = 0; fetched < 2; fetched++) {
        Buffer *rows = fetched == 1 ? &work->fetched : &work->found;
        size_t n = rows->length / sizeof(uint64_t);
        if (n > 0) {
            qsort(rows->data, n, sizeof(uint64_t), by_value);
        }
        for (size_t i = 0; i < n && rc == 0; i++) {
            MDB_val key = {sizeof(uint64_t), rows->data + i * sizeof(uint64_t)};
            MDB_val value = {0, NULL};
            rc = fetched == 0 ? mdb_cursor_put(cursor, &key, &value, 0)
                              : mdb_cursor_get(cursor, &key, &value, MDB_SET);
            rc = fetched == 1 && rc == 0 ? mdb_cursor_del(cursor, 0) : rc;
            rc = rc == MDB_NOTFOUND ? 0 : rc; /* a seed */
        }
        buffer_reset(rows);
    }
    mdb_cursor_close(cursor);
    return rc;
}

/* Stores the URLs of the batch that are new. */
static int store_links(FloorWork *work)
{
    FloorSeen *links = (FloorSeen *)(void *)work->batch.links.data;
    char *urls = work->batch.urls.data;
    size_t n = work->batch.links.length / sizeof *links;
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(work->txn, work->seen, &cursor);
    if (n > 0) {
        qsort(links, n, sizeof *links, by_hash);
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        MDB_val key = {sizeof links[i].hash, &links[i].hash};
        MDB_val url = {links[i].length, urls + links[i].at};
        if (i == 0 || links[i].hash != links[i - 1].hash) {
            uint64_t row = row_of(urls + links[i].at, links[i].length);
            rc = mdb_cursor_put(cursor, &key, &url, MDB_NOOVERWRITE);
            if (rc == 0 && buffer_append(&work->found, &row, sizeof row) != RESULT_OK) {
                rc = -1;
            }
            rc = rc == MDB_KEYEXIST ? 0 : rc;
        }
    }
    mdb_cursor_close(cursor);
    buffer_reset(&work->batch.links);
    buffer_reset(&work->batch.urls);
    return rc;
}

int floor_work_commit(FloorWork *work)
{
    int rc = work->txn == NULL ? 0 : store_links(work);
    rc = work->txn == NULL || rc != 0 ? rc : keep_schedule(work);
    rc = work->txn == NULL || rc != 0 ? rc : mdb_txn_commit(work->txn);
    work->txn = NULL;
    if (rc == 0 && work->log.length > 0) {
        rc = write(work->log_file, work->log.data, work->log.length) == (ssize_t)work->log.length
                 ? 0
                 : -1;
        buffer_reset(&work->log);
    }
    if (rc == 0 && work->stage == FLOOR_WARC && work->members.length > 0) {
        ssize_t n = write(work->file, work->members.data, work->members.length);
        rc = n == (ssize_t)work->members.length && fdatasync(work->file) == 0 ? 0 : -1;
        buffer_reset(&work->members);
    }
    return rc;
}

bool floor_work_count(FloorWork *work)
{
    return ++work->n_answers % BATCH_ANSWERS != 0 || floor_work_commit(work) == 0;
}

static int begin(FloorWork *work)
{
    return work->txn == NULL ? mdb_txn_begin(work->env, NULL, 0, &work->txn) : 0;
}

static Result write_line(FloorWork *work, const FloorAnswer *answer)
{
    char now[CLOCK_TEXT_BYTES];
    Result rc = buffer_append_string(&work->log, wall_format_iso(wall_now(), now));
    rc = rc == RESULT_OK ? buffer_append_string(&work->log, " 200 ") : rc;
    rc = rc == RESULT_OK ? buffer_append_number(&work->log, (int64_t)answer->body->length) : rc;
    rc = rc == RESULT_OK ? buffer_append_char(&work->log, ' ') : rc;
    rc = rc == RESULT_OK ? buffer_append_string(&work->log, answer->page->url) : rc;
    return rc == RESULT_OK ? buffer_append_char(&work->log, '\n') : rc;
}

Result floor_work_read(HtmlParser *parser, const FloorAnswer *answer, bool is_stored,
                       FloorReading *reading)
{
    const char *url = answer->page->url;
    const char *body = buffer_string(answer->body);
    size_t length = answer->body->length;
    HtmlInput input = {.body = body,
                       .length = length,
                       .content_type = "text/html",
                       .url = url,
                       .url_length = strlen(url)};
    Page page;
    Result rc = html_parse(parser, &input, &page);
    if (rc != RESULT_OK || !is_stored) {
        return rc;
    }
    Hash128 content = hash_128(body, length);
    buffer_reset(&reading->row);
    rc = buffer_append(&reading->row, url, strlen(url) + 1);
    rc = rc == RESULT_OK ? buffer_append(&reading->row, &content, sizeof content) : rc;
    for (size_t i = 0; i < page.n_links && rc == RESULT_OK; i++) {
        const PageLink *link = &page.links[i];
        FloorSeen seen = {.hash = hash_xxh64(link->url, link->length),
                          .at = (uint32_t)reading->urls.length,
                          .length = link->length};
        rc = buffer_append(&reading->row, &seen.hash, sizeof seen.hash);
        rc = rc == RESULT_OK ? buffer_append(&reading->links, &seen, sizeof seen) : rc;
        rc = rc == RESULT_OK ? buffer_append(&reading->urls, link->url, link->length) : rc;
    }
    return rc;
}

int floor_work_store(FloorWork *work, const FloorAnswer *answer, const Buffer *row)
{
    const char *url = answer->page->url;
    uint64_t number = work->n_pages;
    uint64_t scheduled = row_of(url, strlen(url));
    int rc = begin(work);
    Result added = buffer_append(&work->fetched, &scheduled, sizeof scheduled);
    added = added == RESULT_OK ? write_line(work, answer) : added;
    MDB_val key = {sizeof number, &number};
    MDB_val value = {row->length, row->data};
    if (rc == 0 && added == RESULT_OK) {
        rc = mdb_put(work->txn, work->pages, &key, &value, MDB_APPEND);
    }
    return added == RESULT_OK ? rc : -1;
}

static Result archive(FloorWork *work, const FloorAnswer *answer)
{
    WarcDigest block, payload;
    char block_text[WARC_DIGEST_TEXT], payload_text[WARC_DIGEST_TEXT];
    Buffer *record = &work->record;
    WarcBytes header = {buffer_string(answer->header), answer->header->length};
    WarcBytes body = {buffer_string(answer->body), answer->body->length};
    Result rc = warc_hasher_pair(work->hasher, header, body, &block, &payload);
    buffer_reset(record);
    if (rc == RESULT_OK) {
        rc = buffer_printf(record,
                           "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\n"
                           "WARC-Block-Digest: %s\r\nWARC-Payload-Digest: %s\r\n"
                           "Content-Type: application/http; msgtype=response\r\n"
                           "Content-Length: %zu\r\n\r\n",
                           answer->page->url, warc_digest_format(&block, block_text),
                           warc_digest_format(&payload, payload_text), header.length + body.length);
    }
    rc = rc == RESULT_OK ? buffer_append(record, header.bytes, header.length) : rc;
    rc = rc == RESULT_OK ? buffer_append(record, body.bytes, body.length) : rc;
    rc = rc == RESULT_OK ? buffer_append(record, "\r\n\r\n", 4) : rc;
    return rc == RESULT_OK ? warc_compressor_append(work->compressor, record->data, record->length,
                                                    &work->members)
                           : rc;
}

bool floor_work_take_rules(FloorWork *work, const FloorAnswer *answer)
{
    Robots *robots = NULL;
    bool is_done = floor_hosts_parse(answer, &robots) == 0;
    if (!work->has_hosts) {
        robots_delete(robots);
        return is_done;
    }
    return is_done && floor_hosts_keep(&work->hosts, answer->page->url, robots) == 0;
}

bool floor_work_store_rules(FloorWork *work, const FloorAnswer *answer)
{
    bool is_done = write_line(work, answer) == RESULT_OK;
    if (work->has_hosts) {
        is_done =
            is_done && begin(work) == 0 && floor_hosts_store(&work->hosts, work->txn, answer) == 0;
    }
    return is_done;
}

/* The answer as its page reads it: without the coding that it came with. */
static FloorAnswer decoded(FloorWork *work, const FloorAnswer *answer)
{
    static const char name[] = "\r\nContent-Encoding: ";
    FloorAnswer plain = *answer;
    const char *coding = strstr(buffer_string(answer->header), name);
    if (coding != NULL) {
        coding += sizeof name - 1;
        buffer_reset(&work->plain);
        if (decode_content(work->decoder, coding, strcspn(coding, "\r"),
                           buffer_string(answer->body), answer->body->length, &work->plain,
                           0) != DECODE_OK) {
            work->has_failed = true;
        }
        plain.body = &work->plain;
    }
    return plain;
}

void floor_work_take(void *context, const FloorAnswer *answer)
{
    FloorWork *work = context;
    bool stores = work->stage >= FLOOR_STORE;
    bool is_rules = stores && floor_hosts_is_robots(answer->page->url);
    bool is_done = true;
    if (is_rules) {
        is_done = floor_work_take_rules(work, answer) && floor_work_store_rules(work, answer);
    } else {
        FloorAnswer plain = decoded(work, answer);
        is_done = !work->has_hosts || floor_hosts_allow(&work->hosts, answer->page->url);
        is_done =
            is_done && floor_work_read(work->parser, &plain, stores, &work->batch) == RESULT_OK;
        is_done = is_done && (!stores || floor_work_store(work, answer, &work->batch.row) == 0);
        work->n_pages++;
    }
    is_done = is_done && (work->stage < FLOOR_WARC || archive(work, answer) == RESULT_OK);
    if (!is_done || !floor_work_count(work)) {
        work->has_failed = true;
    }
}

void floor_reading_init(FloorReading *reading)
{
    buffer_init(&reading->row, BUFFER_NO_LIMIT);
    buffer_init(&reading->links, BUFFER_NO_LIMIT);
    buffer_init(&reading->urls, BUFFER_NO_LIMIT);
}

void floor_reading_destroy(FloorReading *reading)
{
    buffer_destroy(&reading->row);
    buffer_destroy(&reading->links);
    buffer_destroy(&reading->urls);
}

/* ---- its parts ---- */

static int open_store(FloorWork *work, const char *directory)
{
    int rc = mdb_env_create(&work->env);
    rc = rc == 0 ? mdb_env_set_mapsize(work->env, MAP_BYTES) : rc;
    rc = rc == 0 ? mdb_env_set_maxdbs(work->env, 5) : rc;
    rc = rc == 0 ? mdb_env_open(work->env, directory, MDB_NOTLS | MDB_NORDAHEAD, 0644) : rc;
    rc = rc == 0 ? mdb_txn_begin(work->env, NULL, 0, &work->txn) : rc;
    rc = rc == 0 ? mdb_dbi_open(work->txn, "pages", MDB_INTEGERKEY | MDB_CREATE, &work->pages) : rc;
    rc = rc == 0 ? mdb_dbi_open(work->txn, "seen", MDB_INTEGERKEY | MDB_CREATE, &work->seen) : rc;
    rc = rc == 0 ? mdb_dbi_open(work->txn, "schedule", MDB_INTEGERKEY | MDB_CREATE, &work->schedule)
                 : rc;
    return rc == 0 && work->has_hosts ? floor_hosts_open(&work->hosts, work->txn) : rc;
}

int floor_work_open(FloorWork *work, const char *directory)
{
    static const HtmlOptions html = {.no_digests = true};
    char path[PATH_BYTES];
    floor_reading_init(&work->batch);
    buffer_init(&work->record, BUFFER_NO_LIMIT);
    buffer_init(&work->members, BUFFER_NO_LIMIT);
    buffer_init(&work->fetched, BUFFER_NO_LIMIT);
    buffer_init(&work->found, BUFFER_NO_LIMIT);
    buffer_init(&work->log, BUFFER_NO_LIMIT);
    work->file = -1;
    work->log_file = -1;
    buffer_init(&work->plain, BUFFER_NO_LIMIT);
    int rc = html_parser_new(&work->parser, &html) == RESULT_OK &&
                     decoder_new(&work->decoder) == RESULT_OK
                 ? 0
                 : -1;
    if (rc == 0 && work->stage >= FLOOR_STORE) {
        rc = open_store(work, directory);
        (void)snprintf(path, sizeof path, "%s/crawl.log", directory);
        work->log_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        rc = rc == 0 && work->log_file < 0 ? -1 : rc;
    }
    if (rc == 0 && work->stage >= FLOOR_WARC) {
        (void)snprintf(path, sizeof path, "%s/floor.warc.gz", directory);
        work->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        rc = work->file >= 0 && warc_hasher_new(&work->hasher) == RESULT_OK &&
                     warc_compressor_new(&work->compressor, WARC_GZIP, WARC_LEVEL_AUTO) == RESULT_OK
                 ? 0
                 : -1;
    }
    return rc;
}

void floor_work_close(FloorWork *work)
{
    floor_hosts_close(&work->hosts);
    if (work->file >= 0) {
        (void)close(work->file);
    }
    if (work->log_file >= 0) {
        (void)close(work->log_file);
    }
    if (work->env != NULL) {
        mdb_env_close(work->env);
    }
    warc_compressor_delete(work->compressor);
    warc_hasher_delete(work->hasher);
    html_parser_delete(work->parser);
    decoder_delete(work->decoder);
    buffer_destroy(&work->plain);
    floor_reading_destroy(&work->batch);
    buffer_destroy(&work->record);
    buffer_destroy(&work->members);
    buffer_destroy(&work->fetched);
    buffer_destroy(&work->found);
    buffer_destroy(&work->log);
}
