#include "store/tables/host_rows.h"

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

Result wait_rows_follow(WaitRows table, MDB_txn *txn, uint32_t host, int64_t from_ms,
                        const HostRecord *record)
{
    unsigned char key_bytes[KEY_BYTES];
    MDB_val key = {KEY_BYTES, key_bytes};
    WaitEntry entry;
    int rc = MDB_SUCCESS;
    bool waits = wait_rows_entry(host, record, &entry);
    if (from_ms != 0 && (!waits || entry.until_ms != from_ms)) {
        write_key(key_bytes, from_ms, host);
        rc = mdb_del(txn, table, &key, NULL);
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc; /* a repair has changed the record alone */
    }
    if (rc == MDB_SUCCESS && waits) {
        unsigned char value_bytes[VALUE_BYTES] = {entry.class, entry.failures};
        MDB_val value = {VALUE_BYTES, value_bytes};
        write_key(key_bytes, entry.until_ms, host);
        rc = mdb_put(txn, table, &key, &value, 0);
    }
    return lmdb_result(rc, "follow waits");
}

Result wait_rows_count_closed(WaitRows table, MDB_txn *txn, uint64_t *n)
{
    LmdbRows rows;
    *n = 0;
    lmdb_rows_begin(&rows, txn, table, (MDB_val){0});
    while (lmdb_rows_next(&rows)) {
        const unsigned char *value = rows.value.mv_data;
        *n += rows.value.mv_size >= VALUE_BYTES && value[1] == 0;
    }
    return lmdb_rows_end(&rows, RESULT_OK, "read waits");
}

Result wait_rows_read(WaitRows table, MDB_txn *txn, const WaitEntry *after, WaitEntry *entries,
                      size_t max, size_t *n)
{
    unsigned char key[KEY_BYTES] = {0};
    LmdbRows rows;
    Result rc = RESULT_OK;
    *n = 0;
    if (after != NULL) {
        uint32_t host = after->host + 1;
        write_key(key, after->until_ms + (host == 0), host);
    }
    lmdb_rows_begin(&rows, txn, table, lmdb_bytes(key, sizeof key));
    while (*n < max && lmdb_rows_next(&rows)) {
        if (rows.key.mv_size != KEY_BYTES || rows.value.mv_size < VALUE_BYTES) {
            rc = RESULT_DAMAGED;
            break;
        }
        entries[(*n)++] = read_entry(&rows.key, &rows.value);
    }
    return lmdb_rows_end(&rows, rc, "read waits");
}

/* ---- Host table ---- */

struct HostRows {
    MDB_dbi records;
    Journal *journal; /* of records; borrowed; NULL: none */
    RobotsRows *robots;
    MDB_dbi tdm;
    MDB_dbi licences;
};

/* What a sweep of the journal writes. */
static int host_rows_sweep_row(void *context, Journal *journal, MDB_txn *txn, uint64_t word,
                               const MDB_val *row)
{
    (void)journal;
    MDB_dbi records = (MDB_dbi)(uintptr_t)context;
    uint32_t host = (uint32_t)word;
    MDB_val key = lmdb_bytes(&host, sizeof host);
    MDB_val value = *row;
    return mdb_put(txn, records, &key, &value, 0);
}

Result host_rows_open(HostRows **out, MDB_txn *txn, Journal *journal)
{
    HostRows *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    const LmdbTable tables[] = {{&table->records, "hosts", MDB_INTEGERKEY},
                                {&table->tdm, "usage_files", MDB_INTEGERKEY},
                                {&table->licences, "licences", MDB_INTEGERKEY}};
    Result rc = lmdb_tables_open(txn, tables, 3, MDB_CREATE);
    if (rc == RESULT_OK) {
        rc = robots_rows_open(&table->robots, txn);
    }
    if (rc != RESULT_OK) {
        free(table);
        return rc;
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
    return lmdb_unpack(value, record, sizeof *record) ? RESULT_OK : RESULT_VERSION;
}

Result host_rows_get(HostRows *table, MDB_txn *txn, uint32_t host, HostRecord *record)
{
    MDB_val key = lmdb_bytes(&host, sizeof host);
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
    uint8_t packed[LMDB_PACKED_BYTES(sizeof *record)];
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = lmdb_bytes(packed, lmdb_pack(record, sizeof *record, packed));
    MDB_val before;
    /* A new host goes to its table, so that this has all of them; the numbers of hosts ascend. */
    bool journalled = journal_takes(table->journal) &&
                      (journal_has(table->journal, JOURNAL_HOSTS, host) ||
                       mdb_get(txn, table->records, &key, &before) == MDB_SUCCESS);
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
    MDB_val value;
    Result rc = lmdb_get(txn, host_rows_file_table(table, file), lmdb_bytes(&host, sizeof host),
                         &value, "get file");
    if (rc != RESULT_OK) {
        return rc;
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
    MDB_val key = lmdb_bytes(&host, sizeof host);
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
    MDB_dbi dbi = host_rows_file_table(table, file);
    if (result == RESULT_OK) {
        result = used > 0 ? lmdb_put(txn, dbi, key, lmdb_bytes(all.data, used), "put file")
                          : lmdb_remove(txn, dbi, key, "put file");
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
    uint32_t first = (uint32_t)*from;
    LmdbRows rows;
    Result rc = RESULT_OK;
    *n = 0;
    if (max == 0 || *from > UINT32_MAX) {
        return RESULT_OK;
    }
    lmdb_rows_begin(&rows, txn, table->records, lmdb_bytes(&first, sizeof first));
    while (rc == RESULT_OK && *n < max && lmdb_rows_next(&rows)) {
        rc = host_rows_take(table, txn, &rows.key, &rows.value, &hosts[*n], &records[*n]);
        *n += rc == RESULT_OK;
    }
    *from = *n == 0 ? (uint64_t)UINT32_MAX + 1 : (uint64_t)hosts[*n - 1] + 1;
    return lmdb_rows_end(&rows, rc, "read hosts");
}

Result host_rows_walk(HostRows *table, MDB_txn *txn,
                      Result (*visit)(void *context, uint32_t host, const HostRecord *record),
                      void *context)
{
    LmdbRows rows;
    Result rc = RESULT_OK;
    lmdb_rows_begin(&rows, txn, table->records, (MDB_val){0});
    while (rc == RESULT_OK && lmdb_rows_next(&rows)) {
        HostRecord record;
        uint32_t host = 0;
        rc = host_rows_take(table, txn, &rows.key, &rows.value, &host, &record);
        if (rc == RESULT_OK) {
            rc = visit(context, host, &record);
        }
    }
    return lmdb_rows_end(&rows, rc, "walk hosts");
}

/* ---- Group table ---- */

#define DOMAIN_SEED   UINT64_C(1)
#define ADDRESS_SEED  UINT64_C(2)
#define NETWORK_BYTES 8u /* of an IPv6 address */

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

Result group_rows_get(GroupRows table, MDB_txn *txn, uint64_t key, GroupRecord *record)
{
    *record = (GroupRecord){.hosts = 0};
    MDB_val value;
    Result rc = lmdb_get(txn, table, lmdb_bytes(&key, sizeof key), &value, "get group");
    if (rc == RESULT_OK && !lmdb_unpack(&value, record, sizeof *record)) {
        rc = RESULT_VERSION;
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result group_rows_put(GroupRows table, MDB_txn *txn, uint64_t key, const GroupRecord *record)
{
    uint8_t packed[LMDB_PACKED_BYTES(sizeof *record)];
    size_t n = lmdb_pack(record, sizeof *record, packed);
    return lmdb_put(txn, table, lmdb_bytes(&key, sizeof key), lmdb_bytes(packed, n), "put group");
}

/* ---- Feed table ---- */

Result feed_rows_admit(FeedRows table, MDB_txn *txn, uint32_t host, uint64_t feed, size_t most,
                       bool *admitted)
{
    uint64_t feeds[FEED_ROWS_MOST];
    size_t n = 0;
    MDB_val key = lmdb_bytes(&host, sizeof host);
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    *admitted = false;
    Result rc = lmdb_get(txn, table, key, &value, "get feeds");
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        return rc;
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
    return lmdb_put(txn, table, key, lmdb_bytes(feeds, n * sizeof *feeds), "put feeds");
}
