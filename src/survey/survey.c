#include "survey/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "store/schedule/schedule_read.h"

#define AT_ONCE  2048u            /* hosts in one read transaction */
#define LEAST_US INT64_C(1000000) /* between two surveys that are compared */

/* Fetches of a host as of the survey before. */
typedef struct Remembered {
    uint32_t host;
    uint32_t fetches;
} Remembered;

struct Survey {
    PageDB *db;
    HostRows *hosts;
    Schedule *schedule;
    Remembered *before; /* by host, ascending */
    size_t n_before;
    Remembered *seen; /* in this one */
    size_t n_seen;
    WallTime time_before; /* 0 = there was none */
};

/* One pass. */
typedef struct Pass {
    Survey *survey;
    const SurveyOptions *options;
    SurveyResult *result;
    MDB_txn *txn;
    Buffer origin;
    /* what one transaction reads */
    uint32_t record_hosts[AT_ONCE];
    HostRecord records[AT_ONCE];
    uint32_t queue_hosts[AT_ONCE];
    uint64_t queued[AT_ONCE];
} Pass;

static const char *const order_names[SURVEY_ORDERS] = {"queue", "speed", "errors", "waiting",
                                                       "pages", "bytes", "slowest"};

const char *survey_order_name(SurveyOrder order)
{
    return order_names[order];
}

SurveyOrder survey_order_of(const char *name)
{
    unsigned i = 0;
    while (i < SURVEY_ORDERS && strcmp(order_names[i], name) != 0) {
        i++;
    }
    return (SurveyOrder)i;
}

uint64_t survey_errors(const HostRecord *record)
{
    return (uint64_t)record->by_status[0] + record->by_status[5];
}

Result survey_new(Survey **out, PageDB *db, HostRows *hosts, Schedule *schedule)
{
    Survey *survey = calloc(1, sizeof *survey);
    if (survey == NULL) {
        return RESULT_MEMORY;
    }
    *survey = (Survey){.db = db, .hosts = hosts, .schedule = schedule};
    survey->before = malloc(SURVEY_REMEMBERED * sizeof *survey->before);
    survey->seen = malloc(SURVEY_REMEMBERED * sizeof *survey->seen);
    if (survey->before == NULL || survey->seen == NULL) {
        survey_delete(survey);
        return RESULT_MEMORY;
    }
    *out = survey;
    return RESULT_OK;
}

void survey_delete(Survey *survey)
{
    if (survey != NULL) {
        free(survey->before);
        free(survey->seen);
        free(survey);
    }
}

void survey_result_destroy(SurveyResult *result)
{
    for (size_t i = 0; i < result->n; i++) {
        free(result->rows[i].origin);
    }
    free(result->rows);
    *result = (SurveyResult){.rows = NULL};
}

/* ---- one host ---- */

/* Whether enough time has passed since the survey before for a difference to mean something. */
static bool is_later(const Pass *pass)
{
    return pass->options->now.us - pass->survey->time_before.us >= LEAST_US;
}

static double speed_of(const Pass *pass, const SurveyRow *row)
{
    Survey *survey = pass->survey;
    const HostRecord *record = &row->record;
    int64_t now_ms = pass->options->now.us / 1000;
    if (record->fetches == 0 || now_ms - record->last_fetch_ms > SURVEY_LATELY_MS) {
        return 0;
    }
    if (survey->n_seen < SURVEY_REMEMBERED) {
        survey->seen[survey->n_seen++] =
            (Remembered){.host = row->host, .fetches = record->fetches};
    }
    const Remembered *before =
        survey->n_before == 0 || !is_later(pass)
            ? NULL
            : array_find(survey->before, survey->n_before, sizeof *survey->before,
                         ARRAY_KEY(Remembered, host), row->host);
    double seconds = before != NULL ? (double)(pass->options->now.us - survey->time_before.us) / 1e6
                                    : (double)(now_ms - record->first_fetch_ms) / 1e3;
    double fetches = before != NULL ? (double)record->fetches - (double)before->fetches
                                    : (double)record->fetches;
    return seconds > 0.1 && fetches > 0 ? fetches / seconds : 0;
}

static double survey_rank_of(const SurveyRow *row, SurveyOrder order)
{
    const HostRecord *record = &row->record;
    switch (order) {
    case SURVEY_QUEUE:
        return (double)row->queued;
    case SURVEY_SPEED:
        return row->speed;
    case SURVEY_ERRORS:
        return (double)survey_errors(record);
    case SURVEY_WAITING:
        return row->queued > 0 ? (double)row->wait_ms : 0;
    case SURVEY_PAGES:
        return (double)record->pages;
    case SURVEY_BYTES:
        return (double)record->bytes;
    case SURVEY_SLOWEST:
        return record->fetches > 1 ? (double)record->fetch_ms / record->fetches : 0;
    case SURVEY_ORDERS:
        break;
    }
    return 0;
}

/* Puts the row where it belongs, if it belongs to the first ones. Of equals the one that was known
 * earlier goes first. */
static Result survey_keep(Pass *pass, SurveyRow *row)
{
    SurveyResult *result = pass->result;
    size_t at = result->n;
    if (at == pass->options->max) {
        if (at == 0 || result->rows[at - 1].rank >= row->rank) {
            return RESULT_OK;
        }
        at--;
    }
    row->origin = strndup(buffer_string(&pass->origin), pass->origin.length);
    if (row->origin == NULL) {
        return RESULT_MEMORY;
    }
    if (at < result->n) {
        free(result->rows[at].origin);
    } else {
        result->n++;
    }
    while (at > 0 && result->rows[at - 1].rank < row->rank) {
        result->rows[at] = result->rows[at - 1];
        at--;
    }
    result->rows[at] = *row;
    return RESULT_OK;
}

static bool belongs(const Pass *pass, const SurveyRow *row)
{
    const SurveyResult *result = pass->result;
    return result->n < pass->options->max ||
           (result->n > 0 && result->rows[result->n - 1].rank < row->rank);
}

static Result survey_take_host(Pass *pass, SurveyRow *row)
{
    const SurveyOptions *options = pass->options;
    bool has_filter = options->filter != NULL && *options->filter != '\0';
    int64_t now_ms = options->now.us / 1000;
    int64_t until_ms = host_not_before_ms(&row->record, now_ms, now_ms);
    row->wait_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    row->speed = speed_of(pass, row);
    row->rank = survey_rank_of(row, options->order);
    SurveyCounts *counts = &pass->result->counts;
    counts->hosts++;
    counts->queued += row->queued > 0;
    counts->waiting += row->queued > 0 && row->wait_ms > 0 && row->record.failures > 0;
    counts->lately += row->record.fetches > 0 &&
                      pass->options->now.us / 1000 - row->record.last_fetch_ms <= SURVEY_LATELY_MS;
    counts->dropped += row->record.state == HOST_DROPPED;
    counts->parked += row->record.state == HOST_PARKED;
    counts->full += row->record.state == HOST_FULL;
    counts->denied += row->record.state == HOST_DENIED;
    if (!has_filter && !belongs(pass, row)) {
        return RESULT_OK;
    }
    if (page_db_host_origin(pass->survey->db, pass->txn, row->host, &pass->origin) !=
        page_db_error_ok) {
        return RESULT_OK; /* it was forgotten meanwhile */
    }
    if (has_filter && strcasestr(buffer_string(&pass->origin), options->filter) == NULL) {
        return RESULT_OK;
    }
    pass->result->counts.matching++;
    return belongs(pass, row) ? survey_keep(pass, row) : RESULT_OK;
}

/* ---- all of them ---- */

/* Hosts [from, until): records and queues are merged by id; a host without either has none. */
static Result take_range(Pass *pass, uint32_t from, uint32_t until)
{
    Survey *survey = pass->survey;
    uint64_t records_from = from;
    uint64_t queue_from = from;
    size_t n_records = 0;
    size_t n_queued = 0;
    size_t r = 0;
    size_t q = 0;
    Result rc = RESULT_OK;
    if (survey->hosts != NULL) {
        rc = host_rows_read(survey->hosts, pass->txn, &records_from, pass->record_hosts,
                            pass->records, until - from, &n_records);
    }
    if (rc == RESULT_OK && survey->schedule != NULL) {
        rc = schedule_host_counts(survey->schedule, pass->txn, &queue_from, pass->queue_hosts,
                                  pass->queued, until - from, &n_queued);
    }
    for (uint32_t host = from; rc == RESULT_OK && host < until; host++) {
        SurveyRow row = {.host = host};
        if (r < n_records && pass->record_hosts[r] == host) {
            row.record = pass->records[r++];
        }
        if (q < n_queued && pass->queue_hosts[q] == host) {
            row.queued = pass->queued[q++];
        }
        rc = survey_take_host(pass, &row);
    }
    return rc;
}

static Result survey_take_all(Pass *pass)
{
    Survey *survey = pass->survey;
    Result rc = RESULT_OK;
    uint32_t n_hosts = 1; /* until the first transaction knows */
    for (uint32_t from = 0; rc == RESULT_OK && from < n_hosts;) {
        if (page_db_txn_begin(survey->db, true, &pass->txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        n_hosts = page_db_n_hosts(survey->db, pass->txn);
        uint32_t until = n_hosts - from > AT_ONCE ? from + AT_ONCE : n_hosts;
        rc = take_range(pass, from, until);
        page_db_txn_abort(survey->db, pass->txn);
        from = until;
    }
    return rc;
}

Result survey_take(Survey *survey, const SurveyOptions *options, SurveyResult *result)
{
    SurveyOptions bounded = *options;
    Pass *pass = calloc(1, sizeof *pass);
    *result = (SurveyResult){.n = 0};
    bounded.max = options->max < SURVEY_ROWS_MAX ? options->max : SURVEY_ROWS_MAX;
    result->rows = calloc(bounded.max + 1, sizeof *result->rows);
    if (pass == NULL || result->rows == NULL) {
        free(pass);
        return RESULT_MEMORY;
    }
    pass->survey = survey;
    pass->options = &bounded;
    pass->result = result;
    buffer_init(&pass->origin, BUFFER_NO_LIMIT);
    survey->n_seen = 0;
    Result rc = survey_take_all(pass);
    buffer_destroy(&pass->origin);
    free(pass);
    if (rc == RESULT_OK && bounded.now.us - survey->time_before.us >= LEAST_US) {
        Remembered *spare = survey->before;
        survey->before = survey->seen;
        survey->n_before = survey->n_seen;
        survey->seen = spare;
        survey->time_before = options->now;
    }
    return rc;
}
