#include "crawl/web/web_hosts.h"

#include "base/memory/json_writer.h"
#include "frontier/visit/host_situation.h"

static const char *const kinds[] = {
    [HOST_READY] = "ready",       [HOST_WAITS] = "waits",     [HOST_GIVEN_UP] = "dropped",
    [HOST_SET_ASIDE] = "parked",  [HOST_HAS_ENOUGH] = "full", [HOST_FORBIDDEN] = "denied",
    [HOST_IS_ELSEWHERE] = "moved"};

static void put_counts(const SurveyCounts *counts, JsonWriter *json)
{
    json_open(json, "counts", '{');
    json_count(json, "hosts", counts->hosts);
    json_count(json, "queued", counts->queued);
    json_count(json, "waiting", counts->waiting);
    json_count(json, "lately", counts->lately);
    json_count(json, "dropped", counts->dropped);
    json_count(json, "parked", counts->parked);
    json_count(json, "full", counts->full);
    json_count(json, "denied", counts->denied);
    json_count(json, "matching", counts->matching);
    json_close(json);
}

static void web_hosts_put_row(const SurveyRow *row, WallTime now, Buffer *state, JsonWriter *json)
{
    const HostRecord *record = &row->record;
    HostSituation situation = host_situation_of(record, now.us / 1000);
    buffer_reset(state);
    (void)host_situation_tell(&situation, now.us / 1000, state);
    json_open(json, NULL, '{');
    json_string(json, "origin", row->origin);
    json_count(json, "queued", row->queued);
    json_real(json, "per_s", row->speed, 3);
    json_count(json, "requests", record->fetches);
    json_count(json, "pages", record->pages);
    json_count(json, "bytes", record->bytes);
    json_count(json, "errors", survey_errors(record));
    json_count(json, "robots_denied", record->robots_denied);
    json_real(json, "ms", record->fetches == 0 ? 0 : (double)record->fetch_ms / record->fetches, 1);
    json_integer(json, "wait_ms", row->wait_ms);
    json_string(json, "kind", kinds[situation.kind]);
    json_text(json, "state", buffer_string(state), state->length);
    json_close(json);
}

Result web_hosts(const SurveyResult *survey, WallTime now, Buffer *out)
{
    Buffer state;
    JsonWriter json;
    buffer_init(&state, BUFFER_NO_LIMIT);
    json_init(&json, out);
    json_open(&json, NULL, '{');
    put_counts(&survey->counts, &json);
    json_open(&json, "hosts", '[');
    for (size_t i = 0; i < survey->n; i++) {
        web_hosts_put_row(&survey->rows[i], now, &state, &json);
    }
    json_close(&json);
    json_close(&json);
    buffer_destroy(&state);
    return json.result;
}
