#include "command/export/host_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory/array.h"
#include "base/memory/file.h"

/* ---- Counts pairs of numbers, more of them than fit into memory ---- */

#define LEAST_PAIRS 1024u

struct ExportPairs {
    PairCount *pairs;
    size_t n;
    size_t capacity;
    FILE *file;    /* of those that did not fit into memory; NULL: all did */
    size_t n_file; /* of them */
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
    if (pairs->file != NULL) {
        (void)fclose(pairs->file);
    }
    free(pairs->pairs);
    free(pairs);
}

/* Sorts pairs and adds equal ones up; how many are left. */
static size_t condense(PairCount *pairs, size_t n_all)
{
    size_t n = 0;
    array_sort(pairs, n_all, sizeof *pairs, ARRAY_KEY(PairCount, from), ARRAY_KEY(PairCount, to));
    for (size_t i = 0; i < n_all; i++) {
        if (n > 0 && pairs[n - 1].from == pairs[i].from && pairs[n - 1].to == pairs[i].to) {
            pairs[n - 1].count += pairs[i].count;
        } else {
            pairs[n++] = pairs[i];
        }
    }
    return n;
}

static Result export_pairs_spill(ExportPairs *pairs)
{
    pairs->file = pairs->file == NULL ? tmpfile() : pairs->file;
    if (pairs->file == NULL ||
        fwrite(pairs->pairs, sizeof *pairs->pairs, pairs->n, pairs->file) != pairs->n ||
        fflush(pairs->file) != 0) {
        return result_of_errno(errno);
    }
    pairs->n_file += pairs->n;
    pairs->n = 0;
    return RESULT_OK;
}

Result export_pairs_add(ExportPairs *pairs, uint32_t from, uint32_t to, uint64_t count)
{
    if (pairs->n == pairs->capacity) {
        pairs->n = condense(pairs->pairs, pairs->n);
        /* Worth it only when adding up has not made much room. */
        Result rc = pairs->n > pairs->capacity / 2 ? export_pairs_spill(pairs) : RESULT_OK;
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    pairs->pairs[pairs->n++] = (PairCount){.from = from, .to = to, .count = count};
    return RESULT_OK;
}

/* Those of the file are sorted where it is mapped, which the system pages in and out. */
static Result export_pairs_map(ExportPairs *pairs, PairCount **all)
{
    Result rc = export_pairs_spill(pairs);
    if (rc != RESULT_OK) {
        return rc;
    }
    void *map = mmap(NULL, pairs->n_file * sizeof **all, PROT_READ | PROT_WRITE, MAP_SHARED,
                     fileno(pairs->file), 0);
    if (map == MAP_FAILED) {
        return result_of_errno(errno);
    }
    *all = map;
    return RESULT_OK;
}

Result export_pairs_each(ExportPairs *pairs, Result (*each)(void *context, const PairCount *pair),
                         void *context)
{
    PairCount *all = pairs->pairs;
    size_t n_all = pairs->n;
    Result rc = RESULT_OK;
    if (pairs->n_file > 0) {
        rc = export_pairs_map(pairs, &all);
        n_all = pairs->n_file;
    }
    size_t n = rc == RESULT_OK ? condense(all, n_all) : 0;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        rc = each(context, &all[i]);
    }
    if (all != pairs->pairs) {
        (void)munmap(all, n_all * sizeof *all);
    }
    return rc;
}

/* ---- Export of the host graph ---- */

#define DEFAULT_MEMORY ((size_t)64 << 20)

/* hosts: of every page. */
static Result collect_arcs(ExportView *view, const uint32_t *hosts, ExportPairs *pairs)
{
    Result rc = RESULT_OK;
    for (uint64_t i = 0; i < view->n_pages && rc == RESULT_OK; i++) {
        uint64_t *to = NULL;
        size_t n = 0;
        size_t n_cross = 0;
        rc = export_view_result(view, page_db_get_links(view->db, view->txn, i, &to, &n, &n_cross));
        for (size_t k = 0; k < n && rc == RESULT_OK; k++) {
            if (to[k] < view->n_pages) {
                rc = export_pairs_add(pairs, hosts[i], hosts[to[k]], 1);
            }
        }
        free(to);
        rc = export_view_step(view, rc);
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
    if (rc == RESULT_OK) {
        rc = export_view_result(view, page_db_host_origin(view->db, view->txn, arc->to, &view->to));
    }
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
    if (rc == RESULT_OK) {
        rc = export_view_put_origin(view, "to", arc->to, &view->to);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (!view->options->arcs) {
        export_number(&view->rows, "weight", arc->count);
    }
    export_row_end(&view->rows);
    return export_view_step(view, RESULT_OK);
}

Result page_export_hosts(PageDB *db, const PageExportOptions *options)
{
    ExportView view;
    void *column = NULL; /* the host of every page */
    ExportPairs *pairs = NULL;
    Result rc = export_view_begin(&view, db, options);
    size_t bytes = (size_t)(view.n_pages + 1) * sizeof(uint32_t);
    view.total = 2 * view.n_pages;
    if (rc == RESULT_OK) {
        rc = file_map_scratch(&column, bytes);
        for (uint64_t i = 0; i < view.n_pages && rc == RESULT_OK; i++) {
            PageRef page;
            rc = export_view_page(&view, i, &page, &view.from);
            ((uint32_t *)column)[i] = rc == RESULT_OK ? page.host : 0;
            rc = export_view_step(&view, rc);
        }
    }
    if (rc == RESULT_OK) {
        rc = export_pairs_new(&pairs,
                              options->memory_bytes == 0 ? DEFAULT_MEMORY : options->memory_bytes);
    }
    if (rc == RESULT_OK) {
        rc = collect_arcs(&view, column, pairs);
    }
    if (rc == RESULT_OK) {
        rc = export_pairs_each(pairs, put_arc, &view);
    }
    export_pairs_delete(pairs);
    if (column != NULL) {
        (void)munmap(column, bytes);
    }
    return export_view_end(&view, rc);
}
