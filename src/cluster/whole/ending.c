#include "cluster/whole/ending.h"

#include <stdlib.h>

void ending_destroy(Ending *ending)
{
    free(ending->seats);
    *ending = (Ending){.n = 0};
}

static bool same_agents(const Ending *ending, const uint16_t *agents, size_t n)
{
    bool same = ending->n == n;
    for (size_t i = 0; same && i < n; i++) {
        same = ending->seats[i].agent == agents[i];
    }
    return same;
}

Result ending_begin(Ending *ending, const uint16_t *agents, size_t n)
{
    bool same = same_agents(ending, agents, n);
    ending->was_quiet = ending->was_quiet && same && !ending->open;
    if (!same) {
        EndSeat *seats = calloc(n == 0 ? 1 : n, sizeof *seats);
        if (seats == NULL) {
            return RESULT_MEMORY;
        }
        free(ending->seats);
        ending->seats = seats;
        ending->n = n;
        ending->first = 0;
    }
    for (size_t i = 0; i < n; i++) {
        EndSeat *seat = &ending->seats[i];
        *seat = (EndSeat){.agent = agents[i], .before = seat->report};
    }
    ending->round++;
    ending->open = n > 0;
    ending->missing = n;
    ending->asked = ending->was_quiet ? n : 1;
    return RESULT_OK;
}

static EndSeat *seat_of(Ending *ending, uint16_t agent)
{
    for (size_t i = 0; i < ending->n; i++) {
        if (ending->seats[i].agent == agent) {
            return &ending->seats[i];
        }
    }
    return NULL;
}

static bool is_still(const EndSeat *seat)
{
    return seat->report.session == seat->before.session &&
           seat->report.changes == seat->before.changes;
}

/* All have reported that they are idle or spent. */
static EndVerdict ending_judge(Ending *ending)
{
    bool still = ending->was_quiet;
    bool spent = false;
    bool tail = false;
    bool held = false;
    bool absent = false;
    for (size_t i = 0; i < ending->n; i++) {
        const EndSeat *seat = &ending->seats[i];
        still = still && is_still(seat);
        spent = spent || (seat->report.spent && !seat->report.idle);
        tail = tail || seat->report.tail;
        held = held || seat->report.holds;
        absent = absent || seat->report.absent;
    }
    ending->open = false;
    ending->was_quiet = true;
    if (!still) {
        return END_NOT_YET;
    }
    if (spent) {
        return held ? END_NOT_YET : END_LIMIT;
    }
    if (absent) {
        return END_NOT_YET;
    }
    return tail ? END_TAIL : END_FINISHED;
}

EndVerdict ending_report(Ending *ending, uint16_t agent, uint64_t round, const EndReport *report)
{
    EndSeat *seat = ending->open && round == ending->round ? seat_of(ending, agent) : NULL;
    if (seat == NULL || seat->has_reported) {
        return END_NOT_YET;
    }
    seat->has_reported = true;
    seat->report = *report;
    ending->missing--;
    if (!report->idle && !report->spent) {
        ending->first = (size_t)(seat - ending->seats);
        ending->open = ending->was_quiet = false;
        return END_NOT_YET;
    }
    if (ending->missing == 0) {
        return ending_judge(ending);
    }
    for (size_t from = 0; !ending_missing(ending, &from, &agent); from = 0) {
        ending->asked *= 2;
    }
    return END_NOT_YET;
}

bool ending_missing(const Ending *ending, size_t *from, uint16_t *agent)
{
    for (size_t i = *from; ending->open && i < ending->n && i < ending->asked; i++) {
        const EndSeat *seat = &ending->seats[(ending->first + i) % ending->n];
        if (!seat->has_reported) {
            *from = i + 1;
            *agent = seat->agent;
            return true;
        }
    }
    return false;
}
