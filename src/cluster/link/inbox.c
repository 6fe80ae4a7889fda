#include "cluster/link/inbox.h"

#include <stdlib.h>

InboxItem *inbox_item_new(char *reply_to, const Envelope *envelope, char *blocks, size_t length)
{
    InboxItem *item = reply_to == NULL || blocks == NULL ? NULL : calloc(1, sizeof *item);
    if (item == NULL) {
        free(reply_to);
        free(blocks);
        return NULL;
    }
    *item = (InboxItem){
        .reply_to = reply_to, .envelope = *envelope, .blocks = blocks, .length = length};
    return item;
}

void inbox_item_delete(InboxItem *item)
{
    if (item != NULL) {
        byte_gate_move(&item->share, NULL, 0);
        free(item->reply_to);
        free(item->blocks);
        free(item);
    }
}

void inbox_init(Inbox *inbox, ByteGate *gate, const InboxSinks *sinks)
{
    *inbox = (Inbox){.gate = gate, .sinks = *sinks};
    mutex_init(&inbox->mutex, RANK_TABLE);
}

void inbox_destroy(Inbox *inbox)
{
    while (inbox->first != NULL) {
        InboxItem *next = inbox->first->next;
        inbox_item_delete(inbox->first);
        inbox->first = next;
    }
    mutex_destroy(&inbox->mutex);
}

static bool inbox_is_same(const Envelope *a, const Envelope *b)
{
    return a->from == b->from && a->session == b->session && a->sequence == b->sequence &&
           a->blocks == b->blocks;
}

/* The item was sent again before the first one was answered: NULL, or that one. */
static InboxItem *find_same(Inbox *inbox, const InboxItem *item)
{
    for (InboxItem *other = inbox->waiting; other != NULL; other = other->next) {
        if (inbox_is_same(&other->envelope, &item->envelope)) {
            return other;
        }
    }
    return NULL;
}

static void inbox_append(Inbox *inbox, InboxItem *item)
{
    if (inbox->first == NULL) {
        inbox->first = item;
    } else {
        inbox->last->next = item;
    }
    inbox->last = item;
    inbox->waiting = inbox->waiting == NULL ? item : inbox->waiting;
    inbox->n++;
    inbox->bytes += item->length;
}

void inbox_push(Inbox *inbox, InboxItem *item)
{
    byte_gate_move(&item->share, inbox->gate, item->length);
    byte_gate_hand_on(&item->share);
    mutex_lock(&inbox->mutex);
    InboxItem *same = find_same(inbox, item);
    bool is_new = same == NULL && inbox->n < INBOX_MOST;
    if (is_new) {
        inbox_append(inbox, item);
    } else if (same != NULL) {
        char *former = same->reply_to;
        same->reply_to = item->reply_to;
        item->reply_to = former;
    }
    mutex_unlock(&inbox->mutex);
    if (!is_new) {
        inbox_item_delete(item);
    } else if (inbox->sinks.arrived != NULL) {
        inbox->sinks.arrived(inbox->sinks.context);
    }
}

/* While results fill the gate, blocks wait; what they count for must not keep it closed for ever,
 * so one is taken in any case. */
InboxItem *inbox_take(Inbox *inbox)
{
    if (inbox->n_taken > 0 && inbox->gate != NULL && !byte_gate_is_open(inbox->gate)) {
        return NULL;
    }
    mutex_lock(&inbox->mutex);
    InboxItem *item = inbox->waiting;
    inbox->waiting = item == NULL ? NULL : item->next;
    mutex_unlock(&inbox->mutex);
    inbox->n_taken += item != NULL;
    return item;
}

void inbox_settle(Inbox *inbox, bool committed)
{
    size_t n = inbox->n_taken;
    inbox->n_taken = 0;
    if (!committed) { /* in front of those that have come meanwhile */
        mutex_lock(&inbox->mutex);
        inbox->waiting = inbox->first;
        mutex_unlock(&inbox->mutex);
        return;
    }
    for (; n > 0; n--) {
        mutex_lock(&inbox->mutex);
        InboxItem *item = inbox->first;
        inbox->first = item->next;
        inbox->n--;
        inbox->bytes -= item->length;
        mutex_unlock(&inbox->mutex);
        inbox->sinks.settled(inbox->sinks.context, item);
        inbox_item_delete(item);
    }
}

bool inbox_is_empty(Inbox *inbox)
{
    return inbox_count(inbox, NULL) == 0;
}

size_t inbox_count(Inbox *inbox, size_t *bytes)
{
    mutex_lock(&inbox->mutex);
    size_t n = inbox->n;
    if (bytes != NULL) {
        *bytes = inbox->bytes;
    }
    mutex_unlock(&inbox->mutex);
    return n;
}
