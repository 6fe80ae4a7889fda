/* Host table: what must outlive a visit state. One record for each host (scheme and authority), and
 * its robots.txt.
 *
 * What: keys are PageDB's numbers of hosts. Records are packed (lmdb_pack). Earlier
 * versions of robots.txt are kept, too, so that the audit can judge a fetch by the file of its
 * time.
 * Owns: the handles; the tables are the environment's.
 * Threads: the ingest thread writes, inside the transaction that commits a batch; any thread reads
 * in a read transaction.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO, RESULT_NOT_FOUND. */
#pragma once

#include <lmdb.h>

#include "parse/host/ip_address.h"
#include "parse/http/http_wall.h"
#include "parse/robots/robots.h"
#include "store/schedule/schedule.h"

typedef enum HostState {
    HOST_ACTIVE,
    HOST_DROPPED, /* given up after errors: drop_class says which; its URLs are kept */
    HOST_FULL,    /* its budget of pages or bytes is used up: drop_class is a HostLimit */
    HOST_DENIED,  /* by the operator */
    HOST_PARKED,  /* has failed for too long: drop_class says how; its URLs are kept */
    HOST_MOVED    /* another agent of the cluster has it now, or is about to */
} HostState;

/* Which limit a full host has met. */
typedef enum HostLimit {
    LIMIT_HOST_PAGES,
    LIMIT_DOMAIN_PAGES,
    LIMIT_ADDRESS_PAGES,
    LIMIT_ADDRESS_HOSTS
} HostLimit;

typedef struct HostRecord {
    uint8_t state;           /* HostState */
    uint8_t drop_class;      /* FetchClass of the frontier, when dropped or parked; HostLimit */
    uint8_t robots_state;    /* RobotsState of the frontier */
    uint8_t failures;        /* in a row */
    uint8_t last_failure;    /* FetchClass */
    uint8_t rests;           /* in a row, after failures: schedule.mode = continuous */
    uint8_t owed;            /* fetches of new URLs before more revisits: revisits.h */
    uint8_t idle;            /* it has failed, and has nothing scheduled: it waits for nothing */
    uint32_t robots_version; /* how many contents of robots.txt there were */
    int32_t robots_status;   /* HTTP or negative code of the last time */
    uint32_t crawl_delay_ms; /* from robots.txt, 0 = none */
    uint32_t fetches;        /* all, robots.txt included */
    uint32_t pages;          /* pages stored, duplicates not counted */
    uint32_t duplicates;
    uint32_t by_status[6];    /* errors, 1xx ... 5xx */
    uint32_t robots_denied;   /* URLs refused by robots.txt */
    uint32_t urls;            /* known URLs of the host that were ever scheduled */
    uint64_t bytes;           /* received */
    uint64_t fetch_ms;        /* sum of the durations */
    int64_t robots_expiry_ms; /* wall time, ms since 1970 */
    int64_t not_before_ms;    /* wall time: back-off that must survive a restart */
    int64_t first_fetch_ms;   /* its start */
    int64_t last_fetch_ms;    /* its end */
    int64_t parked_ms;        /* wall time: dropped or parked since then; 0 = it is not */
    int64_t recheck_ms;       /* wall time: dropped, but asked for again then; 0 = not by itself */
    int64_t noted_ms;     /* wall time at which not_before_ms was noted: no wait is longer than from
                             then on; 0 = not known */
    int64_t rested_ms;    /* rests after failures, in all, since it was well */
    int64_t extra_ms;     /* the last of them; halved by each success */
    uint32_t rechecks;    /* times, hours apart, that its name did not exist */
    uint16_t tls_version; /* of its last TLS connection, 0x0303 is TLS 1.2; 0 = none */
    uint16_t tls_verdict; /* TlsVerdict of fetch/tls */
    uint32_t tls_expiry_s;      /* of its certificate, unix time; 0 = not known */
    uint32_t queued;            /* URLs that are scheduled and were not fetched yet */
    uint32_t walls[HTTP_WALLS]; /* answers to pages that keep crawlers out */
    uint64_t domain;            /* its groups: hosts of its registered domain, */
    uint64_t address;           /* and of the address where it was first found; 0 = not known */
    uint32_t signals;           /* pages said to have changed (revisits.h) and visited since, */
    uint32_t signals_true;      /* and those of them that had */
    uint32_t elsewhere;         /* pages that agents had stored that had the host before */
    uint32_t wall_mark; /* of a host that walls: what its answers have in common, 0 = nothing */
    int64_t retried_until_ms; /* wall time of the last try of those of its URLs that have failed, if
                                 each fails again; 0 = none has */
    uint32_t retried;         /* URLs that are queued and have failed, */
    uint32_t failed_tries;    /* and how often, all together */
    uint16_t closed;          /* it is outside its hours, until not_before_ms */
    uint16_t judgements;      /* as in HostHealth: what failures and rests are as of */
    uint32_t learned_ms;      /* its delay by politeness.learned; 0 = the configured one */
} HostRecord;

/* What counts for its limit of pages. */
static inline uint64_t host_pages(const HostRecord *record)
{
    return (uint64_t)record->pages + record->elsewhere;
}

#define HOST_CLOCKS_DIFFER_MS 5000 /* a time this little later than now may be true */

typedef struct HostRows HostRows;

/* Opens the tables; in a write transaction those that are missing are created. RESULT_NOT_FOUND: a
 * read transaction, and there are none. The journal is borrowed; NULL: records are only in the
 * table. */
Result host_rows_open(HostRows **table, MDB_txn *txn, Journal *journal);
void host_rows_close(HostRows *table);

/* An unknown host gives a zeroed record and RESULT_OK. RESULT_VERSION, RESULT_IO. */
Result host_rows_get(HostRows *table, MDB_txn *txn, uint32_t host, HostRecord *record);
Result host_rows_put(HostRows *table, MDB_txn *txn, uint32_t host, const HostRecord *record);

/* Until when the host is left alone. A record that was noted later than now was written while the
 * clock was ahead: only the length of its wait is believed, and it counts from clock_start_ms on,
 * since when the clock has not been set back. All times are wall times in ms. */
static inline int64_t host_not_before_ms(const HostRecord *record, int64_t now_ms,
                                         int64_t clock_start_ms)
{
    bool is_from_the_future = record->noted_ms > now_ms + HOST_CLOCKS_DIFFER_MS;
    int64_t clamped_ms = clock_start_ms + (record->not_before_ms - record->noted_ms);
    return is_from_the_future && clamped_ms < record->not_before_ms ? clamped_ms
                                                                    : record->not_before_ms;
}

/* Appends the text of robots.txt (robots_rows.h); RESULT_NOT_FOUND. */
Result host_rows_get_robots(HostRows *table, MDB_txn *txn, uint32_t host, Buffer *body);
/* hash: as of robots_rows_put. */
Result host_rows_put_robots(HostRows *table, MDB_txn *txn, uint32_t host, const char *body,
                            size_t length, uint64_t hash);

/* The same of /.well-known/tdmrep.json (USAGE_IN_TDM), and of the licence that robots.txt names
 * (USAGE_IN_LICENCE and behind it); of no bytes: there is none. */
Result host_rows_get_usage_file(HostRows *table, MDB_txn *txn, uint32_t host, UsagePlace file,
                                Buffer *text);
Result host_rows_put_usage_file(HostRows *table, MDB_txn *txn, uint32_t host, UsagePlace file,
                                const char *body, size_t length);
/* What robots.txt says to agent, and, unless reader is NULL, what the other files say of usage;
 * without a robots.txt everything is allowed. The caller deletes it. *hash: of robots.txt, as
 * robots_content_hash; NULL is allowed. */
Result host_rows_get_rules(HostRows *table, MDB_txn *txn, uint32_t host, const char *agent,
                           const RslReader *reader, Robots **robots, uint64_t *hash);

/* Earlier contents of robots.txt. keep_robots saves the present content under its version, before
 * put_robots replaces it; the last ROBOTS_ROWS_KEPT of each host are kept. RESULT_OK when
 * there is nothing to save. get_robots_version returns RESULT_NOT_FOUND when the version is not
 * kept. */
Result host_rows_keep_robots(HostRows *table, MDB_txn *txn, uint32_t host, uint32_t version);
Result host_rows_get_robots_version(HostRows *table, MDB_txn *txn, uint32_t host, uint32_t version,
                                    Buffer *body);

/* Reads up to max records, host ids ascending from *from on; *from moves on behind the last one. *n
 * = how many; fewer than max means the end. */
Result host_rows_read(HostRows *table, MDB_txn *txn, uint64_t *from, uint32_t *hosts,
                      HostRecord *records, size_t max, size_t *n);

/* Calls visit for every record, host ids ascending; a result other than RESULT_OK ends the walk. */
Result host_rows_walk(HostRows *table, MDB_txn *txn,
                      Result (*visit)(void *context, uint32_t host, const HostRecord *record),
                      void *context);

/* Host parking: a host that is set aside keeps its URLs, and can be brought back with all of them.
 *
 * What: a host is dropped when the network says that there is nobody (no such name, refused again
 * and again), and parked when it answers, but has failed for too long. In both cases its record
 * says so and its schedule is parked (store/schedule/schedule.h): nothing of it is fetched,
 * and nothing is lost. What is found for it meanwhile is scheduled behind the others. Brought back,
 * it is as if it had never failed.
 *
 *   ACTIVE --host_parking_set_aside--> DROPPED or PARKED --host_parking_bring_back--> ACTIVE
 *
 * Owns: nothing. The record is the caller's, who writes it into the host table in the same
 * transaction.
 * Threads: the one that owns the write transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED as the schedule's. */

/* Whether the host is dropped or parked. */
static inline bool host_is_aside(const HostRecord *record)
{
    return record->state == HOST_DROPPED || record->state == HOST_PARKED;
}

/* Whether nothing of the host is fetched and its URLs are kept: it is set aside, or denied, or on
 * its way to another agent. */
static inline bool host_is_closed(const HostRecord *record)
{
    return host_is_aside(record) || record->state == HOST_DENIED || record->state == HOST_MOVED;
}

/* state: HOST_DROPPED or HOST_PARKED; why: FetchClass of the last failure; now_ms: wall time;
 * *urls = how many are kept. */
Result host_parking_set_aside(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                              HostState state, uint8_t why, int64_t now_ms, uint64_t *urls);
/* *urls is the number of URLs that came back, *level the level of the best one (SCHEDULE_NO_LEVEL
 * when there is none). A host that is not set aside stays as it is, and *urls is 0. */
Result host_parking_bring_back(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                               uint64_t *urls, unsigned *level);

/* The host is as well as if it had never failed; its state stays. */
void host_parking_cure(HostRecord *record);

/* Wait table: which hosts wait for a retry, or for their hours, for what, and until when.
 *
 * What: an entry for each host that has failed, or is outside its hours, has something scheduled
 * and is to be tried again, in order of time. So the number of such hosts and the first of them are
 * known without looking at the other hosts. An entry follows from the host's record (host_rows.h);
 * whoever writes the record keeps the entry in step.
 * Owns: the handle; the table belongs to the environment.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like. */

typedef MDB_dbi WaitRows; /* its handle */
#define WAIT_TABLE "waits"

typedef struct WaitEntry {
    int64_t until_ms; /* wall time, ms since 1970 */
    uint32_t host;
    uint8_t class;    /* FetchClass of the last failure */
    uint8_t failures; /* in a row; 0: it is outside its hours */
} WaitEntry;

/* The entry that follows from the record of a host. False when the host does not wait. */
bool wait_rows_entry(uint32_t host, const HostRecord *record, WaitEntry *entry);
/* Replaces the entry of a host, which stands at from_ms (0: it has none), by the entry that follows
 * from its record. */
Result wait_rows_follow(WaitRows table, MDB_txn *txn, uint32_t host, int64_t from_ms,
                        const HostRecord *record);
/* How many of them are outside their hours: looks at each. */
Result wait_rows_count_closed(WaitRows table, MDB_txn *txn, uint64_t *n);
/* Reads up to max entries in order of time, behind *after (NULL: from the first). *n = how many. */
Result wait_rows_read(WaitRows table, MDB_txn *txn, const WaitEntry *after, WaitEntry *entries,
                      size_t max, size_t *n);

/* Group table: what the hosts of one hand have together. The hand is guessed at in two ways: hosts
 * of one registered domain, and hosts on one address.
 *
 * What: a group has a key of 64 bits, made of the name of the domain or of the bytes of the address
 * (of IPv6 the first 64 bits, since one machine has all of them), and a record of counters. Which
 * groups a host belongs to is in its HostRecord. */

typedef MDB_dbi GroupRows;   /* its handle */
#define GROUP_TABLE "groups" /* MDB_INTEGERKEY */

typedef struct GroupRecord {
    uint64_t pages;  /* stored, duplicates not counted */
    uint64_t queued; /* URLs that are scheduled and were not fetched yet */
    uint32_t hosts;
    uint32_t spare;
} GroupRecord;

/* Never 0, which stands for no group. domain: as in domain_registered(). */
uint64_t group_key_of_domain(const char *domain, size_t length);
uint64_t group_key_of_address(const IpAddress *address);

/* An unknown group gives a zeroed record and RESULT_OK. */
Result group_rows_get(GroupRows table, MDB_txn *txn, uint64_t key, GroupRecord *record);
Result group_rows_put(GroupRows table, MDB_txn *txn, uint64_t key, const GroupRecord *record);

/* Feed table: which feeds the pages of a host have brought into the crawl.
 *
 * What: for each host that has some, the hashes of the URLs of the feeds that its pages link and
 * that are followed, in order of discovery. So a feed counts once, however many pages link it, and
 * also after a restart. */

#define FEED_ROWS_MOST 1000u /* feeds of a host */

typedef MDB_dbi FeedRows;  /* its handle */
#define FEED_TABLE "feeds" /* MDB_INTEGERKEY */

/* *admitted: the host has this feed, or had fewer than most (at most FEED_ROWS_MOST) and has it
 * now. */
Result feed_rows_admit(FeedRows table, MDB_txn *txn, uint32_t host, uint64_t feed, size_t most,
                       bool *admitted);
