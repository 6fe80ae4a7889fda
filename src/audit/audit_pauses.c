#include "audit/audit_pauses.h"

#include <stdlib.h>
#include <string.h>

static void audit_pauses_find(const AuditFetch *fetch, const AuditFinding *finding,
                              AuditFindings *findings)
{
    char ip[IP_ADDRESS_TEXT_BYTES];
    bool of_address = finding->breach == BREACH_IP_PAUSE || finding->breach == BREACH_AT_ONCE;
    const char *subject =
        of_address ? ip_address_format(&fetch->address->ip, ip) : fetch->host->origin;
    if (fetch->is_selected) {
        audit_findings_add(findings, finding, subject, strlen(subject), NULL);
    }
}

/* From the end of the request before to the start of this one. */
static int64_t pause_before(const AuditSubject *subject, const AuditFetch *fetch)
{
    int64_t us = subject->boot == fetch->boot ? fetch->mono_start - subject->mono_end
                                              : fetch->start.us - subject->end.us;
    if (us < 0 && us > -1000 && !fetch->is_exact && subject->boot == fetch->boot) {
        us = 0; /* its start is rounded down to ms, and the end before it is not */
    }
    return us >= 0 ? us / 1000 : (us - 999) / 1000; /* an overlap is one, however short */
}

static void note_closest(AuditSubject *subject, const AuditFetch *fetch, int64_t pause,
                         int64_t owed)
{
    if (fetch->is_selected && pause - owed < subject->closest.slack) {
        subject->closest = (AuditClosest){
            .slack = pause - owed, .owed = owed, .place = fetch->place, .before = subject->place};
    }
}

/* The pause that the line states is that between its times, but for roundings. */
static void check_stated(AuditPauses *pauses, const AuditFetch *fetch, int64_t pause,
                         AuditFindings *findings)
{
    const AuditSubject *host = &fetch->host->subject;
    if (fetch->given < 0 || host->boot != fetch->boot) {
        return;
    }
    if (pause > fetch->given + 1) {
        pauses->missing += fetch->is_selected;
    } else if (pause < fetch->given - 1) {
        AuditFinding finding = {.breach = BREACH_STATED,
                                .place = fetch->place,
                                .before = host->place,
                                .time = fetch->start,
                                .asked = fetch->given,
                                .found = pause};
        audit_pauses_find(fetch, &finding, findings);
    }
}

/* That a line does not state less than what had to be owed. */
static void check_owed(const AuditFetch *fetch, AuditPlace before, int64_t owed, int64_t asked,
                       AuditFindings *findings)
{
    if (owed >= 0 && asked >= 0 && owed < asked) {
        AuditFinding finding = {.breach = BREACH_OWED,
                                .place = fetch->place,
                                .before = before,
                                .time = fetch->start,
                                .asked = asked,
                                .found = owed};
        audit_pauses_find(fetch, &finding, findings);
    }
}

static int64_t first_known(int64_t a, int64_t b, int64_t c)
{
    return a >= 0 ? a : b >= 0 ? b : c;
}

/* Whether the pause was shorter than owed, by the times of the two lines or by what the later one
 * states itself. */
static void check_host(const AuditFetch *fetch, int64_t pause, int64_t owed,
                       AuditFindings *findings)
{
    int64_t shorter = fetch->given >= 0 && fetch->given < pause ? fetch->given : pause;
    if (shorter < owed) {
        AuditFinding finding = {.breach = BREACH_HOST_PAUSE,
                                .place = fetch->place,
                                .before = fetch->host->subject.place,
                                .time = fetch->start,
                                .asked = owed,
                                .found = shorter};
        audit_pauses_find(fetch, &finding, findings);
    }
}

static void audit_pauses_judge_host(AuditPauses *pauses, const AuditFetch *fetch, AuditPause *out,
                                    AuditFindings *findings)
{
    AuditSubject *host = &fetch->host->subject;
    if (host->n_requests == 0) { /* the request before it is in no log that is left */
        if (fetch->given >= 0 && fetch->owed >= 0) {
            check_host(fetch, fetch->given, fetch->owed, findings);
        }
        return;
    }
    out->host = pause_before(host, fetch);
    int64_t due = audit_delays_due(pauses->delays, fetch, host->end, host->owes);
    out->host_owed = first_known(fetch->owed, due, host->asks);
    check_stated(pauses, fetch, out->host, findings);
    if (fetch->owed >= 0) {
        check_owed(fetch, host->place, fetch->owed, due, findings);
    }
    if (out->host_owed < 0) {
        pauses->not_owed += fetch->is_selected;
        return;
    }
    pauses->judged_hosts += fetch->is_selected;
    pauses->by_wall_clock += fetch->is_selected && host->boot != fetch->boot;
    note_closest(host, fetch, out->host, out->host_owed);
    check_host(fetch, out->host, out->host_owed, findings);
}

static void judge_address(AuditPauses *pauses, const AuditFetch *fetch, AuditPause *out,
                          AuditFindings *findings)
{
    AuditSubject *address = &fetch->address->subject;
    if (address->n_requests == 0) {
        return;
    }
    out->address = pause_before(address, fetch);
    out->address_owed = first_known(address->owes, address->asks, 0);
    pauses->judged_addresses += fetch->is_selected;
    pauses->by_wall_clock += fetch->is_selected && address->boot != fetch->boot;
    pauses->not_owed += fetch->is_selected && address->owes < 0 && address->asks < 0;
    note_closest(address, fetch, out->address, out->address_owed);
    if (out->address < out->address_owed) {
        AuditFinding finding = {.breach = out->address < 0 ? BREACH_AT_ONCE : BREACH_IP_PAUSE,
                                .place = fetch->place,
                                .before = address->place,
                                .time = fetch->start,
                                .asked = out->address_owed,
                                .found = out->address};
        audit_pauses_find(fetch, &finding, findings);
    }
}

/* A boot that is over never comes back: what stands behind another boot's requests in the window's
 * order is younger. */
static void audit_pauses_remember(AuditSubject *subject, const AuditFetch *fetch, int64_t owes,
                                  int64_t asks)
{
    subject->n_requests++;
    subject->n_selected += fetch->is_selected;
    subject->place = fetch->place;
    subject->boot = fetch->boot;
    subject->mono_end = fetch->mono_end;
    subject->end = fetch->end;
    subject->owes = owes;
    subject->asks = asks;
}

/* ---- several at once ---- */

/* A request that had the host to itself: it ends on all of its connections. */
static void enter_alone(AuditSubject *subject, int64_t end)
{
    for (unsigned i = 0; i < subject->n_ends; i++) {
        subject->ends[i] = end;
    }
}

static bool has_connections(AuditSubject *subject, unsigned n)
{
    int64_t *ends = subject->n_ends < n ? realloc(subject->ends, n * sizeof *ends) : subject->ends;
    if (ends == NULL) {
        return false;
    }
    for (unsigned i = subject->n_ends; i < n; i++) {
        ends[i] = subject->n_requests == 0 ? INT64_MIN : subject->mono_end;
    }
    subject->ends = ends;
    subject->n_ends = subject->n_ends < n ? n : subject->n_ends;
    return true;
}

/* Whether no more than at_once were in flight: the request gets the connection of the n that was
 * free last before it began. Requests come in order of their ends, so that this finds a connection
 * for each whenever there is a way to. */
static bool fits(AuditSubject *subject, const AuditFetch *fetch)
{
    unsigned n = (unsigned)fetch->at_once;
    unsigned best = n;
    if (subject->n_requests > 0 && subject->boot != fetch->boot) {
        enter_alone(subject, INT64_MIN);
    }
    if (!has_connections(subject, n)) {
        return true;
    }
    for (unsigned i = 0; i < n; i++) {
        if (subject->ends[i] <= fetch->mono_start &&
            (best == n || subject->ends[i] > subject->ends[best])) {
            best = i;
        }
    }
    if (best < n) {
        subject->ends[best] = fetch->mono_end;
    }
    return best < n;
}

/* The host is asked for several things at once: nothing was owed in between. */
static void judge_at_once(AuditPauses *pauses, const AuditFetch *fetch, AuditFindings *findings)
{
    bool fits_host = fits(&fetch->host->subject, fetch);
    bool fits_address = fits(&fetch->address->subject, fetch);
    pauses->judged_hosts += fetch->is_selected;
    pauses->judged_addresses += fetch->is_selected;
    if (fetch->owed > 0) {
        check_host(fetch, fetch->given, fetch->owed, findings);
    }
    if (!fits_host || !fits_address) {
        AuditFinding finding = {.breach = BREACH_AT_ONCE,
                                .place = fetch->place,
                                .before = fetch->address->subject.place,
                                .time = fetch->start,
                                .asked = 0,
                                .found = fetch->mono_start / 1000 -
                                         fetch->address->subject.mono_end / 1000};
        audit_pauses_find(fetch, &finding, findings);
    }
}

/* Within a burst nothing has to be owed until its time is over. */
static void judge_burst(AuditFetch *fetch)
{
    bool is_first = fetch->burst == 1 || fetch->host->subject.n_requests == 0;
    if (is_first) {
        fetch->host->burst_start = fetch->mono_start;
    }
    if (fetch->burst > 0 && fetch->keep_alive_ms > 0 && fetch->owes_host == 0 &&
        fetch->mono_end - fetch->host->burst_start <= fetch->keep_alive_ms * 1000) {
        fetch->host_asks = 0;
        fetch->ip_asks = 0;
    }
}

AuditPause audit_pauses_add(AuditPauses *pauses, AuditFetch *fetch, AuditFindings *findings)
{
    AuditPause pause = {.host = -1, .host_owed = -1, .address = -1, .address_owed = -1};
    judge_burst(fetch);
    if (fetch->at_once > 1) {
        judge_at_once(pauses, fetch, findings);
    } else {
        audit_pauses_judge_host(pauses, fetch, &pause, findings);
        judge_address(pauses, fetch, &pause, findings);
        enter_alone(&fetch->host->subject, fetch->mono_end);
        enter_alone(&fetch->address->subject, fetch->mono_end);
    }
    check_owed(fetch, (AuditPlace){.line = 0}, fetch->owes_host, fetch->host_asks, findings);
    check_owed(fetch, (AuditPlace){.line = 0}, fetch->owes_ip, fetch->ip_asks, findings);
    audit_pauses_remember(&fetch->host->subject, fetch, fetch->owes_host, fetch->host_asks);
    audit_pauses_remember(&fetch->address->subject, fetch, fetch->owes_ip, fetch->ip_asks);
    return pause;
}
