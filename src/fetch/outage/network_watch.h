/* Network watch: whether transfers fail because of our own network.
 *
 *   fetching threads --answered, failed--> [Outage] --suspected--> canary thread: connects to
 *         ^                                   |                    addresses that answered lately
 *         '--- true: ours, nobody is charged -'--changed--> main thread: pauses, goes on
 *
 * What: outage.h with the addresses that answered lately, and a thread that connects to all of them
 * at once when there is suspicion: TCP only, nothing is sent. One connection is enough to know that
 * the network works. When there is none, it tries again, ever more rarely, up to every 15 seconds.
 * A gateway that answers for everybody is told by what it says (sameness, below); there the crawl
 * itself is the canary.
 *
 * Owns: the addresses, the thread.
 * Threads: any thread tells and asks. `changed` is called in the thread that brought the news,
 * without a lock.
 * Errors: when no socket can be had, nothing is concluded. */
#pragma once

#include "fetch/outage/outage.h"
#include "parse/host/ip_address.h"

#define NETWORK_WATCH_KNOWN 16u /* addresses that answered lately */
#define NETWORK_WATCH_LEAST 3u  /* hosts that make a canary, besides the one that fails */

typedef struct NetworkWatch NetworkWatch;

/* An answer, as far as it may be a gateway's. */
typedef struct SameAnswer {
    uint64_t who;    /* of the address: unrelated ones differ; not 0 */
    uint32_t mark;   /* sameness_mark */
    uint32_t before; /* the mark of the host's last page; 0: none has come */
    uint64_t page;   /* that was settled with it, when has_page */
    bool has_page;
    bool is_check;  /* that page has answered well before, and is asked again: HostCheck */
    MonoTime began; /* when it was asked for */
} SameAnswer;

/* RESULT_MEMORY. changed may be NULL. */
Result network_watch_new(NetworkWatch **watch, void (*changed)(void *context), void *context);
Result network_watch_start(NetworkWatch *watch);
/* Ends the thread, if it was started. */
void network_watch_stop(NetworkWatch *watch);
void network_watch_delete(NetworkWatch *watch);

/* An answer came from there. */
void network_watch_answered(NetworkWatch *watch, const IpAddress *address, uint16_t port,
                            MonoTime now);
/* A transfer to the address has failed, in a way for which our network could be the reason.
 * was_well: its host had not failed just before. True: it is ours, nobody is to be charged. */
bool network_watch_failed(NetworkWatch *watch, const IpAddress *address, bool was_well,
                          MonoTime began, MonoTime now);
/* Of both together: nobody answers, or a gateway does. */
OutageReport network_watch_report(NetworkWatch *watch);
/* What an answer says; behind network_watch_answered. True: a gateway of ours said it, and nobody
 * is to be charged. *pages: what else was settled so and is to be asked for again, owned by the
 * caller; NULL: nothing. */
bool network_watch_said(NetworkWatch *watch, const SameAnswer *answer, MonoTime now,
                        uint64_t **pages, size_t *n_pages);
/* The same of gateways alone. *tries: the crawl may go on until there is an answer.
 * Once its time has come (network_watch_next), the state changes here. */
OutageReport network_watch_gateway(NetworkWatch *watch, MonoTime now, bool *tries);
MonoTime network_watch_next(NetworkWatch *watch);

/* Sameness: whether it is our own gateway that answers for everybody.
 *
 * What: a gateway that has lost its line says 502 for every host, a captive portal redirects every
 * request to its login, or sends one page for all. Such answers are no host's. They are told by
 * what is the same in them (sameness_mark): the status 502, 503, 504 or 511; where a redirect
 * leads, without its query; or the bytes of a page of HTML. One mark from SAMENESS_HOSTS hosts that
 * had sent other pages before, on addresses of their own, with no other answer to any request since
 * the first of them, and that for SAMENESS_LEAST_MS at least, is ours:
 *
 *             a host that was well                    enough of them, for long enough
 *    CLEAR -----------------------> SUSPECTED ------------------------------------------> OUT
 *      ^                               |                                                   |
 *      |---- another answer -----------'------------------ another answer -----------------|
 *      '---- too few in SAMENESS_ROW_MS: theirs            SAMENESS_MOST_MS have passed: theirs
 *
 * From the last of these hosts on the answers are excused: nobody is charged, nothing of them is
 * kept, and the same is asked for again. What the hosts before it were settled with, and first
 * pages of hosts just before the row, is handed out to be asked again when the state becomes OUT:
 * two hosts that have one page, as two names of a site do, are asked for it once each. While it is
 * OUT the crawl is paused; now and then it is let go on until one answer has come. A host that has
 * given the mark counts again only behind another page of its, so hosts that are down while others
 * answer are no row when the others are done. Behind an excused answer a host is asked for a page
 * that it has given before (HostCheck). A gateway answers that, too; when the first of them brings
 * the page the hosts are mirrors of each other, and the mark is theirs. A mark that is theirs
 * excuses nobody for SAMENESS_THEIRS_MS (found by a check: SAMENESS_MIRRORS_MS): a network of hosts
 * that is down, or domains that were parked together, lose nothing by it but time.
 *
 * Owns: nothing.
 * Threads: one; time is a parameter. */

#define SAMENESS_HOSTS      5u
#define SAMENESS_LEAST_MS   1000
#define SAMENESS_ROW_MS     60000
#define SAMENESS_MOST_MS    3600000
#define SAMENESS_THEIRS_MS  3600000
#define SAMENESS_MIRRORS_MS 300000
#define SAMENESS_THEIRS     8u
#define SAMENESS_PAGES      1024u /* of the hosts before the last */
#define SAMENESS_EARLY      64u
#define SAMENESS_PAUSE_MS   1000 /* until it is tried again; doubles up to the longest */
#define SAMENESS_PAUSE_MOST 30000
#define SAMENESS_OTHER      1u /* the mark of an answer that has nothing of a gateway's */

typedef struct SameTheirs {
    uint32_t mark;
    MonoTime until;
} SameTheirs;

/* The first page of a host, or an answer that was under way when a row began. */
typedef struct SameEarly {
    uint32_t mark; /* 0: none */
    uint64_t page;
    MonoTime at;
} SameEarly;

typedef struct Sameness {
    OutageState state;
    uint32_t mark;  /* of the row; 0: there is none */
    MonoTime since; /* its first answer */
    MonoTime out_since;
    uint64_t row[SAMENESS_HOSTS]; /* who they were */
    unsigned n_row;
    uint64_t pages[SAMENESS_PAGES];
    size_t n_pages;
    SameEarly early[SAMENESS_EARLY]; /* before the row */
    unsigned next_early;
    SameTheirs theirs[SAMENESS_THEIRS];
    unsigned next_theirs;
    bool is_checked;   /* a page that came before has the mark, too */
    bool tries;        /* OUT: the crawl goes on until one answer has come */
    MonoTime next_try; /* OUT, and not tries */
    int64_t pause_ms;
    uint64_t n_excused;
    uint64_t n_outages;
} Sameness;

/* What is the same in the answers of a gateway: at least 2, or SAMENESS_OTHER. header and body are
 * as they came. */
uint32_t sameness_mark(int status, const char *header, size_t header_length, const char *body,
                       size_t body_length);
/* Notes an answer. True: it is nobody's, and is to be asked for again. *changed: the state, or
 * tries, has changed. When it has become OUT, pages holds what is to be asked for again besides. */
bool sameness_answered(Sameness *sameness, const SameAnswer *answer, MonoTime now, bool *changed);
/* When sameness_tick has something to do; MONO_NEVER. */
MonoTime sameness_next(const Sameness *sameness);
/* True: the state, or tries, has changed. */
bool sameness_tick(Sameness *sameness, MonoTime now);
