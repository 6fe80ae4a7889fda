/* Frontier notice: a message to one of the frontier's threads that is no visit state.
 *
 * What: a copy of what another thread has to say, and what is done with it in the thread that it is
 * for.
 * Owns: an errand notice its answer, until it is taken.
 * Threads: made by any; taken by the distributor (changes, errands) or the todo thread (leases).
 * Errors: NULL is no memory. */
#ifndef FRONTIER_DISTRIBUTOR_FRONTIER_NOTICE_H
#define FRONTIER_DISTRIBUTOR_FRONTIER_NOTICE_H

#include "frontier/distributor/distributor.h"
#include "frontier/visit/workbench.h"

/* Of the main thread. */
typedef struct ChangeNotice {
    News news; /* NEWS_OPTIONS */
    DistributorChange change;
} ChangeNotice;

typedef enum LeaseNoticeKind {
    LEASE_NOTICE_GRANTED,   /* until `end` */
    LEASE_NOTICE_CONTENDED, /* others wait */
    LEASE_NOTICE_ENDED      /* over, or not to be had now */
} LeaseNoticeKind;

/* News of a lease. */
typedef struct LeaseNotice {
    News news; /* NEWS_LEASE */
    LeaseNoticeKind kind;
    IpAddress address;
    uint64_t ticket;
    MonoTime end;
    bool contended;
} LeaseNotice;

/* What came of an errand to another agent's host. */
typedef struct ErrandNotice {
    News news; /* NEWS_TOLD */
    uint32_t host;
    ErrandOutcome outcome;
    ErrandAnswer *answer; /* owned; may be NULL */
} ErrandNotice;

ChangeNotice *change_notice_new(const DistributorChange *change);
/* Each of these frees the notice. */
void change_notice_take(ChangeNotice *notice, Distributor *distributor, MonoTime now);

LeaseNotice *lease_notice_new(const LeaseNotice *notice);
void lease_notice_take(LeaseNotice *notice, Workbench *workbench, MonoTime now);

/* Takes the answer, in any case. */
ErrandNotice *errand_notice_new(uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer);
void errand_notice_take(ErrandNotice *notice, Distributor *distributor, MonoTime now,
                        WallTime wall);
/* One that nobody has taken; NULL is allowed. */
void errand_notice_delete(ErrandNotice *notice);

#endif
