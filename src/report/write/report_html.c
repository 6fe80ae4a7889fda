#include "report/write/report_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/embed.h"
#include "report/write/report_words.h"

/* ---- Chart ---- */

#define HEIGHT 100.0
#define STEPS  4u
#define DAY_MS INT64_C(86400000)

Result html_append(Buffer *out, const char *text)
{
    Result rc = RESULT_OK;
    for (const char *p = text; *p != '\0' && rc == RESULT_OK; p++) {
        switch (*p) {
        case '&':
            rc = buffer_append_string(out, "&amp;");
            break;
        case '<':
            rc = buffer_append_string(out, "&lt;");
            break;
        case '>':
            rc = buffer_append_string(out, "&gt;");
            break;
        case '"':
            rc = buffer_append_string(out, "&quot;");
            break;
        default:
            rc = buffer_append_char(out, *p);
            break;
        }
    }
    return rc;
}

double chart_step(double most, unsigned n)
{
    if (!(most > 0)) {
        return 1;
    }
    double power = pow(10, floor(log10(most / n)));
    static const double factors[] = {1, 2, 5, 10};
    for (size_t i = 0; i < 4; i++) {
        if (factors[i] * power * n >= most * (1 - 1e-9)) {
            return factors[i] * power;
        }
    }
    return 10 * power;
}

/* Commands of a path through the values; where they are missing the line is broken. closed: down to
 * the axis at both ends, to be filled. */
static void chart_svg_append_path(Buffer *out, const ReportChart *chart, double top, bool closed)
{
    size_t n = chart->series->n;
    size_t reach = chart->is_rate ? 1 : series_reach(chart->series);
    bool is_down = false;
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        double value = series_value(chart->series, i, chart->is_rate);
        if (value < 0) {
            continue;
        }
        double y = HEIGHT * (1 - (value < top ? value : top) / top);
        double x = n == 1 ? 0 : 1000.0 * (double)i / (double)(n - 1);
        if (is_down && i - last > reach) {
            if (closed) {
                (void)buffer_printf(out, "V%.0fZ", HEIGHT);
            }
            is_down = false;
        }
        if (!is_down && closed) {
            (void)buffer_printf(out, "M%.1f %.0fV%.1f", x, HEIGHT, y);
        } else {
            (void)buffer_printf(out, "%c%.1f %.1f", is_down ? 'L' : 'M', x, y);
        }
        is_down = true;
        last = i;
    }
    if (is_down && closed) {
        (void)buffer_printf(out, "V%.0fZ", HEIGHT);
    }
}

static void chart_svg_append_times(Buffer *out, const Series *series)
{
    int64_t span = (int64_t)series->n * series->width_ms;
    (void)buffer_append_string(out, "<div class=x>");
    for (int i = 0; i <= 2; i++) {
        char text[WORDS_BYTES];
        WallTime time = {(series->from_ms + span * i / 2) * 1000};
        (void)words_time(time, text);
        const char *from = span > 2 * DAY_MS ? text + 5 : text + 11; /* date and hour, or time */
        int length = span > 600000 ? 5 : 8;
        length = span > 2 * DAY_MS ? 11 : length;
        (void)buffer_printf(out, "<span>%.*s</span>", length, from);
    }
    (void)buffer_append_string(out, "</div>");
}

Result chart_svg(Buffer *out, const ReportChart *chart)
{
    const Series *series = chart->series;
    bool bytes = chart->unit == CHART_BYTES;
    char text[WORDS_BYTES];
    double most = series_most(series, chart->is_rate);
    double step = chart_step(most, STEPS);
    double top = most > 0 ? step * ceil(most / step - 1e-9) : 1;
    unsigned n_steps = (unsigned)lround(top / step);
    (void)buffer_append_string(out, "<figure class=chart><figcaption>");
    (void)html_append(out, chart->name);
    (void)buffer_printf(out, "<b>most %s</b></figcaption><div class=plot><div class=y>",
                        words_tick(most, bytes, text));
    for (unsigned i = 0; i <= n_steps; i++) {
        (void)buffer_printf(out, "<span>%s</span>", words_tick(step * (n_steps - i), bytes, text));
    }
    (void)buffer_append_string(
        out, "</div><svg viewBox=\"0 0 1000 100\" preserveAspectRatio=none role=img aria-label=\"");
    (void)html_append(out, chart->name);
    (void)buffer_printf(out, ", most %s\"><path class=grid d=\"", words_tick(most, bytes, text));
    for (unsigned i = 0; i <= n_steps; i++) {
        (void)buffer_printf(out, "M0 %.1fH1000", HEIGHT * i / n_steps);
    }
    (void)buffer_append_string(out, "\"/><path class=area d=\"");
    chart_svg_append_path(out, chart, top, true);
    (void)buffer_append_string(out, "\"/><path class=line d=\"");
    chart_svg_append_path(out, chart, top, false);
    (void)buffer_append_string(out, "\"/></svg></div>");
    chart_svg_append_times(out, series);
    return buffer_append_string(out, "</figure>\n");
}

/* ---- Report HTML ---- */

/* What is open in the section: what comes next closes it first. */
typedef enum Open { OPEN_NOTHING, OPEN_FACTS, OPEN_CHARTS } Open;

typedef struct ReportHtml {
    Buffer *out;
    Buffer head;     /* title and subtitle */
    Buffer contents; /* a link for each section */
    Buffer body;
    unsigned n_sections;
    const ReportColumn *columns;
    unsigned n_columns;
    Open open;
} ReportHtml;

EMBED(report_style, "src/report/write/report.css");

static void report_html_put(Buffer *out, const char *markup)
{
    (void)buffer_append_string(out, markup);
}

static void element(Buffer *out, const char *before, const char *text, const char *behind)
{
    report_html_put(out, before);
    (void)html_append(out, text);
    report_html_put(out, behind);
}

static void switch_to(ReportHtml *html, Open open)
{
    static const char *const begin[] = {"", "<dl>\n", "<div class=charts>\n"};
    static const char *const close[] = {"", "</dl>\n", "</div>\n"};
    if (html->open != open) {
        report_html_put(&html->body, close[html->open]);
        report_html_put(&html->body, begin[open]);
        html->open = open;
    }
}

static void html_title(void *context, const char *title, const char *subtitle)
{
    ReportHtml *html = context;
    element(&html->head, "<h1>", title, "</h1>");
    element(&html->head, "<p>", subtitle, "</p>\n");
}

static void html_section(void *context, const char *title, const char *note)
{
    ReportHtml *html = context;
    unsigned n = ++html->n_sections;
    switch_to(html, OPEN_NOTHING);
    report_html_put(&html->body, n > 1 ? "</section>\n" : "");
    (void)buffer_printf(&html->body, "<section><h2 id=s%u>", n);
    element(&html->body, "", title, "</h2>\n");
    (void)buffer_printf(&html->contents, "<a href=#s%u>", n);
    element(&html->contents, "", title, "</a>\n");
    if (note != NULL) {
        element(&html->body, "<p>", note, "</p>\n");
    }
}

static void html_remark(void *context, const char *note)
{
    ReportHtml *html = context;
    switch_to(html, OPEN_NOTHING);
    element(&html->body, "<p>", note, "</p>\n");
}

static void html_fact(void *context, const char *name, const char *value)
{
    ReportHtml *html = context;
    switch_to(html, OPEN_FACTS);
    element(&html->body, "<div><dt>", name, "</dt>");
    element(&html->body, "<dd>", value, "</dd></div>\n");
}

/* ---- tables ---- */

static void html_table(void *context, const ReportColumn *columns, unsigned n)
{
    ReportHtml *html = context;
    switch_to(html, OPEN_NOTHING);
    html->columns = columns;
    html->n_columns = n;
    report_html_put(&html->body, "<div class=scroll><table><thead><tr>");
    for (unsigned c = 0; c < n; c++) {
        if (columns[c].name == NULL) {
            continue;
        }
        element(&html->body, columns[c].is_number ? "<th class=n>" : "<th>", columns[c].name,
                "</th>");
    }
    report_html_put(&html->body, "</tr></thead><tbody>\n");
}

static void html_row(void *context, const char *const *cells)
{
    ReportHtml *html = context;
    report_html_put(&html->body, "<tr>");
    for (unsigned c = 0; c < html->n_columns; c++) {
        if (html->columns[c].name == NULL) {
            continue;
        }
        if (html->columns[c].is_url) {
            report_html_put(&html->body, "<td class=u>");
            /* URLs, separated by blanks, as links: only such as a browser may follow. */
            const char *urls = cells[c];
            while (*urls != '\0') {
                size_t n = strcspn(urls, " ");
                char *url = strndup(urls, n);
                if (url != NULL &&
                    (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)) {
                    element(&html->body, "<a rel=noreferrer href=\"", url, "\">");
                    element(&html->body, "", url, "</a>");
                } else if (url != NULL) {
                    (void)html_append(&html->body, url);
                }
                free(url);
                urls += n + strspn(urls + n, " ");
                report_html_put(&html->body, *urls == '\0' ? "" : "<br>");
            }
            report_html_put(&html->body, "</td>");
        } else {
            element(&html->body, html->columns[c].is_number ? "<td class=n>" : "<td>", cells[c],
                    "</td>");
        }
    }
    report_html_put(&html->body, "</tr>\n");
}

static void html_table_end(void *context)
{
    ReportHtml *html = context;
    report_html_put(&html->body, "</tbody></table></div>\n");
}

/* ---- bars and charts ---- */

static void html_bars(void *context, const char *name)
{
    ReportHtml *html = context;
    switch_to(html, OPEN_NOTHING);
    element(&html->body, "<div class=scroll><table class=bars><caption>", name,
            "</caption><tbody>\n");
}

static void html_bar(void *context, const char *label, const char *value, double share)
{
    ReportHtml *html = context;
    element(&html->body, "<tr><th class=n>", label, "</th>");
    element(&html->body, "<td class=n>", value, "</td>");
    (void)buffer_printf(&html->body, "<td>");
    if (share > 0) {
        (void)buffer_printf(&html->body, "<i style=\"width:%.2f%%\"></i>", share * 100);
    }
    report_html_put(&html->body, "</td></tr>\n");
}

static void html_chart(void *context, const ReportChart *chart)
{
    ReportHtml *html = context;
    switch_to(html, OPEN_CHARTS);
    (void)chart_svg(&html->body, chart);
}

static Result html_end(void *context)
{
    ReportHtml *html = context;
    switch_to(html, OPEN_NOTHING);
    report_html_put(&html->body, html->n_sections > 0 ? "</section>\n" : "");
    Result rc = result_first(html->head.failed, html->contents.failed);
    rc = result_first(rc, html->body.failed);
    if (rc == RESULT_OK) {
        rc = buffer_printf(html->out,
                           "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                           "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
                           "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                           "style-src 'unsafe-inline'\">\n"
                           "<title>Crawl report</title>\n<style>\n%s</style></head><body>\n"
                           "<header>%s</header>\n<nav>%s\n</nav>\n%s\n"
                           "<footer>Made by ragno report. This file loads nothing and runs no "
                           "script.</footer>\n</body></html>\n",
                           report_style, buffer_string(&html->head), buffer_string(&html->contents),
                           buffer_string(&html->body));
    }
    buffer_destroy(&html->head);
    buffer_destroy(&html->contents);
    buffer_destroy(&html->body);
    free(html);
    return rc;
}

Result report_html_renderer(ReportRenderer *renderer, Buffer *out)
{
    ReportHtml *html = calloc(1, sizeof *html);
    if (html == NULL) {
        return RESULT_MEMORY;
    }
    html->out = out;
    buffer_init(&html->head, BUFFER_NO_LIMIT);
    buffer_init(&html->contents, BUFFER_NO_LIMIT);
    buffer_init(&html->body, BUFFER_NO_LIMIT);
    *renderer = (ReportRenderer){.context = html,
                                 .title = html_title,
                                 .section = html_section,
                                 .note = html_remark,
                                 .fact = html_fact,
                                 .table = html_table,
                                 .row = html_row,
                                 .table_end = html_table_end,
                                 .bars = html_bars,
                                 .bar = html_bar,
                                 .bars_end = html_table_end,
                                 .chart = html_chart,
                                 .end = html_end};
    return RESULT_OK;
}
