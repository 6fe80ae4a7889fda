/* Report telling: what the sections of a report share.
 *
 * What: short ways to tell the writer of a fact, a table or a histogram.
 * Owns: two buffers; what telling_origin and telling_url return is borrowed until their next call.
 * Threads: one. */
#ifndef REPORT_TELL_REPORT_TELLING_H
#define REPORT_TELL_REPORT_TELLING_H

#include "report/gather/report.h"
#include "report/tell/report_words.h"
#include "report/tell/report_writer.h"

typedef struct Telling {
    const Report *report;
    const ReportWriter *to;
    Buffer origin;
    Buffer url;
} Telling;

void tell_section(const Telling *tell, const char *title, const char *note);
void tell_fact(const Telling *tell, const char *name, const char *value);
void tell_count(const Telling *tell, const char *name, uint64_t n);
/* "123 (4.5 %)" */
void tell_share(const Telling *tell, const char *name, uint64_t n, uint64_t all);
void tell_bytes(const Telling *tell, const char *name, uint64_t bytes);

void tell_table(const Telling *tell, const ReportColumn *columns, unsigned n);
void tell_row(const Telling *tell, const char *const *cells);
void tell_table_end(const Telling *tell);

/* A table of a tally, most counted first. bytes: with a column of them. meaning (may be NULL) says
 * what a name means, or NULL. */
void tell_tally(const Telling *tell, const Tally *tally, const char *name, bool bytes,
                const char *(*meaning)(const char *name));
void tell_histogram(const Telling *tell, const char *name, const Histogram *histogram,
                    char *(*label)(uint64_t from, uint64_t to, char text[WORDS_BYTES]));

/* The origin of a host, the URL of a page; "" when it cannot be read. */
const char *telling_origin(Telling *tell, uint32_t host);
const char *telling_url(Telling *tell, uint64_t index);
/* The meaning of a status that is a name in a tally. */
const char *telling_status(const char *name);

#endif
