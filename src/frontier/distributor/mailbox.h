/* Mailbox: the messages to one of the frontier's threads, and when it wakes up for them.
 *
 * What: a wake-up costs more than most messages. So each message says by when it is missed, and the
 * thread is called only when it would not look by itself before. In a run of messages, which come
 * less than MAILBOX_RUN_MS apart, a thread with `runs` looks once in that time; for one that comes
 * alone it is called at once.
 * Owns: its ring; a message is its taker's.
 * Threads: any posts, one takes; RANK_QUEUE.
 * Errors: RESULT_MEMORY, and RESULT_CLOSED once it is closed and empty. */
#ifndef FRONTIER_DISTRIBUTOR_MAILBOX_H
#define FRONTIER_DISTRIBUTOR_MAILBOX_H

#include "base/core/clock.h"
#include "base/thread/queue.h"

#define MAILBOX_BATCH  256u
#define MAILBOX_RUN_MS 5

typedef struct Mailbox {
    Queue queue;
    bool runs;
    MonoTime told; /* the taker's: when something came last */
    MonoTime look; /* and when it looks by itself */
} Mailbox;

/* RESULT_MEMORY: nothing is left to destroy. */
Result mailbox_init(Mailbox *mailbox, bool runs);
void mailbox_destroy(Mailbox *mailbox);

/* The thread is called for the message. False: the mailbox is closed, and the message still the
 * caller's. */
bool mailbox_post(Mailbox *mailbox, void *message);
/* The same; nobody misses the message before `by`, and nobody is called: mailbox_call does that
 * once for several, and has to follow. */
bool mailbox_post_by(Mailbox *mailbox, void *message, MonoTime by);
void mailbox_call(Mailbox *mailbox);
/* Waits for messages until deadline, takes up to MAILBOX_BATCH of them, and says how many. False:
 * it is closed and empty. */
bool mailbox_take(Mailbox *mailbox, void *messages[MAILBOX_BATCH], size_t *n, MonoTime deadline);
void mailbox_close(Mailbox *mailbox);

#endif
