#include "report/tell/report_telling.h"
#include "store/pages/page_db_read.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_SHOWN 15u

/* ---- shorthand ------------------------------------------------------------------------------ */

void tell_section(const Telling *tell, const char *title, const char *note)
{
    tell->to->section(tell->to->context, title, note);
}

void tell_fact(const Telling *tell, const char *name, const char *value)
{
    tell->to->fact(tell->to->context, name, value);
}

void tell_count(const Telling *tell, const char *name, uint64_t n)
{
    char text[WORDS_BYTES];
    tell_fact(tell, name, words_count(n, text));
}

/* "123 (4.5 %)" */
void tell_share(const Telling *tell, const char *name, uint64_t n, uint64_t all)
{
    char count[WORDS_BYTES];
    char share[WORDS_BYTES];
    char text[3 * WORDS_BYTES];
    (void)words_share(n, all, share);
    (void)snprintf(text, sizeof text, share[0] == '\0' ? "%s%s" : "%s (%s)", words_count(n, count),
                   share);
    tell_fact(tell, name, text);
}

void tell_bytes(const Telling *tell, const char *name, uint64_t bytes)
{
    char text[WORDS_BYTES];
    tell_fact(tell, name, words_bytes((double)bytes, text));
}

void tell_table(const Telling *tell, const ReportColumn *columns, unsigned n)
{
    tell->to->table(tell->to->context, columns, n);
}

void tell_row(const Telling *tell, const char *const *cells)
{
    tell->to->row(tell->to->context, cells);
}

void tell_table_end(const Telling *tell)
{
    tell->to->table_end(tell->to->context);
}

const char *telling_origin(Telling *tell, uint32_t host)
{
    MDB_txn *txn = NULL;
    buffer_reset(&tell->origin);
    if (page_db_txn_begin(tell->report->db, true, &txn) == page_db_error_ok) {
        (void)page_db_host_origin(tell->report->db, txn, host, &tell->origin);
        page_db_txn_abort(tell->report->db, txn);
    }
    return buffer_string(&tell->origin);
}

const char *telling_url(Telling *tell, uint64_t index)
{
    MDB_txn *txn = NULL;
    PageRef page;
    buffer_reset(&tell->url);
    if (page_db_txn_begin(tell->report->db, true, &txn) == page_db_error_ok) {
        (void)page_db_get(tell->report->db, txn, index, &page, &tell->url);
        page_db_txn_abort(tell->report->db, txn);
    }
    return buffer_string(&tell->url);
}

/* A table of a tally, most counted first. meaning may be NULL. */
void tell_tally(const Telling *tell, const Tally *tally, const char *name, bool bytes,
                const char *(*meaning)(const char *name))
{
    ReportColumn columns[5] = {{.name = name}};
    unsigned n_columns = 1;
    size_t n = 0;
    const TallyRow **rows = tally_sorted(tally, &n);
    if (meaning != NULL) {
        columns[n_columns++] = (ReportColumn){.name = "meaning"};
    }
    columns[n_columns++] = (ReportColumn){.name = "count", .is_number = true};
    columns[n_columns++] = (ReportColumn){.name = "share", .is_number = true};
    if (bytes) {
        columns[n_columns++] = (ReportColumn){.name = "bytes", .is_number = true};
    }
    tell_table(tell, columns, n_columns);
    for (size_t i = 0; i < n && i < ROWS_SHOWN; i++) {
        char count[WORDS_BYTES];
        char share[WORDS_BYTES];
        char size[WORDS_BYTES];
        const char *cells[5] = {rows[i]->name};
        unsigned at = 1;
        if (meaning != NULL) {
            const char *words = meaning(rows[i]->name);
            cells[at++] = words == NULL ? "" : words;
        }
        cells[at++] = words_count(rows[i]->count, count);
        cells[at++] = words_share(rows[i]->count, tally->count, share);
        cells[at] = words_bytes((double)rows[i]->bytes, size);
        tell_row(tell, cells);
    }
    tell_table_end(tell);
    if (n > ROWS_SHOWN) {
        tell_count(tell, "further rows", n - ROWS_SHOWN);
    }
    free(rows);
}

const char *telling_status(const char *name)
{
    char *end = NULL;
    long status = strtol(name, &end, 10);
    return *end == '\0' ? words_status((int)status) : NULL;
}

void tell_histogram(const Telling *tell, const char *name, const Histogram *histogram,
                    char *(*label)(uint64_t from, uint64_t to, char text[WORDS_BYTES]))
{
    unsigned first = 0;
    unsigned last = HISTOGRAM_BINS;
    uint64_t most = 1;
    while (first < HISTOGRAM_BINS && histogram->count[first] == 0) {
        first++;
    }
    while (last > first && histogram->count[last - 1] == 0) {
        last--;
    }
    for (unsigned i = first; i < last; i++) {
        most = histogram->count[i] > most ? histogram->count[i] : most;
    }
    tell->to->bars(tell->to->context, name);
    for (unsigned i = first; i < last; i++) {
        char range[WORDS_BYTES];
        char count[WORDS_BYTES];
        tell->to->bar(tell->to->context, label(histogram_from(i), histogram_to(i), range),
                      words_count(histogram->count[i], count),
                      (double)histogram->count[i] / (double)most);
    }
    tell->to->bars_end(tell->to->context);
}
