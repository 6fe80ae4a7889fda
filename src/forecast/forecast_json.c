#include "forecast/forecast_text.h"

#include <string.h>

#include "base/memory/json_writer.h"

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
