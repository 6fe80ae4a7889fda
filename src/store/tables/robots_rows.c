#include "store/tables/robots_rows.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/lmdb/lmdb_result.h"

#define ZSTD_LEVEL  1
#define SHORT_BYTES 24u               /* no longer than a reference, and what it costs to follow */
#define TEXT_MOST   ((size_t)1 << 24) /* more than ROBOTS_MAX_BYTES, which a text is cut to */

struct RobotsRows {
    MDB_dbi robots;
    MDB_dbi history;
    MDB_dbi texts;
    ZSTD_CCtx *zstd; /* the writer's, as what follows */
    Buffer packed;   /* a value of texts */
    Buffer scratch;
};

/* A value of robots and robots_history. */
typedef struct Reference {
    char mark[8];
    uint64_t hash;
} Reference;

static const char reference_mark[8] = "\0robots";

/* A value of robots_texts begins with it; the compressed text follows. */
typedef struct TextHead {
    uint32_t references;
    uint32_t length;
} TextHead;

/* ---- opening ---- */

Result robots_rows_open(RobotsRows **out, MDB_txn *txn)
{
    RobotsRows *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&table->packed, ZSTD_COMPRESSBOUND(TEXT_MOST) + sizeof(TextHead));
    buffer_init(&table->scratch, TEXT_MOST);
    const LmdbTable tables[] = {{&table->robots, "robots", MDB_INTEGERKEY},
                                {&table->history, "robots_history", MDB_INTEGERKEY},
                                {&table->texts, "robots_texts", MDB_INTEGERKEY}};
    Result rc = lmdb_tables_open(txn, tables, 3, MDB_CREATE);
    if (rc != RESULT_OK) {
        robots_rows_close(table);
        return rc;
    }
    *out = table;
    return RESULT_OK;
}

void robots_rows_close(RobotsRows *table)
{
    if (table != NULL) {
        (void)ZSTD_freeCCtx(table->zstd);
        buffer_destroy(&table->packed);
        buffer_destroy(&table->scratch);
        free(table);
    }
}

/* ---- texts ---- */

bool robots_reference_read(const MDB_val *value, uint64_t *hash)
{
    Reference reference;
    if (value->mv_size != sizeof reference) {
        return false;
    }
    memcpy(&reference, value->mv_data, sizeof reference);
    *hash = reference.hash;
    return memcmp(reference.mark, reference_mark, sizeof reference_mark) == 0;
}

static Result find_text(const RobotsRows *table, MDB_txn *txn, uint64_t hash, MDB_val *value,
                        TextHead *head)
{
    *value = (MDB_val){.mv_size = 0};
    *head = (TextHead){.length = 0};
    Result rc = lmdb_get(txn, table->texts, lmdb_bytes(&hash, sizeof hash), value, "get robots");
    if (rc != RESULT_OK) {
        return rc;
    }
    if (value->mv_size < sizeof *head) {
        return RESULT_DAMAGED;
    }
    memcpy(head, value->mv_data, sizeof *head);
    return head->length <= TEXT_MOST ? RESULT_OK : RESULT_DAMAGED;
}

/* Appends the text of a value. */
static Result unpack(const MDB_val *value, const TextHead *head, Buffer *out)
{
    Result rc = buffer_reserve(out, head->length);
    if (rc != RESULT_OK) {
        return rc;
    }
    const char *from = (const char *)value->mv_data + sizeof *head;
    size_t n =
        ZSTD_decompress(out->data + out->length, head->length, from, value->mv_size - sizeof *head);
    if (n != head->length) {
        return RESULT_DAMAGED;
    }
    out->length += n;
    out->data[out->length] = '\0';
    return RESULT_OK;
}

/* What a row of robots or robots_history stands for. */
static Result append_text(const RobotsRows *table, MDB_txn *txn, MDB_dbi dbi, MDB_val key,
                          Buffer *body)
{
    uint64_t hash = 0;
    MDB_val value;
    MDB_val text;
    TextHead head;
    Result rc = lmdb_get(txn, dbi, key, &value, "get robots");
    if (rc != RESULT_OK) {
        return rc;
    }
    if (!robots_reference_read(&value, &hash)) {
        return buffer_append(body, value.mv_data, value.mv_size);
    }
    rc = find_text(table, txn, hash, &text, &head);
    if (rc == RESULT_NOT_FOUND) {
        return RESULT_DAMAGED;
    }
    return rc == RESULT_OK ? unpack(&text, &head, body) : rc;
}

/* Adds to the references of a text that is there; without any it goes. */
static Result refer(RobotsRows *table, MDB_txn *txn, uint64_t hash, int change)
{
    MDB_val value;
    TextHead head;
    MDB_val key = lmdb_bytes(&hash, sizeof hash);
    Result rc = find_text(table, txn, hash, &value, &head);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_DAMAGED : rc;
    }
    head.references += (uint32_t)change;
    if (head.references == 0) {
        return lmdb_remove(txn, table->texts, key, "forget robots");
    }
    /* LMDB may move what it has just handed out while it writes. */
    buffer_reset(&table->packed);
    rc = buffer_append(&table->packed, value.mv_data, value.mv_size);
    if (rc != RESULT_OK) {
        return rc;
    }
    memcpy(table->packed.data, &head, sizeof head);
    return lmdb_put(txn, table->texts, key, lmdb_bytes(table->packed.data, table->packed.length),
                    "put robots");
}

/* The value of a text that one host refers to, into table->packed. */
static Result robots_rows_pack(RobotsRows *table, const char *body, size_t length)
{
    TextHead head = {.references = 1, .length = (uint32_t)length};
    table->zstd = table->zstd == NULL ? ZSTD_createCCtx() : table->zstd;
    buffer_reset(&table->packed);
    Result rc = table->zstd == NULL
                    ? RESULT_MEMORY
                    : buffer_reserve(&table->packed, sizeof head + ZSTD_compressBound(length));
    if (rc != RESULT_OK) {
        return rc;
    }
    memcpy(table->packed.data, &head, sizeof head);
    size_t n = ZSTD_compressCCtx(table->zstd, table->packed.data + sizeof head,
                                 ZSTD_compressBound(length), body, length, ZSTD_LEVEL);
    table->packed.length = sizeof head + n;
    return ZSTD_isError(n) != 0 ? RESULT_MEMORY : RESULT_OK;
}

/* Refers to a text, which is added if nobody has it. RESULT_INVALID: another text has its hash, or
 * another version of zstd has packed it. Equal texts are packed into equal bytes, so nothing is
 * unpacked to compare them. */
static Result robots_rows_take_text(RobotsRows *table, MDB_txn *txn, uint64_t hash,
                                    const char *body, size_t length)
{
    MDB_val value;
    TextHead head;
    Result rc = robots_rows_pack(table, body, length);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = find_text(table, txn, hash, &value, &head);
    if (rc == RESULT_NOT_FOUND) {
        return lmdb_put(txn, table->texts, lmdb_bytes(&hash, sizeof hash),
                        lmdb_bytes(table->packed.data, table->packed.length), "put robots");
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    bool is_same = head.length == length && value.mv_size == table->packed.length &&
                   memcmp((const char *)value.mv_data + sizeof head,
                          table->packed.data + sizeof head, value.mv_size - sizeof head) == 0;
    return is_same ? refer(table, txn, hash, 1) : RESULT_INVALID;
}

/* ---- hosts ---- */

static uint64_t history_key(uint32_t host, uint32_t version)
{
    return (uint64_t)host << 32 | version;
}

Result robots_rows_get(const RobotsRows *table, MDB_txn *txn, uint32_t host, Buffer *body)
{
    return append_text(table, txn, table->robots, lmdb_bytes(&host, sizeof host), body);
}

Result robots_rows_get_version(const RobotsRows *table, MDB_txn *txn, uint32_t host,
                               uint32_t version, Buffer *body)
{
    uint64_t id = history_key(host, version);
    return append_text(table, txn, table->history, lmdb_bytes(&id, sizeof id), body);
}

/* The value that stands for a text: a reference, which is taken, or the text itself. */
static Result robots_rows_value_of(RobotsRows *table, MDB_txn *txn, const char *body, size_t length,
                                   uint64_t hash, Reference *reference, MDB_val *value)
{
    uint64_t other = 0;
    *value = lmdb_bytes(length > 0 ? body : "", length);
    bool is_short = length <= SHORT_BYTES && !robots_reference_read(value, &other);
    if (is_short || length > TEXT_MOST) {
        return RESULT_OK;
    }
    memcpy(reference->mark, reference_mark, sizeof reference->mark);
    reference->hash = hash;
    Result rc = robots_rows_take_text(table, txn, reference->hash, body, length);
    if (rc == RESULT_OK) {
        *value = lmdb_bytes(reference, sizeof *reference);
    }
    return rc == RESULT_INVALID ? RESULT_OK : rc;
}

Result robots_rows_put(RobotsRows *table, MDB_txn *txn, uint32_t host, const char *body,
                       size_t length, uint64_t hash)
{
    MDB_val key = lmdb_bytes(&host, sizeof host);
    MDB_val old;
    MDB_val value;
    Reference reference;
    uint64_t before = 0;
    Result rc = lmdb_get(txn, table->robots, key, &old, "get robots");
    bool was_reference = rc == RESULT_OK && robots_reference_read(&old, &before);
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = robots_rows_value_of(table, txn, body, length, hash, &reference, &value);
    }
    if (rc == RESULT_OK) {
        rc = lmdb_put(txn, table->robots, key, value, "put robots");
    }
    return rc == RESULT_OK && was_reference ? refer(table, txn, before, -1) : rc;
}

/* Takes a version out of the history. */
static Result robots_rows_forget(RobotsRows *table, MDB_txn *txn, uint64_t id)
{
    MDB_val key = lmdb_bytes(&id, sizeof id);
    MDB_val value;
    uint64_t hash = 0;
    Result rc = lmdb_get(txn, table->history, key, &value, "get robots");
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    bool was_reference = robots_reference_read(&value, &hash);
    rc = lmdb_remove(txn, table->history, key, "forget robots");
    return rc == RESULT_OK && was_reference ? refer(table, txn, hash, -1) : rc;
}

Result robots_rows_keep(RobotsRows *table, MDB_txn *txn, uint32_t host, uint32_t version)
{
    uint64_t id = history_key(host, version);
    uint64_t hash = 0;
    MDB_val value;
    Result rc = lmdb_get(txn, table->robots, lmdb_bytes(&host, sizeof host), &value, "get robots");
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    /* LMDB may move what it has just handed out while it writes. */
    bool is_shared = robots_reference_read(&value, &hash);
    buffer_reset(&table->scratch);
    rc = buffer_append(&table->scratch, value.mv_data, value.mv_size);
    if (rc == RESULT_OK) {
        rc = robots_rows_forget(table, txn, id);
    }
    if (rc == RESULT_OK && is_shared) {
        rc = refer(table, txn, hash, 1);
    }
    if (rc == RESULT_OK) {
        rc = lmdb_put(txn, table->history, lmdb_bytes(&id, sizeof id),
                      lmdb_bytes(buffer_string(&table->scratch), table->scratch.length),
                      "keep robots");
    }
    if (rc == RESULT_OK && version > ROBOTS_ROWS_KEPT) {
        rc = robots_rows_forget(table, txn, history_key(host, version - ROBOTS_ROWS_KEPT));
    }
    return rc;
}
