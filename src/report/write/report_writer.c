#include "report/write/report_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/json_writer.h"
#include "report/write/report_html.h"
#include "report/write/report_text.h"
#include "report/write/report_words.h"

#define VALUE_BYTES_MOST (3 * WORDS_BYTES)

struct ReportWriter {
    bool is_json;
    JsonWriter json;
    ReportRenderer to;           /* when it is not */
    const ReportColumn *columns; /* of the list that is open */
    unsigned n_columns;
    bool has_bars; /* what is open of them is seen */
    Buffer note;
};

Result report_writer_new(ReportWriter **out, ReportForm form, unsigned label_width, Buffer *text)
{
    ReportWriter *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = RESULT_OK;
    writer->is_json = form == REPORT_AS_JSON;
    buffer_init(&writer->note, BUFFER_NO_LIMIT);
    if (writer->is_json) {
        json_init(&writer->json, text);
        json_open(&writer->json, NULL, '{');
    } else {
        rc = form == REPORT_AS_HTML ? report_html_renderer(&writer->to, text)
                                    : report_text_renderer(&writer->to, label_width, text);
    }
    if (rc != RESULT_OK) {
        free(writer);
        return rc;
    }
    *out = writer;
    return RESULT_OK;
}

Result report_writer_end(ReportWriter *writer)
{
    Result rc = RESULT_OK;
    if (writer->is_json) {
        json_close(&writer->json);
        rc = writer->json.result;
        if (rc == RESULT_OK) {
            rc = buffer_append_char(writer->json.out, '\n');
        }
    } else {
        rc = writer->to.end(writer->to.context);
    }
    buffer_destroy(&writer->note);
    free(writer);
    return rc;
}

bool report_is_json(const ReportWriter *writer)
{
    return writer->is_json;
}

/* ---- values ---- */

static void report_writer_put_json(JsonWriter *json, const char *key, const ReportValue *value)
{
    char time[CLOCK_TEXT_BYTES];
    switch (value->kind) {
    case VALUE_NONE:
        json_null(json, key);
        break;
    case VALUE_COUNT:
    case VALUE_SHARE:
        json_count(json, key, value->of.count);
        break;
    case VALUE_INTEGER:
    case VALUE_STATUS:
        json_integer(json, key, value->of.integer);
        break;
    case VALUE_REAL:
        json_real(json, key, value->of.real, value->decimals);
        break;
    case VALUE_BYTES:
    case VALUE_MS:
        json_real(json, key, value->of.real, 0);
        break;
    case VALUE_SECONDS:
        json_real(json, key, value->of.real, 1);
        break;
    case VALUE_TIME:
        json_string(json, key,
                    value->of.time.us == 0 ? NULL : wall_format_iso(value->of.time, time));
        break;
    case VALUE_FLAG:
        json_bool(json, key, value->of.flag);
        break;
    case VALUE_WORDS:
        json_string(json, key, value->of.words);
        break;
    }
}

/* Two words, the second in brackets unless it is empty. */
static const char *report_writer_join(const char *first, const char *second, char *text)
{
    (void)snprintf(text, VALUE_BYTES_MOST, *second == '\0' ? "%s" : "%s (%s)", first, second);
    return text;
}

static const char *report_writer_real(const ReportValue *value, char *text)
{
    double real = value->of.real;
    if (!isfinite(real)) {
        return "no end";
    }
    if (value->kind == VALUE_BYTES) {
        return words_bytes(real, text);
    }
    if (value->kind == VALUE_REAL) {
        (void)snprintf(text, VALUE_BYTES_MOST, "%.*f", value->decimals, real);
        return text;
    }
    return words_ms(value->kind == VALUE_SECONDS ? real * 1e3 : real, text);
}

/* As people read it: in text, or the words themselves. NULL: there is nothing to be read. */
static const char *report_writer_words(const ReportValue *value, char text[VALUE_BYTES_MOST])
{
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    const char *meaning = NULL;
    switch (value->kind) {
    case VALUE_NONE:
        return NULL;
    case VALUE_COUNT:
        return words_count(value->of.count, text);
    case VALUE_SHARE:
        return report_writer_join(words_count(value->of.count, a),
                                  words_share(value->of.count, value->all, b), text);
    case VALUE_INTEGER:
    case VALUE_STATUS:
        (void)snprintf(a, sizeof a, "%" PRId64, value->of.integer);
        meaning = value->kind == VALUE_STATUS ? words_status((int)value->of.integer) : NULL;
        return report_writer_join(a, meaning == NULL ? "" : meaning, text);
    case VALUE_REAL:
    case VALUE_BYTES:
    case VALUE_MS:
    case VALUE_SECONDS:
        return report_writer_real(value, text);
    case VALUE_TIME:
        (void)snprintf(text, VALUE_BYTES_MOST, "%s UTC", words_time(value->of.time, a));
        return value->of.time.us == 0 ? NULL : text;
    case VALUE_FLAG:
        return value->of.flag ? "yes" : "no";
    case VALUE_WORDS:
        return value->of.words;
    }
    return NULL;
}

/* ---- facts ---- */

void report_title(ReportWriter *writer, const char *title, const char *subtitle)
{
    if (!writer->is_json) {
        writer->to.title(writer->to.context, title, subtitle);
    }
}

void report_section(ReportWriter *writer, const char *title, const char *note)
{
    if (!writer->is_json) {
        writer->to.section(writer->to.context, title, note);
    }
}

void report_note(ReportWriter *writer, const char *key, const char *format, ...)
{
    va_list arguments;
    buffer_reset(&writer->note);
    va_start(arguments, format);
    (void)buffer_vprintf(&writer->note, format, arguments);
    va_end(arguments);
    if (!writer->is_json) {
        writer->to.note(writer->to.context, buffer_string(&writer->note));
    } else if (key != NULL) {
        json_string(&writer->json, key, buffer_string(&writer->note));
    }
}

void report_fact(ReportWriter *writer, const char *key, const char *label, ReportValue value)
{
    char text[VALUE_BYTES_MOST];
    if (writer->is_json) {
        if (key != NULL) {
            report_writer_put_json(&writer->json, key, &value);
        }
        return;
    }
    const char *words = label == NULL ? NULL : report_writer_words(&value, text);
    if (words != NULL) {
        writer->to.fact(writer->to.context, label, words);
    }
}

void report_object(ReportWriter *writer, const char *key)
{
    if (writer->is_json) {
        json_open(&writer->json, key, '{');
    }
}

void report_object_end(ReportWriter *writer)
{
    if (writer->is_json) {
        json_close(&writer->json);
    }
}

void report_quote(ReportWriter *writer, const char *key, const Buffer *said)
{
    if (writer->is_json) {
        json_raw(&writer->json, key, buffer_string(said), said->length);
    } else {
        writer->to.note(writer->to.context, buffer_string(said));
    }
}

/* ---- lists ---- */

void report_list(ReportWriter *writer, const char *key, const ReportColumn *columns, unsigned n)
{
    writer->columns = columns;
    writer->n_columns = n;
    if (!writer->is_json) {
        writer->to.table(writer->to.context, columns, n);
    } else if (key != NULL) {
        json_open(&writer->json, key, '[');
    }
}

void report_row(ReportWriter *writer, const ReportValue *values)
{
    char text[REPORT_COLUMNS][VALUE_BYTES_MOST];
    const char *cells[REPORT_COLUMNS];
    if (writer->is_json) {
        json_open(&writer->json, NULL, '{');
    }
    for (unsigned c = 0; c < writer->n_columns; c++) {
        if (!writer->is_json) {
            cells[c] = report_writer_words(&values[c], text[c]);
            cells[c] = cells[c] == NULL ? "" : cells[c];
        } else if (writer->columns[c].key != NULL) {
            report_writer_put_json(&writer->json, writer->columns[c].key, &values[c]);
        }
    }
    if (writer->is_json) {
        json_close(&writer->json);
    } else {
        writer->to.row(writer->to.context, cells);
    }
}

void report_list_end(ReportWriter *writer)
{
    if (writer->is_json) {
        json_close(&writer->json);
    } else {
        writer->to.table_end(writer->to.context);
    }
}

/* ---- bars and charts ---- */

void report_bars(ReportWriter *writer, const char *key, const char *name)
{
    writer->has_bars = !writer->is_json || key != NULL;
    if (!writer->is_json) {
        writer->to.bars(writer->to.context, name);
    } else if (key != NULL) {
        json_open(&writer->json, key, '[');
    }
}

void report_bar(ReportWriter *writer, const char *label, ReportValue value, double share)
{
    char text[VALUE_BYTES_MOST];
    if (!writer->is_json) {
        writer->to.bar(writer->to.context, label, report_writer_words(&value, text), share);
    } else if (writer->has_bars) {
        report_writer_put_json(&writer->json, NULL, &value);
    }
}

void report_bars_end(ReportWriter *writer)
{
    if (writer->is_json && writer->has_bars) {
        json_close(&writer->json);
    } else if (writer->to.bars_end != NULL) {
        writer->to.bars_end(writer->to.context);
    }
}

void report_chart(ReportWriter *writer, const ReportChart *chart)
{
    if (!writer->is_json) {
        writer->to.chart(writer->to.context, chart);
    }
}
