/* The mail of the cluster thread and its notes, and the state that it tells. */
#include <stdlib.h>
#include <string.h>

#include "cluster/message/node_note.h"
#include "crawl/cluster/cluster_state.h"
#include "unit.h"

static const MonoTime at_once = {0};

static void letters_come_in_the_order_in_which_they_were_posted(void)
{
    ClusterMail mail;
    cluster_mail_init(&mail);
    CU_ASSERT_PTR_NULL(cluster_mail_take(&mail, at_once, at_once));
    for (uint64_t i = 0; i < 5; i++) {
        NodeNote note = {.kind = NODE_GROWN, .ticket = i};
        cluster_mail_note(&mail, &note);
    }
    Mail *all = cluster_mail_take(&mail, at_once, at_once);
    CU_ASSERT_PTR_NULL(cluster_mail_take(&mail, at_once, at_once));
    uint64_t n = 0;
    while (all != NULL) {
        Mail *next = all->next;
        CU_ASSERT_TRUE(all->kind == MAIL_NOTE && all->note.ticket == n++);
        cluster_mail_delete(all);
        all = next;
    }
    CU_ASSERT_EQUAL(n, 5);
    cluster_mail_destroy(&mail);
}

/* A note that owns everything that one can own; sanitizers see whether it is let go. */
static NodeNote full_note(void)
{
    NodeNote note = {.kind = NODE_ORDER,
                     .text = strdup("text"),
                     .table = calloc(1, sizeof *note.table),
                     .edicts = calloc(1, sizeof *note.edicts)};
    CU_ASSERT_TRUE_FATAL(note.text != NULL && note.table != NULL && note.edicts != NULL);
    return note;
}

static void what_nobody_takes_is_let_go(void)
{
    ClusterMail mail;
    cluster_mail_init(&mail);
    NodeNote note = full_note();
    cluster_mail_note(&mail, &note); /* for cluster_mail_destroy */
    cluster_mail_close(&mail);
    note = full_note();
    cluster_mail_note(&mail, &note); /* dropped at once */
    Mail *one = cluster_mail_take(&mail, at_once, at_once);
    CU_ASSERT_PTR_NOT_NULL_FATAL(one);
    CU_ASSERT_PTR_NULL(one->next);
    CU_ASSERT_STRING_EQUAL(one->note.text, "text");
    cluster_mail_delete(one);
    CU_ASSERT_FALSE(atomic_load(&mail.lost));
    cluster_mail_destroy(&mail);
    node_note_release(&(NodeNote){.kind = NODE_WANT}); /* one that owns nothing */
}

static unsigned n_news;

static void count_news(void *context)
{
    (void)context;
    n_news++;
}

static void news_are_told_when_state_or_text_have_changed(void)
{
    ClusterPart *part = calloc(1, sizeof *part);
    CU_ASSERT_PTR_NOT_NULL_FATAL(part);
    mutex_init(&part->mutex, RANK_TABLE);
    part->sinks.news = count_news;
    n_news = 0;
    cluster_state_set(part, (NodeState)1, "joins");
    cluster_state_set(part, (NodeState)1, "joins");
    CU_ASSERT_EQUAL(n_news, 1);
    cluster_state_set(part, (NodeState)1, "waits");
    cluster_state_set(part, (NodeState)2, "waits");
    CU_ASSERT_EQUAL(n_news, 3);
    CU_ASSERT_EQUAL(atomic_load(&part->state), 2);
    char longest[1000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cluster_state_set(part, (NodeState)2, longest);
    CU_ASSERT_EQUAL(strlen(part->text), sizeof part->text - 1);
    mutex_destroy(&part->mutex);
    free(part);
}

UNIT_MAIN("cluster_state",
          {"letters come in the order in which they were posted",
           letters_come_in_the_order_in_which_they_were_posted},
          {"what nobody takes is let go", what_nobody_takes_is_let_go},
          {"news are told when state or text have changed",
           news_are_told_when_state_or_text_have_changed})
