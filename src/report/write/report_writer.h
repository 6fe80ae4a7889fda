/* Report writer: what an answer says, written for people or for programs.
 *
 * What: `ragno report`, `why`, `plan` and `audit` state each fact once, as key, label and value.
 * Programs get the key and the number as it is, in one JSON object; people get the label and the
 * number in words, as text or HTML (report_renderer.h). A fact without a label is for programs
 * alone, one without a key for people alone; so are columns. Sections, notes, bars and charts are
 * for people, objects for programs: neither sees the other's.
 *
 *   report_section(w, "Its host", NULL);           Its host
 *   report_object(w, "host");                        queued   1,234
 *   report_fact(w, "queued", "queued", REPORT_COUNT(1234));
 *   report_object_end(w);                          {"host": {"queued": 1234}}
 *
 * Text goes into the buffer as it is said, HTML at the end.
 * Owns: what is not yet written of a table. Texts are borrowed during a call, columns until the
 * end of their list.
 * Threads: one.
 * Errors: the first one is kept and returned by report_writer_end. */
#pragma once

#include "base/core/clock.h"
#include "base/memory/buffer.h"
#include "report/write/report_renderer.h"

typedef enum ReportForm { REPORT_AS_TEXT, REPORT_AS_HTML, REPORT_AS_JSON } ReportForm;

typedef enum ReportKind {
    VALUE_NONE, /* null; people see nothing, and no fact at all */
    VALUE_COUNT,
    VALUE_SHARE, /* a count, and for people its share of all */
    VALUE_INTEGER,
    VALUE_STATUS, /* an integer, and for people what it means */
    VALUE_REAL,
    VALUE_BYTES,
    VALUE_MS,
    VALUE_SECONDS,
    VALUE_TIME, /* a wall time; 0 is none */
    VALUE_FLAG,
    VALUE_WORDS /* NULL is none */
} ReportKind;

typedef struct ReportValue {
    ReportKind kind;
    union {
        uint64_t count;
        int64_t integer;
        double real; /* without end: programs get null */
        WallTime time;
        bool flag;
        const char *words;
    } of;
    uint64_t all; /* of a share */
    int decimals; /* of a real number */
} ReportValue;

#define REPORT_NONE            ((ReportValue){.kind = VALUE_NONE})
#define REPORT_COUNT(n)        ((ReportValue){.kind = VALUE_COUNT, .of.count = (n)})
#define REPORT_SHARE(n, total) ((ReportValue){.kind = VALUE_SHARE, .of.count = (n), .all = (total)})
#define REPORT_INTEGER(n)      ((ReportValue){.kind = VALUE_INTEGER, .of.integer = (n)})
#define REPORT_STATUS(n)       ((ReportValue){.kind = VALUE_STATUS, .of.integer = (n)})
#define REPORT_REAL(x, digits)                                                                     \
    ((ReportValue){.kind = VALUE_REAL, .of.real = (x), .decimals = (digits)})
#define REPORT_BYTES(n)   ((ReportValue){.kind = VALUE_BYTES, .of.real = (double)(n)})
#define REPORT_MS(ms)     ((ReportValue){.kind = VALUE_MS, .of.real = (double)(ms)})
#define REPORT_SECONDS(s) ((ReportValue){.kind = VALUE_SECONDS, .of.real = (s)})
#define REPORT_TIME(wall) ((ReportValue){.kind = VALUE_TIME, .of.time = (wall)})
#define REPORT_FLAG(is)   ((ReportValue){.kind = VALUE_FLAG, .of.flag = (is)})
#define REPORT_TEXT(text) ((ReportValue){.kind = VALUE_WORDS, .of.words = (text)})

typedef struct ReportWriter ReportWriter;

/* label_width: of the labels of facts in text. text is borrowed. RESULT_MEMORY. */
Result report_writer_new(ReportWriter **out, ReportForm form, unsigned label_width, Buffer *text);
/* Writes what is left and deletes the writer. The first error. */
Result report_writer_end(ReportWriter *writer);
bool report_is_json(const ReportWriter *writer);

void report_title(ReportWriter *writer, const char *title, const char *subtitle);
void report_section(ReportWriter *writer, const char *title, const char *note);
/* A line of its own; for programs, when key is given, a member. */
void report_note(ReportWriter *writer, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_fact(ReportWriter *writer, const char *key, const char *label, ReportValue value);
void report_object(ReportWriter *writer, const char *key);
void report_object_end(ReportWriter *writer);
/* What another writer wrote of the same form: a member, or lines. */
void report_quote(ReportWriter *writer, const char *key, const Buffer *said);

/* An array of objects, or a table. Column i of a row is values[i]. */
void report_list(ReportWriter *writer, const char *key, const ReportColumn *columns, unsigned n);
void report_row(ReportWriter *writer, const ReportValue *values);
void report_list_end(ReportWriter *writer);

/* Numbers with bars; for programs, when key is given, an array of the numbers. */
void report_bars(ReportWriter *writer, const char *key, const char *name);
/* share: of the longest one. */
void report_bar(ReportWriter *writer, const char *label, ReportValue value, double share);
void report_bars_end(ReportWriter *writer);
void report_chart(ReportWriter *writer, const ReportChart *chart);
