#include "command/forget/forget_rows.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/memory/bits.h"
#include "store/archive/capture_index.h"
#include "store/format/page_links.h"
#include "store/page_tables/page_key.h"
#include "store/pages/page_db_open.h"
#include "store/tables/page_rows.h"
#include "store/tables/host_rows.h"
#include "store/tables/robots_rows.h"

#define BATCH_ROWS 65536u /* of a transaction of the new database; a multiple of a pack */

/* ---- rows ---- */

/* A table that is being copied.
 *
 * What follows from what, in the order of rows_write_all:
 *
 *   1. tables     row by row, in order, appended; what is forgotten is left out or changed
 *   2. outbox     the rest of blocks that named something forgotten, behind those that stayed
 *   3. idx2info   every page has a record: forgotten ones get their new name
 *   4. hash2idx   forgotten pages enter under the hash of that name
 *   5. links      lists without forgotten pages
 *   6. names      forgotten hosts enter under the hash of their new name
 *   7. fronts     the table of hosts with work, from the tallies of step 1
 *   8. hosts      counters and groups, less what is gone
 *
 * 1 appends, so it must come before 4, 6 and 7, which put new keys into the same tables. Each step
 * commits as it goes; a kill leaves a folder that the next run of the order throws away. */
typedef struct Copy {
    ForgetDatabase *d;
    MDB_env *to;
    MDB_txn *write;
    MDB_dbi from_dbi;
    MDB_dbi to_dbi;
    int code; /* of LMDB: the first that was not 0; nothing is written behind it */
    uint64_t rows;
    Buffer bytes; /* of a changed value */
    Map texts;    /* of robots.txt: how many references to each are gone */
} Copy;

/* 1: the row stays, as key and value say now; 0: it goes; else an LMDB code. */
typedef int (*CopyRow)(Copy *copy, const MDB_val *key, MDB_val *value);

/* Notes what a step has come to. false: it, or one before it, has failed. */
static bool rows_note(Copy *copy, int code)
{
    copy->code = copy->code == 0 ? code : copy->code;
    return copy->code == 0;
}

static int rows_of_result(Result rc)
{
    if (rc != RESULT_OK) {
        return rc == RESULT_MEMORY ? ENOMEM : MDB_CORRUPTED;
    }
    return 0;
}

/* The row stays with another value, which is that of copy->bytes. */
static int rows_stays_as(Copy *copy, const void *bytes, size_t length, MDB_val *value)
{
    buffer_reset(&copy->bytes);
    Result rc = buffer_append(&copy->bytes, bytes, length);
    *value = (MDB_val){copy->bytes.length, copy->bytes.data};
    return rc == RESULT_OK ? 1 : ENOMEM;
}

/* Pages and hosts beyond those that were looked at have no mark. There are none in a crawl that
 * ended; a damaged row that names one is kept, because verify tells it better than its absence. */
static int rows_page_stays(const Copy *copy, uint64_t page)
{
    return page >= copy->d->n_pages || !bits_has(copy->d->pages, page);
}

static int rows_host_stays(const Copy *copy, uint64_t host)
{
    return host >= copy->d->n_hosts || !bits_has(copy->d->hosts, host);
}

static int rows_row_by_page(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)value;
    return rows_page_stays(copy, forget_number(key->mv_data, key->mv_size));
}

static int rows_row_by_host(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)value;
    return rows_host_stays(copy, forget_number(key->mv_data, key->mv_size));
}

/* A robots.txt goes; the text that it may refer to is counted, and goes with its last one. The
 * count is kept in the map's pointer itself, which is why 0 can stand for "none is gone". */
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

/* By host, and in robots_history by host and version. */
static int rows_row_of_robots(Copy *copy, const MDB_val *key, MDB_val *value)
{
    uint64_t number = forget_number(key->mv_data, key->mv_size);
    bool stays = rows_host_stays(copy, key->mv_size == 8 ? number >> 32 : number) == 1;
    return stays ? 1 : rows_robots_go(copy, value);
}

static int rows_row_of_text(Copy *copy, const MDB_val *key, MDB_val *value)
{
    MapKey hash = {.low = forget_number(key->mv_data, key->mv_size)};
    uintptr_t gone = (uintptr_t)map_get(&copy->texts, hash);
    /* The row begins with the number of its references. robots_texts comes behind both tables that
     * refer to it, so the number of those that are gone is final. */
    uint32_t references = (uint32_t)forget_number(value->mv_data, sizeof references);
    if (gone == 0 || gone >= references) {
        return gone == 0;
    }
    references -= (uint32_t)gone;
    int stays = rows_stays_as(copy, value->mv_data, value->mv_size, value);
    if (stays == 1) {
        memcpy(copy->bytes.data, &references, sizeof references);
    }
    return stays;
}

static int rows_row_of_schedule(Copy *copy, const MDB_val *key, MDB_val *value)
{
    uint32_t host = schedule_key_host(key);
    uint16_t level = (uint16_t)schedule_key_level(key);
    int stays = rows_page_stays(copy, schedule_load_bytes(value->mv_data, SCHEDULE_INDEX_BYTES));
    /* Rows of schedule name their host in the key. What stays of it is what rows_write_fronts and
     * the wait of the host are made of. */
    ForgetTally *tally = host < copy->d->n_hosts ? &copy->d->tallies[host] : NULL;
    if (stays == 1 && tally != NULL) {
        tally->entries++;
        tally->best = level < tally->best ? level : tally->best;
    }
    return stays;
}

/* Of the table of hosts with work only what is no level is copied; the rest follows from the
 * schedule (write_fronts). */
static int rows_row_of_fronts(Copy *copy, const MDB_val *key, MDB_val *value)
{
    unsigned level = *(const unsigned char *)key->mv_data;
    uint32_t host = (uint32_t)schedule_load_bytes(value->mv_data, SCHEDULE_HOST_BYTES);
    return level == SCHEDULE_VERSION_LEVEL ||
           (level == SCHEDULE_PARKED_LEVEL && rows_host_stays(copy, host) == 1);
}

/* A host whose URLs are all gone waits for nothing. */
static int rows_row_of_wait(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)value;
    uint64_t host = schedule_load_bytes((const char *)key->mv_data + 8, 4);
    return rows_host_stays(copy, host) == 1 &&
           (host >= copy->d->n_hosts || copy->d->tallies[host].best != FORGET_NO_LEVEL);
}

/* The number of a host is its place in this table, so its row stays and gets the new name. The
 * first byte is 0 in every row (page_hosts.c). */
static int rows_row_of_origin(Copy *copy, const MDB_val *key, MDB_val *value)
{
    uint32_t host = (uint32_t)forget_number(key->mv_data, key->mv_size);
    if (rows_host_stays(copy, host) == 1) {
        return 1;
    }
    char name[FORGET_NAME_BYTES + 1] = {0};
    size_t n = forget_database_origin(copy->d, host, true, name + 1);
    return rows_stays_as(copy, name, n + 1, value);
}

/* Hosts that share a hash share a row, four bytes each. Those that are forgotten leave it, and are
 * entered under their new names by rows_write_names. */
static int rows_row_of_names(Copy *copy, const MDB_val *key, MDB_val *value)
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

/* Forgotten pages leave the entry of their old URL, which is a hash of it: who has a URL could ask
 * whether it was there. rows_write_hashes puts them in again. */
static int rows_row_of_hash(Copy *copy, const MDB_val *key, MDB_val *value)
{
    PageEntry entry;
    (void)key;
    page_entry_read(value->mv_data, &entry);
    return rows_page_stays(copy, entry.index);
}

/* The two kinds of rows are told apart by the length of the key (body_rows.h): fingerprint -> page,
 * or page -> fingerprint. */
static int rows_row_of_body(Copy *copy, const MDB_val *key, MDB_val *value)
{
    uint64_t page =
        key->mv_size == 8 ? forget_number(key->mv_data, 8) : forget_number(value->mv_data, 8);
    return rows_page_stays(copy, page);
}

/* A page, big-endian, is the end of a key: behind the due time; or of a value: behind a rotated
 * hash, or the due time in a line of revisits. */
static int rows_last_stays(const Copy *copy, const MDB_val *bytes)
{
    size_t n = bytes->mv_size;
    return n <= 8 ||
           rows_page_stays(copy, schedule_load_bytes((const char *)bytes->mv_data + n - 8, 8));
}

static int rows_row_by_key_end(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)value;
    return rows_last_stays(copy, key);
}

static int rows_row_by_value_end(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)key;
    return rows_last_stays(copy, value);
}

/* The spelling of a URL for scope.dedup_key: a text, and it may be that of a URL that has no
 * page. */
static int rows_row_of_spelling(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)key;
    size_t n = strnlen(value->mv_data, value->mv_size);
    return !forget_means_url(copy->d->targets, value->mv_data, n);
}

static int rows_row_of_payload(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)key;
    PayloadRow row;
    /* A row that cannot be read names nothing. */
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

/* Jobs and their places in line end with the page. What was learned of requisites and texts, which
 * may be those of what is meant, is learned anew; lessons of patterns name no page. */
static int rows_row_of_render(Copy *copy, const MDB_val *key, MDB_val *value)
{
    (void)value;
    char kind = *(const char *)key->mv_data;
    if (kind == 'f' || kind == 'd' || kind == 's') {
        return 0;
    }
    return kind == 'j' || kind == 'q' || kind == 'l' ? rows_last_stays(copy, key) : 1;
}

/* Links out of scope, without those that are meant. */
static int rows_row_of_external(Copy *copy, const MDB_val *key, MDB_val *value)
{
    Buffer list = {.limit = BUFFER_NO_LIMIT};
    size_t kept = 0;
    if (rows_row_by_page(copy, key, value) == 0) {
        return 0;
    }
    /* A list is one byte of kind, a URL and its NUL, again and again. It is packed anew only when
     * something was left out of it: most pages have no such link. */
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
    return rc == RESULT_OK ? kept > 0 : rows_of_result(rc);
}

/* ---- what waits for other agents ---- */

static int rows_row_of_outbox(Copy *copy, const MDB_val *key, MDB_val *value)
{
    bool named = false;
    (void)key;
    int rc = rows_of_result(
        forget_read_block(copy->d->targets, value->mv_data, value->mv_size, 0, NULL, &named));
    return rc == 0 ? !named : rc;
}

/* A block that was not copied: what is left of it becomes a row of its own, behind the last one of
 * the same agent. The outbox counts its blocks and bytes in a row of the table `crawl`, which was
 * copied with the counts of all: so the old block is taken off here, and what is written is added
 * by the draft. The key begins with the agent it is for, in its high 16 bits. */
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

/* Reads the old outbox a second time. While the table was copied its rows were appended, and a row
 * that is put between would have broken that. */
static void rows_write_outbox(Copy *copy)
{
    Outbox outbox;
    OutboxDraft draft;
    MDB_dbi crawl = 0;
    MDB_dbi from = 0;
    LmdbRows rows;
    if (!copy->d->is_shared || !rows_note(copy, mdb_dbi_open(copy->write, "crawl", 0, &crawl)) ||
        !rows_note(copy,
                   outbox_open(&outbox, copy->write, crawl) == RESULT_OK ? 0 : MDB_CORRUPTED) ||
        !rows_note(copy, forget_table(copy->d->read, "outbox", &from))) {
        return;
    }
    outbox_draft_init(&draft, &outbox);
    lmdb_rows_begin(&rows, copy->d->read, from, (MDB_val){0});
    while (copy->code == 0 && lmdb_rows_next(&rows)) {
        int stays = rows_row_of_outbox(copy, &rows.key, &rows.value);
        (void)rows_note(copy, stays == 1 ? 0 : stays);
        if (stays == 0) {
            (void)rows_note(copy, rows_write_rest(copy, &draft, &rows.key, &rows.value));
        }
    }
    outbox_draft_destroy(&draft);
    (void)rows_note(copy, lmdb_rows_close(&rows, 0));
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
    {"robots_history", rows_row_of_robots},
    {"robots_texts", rows_row_of_text},
    {"bodies", rows_row_of_body},
    {"near", rows_row_by_value_end},
    {"near_sketches", rows_row_by_page},
    {"keys", rows_row_of_spelling},
    {"captures", rows_row_by_page},
    {"payloads", rows_row_of_payload},
    {"freq_schedule", rows_row_by_key_end},
    {"freq_pages", rows_row_by_page},
    {"revisit_lines", rows_row_by_value_end},
    {"revisit_notes", rows_row_by_page},
    {"revisit_numbers", rows_row_by_page},
    {"renders", rows_row_of_render},
    {"external", rows_row_of_external},
    {"vias", rows_row_by_page},
    {"outbox", rows_row_of_outbox},
};

/* Rows that keep their order are appended (rows_copy_table), which fills the pages of the new
 * database and needs no search. What gets a new key, forgotten pages and hosts, is put behind them
 * by functions of its own. */

/* Commits what was written; the rest goes on in another transaction. After an error what is not
 * committed stays open for its end. */
static void rows_copy_turn(Copy *copy)
{
    if (copy->code == 0 && copy->write != NULL) {
        copy->code = mdb_txn_commit(copy->write);
        copy->write = NULL;
    }
    if (copy->code == 0) {
        copy->code = mdb_txn_begin(copy->to, NULL, 0, &copy->write);
    }
}

static void rows_put(Copy *copy, MDB_val key, MDB_val value, unsigned flags)
{
    if (copy->code == 0) {
        copy->code = mdb_put(copy->write, copy->to_dbi, &key, &value, flags);
    }
}

/* Opens a table in both databases. Returns how it is ordered. */
static unsigned rows_copy_open(Copy *copy, const char *name)
{
    unsigned flags = 0;
    if (copy->code == 0 && rows_note(copy, forget_table(copy->d->read, name, &copy->from_dbi)) &&
        rows_note(copy, mdb_dbi_flags(copy->d->read, copy->from_dbi, &flags))) {
        (void)rows_note(copy, mdb_dbi_open(copy->write, name, flags | MDB_CREATE, &copy->to_dbi));
    }
    return flags;
}

/* MDB_APPEND fails with MDB_KEYEXIST when a row is out of order; so it also proves that no function
 * above changed a key. */
static void rows_copy_table(Copy *copy, const char *name)
{
    CopyRow row = NULL;
    LmdbRows rows;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        row = strcmp(tables[i].name, name) == 0 ? tables[i].row : row;
    }
    unsigned put = (rows_copy_open(copy, name) & MDB_DUPSORT) != 0 ? MDB_APPENDDUP : MDB_APPEND;
    lmdb_rows_begin(&rows, copy->d->read, copy->from_dbi, (MDB_val){0});
    while (copy->code == 0 && lmdb_rows_next(&rows)) {
        MDB_val value = rows.value;
        int stays = row == NULL ? 1 : row(copy, &rows.key, &value);
        if (stays == 1) {
            rows_put(copy, rows.key, value, put);
        } else {
            (void)rows_note(copy, stays);
        }
        if (++copy->rows % BATCH_ROWS == 0) {
            rows_copy_turn(copy);
        }
    }
    (void)rows_note(copy, lmdb_rows_close(&rows, 0));
}

/* ---- pages ---- */

/* One record of idx2info, from the old pack to the new one. */
static int rows_write_info(Copy *copy, PagePackEditor *editor, uint64_t index)
{
    const ForgetDatabase *d = copy->d;
    PageRecord record;
    MDB_val bytes;
    char path[FORGET_NAME_BYTES];
    uint8_t head[PAGE_RECORD_MAX_BYTES];
    PageCrawl crawl;
    int rc = page_pack_find(d->read, copy->from_dbi, NULL, index, &bytes);
    if (rc != 0 || !page_record_read(bytes.mv_data, bytes.mv_size, index, 0, &record)) {
        return rc == 0 ? MDB_CORRUPTED : rc;
    }
    /* A record is rewritten when its page is forgotten, or the page on which it was found: its path
     * to a seed leads over a nameless page then. All others are copied byte by byte. */
    bool parent_gone = record.linked_from < d->n_pages && bits_has(d->pages, record.linked_from);
    if (bits_has(d->pages, index) || parent_gone) {
        /* Read twice: a record is relative to its domain hash, which follows from the URL, and that
         * from the record. The first reading finds host and path, which do not depend on it. */
        uint32_t was = (uint32_t)(forget_database_hash(d, &record, index, false) >> 32);
        (void)page_record_read(bytes.mv_data, bytes.mv_size, index, was, &record);
        uint32_t domain = (uint32_t)(forget_database_hash(d, &record, index, true) >> 32);
        forget_database_change(d, index, &record, path);
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

/* A transaction ends between two packs, since BATCH_ROWS is a multiple of a pack: an editor that
 * ended within one would have to read it again. */
static void rows_write_infos(Copy *copy)
{
    uint64_t n_pages = copy->d->n_pages;
    (void)rows_copy_open(copy, "idx2info");
    for (uint64_t first = 0; copy->code == 0 && first < n_pages; first += BATCH_ROWS) {
        PagePackEditor editor;
        uint64_t end = first + BATCH_ROWS < n_pages ? first + BATCH_ROWS : n_pages;
        page_pack_editor_begin(&editor, copy->write, copy->to_dbi, NULL);
        for (uint64_t i = first; copy->code == 0 && i < end; i++) {
            (void)rows_note(copy, rows_write_info(copy, &editor, i));
        }
        copy->code = page_pack_editor_end(&editor, copy->code);
        rows_copy_turn(copy);
    }
}

/* Forgotten pages are found by their new URLs, as any page by its own. */
static void rows_write_hashes(Copy *copy)
{
    const ForgetDatabase *d = copy->d;
    PageDBStore store = {.seed = d->seed, .hash_mask = UINT64_MAX};
    (void)rows_copy_open(copy, "hash2idx");
    for (uint64_t i = 0; copy->code == 0 && i < d->n_pages; i++) {
        PageRecord record;
        char url[FORGET_URL_BYTES];
        uint8_t bytes[PAGE_ENTRY_BYTES];
        if (!bits_has(d->pages, i)) {
            continue;
        }
        if (!forget_database_record(d, i, &record)) {
            copy->code = MDB_CORRUPTED;
            return;
        }
        PageKey key = page_key_of(&store, url, forget_database_url(d, &record, i, true, url));
        PageEntry entry = {
            .url_hash = (uint32_t)key.hash,
            .print = key.print,
            .depth = (uint8_t)(record.depth < PAGE_MAX_DEPTH8 ? record.depth : PAGE_MAX_DEPTH8),
            .index = i};
        uint32_t domain = page_key_domain(&key);
        page_entry_write(&entry, bytes);
        /* No APPEND: the new hashes lie anywhere among the old ones. */
        rows_put(copy, lmdb_bytes(&domain, sizeof domain), lmdb_bytes(bytes, sizeof bytes), 0);
    }
    rows_copy_turn(copy);
}

/* ---- links ---- */

/* A list without links to forgotten pages; in copy->bytes. */
static int rows_change_list(Copy *copy, uint64_t index, const uint8_t **list, size_t *length)
{
    /* With --keep-graph this is not called: lists stay as they are. */
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
        if (rows_page_stays(copy, to[i]) == 1) {
            kept_diff += i < n_diff;
            /* In place: kept never overtakes i. The encoder wants target and kind in one number. */
            to[kept++] = to[i] << PAGE_LINKS_KIND_BITS | kinds[i];
        }
    }
    buffer_reset(&copy->bytes);
    if (rc == 0 && kept < n) {
        rc = rows_of_result(buffer_reserve(&copy->bytes, (kept + 3) * MAX_VARINT_SIZE + kept * 2));
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

static void rows_write_record_links(Copy *copy, PageLinksWriter *writer, uint64_t key,
                                    const MDB_val *record)
{
    PageLinksReader reader;
    const uint8_t *list = NULL;
    uint64_t index = 0;
    size_t length = 0;
    int more = 0;
    bool is_whole = copy->d->targets->keep_graph;
    /* A record holds the lists of several pages. One that becomes empty is written all the same: it
     * says that the page was read and has no links. */
    page_links_reader_init(&reader, key, record);
    while (copy->code == 0 &&
           (more = page_links_reader_next(&reader, &index, &list, &length)) == 1) {
        copy->rows++;
        if ((is_whole || rows_page_stays(copy, index) == 1) &&
            rows_note(copy, is_whole ? 0 : rows_change_list(copy, index, &list, &length))) {
            page_links_writer_put(writer, index, list, length);
            copy->code = writer->rows.code;
        }
    }
    (void)rows_note(copy, more < 0 ? MDB_CORRUPTED : 0);
}

static void rows_write_links(Copy *copy)
{
    PageLinksWriter writer;
    LmdbRows rows;
    (void)rows_copy_open(copy, "links");
    lmdb_rows_begin(&rows, copy->d->read, copy->from_dbi, (MDB_val){0});
    for (bool more = lmdb_rows_next(&rows); copy->code == 0 && more;) {
        page_links_writer_begin(&writer, copy->write, copy->to_dbi);
        for (unsigned n = 0; copy->code == 0 && more && n < BATCH_ROWS; n++) {
            rows_write_record_links(copy, &writer,
                                    forget_number(rows.key.mv_data, rows.key.mv_size), &rows.value);
            more = lmdb_rows_next(&rows);
        }
        copy->code = page_links_writer_end(&writer, copy->code);
        rows_copy_turn(copy);
    }
    (void)rows_note(copy, lmdb_rows_close(&rows, 0));
}

/* ---- hosts ---- */

static void rows_write_names(Copy *copy)
{
    (void)rows_copy_open(copy, "origin2host");
    for (uint32_t host = 0; host < copy->d->n_hosts; host++) {
        char name[FORGET_NAME_BYTES];
        if (rows_host_stays(copy, host) == 1) {
            continue;
        }
        uint64_t hash =
            hash_64(name, forget_database_origin(copy->d, host, true, name), copy->d->seed);
        rows_put(copy, lmdb_bytes(&hash, sizeof hash), lmdb_bytes(&host, sizeof host),
                 MDB_NOOVERWRITE);
    }
}

static void rows_put_front(Copy *copy, unsigned list, uint64_t number, unsigned bytes)
{
    unsigned char level = (unsigned char)list;
    unsigned char value[8];
    schedule_store_bytes(value, number, bytes);
    rows_put(copy, lmdb_bytes(&level, 1), lmdb_bytes(value, bytes), 0);
}

/* Hosts with work, each at its best level; how many URLs those have that are parked. */
static void rows_write_fronts(Copy *copy)
{
    ForgetDatabase *d = copy->d;
    unsigned char list = SCHEDULE_PARKED_LEVEL;
    uint64_t parked = 0;
    LmdbRows rows;
    (void)rows_copy_open(copy, "schedule_hosts");
    if (copy->code != 0) {
        /* A crawl that never scheduled anything has no such table. */
        copy->code = copy->code == MDB_NOTFOUND ? 0 : copy->code;
        return;
    }
    lmdb_rows_open(&rows, d->read, copy->from_dbi);
    rows.key = lmdb_bytes(&list, 1);
    bool any = lmdb_rows_get(&rows, MDB_SET);
    for (bool more = any; more; more = lmdb_rows_get(&rows, MDB_NEXT_DUP)) {
        uint64_t host = schedule_load_bytes(rows.value.mv_data, SCHEDULE_HOST_BYTES);
        if (host < d->n_hosts) {
            parked += d->tallies[host].entries;
            d->tallies[host].entries = 0; /* not among those with work */
        }
    }
    (void)rows_note(copy, lmdb_rows_close(&rows, 0));
    for (uint32_t host = 0; host < d->n_hosts; host++) {
        if (d->tallies[host].entries > 0) {
            rows_put_front(copy, d->tallies[host].best, host, SCHEDULE_HOST_BYTES);
        }
    }
    if (any) {
        rows_put_front(copy, SCHEDULE_PARKED_ENTRIES, parked, 8);
    }
}

/* Counters that are already too low stop at 0 instead of going around: verify will tell. */
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
    /* A crawl that fetched pages again counts some of them more than once, so there only too few
     * stored ones are wrong; otherwise both must agree. Duplicates keep their number as long as it
     * can be true. */
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

/* Behind all tables, because hosts and groups were copied as they are: what their pages have less
 * is taken off the copies. */
static Result rows_change_hosts(Copy *copy)
{
    const ForgetDatabase *d = copy->d;
    HostRows *hosts = NULL;
    GroupRows groups = 0;
    Result rc = host_rows_open(&hosts, copy->write, NULL);
    if (rc == RESULT_OK) {
        rc = lmdb_table_open(&groups, copy->write, GROUP_TABLE, MDB_CREATE | MDB_INTEGERKEY);
    }
    for (uint32_t host = 0; rc == RESULT_OK && host < d->n_hosts; host++) {
        if (d->tallies[host].touched || bits_has(d->hosts, host)) {
            rc = rows_change_host(copy, hosts, groups, host);
        }
    }
    host_rows_close(hosts);
    return rc;
}

/* ---- all of it ---- */

/* All named tables; those of pages and links have functions of their own. */
static void rows_write_tables(Copy *copy)
{
    MDB_dbi main_dbi = 0;
    LmdbRows names;
    (void)rows_note(copy, mdb_dbi_open(copy->d->read, NULL, 0, &main_dbi));
    lmdb_rows_begin(&names, copy->d->read, main_dbi, (MDB_val){0});
    while (copy->code == 0 && lmdb_rows_next(&names)) {
        char name[FORGET_NAME_BYTES] = {0};
        if (names.key.mv_size >= sizeof name) {
            continue;
        }
        memcpy(name, names.key.mv_data, names.key.mv_size);
        if (strcmp(name, "idx2info") != 0 && strcmp(name, "links") != 0) {
            rows_copy_table(copy, name);
        }
        rows_copy_turn(copy);
    }
    (void)rows_note(copy, lmdb_rows_close(&names, 0));
}

static void rows_open_new(Copy *copy, const char *path)
{
    MDB_envinfo info;
    /* Synced once, at the end: until then nobody counts on it. */
    if (rows_note(copy, mdb_env_info(copy->d->from, &info))) {
        copy->code = lmdb_env_open(&copy->to, path, MDB_NOSYNC, PAGE_DIRECTORY_MAX_TABLES,
                                   info.me_mapsize, 0);
    }
    rows_copy_turn(copy);
}

static Result rows_write_all(Copy *copy, const WarcEnd *end)
{
    void (*const parts[])(Copy *) = {rows_write_tables, rows_write_outbox, rows_write_infos,
                                     rows_write_hashes, rows_write_links,  rows_write_names,
                                     rows_write_fronts};
    for (size_t i = 0; copy->code == 0 && i < sizeof parts / sizeof *parts; i++) {
        parts[i](copy);
    }
    Result rc = lmdb_result(copy->code, "write the database anew");
    if (rc == RESULT_OK) {
        rc = rows_change_hosts(copy);
    }
    /* The end of the WARC files is in the same commit as the last rows: the new database must not
     * name bytes that the rewritten files do not have. */
    if (rc == RESULT_OK && end->file > 0) {
        rc = warc_end_put(copy->write, end);
    }
    if (rc == RESULT_OK) {
        int code = mdb_txn_commit(copy->write);
        copy->write = NULL;
        rc = lmdb_result(code == 0 ? mdb_env_sync(copy->to, 1) : code, "sync the new database");
    }
    return rc;
}

Result forget_rows_write(ForgetDatabase *d, const char *path, const WarcEnd *end, Buffer *error)
{
    Copy copy = {.d = d, .bytes = {.limit = BUFFER_NO_LIMIT}};
    rows_open_new(&copy, path);
    Result rc = lmdb_result(copy.code, "make a new database");
    if (rc == RESULT_OK) {
        rc = rows_write_all(&copy, end);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: the database cannot be written anew: %s", path,
                            result_name(rc));
    }
    /* After a commit this is NULL, which LMDB allows. */
    mdb_txn_abort(copy.write);
    mdb_env_close(copy.to);
    map_destroy(&copy.texts);
    buffer_destroy(&copy.bytes);
    return rc;
}
