#include "forecast/forecast_text.h"

#include <math.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "report/tell/report_words.h"

/* ---- Forecast text ---- */

#define NOTICED_LEAST 1.0 /* seconds: shorter politeness is not told */

static const char *duration(double seconds, char text[WORDS_BYTES])
{
    return isfinite(seconds) ? words_ms(seconds * 1e3, text) : "no end";
}

static const char *forecast_text_count(double n, char text[WORDS_BYTES])
{
    return isfinite(n) ? words_count((uint64_t)llround(fmax(n, 0)), text) : "no end";
}

static void put_headline(const Forecast *forecast, const ForecastInput *input,
                         const ForecastSubject *subject, Buffer *out)
{
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    char c[WORDS_BYTES];
    char d[WORDS_BYTES];
    const ForecastPoint *now = forecast_history_last(input->history);
    (void)buffer_printf(out, "%s %s: %s pages in %s of work, %s URLs known, %s queued\n\n",
                        subject->directory, subject->is_running ? "runs" : "does not run",
                        forecast_text_count(now->pages, a), duration(now->at_work_s, b),
                        forecast_text_count(now->seen, c),
                        forecast_text_count(input->load->urls, d));
    if (!forecast->has_end) {
        (void)buffer_append_string(
            out,
            forecast->able > 0
                ? "no end is in sight: no limit, and new URLs come faster than it fetches\n"
            : now->pages > 0
                ? "no end can be told: status.log does not say how fast it was, so no rate is "
                  "known\n"
                : "no end can be told: it has not fetched anything yet, so no rate is known\n");
        return;
    }
    const ForecastEnd *end = &forecast->ends[forecast->first];
    (void)buffer_printf(out, "ends         in %s", duration(end->seconds, a));
    if (end->soonest != end->latest) {
        (void)buffer_printf(out, " (%s to %s)", duration(end->soonest, a),
                            duration(end->latest, b));
    }
    (void)buffer_printf(out, ": %s\n", forecast_limit_name(forecast->first));
    (void)buffer_printf(out, "until then   %s pages more, %s received, %s more on disk\n",
                        forecast_text_count(forecast->pages, a), words_bytes(forecast->bytes, b),
                        words_bytes(forecast->disk, c));
    (void)buffer_printf(out, "in all       %s pages, %s received, %s on disk\n",
                        forecast_text_count(now->pages + forecast->pages, a),
                        words_bytes(now->bytes + forecast->bytes, b),
                        words_bytes(input->directory_bytes + forecast->disk, c));
}

/* What decides how long that takes. */
static void put_pace(const Forecast *forecast, Buffer *out)
{
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    bool is_polite = forecast->polite_seconds > forecast->rate_seconds ||
                     strcmp(forecast->bound, "politeness") == 0;
    (void)buffer_printf(out, "what binds   %s",
                        is_polite                  ? "politeness"
                        : *forecast->bound == '\0' ? "not known"
                                                   : forecast->bound);
    if (forecast->has_end) {
        (void)buffer_printf(out, ": %s at %.4g pages/s, %s by politeness alone",
                            duration(forecast->rate_seconds, a), forecast->able,
                            duration(forecast->polite_seconds, b));
    }
    (void)buffer_append_char(out, '\n');
}

static void forecast_text_put_limits(const Forecast *forecast, Buffer *out)
{
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    (void)buffer_printf(out, "\n%-26s %14s  %s\n", "what may end it", "pages more", "in");
    for (unsigned i = 0; i < FORECAST_LIMITS; i++) {
        const ForecastEnd *end = &forecast->ends[i];
        const char *name = forecast_limit_name((ForecastLimit)i);
        if (!end->holds) {
            continue;
        }
        if (isfinite(end->seconds)) {
            (void)buffer_printf(out, "  %-24s %14s  %s%s\n", name,
                                forecast_text_count(end->pages, a), duration(end->seconds, b),
                                forecast->first == i ? "  <- first" : "");
        } else {
            (void)buffer_printf(out, "  %-24s %14s  %s\n", name, "-",
                                i == FORECAST_NOTHING_LEFT ? "no end in sight"
                                                           : "is not met before");
        }
    }
}

/* What the end of the frontier is made of. */
static void put_growth(const Forecast *forecast, Buffer *out)
{
    static const char *const words[GROWTHS] = {[GROWTH_NONE] = "if no new URL is found",
                                               [GROWTH_TREND] = "by the trend",
                                               [GROWTH_STEADY] = "if they come as lately"};
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    (void)buffer_printf(out,
                        "\nnew URLs for each that is finished: %.3g lately, %.3g before; "
                        "nothing is left\n",
                        forecast->growth, forecast->growth_before);
    for (unsigned g = 0; g < GROWTHS; g++) {
        (void)buffer_printf(out, "  %-24s %14s  %s\n", words[g],
                            forecast_text_count(forecast->pages_left[g], a),
                            duration(forecast->seconds_left[g], b));
    }
}

static void forecast_text_put_slowest(const Forecast *forecast, const ForecastInput *input,
                                      const ForecastSubject *subject, Buffer *out)
{
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    const ForecastSlowest *slowest = &forecast->slowest;
    (void)buffer_printf(out, "\npoliteness, for what is queued now on %s hosts",
                        forecast_text_count((double)input->load->n, a));
    (void)buffer_printf(out, " and %s addresses\n",
                        forecast_text_count((double)input->load->n_addresses, a));
    if (slowest->host == NULL || slowest->host_s < NOTICED_LEAST) {
        (void)buffer_append_string(out, "  no host and no address takes longer than a second\n");
        return;
    }
    (void)buffer_printf(out, "  slowest host     %s: %s URLs, one in %.4g s: %s\n",
                        subject->slowest_host, forecast_text_count(slowest->host->urls, a),
                        slowest->host->pace.host_s, duration(slowest->host_s, b));
    (void)buffer_printf(out, "  slowest address  that of %s, with %zu hosts: %s URLs: %s\n",
                        subject->slowest_address, slowest->address_hosts,
                        forecast_text_count(slowest->address_urls, a),
                        duration(slowest->address_s, b));
}

/* What the figures stand on. */
static void put_assumptions(const Forecast *forecast, const ForecastInput *input,
                            const ForecastSubject *subject, Buffer *out)
{
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    const Config *config = input->config;
    (void)buffer_printf(out,
                        "\nassumed: %.4g pages/s (%.4g to %.4g in the last %s, bound by %s),\n",
                        forecast->able, forecast->rate_least, forecast->rate_most,
                        duration(forecast->measured_s, a),
                        *forecast->bound == '\0' ? "nothing known" : forecast->bound);
    (void)buffer_printf(out, "  %s received and %s on disk for each page,\n",
                        words_bytes(forecast->bytes_per_page, a),
                        words_bytes(forecast->disk_per_page, b));
    (void)buffer_printf(out,
                        "  %.3g pages for each URL that is finished; new URLs spread over hosts as "
                        "the queue is now\n",
                        forecast->pages_per_url);
    if (!input->limits_hold &&
        config->crawl_max_pages + config->crawl_max_bytes + config->crawl_max_duration > 0) {
        (void)buffer_append_string(
            out, "  its max_pages, max_bytes and max_duration were those of the last run; -s names "
                 "those of the next\n");
    }
    if (config->limits_pages_per_domain > 0 || config->limits_pages_per_address > 0) {
        (void)buffer_append_string(out, "  limits.pages_per_domain and pages_per_address are not "
                                        "counted\n");
    }
    if (input->never_ends) {
        (void)buffer_append_string(
            out, "  schedule.mode = continuous: it never ends by itself; revisits are not counted "
                 "(ragno schedule DIR plan)\n");
    }
    if (subject->is_cluster) {
        (void)buffer_append_string(out,
                                   "  this is one agent's part of a crawl on several machines; "
                                   "limits are those of all\n");
    }
}

Result forecast_text(const Forecast *forecast, const ForecastInput *input,
                     const ForecastSubject *subject, Buffer *out)
{
    put_headline(forecast, input, subject, out);
    put_pace(forecast, out);
    forecast_text_put_limits(forecast, out);
    put_growth(forecast, out);
    forecast_text_put_slowest(forecast, input, subject, out);
    put_assumptions(forecast, input, subject, out);
    return out->data == NULL ? RESULT_MEMORY : RESULT_OK;
}

/* Numbers without an end are null. */
static void forecast_json_put_limits(const Forecast *forecast, JsonWriter *json)
{
    json_open(json, "limits", '[');
    for (unsigned i = 0; i < FORECAST_LIMITS; i++) {
        const ForecastEnd *end = &forecast->ends[i];
        if (end->holds) {
            json_open(json, NULL, '{');
            json_string(json, "name", forecast_limit_name((ForecastLimit)i));
            json_real(json, "pages", end->pages, 0);
            json_real(json, "seconds", end->seconds, 1);
            json_real(json, "seconds_least", end->soonest, 1);
            json_real(json, "seconds_most", end->latest, 1);
            json_close(json);
        }
    }
    json_close(json);
}

static void put_frontier(const Forecast *forecast, JsonWriter *json)
{
    static const char *const names[GROWTHS] = {
        [GROWTH_NONE] = "no_new_urls", [GROWTH_TREND] = "trend", [GROWTH_STEADY] = "as_lately"};
    json_open(json, "nothing_left", '{');
    for (unsigned g = 0; g < GROWTHS; g++) {
        json_open(json, names[g], '{');
        json_real(json, "urls", forecast->urls_left[g], 0);
        json_real(json, "pages", forecast->pages_left[g], 0);
        json_real(json, "seconds", forecast->seconds_left[g], 1);
        json_close(json);
    }
    json_close(json);
    json_real(json, "new_urls_per_url", forecast->growth, 4);
    json_real(json, "new_urls_per_url_before", forecast->growth_before, 4);
}

static void forecast_json_put_slowest(const Forecast *forecast, const ForecastSubject *subject,
                                      JsonWriter *json)
{
    const ForecastSlowest *slowest = &forecast->slowest;
    if (slowest->host == NULL) {
        return;
    }
    json_open(json, "slowest_host", '{');
    json_string(json, "host", subject->slowest_host);
    json_real(json, "urls", slowest->host->urls, 0);
    json_real(json, "seconds_per_url", slowest->host->pace.host_s, 3);
    json_real(json, "seconds", slowest->host_s, 1);
    json_close(json);
    json_open(json, "slowest_address", '{');
    json_string(json, "first_host", subject->slowest_address);
    json_count(json, "hosts", slowest->address_hosts);
    json_real(json, "urls", slowest->address_urls, 0);
    json_real(json, "seconds", slowest->address_s, 1);
    json_close(json);
}

static void put_now(const ForecastInput *input, const ForecastSubject *subject, JsonWriter *json)
{
    const ForecastPoint *now = forecast_history_last(input->history);
    json_string(json, "directory", subject->directory);
    json_bool(json, "running", subject->is_running);
    json_real(json, "work_s", now->at_work_s, 1);
    json_real(json, "pages", now->pages, 0);
    json_real(json, "bytes", now->bytes, 0);
    json_real(json, "urls_seen", now->seen, 0);
    json_real(json, "urls_queued", input->load->urls, 0);
    json_count(json, "hosts_queued", input->load->n);
    json_count(json, "addresses_queued", input->load->n_addresses);
    json_real(json, "disk_bytes", input->directory_bytes, 0);
    json_real(json, "disk_free_bytes", input->disk_free, 0);
}

static void put_end(const Forecast *forecast, JsonWriter *json)
{
    const ForecastEnd *end = &forecast->ends[forecast->first];
    json_string(json, "ends_by", forecast->has_end ? forecast_limit_name(forecast->first) : NULL);
    if (forecast->has_end) {
        json_real(json, "more_pages", forecast->pages, 0);
        json_real(json, "more_bytes", forecast->bytes, 0);
        json_real(json, "more_disk_bytes", forecast->disk, 0);
        json_real(json, "seconds", end->seconds, 1);
        json_real(json, "seconds_least", end->soonest, 1);
        json_real(json, "seconds_most", end->latest, 1);
        json_real(json, "seconds_by_rate", forecast->rate_seconds, 1);
        json_real(json, "seconds_by_politeness", forecast->polite_seconds, 1);
    }
    json_string(json, "bound", *forecast->bound == '\0' ? NULL : forecast->bound);
    json_real(json, "pages_s", forecast->rate, 3);
    json_real(json, "pages_s_least", forecast->rate_least, 3);
    json_real(json, "pages_s_most", forecast->rate_most, 3);
    json_real(json, "pages_s_able", forecast->able, 3);
    json_real(json, "pages_per_url", forecast->pages_per_url, 4);
}

Result forecast_json(const Forecast *forecast, const ForecastInput *input,
                     const ForecastSubject *subject, Buffer *out)
{
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    put_now(input, subject, &json);
    put_end(forecast, &json);
    forecast_json_put_limits(forecast, &json);
    put_frontier(forecast, &json);
    forecast_json_put_slowest(forecast, subject, &json);
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}
