/* Status JSON: DIR/status.json, and the same object as the control socket returns it.
 *
 * What: a flat object, as crawl/run/status.h writes it, read field by field.
 * Owns: nothing; texts are borrowed.
 * Threads: any; pure. */
#ifndef LOGS_STATUS_JSON_H
#define LOGS_STATUS_JSON_H

#include "logs/log_text.h"

/* The value of a field, without its quotes; empty: it is not there. */
LogText status_json_get(const char *json, const char *name);
/* The same as a number; absent when it is none. */
double status_json_number(const char *json, const char *name, double absent);

#endif
