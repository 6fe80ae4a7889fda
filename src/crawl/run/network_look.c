#include "crawl/run/network_look.h"

#include "base/thread/log.h"

#define RECHECK_LEAST_MS INT64_C(500) /* between two looks for names whose time has come */
#define RECHECK_MOST_MS  INT64_C(600000)
#define CLOCK_STEP_US    INT64_C(1000000)
#define MARGIN_MS        2000 /* clocks of two threads: what was dropped just before counts, too */

/* The classes of failure for which our network may have been the reason. */
static uint32_t our_classes(void)
{
    uint32_t classes = 0;
    for (unsigned class = 0; class < FETCH_CLASSES; class ++) {
        classes |= fetch_class_may_be_ours((FetchClass) class) ? UINT32_C(1) << class : 0;
    }
    return classes;
}

static void network_look_bring_back(AgentParts *parts, int64_t ms, WallTime wall)
{
    RevivalOrder order = {.since_ms = wall.us / 1000 - ms - MARGIN_MS, .classes = our_classes()};
    if (parts_revive(parts, &order) != RESULT_OK) {
        LOG_WARN("agent", "hosts that were dropped in the outage stay dropped: no memory",
                 "next=\"ragno ctl DIR revive\"");
    }
}

static void network_look_at(NetworkSide *side, bool out, MonoTime since, const char *what,
                            AgentParts *parts, MonoTime now, WallTime wall)
{
    if (out && !side->out) {
        side->since = since.ns == MONO_NEVER.ns ? now : since;
        LOG_WARN("agent",
                 "our own network is out: no host is charged, and the crawl goes on by itself",
                 "reason=network what=\"%s\" for_ms=%lld", what,
                 (long long)mono_ms_between(side->since, now));
    } else if (!out && side->out) {
        int64_t ms = mono_ms_between(side->since, now);
        LOG_WARN("agent", "our own network is back", "reason=network what=\"%s\" after_ms=%lld",
                 what, (long long)ms);
        network_look_bring_back(parts, ms, wall);
    }
    side->out = out;
}

unsigned network_look(NetworkLook *look, AgentParts *parts, MonoTime now, WallTime wall)
{
    OutageReport transfers = network_watch_report(parts->network);
    ResolverStats names;
    resolver_stats(parts->resolver, &names);
    network_look_at(&look->transfers, transfers.state == OUTAGE_OUT, transfers.since,
                    "no address answers any more", parts, now, wall);
    network_look_at(&look->names, names.outage == OUTAGE_OUT, names.outage_since,
                    "name servers are silent, or say that no name exists any more", parts, now,
                    wall);
    return look->transfers.out ? PAUSE_NETWORK : 0u;
}

bool network_look_is_out(const NetworkLook *look)
{
    return look->transfers.out || look->names.out;
}

/* ---- names that do not exist ----------------------------------------------------------------- */

static bool network_look_ask_again(AgentParts *parts, int64_t by_ms)
{
    RevivalOrder order = {.classes = UINT32_C(1) << FETCH_NO_NAME, .recheck_by_ms = by_ms};
    return parts_revive(parts, &order) == RESULT_OK;
}

void network_look_recheck(NetworkLook *look, AgentParts *parts, MonoTime now, WallTime wall)
{
    int64_t recheck_ms = parts->config->politeness_name_recheck;
    if (recheck_ms == 0 || mono_before(now, look->next_recheck)) {
        return;
    }
    int64_t step_ms = recheck_ms / 4;
    step_ms = step_ms < RECHECK_LEAST_MS  ? RECHECK_LEAST_MS
              : step_ms > RECHECK_MOST_MS ? RECHECK_MOST_MS
                                          : step_ms;
    if (look->next_recheck.ns != 0 && stats_get(&parts->stats.hosts_parked) > 0) {
        (void)network_look_ask_again(parts, wall.us / 1000);
    }
    look->next_recheck = mono_add_ms(now, step_ms);
}

MonoTime network_look_next(const NetworkLook *look)
{
    return look->next_recheck.ns == 0 ? MONO_NEVER : look->next_recheck;
}

bool network_look_once_more(NetworkLook *look, AgentParts *parts)
{
    bool may_bring = !look->looked_once_more && parts->config->politeness_name_recheck > 0 &&
                     stats_get(&parts->stats.hosts_parked) > 0;
    look->looked_once_more = true;
    return may_bring && network_look_ask_again(parts, INT64_MAX);
}

/* ---- the clock ------------------------------------------------------------------------------- */

void network_look_at_clock(NetworkLook *look, MonoTime now, WallTime wall)
{
    int64_t clock_us = wall.us - (now.ns + clock_asleep_ns()) / 1000;
    int64_t step_us = clock_us - look->clock_us;
    if (look->clock_us != 0 && (step_us > CLOCK_STEP_US || step_us < -CLOCK_STEP_US)) {
        LOG_WARN("agent", "the clock of the system was set: delays go on as they were",
                 "by_ms=%lld", (long long)(step_us / 1000));
    }
    look->clock_us = clock_us;
}
