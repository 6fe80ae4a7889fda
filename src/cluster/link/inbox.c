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

static void delete_all(InboxItem *item)
{
    while (item != NULL) {
        InboxItem *next = item->next;
        inbox_item_delete(item);
        item = next;
    }
}

void inbox_destroy(Inbox *inbox)
{
    delete_all(inbox->waiting.first);
    delete_all(inbox->taken.first);
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
    for (InboxItem *other = inbox->waiting.first; other != NULL; other = other->next) {
        if (inbox_is_same(&other->envelope, &item->envelope)) {
            return other;
        }
    }
    return NULL;
}

static void inbox_append(InboxQueue *queue, InboxItem *item)
{
    item->next = NULL;
    if (queue->last == NULL) {
        queue->first = item;
    } else {
        queue->last->next = item;
    }
    queue->last = item;
}

void inbox_push(Inbox *inbox, InboxItem *item)
{
    byte_gate_move(&item->share, inbox->gate, item->length);
    byte_gate_hand_on(&item->share);
    mutex_lock(&inbox->mutex);
    InboxItem *same = find_same(inbox, item);
    bool is_new = same == NULL && inbox->n < INBOX_MOST;
    if (is_new) {
        inbox_append(&inbox->waiting, item);
        inbox->n++;
        inbox->bytes += item->length;
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
    if (inbox->taken.first != NULL && inbox->gate != NULL && !byte_gate_is_open(inbox->gate)) {
        return NULL;
    }
    mutex_lock(&inbox->mutex);
    InboxQueue *waiting = &inbox->waiting;
    InboxItem *item = waiting->first;
    if (item != NULL) {
        waiting->first = item->next;
        waiting->last = waiting->first == NULL ? NULL : waiting->last;
    }
    mutex_unlock(&inbox->mutex);
    if (item != NULL) {
        inbox_append(&inbox->taken, item);
    }
    return item;
}

void inbox_settle(Inbox *inbox, bool committed)
{
    InboxQueue taken = inbox->taken;
    InboxItem *items = taken.first;
    inbox->taken = (InboxQueue){.first = NULL};
    if (items == NULL) {
        return;
    }
    if (!committed) { /* in front of those that have come meanwhile */
        mutex_lock(&inbox->mutex);
        taken.last->next = inbox->waiting.first;
        inbox->waiting.first = items;
        inbox->waiting.last = inbox->waiting.last == NULL ? taken.last : inbox->waiting.last;
        mutex_unlock(&inbox->mutex);
        return;
    }
    while (items != NULL) {
        InboxItem *next = items->next;
        mutex_lock(&inbox->mutex);
        inbox->n--;
        inbox->bytes -= items->length;
        mutex_unlock(&inbox->mutex);
        inbox->sinks.settled(inbox->sinks.context, items);
        inbox_item_delete(items);
        items = next;
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
