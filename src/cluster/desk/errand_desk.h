/* The errand desk: asks the owner of a host for what another host's robots.txt redirects to, and
 * answers such questions of others.
 *
 *   distributor --errand_desk_ask--> NODE_ASK_ROBOTS: URL --> the owner's desk --fetch--> its
 *      ^                              ^    | ERRAND_WAITS, ERRAND_NOT_MINE           distributor
 *      |                  asked again |    v                                              |
 *      '------------told-------- ERRAND_HERE: what the host has answered <--errand_desk_told
 *
 * What: the owner fetches when its host and the address may be used, which takes as long as it
 * takes; until then whoever asks is told to wait, and asks again after ERRAND_FIRST_MS, at last
 * every ERRAND_LATER_MS. So a message that is lost, or an owner that begins anew, costs a question
 * more. An answer is kept for ERRAND_KEPT_MS, for a host to which many redirect.
 * ERRAND_AWAY is told when nothing was heard of the owner for ERRAND_SILENT_MS, when there was no
 * answer within ERRAND_MOST_MS, and when ERRAND_OURS_MOST questions are open.
 * Of a slot that is MOVING nobody is asked, and nobody answers, until the table says who has it.
 *
 * Owns: the questions, and answers that are kept. Time is a parameter; belongs to one thread.
 * Invariants:
 *  1. Each errand_desk_ask is followed by one ErrandDeskSinks.told, unless the desk ends before.
 *  2. ERRAND_THEIRS_MOST questions of others are known at most, with answers of
 *     ERRAND_KEPT_BYTES; who asks beyond it is told to wait. */
#pragma once

#include "cluster/message/node_link.h"
#include "frontier/visit/visit_state.h"

#define ERRAND_FIRST_MS    1000
#define ERRAND_LATER_MS    8000
#define ERRAND_ANSWER_MS   5000 /* without an answer it is asked again */
#define ERRAND_SILENT_MS   30000
#define ERRAND_MOST_MS     600000
#define ERRAND_KEPT_MS     60000
#define ERRAND_OURS_MOST   256u
#define ERRAND_THEIRS_MOST 256u
#define ERRAND_KEPT_BYTES  ((size_t)16 << 20)

/* How an answer to NODE_ASK_ROBOTS begins. */
typedef enum ErrandReply {
    ERRAND_HERE = 1, /* status 32, class 8, cut 8, header, body (strings) */
    ERRAND_WAITS,
    ERRAND_NOT_MINE /* by the table of who was asked */
} ErrandReply;

typedef struct ErrandDeskSinks {
    void *context;
    /* Takes the answer, which is NULL unless it is ERRAND_ANSWERED. */
    void (*told)(void *context, uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer);
    /* Another agent wants the URL: errand_desk_told follows, with the ticket. False: it cannot be
     * asked for. NULL: nothing is fetched for others. */
    bool (*fetch)(void *context, uint64_t ticket, const char *url);
} ErrandDeskSinks;

/* One of our questions. */
typedef struct ErrandAsked {
    uint32_t host; /* that waits for it */
    char *url;     /* owned */
    uint16_t agent;
    uint64_t asked; /* number of the question in flight; 0: none */
    MonoTime begun;
    MonoTime heard; /* of the owner */
    MonoTime next;  /* it is looked at again */
} ErrandAsked;

/* One of others. */
typedef struct ErrandServed {
    char *url; /* owned */
    uint64_t ticket;
    ErrandAnswer *answer; /* owned; NULL: it is being fetched */
    MonoTime since;       /* that it is so */
} ErrandServed;

typedef struct ErrandDesk {
    NodeLink *link; /* borrowed */
    ErrandDeskSinks sinks;
    ErrandAsked ours[ERRAND_OURS_MOST];
    size_t n_ours;
    ErrandServed theirs[ERRAND_THEIRS_MOST];
    size_t n_theirs;
    size_t kept_bytes;
    uint64_t last; /* number of a question or ticket */
} ErrandDesk;

void errand_desk_init(ErrandDesk *desk, NodeLink *link, const ErrandDeskSinks *sinks);
void errand_desk_destroy(ErrandDesk *desk);

/* The host waits for that URL of another host, which is copied. */
void errand_desk_ask(ErrandDesk *desk, uint32_t host, const char *url, MonoTime now);
/* What came of a question of ours. */
void errand_desk_take(ErrandDesk *desk, NodeMessage *in, MonoTime now);

/* A question of another node. */
void errand_desk_asked(ErrandDesk *desk, NodeMessage *in, MonoTime now);
/* What came of ErrandDeskSinks.fetch; takes the answer. NULL, or a failure of this machine: it is
 * fetched again when it is asked for again. */
void errand_desk_told(ErrandDesk *desk, uint64_t ticket, ErrandAnswer *answer, MonoTime now);

void errand_desk_work(ErrandDesk *desk, MonoTime now);
MonoTime errand_desk_next(const ErrandDesk *desk);
