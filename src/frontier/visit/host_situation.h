/* Host situation: what a host waits for, why, and until when, told from its record.
 *
 * What: one reading of a HostRecord for everybody who tells an operator about a host (ragno why,
 * ragno db, the status line), so that all of them say the same.
 *
 *   ready      nothing keeps it but its delay
 *   waits      it has failed, or asked for patience: not before `until_ms`
 *   closed     it may be visited at certain hours only: not before `until_ms`
 *   dropped    the network said that there is nobody; its URLs are kept
 *   parked     it has failed for too long; its URLs are kept
 *   full       it has, or hosts with the same domain or address have, as much as a limit allows
 *   denied     by the operator
 *
 * Threads: any; pure. Times are wall times in milliseconds since 1970, and parameters. */
#pragma once

#include "frontier/visit/politeness.h"
#include "store/tables/host_rows.h"

typedef enum HostSituationKind {
    HOST_READY,
    HOST_WAITS,
    HOST_IS_CLOSED,
    HOST_GIVEN_UP,  /* dropped */
    HOST_SET_ASIDE, /* parked */
    HOST_HAS_ENOUGH,
    HOST_IS_ELSEWHERE, /* at another agent of the cluster */
    HOST_FORBIDDEN
} HostSituationKind;

typedef struct HostSituation {
    HostSituationKind kind;
    FetchClass why;    /* of the last failure; FETCH_OK: none */
    unsigned failures; /* in a row */
    int64_t until_ms;  /* waits, closed: not before then; dropped: looked at again then, 0 = not by
                          itself */
    HostLimit limit;   /* full: which */
    int64_t since_ms;  /* dropped, parked: since then; 0 = not known */
} HostSituation;

HostSituation host_situation_of(const HostRecord *record, int64_t now_ms);
/* Appends a phrase such as "waits 4m for a retry: timeout, 3 failures in a row" or "dropped since
 * 2026-01-31T12:00:00.123Z: no-name". Errors as buffer_append. */
Result host_situation_tell(const HostSituation *situation, int64_t now_ms, Buffer *text);
