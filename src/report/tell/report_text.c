#include "report/tell/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "report/tell/report_words.h"

#define BAR_COLUMNS   40
#define CHART_COLUMNS 60u
#define ROWS_MAX      64u

struct ReportText {
    FILE *file;
    const ReportColumn *columns; /* of the table that is open */
    unsigned n_columns;
    char *cells[ROWS_MAX][REPORT_COLUMNS]; /* owned */
    unsigned n_rows;
    bool failed;
};

Result report_text_new(ReportText **out, FILE *file)
{
    ReportText *text = calloc(1, sizeof *text);
    if (text == NULL) {
        return RESULT_MEMORY;
    }
    text->file = file;
    *out = text;
    return RESULT_OK;
}

static void forget_rows(ReportText *text)
{
    for (unsigned r = 0; r < text->n_rows; r++) {
        for (unsigned c = 0; c < text->n_columns; c++) {
            free(text->cells[r][c]);
        }
    }
    text->n_rows = 0;
}

void report_text_delete(ReportText *text)
{
    if (text != NULL) {
        forget_rows(text);
        free(text);
    }
}

static void put_line(ReportText *text, const char *line, char below)
{
    (void)fprintf(text->file, "%s\n", line);
    for (size_t i = strlen(line); i > 0; i--) {
        (void)fputc(below, text->file);
    }
    (void)fputc('\n', text->file);
}

static void text_begin(void *context, const char *title, const char *subtitle)
{
    ReportText *text = context;
    put_line(text, title, '=');
    (void)fprintf(text->file, "%s\n", subtitle);
}

static void text_section(void *context, const char *title, const char *note)
{
    ReportText *text = context;
    (void)fputc('\n', text->file);
    put_line(text, title, '-');
    if (note != NULL) {
        (void)fprintf(text->file, "%s\n", note);
    }
}

static void text_fact(void *context, const char *name, const char *value)
{
    ReportText *text = context;
    (void)fprintf(text->file, "  %-38s %s\n", name, value);
}

/* ---- tables ---- */

static void text_table(void *context, const ReportColumn *columns, unsigned n)
{
    ReportText *text = context;
    text->columns = columns;
    text->n_columns = n;
}

static void text_row(void *context, const char *const *cells)
{
    ReportText *text = context;
    if (text->n_rows == ROWS_MAX) {
        text->failed = true;
        return;
    }
    for (unsigned c = 0; c < text->n_columns; c++) {
        text->cells[text->n_rows][c] = strdup(cells[c]);
        text->failed = text->failed || text->cells[text->n_rows][c] == NULL;
    }
    text->n_rows++;
}

static const char *cell(const ReportText *text, unsigned r, unsigned c)
{
    return text->cells[r][c] == NULL ? "" : text->cells[r][c];
}

static void put_cell(const ReportText *text, unsigned c, const char *value, size_t width)
{
    bool is_last = c + 1 == text->n_columns;
    if (text->columns[c].is_number) {
        (void)fprintf(text->file, "  %*s", (int)width, value);
    } else {
        (void)fprintf(text->file, "  %-*s", is_last ? 0 : (int)width, value);
    }
}

static void text_table_end(void *context)
{
    ReportText *text = context;
    size_t width[REPORT_COLUMNS];
    for (unsigned c = 0; c < text->n_columns; c++) {
        width[c] = strlen(text->columns[c].name);
        for (unsigned r = 0; r < text->n_rows; r++) {
            size_t n = strlen(cell(text, r, c));
            width[c] = n > width[c] ? n : width[c];
        }
        put_cell(text, c, text->columns[c].name, width[c]);
    }
    (void)fputc('\n', text->file);
    for (unsigned r = 0; r < text->n_rows; r++) {
        for (unsigned c = 0; c < text->n_columns; c++) {
            put_cell(text, c, cell(text, r, c), width[c]);
        }
        (void)fputc('\n', text->file);
    }
    forget_rows(text);
}

/* ---- bars and charts ---- */

static void text_bars(void *context, const char *name)
{
    ReportText *text = context;
    (void)fprintf(text->file, "  %s\n", name);
}

static void text_bar(void *context, const char *label, const char *value, double share)
{
    ReportText *text = context;
    int length = (int)(share * BAR_COLUMNS + 0.5);
    (void)fprintf(text->file, "  %20s %12s ", label, value);
    for (int i = 0; i < length || (i == 0 && share > 0); i++) {
        (void)fputc('#', text->file);
    }
    (void)fputc('\n', text->file);
}

static void text_bars_end(void *context)
{
    (void)context;
}

static double report_text_value_of(const ReportChart *chart, size_t bucket)
{
    return chart->is_rate ? series_rate(chart->series, bucket) : series_mean(chart->series, bucket);
}

/* A row of characters of nine heights, and what stands at its ends. */
static void text_chart(void *context, const ReportChart *chart)
{
    static const char heights[] = " .:-=+*#%@";
    ReportText *text = context;
    const Series *series = chart->series;
    char peak[WORDS_BYTES];
    char line[CHART_COLUMNS + 1];
    double most = 0;
    size_t n = series->n < CHART_COLUMNS ? series->n : CHART_COLUMNS;
    for (size_t i = 0; i < series->n; i++) {
        most = report_text_value_of(chart, i) > most ? report_text_value_of(chart, i) : most;
    }
    size_t reach = chart->is_rate ? 0 : series_reach(series);
    double latest = 0;
    size_t seen = 0; /* bucket of the latest */
    for (size_t i = 0; i < n; i++) {
        double value = 0;
        bool any = false;
        for (size_t k = i * series->n / n; k < (i + 1) * series->n / n; k++) {
            double of_bucket = report_text_value_of(chart, k);
            value = of_bucket > value ? of_bucket : value;
            latest = of_bucket >= 0 ? of_bucket : latest;
            seen = of_bucket >= 0 ? k : seen;
            any = any || of_bucket >= 0;
        }
        value = !any && i * series->n / n - seen <= reach ? latest : value;
        line[i] = heights[most > 0 ? (size_t)(value / most * 9) : 0];
    }
    line[n] = '\0';
    (void)fprintf(text->file, "  %-28s |%s| most %s\n", chart->name, line,
                  words_tick(most, chart->unit == CHART_BYTES, peak));
}

static Result text_end(void *context)
{
    const ReportText *text = context;
    if (text->failed) {
        return RESULT_MEMORY;
    }
    if (fflush(text->file) != 0 || ferror(text->file)) {
        return errno == 0 ? RESULT_IO : result_of_errno(errno);
    }
    return RESULT_OK;
}

ReportWriter report_text_writer(ReportText *text)
{
    return (ReportWriter){.context = text,
                          .begin = text_begin,
                          .section = text_section,
                          .fact = text_fact,
                          .table = text_table,
                          .row = text_row,
                          .table_end = text_table_end,
                          .bars = text_bars,
                          .bar = text_bar,
                          .bars_end = text_bars_end,
                          .chart = text_chart,
                          .end = text_end};
}
