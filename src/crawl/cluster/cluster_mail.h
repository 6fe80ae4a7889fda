/* Cluster mail: what other threads have for the cluster thread.
 *
 *   transport, frontier, ingest, main --cluster_mail_post--> [mail] --> cluster thread
 *
 * What: a list that grows with what exists: an event of the transport, a want or release for each
 * address at work, a word for each commit. Nobody waits to post.
 * Owns: the mail that was not taken.
 * Threads: any post; one takes. Errors: without memory the mail is lost, and says so from then on.
 */
#ifndef CRAWL_CLUSTER_CLUSTER_MAIL_H
#define CRAWL_CLUSTER_CLUSTER_MAIL_H

#include <stdatomic.h>

#include "base/thread/mutex.h"
#include "cluster/table/cluster_table.h"
#include "cluster/transport/transport.h"
#include "cluster/wire/link_block.h"
#include "frontier/visit/errand_answer.h"
#include "parse/host/ip_address.h"

typedef enum MailKind {
    MAIL_EVENT,   /* event */
    MAIL_WANT,    /* address, ticket */
    MAIL_RELEASE, /* address, time */
    MAIL_GROWN,   /* agent, bytes */
    MAIL_SETTLED, /* agent, ticket, fault, taken */
    MAIL_FORGET,  /* ticket */
    MAIL_MOVED,   /* agent */
    MAIL_RETOLD,  /* agent */
    MAIL_ASK,     /* ticket: the host that asks; url */
    MAIL_FETCHED, /* ticket, answer */
    MAIL_TABLE,   /* table */
    MAIL_BEGIN,
    MAIL_LEAVE
} MailKind;

typedef struct Mail {
    struct Mail *next;
    MailKind kind;
    TransportEvent *event; /* owned until it is taken out */
    ClusterTable *table;   /* owned */
    char *url;             /* owned */
    ErrandAnswer *answer;  /* owned until it is taken out */
    IpAddress address;
    uint64_t ticket;
    uint64_t taken;
    MonoTime time;
    size_t bytes;
    uint16_t agent;
    BlockFault fault;
} Mail;

typedef struct ClusterMail {
    Mutex mutex; /* RANK_QUEUE; guards the list */
    Condition changed;
    Mail *first;
    Mail *last;
    bool gathers; /* nobody is waked by what is posted */
    bool closed;
    atomic_bool lost; /* some, for lack of memory */
} ClusterMail;

void cluster_mail_init(ClusterMail *mail);
void cluster_mail_destroy(ClusterMail *mail);
/* Copies *letter, and takes what it owns. */
void cluster_mail_post(ClusterMail *mail, const Mail *letter);
/* All that is there, oldest first: gathers until not_before, then waits for the first until the
 * deadline. NULL: none came. */
Mail *cluster_mail_take(ClusterMail *mail, MonoTime not_before, MonoTime deadline);
void cluster_mail_delete(Mail *letter);
/* What is posted from now on is dropped. */
void cluster_mail_close(ClusterMail *mail);

#endif
