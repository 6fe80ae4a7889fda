#include "store/tables/external_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/varint.h"
#include "store/lmdb/lmdb_result.h"

#define EXTERNAL_TABLE     "external_links"
#define EXTERNAL_KEY_BYTES 11u
#define EXTERNAL_ROW_URLS  24u
#define EXTERNAL_ROW_BYTES 900u /* a row that has as many is full: four fill a page of LMDB */
#define EXTERNAL_ALIKE     16u /* URLs with one hash that are told apart: a stranger chooses them */

typedef enum ExternalKind { EXTERNAL_LIST = 0, EXTERNAL_URLS = 1, EXTERNAL_HASH = 2 } ExternalKind;

struct ExternalTable {
    MDB_dbi dbi;
};

/* A URL of a row: what it begins like, and what follows. */
typedef struct ExternalItem {
    size_t back; /* that many before it is the URL that it begins like; 0 = none */
    size_t alike;
    size_t length; /* in all */
    const uint8_t *more;
} ExternalItem;

typedef struct ExternalRow {
    ExternalItem items[EXTERNAL_ROW_URLS];
    size_t n;
} ExternalRow;

/* A host's dictionary while a list is written: the last row of URLs, and what it comes to. */
typedef struct ExternalWriter {
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    uint32_t host;
    uint64_t next;  /* number of the next URL that is new */
    uint64_t first; /* of the row that it goes into */
    Buffer tail;    /* that row */
    Buffer url;     /* scratch */
    Buffer before;  /* scratch */
    bool changed;   /* the tail is not as it is stored */
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

static uint64_t external_number_at(const unsigned char *bytes, unsigned n)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < n; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* ---- a row of URLs ---- */

static bool external_parse(const MDB_val *bytes, ExternalRow *row)
{
    const uint8_t *p = bytes->mv_data;
    const uint8_t *end = p + bytes->mv_size;
    for (row->n = 0; p < end; row->n++) {
        uint64_t back = 0, alike = 0, more = 0;
        p = varint_read(p, end, &back);
        p = p == NULL ? NULL : varint_read(p, end, &alike);
        p = p == NULL ? NULL : varint_read(p, end, &more);
        if (p == NULL || row->n == EXTERNAL_ROW_URLS || back > row->n ||
            more > (uint64_t)(end - p) ||
            alike > (back == 0 ? 0 : row->items[row->n - back].length)) {
            return false;
        }
        row->items[row->n] = (ExternalItem){.back = (size_t)back,
                                            .alike = (size_t)alike,
                                            .length = (size_t)(alike + more),
                                            .more = p};
        p += more;
    }
    return true;
}

/* The place-th URL of a row. It is put together from its end. */
static Result external_url_of(const ExternalRow *row, size_t place, Buffer *url)
{
    const ExternalItem *item = &row->items[place];
    size_t wanted = item->length;
    buffer_reset(url);
    if (buffer_reserve(url, wanted) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    url->length = wanted;
    for (; wanted > 0; item -= item->back) {
        if (wanted > item->alike) {
            memcpy(url->data + item->alike, item->more, wanted - item->alike);
            wanted = item->alike;
        }
    }
    return RESULT_OK;
}

/* Moves to the row of the host's that has the number; *first is its first number. RESULT_NOT_FOUND:
 * the host has no URLs. */
static Result external_seek(MDB_cursor *cursor, uint32_t host, uint64_t number, uint64_t *first,
                            MDB_val *bytes)
{
    unsigned char wanted[EXTERNAL_KEY_BYTES];
    MDB_val key = external_key(wanted, host, EXTERNAL_URLS, number);
    int code = mdb_cursor_get(cursor, &key, bytes, MDB_SET_RANGE);
    if (code == MDB_SUCCESS &&
        (key.mv_size != 9 || memcmp(key.mv_data, wanted, key.mv_size) != 0)) {
        code = mdb_cursor_get(cursor, &key, bytes, MDB_PREV);
    } else if (code == MDB_NOTFOUND) {
        code = mdb_cursor_get(cursor, &key, bytes, MDB_LAST);
    }
    if (code != MDB_SUCCESS) {
        return code == MDB_NOTFOUND ? RESULT_NOT_FOUND : lmdb_result(code, "read external");
    }
    if (key.mv_size != 9 || memcmp(key.mv_data, wanted, 5) != 0) {
        return RESULT_NOT_FOUND;
    }
    const unsigned char *k = key.mv_data;
    *first = (uint64_t)k[5] << 24 | (uint64_t)k[6] << 16 | (uint64_t)k[7] << 8 | k[8];
    return RESULT_OK;
}

/* The URL with a number, from the table. */
static Result external_url(MDB_cursor *cursor, uint32_t host, uint64_t number, Buffer *url)
{
    ExternalRow row;
    MDB_val bytes;
    uint64_t first = 0;
    Result rc = external_seek(cursor, host, number, &first, &bytes);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_DAMAGED : rc;
    }
    return external_parse(&bytes, &row) && number - first < row.n
               ? external_url_of(&row, number - first, url)
               : RESULT_DAMAGED;
}

/* ---- the dictionary ---- */

/* Whether no URL is added to a row. */
static bool external_is_full(size_t bytes, size_t n)
{
    return n == EXTERNAL_ROW_URLS || bytes >= EXTERNAL_ROW_BYTES;
}

/* Finds the end of the host's URLs. */
static Result external_find_tail(ExternalWriter *w)
{
    ExternalRow row;
    MDB_val bytes;
    Result rc = external_seek(w->cursor, w->host, UINT32_MAX, &w->first, &bytes);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (!external_parse(&bytes, &row)) {
        return RESULT_DAMAGED;
    }
    w->next = w->first + row.n;
    if (external_is_full(bytes.mv_size, row.n)) {
        w->first = w->next;
        return RESULT_OK;
    }
    return buffer_append(&w->tail, bytes.mv_data, bytes.mv_size);
}

/* Writes the row that URLs were added to. */
static Result external_store_tail(ExternalWriter *w)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    MDB_val key = external_key(bytes, w->host, EXTERNAL_URLS, w->first);
    MDB_val row = {w->tail.length, w->tail.data};
    w->changed = false;
    return lmdb_result(mdb_put(w->txn, w->dbi, &key, &row, 0), "put external");
}

/* The URL of a row that a URL begins like for longest. */
static Result external_likest(ExternalWriter *w, const ExternalRow *row, const char *url,
                              size_t length, size_t *back, size_t *alike)
{
    *back = 0;
    *alike = 0;
    for (size_t i = row->n; i > 0; i--) {
        Result rc = external_url_of(row, i - 1, &w->before);
        if (rc != RESULT_OK) {
            return rc;
        }
        size_t n = 0;
        while (n < length && n < w->before.length && url[n] == w->before.data[n]) {
            n++;
        }
        if (n > *alike) {
            *alike = n;
            *back = row->n - (i - 1);
        }
    }
    return RESULT_OK;
}

/* Gives a URL the next number. */
static Result external_add(ExternalWriter *w, const char *url, size_t length)
{
    uint8_t head[3 * MAX_VARINT_SIZE];
    MDB_val tail = {w->tail.length, w->tail.data};
    ExternalRow row;
    size_t back = 0, alike = 0;
    if (!external_parse(&tail, &row)) {
        return RESULT_DAMAGED;
    }
    Result rc = external_likest(w, &row, url, length, &back, &alike);
    uint8_t *end = varint_encode_uint64(alike, varint_encode_uint64(back, head));
    end = varint_encode_uint64(length - alike, end);
    if (rc != RESULT_OK || buffer_append(&w->tail, head, (size_t)(end - head)) != RESULT_OK ||
        buffer_append(&w->tail, url + alike, length - alike) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    w->changed = true;
    w->next++;
    if (external_is_full(w->tail.length, row.n + 1)) {
        rc = external_store_tail(w);
        w->first = w->next;
        buffer_reset(&w->tail);
    }
    return rc;
}

static Result external_is_url(ExternalWriter *w, uint64_t number, const char *url, size_t length,
                              bool *is_it)
{
    MDB_val tail = {w->tail.length, w->tail.data};
    ExternalRow row;
    Result rc = RESULT_DAMAGED;
    if (number < w->first) {
        rc = external_url(w->cursor, w->host, number, &w->url);
    } else if (external_parse(&tail, &row) && number - w->first < row.n) {
        rc = external_url_of(&row, number - w->first, &w->url);
    }
    *is_it = rc == RESULT_OK && w->url.length == length && memcmp(w->url.data, url, length) == 0;
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

/* ---- lists ---- */

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
    return rc == RESULT_OK && w->changed ? external_store_tail(w) : rc;
}

Result external_table_put(ExternalTable *table, MDB_txn *txn, uint32_t host, uint64_t index,
                          const char *list, size_t length)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    MDB_val key = external_key(bytes, host, EXTERNAL_LIST, index);
    if (length == 0) {
        int gone = mdb_del(txn, table->dbi, &key, NULL);
        return gone == MDB_NOTFOUND ? RESULT_OK : lmdb_result(gone, "remove external");
    }
    Buffer encoded;
    ExternalWriter w = {.txn = txn, .dbi = table->dbi, .host = host};
    int code = mdb_cursor_open(txn, table->dbi, &w.cursor);
    if (code != MDB_SUCCESS) {
        return lmdb_result(code, "open external");
    }
    buffer_init(&encoded, BUFFER_NO_LIMIT);
    buffer_init(&w.tail, BUFFER_NO_LIMIT);
    buffer_init(&w.url, BUFFER_NO_LIMIT);
    buffer_init(&w.before, BUFFER_NO_LIMIT);
    Result rc = external_encode_all(&w, list, length, &encoded);
    if (rc == RESULT_OK) {
        MDB_val value = {encoded.length, encoded.data};
        rc = lmdb_result(mdb_put(txn, table->dbi, &key, &value, 0), "put external");
    }
    buffer_destroy(&encoded);
    buffer_destroy(&w.tail);
    buffer_destroy(&w.url);
    buffer_destroy(&w.before);
    mdb_cursor_close(w.cursor);
    return rc;
}

static Result external_decode(MDB_txn *txn, MDB_dbi dbi, uint32_t host, const MDB_val *value,
                              Buffer *list)
{
    const uint8_t *p = value->mv_data;
    const uint8_t *end = p + value->mv_size;
    uint64_t number = 0;
    uint8_t kind = 0;
    MDB_cursor *cursor = NULL;
    Buffer url;
    Result rc = lmdb_result(mdb_cursor_open(txn, dbi, &cursor), "open external");
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
        rc = external_url(cursor, host, number++, &url);
        if (rc == RESULT_OK && (buffer_append(list, &kind, 1) != RESULT_OK ||
                                buffer_append(list, url.data, url.length) != RESULT_OK ||
                                buffer_append(list, "", 1) != RESULT_OK)) {
            rc = RESULT_MEMORY;
        }
    }
    buffer_destroy(&url);
    mdb_cursor_close(cursor);
    return rc;
}

Result external_table_read(MDB_txn *txn, uint32_t host, uint64_t index, Buffer *list)
{
    unsigned char bytes[EXTERNAL_KEY_BYTES];
    MDB_dbi dbi = 0;
    MDB_val key = external_key(bytes, host, EXTERNAL_LIST, index);
    MDB_val value;
    int code = mdb_dbi_open(txn, EXTERNAL_TABLE, 0, &dbi);
    if (code == MDB_SUCCESS) {
        code = mdb_get(txn, dbi, &key, &value);
    }
    if (code == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    return code == MDB_SUCCESS ? external_decode(txn, dbi, host, &value, list)
                               : lmdb_result(code, "get external");
}

Result external_table_walk(MDB_txn *txn, ExternalVisit visit, void *context)
{
    MDB_dbi dbi = 0;
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    Result rc = RESULT_OK;
    int code = mdb_dbi_open(txn, EXTERNAL_TABLE, 0, &dbi);
    if (code == MDB_SUCCESS) {
        code = mdb_cursor_open(txn, dbi, &cursor);
    }
    while (rc == RESULT_OK && code == MDB_SUCCESS) {
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        const unsigned char *bytes = code == MDB_SUCCESS ? key.mv_data : NULL;
        if (bytes != NULL && key.mv_size == EXTERNAL_KEY_BYTES && bytes[4] == EXTERNAL_LIST) {
            rc = visit(context, (uint32_t)external_number_at(bytes, 4),
                       external_number_at(bytes + 5, 6));
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return rc != RESULT_OK || code == MDB_NOTFOUND ? rc : lmdb_result(code, "walk external");
}

/* ---- birth and death ---- */

Result external_table_open(ExternalTable **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, EXTERNAL_TABLE, MDB_CREATE, sizeof **out, &rc);
    return rc;
}

void external_table_close(ExternalTable *table)
{
    free(table);
}
