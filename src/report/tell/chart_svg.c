#include "report/tell/chart_svg.h"

#include <math.h>
#include <string.h>

#include "report/tell/report_words.h"

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

static double chart_svg_value_of(const ReportChart *chart, size_t bucket)
{
    return chart->is_rate ? series_rate(chart->series, bucket) : series_mean(chart->series, bucket);
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
        double value = chart_svg_value_of(chart, i);
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
        int length = span > 2 * DAY_MS ? 11 : span > 600000 ? 5 : 8;
        (void)buffer_printf(out, "<span>%.*s</span>", length, from);
    }
    (void)buffer_append_string(out, "</div>");
}

Result chart_svg(Buffer *out, const ReportChart *chart)
{
    const Series *series = chart->series;
    bool bytes = chart->unit == CHART_BYTES;
    char text[WORDS_BYTES];
    double most = 0;
    for (size_t i = 0; i < series->n; i++) {
        most = chart_svg_value_of(chart, i) > most ? chart_svg_value_of(chart, i) : most;
    }
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
