#include "frontier/visit/host_situation.h"

HostSituation host_situation_of(const HostRecord *record, int64_t now_ms)
{
    HostSituation situation = {.kind = HOST_READY,
                               .why = record->failures > 0 ? (FetchClass)record->last_failure
                                                           : FETCH_OK,
                               .failures = record->failures};
    switch ((HostState)record->state) {
    case HOST_ACTIVE:
        situation.until_ms = host_not_before_ms(record, now_ms, now_ms);
        if (situation.until_ms > now_ms) {
            situation.kind = record->closed != 0 ? HOST_IS_CLOSED : HOST_WAITS;
        }
        situation.until_ms = situation.until_ms > now_ms ? situation.until_ms : 0;
        return situation;
    case HOST_DROPPED:
    case HOST_PARKED:
        situation.kind = record->state == HOST_DROPPED ? HOST_GIVEN_UP : HOST_SET_ASIDE;
        situation.why = (FetchClass)record->drop_class;
        situation.since_ms = record->parked_ms;
        situation.until_ms = record->recheck_ms;
        return situation;
    case HOST_FULL:
        situation.kind = HOST_HAS_ENOUGH;
        situation.limit = (HostLimit)record->drop_class;
        return situation;
    case HOST_MOVED:
        situation.kind = HOST_IS_ELSEWHERE;
        return situation;
    case HOST_DENIED:
        break;
    }
    situation.kind = HOST_FORBIDDEN;
    return situation;
}

/* "150ms", "45s", "4m", "3h", "2d": one unit, rounded up. */
static void host_situation_tell_time(int64_t ms, Buffer *text)
{
    static const struct {
        int64_t ms;
        char unit;
    } units[] = {{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};
    size_t i = 0;
    if (ms < 1000) {
        buffer_printf(text, "%lldms", (long long)ms);
        return;
    }
    while (i < 3 && ms < 2 * units[i].ms) {
        i++;
    }
    buffer_printf(text, "%lld%c", (long long)((ms + units[i].ms - 1) / units[i].ms), units[i].unit);
}

static void tell_since(const HostSituation *situation, const char *what, Buffer *text)
{
    char time[CLOCK_TEXT_BYTES];
    buffer_append_string(text, what);
    if (situation->since_ms != 0) {
        buffer_printf(text, " since %s",
                      wall_format_iso((WallTime){situation->since_ms * 1000}, time));
    }
    buffer_printf(text, ": %s",
                  situation->why == FETCH_OK ? "by an operator" : fetch_class_name(situation->why));
}

Result host_situation_tell(const HostSituation *situation, int64_t now_ms, Buffer *text)
{
    static const char *const limits[] = {
        [LIMIT_HOST_PAGES] = "full: it has limits.pages_per_host pages",
        [LIMIT_DOMAIN_PAGES] = "full: its domain has limits.pages_per_domain pages",
        [LIMIT_ADDRESS_PAGES] = "full: its address has limits.pages_per_address pages",
        [LIMIT_ADDRESS_HOSTS] = "full: its address has limits.hosts_per_address hosts already"};
    size_t before = text->length;
    switch (situation->kind) {
    case HOST_READY:
        buffer_append_string(text, "ready");
        break;
    case HOST_WAITS:
        buffer_append_string(text, "waits ");
        host_situation_tell_time(situation->until_ms - now_ms, text);
        if (situation->failures > 0) {
            buffer_printf(text, " for a retry: %s, %u failure%s in a row",
                          fetch_class_name(situation->why), situation->failures,
                          situation->failures == 1 ? "" : "s");
        }
        break;
    case HOST_IS_CLOSED:
        buffer_append_string(text, "outside its hours, which begin in ");
        host_situation_tell_time(situation->until_ms - now_ms, text);
        break;
    case HOST_GIVEN_UP:
        tell_since(situation, "dropped", text);
        if (situation->until_ms > now_ms) {
            buffer_append_string(text, ", looked at again in ");
            host_situation_tell_time(situation->until_ms - now_ms, text);
        }
        break;
    case HOST_SET_ASIDE:
        tell_since(situation, "parked", text);
        break;
    case HOST_HAS_ENOUGH:
        buffer_append_string(
            text, limits[situation->limit <= LIMIT_ADDRESS_HOSTS ? situation->limit : 0]);
        break;
    case HOST_IS_ELSEWHERE:
        buffer_append_string(text, "moved to another agent of the cluster");
        break;
    case HOST_FORBIDDEN:
        buffer_append_string(text, "denied by the operator");
        break;
    }
    return buffer_end(text, before);
}
