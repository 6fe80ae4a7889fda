#include "store/tables/host_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "store/lmdb/lmdb_result.h"
#include "store/tables/robots_rows.h"

/* ---- Host parking ---- */

Result host_parking_set_aside(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                              HostState state, uint8_t why, int64_t now_ms, uint64_t *urls)
{
    record->state = (uint8_t)state;
    record->drop_class = why;
    record->parked_ms = now_ms;
    return schedule_park(schedule, txn, host, urls);
}

void host_parking_cure(HostRecord *record)
{
    record->drop_class = 0;
    record->failures = 0;
    record->closed = 0;
    record->last_failure = 0;
    record->wall_mark = 0;
    record->rests = 0;
    record->not_before_ms = 0;
    record->parked_ms = 0;
    record->noted_ms = 0;
    record->rested_ms = 0;
    record->extra_ms = 0;
    record->recheck_ms = 0;
    record->retried_until_ms = 0;
}

Result host_parking_bring_back(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                               uint64_t *urls, unsigned *level)
{
    *urls = 0;
    *level = SCHEDULE_NO_LEVEL;
    if (!host_is_aside(record)) {
        return RESULT_OK;
    }
    record->state = HOST_ACTIVE;
    host_parking_cure(record);
    return schedule_unpark(schedule, txn, host, urls, level);
}

/* ---- Wait table ---- */

#define KEY_BYTES   12u /* time and host, big-endian: in order of time */
#define VALUE_BYTES 2u  /* class, failures */

struct WaitRows {
    MDB_dbi dbi;
};

Result wait_rows_open(WaitRows **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, "waits", MDB_CREATE, sizeof **out, &rc);
    return rc;
}

void wait_rows_close(WaitRows *table)
{
    free(table);
}

static void write_key(unsigned char key[KEY_BYTES], int64_t until_ms, uint32_t host)
{
    schedule_store_bytes(key, (uint64_t)until_ms, 8);
    schedule_store_bytes(key + 8, host, 4);
}

static WaitEntry read_entry(const MDB_val *key, const MDB_val *value)
{
    const unsigned char *k = key->mv_data;
    const unsigned char *v = value->mv_data;
    return (WaitEntry){.until_ms = (int64_t)schedule_load_bytes(k, 8),
                       .host = (uint32_t)schedule_load_bytes(k + 8, 4),
                       .class = v[0],
                       .failures = v[1]};
}

bool wait_rows_entry(uint32_t host, const HostRecord *record, WaitEntry *entry)
{
    *entry = (WaitEntry){.until_ms = record->not_before_ms,
                         .host = host,
                         .class = record->last_failure,
                         .failures = record->closed != 0 ? 0 : record->failures};
    bool waits = record->failures > 0 || record->closed != 0;
    return record->state == HOST_ACTIVE && waits && record->not_before_ms > 0 && !record->idle;
}

Result wait_rows_follow(WaitRows *table, MDB_txn *txn, uint32_t host, int64_t from_ms,
                        const HostRecord *record)
{
    unsigned char key_bytes[KEY_BYTES];
    MDB_val key = {KEY_BYTES, key_bytes};
    WaitEntry entry;
    int rc = MDB_SUCCESS;
    bool waits = wait_rows_entry(host, record, &entry);
    if (from_ms != 0 && (!waits || entry.until_ms != from_ms)) {
        write_key(key_bytes, from_ms, host);
        rc = mdb_del(txn, table->dbi, &key, NULL);
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc; /* a repair has changed the record alone */
    }
    if (rc == MDB_SUCCESS && waits) {
        unsigned char value_bytes[VALUE_BYTES] = {entry.class, entry.failures};
        MDB_val value = {VALUE_BYTES, value_bytes};
        write_key(key_bytes, entry.until_ms, host);
        rc = mdb_put(txn, table->dbi, &key, &value, 0);
    }
    return lmdb_result(rc, "follow waits");
}

Result wait_rows_count(WaitRows *table, MDB_txn *txn, uint64_t *n)
{
    MDB_stat stat = {.ms_entries = 0};
    int rc = mdb_stat(txn, table->dbi, &stat);
    *n = stat.ms_entries;
    return lmdb_result(rc, "count waits");
}

Result wait_rows_count_closed(WaitRows *table, MDB_txn *txn, uint64_t *n)
{
    WaitEntry entries[64];
    WaitEntry last;
    const WaitEntry *after = NULL;
    size_t got = 64;
    Result rc = RESULT_OK;
    for (*n = 0; rc == RESULT_OK && got == 64; after = &last) {
        rc = wait_rows_read(table, txn, after, entries, 64, &got);
        for (size_t i = 0; i < got; i++) {
            *n += entries[i].failures == 0;
            last = entries[i];
        }
    }
    return rc;
}

Result wait_rows_read(WaitRows *table, MDB_txn *txn, const WaitEntry *after, WaitEntry *entries,
                      size_t max, size_t *n)
{
    unsigned char key_bytes[KEY_BYTES] = {0};
    MDB_val key = {KEY_BYTES, key_bytes};
    MDB_val value;
    MDB_cursor *cursor = NULL;
    *n = 0;
    int rc = mdb_cursor_open(txn, table->dbi, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "read waits");
    }
    if (after != NULL) {
        uint32_t host = after->host + 1;
        write_key(key_bytes, after->until_ms + (host == 0), host);
    }
    rc = max == 0 ? MDB_NOTFOUND : mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == MDB_SUCCESS && *n < max) {
        if (key.mv_size != KEY_BYTES || value.mv_size < VALUE_BYTES) {
            rc = MDB_CORRUPTED;
            break;
        }
        entries[(*n)++] = read_entry(&key, &value);
        rc = *n < max ? mdb_cursor_get(cursor, &key, &value, MDB_NEXT) : rc;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "read waits");
}

/* ---- Host table ---- */

struct HostRows {
    MDB_dbi records;
    Journal *journal; /* of records; borrowed; NULL: none */
    RobotsRows *robots;
    MDB_dbi tdm;
    MDB_dbi licences;
};

/* What a read transaction cannot create is not there. */
static int host_rows_open_table(MDB_txn *txn, const char *name, MDB_dbi *dbi)
{
    int rc = mdb_dbi_open(txn, name, MDB_CREATE | MDB_INTEGERKEY, dbi);
    return rc == EACCES ? MDB_NOTFOUND : rc;
}

/* What a sweep of the journal writes. */
static int host_rows_sweep_row(void *context, Journal *journal, MDB_txn *txn, uint64_t word,
                               const MDB_val *row)
{
    (void)journal;
    MDB_dbi records = (MDB_dbi)(uintptr_t)context;
    uint32_t host = (uint32_t)word;
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = *row;
    return mdb_put(txn, records, &key, &value, 0);
}

Result host_rows_open(HostRows **out, MDB_txn *txn, Journal *journal)
{
    HostRows *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    int rc = host_rows_open_table(txn, "hosts", &table->records);
    if (rc == MDB_SUCCESS) {
        rc = host_rows_open_table(txn, "usage_files", &table->tdm);
    }
    if (rc == MDB_SUCCESS) {
        rc = host_rows_open_table(txn, "licences", &table->licences);
    }
    Result result =
        rc == MDB_SUCCESS ? robots_rows_open(&table->robots, txn) : lmdb_result(rc, "open hosts");
    if (result != RESULT_OK) {
        free(table);
        return result;
    }
    table->journal = journal;
    if (journal != NULL) {
        JournalTarget target = {.context = (void *)(uintptr_t)table->records,
                                .apply = host_rows_sweep_row};
        journal_set_target(journal, JOURNAL_HOSTS, &target);
    }
    *out = table;
    return RESULT_OK;
}

void host_rows_close(HostRows *table)
{
    if (table != NULL) {
        robots_rows_close(table->robots);
    }
    free(table);
}

static Result host_rows_decode(const MDB_val *value, HostRecord *record)
{
    if (value->mv_size != sizeof *record) {
        return RESULT_VERSION;
    }
    memcpy(record, value->mv_data, sizeof *record);
    return RESULT_OK;
}

Result host_rows_get(HostRows *table, MDB_txn *txn, uint32_t host, HostRecord *record)
{
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    int rc = journal_get(table->journal, txn, JOURNAL_HOSTS, host, &value);
    *record = (HostRecord){.state = HOST_ACTIVE};
    if (rc == MDB_NOTFOUND) {
        rc = mdb_get(txn, table->records, &key, &value);
    }
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    return rc == MDB_SUCCESS ? host_rows_decode(&value, record) : lmdb_result(rc, "get host");
}

Result host_rows_put(HostRows *table, MDB_txn *txn, uint32_t host, const HostRecord *record)
{
    HostRecord stored = *record;
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = sizeof stored, .mv_data = &stored};
    MDB_val before;
    /* A new host goes to its table, so that this has all of them; the numbers of hosts ascend. */
    bool journalled =
        journal_takes(table->journal) && mdb_get(txn, table->records, &key, &before) == MDB_SUCCESS;
    int rc = journalled ? journal_put(table->journal, txn, JOURNAL_HOSTS, host, &value)
                        : mdb_put(txn, table->records, &key, &value, 0);
    return lmdb_result(rc, "put host");
}

/* A record that was met in the table: the journal may have a newer one. */
static Result host_rows_take(HostRows *table, MDB_txn *txn, const MDB_val *key,
                             const MDB_val *value, uint32_t *host, HostRecord *record)
{
    MDB_val newer = *value;
    memcpy(host, key->mv_data, sizeof *host);
    int rc = journal_get(table->journal, txn, JOURNAL_HOSTS, *host, &newer);
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND ? host_rows_decode(&newer, record)
                                                   : lmdb_result(rc, "read hosts");
}

static MDB_dbi host_rows_file_table(const HostRows *table, UsagePlace file)
{
    return usage_is_licence(file) ? table->licences : table->tdm;
}

/* A text of a value: the licences of a host stand in one, a zero byte between them, which XML
 * cannot have. */
static MDB_val host_rows_text_of(const MDB_val *value, UsagePlace file)
{
    char *at = value->mv_data;
    char *end = at + value->mv_size;
    MDB_val text = *value;
    for (UsagePlace i = USAGE_IN_LICENCE; usage_is_licence(file) && at != NULL; i++) {
        char *zero = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        char *stop = zero == NULL ? end : zero;
        text = (MDB_val){.mv_data = at, .mv_size = (size_t)(stop - at)};
        if (i == file) {
            return text;
        }
        text.mv_size = 0;
        at = zero == NULL ? NULL : zero + 1;
    }
    return text;
}

Result host_rows_get_usage_file(HostRows *table, MDB_txn *txn, uint32_t host, UsagePlace file,
                                Buffer *text)
{
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    int rc = mdb_get(txn, host_rows_file_table(table, file), &key, &value);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "get file");
    }
    value = host_rows_text_of(&value, file);
    return buffer_append(text, value.mv_data, value.mv_size);
}

Result host_rows_put_usage_file(HostRows *table, MDB_txn *txn, uint32_t host, UsagePlace file,
                                const char *body, size_t length)
{
    UsagePlace last = usage_is_licence(file) ? USAGE_PLACES - 1 : file;
    Buffer all = {.limit = BUFFER_NO_LIMIT};
    size_t used = 0; /* up to the last text that has bytes */
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    Result result = RESULT_OK;
    bool is_text = length == 0 || memchr(body, '\0', length) == NULL;
    for (UsagePlace i = usage_is_licence(file) ? USAGE_IN_LICENCE : file;
         i <= last && result == RESULT_OK; i++) {
        size_t before = all.length;
        if (i == file) {
            result = buffer_append(&all, body, is_text ? length : 0);
        } else {
            result = host_rows_get_usage_file(table, txn, host, i, &all);
            result = result == RESULT_NOT_FOUND ? RESULT_OK : result;
        }
        used = all.length > before ? all.length : used;
        if (i < last && result == RESULT_OK) {
            result = buffer_append_char(&all, '\0');
        }
    }
    MDB_val value = {.mv_size = used, .mv_data = all.data};
    MDB_dbi dbi = host_rows_file_table(table, file);
    if (result == RESULT_OK) {
        int rc = used > 0 ? mdb_put(txn, dbi, &key, &value, 0) : mdb_del(txn, dbi, &key, NULL);
        result = lmdb_result(rc == MDB_NOTFOUND ? MDB_SUCCESS : rc, "put file");
    }
    buffer_destroy(&all);
    return result;
}

Result host_rows_get_rules(HostRows *table, MDB_txn *txn, uint32_t host, const char *agent,
                           const RslReader *reader, Robots **robots, uint64_t *hash)
{
    Buffer text = {.limit = ROBOTS_MAX_BYTES};
    *robots = NULL;
    Result rc = robots_rows_get(table->robots, txn, host, &text);
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = robots_parse(buffer_string(&text), text.length, agent, robots);
    }
    if (hash != NULL) {
        *hash = robots_content_hash(text.data, text.length);
    }
    buffer_reset(&text);
    if (rc == RESULT_OK && reader != NULL &&
        host_rows_get_usage_file(table, txn, host, USAGE_IN_TDM, &text) == RESULT_OK) {
        (void)robots_add_tdm(*robots, buffer_string(&text), text.length);
    }
    for (UsagePlace i = USAGE_IN_LICENCE; rc == RESULT_OK && reader != NULL && i < USAGE_PLACES;
         i++) {
        buffer_reset(&text);
        if (host_rows_get_usage_file(table, txn, host, i, &text) == RESULT_OK) {
            (void)robots_add_licence(*robots, i, buffer_string(&text), text.length, reader);
        }
    }
    buffer_destroy(&text);
    return rc;
}

Result host_rows_get_robots(HostRows *table, MDB_txn *txn, uint32_t host, Buffer *body)
{
    return robots_rows_get(table->robots, txn, host, body);
}

Result host_rows_put_robots(HostRows *table, MDB_txn *txn, uint32_t host, const char *body,
                            size_t length, uint64_t hash)
{
    return robots_rows_put(table->robots, txn, host, body, length, hash);
}

Result host_rows_keep_robots(HostRows *table, MDB_txn *txn, uint32_t host, uint32_t version)
{
    return robots_rows_keep(table->robots, txn, host, version);
}

Result host_rows_get_robots_version(HostRows *table, MDB_txn *txn, uint32_t host, uint32_t version,
                                    Buffer *body)
{
    HostRecord record;
    Result rc = host_rows_get(table, txn, host, &record);
    if (rc != RESULT_OK) {
        return rc;
    }
    return record.robots_version == version
               ? robots_rows_get(table->robots, txn, host, body)
               : robots_rows_get_version(table->robots, txn, host, version, body);
}

Result host_rows_read(HostRows *table, MDB_txn *txn, uint64_t *from, uint32_t *hosts,
                      HostRecord *records, size_t max, size_t *n)
{
    MDB_cursor *cursor = NULL;
    uint32_t first = (uint32_t)*from;
    MDB_val key = {.mv_size = sizeof first, .mv_data = &first};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    *n = 0;
    if (max == 0 || *from > UINT32_MAX) {
        return RESULT_OK;
    }
    int rc = mdb_cursor_open(txn, table->records, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "read hosts");
    }
    Result result = RESULT_OK;
    rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == MDB_SUCCESS && result == RESULT_OK && *n < max) {
        result = host_rows_take(table, txn, &key, &value, &hosts[*n], &records[*n]);
        *n += result == RESULT_OK;
        rc = *n < max ? mdb_cursor_get(cursor, &key, &value, MDB_NEXT) : rc;
    }
    mdb_cursor_close(cursor);
    *from = *n == 0 ? (uint64_t)UINT32_MAX + 1 : (uint64_t)hosts[*n - 1] + 1;
    return result != RESULT_OK || rc == MDB_SUCCESS || rc == MDB_NOTFOUND
               ? result
               : lmdb_result(rc, "read hosts");
}

Result host_rows_walk(HostRows *table, MDB_txn *txn,
                      Result (*visit)(void *context, uint32_t host, const HostRecord *record),
                      void *context)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, table->records, &cursor);
    Result result = lmdb_result(rc, "walk hosts");
    MDB_val key = {.mv_size = 0, .mv_data = NULL};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    while (result == RESULT_OK) {
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        if (rc == MDB_NOTFOUND) {
            break;
        }
        result = lmdb_result(rc, "walk hosts");
        HostRecord record;
        uint32_t host = 0;
        if (result == RESULT_OK) {
            result = host_rows_take(table, txn, &key, &value, &host, &record);
        }
        if (result == RESULT_OK) {
            result = visit(context, host, &record);
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result;
}

/* ---- Group table ---- */

#define DOMAIN_SEED   UINT64_C(1)
#define ADDRESS_SEED  UINT64_C(2)
#define NETWORK_BYTES 8u /* of an IPv6 address */

struct GroupRows {
    MDB_dbi dbi;
};

static uint64_t group_rows_key_of(const void *bytes, size_t length, uint64_t seed)
{
    uint64_t key = hash_64(bytes, length, seed);
    return key == 0 ? 1 : key;
}

uint64_t group_key_of_domain(const char *domain, size_t length)
{
    return group_rows_key_of(domain, length, DOMAIN_SEED);
}

uint64_t group_key_of_address(const IpAddress *address)
{
    return group_rows_key_of(address->bytes, address->v6 ? NETWORK_BYTES : sizeof address->bytes,
                             ADDRESS_SEED);
}

Result group_rows_open(GroupRows **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, "groups", MDB_CREATE | MDB_INTEGERKEY, sizeof **out, &rc);
    return rc;
}

void group_rows_close(GroupRows *table)
{
    free(table);
}

Result group_rows_get(GroupRows *table, MDB_txn *txn, uint64_t key, GroupRecord *record)
{
    MDB_val name = {.mv_size = sizeof key, .mv_data = &key};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    *record = (GroupRecord){.hosts = 0};
    int rc = mdb_get(txn, table->dbi, &name, &value);
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    if (rc == MDB_SUCCESS && value.mv_size != sizeof *record) {
        return RESULT_VERSION;
    }
    if (rc == MDB_SUCCESS) {
        memcpy(record, value.mv_data, sizeof *record);
    }
    return lmdb_result(rc, "get group");
}

Result group_rows_put(GroupRows *table, MDB_txn *txn, uint64_t key, const GroupRecord *record)
{
    GroupRecord copy = *record;
    MDB_val name = {.mv_size = sizeof key, .mv_data = &key};
    MDB_val value = {.mv_size = sizeof copy, .mv_data = &copy};
    return lmdb_result(mdb_put(txn, table->dbi, &name, &value, 0), "put group");
}

/* ---- Feed table ---- */

struct FeedRows {
    MDB_dbi dbi;
};

Result feed_rows_open(FeedRows **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, "feeds", MDB_CREATE | MDB_INTEGERKEY, sizeof **out, &rc);
    return rc;
}

void feed_rows_close(FeedRows *table)
{
    free(table);
}

Result feed_rows_admit(FeedRows *table, MDB_txn *txn, uint32_t host, uint64_t feed, size_t most,
                       bool *admitted)
{
    uint64_t feeds[FEED_ROWS_MOST];
    size_t n = 0;
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    *admitted = false;
    int rc = mdb_get(txn, table->dbi, &key, &value);
    if (rc != MDB_SUCCESS && rc != MDB_NOTFOUND) {
        return lmdb_result(rc, "get feeds");
    }
    if (value.mv_size % sizeof *feeds != 0 || value.mv_size > sizeof feeds) {
        return RESULT_DAMAGED;
    }
    n = value.mv_size / sizeof *feeds;
    if (n > 0) {
        memcpy(feeds, value.mv_data, value.mv_size);
    }
    for (size_t i = 0; i < n && !*admitted; i++) {
        *admitted = feeds[i] == feed;
    }
    if (*admitted || n >= most || n >= FEED_ROWS_MOST) {
        return RESULT_OK;
    }
    *admitted = true;
    feeds[n++] = feed;
    value = (MDB_val){.mv_size = n * sizeof *feeds, .mv_data = feeds};
    return lmdb_result(mdb_put(txn, table->dbi, &key, &value, 0), "put feeds");
}
