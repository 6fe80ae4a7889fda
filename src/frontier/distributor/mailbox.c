#include "frontier/distributor/mailbox.h"

#include "base/thread/log.h"

/* More than visit states can exist, so that the two threads never wait for each other. */
#define MAILBOX_CAPACITY ((size_t)1 << 21)

Result mailbox_init(Mailbox *mailbox, bool runs)
{
    *mailbox = (Mailbox){.runs = runs, .look = MONO_NEVER};
    return queue_init(&mailbox->queue, MAILBOX_CAPACITY);
}

void mailbox_destroy(Mailbox *mailbox)
{
    queue_destroy(&mailbox->queue);
}

static bool is_taken(Result rc)
{
    if (rc != RESULT_OK) {
        LOG_DEBUG("frontier", "message after the end", "result=%d", (int)rc);
    }
    return rc == RESULT_OK;
}

bool mailbox_post(Mailbox *mailbox, void *message)
{
    return is_taken(queue_push(&mailbox->queue, message));
}

bool mailbox_post_by(Mailbox *mailbox, void *message, MonoTime by)
{
    return is_taken(queue_add_by(&mailbox->queue, message, by));
}

void mailbox_call(Mailbox *mailbox)
{
    queue_call(&mailbox->queue);
}

bool mailbox_take(Mailbox *mailbox, void *messages[MAILBOX_BATCH], size_t *n, MonoTime deadline)
{
    Result rc = queue_pop(&mailbox->queue, messages, MAILBOX_BATCH, n,
                          mono_earlier(deadline, mailbox->look));
    mailbox->look = MONO_NEVER;
    if (mailbox->runs && *n > 0) {
        MonoTime now = mono_now();
        MonoTime next = mono_add_ms(now, MAILBOX_RUN_MS);
        mailbox->look = mono_ms_between(mailbox->told, now) < MAILBOX_RUN_MS ? next : MONO_NEVER;
        mailbox->told = now;
    }
    return rc != RESULT_CLOSED;
}

void mailbox_close(Mailbox *mailbox)
{
    queue_close(&mailbox->queue);
}
