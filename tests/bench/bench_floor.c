/* The floor beneath a crawl: the least that its work costs with the same libraries, in one thread
 * and without a crawler around it.
 *
 *   bench_floor STAGE FILE PORT CONNECTIONS HOSTS DIRECTORY [DNS [RATE]]
 *
 * FILE has the pages, lines "ADDRESS URL" in the order of a crawl, for the last two stages with the
 * robots.txt of each host before its first page (crawls.py); PORT is where all are served. The
 * stages, each with what is before it:
 *
 *   curl    libcurl fetches them, as bench/curl_floor.h says
 *   links   the house's tokenizer finds their links and resolves them
 *   store   a robots.txt is parsed. A database in DIRECTORY gets, in batches of
 *           store.batch_pages and durably: each page's URL with the hashes of its content and of
 *           its links, at the end of its table; the URL of each link that it does not have yet,
 *           those of a batch looked up once, in order of their hashes; a row of the schedule for
 *           each of these, by host, which goes when the page is fetched. A line of crawl.log for
 *           each answer is written with the batch.
 *   warc    each answer is digested twice (SHA-1 of block and payload), compressed as
 *           warc.level=auto does, and written to a file that is synced with each batch
 *
 * What no crawler that is asked for these things can leave out is in it, and nothing else. Not in
 * it: delays and what is kept of hosts and addresses; scores
 * and order; who links to a page, how often and when it was fetched; duplicates and traps; charsets
 * (all is taken for UTF-8); scope, filters and limits; request records, an index and what crawl.log
 * says besides; a second thread, and what it costs to hand pages over.
 *
 * With DNS, the port of a name server (0: none), also what each host needs (bench/floor_hosts.h):
 * its name is resolved, its robots.txt asked about each URL, and it has a durable row. RATE: so
 * many are begun a second, as a polite crawl does; 0: as fast as they come.
 *
 * What it costs is the CPU of the process: bench_crawl.py compares. By itself it says nothing. */
#include <fcntl.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "curl_floor.h"
#include "floor_hosts.h"
#include "parse/html/html.h"
#include "parse/robots/robots.h"
#include "store/warc/warc_compress.h"
#include "store/warc/warc_format.h"

#define LINE_BYTES    4096
#define BATCH_ANSWERS 2048u /* store.batch_pages, which counts files of rules, too */
#define MAP_BYTES     ((size_t)1 << 34)

typedef enum Stage { CURL_ALONE, LINKS, STORE, WARC, STAGES } Stage;

/* A link of the batch. */
typedef struct Seen {
    uint64_t hash;
    uint32_t at; /* its URL, in Work.urls */
    uint32_t length;
} Seen;

typedef struct Work {
    Stage stage;
    HtmlParser *parser;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi pages;
    MDB_dbi seen;
    MDB_dbi schedule; /* hashes of host and URL */
    Buffer links;     /* Seen, of this batch */
    Buffer fetched;   /* rows of the schedule, of this batch */
    Buffer found;     /* the same */
    Buffer log;
    int log_file;
    Buffer urls;
    uint64_t n_pages;
    uint64_t n_answers;
    Buffer row;
    WarcHasher *hasher;
    WarcCompressor *compressor;
    int file;
    Buffer record;
    Buffer members; /* of this batch */
    FloorHosts hosts;
    bool has_hosts;
    bool has_failed;
} Work;

/* ---- what is done with a page ---- */

static int by_hash(const void *a, const void *b)
{
    const Seen *x = a;
    const Seen *y = b;
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
static int keep_schedule(Work *work)
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
static int store_links(Work *work)
{
    Seen *links = (Seen *)(void *)work->links.data;
    size_t n = work->links.length / sizeof *links;
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(work->txn, work->seen, &cursor);
    if (n > 0) {
        qsort(links, n, sizeof *links, by_hash);
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        MDB_val key = {sizeof links[i].hash, &links[i].hash};
        MDB_val url = {links[i].length, work->urls.data + links[i].at};
        if (i == 0 || links[i].hash != links[i - 1].hash) {
            uint64_t row = row_of(work->urls.data + links[i].at, links[i].length);
            rc = mdb_cursor_put(cursor, &key, &url, MDB_NOOVERWRITE);
            if (rc == 0 && buffer_append(&work->found, &row, sizeof row) != RESULT_OK) {
                rc = -1;
            }
            rc = rc == MDB_KEYEXIST ? 0 : rc;
        }
    }
    mdb_cursor_close(cursor);
    buffer_reset(&work->links);
    buffer_reset(&work->urls);
    return rc;
}

static int commit(Work *work)
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
    if (rc == 0 && work->stage == WARC && work->members.length > 0) {
        ssize_t n = write(work->file, work->members.data, work->members.length);
        rc = n == (ssize_t)work->members.length && fdatasync(work->file) == 0 ? 0 : -1;
        buffer_reset(&work->members);
    }
    return rc;
}

/* Counts an answer. */
static bool commit_when_full(Work *work)
{
    return ++work->n_answers % BATCH_ANSWERS != 0 || commit(work) == 0;
}

static int begin(Work *work)
{
    return work->txn == NULL ? mdb_txn_begin(work->env, NULL, 0, &work->txn) : 0;
}

static Result write_line(Work *work, const FloorAnswer *answer)
{
    char now[CLOCK_TEXT_BYTES];
    Result rc = buffer_append_string(&work->log, wall_format_iso(wall_now(), now));
    rc = rc == RESULT_OK ? buffer_append_string(&work->log, " 200 ") : rc;
    rc = rc == RESULT_OK ? buffer_append_number(&work->log, (int64_t)answer->body_length) : rc;
    rc = rc == RESULT_OK ? buffer_append_char(&work->log, ' ') : rc;
    rc = rc == RESULT_OK ? buffer_append_string(&work->log, answer->page->url) : rc;
    return rc == RESULT_OK ? buffer_append_char(&work->log, '\n') : rc;
}

static int store(Work *work, const FloorAnswer *answer, const Page *page)
{
    const char *url = answer->page->url;
    uint64_t number = work->n_pages;
    uint64_t scheduled = row_of(url, strlen(url));
    Hash128 content = hash_128(answer->body, answer->body_length);
    int rc = begin(work);
    buffer_reset(&work->row);
    Result added = buffer_append(&work->row, url, strlen(url) + 1);
    added = added == RESULT_OK ? buffer_append(&work->row, &content, sizeof content) : added;
    added =
        added == RESULT_OK ? buffer_append(&work->fetched, &scheduled, sizeof scheduled) : added;
    added = added == RESULT_OK ? write_line(work, answer) : added;
    for (size_t i = 0; i < page->n_links && added == RESULT_OK; i++) {
        const PageLink *link = &page->links[i];
        Seen seen = {.hash = hash_xxh64(link->url, link->length),
                     .at = (uint32_t)work->urls.length,
                     .length = link->length};
        added = buffer_append(&work->row, &seen.hash, sizeof seen.hash);
        added = added == RESULT_OK ? buffer_append(&work->links, &seen, sizeof seen) : added;
        added = added == RESULT_OK ? buffer_append(&work->urls, link->url, link->length) : added;
    }
    MDB_val key = {sizeof number, &number};
    MDB_val value = {work->row.length, work->row.data};
    if (rc == 0 && added == RESULT_OK) {
        rc = mdb_put(work->txn, work->pages, &key, &value, MDB_APPEND);
    }
    return added == RESULT_OK ? rc : -1;
}

static Result archive(Work *work, const FloorAnswer *answer)
{
    WarcDigest block, payload;
    char block_text[WARC_DIGEST_TEXT], payload_text[WARC_DIGEST_TEXT];
    Buffer *record = &work->record;
    WarcBytes header = {answer->header, answer->header_length};
    WarcBytes body = {answer->body, answer->body_length};
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

/* Whether it is a file of rules, which has no links. */
static bool take_rules(Work *work, const FloorAnswer *answer)
{
    Robots *robots = NULL;
    if (!floor_hosts_is_robots(answer->page->url)) {
        return false;
    }
    bool is_done = floor_hosts_parse(answer, &robots) == 0 && write_line(work, answer) == RESULT_OK;
    if (work->has_hosts) {
        is_done = is_done && begin(work) == 0 &&
                  floor_hosts_take(&work->hosts, work->txn, answer, robots) == 0;
    } else {
        robots_delete(robots);
    }
    is_done = is_done && (work->stage < WARC || archive(work, answer) == RESULT_OK);
    work->has_failed |= !is_done || !commit_when_full(work);
    return true;
}

static void take(void *context, const FloorAnswer *answer)
{
    Work *work = context;
    if (work->stage >= STORE && take_rules(work, answer)) {
        return;
    }
    HtmlInput input = {.body = answer->body,
                       .length = answer->body_length,
                       .content_type = "text/html",
                       .url = answer->page->url,
                       .url_length = strlen(answer->page->url)};
    Page page;
    bool is_done = !work->has_hosts || floor_hosts_allow(&work->hosts, answer->page->url);
    is_done = is_done && html_parse(work->parser, &input, &page) == RESULT_OK;
    is_done = is_done && (work->stage < STORE || store(work, answer, &page) == 0);
    is_done = is_done && (work->stage < WARC || archive(work, answer) == RESULT_OK);
    work->n_pages++;
    work->has_failed |= !is_done || !commit_when_full(work);
}

/* ---- its parts ---- */

static int open_store(Work *work, const char *directory)
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

static int open_work(Work *work, const char *directory)
{
    static const HtmlOptions html = {.no_digests = true};
    char path[LINE_BYTES];
    buffer_init(&work->row, BUFFER_NO_LIMIT);
    buffer_init(&work->links, BUFFER_NO_LIMIT);
    buffer_init(&work->urls, BUFFER_NO_LIMIT);
    buffer_init(&work->record, BUFFER_NO_LIMIT);
    buffer_init(&work->members, BUFFER_NO_LIMIT);
    buffer_init(&work->fetched, BUFFER_NO_LIMIT);
    buffer_init(&work->found, BUFFER_NO_LIMIT);
    buffer_init(&work->log, BUFFER_NO_LIMIT);
    work->file = -1;
    work->log_file = -1;
    int rc = html_parser_new(&work->parser, &html) == RESULT_OK ? 0 : -1;
    if (rc == 0 && work->stage >= STORE) {
        rc = open_store(work, directory);
        (void)snprintf(path, sizeof path, "%s/crawl.log", directory);
        work->log_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        rc = rc == 0 && work->log_file < 0 ? -1 : rc;
    }
    if (rc == 0 && work->stage >= WARC) {
        (void)snprintf(path, sizeof path, "%s/floor.warc.gz", directory);
        work->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        rc = work->file >= 0 && warc_hasher_new(&work->hasher) == RESULT_OK &&
                     warc_compressor_new(&work->compressor, WARC_GZIP, WARC_LEVEL_AUTO) == RESULT_OK
                 ? 0
                 : -1;
    }
    return rc;
}

static void close_work(Work *work)
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
    buffer_destroy(&work->row);
    buffer_destroy(&work->links);
    buffer_destroy(&work->urls);
    buffer_destroy(&work->record);
    buffer_destroy(&work->members);
    buffer_destroy(&work->fetched);
    buffer_destroy(&work->found);
    buffer_destroy(&work->log);
}

/* The lines of a file, cut where their fields end; *text is what the pages point into. */
static FloorPage *read_list(const char *path, char **text, size_t *n_pages)
{
    struct stat status;
    FILE *file = fopen(path, "re");
    size_t n = 0;
    *n_pages = 0;
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        perror(path);
        return NULL;
    }
    *text = calloc(1, (size_t)status.st_size + 1);
    n = *text == NULL ? 0 : fread(*text, 1, (size_t)status.st_size, file);
    fclose(file);
    FloorPage *pages = calloc(n / 2 + 1, sizeof *pages);
    char *rest = NULL;
    for (char *line = n == 0 || pages == NULL ? NULL : strtok_r(*text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *url = strchr(line, ' ');
        if (url != NULL) {
            *url++ = '\0';
            pages[(*n_pages)++] = (FloorPage){.url = url, .address = line};
        }
    }
    return pages;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    static const char *const stages[STAGES] = {"curl", "links", "store", "warc"};
    static Work work;
    char *text = NULL;
    char *addresses = NULL;
    size_t n_pages = 0;
    while (argc >= 7 && work.stage < STAGES && strcmp(argv[1], stages[work.stage]) != 0) {
        work.stage++;
    }
    if (argc == 1) {
        return 0; /* `make bench`: crawl and its workloads run it */
    }
    if (argc < 7 || argc > 9 || work.stage == STAGES) {
        fprintf(stderr, "usage: bench_floor curl|links|store|warc FILE PORT CONNECTIONS HOSTS "
                        "DIRECTORY [DNS [RATE]]\n");
        return 2;
    }
    FloorPage *pages = read_list(argv[2], &text, &n_pages);
    FloorOptions options = {.pages = pages,
                            .n_pages = n_pages,
                            .port = number(argv[3]),
                            .connections = number(argv[4]),
                            .n_hosts = number(argv[5]),
                            .rate = argc == 9 ? number(argv[8]) : 0,
                            .take = work.stage == CURL_ALONE ? NULL : take,
                            .context = &work};
    double cpu_s = 0;
    double bytes = 0;
    unsigned dns = argc >= 8 ? number(argv[7]) : 0;
    work.has_hosts = dns > 0 && work.stage >= STORE;
    int rc = n_pages == 0 ? -1 : open_work(&work, argv[6]);
    if (rc == 0 && work.has_hosts) {
        rc = floor_hosts_resolve(pages, n_pages, dns, &addresses);
    }
    rc = rc == 0 ? curl_floor(&options, &cpu_s, &bytes) : rc;
    rc = rc == 0 ? commit(&work) : rc;
    close_work(&work);
    free(pages);
    free(text);
    free(addresses);
    if (rc != 0 || work.has_failed) {
        fprintf(stderr, "bench: floor: failed (%d)\n", rc);
        return 1;
    }
    printf("floor.%s = %.4f ms\n", argv[1], cpu_s * 1000 / (double)n_pages);
    return 0;
}
