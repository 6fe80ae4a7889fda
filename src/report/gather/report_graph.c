#include "report/gather/report_graph.h"
#include "base/memory/array.h"
#include "base/memory/bits.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>

#define PAGES_AT_ONCE 4096u /* in one read transaction */

typedef struct Reading {
    ReportGraph *graph;
    PageDB *db;
    MDB_txn *txn;
    Buffer url;
    Buffer other;
    BrokenPage *broken; /* by index, ascending */
    size_t n_broken;
    uint8_t *redirects; /* a bit for each page: status 3xx */
    FILE *all;
} Reading;

bool report_is_broken(int32_t status)
{
    return (status >= 400 && status < 500 && status != 401 && status != 403 && status != 407 &&
            status != 429 && status != 451) ||
           (status <= -1 && status >= -8);
}

static Result report_graph_begin(Reading *reading)
{
    return page_db_txn_begin(reading->db, true, &reading->txn) == page_db_error_ok ? RESULT_OK
                                                                                   : RESULT_IO;
}

static void report_graph_end(Reading *reading)
{
    page_db_txn_abort(reading->db, reading->txn);
    reading->txn = NULL;
}

static Result get_page(Reading *reading, uint64_t index, PageRef *page, Buffer *url)
{
    return page_db_get(reading->db, reading->txn, index, page, url) == page_db_error_ok
               ? RESULT_OK
               : RESULT_DAMAGED;
}

/* ---- pages ---- */

static Result note_broken(Reading *reading, const PageRef *page)
{
    reading->graph->n_broken++;
    if (reading->n_broken == REPORT_BROKEN_MAX) {
        return RESULT_OK;
    }
    BrokenPage broken = {.index = page->index, .status = page->status};
    return array_add(&reading->broken, &reading->n_broken, sizeof broken, &broken);
}

static Result report_graph_read_pages(Reading *reading)
{
    Result rc = RESULT_OK;
    for (uint64_t i = 0; i < reading->graph->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        if (i % PAGES_AT_ONCE == 0) {
            report_graph_end(reading);
            rc = report_graph_begin(reading);
        }
        if (rc == RESULT_OK) {
            rc = get_page(reading, i, &page, &reading->url);
        }
        if (rc == RESULT_OK) {
            ReportGraph *graph = reading->graph;
            if (page.n_crawls > 0) {
                uint64_t depth = page.depth < REPORT_DEPTHS ? page.depth : REPORT_DEPTHS - 1;
                graph->n_crawled++;
                graph->depths[depth]++;
            }
            if (page.status >= 300 && page.status < 400) {
                graph->redirects++;
                bits_set(reading->redirects, page.index);
            }
            rc = report_is_broken(page.status) ? note_broken(reading, &page) : RESULT_OK;
        }
    }
    report_graph_end(reading);
    return rc;
}

/* ---- links ---- */

static Result print_broken(Reading *reading, const BrokenPage *broken, uint64_t from)
{
    PageRef page;
    Result rc = report_graph_begin(reading);
    if (rc == RESULT_OK) {
        rc = get_page(reading, broken->index, &page, &reading->url);
    }
    if (rc == RESULT_OK) {
        rc = get_page(reading, from, &page, &reading->other);
    }
    report_graph_end(reading);
    if (rc == RESULT_OK &&
        fprintf(reading->all, "%d\t%s\t%s\n", (int)broken->status, buffer_string(&reading->url),
                buffer_string(&reading->other)) < 0) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK && __fpending(reading->all) >= __fbufsize(reading->all) / 2) {
        page_db_rest(reading->db); /* writing may take long */
        rc = fflush(reading->all) == 0 ? RESULT_OK : result_of_errno(errno);
    }
    return rc;
}

static Result take_links(Reading *reading, uint64_t from, const uint64_t *to, size_t n,
                         size_t n_diff)
{
    ReportGraph *graph = reading->graph;
    Result rc = RESULT_OK;
    bool redirect = from < graph->n_pages && bits_has(reading->redirects, from);
    graph->n_links += n;
    graph->n_links_cross += n_diff;
    graph->redirects_cross += redirect && n_diff > 0;
    if (!redirect) {
        histogram_add(&graph->degrees, n);
    }
    for (size_t i = 0; i < n && rc == RESULT_OK && reading->n_broken > 0; i++) {
        BrokenPage *broken = array_find(reading->broken, reading->n_broken, sizeof *broken,
                                        ARRAY_KEY(BrokenPage, index), to[i]);
        if (broken != NULL) {
            if (broken->n_from < REPORT_BROKEN_FROM) {
                broken->from[broken->n_from] = from;
            }
            broken->n_from++;
            graph->n_broken_links++;
            rc = reading->all == NULL ? RESULT_OK : print_broken(reading, broken, from);
        }
    }
    return rc;
}

static Result report_graph_read_links(Reading *reading)
{
    PageDBLinkStream *stream = NULL;
    uint64_t from = 0;
    const uint64_t *to = NULL;
    size_t n = 0;
    Result rc =
        page_db_link_stream_new(&stream, reading->db) == page_db_error_ok ? RESULT_OK : RESULT_IO;
    if (rc != RESULT_OK) {
        return rc;
    }
    stream->only_diff_domain = 0;
    while (rc == RESULT_OK &&
           page_db_link_stream_next_page(stream, &from, &to, &n) == stream_state_next) {
        rc = take_links(reading, from, to, n, stream->n_diff);
    }
    if (stream->state == stream_state_error) {
        rc = RESULT_DAMAGED;
    }
    page_db_link_stream_delete(stream);
    return rc;
}

Result report_graph_read(ReportGraph *graph, PageDB *db, FILE *all)
{
    Reading reading = {.graph = graph, .db = db, .all = all};
    *graph = (ReportGraph){.n_pages = 0};
    buffer_init(&reading.url, BUFFER_NO_LIMIT);
    buffer_init(&reading.other, BUFFER_NO_LIMIT);
    Result rc = report_graph_begin(&reading);
    if (rc == RESULT_OK) {
        graph->n_pages = page_db_n_pages(db, reading.txn);
        report_graph_end(&reading);
        reading.redirects = calloc(graph->n_pages / 8 + 1, 1);
        rc = reading.redirects == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    if (rc == RESULT_OK) {
        rc = report_graph_read_pages(&reading);
    }
    if (rc == RESULT_OK) {
        rc = report_graph_read_links(&reading);
    }
    array_sort(reading.broken, reading.n_broken, sizeof *reading.broken,
               ARRAY_FALLING(BrokenPage, n_from), ARRAY_KEY(BrokenPage, index));
    graph->broken = reading.broken;
    graph->n_broken_shown =
        reading.n_broken < REPORT_BROKEN_SHOWN ? reading.n_broken : REPORT_BROKEN_SHOWN;
    free(reading.redirects);
    buffer_destroy(&reading.url);
    buffer_destroy(&reading.other);
    return rc;
}

void report_graph_destroy(ReportGraph *graph)
{
    free(graph->broken);
}
