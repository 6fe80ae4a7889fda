/* Outage: whether it is our own network that fails, or the hosts.
 *
 * What: a small machine that is told of every answer and every failure, and of what a canary says.
 * There are two of them: one for transfers (network_watch.h), one for names
 * (fetch/dns/name_watch.h). A canary asks those who have answered lately. When none of them
 * answers, the trouble is ours.
 *
 *          a failure is suspect                                the canary hears nobody
 *    CLEAR --------------------> SUSPECTED ---------------------------------------> OUT
 *      ^                             |                                               |
 *      '---- anybody answers, or the canary hears somebody --------------------------'
 *
 * A failure is charged to a host when somebody else has answered since its last failure. So the
 * first failure of a host that was well is excused, and it is asked once more, soon. Everything
 * that fails while the state is not CLEAR is excused. A failure is suspect when
 *  - it is the third in a row, of three hosts, with no answer in between;
 *  - it took a second or more, and nobody has answered since it began;
 *  - the same host failed before, and nobody has answered since.
 * When a canary has heard somebody, rows are no reason to suspect for OUTAGE_TRUST_MS: many hosts
 * are just dead, one after the other.
 *
 * Owns: nothing.
 * Threads: one; times are parameters, and so is the canary. */
#pragma once

#include <stdatomic.h>

#include "base/core/clock.h"

/* Local trouble: what this machine could not do for a fetch, counted and told.
 *
 * What: there is no descriptor, no port, no memory for a socket; our own firewall says no; the
 * thread did not run for a while. No host is to blame for that. One line of the log tells of all
 * that happened within LOCAL_TELL_MS.
 *
 * Owns: nothing.
 * Threads: one fetching thread notes; any thread reads the counters. Time is a parameter. */

#define LOCAL_TELL_MS 10000

typedef struct LocalTrouble {
    _Atomic uint64_t count;          /* since the start */
    _Atomic uint64_t no_descriptors; /* of these: EMFILE, ENFILE */
    uint64_t told;
    MonoTime next_line; /* not before */
} LocalTrouble;

/* os_error: errno, or 0: the thread did not run. */
void local_trouble_note(LocalTrouble *trouble, int os_error, MonoTime now);

#define OUTAGE_ROW 3u /* failures in a row that raise suspicion */
#define OUTAGE_LONG_MS                                                                             \
    1000 /* a failure that took so long is suspect when nobody answered meanwhile */
#define OUTAGE_EXCUSED                                                                             \
    4096u /* places for hosts that were excused, by hash; when one is taken, the other is charged  \
           */
#define OUTAGE_EXCUSE_MS 60000 /* a place is kept for its host so long */
#define OUTAGE_TRUST_MS  10000 /* after a canary has heard somebody */

typedef enum OutageState { OUTAGE_CLEAR, OUTAGE_SUSPECTED, OUTAGE_OUT } OutageState;

typedef struct OutageFailure {
    uint64_t who;    /* of the address, or of the name: unrelated ones differ; not 0 */
    bool was_well;   /* it had not failed just before */
    bool has_canary; /* others than this one have answered lately, and can be asked again */
    MonoTime began;  /* when it was asked */
} OutageFailure;

/* For an operator. */
typedef struct OutageReport {
    OutageState state;
    MonoTime since;     /* the first failure that led to it; MONO_NEVER: it is CLEAR */
    uint64_t n_excused; /* failures that were not charged, in all */
    uint64_t n_outages; /* so far */
} OutageReport;

typedef struct OutageExcuse {
    uint64_t who; /* 0: nobody */
    MonoTime at;
} OutageExcuse;

typedef struct Outage {
    OutageState state;
    MonoTime last_answer;
    MonoTime trusted_until;
    unsigned n_row;                       /* failures of different hosts since the last answer */
    uint64_t row[OUTAGE_ROW];             /* who they were */
    MonoTime row_start;                   /* when the first of them was noted */
    OutageExcuse excused[OUTAGE_EXCUSED]; /* by hash */
    uint64_t n_excused;                   /* failures that were not charged, in all */
    uint64_t n_outages;                   /* so far */
} Outage;

void outage_init(Outage *outage);
/* True: it is excused, and nobody is to be charged with it. */
bool outage_failed(Outage *outage, const OutageFailure *failure, MonoTime now);
/* Somebody answered. True: the state changed to CLEAR. */
bool outage_answered(Outage *outage, MonoTime now);
/* What a canary that was sent out while the state was not CLEAR came home with. True: the state
 * changed, to CLEAR or OUT. */
bool outage_canary(Outage *outage, bool heard, MonoTime now);
OutageReport outage_report(const Outage *outage);
