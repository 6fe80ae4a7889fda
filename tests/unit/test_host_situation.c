#include <string.h>

#include "frontier/visit/host_situation.h"
#include "unit.h"

#define NOW INT64_C(1700000000000)

static void tells(const HostRecord *record, HostSituationKind kind, const char *expected)
{
    Buffer text;
    buffer_init(&text, 1000);
    HostSituation situation = host_situation_of(record, NOW);
    CU_ASSERT_EQUAL(situation.kind, kind);
    CU_ASSERT_EQUAL(host_situation_tell(&situation, NOW, &text), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), expected);
    buffer_destroy(&text);
}

static void a_host_is_ready_or_waits(void)
{
    HostRecord record = {.state = HOST_ACTIVE};
    tells(&record, HOST_READY, "ready");
    record.failures = 2; /* but its time has come */
    record.not_before_ms = NOW;
    tells(&record, HOST_READY, "ready");
    record.not_before_ms = NOW + 1;
    record.last_failure = FETCH_TIMEOUT;
    tells(&record, HOST_WAITS, "waits 1ms for a retry: timeout, 2 failures in a row");
    record.not_before_ms = NOW + 999;
    tells(&record, HOST_WAITS, "waits 999ms for a retry: timeout, 2 failures in a row");
    record.not_before_ms = NOW + 1000;
    tells(&record, HOST_WAITS, "waits 1s for a retry: timeout, 2 failures in a row");
    record.not_before_ms = NOW + 1001;
    tells(&record, HOST_WAITS, "waits 2s for a retry: timeout, 2 failures in a row");
    record.not_before_ms = NOW + 239000;
    record.failures = 1;
    tells(&record, HOST_WAITS, "waits 4m for a retry: timeout, 1 failure in a row");
    record.failures = 0;
    record.not_before_ms = NOW + 3 * 86400000 - 5;
    tells(&record, HOST_WAITS, "waits 3d");
}

static void a_host_that_is_set_aside_says_why_and_since_when(void)
{
    HostRecord record = {
        .state = HOST_DROPPED, .drop_class = FETCH_NO_NAME, .not_before_ms = NOW + 99};
    tells(&record, HOST_GIVEN_UP, "dropped: no-name"); /* by an earlier version */
    record.parked_ms = NOW - 1;
    record.recheck_ms = NOW + 7200000;
    tells(&record, HOST_GIVEN_UP,
          "dropped since 2023-11-14T22:13:19.999Z: no-name, looked at again in 2h");
    record.state = HOST_PARKED;
    record.drop_class = FETCH_BUSY;
    tells(&record, HOST_SET_ASIDE, "parked since 2023-11-14T22:13:19.999Z: busy");
    record.state = HOST_FULL;
    record.drop_class = LIMIT_HOST_PAGES;
    tells(&record, HOST_HAS_ENOUGH, "full: it has limits.pages_per_host pages");
    record.drop_class = LIMIT_ADDRESS_HOSTS;
    tells(&record, HOST_HAS_ENOUGH, "full: its address has limits.hosts_per_address hosts already");
    record.state = HOST_DENIED;
    tells(&record, HOST_FORBIDDEN, "denied by the operator");
    record.state = HOST_MOVED;
    tells(&record, HOST_IS_ELSEWHERE, "moved to another agent of the cluster");
}

UNIT_MAIN("host situation", {"a host is ready or waits", a_host_is_ready_or_waits},
          {"a host that is set aside says why and since when",
           a_host_that_is_set_aside_says_why_and_since_when})
