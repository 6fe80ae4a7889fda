/* Survey: a look over all hosts of a crawl, for `ragno top` and reports.
 *
 * What: one pass over the records of hosts and over the schedule, both by host id, in short read
 * transactions: some microseconds a host. It counts all hosts by state, and returns the first rows
 * in a given order. The speed of a host is the difference to the survey before; the first survey
 * takes the mean over the host's whole life.
 * Owns: what it remembers of the hosts that were fetched from lately, at most SURVEY_REMEMBERED.
 * Threads: one at a time; the crawl may be running, in this process or another.
 * Errors: RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED, RESULT_VERSION. */
#pragma once

#include "store/pages/page_db.h"
#include "store/tables/host_rows.h"

#define SURVEY_REMEMBERED 100000u
#define SURVEY_ROWS_MAX   1000u
#define SURVEY_LATELY_MS  60000 /* a host that was fetched from so lately has a speed */

typedef enum SurveyOrder {
    SURVEY_QUEUE,   /* most URLs queued */
    SURVEY_SPEED,   /* most fetches a second */
    SURVEY_ERRORS,  /* most attempts without an answer and answers 5xx */
    SURVEY_WAITING, /* the longest wait, of those that have URLs queued */
    SURVEY_PAGES,   /* most pages */
    SURVEY_BYTES,   /* most bytes received */
    SURVEY_SLOWEST, /* most ms for a fetch */
    SURVEY_ORDERS
} SurveyOrder;

/* "queue", "speed", "errors", ... */
const char *survey_order_name(SurveyOrder order);
/* The order of that name; SURVEY_ORDERS when there is none. */
SurveyOrder survey_order_of(const char *name);

typedef struct SurveyOptions {
    SurveyOrder order;
    const char *filter; /* only origins that contain it, without case; NULL or "": all */
    size_t max;         /* rows, at most SURVEY_ROWS_MAX */
    WallTime now;
} SurveyOptions;

typedef struct SurveyRow {
    uint32_t host;
    char *origin; /* owned by the result */
    uint64_t queued;
    double speed;    /* fetches a second */
    int64_t wait_ms; /* until it may be visited; 0 = it may */
    HostRecord record;
    double rank; /* what it is ordered by */
} SurveyRow;

typedef struct SurveyCounts {
    uint64_t hosts;   /* known */
    uint64_t queued;  /* with URLs queued */
    uint64_t waiting; /* of them that may not be visited yet, after a failure or a 429 */
    uint64_t lately;  /* fetched from lately */
    uint64_t dropped;
    uint64_t parked;
    uint64_t full;
    uint64_t denied;
    uint64_t matching; /* the filter */
} SurveyCounts;

typedef struct SurveyResult {
    SurveyRow *rows; /* first ones first */
    size_t n;
    SurveyCounts counts;
} SurveyResult;

typedef struct Survey Survey;

/* Borrows all three. schedule and hosts are NULL for a database that a user of the library made.
 * RESULT_MEMORY. */
Result survey_new(Survey **survey, PageDB *db, HostRows *hosts, Schedule *schedule);
void survey_delete(Survey *survey);
/* Looks over all hosts. The result is to be destroyed. */
Result survey_take(Survey *survey, const SurveyOptions *options, SurveyResult *result);
void survey_result_destroy(SurveyResult *result);

/* Errors of a host as the survey counts them. */
uint64_t survey_errors(const HostRecord *record);
