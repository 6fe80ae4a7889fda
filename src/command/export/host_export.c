#include "command/export/host_export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory/array.h"

#include "command/export/export_view.h"
#include "store/pages/page_db_read.h"

/* ---- Counts pairs of numbers, more of them than fit into memory ---- */

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
    PairRun run = {.file = tmpfile()};
    if (run.file == NULL) {
        return result_of_errno(errno);
    }
    if (array_add(&pairs->runs, &pairs->n_runs, sizeof run, &run) != RESULT_OK) {
        (void)fclose(run.file);
        return RESULT_MEMORY;
    }
    if (fwrite(pairs->pairs, sizeof *pairs->pairs, pairs->n, run.file) != pairs->n ||
        fflush(run.file) != 0) {
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

/* ---- Export of the host graph ---- */

#define DEFAULT_MEMORY ((size_t)64 << 20)

/* The host of every page, in an unnamed temporary file. */
typedef struct HostColumn {
    FILE *file;
    uint32_t *hosts;
    size_t bytes;
} HostColumn;

static Result column_open(HostColumn *column, uint64_t n_pages)
{
    *column = (HostColumn){.bytes = (size_t)(n_pages + 1) * sizeof(uint32_t)};
    column->file = tmpfile();
    if (column->file == NULL || ftruncate(fileno(column->file), (off_t)column->bytes) != 0) {
        return result_of_errno(errno);
    }
    void *map =
        mmap(NULL, column->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(column->file), 0);
    if (map == MAP_FAILED) {
        return result_of_errno(errno);
    }
    column->hosts = map;
    return RESULT_OK;
}

static void column_close(HostColumn *column)
{
    if (column->hosts != NULL) {
        (void)munmap(column->hosts, column->bytes);
    }
    if (column->file != NULL) {
        (void)fclose(column->file);
    }
}

static Result fill_column(ExportView *view, HostColumn *column)
{
    Result rc = column_open(column, view->n_pages);
    if (rc == RESULT_OK && column->hosts == NULL) {
        rc = RESULT_INTERNAL;
    }
    for (uint64_t i = 0; i < view->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        rc = export_view_page(view, i, &page, &view->from);
        if (rc == RESULT_OK) {
            column->hosts[i] = page.host;
            rc = export_view_step(view);
        }
    }
    return rc;
}

static Result collect_arcs(ExportView *view, const HostColumn *column, ExportPairs *pairs)
{
    Result rc = RESULT_OK;
    for (uint64_t i = 0; i < view->n_pages && rc == RESULT_OK; i++) {
        uint64_t *to = NULL;
        size_t n = 0;
        size_t n_cross = 0;
        rc = export_view_result(view, page_db_get_links(view->db, view->txn, i, &to, &n, &n_cross));
        for (size_t k = 0; k < n && rc == RESULT_OK; k++) {
            if (to[k] < view->n_pages) {
                rc = export_pairs_add(pairs, column->hosts[i], column->hosts[to[k]], 1);
            }
        }
        free(to);
        rc = rc == RESULT_OK ? export_view_step(view) : rc;
    }
    return rc;
}

/* Asks the filter about the hosts of an arc. */
static Result arc_passes(ExportView *view, const PairCount *arc, bool *wanted)
{
    if (view->options->where == NULL) {
        return RESULT_OK;
    }
    Result rc =
        export_view_result(view, page_db_host_origin(view->db, view->txn, arc->from, &view->from));
    rc =
        rc == RESULT_OK
            ? export_view_result(view, page_db_host_origin(view->db, view->txn, arc->to, &view->to))
            : rc;
    *wanted = rc == RESULT_OK && export_view_passes(view, &view->to, NULL, &view->from);
    return rc;
}

static Result put_arc(void *context, const PairCount *arc)
{
    ExportView *view = context;
    if (view->options->no_self && arc->from == arc->to) {
        return RESULT_OK;
    }
    bool wanted = true;
    Result rc = arc_passes(view, arc, &wanted);
    if (rc != RESULT_OK || !wanted) {
        return rc;
    }
    rc = export_view_put_origin(view, "from", arc->from, &view->from);
    rc = rc == RESULT_OK ? export_view_put_origin(view, "to", arc->to, &view->to) : rc;
    if (rc != RESULT_OK) {
        return rc;
    }
    if (!view->options->arcs) {
        export_number(&view->rows, "weight", arc->count);
    }
    export_row_end(&view->rows);
    return export_view_step(view);
}

Result page_export_hosts(PageDB *db, const PageExportOptions *options)
{
    ExportView view;
    HostColumn column = {.file = NULL};
    ExportPairs *pairs = NULL;
    Result rc = export_view_begin(&view, db, options);
    view.total = 2 * view.n_pages;
    if (rc == RESULT_OK) {
        rc = fill_column(&view, &column);
    }
    if (rc == RESULT_OK) {
        rc = export_pairs_new(&pairs,
                              options->memory_bytes == 0 ? DEFAULT_MEMORY : options->memory_bytes);
    }
    if (rc == RESULT_OK) {
        rc = collect_arcs(&view, &column, pairs);
    }
    if (rc == RESULT_OK) {
        rc = export_pairs_each(pairs, put_arc, &view);
    }
    export_pairs_delete(pairs);
    column_close(&column);
    return export_view_end(&view, rc);
}
