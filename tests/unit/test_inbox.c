#include <stdlib.h>
#include <string.h>

#include "cluster/link/inbox.h"
#include "unit.h"

typedef struct Heard {
    unsigned arrived;
    char settled[5]; /* whom each is answered to */
    unsigned n_settled;
} Heard;

static void on_arrived(void *context)
{
    ((Heard *)context)->arrived++;
}

static void on_settled(void *context, InboxItem *item)
{
    Heard *heard = context;
    heard->settled[heard->n_settled++] = *item->reply_to;
}

static void push(Inbox *inbox, const char *reply_to, uint64_t sequence)
{
    Envelope envelope = {.from = 3, .blocks = 1, .session = 9, .sequence = sequence};
    inbox_push(inbox, inbox_item_new(strdup(reply_to), &envelope, calloc(1, 10), 10));
}

static void what_comes_again_takes_its_place(void)
{
    Heard heard = {.arrived = 0};
    InboxSinks sinks = {.context = &heard, .arrived = on_arrived, .settled = on_settled};
    Inbox inbox;
    size_t bytes = 0;
    inbox_init(&inbox, NULL, &sinks);
    push(&inbox, "1", 100);
    push(&inbox, "2", 200);
    push(&inbox, "3", 100); /* the first one, sent again */
    CU_ASSERT_EQUAL(heard.arrived, 2);
    CU_ASSERT_TRUE(inbox_count(&inbox, &bytes) == 2 && bytes == 20);
    while (inbox_take(&inbox) != NULL) {
    }
    inbox_settle(&inbox, true);
    CU_ASSERT_STRING_EQUAL(heard.settled, "32");
    CU_ASSERT_TRUE(inbox_is_empty(&inbox));
    inbox_destroy(&inbox);
}

static void what_was_not_committed_waits_again_in_its_order(void)
{
    Heard heard = {.arrived = 0};
    InboxSinks sinks = {.context = &heard, .arrived = on_arrived, .settled = on_settled};
    Inbox inbox;
    inbox_init(&inbox, NULL, &sinks);
    push(&inbox, "1", 100);
    push(&inbox, "2", 200);
    while (inbox_take(&inbox) != NULL) {
    }
    push(&inbox, "3", 300);
    inbox_settle(&inbox, false);
    CU_ASSERT_EQUAL(heard.n_settled, 0);
    const InboxItem *first = inbox_take(&inbox);
    CU_ASSERT_TRUE(first != NULL && *first->reply_to == '1');
    inbox_destroy(&inbox);
}

UNIT_MAIN("inbox", {"what comes again takes its place", what_comes_again_takes_its_place},
          {"what was not committed waits again, in its order",
           what_was_not_committed_waits_again_in_its_order})
