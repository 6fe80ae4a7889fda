/* Cluster state: what cluster_part.h is made of.
 *
 * What: the parts of a ClusterPart, and the state that it tells the main thread.
 * Owns: see cluster_part.h.
 * Threads: as the comments say; the mutex guards the text, the figures and changes of the state. */
#pragma once

#include <stdatomic.h>

#include "cluster/mass/mass.h"
#include "crawl/cluster/cluster_console.h"
#include "crawl/cluster/cluster_options.h"
#include "crawl/crawl_store.h"
#include "frontier/distributor/frontier.h"
#include "ingest/chore/inbox_chore.h"
#include "ingest/chore/scoring.h"
#include "ingest/move/moves_chore.h"

/* Cluster mail: what other threads have for the cluster thread.
 *
 *   transport, frontier, ingest, main --cluster_mail_post--> [mail] --> cluster thread
 *
 * What: a list that grows with what exists: an event of the transport, a want or release for each
 * address at work, a word for each commit. Nobody waits to post.
 * Owns: the mail that was not taken.
 * Threads: any post; one takes.
 * Errors: without memory the mail is lost, and says so from then on.
 */

typedef enum MailKind { MAIL_EVENT, MAIL_NOTE, MAIL_BEGIN, MAIL_LEAVE } MailKind;

typedef struct Mail {
    struct Mail *next;
    MailKind kind;
    TransportEvent *event; /* owned until it is taken out, as what the note has */
    NodeNote note;
} Mail;

typedef struct ClusterMail {
    Mutex mutex; /* RANK_QUEUE; guards the list */
    Condition changed;
    Mail *first;
    Mail **end;   /* where the next one goes */
    bool gathers; /* nobody is waked by what is posted */
    bool closed;
    atomic_bool lost; /* some, for lack of memory */
} ClusterMail;

void cluster_mail_init(ClusterMail *mail);
void cluster_mail_destroy(ClusterMail *mail);
/* Copies *letter, and takes what it owns. */
void cluster_mail_post(ClusterMail *mail, const Mail *letter);
void cluster_mail_note(ClusterMail *mail, const NodeNote *note);
/* All that is there, oldest first: gathers until not_before, then waits for the first until the
 * deadline. NULL: none came. */
Mail *cluster_mail_take(ClusterMail *mail, MonoTime not_before, MonoTime deadline);
void cluster_mail_delete(Mail *letter);
/* What is posted from now on is dropped. */
void cluster_mail_close(ClusterMail *mail);

/* Of cluster_edicts.h: what neither the main thread nor the node has taken yet. */
typedef struct ClusterTold {
    uint64_t ticket;
    Result rc;
    uint64_t by_all; /* its number, when all agents have carried it out; 0 */
    char *text;      /* owned */
} ClusterTold;

typedef struct ClusterEdicts {
    Mutex mutex; /* RANK_TABLE; guards what follows */
    Edicts news;
    bool has_news;
    Edicts kept;           /* as the file had them at the start */
    uint64_t kept_applied; /* and which of them were carried out */
    Tray told;             /* of ClusterTold */
} ClusterEdicts;

typedef struct ClusterSinks {
    void *context;
    void (*news)(void *context); /* state, verdict or limits have changed; any thread */
    /* So much of a limit may be used in all. */
    void (*granted)(void *context, LedgerUnit unit, uint64_t granted);
    /* How much of it is used, with what is in flight, and how much could be at once. */
    void (*account)(void *context, LedgerUnit unit, LedgerAccount *account);
} ClusterSinks;

/* What the frontier and ingest of this crawl are, once they are built. */
typedef struct ClusterBonds {
    Frontier *frontier;
    Ingest *ingest;
    Stats *stats;
} ClusterBonds;

typedef struct ClusterFigures {
    NodeStats node;
    uint64_t outbox_blocks;
    uint64_t outbox_bytes;
    uint64_t inbox_bytes;
    uint16_t agent;
} ClusterFigures;

typedef struct ClusterPart {
    const Config *config;
    CrawlStore *store; /* borrowed */
    ClusterSinks sinks;
    ClusterBonds bonds; /* from cluster_part_begin on */
    ClusterNames names;
    Buffer settings;
    ClusterMail mail;
    ClusterEdicts edicts;
    ClusterConsole console; /* the cluster thread's */
    TransportNats *nats;
    Node *node; /* the cluster thread's, as are the next three */
    uint64_t used[LEDGER_UNITS];
    int64_t asleep_ns;
    int64_t gather_ms; /* a member looks at its mail so often at most */
    MonoTime next_figures;
    Thread thread;
    bool opened; /* what follows is there; the main thread's word */
    Inbox inbox;
    IngestCluster ingest;
    InboxChore *inbox_chore;
    AcksChore acks;
    TableChore table;
    MovesChore moves;
    Mass *mass; /* NULL: no scores are exchanged */
    PageRankOutside outside;
    _Atomic int state;   /* NodeState */
    _Atomic int verdict; /* EndVerdict */
    atomic_bool quiet;   /* ingest's word: it had nothing to do as of its last turn */
    /* The main thread's words: nothing is to be asked for again when nothing else is left; only
     * hosts that have failed are left, for limits.tail. */
    atomic_bool settled;
    atomic_bool tail;
    atomic_bool full;
    atomic_bool leaving;
    _Atomic(const char *) limit; /* main: what bounds the crawl here, as in status.log */
    _Atomic uint64_t arrived;    /* blocks of others */
    _Atomic uint64_t rate;       /* this agent's share of fetch.rate */
    Mutex mutex;                 /* RANK_TABLE */
    char text[600];
    ClusterFigures figures;
} ClusterPart;

/* Any thread. */
void cluster_state_set(ClusterPart *part, NodeState state, const char *text);
/* Whether nothing is left here, and what is elsewhere is known there. Any thread. */
bool cluster_state_is_idle(ClusterPart *part);
