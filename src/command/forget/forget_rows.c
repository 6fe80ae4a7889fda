#include "command/forget/forget_rows.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/memory/bits.h"
#include "cluster/link/stub.h"
#include "store/archive/capture_index.h"
#include "store/format/page_links.h"
#include "store/page_tables/page_key.h"
#include "store/pages/page_db_open.h"
#include "store/tables/page_rows.h"
#include "store/tables/host_rows.h"
#include "store/tables/robots_rows.h"

#define BATCH_ROWS 65536u /* of a transaction of the new database; a multiple of a pack */

/* ---- rows ---- */

/* A table that is being copied. */
typedef struct Copy {
    ForgetDatabase *d;
    MDB_env *to;
    MDB_txn *write;
    MDB_dbi from_dbi;
    MDB_dbi to_dbi;
    MDB_cursor *cursor; /* of the old table */
    uint64_t rows;
    Buffer bytes; /* of a changed value */
    Map texts;    /* of robots.txt: how many references to each are gone */
} Copy;

/* 1: the row stays, as key and value say now; 0: it goes; else an LMDB code. */
typedef int (*CopyRow)(Copy *copy, MDB_val *key, MDB_val *value);

static int rows_page_stays(const Copy *copy, uint64_t page)
{
    return page >= copy->d->n_pages || !bits_has(copy->d->pages, page);
}

static int rows_host_stays(const Copy *copy, uint64_t host)
{
    return host >= copy->d->n_hosts || !bits_has(copy->d->hosts, host);
}

static int rows_row_by_page(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)value;
    return rows_page_stays(copy, forget_number(key->mv_data, key->mv_size));
}

static int rows_row_by_host(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)value;
    return rows_host_stays(copy, forget_number(key->mv_data, key->mv_size));
}

/* A robots.txt goes; the text that it may refer to is counted, and goes with its last one. */
static int rows_robots_go(Copy *copy, const MDB_val *value)
{
    uint64_t hash = 0;
    if (!robots_reference_read(value, &hash)) {
        return 0;
    }
    MapKey key = {.low = hash};
    uintptr_t n = (uintptr_t)map_get(&copy->texts, key);
    return map_put(&copy->texts, key, (void *)(n + 1)) == RESULT_OK ? 0 : ENOMEM;
}

static int rows_row_of_robots(Copy *copy, MDB_val *key, MDB_val *value)
{
    bool stays = rows_host_stays(copy, forget_number(key->mv_data, key->mv_size)) == 1;
    return stays ? 1 : rows_robots_go(copy, value);
}

static int rows_row_of_history(Copy *copy, MDB_val *key, MDB_val *value)
{
    bool stays = rows_host_stays(copy, forget_number(key->mv_data, key->mv_size) >> 32) == 1;
    return stays ? 1 : rows_robots_go(copy, value);
}

static int rows_row_of_text(Copy *copy, MDB_val *key, MDB_val *value)
{
    MapKey hash = {.low = forget_number(key->mv_data, key->mv_size)};
    uintptr_t gone = (uintptr_t)map_get(&copy->texts, hash);
    uint32_t references = (uint32_t)forget_number(value->mv_data, sizeof references);
    if (gone == 0 || gone >= references) {
        return gone == 0;
    }
    references -= (uint32_t)gone;
    buffer_reset(&copy->bytes);
    if (buffer_append(&copy->bytes, value->mv_data, value->mv_size) != RESULT_OK) {
        return ENOMEM;
    }
    memcpy(copy->bytes.data, &references, sizeof references);
    *value = (MDB_val){copy->bytes.length, copy->bytes.data};
    return 1;
}

static int rows_row_of_schedule(Copy *copy, MDB_val *key, MDB_val *value)
{
    uint32_t host = schedule_key_host(key);
    uint16_t level = (uint16_t)schedule_key_level(key);
    int stays = rows_page_stays(copy, schedule_load_bytes(value->mv_data, SCHEDULE_INDEX_BYTES));
    ForgetTally *tally = host < copy->d->n_hosts ? &copy->d->tallies[host] : NULL;
    if (stays == 1 && tally != NULL) {
        tally->entries++;
        tally->best = level < tally->best ? level : tally->best;
    }
    return stays;
}

/* Of the table of hosts with work only what is no level is copied; the rest follows from the
 * schedule (write_fronts). */
static int rows_row_of_fronts(Copy *copy, MDB_val *key, MDB_val *value)
{
    unsigned level = *(const unsigned char *)key->mv_data;
    uint32_t host = (uint32_t)schedule_load_bytes(value->mv_data, SCHEDULE_HOST_BYTES);
    return level == SCHEDULE_VERSION_LEVEL ||
           (level == SCHEDULE_PARKED_LEVEL && rows_host_stays(copy, host) == 1);
}

static int rows_row_of_wait(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)value;
    uint64_t host = schedule_load_bytes((const char *)key->mv_data + 8, 4);
    return rows_host_stays(copy, host) == 1 && copy->d->tallies[host].best != FORGET_NO_LEVEL;
}

static int rows_row_of_origin(Copy *copy, MDB_val *key, MDB_val *value)
{
    uint32_t host = (uint32_t)forget_number(key->mv_data, key->mv_size);
    if (rows_host_stays(copy, host) == 1) {
        return 1;
    }
    char name[FORGET_NAME_BYTES + 1] = {0};
    size_t n = forget_database_origin(copy->d, host, true, name + 1);
    buffer_reset(&copy->bytes);
    if (buffer_append(&copy->bytes, name, n + 1) != RESULT_OK) {
        return ENOMEM;
    }
    *value = (MDB_val){copy->bytes.length, copy->bytes.data};
    return 1;
}

/* Hosts are entered under their new names by write_names. */
static int rows_row_of_names(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)key;
    buffer_reset(&copy->bytes);
    for (size_t at = 0; at + 4 <= value->mv_size; at += 4) {
        const char *id = (const char *)value->mv_data + at;
        if (rows_host_stays(copy, forget_number(id, 4)) == 1 &&
            buffer_append(&copy->bytes, id, 4) != RESULT_OK) {
            return ENOMEM;
        }
    }
    *value = (MDB_val){copy->bytes.length, copy->bytes.data};
    return copy->bytes.length > 0;
}

static int rows_row_of_hash(Copy *copy, MDB_val *key, MDB_val *value)
{
    PageEntry entry;
    (void)key;
    page_entry_read(value->mv_data, &entry);
    return rows_page_stays(copy, entry.index);
}

static int rows_row_of_body(Copy *copy, MDB_val *key, MDB_val *value)
{
    uint64_t page =
        key->mv_size == 8 ? forget_number(key->mv_data, 8) : forget_number(value->mv_data, 8);
    return rows_page_stays(copy, page);
}

/* Four tables of rotated hashes, with the page behind each, and one by page. */
static int rows_row_of_near(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)key;
    return value->mv_size < 16 ||
           rows_page_stays(copy, schedule_load_bytes((const uint8_t *)value->mv_data + 8, 8));
}

static int rows_row_of_spelling(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)key;
    size_t n = strnlen(value->mv_data, value->mv_size);
    return !forget_means_url(copy->d->targets, value->mv_data, n);
}

static int rows_row_of_payload(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)key;
    PayloadRow row;
    if (payload_row_read(value, &row) != RESULT_OK) {
        return 1;
    }
    if (row.date.us < copy->d->targets->before.us) {
        return 0;
    }
    return row.page != PAGE_DB_NO_INDEX
               ? rows_page_stays(copy, row.page)
               : !forget_means_url(copy->d->targets, row.uri.bytes, row.uri.length);
}

/* Due time and page, big-endian, in the key; in a line of revisits, in the value. */
static int rows_row_of_due(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)value;
    return key->mv_size < 16 ||
           rows_page_stays(copy, schedule_load_bytes((const char *)key->mv_data + 8, 8));
}

static int rows_row_of_line(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)key;
    size_t n = value->mv_size;
    return n < 8 ||
           rows_page_stays(copy, schedule_load_bytes((const char *)value->mv_data + n - 8, 8));
}

/* Jobs and their places in line end with the page. What was learned of requisites and texts, which
 * may be those of what is meant, is learned anew; lessons of patterns name no page. */
static int rows_row_of_render(Copy *copy, MDB_val *key, MDB_val *value)
{
    (void)value;
    const char *bytes = key->mv_data;
    size_t n = key->mv_size;
    bool has_page = n > 8 && (*bytes == 'j' || *bytes == 'q' || *bytes == 'l');
    if (*bytes == 'f' || *bytes == 'd' || *bytes == 's') {
        return 0;
    }
    return has_page ? rows_page_stays(copy, schedule_load_bytes(bytes + n - 8, 8)) : 1;
}

/* Links out of scope, without those that are meant. */
static int rows_row_of_external(Copy *copy, MDB_val *key, MDB_val *value)
{
    Buffer list;
    size_t kept = 0;
    if (rows_row_by_page(copy, key, value) == 0) {
        return 0;
    }
    buffer_init(&list, BUFFER_NO_LIMIT);
    Result rc = external_rows_unpack(value, &list);
    for (size_t at = 0; rc == RESULT_OK && at < list.length;) {
        size_t n = strnlen(list.data + at + 1, list.length - at - 1);
        if (!forget_means_url(copy->d->targets, list.data + at + 1, n)) {
            memmove(list.data + kept, list.data + at, n + 2);
            kept += n + 2;
        }
        at += n + 2;
    }
    if (rc == RESULT_OK && kept > 0 && kept < list.length) {
        buffer_reset(&copy->bytes);
        rc = external_rows_pack(list.data, kept, &copy->bytes);
        *value = (MDB_val){copy->bytes.length, copy->bytes.data};
    }
    buffer_destroy(&list);
    if (rc != RESULT_OK) {
        return rc == RESULT_MEMORY ? ENOMEM : MDB_CORRUPTED;
    }
    return kept > 0;
}

/* ---- what waits for other agents ---- */

static int rows_of_result(Result rc)
{
    if (rc != RESULT_OK) {
        return rc == RESULT_MEMORY ? ENOMEM : MDB_CORRUPTED;
    }
    return 0;
}

static int rows_row_of_outbox(Copy *copy, MDB_val *key, MDB_val *value)
{
    bool named = false;
    (void)key;
    int rc = rows_of_result(
        forget_read_block(copy->d->targets, value->mv_data, value->mv_size, 0, NULL, &named));
    return rc == 0 ? !named : rc;
}

/* A block that was not copied: the rest of it is a row of its own. */
static int rows_write_rest(Copy *copy, OutboxDraft *draft, const MDB_val *key, const MDB_val *value)
{
    bool named = false;
    uint32_t epoch = (uint32_t)forget_number((const char *)value->mv_data + 4, sizeof epoch);
    uint64_t number = 0;
    memcpy(&number, key->mv_data, sizeof number);
    Result result = outbox_draft_begin(draft, copy->write, epoch);
    draft->state.blocks--;
    draft->state.bytes -= value->mv_size;
    draft->changed = true;
    int rc = rows_of_result(forget_read_block(copy->d->targets, value->mv_data, value->mv_size,
                                              (uint16_t)(be64toh(number) >> 48), draft, &named));
    if (rc == 0 && result == RESULT_OK) {
        result = outbox_draft_finish(draft);
    }
    outbox_draft_end(draft);
    return rc == 0 && result != RESULT_OK ? MDB_PANIC : rc;
}

static int rows_write_outbox(Copy *copy)
{
    Outbox outbox;
    OutboxDraft draft;
    MDB_dbi crawl = 0;
    MDB_dbi from = 0;
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    if (!copy->d->is_shared) {
        return 0;
    }
    int rc = mdb_dbi_open(copy->write, "crawl", 0, &crawl);
    if (rc == 0 && outbox_open(&outbox, copy->write, crawl) != RESULT_OK) {
        rc = MDB_CORRUPTED;
    }
    if (rc == 0 && (rc = forget_table(copy->d->read, "outbox", &from)) == 0) {
        rc = mdb_cursor_open(copy->d->read, from, &cursor);
    }
    if (rc != 0) {
        return rc;
    }
    outbox_draft_init(&draft, &outbox);
    while (rc == 0 && (rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        int stays = rows_row_of_outbox(copy, &key, &value);
        rc = stays == 1 ? 0 : stays;
        if (stays == 0) {
            rc = rows_write_rest(copy, &draft, &key, &value);
        }
    }
    outbox_draft_destroy(&draft);
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* ---- tables ---- */

/* Those that are not here are copied as they are; idx2info and links have functions of their own.
 *
 * Tables are copied in the order in which LMDB lists them, that of their names, and some rows are
 * judged by what a table before theirs has told:
 *
 *   schedule                -> tallies -> waits; schedule_hosts is made of them at the end
 *   robots, robots_history  -> Copy.texts, references that go -> robots_texts
 *
 * The journal was drained (forget_order.c), so its tables are empty, and no table has a newer row
 * elsewhere. */
static const struct {
    const char *name;
    CopyRow row;
} tables[] = {
    {"hash2idx", rows_row_of_hash},
    {"origins", rows_row_of_origin},
    {"origin2host", rows_row_of_names},
    {"schedule", rows_row_of_schedule},
    {"schedule_hosts", rows_row_of_fronts},
    {"waits", rows_row_of_wait},
    {"seeds", rows_row_by_page},
    {"feeds", rows_row_by_host},
    {"held", rows_row_by_page},
    {"usage_files", rows_row_by_host},
    {"licences", rows_row_by_host},
    {"robots", rows_row_of_robots},
    {"robots_history", rows_row_of_history},
    {"robots_texts", rows_row_of_text},
    {"bodies", rows_row_of_body},
    {"near", rows_row_of_near},
    {"near_sketches", rows_row_by_page},
    {"keys", rows_row_of_spelling},
    {"captures", rows_row_by_page},
    {"payloads", rows_row_of_payload},
    {"freq_schedule", rows_row_of_due},
    {"freq_pages", rows_row_by_page},
    {"revisit_lines", rows_row_of_line},
    {"revisit_notes", rows_row_by_page},
    {"revisit_numbers", rows_row_by_page},
    {"renders", rows_row_of_render},
    {"external", rows_row_of_external},
    {"vias", rows_row_by_page},
    {"outbox", rows_row_of_outbox},
};

/* Rows that keep their order are appended (rows_copy_rows), which fills the pages of the new
 * database and needs no search. What gets a new key, forgotten pages and hosts, is put behind them
 * by functions of its own. */

/* Behind a step that came to rc: commits what was written; the rest goes on in another transaction.
 * An error passes through, and what is not committed stays open for its end. */
static int rows_copy_turn(Copy *copy, int rc)
{
    if (rc == 0 && copy->write != NULL) {
        rc = mdb_txn_commit(copy->write);
        copy->write = NULL;
    }
    return rc == 0 ? mdb_txn_begin(copy->to, NULL, 0, &copy->write) : rc;
}

static int rows_copy_rows(Copy *copy, CopyRow row, unsigned flags)
{
    MDB_val key, value;
    unsigned put = (flags & MDB_DUPSORT) != 0 ? MDB_APPENDDUP : MDB_APPEND;
    MDB_cursor_op from = MDB_FIRST;
    int rc = 0;
    while (rc == 0 && (rc = mdb_cursor_get(copy->cursor, &key, &value, from)) == 0) {
        int stays = row == NULL ? 1 : row(copy, &key, &value);
        rc = stays == 1 ? mdb_put(copy->write, copy->to_dbi, &key, &value, put) : stays;
        if (++copy->rows % BATCH_ROWS == 0) {
            rc = rows_copy_turn(copy, rc);
        }
        from = MDB_NEXT;
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* Opens a table in both databases. *flags: how it is ordered. */
static int rows_copy_open(Copy *copy, const char *name, unsigned *flags)
{
    int rc = forget_table(copy->d->read, name, &copy->from_dbi);
    if (rc == 0) {
        rc = mdb_dbi_flags(copy->d->read, copy->from_dbi, flags);
    }
    return rc == 0 ? mdb_dbi_open(copy->write, name, *flags | MDB_CREATE, &copy->to_dbi) : rc;
}

static int rows_copy_table(Copy *copy, const char *name)
{
    unsigned flags = 0;
    CopyRow row = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        row = strcmp(tables[i].name, name) == 0 ? tables[i].row : row;
    }
    int rc = rows_copy_open(copy, name, &flags);
    if (rc == 0) {
        rc = mdb_cursor_open(copy->d->read, copy->from_dbi, &copy->cursor);
    }
    if (rc == 0) {
        rc = rows_copy_rows(copy, row, flags);
        mdb_cursor_close(copy->cursor);
    }
    return rc;
}

/* ---- pages ---- */

/* The record of a page as it will be: nameless when it is forgotten, and not found on a page that
 * is. domain: of the page itself afterwards. */
static void rows_change_record(const ForgetDatabase *d, uint64_t index, PageRecord *record,
                               char *path)
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
        char url[FORGET_URL_BYTES];
        record->linked_hash = page_key_hash(url, forget_database_url(d, &parent, from, true, url));
    } else if (gone || from == PAGE_DB_NO_INDEX) {
        from = PAGE_DB_NO_INDEX;
        record->linked_hash = 0;
    }
    record->linked_from = from;
}

/* One record of idx2info, from the old pack to the new one. */
static int rows_write_info(Copy *copy, PagePackEditor *editor, uint64_t index)
{
    const ForgetDatabase *d = copy->d;
    PageRecord record;
    MDB_val bytes;
    char url[FORGET_URL_BYTES];
    char path[FORGET_NAME_BYTES];
    uint8_t head[PAGE_RECORD_MAX_BYTES];
    PageCrawl crawl;
    int rc = page_pack_find(d->read, copy->from_dbi, NULL, index, &bytes);
    if (rc != 0 || !page_record_read(bytes.mv_data, bytes.mv_size, index, 0, &record)) {
        return rc == 0 ? MDB_CORRUPTED : rc;
    }
    bool parent_gone = record.linked_from < d->n_pages && bits_has(d->pages, record.linked_from);
    if (bits_has(d->pages, index) || parent_gone) {
        uint32_t was =
            (uint32_t)(page_key_hash(url, forget_database_url(d, &record, index, false, url)) >>
                       32);
        (void)page_record_read(bytes.mv_data, bytes.mv_size, index, was, &record);
        uint32_t domain =
            (uint32_t)(page_key_hash(url, forget_database_url(d, &record, index, true, url)) >> 32);
        rows_change_record(d, index, &record, path);
        size_t n = page_record_write(&record, index, domain, head);
        buffer_reset(&copy->bytes);
        if (buffer_append(&copy->bytes, head, n) != RESULT_OK ||
            (record.crawled && (!page_crawl_read(record.crawl, record.crawl_length, &crawl) ||
                                page_crawl_append(&crawl, &copy->bytes) != RESULT_OK)) ||
            buffer_append(&copy->bytes, record.path, record.path_length) != RESULT_OK) {
            return ENOMEM;
        }
        bytes = (MDB_val){copy->bytes.length, copy->bytes.data};
    }
    page_pack_editor_append(editor, index, &bytes);
    return editor->rows.code;
}

static int rows_write_infos(Copy *copy)
{
    unsigned flags = 0;
    int rc = rows_copy_open(copy, "idx2info", &flags);
    for (uint64_t first = 0; rc == 0 && first < copy->d->n_pages; first += BATCH_ROWS) {
        PagePackEditor editor;
        uint64_t end =
            first + BATCH_ROWS < copy->d->n_pages ? first + BATCH_ROWS : copy->d->n_pages;
        page_pack_editor_begin(&editor, copy->write, copy->to_dbi, NULL);
        for (uint64_t i = first; rc == 0 && i < end; i++) {
            rc = rows_write_info(copy, &editor, i);
        }
        rc = page_pack_editor_end(&editor, rc);
        rc = rows_copy_turn(copy, rc);
    }
    return rc;
}

/* Forgotten pages are found by their new URLs, as any page by its own. */
static int rows_write_hashes(Copy *copy)
{
    const ForgetDatabase *d = copy->d;
    PageDBStore store = {.seed = d->seed, .hash_mask = UINT64_MAX};
    unsigned flags = 0;
    int rc = rows_copy_open(copy, "hash2idx", &flags);
    for (uint64_t i = 0; rc == 0 && i < d->n_pages; i++) {
        PageRecord record;
        char url[FORGET_URL_BYTES];
        uint8_t bytes[PAGE_ENTRY_BYTES];
        if (!bits_has(d->pages, i)) {
            continue;
        }
        if (!forget_database_record(d, i, &record)) {
            return MDB_CORRUPTED;
        }
        PageKey key = page_key_of(&store, url, forget_database_url(d, &record, i, true, url));
        PageEntry entry = {
            .url_hash = (uint32_t)key.hash,
            .print = key.print,
            .depth = (uint8_t)(record.depth < PAGE_MAX_DEPTH8 ? record.depth : PAGE_MAX_DEPTH8),
            .index = i};
        uint32_t domain = page_key_domain(&key);
        page_entry_write(&entry, bytes);
        MDB_val name = {sizeof domain, &domain};
        MDB_val value = {sizeof bytes, bytes};
        rc = mdb_put(copy->write, copy->to_dbi, &name, &value, 0);
    }
    return rows_copy_turn(copy, rc);
}

/* ---- links ---- */

/* A list without links to forgotten pages; in copy->bytes. */
static int rows_change_list(Copy *copy, uint64_t index, const uint8_t **list, size_t *length)
{
    const ForgetDatabase *d = copy->d;
    size_t bound = page_links_bound(*length), n = 0, n_diff = 0, kept = 0, kept_diff = 0;
    uint64_t *to = malloc(bound * sizeof *to);
    uint8_t *kinds = calloc(bound, 1);
    int rc = to == NULL || kinds == NULL ? ENOMEM : 0;
    if (rc == 0 && (!page_links_decode(index, *list, *length, false, to, &n_diff, &n) ||
                    (page_links_has_kinds(*list, *length) &&
                     !page_links_decode_kinds(*list, *length, kinds, n)))) {
        rc = MDB_CORRUPTED;
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (to[i] >= d->n_pages || !bits_has(d->pages, to[i])) {
            kept_diff += i < n_diff;
            to[kept++] = to[i] << PAGE_LINKS_KIND_BITS | kinds[i];
        }
    }
    buffer_reset(&copy->bytes);
    if (rc == 0 && kept < n) {
        rc = buffer_reserve(&copy->bytes, (kept + 3) * MAX_VARINT_SIZE + kept * 2) == RESULT_OK
                 ? 0
                 : ENOMEM;
    }
    if (rc == 0 && kept < n) {
        uint8_t *out = (uint8_t *)copy->bytes.data;
        *length = page_links_encode(index, to, kept_diff, kept, true, out);
        *list = out;
    }
    free(to);
    free(kinds);
    return rc;
}

static int rows_write_record_links(Copy *copy, PageLinksWriter *writer, uint64_t key,
                                   const MDB_val *record)
{
    PageLinksReader reader;
    const uint8_t *list = NULL;
    uint64_t index = 0;
    size_t length = 0;
    int rc = 0;
    int more = 0;
    page_links_reader_init(&reader, key, record);
    while (rc == 0 && (more = page_links_reader_next(&reader, &index, &list, &length)) == 1) {
        copy->rows++;
        if (!copy->d->targets->keep_graph) {
            if (rows_page_stays(copy, index) == 0) {
                continue;
            }
            rc = rows_change_list(copy, index, &list, &length);
        }
        if (rc == 0) {
            page_links_writer_put(writer, index, list, length);
            rc = writer->rows.code;
        }
    }
    return rc == 0 && more < 0 ? MDB_CORRUPTED : rc;
}

static int rows_write_links(Copy *copy)
{
    PageLinksWriter writer;
    MDB_val key, value;
    unsigned flags = 0;
    int rc = rows_copy_open(copy, "links", &flags);
    if (rc == 0) {
        rc = mdb_cursor_open(copy->d->read, copy->from_dbi, &copy->cursor);
    }
    if (rc != 0) {
        return rc;
    }
    rc = mdb_cursor_get(copy->cursor, &key, &value, MDB_FIRST);
    while (rc == 0) {
        int done = 0;
        page_links_writer_begin(&writer, copy->write, copy->to_dbi);
        for (unsigned n = 0; done == 0 && rc == 0 && n < BATCH_ROWS; n++) {
            done = rows_write_record_links(copy, &writer, forget_number(key.mv_data, key.mv_size),
                                           &value);
            rc = done == 0 ? mdb_cursor_get(copy->cursor, &key, &value, MDB_NEXT) : done;
        }
        done = page_links_writer_end(&writer, done);
        done = rows_copy_turn(copy, done);
        rc = done == 0 ? rc : done;
    }
    mdb_cursor_close(copy->cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* ---- hosts ---- */

static int rows_write_names(Copy *copy)
{
    unsigned flags = 0;
    int rc = rows_copy_open(copy, "origin2host", &flags);
    for (uint32_t host = 0; rc == 0 && host < copy->d->n_hosts; host++) {
        char name[FORGET_NAME_BYTES];
        if (rows_host_stays(copy, host) == 1) {
            continue;
        }
        uint64_t hash =
            hash_64(name, forget_database_origin(copy->d, host, true, name), copy->d->seed);
        MDB_val key = {sizeof hash, &hash}, value = {sizeof host, &host};
        rc = mdb_put(copy->write, copy->to_dbi, &key, &value, MDB_NOOVERWRITE);
    }
    return rc;
}

static int rows_put_front(Copy *copy, unsigned list, uint64_t number, unsigned bytes)
{
    unsigned char level = (unsigned char)list;
    unsigned char value[8];
    MDB_val key = {1, &level}, data = {bytes, value};
    schedule_store_bytes(value, number, bytes);
    return mdb_put(copy->write, copy->to_dbi, &key, &data, 0);
}

/* Hosts with work, each at its best level; how many URLs those have that are parked. */
static int rows_write_fronts(Copy *copy)
{
    ForgetDatabase *d = copy->d;
    unsigned flags = 0;
    unsigned char list = SCHEDULE_PARKED_LEVEL;
    uint64_t parked = 0;
    MDB_val key = {1, &list}, value;
    int rc = rows_copy_open(copy, "schedule_hosts", &flags);
    if (rc == 0) {
        rc = mdb_cursor_open(d->read, copy->from_dbi, &copy->cursor);
    }
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    int found = mdb_cursor_get(copy->cursor, &key, &value, MDB_SET);
    bool any = found == 0;
    for (; found == 0; found = mdb_cursor_get(copy->cursor, &key, &value, MDB_NEXT_DUP)) {
        uint64_t host = schedule_load_bytes(value.mv_data, SCHEDULE_HOST_BYTES);
        if (host < d->n_hosts) {
            parked += d->tallies[host].entries;
            d->tallies[host].entries = 0; /* not among those with work */
        }
    }
    mdb_cursor_close(copy->cursor);
    for (uint32_t host = 0; rc == 0 && host < d->n_hosts; host++) {
        if (d->tallies[host].entries > 0) {
            rc = rows_put_front(copy, d->tallies[host].best, host, SCHEDULE_HOST_BYTES);
        }
    }
    return rc == 0 && any ? rows_put_front(copy, SCHEDULE_PARKED_ENTRIES, parked, 8) : rc;
}

static uint64_t rows_less(uint64_t count, uint64_t n)
{
    return count > n ? count - n : 0;
}

/* A group has less by what one of its hosts has less. */
static Result rows_change_group(Copy *copy, GroupRows groups, uint64_t key, const HostRecord *was,
                                const HostRecord *is, bool gone)
{
    GroupRecord record;
    if (key == 0 || groups == 0) {
        return RESULT_OK;
    }
    Result rc = group_rows_get(groups, copy->write, key, &record);
    record.hosts = (uint32_t)rows_less(record.hosts, gone);
    record.pages = rows_less(record.pages, rows_less(was->pages, is->pages));
    record.queued = rows_less(record.queued, rows_less(was->queued, is->queued));
    return rc == RESULT_OK ? group_rows_put(groups, copy->write, key, &record) : rc;
}

/* The counters of a host are those of its pages; a forgotten one has nothing else. */
static Result rows_change_host(Copy *copy, HostRows *hosts, GroupRows groups, uint32_t host)
{
    const ForgetTally *tally = &copy->d->tallies[host];
    HostRecord was;
    bool gone = rows_host_stays(copy, host) == 0;
    Result rc = host_rows_get(hosts, copy->write, host, &was);
    HostRecord record = was;
    if (gone) {
        record = (HostRecord){.state = HOST_ACTIVE};
    }
    uint32_t stored = record.pages + record.duplicates;
    record.urls = tally->urls;
    record.robots_denied = tally->denied;
    record.queued = tally->queued;
    record.idle = tally->best == FORGET_NO_LEVEL ? 1 : record.idle;
    if (tally->again ? stored < tally->good : stored != tally->good) {
        record.duplicates = record.duplicates < tally->good ? record.duplicates : 0;
        record.pages = tally->good - record.duplicates;
    }
    if (rc == RESULT_OK) {
        rc = host_rows_put(hosts, copy->write, host, &record);
    }
    if (rc == RESULT_OK) {
        rc = rows_change_group(copy, groups, was.domain, &was, &record, gone);
    }
    return rc == RESULT_OK ? rows_change_group(copy, groups, was.address, &was, &record, gone) : rc;
}

/* ---- all of it ---- */

/* All named tables; those of pages and links have functions of their own. */
static int rows_write_tables(Copy *copy)
{
    MDB_dbi main_dbi = 0;
    MDB_cursor *names = NULL;
    MDB_val key, value;
    int rc = mdb_dbi_open(copy->d->read, NULL, 0, &main_dbi);
    if (rc == 0) {
        rc = mdb_cursor_open(copy->d->read, main_dbi, &names);
    }
    while (rc == 0 && (rc = mdb_cursor_get(names, &key, &value, MDB_NEXT)) == 0) {
        char name[FORGET_NAME_BYTES] = {0};
        if (key.mv_size >= sizeof name) {
            continue;
        }
        memcpy(name, key.mv_data, key.mv_size);
        if (strcmp(name, "idx2info") != 0 && strcmp(name, "links") != 0) {
            rc = rows_copy_table(copy, name);
        }
        rc = rows_copy_turn(copy, rc);
    }
    mdb_cursor_close(names);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int rows_open_new(Copy *copy, const char *path)
{
    MDB_envinfo info;
    int rc = mdb_env_info(copy->d->from, &info);
    /* Synced once, at the end: until then nobody counts on it. */
    if (rc == 0) {
        rc = lmdb_env_open(&copy->to, path, MDB_NOSYNC, PAGE_DIRECTORY_MAX_TABLES, info.me_mapsize,
                           0);
    }
    return rows_copy_turn(copy, rc);
}

static Result rows_write_all(Copy *copy, const WarcEnd *end)
{
    int (*const parts[])(Copy *) = {rows_write_tables, rows_write_outbox, rows_write_infos,
                                    rows_write_hashes, rows_write_links,  rows_write_names,
                                    rows_write_fronts};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++) {
        rc = parts[i](copy);
    }
    Result result = lmdb_result(rc, "write the database anew");
    if (result == RESULT_OK) {
        /* Last, because hosts and groups were copied as they are: what their pages have less is
         * taken off the copies. */
        ForgetDatabase *d = copy->d;
        HostRows *hosts = NULL;
        GroupRows groups = 0;
        result = host_rows_open(&hosts, copy->write, NULL);
        if (result == RESULT_OK) {
            result =
                lmdb_table_open(&groups, copy->write, GROUP_TABLE, MDB_CREATE | MDB_INTEGERKEY);
        }
        for (uint32_t host = 0; result == RESULT_OK && host < d->n_hosts; host++) {
            if (d->tallies[host].touched || bits_has(d->hosts, host)) {
                result = rows_change_host(copy, hosts, groups, host);
            }
        }
        host_rows_close(hosts);
    }
    if (result == RESULT_OK && end->file > 0) {
        result = warc_end_put(copy->write, end);
    }
    if (result == RESULT_OK) {
        rc = mdb_txn_commit(copy->write);
        copy->write = NULL;
        result = lmdb_result(rc == 0 ? mdb_env_sync(copy->to, 1) : rc, "sync the new database");
    }
    return result;
}

Result forget_rows_write(ForgetDatabase *d, const char *path, const WarcEnd *end, Buffer *error)
{
    Copy copy = {.d = d};
    buffer_init(&copy.bytes, BUFFER_NO_LIMIT);
    int rc = rows_open_new(&copy, path);
    Result result = lmdb_result(rc, "make a new database");
    if (result == RESULT_OK) {
        result = rows_write_all(&copy, end);
    }
    if (result != RESULT_OK) {
        (void)buffer_printf(error, "%s: the database cannot be written anew: %s", path,
                            result_name(result));
    }
    mdb_txn_abort(copy.write);
    mdb_env_close(copy.to);
    map_destroy(&copy.texts);
    buffer_destroy(&copy.bytes);
    return result;
}
