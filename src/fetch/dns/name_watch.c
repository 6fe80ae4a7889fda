#include "fetch/dns/name_watch.h"

#include <string.h>

#include "base/core/hash.h"

#define PAUSE_MS   1000 /* until the second canary; doubles up to the longest */
#define PAUSE_MOST 15000

void name_watch_init(NameWatch *watch)
{
    *watch = (NameWatch){.pause_ms = PAUSE_MS, .next = MONO_NEVER};
    outage_init(&watch->outage);
}

static bool name_watch_is_known(const NameWatch *watch, const char *hostname)
{
    for (unsigned i = 0; i < watch->n_known; i++) {
        if (strcmp(watch->known[i], hostname) == 0) {
            return true;
        }
    }
    return false;
}

static void name_watch_remember(NameWatch *watch, const char *hostname)
{
    size_t length = strlen(hostname);
    if (length >= NAME_WATCH_BYTES || name_watch_is_known(watch, hostname)) {
        return;
    }
    memcpy(watch->known[watch->next_known], hostname, length + 1);
    watch->next_known = (watch->next_known + 1) % NAME_WATCH_KNOWN;
    watch->n_known += watch->n_known < NAME_WATCH_KNOWN;
}

/* Nothing is suspected any more. */
static void calm_down(NameWatch *watch)
{
    watch->next = MONO_NEVER;
    watch->pause_ms = PAUSE_MS;
}

bool name_watch_answered(NameWatch *watch, const char *hostname, MonoTime now)
{
    if (!watch->ever_answered) {
        watch->n_known = 0; /* what failed until now was no canary of good names */
        watch->next_known = 0;
        watch->ever_answered = true;
    }
    name_watch_remember(watch, hostname);
    bool changed = outage_answered(&watch->outage, now);
    if (changed) {
        calm_down(watch);
    }
    return changed;
}

/* Nobody has ever answered, and that has been our own trouble for long enough. */
static bool name_watch_gives_up(const NameWatch *watch, MonoTime now)
{
    return !watch->ever_answered && watch->mute_since.ns != 0 &&
           mono_ms_between(watch->mute_since, now) >= NAME_WATCH_MUTE_MS;
}

bool name_watch_failed(NameWatch *watch, const NameFailure *failure, MonoTime now)
{
    bool is_mute = failure->is_silence && !watch->ever_answered && !name_watch_gives_up(watch, now);
    if (is_mute) {
        watch->mute_since = watch->mute_since.ns == 0 ? now : watch->mute_since;
        name_watch_remember(watch, failure->hostname);
    }
    unsigned others = watch->n_known - name_watch_is_known(watch, failure->hostname);
    OutageState before = watch->outage.state;
    OutageFailure what = {.who = hash_64(failure->hostname, strlen(failure->hostname), 0) | 1,
                          .was_well = failure->was_well || is_mute,
                          .has_canary =
                              is_mute || (watch->ever_answered && others >= NAME_WATCH_LEAST),
                          .began = failure->asked};
    bool is_ours = outage_failed(&watch->outage, &what, now);
    if (before == OUTAGE_CLEAR && watch->outage.state != OUTAGE_CLEAR) {
        watch->next = now;
    }
    return is_ours;
}

unsigned name_watch_take(NameWatch *watch, const char *names[NAME_WATCH_KNOWN], MonoTime now)
{
    if (mono_before(now, watch->next) || watch->n_asked > 0 || watch->n_known == 0) {
        return 0;
    }
    for (unsigned i = 0; i < watch->n_known; i++) {
        names[i] = watch->known[i];
    }
    watch->n_asked = watch->n_known;
    watch->heard = false;
    watch->next = MONO_NEVER;
    return watch->n_known;
}

bool name_watch_heard(NameWatch *watch, bool has_address, MonoTime now)
{
    bool changed = false;
    watch->n_asked -= watch->n_asked > 0;
    if (has_address && !watch->heard) {
        watch->heard = true;
        watch->ever_answered = true;
        changed = outage_canary(&watch->outage, true, now);
        calm_down(watch);
    } else if (watch->n_asked == 0 && !watch->heard) {
        changed = outage_canary(&watch->outage, false, now);
        if (name_watch_gives_up(watch, now)) {
            changed = outage_answered(&watch->outage, now) || changed;
            calm_down(watch);
        }
    }
    if (watch->n_asked == 0 && watch->outage.state != OUTAGE_CLEAR) {
        watch->next = mono_add_ms(now, watch->pause_ms);
        watch->pause_ms = watch->pause_ms < PAUSE_MOST / 2 ? 2 * watch->pause_ms : PAUSE_MOST;
    }
    return changed;
}

MonoTime name_watch_next(const NameWatch *watch)
{
    return watch->next;
}
