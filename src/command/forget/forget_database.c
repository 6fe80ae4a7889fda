#include "command/forget/forget_database.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/core/ascii.h"
#include "base/memory/array.h"
#include "base/memory/bits.h"
#include "fetch/transfer/fetch_result.h"
#include "parse/host/authority.h"
#include "parse/host/domain.h"
#include "cluster/link/stub.h"
#include "store/archive/capture_index.h"
#include "store/page_tables/page_key.h"
#include "store/pages/page_db_open.h"

/* ---- What is meant ---- */

static const char *const kinds[] = {"host ", "url ", "regex "};

static Result target_put(ForgetTargets *targets, ForgetKind kind, const char *text, size_t length)
{
    ForgetTarget target = {.kind = kind, .text = strndup(text, length), .length = length};
    if (target.text == NULL ||
        array_add(&targets->all, &targets->n, sizeof target, &target) != RESULT_OK) {
        free(target.text);
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

Result forget_targets_add(ForgetTargets *targets, const char *word, Buffer *error)
{
    Url url = {.href = NULL};
    bool is_url = strstr(word, "://") != NULL;
    Result rc = url_parse_word(&url, word);
    if (rc == RESULT_OK && !is_url && strpbrk(word, "/?#@: ") != NULL) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK && is_url) {
        rc = target_put(targets, FORGET_URL, url.href, url.length);
    } else if (rc == RESULT_OK) {
        rc = target_put(targets, FORGET_HOST, url.href + url.host_start,
                        url.host_end - url.host_start);
    } else {
        (void)buffer_printf(error, "'%.128s' is neither a host nor an http or https URL", word);
    }
    url_destroy(&url);
    return rc;
}

Result forget_targets_add_regex(ForgetTargets *targets, const char *regex, Buffer *error)
{
    UrlRegex *code = NULL;
    Result rc = url_regex_compile(regex, "--regex", &code, error);
    if (rc == RESULT_OK && code == NULL) {
        (void)buffer_append_string(error, "--regex: the expression is empty");
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = target_put(targets, FORGET_REGEX, regex, strlen(regex));
    }
    if (rc != RESULT_OK) {
        url_regex_delete(code);
        return rc;
    }
    targets->all[targets->n - 1].regex = code;
    return RESULT_OK;
}

void forget_targets_destroy(ForgetTargets *targets)
{
    for (size_t i = 0; i < targets->n; i++) {
        free(targets->all[i].text);
        url_regex_delete(targets->all[i].regex);
    }
    free(targets->all);
    *targets = (ForgetTargets){.n = 0};
}

Result forget_targets_write(const ForgetTargets *targets, Buffer *out)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < targets->n; i++) {
        rc = buffer_printf(out, "%s%s\n", kinds[targets->all[i].kind], targets->all[i].text);
    }
    if (rc == RESULT_OK && targets->before.us != 0) {
        rc = buffer_printf(out, "older %lld\n", (long long)targets->before.us);
    }
    if (rc == RESULT_OK) {
        rc = buffer_printf(out, "%s%s", targets->keep_graph ? "keep-graph\n" : "",
                           targets->hash_logs ? "hash-logs\n" : "");
    }
    return rc;
}

static Result target_read(ForgetTargets *targets, const char *line, Buffer *error)
{
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        size_t n = strlen(kinds[kind]);
        if (strncmp(line, kinds[kind], n) == 0) {
            return kind == FORGET_REGEX ? forget_targets_add_regex(targets, line + n, error)
                                        : forget_targets_add(targets, line + n, error);
        }
    }
    if (strncmp(line, "older ", 6) == 0) {
        targets->before.us = strtoll(line + 6, NULL, 10);
    } else if (strcmp(line, "keep-graph") == 0) {
        targets->keep_graph = true;
    } else if (strcmp(line, "hash-logs") == 0) {
        targets->hash_logs = true;
    } else {
        (void)buffer_printf(error, "'%.128s' is nothing that can be forgotten", line);
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

Result forget_targets_read(ForgetTargets *targets, const char *text, Buffer *error)
{
    char *copy = strdup(text);
    char *save = NULL;
    Result rc = copy == NULL ? RESULT_MEMORY : RESULT_OK;
    char *line = copy == NULL ? NULL : strtok_r(copy, "\n", &save);
    for (; rc == RESULT_OK && line != NULL; line = strtok_r(NULL, "\n", &save)) {
        rc = target_read(targets, line, error);
    }
    free(copy);
    return rc;
}

/* Whether a host is meant as a whole. */
static bool forget_means_host(const ForgetTargets *targets, const char *name, size_t length)
{
    for (size_t i = 0; i < targets->n; i++) {
        const ForgetTarget *target = &targets->all[i];
        if (target->kind == FORGET_HOST &&
            domain_contains(target->text, target->length, name, length)) {
            return true;
        }
    }
    return false;
}

bool forget_means_url(const ForgetTargets *targets, const char *url, size_t length)
{
    if (length > 4 && memcmp(url, "dns:", 4) == 0) {
        return forget_means_host(targets, url + 4, length - 4);
    }
    Authority at = authority_of(url, length);
    if (forget_means_host(targets, url + at.host, at.host_end - at.host)) {
        return true;
    }
    for (size_t i = 0; i < targets->n; i++) {
        const ForgetTarget *target = &targets->all[i];
        if ((target->kind == FORGET_URL && target->length == length &&
             memcmp(target->text, url, length) == 0) ||
            (target->kind == FORGET_REGEX && url_regex_find(target->regex, url, length, false))) {
            return true;
        }
    }
    return false;
}

/* ---- text ---- */

/* A URL ends where a line of a log, of JSON or of a table goes on. */
static bool target_ends_url(char c)
{
    return c == '\0' || isspace((unsigned char)c) != 0 || strchr("\",<>'|)", c) != NULL;
}

static bool target_is_name_char(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '-' || c == '_';
}

static bool target_is_host_at(const char *at, const char *start, const char *end, size_t length)
{
    bool begins = at == start || !target_is_name_char(at[-1]);
    const char *next = at + length;
    bool goes_on = next < end && (target_is_name_char(*next) ||
                                  (*next == '.' && next + 1 < end && target_is_name_char(next[1])));
    return begins && !goes_on;
}

/* By hand: an expression would be too large for a URL of 32 KiB, which may have been fetched. */
static bool target_is_in(const ForgetTarget *target, const char *text, size_t length)
{
    const char *end = text + length;
    for (const char *at = text; (size_t)(end - at) >= target->length; at++) {
        if (ascii_lower(*at) != ascii_lower(*target->text) ||
            strncasecmp(at, target->text, target->length) != 0) {
            continue;
        }
        const char *next = at + target->length;
        if (target->kind == FORGET_HOST ? target_is_host_at(at, text, end, target->length)
                                        : next == end || target_ends_url(*next)) {
            return true;
        }
    }
    return false;
}

static bool target_regex_is_in(const ForgetTarget *target, const char *text, size_t length)
{
    const char *end = text + length;
    const char *at = text;
    while ((at = memmem(at, (size_t)(end - at), "http", 4)) != NULL) {
        const char *stop = at;
        while (stop < end && !target_ends_url(*stop)) {
            stop++;
        }
        if (url_regex_find(target->regex, at, (size_t)(stop - at), false)) {
            return true;
        }
        at += 4;
    }
    return false;
}

bool forget_is_named(const ForgetTargets *targets, const char *text, size_t length)
{
    for (size_t i = 0; i < targets->n; i++) {
        const ForgetTarget *target = &targets->all[i];
        if (target->kind == FORGET_REGEX ? target_regex_is_in(target, text, length)
                                         : target_is_in(target, text, length)) {
            return true;
        }
    }
    return false;
}

Result forget_read_block(const ForgetTargets *targets, const void *bytes, size_t length,
                         uint16_t to, OutboxDraft *draft, bool *named)
{
    WireReader in = wire_reader(bytes, length);
    BlockHeader header;
    LinkBlockReader reader;
    LinkRecord record;
    HostMove host;
    const void *body = NULL;
    *named = false;
    if (block_read(&in, &header, &body) != BLOCK_GOOD) {
        return RESULT_DAMAGED;
    }
    if (header.kind == BLOCK_HOSTS) {
        Result rc = host_block_read(&header, body, &host);
        *named = rc == RESULT_OK && forget_is_named(targets, host.origin, host.length);
        return rc;
    }
    link_block_reader_init(&reader, &header, body);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && (rc = link_block_next(&reader, &record)) == RESULT_OK) {
        bool meant = forget_means_url(targets, record.url, record.length);
        *named |= meant;
        rc = meant || draft == NULL ? RESULT_OK : outbox_draft_add(draft, to, &record);
    }
    link_block_reader_destroy(&reader);
    return rc == RESULT_CLOSED ? RESULT_OK : rc;
}

/* ---- looking ---- */

size_t forget_database_origin(const ForgetDatabase *d, uint32_t host, bool renamed, char *out)
{
    MDB_dbi dbi = 0;
    MDB_val origin = {0, NULL};
    MDB_val key = {sizeof host, &host};
    if (renamed) {
        return (size_t)snprintf(out, FORGET_NAME_BYTES, "http://%" PRIu32 ".forgotten.invalid",
                                host);
    }
    if (forget_table(d->read, "origins", &dbi) != 0 || mdb_get(d->read, dbi, &key, &origin) != 0 ||
        origin.mv_size < 1 || origin.mv_size > FORGET_URL_BYTES) {
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

uint64_t forget_database_hash(const ForgetDatabase *d, const PageRecord *record, uint64_t index,
                              bool after)
{
    char url[FORGET_URL_BYTES];
    return page_key_hash(url, forget_database_url(d, record, index, after, url));
}

void forget_database_change(const ForgetDatabase *d, uint64_t index, PageRecord *record, char *path)
{
    uint64_t from = record->linked_from;
    if (bits_has(d->pages, index)) {
        int n = snprintf(path, FORGET_NAME_BYTES, "/.forgotten/%" PRIx64, index);
        record->crawled = record->crawled && d->targets->keep_graph;
        record->userinfo = false;
        /* No agent that gets the page with its slot is to fetch it. */
        record->flags = d->is_shared && !record->crawled ? DONE_FLAG : 0;
        record->level = PAGE_DB_NO_LEVEL;
        record->tries = 0;
        record->status = 0;
        record->path = path;
        record->path_length = (size_t)n;
        from = d->targets->keep_graph ? from : PAGE_DB_NO_INDEX;
    }
    bool gone = from != PAGE_DB_NO_INDEX && from < d->n_pages && bits_has(d->pages, from);
    PageRecord parent;
    if (gone && d->targets->keep_graph && forget_database_record(d, from, &parent)) {
        record->linked_hash = forget_database_hash(d, &parent, from, true);
    } else if (gone || from == PAGE_DB_NO_INDEX) {
        from = PAGE_DB_NO_INDEX;
        record->linked_hash = 0;
    }
    record->linked_from = from;
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
    int rc =
        lmdb_env_open(&d->from, path, MDB_RDONLY | MDB_NORDAHEAD, PAGE_DIRECTORY_MAX_TABLES, 0, 0);
    return rc == 0 ? mdb_txn_begin(d->from, NULL, MDB_RDONLY, &d->read) : rc;
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
    mdb_txn_abort(d->read);
    mdb_env_close(d->from);
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
    CaptureIndex captures = 0;
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
    return bits_has(d->pages, index);
}
