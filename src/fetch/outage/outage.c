#include "fetch/outage/outage.h"

#include <errno.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/thread/log.h"

/* ---- Local trouble ---- */

void local_trouble_note(LocalTrouble *trouble, int os_error, MonoTime now)
{
    uint64_t count = atomic_fetch_add_explicit(&trouble->count, 1, memory_order_relaxed) + 1;
    if (os_error == EMFILE || os_error == ENFILE) {
        atomic_fetch_add_explicit(&trouble->no_descriptors, 1, memory_order_relaxed);
    }
    if (mono_before(now, trouble->next_line)) {
        return;
    }
    const char *what = os_error == 0 ? "it did not run for a while" : strerrordesc_np(os_error);
    LOG_WARN("fetch", "this machine could not: fetches are done again, no host is charged",
             "fetches=%llu error=\"%s\"", (unsigned long long)(count - trouble->told),
             what == NULL ? "unknown" : what);
    trouble->told = count;
    trouble->next_line = mono_add_ms(now, LOCAL_TELL_MS);
}

/* ---- Outage ---- */

void outage_init(Outage *outage)
{
    *outage = (Outage){.state = OUTAGE_CLEAR};
}

static void outage_begin_anew(Outage *outage, MonoTime now)
{
    outage->state = OUTAGE_CLEAR;
    outage->last_answer = now;
    outage->n_row = 0;
}

/* Enters a failure in the row; true: the row is complete. */
static bool add_to_row(Outage *outage, uint64_t who, MonoTime now)
{
    if (outage->n_row == 0) {
        outage->row_start = now;
    }
    for (unsigned i = 0; i < outage->n_row && i < OUTAGE_ROW; i++) {
        if (outage->row[i] == who) {
            return outage->n_row >= OUTAGE_ROW;
        }
    }
    if (outage->n_row < OUTAGE_ROW) {
        outage->row[outage->n_row++] = who;
    }
    return outage->n_row >= OUTAGE_ROW;
}

/* Whether a failure in a state that is CLEAR is a reason to ask the canary. */
static bool is_suspect(Outage *outage, const OutageFailure *failure, bool is_repeated, MonoTime now)
{
    bool is_row = add_to_row(outage, failure->who, now) && mono_before(outage->trusted_until, now);
    bool is_alone = !mono_before(failure->began, outage->last_answer) &&
                    mono_ms_between(failure->began, now) >= OUTAGE_LONG_MS;
    return is_row || is_alone || is_repeated;
}

bool outage_failed(Outage *outage, const OutageFailure *failure, MonoTime now)
{
    OutageExcuse *excuse = &outage->excused[hash_mix(failure->who) % OUTAGE_EXCUSED];
    bool is_repeated = excuse->who == failure->who;
    if (outage->state != OUTAGE_CLEAR) {
        outage->n_excused++;
        return true;
    }
    bool is_taken = excuse->who != 0 && !is_repeated &&
                    mono_before(now, mono_add_ms(excuse->at, OUTAGE_EXCUSE_MS));
    if (!failure->was_well || !failure->has_canary || is_taken) {
        return false;
    }
    if (is_repeated && mono_before(excuse->at, outage->last_answer)) {
        (void)add_to_row(outage, failure->who, now);
        *excuse = (OutageExcuse){0}; /* somebody answered meanwhile: it is this host */
        return false;
    }
    if (is_suspect(outage, failure, is_repeated, now)) {
        outage->state = OUTAGE_SUSPECTED;
    }
    *excuse = (OutageExcuse){.who = failure->who, .at = now};
    outage->n_excused++;
    return true;
}

bool outage_answered(Outage *outage, MonoTime now)
{
    bool changed = outage->state != OUTAGE_CLEAR;
    outage_begin_anew(outage, now);
    return changed;
}

bool outage_canary(Outage *outage, bool heard, MonoTime now)
{
    OutageState before = outage->state;
    if (before == OUTAGE_CLEAR) {
        return false; /* somebody else answered meanwhile */
    }
    if (heard) {
        outage_begin_anew(outage, now);
        outage->trusted_until = mono_add_ms(now, OUTAGE_TRUST_MS);
    } else if (before == OUTAGE_SUSPECTED) {
        outage->state = OUTAGE_OUT;
        outage->n_outages++;
    }
    return outage->state != before;
}

OutageReport outage_report(const Outage *outage)
{
    return (OutageReport){.state = outage->state,
                          .since = outage->state == OUTAGE_CLEAR ? MONO_NEVER : outage->row_start,
                          .n_excused = outage->n_excused,
                          .n_outages = outage->n_outages};
}
