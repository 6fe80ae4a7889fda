#include "report/write/report_text.h"

#include <stdlib.h>
#include <string.h>

#include "report/write/report_words.h"

#define BAR_COLUMNS   40
#define CHART_COLUMNS 60u
#define ROWS_MAX      64u

typedef struct ReportText {
    Buffer *out;
    unsigned label_width;
    const ReportColumn *columns; /* of the table that is open */
    unsigned n_columns;
    char *cells[ROWS_MAX][REPORT_COLUMNS]; /* owned */
    unsigned n_rows;
    bool failed;
} ReportText;

static void forget_rows(ReportText *text)
{
    for (unsigned r = 0; r < text->n_rows; r++) {
        for (unsigned c = 0; c < text->n_columns; c++) {
            free(text->cells[r][c]);
        }
    }
    text->n_rows = 0;
}

static void put_line(ReportText *text, const char *line, char below)
{
    (void)buffer_printf(text->out, "%s\n", line);
    for (size_t i = strlen(line); i > 0; i--) {
        (void)buffer_append_char(text->out, below);
    }
    (void)buffer_append_char(text->out, '\n');
}

static void text_note(void *context, const char *note)
{
    ReportText *text = context;
    size_t n = strlen(note);
    (void)buffer_printf(text->out, n > 0 && note[n - 1] == '\n' ? "%s" : "%s\n", note);
}

static void text_title(void *context, const char *title, const char *subtitle)
{
    put_line(context, title, '=');
    text_note(context, subtitle);
}

static void text_section(void *context, const char *title, const char *note)
{
    ReportText *text = context;
    (void)buffer_append_char(text->out, '\n');
    put_line(text, title, '-');
    if (note != NULL) {
        text_note(text, note);
    }
}

static void text_fact(void *context, const char *label, const char *value)
{
    ReportText *text = context;
    (void)buffer_printf(text->out, "  %-*s %s\n", (int)text->label_width, label, value);
}

/* ---- tables ---- */

static void text_table(void *context, const ReportColumn *columns, unsigned n)
{
    ReportText *text = context;
    text->columns = columns;
    text->n_columns = n;
}

/* A cell; the last column that is shown is not padded. */
static void put_cell(const ReportText *text, unsigned c, const char *value, int width, bool is_last)
{
    bool is_number = text->columns[c].is_number;
    (void)buffer_printf(text->out, is_number ? "  %*s" : "  %-*s",
                        is_last && !is_number ? 0 : width, value);
}

/* What is empty in every row is not shown. */
static void text_table_end(void *context)
{
    ReportText *text = context;
    int width[REPORT_COLUMNS] = {0};
    unsigned last = 0;
    for (unsigned c = 0; c < text->n_columns; c++) {
        for (unsigned r = 0; r < text->n_rows && text->columns[c].name != NULL; r++) {
            int n = text->cells[r][c] == NULL ? 0 : (int)strlen(text->cells[r][c]);
            width[c] = n > width[c] ? n : width[c];
        }
        if (width[c] > 0) {
            int n = (int)strlen(text->columns[c].name);
            width[c] = n > width[c] ? n : width[c];
            last = c;
        }
    }
    for (unsigned c = 0; c <= last && text->n_rows > 0; c++) {
        if (width[c] > 0) {
            put_cell(text, c, text->columns[c].name, width[c], c == last);
        }
    }
    for (unsigned r = 0; r < text->n_rows; r++) {
        (void)buffer_append_char(text->out, '\n');
        for (unsigned c = 0; c < text->n_columns; c++) {
            if (width[c] > 0) {
                put_cell(text, c, text->cells[r][c] == NULL ? "" : text->cells[r][c], width[c],
                         c == last);
            }
        }
    }
    if (text->n_rows > 0) {
        (void)buffer_append_char(text->out, '\n');
    }
    forget_rows(text);
}

static void text_row(void *context, const char *const *cells)
{
    ReportText *text = context;
    if (text->n_rows == ROWS_MAX) {
        text_table_end(text);
    }
    for (unsigned c = 0; c < text->n_columns; c++) {
        text->cells[text->n_rows][c] = strdup(cells[c]);
        text->failed = text->failed || text->cells[text->n_rows][c] == NULL;
    }
    text->n_rows++;
}

/* ---- bars and charts ---- */

static void text_bars(void *context, const char *name)
{
    ReportText *text = context;
    (void)buffer_printf(text->out, "  %s\n", name);
}

static void text_bar(void *context, const char *label, const char *value, double share)
{
    ReportText *text = context;
    int length = (int)(share * BAR_COLUMNS + 0.5);
    (void)buffer_printf(text->out, "  %20s %12s ", label, value);
    for (int i = 0; i < length || (i == 0 && share > 0); i++) {
        (void)buffer_append_char(text->out, '#');
    }
    (void)buffer_append_char(text->out, '\n');
}

/* A row of characters of nine heights, and what stands at its ends. */
static void text_chart(void *context, const ReportChart *chart)
{
    static const char heights[] = " .:-=+*#%@";
    ReportText *text = context;
    const Series *series = chart->series;
    char peak[WORDS_BYTES];
    char line[CHART_COLUMNS + 1];
    double most = series_most(series, chart->is_rate);
    size_t n = series->n < CHART_COLUMNS ? series->n : CHART_COLUMNS;
    size_t reach = chart->is_rate ? 0 : series_reach(series);
    double latest = 0;
    size_t seen = 0; /* bucket of the latest */
    for (size_t i = 0; i < n; i++) {
        double value = 0;
        bool any = false;
        for (size_t k = i * series->n / n; k < (i + 1) * series->n / n; k++) {
            double of_bucket = series_value(series, k, chart->is_rate);
            value = of_bucket > value ? of_bucket : value;
            latest = of_bucket >= 0 ? of_bucket : latest;
            seen = of_bucket >= 0 ? k : seen;
            any = any || of_bucket >= 0;
        }
        value = !any && i * series->n / n - seen <= reach ? latest : value;
        line[i] = heights[most > 0 ? (size_t)(value / most * 9) : 0];
    }
    line[n] = '\0';
    (void)buffer_printf(text->out, "  %-28s |%s| most %s\n", chart->name, line,
                        words_tick(most, chart->unit == CHART_BYTES, peak));
}

static Result text_end(void *context)
{
    ReportText *text = context;
    Result rc = text->failed ? RESULT_MEMORY : text->out->failed;
    forget_rows(text);
    free(text);
    return rc;
}

Result report_text_renderer(ReportRenderer *renderer, unsigned label_width, Buffer *out)
{
    ReportText *text = calloc(1, sizeof *text);
    if (text == NULL) {
        return RESULT_MEMORY;
    }
    text->out = out;
    text->label_width = label_width;
    *renderer = (ReportRenderer){.context = text,
                                 .title = text_title,
                                 .section = text_section,
                                 .note = text_note,
                                 .fact = text_fact,
                                 .table = text_table,
                                 .row = text_row,
                                 .table_end = text_table_end,
                                 .bars = text_bars,
                                 .bar = text_bar,
                                 .chart = text_chart,
                                 .end = text_end};
    return RESULT_OK;
}
