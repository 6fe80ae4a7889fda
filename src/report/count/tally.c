#include "report/count/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

void tally_init(Tally *tally)
{
    static char other[] = "other";
    *tally = (Tally){.other = {.name = other}};
    map_init(&tally->rows);
}

void tally_destroy(Tally *tally)
{
    size_t place = 0;
    TallyRow *row = NULL;
    while ((row = map_next(&tally->rows, &place)) != NULL) {
        free(row->name);
        free(row);
    }
    map_destroy(&tally->rows);
}

static TallyRow *tally_find(Tally *tally, const char *name, size_t length)
{
    Hash128 hash = hash_128(name, length);
    MapKey key = {.high = hash.high, .low = hash.low};
    TallyRow *row = map_get(&tally->rows, key);
    if (row != NULL || tally->rows.count >= TALLY_NAMES) {
        return row == NULL ? &tally->other : row;
    }
    row = calloc(1, sizeof *row);
    char *copy = strndup(name, length);
    if (row == NULL || copy == NULL || map_put(&tally->rows, key, row) != RESULT_OK) {
        free(copy);
        free(row);
        return &tally->other;
    }
    row->name = copy;
    return row;
}

void tally_add_many(Tally *tally, const char *name, size_t length, uint64_t count, uint64_t bytes)
{
    TallyRow *row = tally_find(tally, name, length);
    row->count += count;
    row->bytes += bytes;
    tally->count += count;
    tally->bytes += bytes;
}

void tally_add(Tally *tally, const char *name, size_t length, uint64_t bytes)
{
    tally_add_many(tally, name, length, 1, bytes);
}

static int by_count(const void *a, const void *b)
{
    const TallyRow *x = *(const TallyRow *const *)a;
    const TallyRow *y = *(const TallyRow *const *)b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

const TallyRow **tally_sorted(const Tally *tally, size_t *n)
{
    const TallyRow **rows = calloc(tally->rows.count + 1, sizeof *rows);
    size_t place = 0;
    const TallyRow *row = NULL;
    *n = 0;
    while (rows != NULL && (row = map_next(&tally->rows, &place)) != NULL) {
        rows[(*n)++] = row;
    }
    if (*n > 0) {
        qsort(rows, *n, sizeof *rows, by_count);
    }
    if (rows != NULL && tally->other.count > 0) {
        rows[(*n)++] = &tally->other;
    }
    return rows;
}
