/* Checks every promise of the crawler from outside: told of each request's start and end, each
 * commit and each crash, of one agent or of many, it keeps its own books and counts violations.
 *
 *  1. At most one request in flight to an address, and to a host.
 *  2. Between the end of one and the start of the next at least the host's delay (Crawl-delay and
 *     Retry-After included) and at least the address's.
 *  3. No page before robots.txt was answered, none that it forbids. Who takes a host over from
 * another agent reads it itself.
 *  4. No page fetched again once its result is committed; none in flight twice. A crash may cost
 * one more fetch of what was not committed, a backup of what it does not hold.
 *  5. At the end every known URL has a reason, and the database knows the same URLs.
 *
 * Bytes: two per URL, 72 per host, 16 per address, allocated at the start. */
#ifndef TESTS_SIM_AUDIT_H
#define TESTS_SIM_AUDIT_H

#include "base/core/clock.h"
#include "fetch/transfer/fetch_result.h"
#include "world.h"

#define AUDIT_AGENTS 1024u

typedef struct AuditHost {
    int64_t last_end_ms;
    int64_t robots_ms;     /* when robots.txt was last answered, 0 = never */
    uint32_t need_ms;      /* the delay owed after last_end_ms */
    uint32_t kept_need_ms; /* what of it a crash may not forget */
    int64_t kept_end_ms;
    int64_t kept_robots_ms;
    uint8_t readers[AUDIT_AGENTS / 8]; /* agents that have read its robots.txt, a bit each */
    uint16_t agent;                    /* that has asked it last; AUDIT_NOBODY */
    bool busy;
    bool stale_robots; /* a refresh failed: the old rules go on */
    bool given_up;     /* dropped, or put aside: what is known of it need not be fetched */
} AuditHost;

#define AUDIT_NOBODY UINT16_MAX

typedef struct AuditAddress {
    int64_t last_end_ms;
    int64_t lives_ms; /* a request of a process that nobody hears of is in flight until then */
    uint16_t agent;
    bool busy;
} AuditAddress;

typedef struct Audit {
    const World *world;
    int64_t host_delay_ms;
    int64_t ip_delay_ms;
    int64_t crawl_delay_max_ms;
    int64_t retry_after_max_ms;
    int64_t robots_expiry_ms;
    uint8_t *urls;    /* AuditUrl bits */
    uint16_t *agents; /* by URL: that has asked for it last */
    AuditHost *hosts;
    AuditAddress *addresses;
    uint64_t violations;
    uint64_t requests;
    uint64_t pages;   /* final results of pages */
    uint64_t refused; /* by robots.txt */
    uint64_t known;
    uint64_t refetched; /* after crashes */
    uint64_t checks;    /* of hosts, by pages that have come */
    bool forgets;       /* hosts moved and a backup was put back: it is not known what it held */
    uint64_t lost;      /* pages that a directory forgot when a backup took its place */
    bool paused;        /* the operator was told that no agent begins a request */
    uint8_t excused[AUDIT_AGENTS / 8]; /* but for these, a bit each: they are cut off, and have not
                                          heard of it */
    int64_t behind_ms[AUDIT_AGENTS]; /* its clock, which has stood still: all times below are by the
                                        clock of the agent that they are about */
    int64_t excused_ms[AUDIT_AGENTS]; /* until then it may not know that it has stood still */
} Audit;

/* What a backup of a directory holds. */
typedef struct AuditBackup {
    uint8_t *urls;      /* AuditUrl bits */
    int64_t *robots_ms; /* by host, as kept_robots_ms */
} AuditBackup;

bool audit_init(Audit *audit, const World *world, const PolitenessOptions *politeness,
                int64_t robots_expiry_ms);
void audit_destroy(Audit *audit);
/* Bytes of its books. */
size_t audit_bytes(const Audit *audit);

/* Counts a violation and prints the first ones. */
void audit_violation(Audit *audit, const char *what, WorldPage page, int64_t now_ms)
    __attribute__((cold));
void audit_start(Audit *audit, uint16_t agent, WorldPage page, uint32_t address, bool is_check,
                 int64_t now_ms);
void audit_end(Audit *audit, WorldPage page, uint32_t address, const FetchResult *result,
               int64_t end_ms);
/* robots.txt refused a page without a request. */
void audit_refused(Audit *audit, uint16_t agent, WorldPage page, int64_t now_ms);
/* A result was committed; done: its URL left the schedule. */
void audit_committed(Audit *audit, WorldPage page, const FetchResult *result, bool done);
void audit_known(Audit *audit, WorldPage page);
void audit_given_up(Audit *audit, uint32_t host);
/* Everything of an agent that was not committed is forgotten; what is in flight ends now. */
void audit_crashed(Audit *audit, uint16_t agent, int64_t now_ms);

/* A request of a process that was lost goes on. */
void audit_lives_on(Audit *audit, uint16_t agent, uint32_t address, int64_t end_ms);
/* The agent stands still from now_ms on for so long, which no clock of its own shows. What it has
 * in flight may end at any time, and for grace_ms afterwards it may begin what it must not: that is
 * the bound (cluster/desk/watch_desk.h). */
void audit_stands_still(Audit *audit, uint16_t agent, int64_t ms, int64_t grace_ms, int64_t now_ms);

/* A backup of a directory is made now. */
void audit_back_up(const Audit *audit, AuditBackup *backup);
void audit_backup_destroy(AuditBackup *backup);
/* It takes the place of the directory: what the agent has committed since may be fetched again.
 * moved: the agent may have got or given hosts since, so that this is true of every page, from now
 * on. */
void audit_put_back(Audit *audit, uint16_t agent, const AuditBackup *backup, bool moved);

bool audit_is_known(const Audit *audit, WorldPage page);
/* Whether its links are known to a directory: it was answered with 200, and that was committed. */
bool audit_has_links(const Audit *audit, WorldPage page);
bool audit_is_done(const Audit *audit, WorldPage page);

#endif
