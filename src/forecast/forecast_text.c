#include "forecast/forecast_text.h"

#include <math.h>
#include <string.h>

#define FORECAST_LABELS 22u /* columns */
#define NOTICED_LEAST   1.0 /* seconds: shorter politeness is not told */

/* Numbers that are estimates: whole ones for people, "no end" when they have none. */
static ReportValue forecast_number(double n)
{
    return isfinite(n) ? REPORT_COUNT((uint64_t)llround(fmax(n, 0))) : REPORT_REAL(n, 0);
}

static void forecast_tell_now(const ForecastInput *input, const ForecastSubject *subject,
                              ReportWriter *to)
{
    const ForecastPoint *now = forecast_history_last(input->history);
    report_note(to, NULL, "%s %s", subject->directory,
                subject->is_running ? "runs" : "does not run");
    report_fact(to, "directory", NULL, REPORT_TEXT(subject->directory));
    report_fact(to, "running", NULL, REPORT_FLAG(subject->is_running));
    report_fact(to, "work_s", "at work", REPORT_SECONDS(now->at_work_s));
    report_fact(to, "pages", "pages", forecast_number(now->pages));
    report_fact(to, "bytes", "received", REPORT_BYTES(now->bytes));
    report_fact(to, "disk_bytes", "on disk", REPORT_BYTES(input->directory_bytes));
    report_fact(to, "disk_free_bytes", NULL, REPORT_BYTES(input->disk_free));
    report_fact(to, "urls_seen", "URLs known", forecast_number(now->seen));
    report_fact(to, "urls_queued", "queued", forecast_number(input->load->queued));
    report_fact(to, "hosts_queued", "on hosts", REPORT_COUNT(input->load->n));
    report_fact(to, "addresses_queued", "on addresses", REPORT_COUNT(input->load->n_addresses));
}

/* What ends it, and what decides how long that takes. */
static void forecast_tell_end(const Forecast *forecast, const ForecastInput *input,
                              ReportWriter *to)
{
    const ForecastEnd *end = &forecast->ends[forecast->first];
    bool is_polite = forecast->polite_seconds > forecast->rate_seconds ||
                     strcmp(forecast->bound, "politeness") == 0;
    const char *bound = *forecast->bound == '\0' ? NULL : forecast->bound;
    bool ends = forecast->has_end;
    if (!ends && forecast->able > 0) {
        report_note(to, NULL,
                    "no end is in sight: no limit, and new URLs come faster than it fetches");
    } else if (!ends) {
        bool fetched = forecast_history_last(input->history)->pages > 0;
        report_note(to, NULL, "no end can be told: %s, so no rate is known",
                    fetched ? "status.log does not say how fast it was"
                            : "it has not fetched anything yet");
    }
    report_fact(to, "ends_by", "ends by",
                REPORT_TEXT(ends ? forecast_limit_name(forecast->first) : NULL));
    if (ends) {
        bool is_sure = end->soonest >= end->latest;
        report_fact(to, "seconds", "in", REPORT_SECONDS(end->seconds));
        report_fact(to, "seconds_least", is_sure ? NULL : "at the soonest",
                    REPORT_SECONDS(end->soonest));
        report_fact(to, "seconds_most", is_sure ? NULL : "at the latest",
                    REPORT_SECONDS(end->latest));
        report_fact(to, "more_pages", "pages more", forecast_number(forecast->pages));
        report_fact(to, "more_bytes", "received more", REPORT_BYTES(forecast->bytes));
        report_fact(to, "more_disk_bytes", "on disk more", REPORT_BYTES(forecast->disk));
    }
    report_fact(to, "bound", NULL, REPORT_TEXT(bound));
    const char *binds = bound == NULL ? "not known" : bound;
    report_fact(to, NULL, "what binds", REPORT_TEXT(is_polite ? "politeness" : binds));
    if (ends) {
        report_fact(to, "seconds_by_rate", "by the rate alone",
                    REPORT_SECONDS(forecast->rate_seconds));
        report_fact(to, "seconds_by_politeness", "by politeness alone",
                    REPORT_SECONDS(forecast->polite_seconds));
    }
    report_fact(to, "pages_s", NULL, REPORT_REAL(forecast->rate, 3));
    report_fact(to, "pages_s_least", NULL, REPORT_REAL(forecast->rate_least, 3));
    report_fact(to, "pages_s_most", NULL, REPORT_REAL(forecast->rate_most, 3));
    report_fact(to, "pages_s_able", "pages a second", REPORT_REAL(forecast->able, 3));
    report_fact(to, "pages_per_url", NULL, REPORT_REAL(forecast->pages_per_url, 4));
}

static void forecast_tell_limits(const Forecast *forecast, ReportWriter *to)
{
    static const ReportColumn columns[] = {{"name", "what may end it", false, false},
                                           {"pages", "pages more", true, false},
                                           {"seconds", "in", true, false},
                                           {"seconds_least", NULL, true, false},
                                           {"seconds_most", NULL, true, false}};
    report_note(to, NULL, "%s", "");
    report_list(to, "limits", columns, 5);
    for (unsigned i = 0; i < FORECAST_LIMITS; i++) {
        const ForecastEnd *end = &forecast->ends[i];
        const ReportValue values[] = {REPORT_TEXT(forecast_limit_name((ForecastLimit)i)),
                                      forecast_number(end->pages), REPORT_SECONDS(end->seconds),
                                      REPORT_SECONDS(end->soonest), REPORT_SECONDS(end->latest)};
        if (end->holds) {
            report_row(to, values);
        }
    }
    report_list_end(to);
}

/* What the end of the frontier is made of. */
static void forecast_tell_growth(const Forecast *forecast, ReportWriter *to)
{
    static const ReportColumn columns[] = {{"growth", "nothing is left", false, false},
                                           {"urls", NULL, true, false},
                                           {"pages", "pages more", true, false},
                                           {"seconds", "in", true, false}};
    static const char *const words[GROWTHS] = {[GROWTH_NONE] = "if no new URL is found",
                                               [GROWTH_TREND] = "by the trend",
                                               [GROWTH_STEADY] = "if they come as lately"};
    report_note(to, NULL, "%s", "");
    report_list(to, "nothing_left", columns, 4);
    for (unsigned g = 0; g < GROWTHS; g++) {
        const ReportValue values[] = {
            REPORT_TEXT(words[g]), forecast_number(forecast->urls_left[g]),
            forecast_number(forecast->pages_left[g]), REPORT_SECONDS(forecast->seconds_left[g])};
        report_row(to, values);
    }
    report_list_end(to);
    report_fact(to, "new_urls_per_url", "new URLs for one done", REPORT_REAL(forecast->growth, 4));
}

static void forecast_tell_slowest(const Forecast *forecast, const ForecastSubject *subject,
                                  ReportWriter *to)
{
    const ForecastSlowest *slowest = &forecast->slowest;
    if (slowest->host == NULL) {
        return;
    }
    bool is_noticed = slowest->host_s >= NOTICED_LEAST;
    report_object(to, "slowest_host");
    report_fact(to, "host", is_noticed ? "slowest host" : NULL, REPORT_TEXT(subject->slowest_host));
    report_fact(to, "urls", is_noticed ? "its URLs" : NULL, forecast_number(slowest->host->queued));
    report_fact(to, "seconds_per_url", NULL, REPORT_REAL(slowest->host->pace.host_s, 3));
    report_fact(to, "requests_per_url", NULL, REPORT_REAL(slowest->host->requests, 3));
    report_fact(to, "seconds", is_noticed ? "in" : NULL, REPORT_SECONDS(slowest->host_s));
    report_object_end(to);
    report_object(to, "slowest_address");
    report_fact(to, "first_host", is_noticed ? "slowest address, of" : NULL,
                REPORT_TEXT(subject->slowest_address));
    report_fact(to, "hosts", NULL, REPORT_COUNT(slowest->address_hosts));
    report_fact(to, "urls", is_noticed ? "its URLs" : NULL, forecast_number(slowest->address_urls));
    report_fact(to, "seconds", is_noticed ? "in" : NULL, REPORT_SECONDS(slowest->address_s));
    report_object_end(to);
}

/* What the figures stand on. */
static void forecast_tell_assumptions(const Forecast *forecast, const ForecastInput *input,
                                      const ForecastSubject *subject, ReportWriter *to)
{
    const Config *config = input->config;
    report_fact(to, "measured_s", "assumed: the last", REPORT_SECONDS(forecast->measured_s));
    report_fact(to, "bytes_per_page", NULL, REPORT_BYTES(forecast->bytes_per_page));
    report_fact(to, "disk_per_page", NULL, REPORT_BYTES(forecast->disk_per_page));
    if (!input->limits_hold &&
        config->crawl_max_pages + config->crawl_max_bytes + config->crawl_max_duration > 0) {
        report_note(
            to, NULL,
            "its max_pages, max_bytes and max_duration were those of the last run; -s names "
            "those of the next");
    }
    if (config->limits_pages_per_domain > 0 || config->limits_pages_per_address > 0) {
        report_note(to, NULL, "limits.pages_per_domain and pages_per_address are not counted");
    }
    if (input->never_ends) {
        report_note(to, NULL,
                    "schedule.mode = continuous: it never ends by itself; revisits are not counted "
                    "(ragno schedule DIR plan)");
    }
    if (subject->is_cluster) {
        report_note(to, NULL,
                    "this is one agent's part of a crawl on several machines; limits are those of "
                    "all");
    }
}

Result forecast_write(const Forecast *forecast, const ForecastInput *input,
                      const ForecastSubject *subject, ReportForm form, Buffer *out)
{
    ReportWriter *to = NULL;
    Result rc = report_writer_new(&to, form, FORECAST_LABELS, out);
    if (rc != RESULT_OK) {
        return rc;
    }
    forecast_tell_now(input, subject, to);
    forecast_tell_end(forecast, input, to);
    forecast_tell_limits(forecast, to);
    forecast_tell_growth(forecast, to);
    forecast_tell_slowest(forecast, subject, to);
    forecast_tell_assumptions(forecast, input, subject, to);
    return report_writer_end(to);
}
