#include "command/export/export_pairs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_PAIRS 1024u

/* A sorted run; next is the least pair of it that is not yet merged. */
typedef struct PairRun {
    FILE *file;
    PairCount next;
    bool more;
} PairRun;

struct ExportPairs {
    PairCount *pairs;
    size_t n;
    size_t capacity;
    PairRun *runs;
    size_t n_runs;
};

Result export_pairs_new(ExportPairs **pairs, size_t memory_bytes)
{
    size_t capacity = memory_bytes / sizeof(PairCount);
    *pairs = calloc(1, sizeof **pairs);
    if (*pairs == NULL) {
        return RESULT_MEMORY;
    }
    (*pairs)->capacity = capacity < LEAST_PAIRS ? LEAST_PAIRS : capacity;
    (*pairs)->pairs = malloc((*pairs)->capacity * sizeof(PairCount));
    if ((*pairs)->pairs == NULL) {
        export_pairs_delete(*pairs);
        *pairs = NULL;
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

void export_pairs_delete(ExportPairs *pairs)
{
    if (pairs == NULL) {
        return;
    }
    for (size_t i = 0; i < pairs->n_runs; i++) {
        (void)fclose(pairs->runs[i].file);
    }
    free(pairs->runs);
    free(pairs->pairs);
    free(pairs);
}

static int compare_pairs(const void *left, const void *right)
{
    const PairCount *a = left;
    const PairCount *b = right;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return (a->to > b->to) - (a->to < b->to);
}

/* Sorts the array and adds equal pairs up. */
static void condense(ExportPairs *pairs)
{
    size_t n = 0;
    if (pairs->n > 0) {
        qsort(pairs->pairs, pairs->n, sizeof *pairs->pairs, compare_pairs);
    }
    for (size_t i = 0; i < pairs->n; i++) {
        if (n > 0 && compare_pairs(&pairs->pairs[n - 1], &pairs->pairs[i]) == 0) {
            pairs->pairs[n - 1].count += pairs->pairs[i].count;
        } else {
            pairs->pairs[n++] = pairs->pairs[i];
        }
    }
    pairs->n = n;
}

static Result export_pairs_spill(ExportPairs *pairs)
{
    PairRun *runs = realloc(pairs->runs, (pairs->n_runs + 1) * sizeof *runs);
    if (runs == NULL) {
        return RESULT_MEMORY;
    }
    pairs->runs = runs;
    FILE *file = tmpfile();
    if (file == NULL) {
        return result_of_errno(errno);
    }
    runs[pairs->n_runs++] = (PairRun){.file = file};
    if (fwrite(pairs->pairs, sizeof *pairs->pairs, pairs->n, file) != pairs->n ||
        fflush(file) != 0) {
        return result_of_errno(errno);
    }
    pairs->n = 0;
    return RESULT_OK;
}

Result export_pairs_add(ExportPairs *pairs, uint32_t from, uint32_t to, uint64_t count)
{
    if (pairs->n == pairs->capacity) {
        condense(pairs);
        /* Worth a run only when adding up has not made much room. */
        Result rc = pairs->n > pairs->capacity / 2 ? export_pairs_spill(pairs) : RESULT_OK;
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    pairs->pairs[pairs->n++] = (PairCount){.from = from, .to = to, .count = count};
    return RESULT_OK;
}

static Result export_pairs_advance(PairRun *run)
{
    run->more = fread(&run->next, sizeof run->next, 1, run->file) == 1;
    return !run->more && ferror(run->file) ? RESULT_IO : RESULT_OK;
}

/* The least next pair of all runs, equal ones added up; count 0: there are no more. */
static Result merge_next(ExportPairs *pairs, PairCount *sum)
{
    const PairRun *least = NULL;
    for (size_t i = 0; i < pairs->n_runs; i++) {
        const PairRun *run = &pairs->runs[i];
        if (run->more && (least == NULL || compare_pairs(&run->next, &least->next) < 0)) {
            least = run;
        }
    }
    sum->count = 0;
    if (least == NULL) {
        return RESULT_OK;
    }
    *sum = (PairCount){.from = least->next.from, .to = least->next.to, .count = 0};
    Result rc = RESULT_OK;
    for (size_t i = 0; i < pairs->n_runs && rc == RESULT_OK; i++) {
        PairRun *run = &pairs->runs[i];
        if (run->more && compare_pairs(&run->next, sum) == 0) {
            sum->count += run->next.count;
            rc = export_pairs_advance(run);
        }
    }
    return rc;
}

Result export_pairs_each(ExportPairs *pairs, Result (*each)(void *context, const PairCount *pair),
                         void *context)
{
    Result rc = RESULT_OK;
    condense(pairs);
    if (pairs->n_runs == 0) {
        for (size_t i = 0; i < pairs->n && rc == RESULT_OK; i++) {
            rc = each(context, &pairs->pairs[i]);
        }
        return rc;
    }
    rc = export_pairs_spill(pairs);
    for (size_t i = 0; i < pairs->n_runs && rc == RESULT_OK; i++) {
        rewind(pairs->runs[i].file);
        rc = export_pairs_advance(&pairs->runs[i]);
    }
    while (rc == RESULT_OK) {
        PairCount sum;
        rc = merge_next(pairs, &sum);
        if (rc == RESULT_OK && sum.count == 0) {
            break;
        }
        rc = rc == RESULT_OK ? each(context, &sum) : rc;
    }
    return rc;
}
