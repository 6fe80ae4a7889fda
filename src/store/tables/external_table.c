#include "store/tables/external_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/varint.h"
#include "store/lmdb/lmdb_result.h"

#define EXTERNAL_NAME      "external_links"
#define EXTERNAL_KEY_BYTES 11u
#define EXTERNAL_PACK      8u  /* URLs to a row: such a row is smaller than half a page of LMDB */
#define EXTERNAL_ALIKE     16u /* URLs with one hash that are told apart: a stranger chooses them */

typedef enum ExternalKind { EXTERNAL_LIST = 0, EXTERNAL_URLS = 1, EXTERNAL_HASH = 2 } ExternalKind;

struct ExternalTable {
    MDB_dbi dbi;
};

/* A host's dictionary while a list is written: the last row of URLs, and what it comes to. */
typedef struct ExternalWriter {
    MDB_txn *txn;
    MDB_dbi dbi;
    uint32_t host;
    uint64_t next; /* number of the next URL that is new */
    Buffer tail;   /* the row that it goes into */
    Buffer last;   /* the URL before it in that row */
    Buffer url;    /* scratch */
    bool changed;  /* the tail is not as it is stored */
} ExternalWriter;

/* A key is as long as its kind needs. */
static MDB_val external_key(unsigned char *bytes, uint32_t host, ExternalKind kind, uint64_t number)
{
    unsigned n = kind == EXTERNAL_LIST ? 6 : 4;
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(host >> (8 * (3 - i)));
    }
    bytes[4] = (unsigned char)kind;
    for (unsigned i = 0; i < n; i++) {
        bytes[5 + i] = (unsigned char)(number >> (8 * (n - 1 - i)));
    }
    return (MDB_val){5 + n, bytes};
}

/* ---- a row of URLs --------------------------------------------------------------------------- */

/* Puts the place-th URL of a row into url, or the last one when there are not that many; *n is how
 * many were read. */
static Result external_unpack(const MDB_val *row, size_t place, Buffer *url, size_t *n)
{
    const uint8_t *p = row->mv_data;
    const uint8_t *end = p + row->mv_size;
    buffer_reset(url);
    for (*n = 0; *n <= place && p < end; ++*n) {
        uint64_t alike = 0, more = 0;
        p = varint_read(p, end, &alike);
        p = p == NULL ? NULL : varint_read(p, end, &more);
        if (p == NULL || alike > url->length || more > (uint64_t)(end - p)) {
            return RESULT_DAMAGED;
        }
        url->length = (size_t)alike;
        if (buffer_append(url, p, (size_t)more) != RESULT_OK) {
            return RESULT_MEMORY;
        }
        p += more;
    }
    return RESULT_OK;
}

/* The URL with a number, from the table. */
static Result external_url(MDB_txn *txn, MDB_dbi dbi, uint32_t host, uint64_t number, Buffer *url)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    MDB_val key = external_key(bytes, host, EXTERNAL_URLS, number / EXTERNAL_PACK);
    MDB_val row;
    size_t n = 0;
    int code = mdb_get(txn, dbi, &key, &row);
    if (code != MDB_SUCCESS) {
        return code == MDB_NOTFOUND ? RESULT_DAMAGED : lmdb_result(code, "get external");
    }
    size_t place = number % EXTERNAL_PACK;
    Result rc = external_unpack(&row, place, url, &n);
    return rc == RESULT_OK && n != place + 1 ? RESULT_DAMAGED : rc;
}

/* ---- the dictionary -------------------------------------------------------------------------- */

/* Finds the end of the host's URLs. */
static Result external_find_tail(ExternalWriter *w)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    unsigned char first[EXTERNAL_KEY_BYTES];
    MDB_cursor *cursor = NULL;
    MDB_val key = external_key(bytes, w->host, EXTERNAL_HASH, 0);
    MDB_val row;
    size_t n = 0;
    (void)external_key(first, w->host, EXTERNAL_URLS, 0);
    int code = mdb_cursor_open(w->txn, w->dbi, &cursor);
    if (code != MDB_SUCCESS) {
        return lmdb_result(code, "open external");
    }
    code = mdb_cursor_get(cursor, &key, &row, MDB_SET_RANGE);
    code = mdb_cursor_get(cursor, &key, &row, code == MDB_SUCCESS ? MDB_PREV : MDB_LAST);
    Result rc = RESULT_OK;
    if (code == MDB_SUCCESS && key.mv_size == 9 && memcmp(key.mv_data, first, 5) == 0) {
        const unsigned char *k = key.mv_data;
        w->next = (uint64_t)k[5] << 24 | (uint64_t)k[6] << 16 | (uint64_t)k[7] << 8 | k[8];
        w->next *= EXTERNAL_PACK;
        rc = external_unpack(&row, EXTERNAL_PACK - 1, &w->last, &n);
        w->next += n;
        if (rc == RESULT_OK && n < EXTERNAL_PACK) {
            rc = buffer_append(&w->tail, row.mv_data, row.mv_size);
        }
    } else if (code != MDB_SUCCESS && code != MDB_NOTFOUND) {
        rc = lmdb_result(code, "read external");
    }
    mdb_cursor_close(cursor);
    return rc;
}

/* Writes the row that URLs were added to; number: of one of them. */
static Result external_store_tail(ExternalWriter *w, uint64_t number)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    MDB_val key = external_key(bytes, w->host, EXTERNAL_URLS, number / EXTERNAL_PACK);
    MDB_val row = {w->tail.length, w->tail.data};
    w->changed = false;
    return lmdb_result(mdb_put(w->txn, w->dbi, &key, &row, 0), "put external");
}

/* Gives a URL the next number. */
static Result external_add(ExternalWriter *w, const char *url, size_t length)
{
    uint8_t head[2 * MAX_VARINT_SIZE];
    size_t alike = 0;
    if (w->next % EXTERNAL_PACK == 0) {
        buffer_reset(&w->tail);
        buffer_reset(&w->last);
    }
    while (alike < length && alike < w->last.length && url[alike] == w->last.data[alike]) {
        alike++;
    }
    uint8_t *end = varint_encode_uint64(length - alike, varint_encode_uint64(alike, head));
    w->last.length = alike;
    if (buffer_append(&w->tail, head, (size_t)(end - head)) != RESULT_OK ||
        buffer_append(&w->tail, url + alike, length - alike) != RESULT_OK ||
        buffer_append(&w->last, url + alike, length - alike) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    w->changed = true;
    w->next++;
    return w->next % EXTERNAL_PACK == 0 ? external_store_tail(w, w->next - 1) : RESULT_OK;
}

static Result external_is_url(ExternalWriter *w, uint64_t number, const char *url, size_t length,
                              bool *is_it)
{
    MDB_val tail = {w->tail.length, w->tail.data};
    size_t n = 0;
    Result rc = w->changed && number / EXTERNAL_PACK == w->next / EXTERNAL_PACK
                    ? external_unpack(&tail, number % EXTERNAL_PACK, &w->url, &n)
                    : external_url(w->txn, w->dbi, w->host, number, &w->url);
    *is_it = w->url.length == length && memcmp(w->url.data, url, length) == 0;
    return rc;
}

/* The number of a URL, which gets one if it has none. */
static Result external_number(ExternalWriter *w, const char *url, size_t length, uint64_t *number)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    uint8_t numbers[EXTERNAL_ALIKE * MAX_VARINT_SIZE];
    MDB_val key =
        external_key(bytes, w->host, EXTERNAL_HASH, (uint32_t)hash_64(url, length, w->host));
    MDB_val row = {0, NULL};
    int code = mdb_get(w->txn, w->dbi, &key, &row);
    if (code != MDB_SUCCESS && code != MDB_NOTFOUND) {
        return lmdb_result(code, "get external");
    }
    const uint8_t *p = row.mv_data;
    const uint8_t *end = p + row.mv_size;
    unsigned n = 0;
    bool found = false;
    for (; n < EXTERNAL_ALIKE && p < end && !found; n++) {
        p = varint_read(p, end, number);
        if (p == NULL || row.mv_size > sizeof numbers) {
            return RESULT_DAMAGED;
        }
        Result rc = external_is_url(w, *number, url, length, &found);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    if (found) {
        return RESULT_OK;
    }
    *number = w->next;
    if (n < EXTERNAL_ALIKE) {
        uint8_t *out = mempcpy(numbers, row.mv_data == NULL ? numbers : row.mv_data, row.mv_size);
        row = (MDB_val){(size_t)(varint_encode_uint64(*number, out) - numbers), numbers};
        code = mdb_put(w->txn, w->dbi, &key, &row, 0);
    }
    return n < EXTERNAL_ALIKE && code != MDB_SUCCESS ? lmdb_result(code, "put external")
                                                     : external_add(w, url, length);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Appends one link to a list in the table's form. */
static Result external_encode(Buffer *list, uint64_t number, uint64_t before, uint8_t kind,
                              uint8_t kind_before)
{
    uint8_t bytes[MAX_VARINT_SIZE + 1];
    uint64_t distance = varint_sign_fold((int64_t)number - (int64_t)before);
    uint8_t *end = varint_encode_uint64(distance << 1 | (kind != kind_before), bytes);
    if (kind != kind_before) {
        *end++ = kind;
    }
    return buffer_append(list, bytes, (size_t)(end - bytes));
}

static Result external_encode_all(ExternalWriter *w, const char *list, size_t length, Buffer *out)
{
    uint64_t before = 0;
    uint8_t kind_before = 0;
    Result rc = external_find_tail(w);
    for (size_t at = 0; at < length && rc == RESULT_OK;) {
        uint64_t number = 0;
        uint8_t kind = (uint8_t)list[at];
        size_t n = strlen(list + at + 1);
        rc = external_number(w, list + at + 1, n, &number);
        if (rc == RESULT_OK) {
            rc = external_encode(out, number, before, kind, kind_before);
        }
        before = number + 1;
        kind_before = kind;
        at += n + 2;
    }
    return rc == RESULT_OK && w->changed ? external_store_tail(w, w->next) : rc;
}

Result external_table_put(ExternalTable *table, MDB_txn *txn, uint32_t host, uint64_t index,
                          const char *list, size_t length)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    MDB_val key = external_key(bytes, host, EXTERNAL_LIST, index);
    if (length == 0) {
        int code = mdb_del(txn, table->dbi, &key, NULL);
        return code == MDB_NOTFOUND ? RESULT_OK : lmdb_result(code, "remove external");
    }
    Buffer encoded;
    ExternalWriter w = {.txn = txn, .dbi = table->dbi, .host = host};
    buffer_init(&encoded, BUFFER_NO_LIMIT);
    buffer_init(&w.tail, BUFFER_NO_LIMIT);
    buffer_init(&w.last, BUFFER_NO_LIMIT);
    buffer_init(&w.url, BUFFER_NO_LIMIT);
    Result rc = external_encode_all(&w, list, length, &encoded);
    if (rc == RESULT_OK) {
        MDB_val value = {encoded.length, encoded.data};
        rc = lmdb_result(mdb_put(txn, table->dbi, &key, &value, 0), "put external");
    }
    buffer_destroy(&encoded);
    buffer_destroy(&w.tail);
    buffer_destroy(&w.last);
    buffer_destroy(&w.url);
    return rc;
}

static Result external_decode(MDB_txn *txn, MDB_dbi dbi, uint32_t host, const MDB_val *value,
                              Buffer *list)
{
    const uint8_t *p = value->mv_data;
    const uint8_t *end = p + value->mv_size;
    uint64_t number = 0;
    uint8_t kind = 0;
    Buffer url;
    Result rc = RESULT_OK;
    buffer_init(&url, BUFFER_NO_LIMIT);
    while (p < end && rc == RESULT_OK) {
        uint64_t folded = 0;
        p = varint_read(p, end, &folded);
        if (p == NULL || ((folded & 1) != 0 && p == end)) {
            rc = RESULT_DAMAGED;
            break;
        }
        kind = (folded & 1) != 0 ? *p++ : kind;
        number += (uint64_t)varint_sign_unfold(folded >> 1);
        rc = external_url(txn, dbi, host, number++, &url);
        if (rc == RESULT_OK && (buffer_append(list, &kind, 1) != RESULT_OK ||
                                buffer_append(list, url.data, url.length) != RESULT_OK ||
                                buffer_append(list, "", 1) != RESULT_OK)) {
            rc = RESULT_MEMORY;
        }
    }
    buffer_destroy(&url);
    return rc;
}

Result external_table_read(MDB_txn *txn, uint32_t host, uint64_t index, Buffer *list)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    MDB_dbi dbi = 0;
    MDB_val key = external_key(bytes, host, EXTERNAL_LIST, index);
    MDB_val value;
    int code = mdb_dbi_open(txn, EXTERNAL_NAME, 0, &dbi);
    if (code == MDB_SUCCESS) {
        code = mdb_get(txn, dbi, &key, &value);
    }
    if (code == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    return code == MDB_SUCCESS ? external_decode(txn, dbi, host, &value, list)
                               : lmdb_result(code, "get external");
}

/* ---- birth and death ------------------------------------------------------------------------- */

Result external_table_open(ExternalTable **out, MDB_txn *txn)
{
    ExternalTable *table = calloc(1, sizeof *table);
    *out = NULL;
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    int rc = mdb_dbi_open(txn, EXTERNAL_NAME, MDB_CREATE, &table->dbi);
    if (rc != MDB_SUCCESS) {
        free(table);
        return lmdb_result(rc, "open external");
    }
    *out = table;
    return RESULT_OK;
}

void external_table_close(ExternalTable *table)
{
    free(table);
}
