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

size_t page_links_encode(uint64_t index, uint64_t *to, size_t n_diff, size_t n, uint8_t *out)
{
    sort_indices(to, n_diff);
    sort_indices(to + n_diff, n - n_diff);
    uint8_t *p = varint_encode_uint64((uint64_t)n_diff << 1, out);
    p = encode_group(index, to, n_diff, p);
    p = encode_group(index, to + n_diff, n - n_diff, p);
    return (size_t)(p - out);
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

size_t page_links_encode_kinds(uint64_t index, uint64_t *to, size_t n_diff, size_t n, uint8_t *out)
{
    sort_indices(to, n_diff);
    sort_indices(to + n_diff, n - n_diff);
    size_t bytes = encode_runs(to, n, NULL);
    uint8_t *p = varint_encode_uint64((uint64_t)n_diff << 1 | (bytes > 0), out);
    if (bytes > 0) {
        p = varint_encode_uint64(bytes, p);
        p += encode_runs(to, n, p);
    }
    for (size_t i = 0; i < n; i++) {
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

int page_links_seek(MDB_cursor *cursor, uint64_t index, MDB_val *key, MDB_val *record)
{
    key->mv_size = sizeof index;
    key->mv_data = &index;
    int rc = mdb_cursor_get(cursor, key, record, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND) {
        return mdb_cursor_get(cursor, key, record, MDB_LAST);
    }
    if (rc != 0) {
        return rc;
    }
    uint64_t found = 0;
    memcpy(&found, key->mv_data, sizeof found);
    return found == index ? 0 : mdb_cursor_get(cursor, key, record, MDB_PREV);
}

int page_links_find(MDB_txn *txn, MDB_dbi dbi, uint64_t index, const uint8_t **list, size_t *length)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0) {
        return rc;
    }
    MDB_val key, record;
    rc = page_links_seek(cursor, index, &key, &record);
    if (rc == 0) {
        uint64_t first = 0, at = 0;
        memcpy(&first, key.mv_data, sizeof first);
        PageLinksReader reader;
        page_links_reader_init(&reader, first, &record);
        int more = 0;
        do {
            more = page_links_reader_next(&reader, &at, list, length);
        } while (more == 1 && at < index);
        if (more < 0) {
            rc = MDB_CORRUPTED;
        } else if (more == 0 || at != index) {
            rc = MDB_NOTFOUND;
        }
    }
    mdb_cursor_close(cursor);
    return rc;
}

typedef struct LinksItem {
    uint64_t index;
    const uint8_t *list;
    size_t length;
} LinksItem;

typedef struct LinksItems {
    LinksItem *items;
    size_t n;
} LinksItems;

static int page_links_records_add_item(LinksItems *all, uint64_t index, const uint8_t *list,
                                       size_t length)
{
    LinksItem item = {.index = index, .list = list, .length = length};
    return array_add(&all->items, &all->n, sizeof item, &item) == RESULT_OK ? 0 : ENOMEM;
}

static size_t item_bytes(const LinksItem *item)
{
    return 2 * MAX_VARINT_SIZE + item->length;
}

/* Appends one more list; before: the index of the one before it, NULL for the first. */
static Result append_item(Buffer *record, const LinksItem *item, const uint64_t *before)
{
    uint8_t head[2 * MAX_VARINT_SIZE];
    uint8_t *p = head;
    if (before != NULL) {
        p = varint_encode_uint64(item->index - *before, p);
    }
    p = varint_encode_uint64(item->length, p);
    Result rc = buffer_append(record, head, (size_t)(p - head));
    return rc == RESULT_OK ? buffer_append(record, item->list, item->length) : rc;
}

/* Writes a record of items[0..n). The first key of a split keeps its place, so the record
 * that was there is overwritten by the first call. */
static int page_links_records_put_record(MDB_cursor *cursor, const LinksItem *items, size_t n,
                                         Buffer *scratch)
{
    buffer_reset(scratch);
    for (size_t i = 0; i < n; i++) {
        if (append_item(scratch, &items[i], i > 0 ? &items[i - 1].index : NULL) != RESULT_OK) {
            return ENOMEM;
        }
    }
    uint64_t index = items[0].index;
    MDB_val key = {sizeof index, &index};
    MDB_val value = {scratch->length, scratch->data};
    return mdb_cursor_put(cursor, &key, &value, 0);
}

/* Spreads the items over as many records as they need, evenly. */
static int put_items(MDB_cursor *cursor, const LinksItem *items, size_t n, Buffer *scratch)
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
        int rc = page_links_records_put_record(cursor, items + i, k - i, scratch);
        if (rc != 0) {
            return rc;
        }
        i = k;
    }
    return 0;
}

/* Replaces the record by as many as it takes with the list added, or replaced, in its place. The
 * items point into the old record, so it is copied first. */
static int page_links_records_spread(MDB_cursor *cursor, uint64_t first, const MDB_val *record,
                                     const LinksItem *fresh, Buffer *scratch)
{
    LinksItems all = {NULL, 0};
    uint8_t *copy = malloc(record->mv_size + 1);
    int rc = copy == NULL ? ENOMEM : 0;
    if (rc == 0) {
        memcpy(copy, record->mv_data, record->mv_size);
        MDB_val old = {record->mv_size, copy};
        PageLinksReader reader;
        page_links_reader_init(&reader, first, &old);
        LinksItem item;
        bool placed = false;
        int more = 0;
        while (rc == 0 && (more = page_links_reader_next(&reader, &item.index, &item.list,
                                                         &item.length)) == 1) {
            if (!placed && item.index >= fresh->index) {
                rc = page_links_records_add_item(&all, fresh->index, fresh->list, fresh->length);
                placed = true;
            }
            if (rc == 0 && item.index != fresh->index) {
                rc = page_links_records_add_item(&all, item.index, item.list, item.length);
            }
        }
        if (rc == 0 && !placed) {
            rc = page_links_records_add_item(&all, fresh->index, fresh->list, fresh->length);
        }
        rc = rc == 0 && more < 0 ? MDB_CORRUPTED : rc;
    }
    if (rc == 0) {
        rc = put_items(cursor, all.items, all.n, scratch);
    }
    free(all.items);
    free(copy);
    return rc;
}

/* Replaces the record by one with the list added, or replaced, in its place: what lies before and
 * behind it stays as it is, but for the distance to the next one. */
static int page_links_records_merge(MDB_cursor *cursor, uint64_t first, const MDB_val *record,
                                    const LinksItem *fresh, Buffer *scratch)
{
    PageLinksReader reader;
    LinksItem next = {.index = 0};
    const uint8_t *begin = record->mv_data;
    const uint8_t *behind = begin; /* what is before the list */
    uint64_t before = 0;
    int more = 0;
    page_links_reader_init(&reader, first, record);
    while ((more = page_links_reader_next(&reader, &next.index, &next.list, &next.length)) == 1 &&
           next.index < fresh->index) {
        behind = reader.p;
        before = next.index;
    }
    if (more == 1 && next.index == fresh->index) {
        more = page_links_reader_next(&reader, &next.index, &next.list, &next.length);
    }
    if (more < 0) {
        return MDB_CORRUPTED;
    }
    if (record->mv_size + item_bytes(fresh) > PAGE_LINKS_RECORD_BYTES) {
        return page_links_records_spread(cursor, first, record, fresh, scratch);
    }
    buffer_reset(scratch);
    Result rc = buffer_append(scratch, begin, (size_t)(behind - begin));
    if (rc == RESULT_OK) {
        rc = append_item(scratch, fresh, behind > begin ? &before : NULL);
    }
    if (rc == RESULT_OK && more == 1) {
        rc = append_item(scratch, &next, &fresh->index);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(scratch, reader.p, (size_t)(reader.end - reader.p));
    }
    MDB_val key = {sizeof first, &first};
    MDB_val value = {scratch->length, scratch->data};
    return rc == RESULT_OK ? mdb_cursor_put(cursor, &key, &value, 0) : ENOMEM;
}

int page_links_writer_begin(PageLinksWriter *writer, MDB_txn *txn, MDB_dbi dbi)
{
    *writer = (PageLinksWriter){.cursor = NULL};
    buffer_init(&writer->tail, BUFFER_NO_LIMIT);
    buffer_init(&writer->scratch, BUFFER_NO_LIMIT);
    return mdb_cursor_open(txn, dbi, &writer->cursor);
}

/* Reads the last record of the table; without one the tail stays closed. */
static int open_tail(PageLinksWriter *w)
{
    MDB_val key, record;
    int rc = mdb_cursor_get(w->cursor, &key, &record, MDB_LAST);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    memcpy(&w->first, key.mv_data, sizeof w->first);
    /* The index of the last list of a record. */
    PageLinksReader reader;
    page_links_reader_init(&reader, w->first, &record);
    const uint8_t *list = NULL;
    size_t length = 0;
    int more = 0;
    do {
        more = page_links_reader_next(&reader, &w->last, &list, &length);
    } while (more == 1);
    rc = more < 0 ? MDB_CORRUPTED : 0;
    buffer_reset(&w->tail);
    if (rc == 0 && buffer_append(&w->tail, record.mv_data, record.mv_size) != RESULT_OK) {
        rc = ENOMEM;
    }
    w->open = rc == 0;
    w->stored = true;
    w->changed = false;
    return rc;
}

/* Writes the tail. It is taken out first and appended again: LMDB would split a page in the middle
 * for a record that grows, but puts one that is appended on a page of its own. */
static int close_tail(PageLinksWriter *w)
{
    bool write = w->open && w->changed;
    w->open = false;
    if (!write) {
        return 0;
    }
    int rc = 0;
    MDB_val key, value;
    if (w->stored) {
        rc = mdb_cursor_get(w->cursor, &key, &value, MDB_LAST);
        if (rc == 0) {
            rc = mdb_cursor_del(w->cursor, 0);
        }
    }
    if (rc == 0) {
        key = (MDB_val){sizeof w->first, &w->first};
        value = (MDB_val){w->tail.length, w->tail.data};
        rc = mdb_cursor_put(w->cursor, &key, &value, MDB_APPEND);
    }
    return rc;
}

/* Adds a list behind the tail, or begins a new tail with it. */
static int page_links_records_append(PageLinksWriter *w, const LinksItem *fresh)
{
    uint64_t before = w->last;
    bool is_behind = w->open && w->tail.length + item_bytes(fresh) <= PAGE_LINKS_RECORD_BYTES;
    if (!is_behind) {
        int rc = close_tail(w);
        if (rc != 0) {
            return rc;
        }
        buffer_reset(&w->tail);
        w->first = fresh->index;
        w->open = true;
        w->stored = false;
    }
    w->last = fresh->index;
    w->changed = true;
    Result rc = append_item(&w->tail, fresh, is_behind ? &before : NULL);
    return rc == RESULT_OK ? 0 : ENOMEM;
}

/* Puts a list among those that are there. */
static int insert(PageLinksWriter *w, const LinksItem *fresh)
{
    MDB_val key, record;
    int rc = page_links_seek(w->cursor, fresh->index, &key, &record);
    if (rc == MDB_NOTFOUND) {
        return page_links_records_put_record(w->cursor, fresh, 1, &w->scratch);
    }
    if (rc != 0) {
        return rc;
    }
    uint64_t first = 0;
    memcpy(&first, key.mv_data, sizeof first);
    return page_links_records_merge(w->cursor, first, &record, fresh, &w->scratch);
}

int page_links_writer_put(PageLinksWriter *writer, uint64_t index, const uint8_t *list,
                          size_t length)
{
    LinksItem fresh = {.index = index, .list = list, .length = length};
    if (!writer->open) {
        int rc = open_tail(writer);
        if (rc != 0) {
            return rc;
        }
    }
    if (!writer->open || index > writer->last) {
        return page_links_records_append(writer, &fresh);
    }
    int rc = close_tail(writer);
    return rc == 0 ? insert(writer, &fresh) : rc;
}

int page_links_writer_end(PageLinksWriter *writer, int rc)
{
    if (rc == 0) {
        rc = close_tail(writer);
    }
    mdb_cursor_close(writer->cursor);
    buffer_destroy(&writer->tail);
    buffer_destroy(&writer->scratch);
    return rc;
}
