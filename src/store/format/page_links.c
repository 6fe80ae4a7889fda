#include "store/format/page_links.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"

#define SMALL_LIST 64

static int page_links_compare_indices(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_indices(uint64_t *to, size_t n)
{
    if (n > SMALL_LIST) {
        qsort(to, n, sizeof *to, page_links_compare_indices);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint64_t x = to[i];
        size_t k = i;
        for (; k > 0 && to[k - 1] > x; k--) {
            to[k] = to[k - 1];
        }
        to[k] = x;
    }
}

/* A group that is sorted. */
static uint8_t *encode_group(uint64_t index, const uint64_t *to, size_t n, uint8_t *out)
{
    if (n == 0) {
        return out;
    }
    out = varint_encode_int64((int64_t)(to[0] - index), out);
    for (size_t i = 1; i < n; i++) {
        out = varint_encode_uint64(to[i] - to[i - 1], out);
    }
    return out;
}

static uint8_t page_links_kind_of(uint64_t element)
{
    return (uint8_t)(element & ((1u << PAGE_LINKS_KIND_BITS) - 1));
}

/* Writes the runs, or nothing when out is NULL; returns how many bytes they take. */
static size_t encode_runs(const uint64_t *to, size_t n, uint8_t *out)
{
    uint8_t unwanted[MAX_VARINT_SIZE] = {0};
    size_t bytes = 0;
    while (n > 0 && page_links_kind_of(to[n - 1]) == 0) {
        n--;
    }
    for (size_t i = 0; i < n;) {
        size_t k = i + 1;
        while (k < n && page_links_kind_of(to[k]) == page_links_kind_of(to[i])) {
            k++;
        }
        uint8_t *run = out == NULL ? unwanted : out + bytes + 1;
        if (out != NULL) {
            out[bytes] = page_links_kind_of(to[i]);
        }
        bytes += 1 + (size_t)(varint_encode_uint64(k - i, run) - run);
        i = k;
    }
    return bytes;
}

size_t page_links_encode(uint64_t index, uint64_t *to, size_t n_diff, size_t n, bool kinds,
                         uint8_t *out)
{
    sort_indices(to, n_diff);
    sort_indices(to + n_diff, n - n_diff);
    size_t bytes = kinds ? encode_runs(to, n, NULL) : 0;
    uint8_t *p = varint_encode_uint64((uint64_t)n_diff << 1 | (bytes > 0), out);
    if (bytes > 0) {
        p = varint_encode_uint64(bytes, p);
        p += encode_runs(to, n, p);
    }
    for (size_t i = 0; kinds && i < n; i++) {
        to[i] >>= PAGE_LINKS_KIND_BITS;
    }
    p = encode_group(index, to, n_diff, p);
    p = encode_group(index, to + n_diff, n - n_diff, p);
    return (size_t)(p - out);
}

/* Reads what stands before the groups; NULL: not a list. */
static const uint8_t *page_links_read_head(const uint8_t *list, const uint8_t *end,
                                           uint64_t *n_diff, uint64_t *kind_bytes)
{
    uint64_t head = 0;
    const uint8_t *p = varint_read(list, end, &head);
    *n_diff = head >> 1;
    *kind_bytes = 0;
    if (p != NULL && (head & 1) != 0) {
        p = varint_read(p, end, kind_bytes);
        if (p != NULL && *kind_bytes > (uint64_t)(end - p)) {
            return NULL;
        }
    }
    return p;
}

bool page_links_decode_kinds(const uint8_t *list, size_t length, uint8_t *kinds, size_t n)
{
    uint64_t n_diff = 0;
    uint64_t bytes = 0;
    size_t i = 0;
    const uint8_t *p = page_links_read_head(list, list + length, &n_diff, &bytes);
    if (p == NULL) {
        return false;
    }
    for (const uint8_t *end = p + bytes; p < end;) {
        uint8_t kind = *p++;
        uint64_t run = 0;
        p = varint_read(p, end, &run);
        if (p == NULL || run > n - i) {
            return false;
        }
        memset(kinds + i, kind, (size_t)run);
        i += (size_t)run;
    }
    memset(kinds + i, 0, n - i);
    return true;
}

#define WORD_BYTES 8
#define TOP_BITS   UINT64_C(0x8080808080808080)

/* Closes the gaps that the top bits leave between groups of seven. */
static inline uint64_t close_gaps(uint64_t v)
{
    uint64_t n = (v & 0x7f) | (v >> 1 & 0x3f80) | (v >> 2 & 0x1fc000) | (v >> 3 & 0xfe00000);
    if (v >> 32 != 0) {
        n |= (v >> 4 & UINT64_C(0x7f0000000)) | (v >> 5 & UINT64_C(0x3f800000000)) |
             (v >> 6 & UINT64_C(0x1fc0000000000)) | (v >> 7 & UINT64_C(0xfe000000000000));
    }
    return n;
}

/* What an instruction of newer processors (BMI2) does at once. */
#ifdef __x86_64__
#define HAS_BMI2() __builtin_cpu_supports("bmi2")
static inline uint64_t close_gaps_bmi2(uint64_t v)
{
    uint64_t n;
    __asm__("pextq %2, %1, %0" : "=r"(n) : "r"(v), "r"(~TOP_BITS));
    return n;
}
#else
#define HAS_BMI2()         false
#define close_gaps_bmi2(v) close_gaps(v)
#endif

/* Takes the first number out of a word; *ends and *start move behind it. */
static inline uint64_t page_links_take_number(uint64_t word, uint64_t *ends, unsigned *start,
                                              bool bmi2)
{
    uint64_t v = (word & (*ends ^ (*ends - 1))) >> (*start & 63);
    *start = (unsigned)__builtin_ctzll(*ends | UINT64_C(1) << 63) + 1;
    *ends &= *ends - 1;
    return bmi2 ? close_gaps_bmi2(v) : close_gaps(v);
}

/* Reads up to max varints; *count is how many. Returns the byte behind them, or NULL. Eight bytes
 * at a time: the bytes that end a number are found for all of them at once, so that the numbers do
 * not wait for each other and their lengths need not be guessed. Most words hold three to five
 * numbers; the first four are taken whether they are there or not, which writes up to
 * PAGE_LINKS_SLACK elements too many. */
static inline __attribute__((always_inline)) const uint8_t *
decode_varints_with(const uint8_t *p, const uint8_t *end, size_t max, uint64_t *out, size_t *count,
                    bool bmi2)
{
    size_t i = 0;
    while (p < end && i < max) {
        uint64_t word = 0, ends = TOP_BITS;
        size_t rest = (size_t)(end - p);
        if (rest >= WORD_BYTES) {
            memcpy(&word, p, WORD_BYTES);
        } else {
            memcpy(&word, p, rest);
            ends &= (UINT64_C(1) << (8 * rest)) - 1;
        }
        word = le64toh(word);
        ends &= ~word;
        if (ends == 0) {
            p = varint_read(p, end, &out[i++]);
            if (p == NULL) {
                return NULL;
            }
            continue;
        }
        p += (64 - (unsigned)__builtin_clzll(ends)) / 8;
        /* The top bits, brought to the lowest byte and added up there. */
        size_t n = (size_t)((ends >> 7) * UINT64_C(0x0101010101010101) >> 56);
        unsigned start = 0;
        out[i] = page_links_take_number(word, &ends, &start, bmi2);
        out[i + 1] = page_links_take_number(word, &ends, &start, bmi2);
        out[i + 2] = page_links_take_number(word, &ends, &start, bmi2);
        out[i + 3] = page_links_take_number(word, &ends, &start, bmi2);
        i += n < 4 ? n : 4;
        while (ends != 0) {
            out[i++] = page_links_take_number(word, &ends, &start, bmi2);
        }
    }
    *count = i < max ? i : max;
    return p;
}

static const uint8_t *decode_varints(const uint8_t *p, const uint8_t *end, size_t max,
                                     uint64_t *out, size_t *count)
{
    return HAS_BMI2() ? decode_varints_with(p, end, max, out, count, true)
                      : decode_varints_with(p, end, max, out, count, false);
}

/* Turns distances into indices. */
static void sum_group(uint64_t index, uint64_t *to, size_t n)
{
    if (n == 0) {
        return;
    }
    uint64_t value = index + (uint64_t)varint_sign_unfold(to[0]);
    to[0] = value;
    for (size_t i = 1; i < n; i++) {
        value += to[i];
        to[i] = value;
    }
}

bool page_links_decode(uint64_t index, const uint8_t *list, size_t length, bool only_diff,
                       uint64_t *to, size_t *n_diff, size_t *n)
{
    const uint8_t *end = list + length;
    uint64_t wanted = 0;
    uint64_t kind_bytes = 0;
    const uint8_t *p = page_links_read_head(list, end, &wanted, &kind_bytes);
    if (p == NULL || wanted > length) {
        return false;
    }
    p = decode_varints(p + kind_bytes, end, only_diff ? (size_t)wanted : SIZE_MAX, to, n);
    if (p == NULL || *n < wanted) {
        return false;
    }
    *n_diff = (size_t)wanted;
    sum_group(index, to, *n_diff);
    sum_group(index, to + *n_diff, *n - *n_diff);
    return true;
}

/* ---- Records of links ---- */

void page_links_reader_init(PageLinksReader *reader, uint64_t key, const MDB_val *record)
{
    *reader = (PageLinksReader){.p = record->mv_data,
                                .end = (const uint8_t *)record->mv_data + record->mv_size,
                                .index = key,
                                .started = false};
}

int page_links_reader_next(PageLinksReader *reader, uint64_t *index, const uint8_t **list,
                           size_t *length)
{
    if (reader->p == reader->end) {
        return 0;
    }
    const uint8_t *p = reader->p;
    uint64_t distance = 0, bytes = 0;
    if (reader->started) {
        p = varint_read(p, reader->end, &distance);
    }
    p = p == NULL ? NULL : varint_read(p, reader->end, &bytes);
    if (p == NULL || bytes > (uint64_t)(reader->end - p)) {
        return -1;
    }
    reader->started = true;
    reader->index += distance;
    *index = reader->index;
    *list = p;
    *length = (size_t)bytes;
    reader->p = p + bytes;
    return 1;
}

bool page_links_seek(LmdbRows *rows, uint64_t index)
{
    uint64_t found = 0;
    rows->key = (MDB_val){sizeof index, &index};
    if (!lmdb_rows_get(rows, MDB_SET_RANGE)) {
        return lmdb_rows_get(rows, MDB_LAST);
    }
    memcpy(&found, rows->key.mv_data, sizeof found);
    return found == index || lmdb_rows_get(rows, MDB_PREV);
}

int page_links_find(MDB_txn *txn, MDB_dbi dbi, uint64_t index, const uint8_t **list, size_t *length)
{
    LmdbRows rows;
    uint64_t at = 0;
    int more = 0;
    lmdb_rows_open(&rows, txn, dbi);
    if (page_links_seek(&rows, index)) {
        uint64_t first = 0;
        memcpy(&first, rows.key.mv_data, sizeof first);
        PageLinksReader reader;
        page_links_reader_init(&reader, first, &rows.value);
        do {
            more = page_links_reader_next(&reader, &at, list, length);
        } while (more == 1 && at < index);
    }
    int rc = lmdb_rows_close(&rows, more < 0 ? MDB_CORRUPTED : 0);
    return rc == 0 && (more == 0 || at != index) ? MDB_NOTFOUND : rc;
}

typedef struct LinksItem {
    uint64_t index;
    const uint8_t *list;
    size_t length;
} LinksItem;

static size_t item_bytes(const LinksItem *item)
{
    return 2 * MAX_VARINT_SIZE + item->length;
}

/* Appends one more list; before: the index of the one before it, NULL for the first. */
static void append_item(Buffer *record, const LinksItem *item, const uint64_t *before)
{
    uint8_t head[2 * MAX_VARINT_SIZE];
    uint8_t *p = head;
    if (before != NULL) {
        p = varint_encode_uint64(item->index - *before, p);
    }
    p = varint_encode_uint64(item->length, p);
    (void)buffer_append(record, head, (size_t)(p - head));
    (void)buffer_append(record, item->list, item->length);
}

/* Writes a record, unless there was no memory for all of it. */
static void page_links_put(PageLinksWriter *w, uint64_t index, const Buffer *record, unsigned flags)
{
    (void)lmdb_rows_note(&w->rows, record->failed == RESULT_OK ? 0 : ENOMEM);
    w->rows.key = (MDB_val){sizeof index, &index};
    w->rows.value = (MDB_val){record->length, record->data};
    if (!lmdb_rows_put(&w->rows, flags)) {
        (void)lmdb_rows_note(&w->rows, MDB_CORRUPTED); /* the last one is not the last */
    }
}

/* Writes a record of items[0..n). The first key of a split keeps its place, so the record
 * that was there is overwritten by the first call. */
static void page_links_put_record(PageLinksWriter *w, const LinksItem *items, size_t n)
{
    buffer_reset(&w->scratch);
    for (size_t i = 0; i < n; i++) {
        append_item(&w->scratch, &items[i], i > 0 ? &items[i - 1].index : NULL);
    }
    page_links_put(w, items[0].index, &w->scratch, 0);
}

/* Spreads the items over as many records as they need, evenly. */
static void put_items(PageLinksWriter *w, const LinksItem *items, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += item_bytes(&items[i]);
    }
    size_t target = total <= PAGE_LINKS_RECORD_BYTES ? total : total / 2;
    target = target > PAGE_LINKS_RECORD_BYTES ? PAGE_LINKS_RECORD_BYTES : target;
    for (size_t i = 0; i < n;) {
        size_t bytes = item_bytes(&items[i]);
        size_t k = i + 1;
        while (k < n && bytes + item_bytes(&items[k]) <= target) {
            bytes += item_bytes(&items[k++]);
        }
        page_links_put_record(w, items + i, k - i);
        i = k;
    }
}

/* Replaces the record by as many as it takes with the list added, or replaced, in its place. The
 * items point into the old record, so it is copied first. */
static void page_links_spread(PageLinksWriter *w, uint64_t first, const LinksItem *fresh)
{
    LinksItem *items = NULL;
    size_t n = 0;
    Buffer copy = {.limit = BUFFER_NO_LIMIT};
    Result rc = buffer_append(&copy, w->rows.value.mv_data, w->rows.value.mv_size);
    MDB_val old = {copy.length, copy.data};
    PageLinksReader reader;
    LinksItem item;
    bool placed = false;
    int more = 1;
    page_links_reader_init(&reader, first, &old);
    while (rc == RESULT_OK && more == 1) {
        more = page_links_reader_next(&reader, &item.index, &item.list, &item.length);
        if (!placed && (more != 1 || item.index >= fresh->index)) {
            rc = array_add(&items, &n, sizeof *fresh, fresh);
            placed = true;
        }
        if (rc == RESULT_OK && more == 1 && item.index != fresh->index) {
            rc = array_add(&items, &n, sizeof item, &item);
        }
    }
    (void)lmdb_rows_note(&w->rows, more < 0 ? MDB_CORRUPTED : 0);
    (void)lmdb_rows_note(&w->rows, rc == RESULT_OK ? 0 : ENOMEM);
    put_items(w, items, n);
    free(items);
    buffer_destroy(&copy);
}

/* Replaces the record by one with the list added, or replaced, in its place: what lies before and
 * behind it stays as it is, but for the distance to the next one. */
static void page_links_merge(PageLinksWriter *w, uint64_t first, const LinksItem *fresh)
{
    PageLinksReader reader;
    LinksItem next = {.index = 0};
    Buffer *scratch = &w->scratch;
    const uint8_t *begin = w->rows.value.mv_data;
    const uint8_t *behind = begin; /* what is before the list */
    uint64_t before = 0;
    int more = 0;
    page_links_reader_init(&reader, first, &w->rows.value);
    while ((more = page_links_reader_next(&reader, &next.index, &next.list, &next.length)) == 1 &&
           next.index < fresh->index) {
        behind = reader.p;
        before = next.index;
    }
    if (more == 1 && next.index == fresh->index) {
        more = page_links_reader_next(&reader, &next.index, &next.list, &next.length);
    }
    if (more < 0) {
        (void)lmdb_rows_note(&w->rows, MDB_CORRUPTED);
        return;
    }
    if (w->rows.value.mv_size + item_bytes(fresh) > PAGE_LINKS_RECORD_BYTES) {
        page_links_spread(w, first, fresh);
        return;
    }
    buffer_reset(scratch);
    (void)buffer_append(scratch, begin, (size_t)(behind - begin));
    append_item(scratch, fresh, behind > begin ? &before : NULL);
    if (more == 1) {
        append_item(scratch, &next, &fresh->index);
    }
    (void)buffer_append(scratch, reader.p, (size_t)(reader.end - reader.p));
    page_links_put(w, first, scratch, 0);
}

void page_links_writer_begin(PageLinksWriter *writer, MDB_txn *txn, MDB_dbi dbi)
{
    *writer = (PageLinksWriter){.open = false};
    buffer_init(&writer->tail, BUFFER_NO_LIMIT);
    buffer_init(&writer->scratch, BUFFER_NO_LIMIT);
    lmdb_rows_open(&writer->rows, txn, dbi);
}

/* Reads the last record of the table; without one the tail stays closed. */
static void open_tail(PageLinksWriter *w)
{
    PageLinksReader reader;
    const uint8_t *list = NULL;
    size_t length = 0;
    int more = 1;
    if (!lmdb_rows_get(&w->rows, MDB_LAST)) {
        return;
    }
    memcpy(&w->first, w->rows.key.mv_data, sizeof w->first);
    page_links_reader_init(&reader, w->first, &w->rows.value);
    while (more == 1) { /* the index of the last list of a record */
        more = page_links_reader_next(&reader, &w->last, &list, &length);
    }
    buffer_reset(&w->tail);
    (void)buffer_append(&w->tail, w->rows.value.mv_data, w->rows.value.mv_size);
    (void)lmdb_rows_note(&w->rows, more < 0 ? MDB_CORRUPTED : 0);
    (void)lmdb_rows_note(&w->rows, w->tail.failed == RESULT_OK ? 0 : ENOMEM);
    w->open = w->rows.code == 0;
    w->knows_last = w->open;
    w->stored = true;
    w->changed = false;
}

/* Writes the tail. It is taken out first and appended again: LMDB would split a page in the middle
 * for a record that grows, but puts one that is appended on a page of its own. */
static void close_tail(PageLinksWriter *w)
{
    bool write = w->open && w->changed;
    w->open = false;
    if (!write) {
        return;
    }
    if (w->stored && lmdb_rows_get(&w->rows, MDB_LAST)) {
        lmdb_rows_delete(&w->rows, 0);
    }
    page_links_put(w, w->first, &w->tail, MDB_APPEND);
}

/* Adds a list behind the tail, or begins a new tail with it. */
static void page_links_append(PageLinksWriter *w, const LinksItem *fresh)
{
    uint64_t before = w->last;
    bool is_behind = w->open && w->tail.length + item_bytes(fresh) <= PAGE_LINKS_RECORD_BYTES;
    if (!is_behind) {
        close_tail(w);
        buffer_reset(&w->tail);
        w->first = fresh->index;
        w->open = true;
        w->stored = false;
    }
    w->last = fresh->index;
    w->knows_last = true;
    w->changed = true;
    append_item(&w->tail, fresh, is_behind ? &before : NULL);
}

/* Puts a list among those that are there. */
static void insert(PageLinksWriter *w, const LinksItem *fresh)
{
    uint64_t first = 0;
    if (w->rows.code == 0 && !page_links_seek(&w->rows, fresh->index)) {
        page_links_put_record(w, fresh, 1);
        return;
    }
    if (w->rows.code == 0) {
        memcpy(&first, w->rows.key.mv_data, sizeof first);
        page_links_merge(w, first, fresh);
    }
}

void page_links_writer_put(PageLinksWriter *writer, uint64_t index, const uint8_t *list,
                           size_t length)
{
    LinksItem fresh = {.index = index, .list = list, .length = length};
    bool is_insert = writer->knows_last && index <= writer->last;
    if (!writer->open && !is_insert) {
        open_tail(writer);
        is_insert = writer->open && index <= writer->last;
    }
    if (!is_insert) {
        page_links_append(writer, &fresh);
        return;
    }
    close_tail(writer);
    insert(writer, &fresh);
}

int page_links_writer_end(PageLinksWriter *writer, int rc)
{
    if (rc == 0) {
        close_tail(writer);
    }
    buffer_destroy(&writer->tail);
    buffer_destroy(&writer->scratch);
    return lmdb_rows_close(&writer->rows, rc);
}
