#include "crawl/cluster/cluster_thread.h"

#define FIGURES_MS 500
#define GATHER_MS  10 /* a member looks at its mail so often at most */
#define ASLEEP_NS  INT64_C(50000000)

/* ---- mail ------------------------------------------------------------------------------------ */

static void cluster_thread_begin(ClusterPart *part, MonoTime now)
{
    if (node_begin(part->node, part->used, now) != RESULT_OK) {
        cluster_state_set(part, CLUSTER_OUT, "no memory for the node of the cluster");
        return;
    }
    cluster_state_set(part, CLUSTER_MEMBER, "");
}

/* One that is no member any more has nothing to do with the rest. */
static void handle(ClusterPart *part, Mail *letter, MonoTime now)
{
    bool member = node_state(part->node) == NODE_MEMBER;
    TransportEvent *event = letter->event;
    letter->event = NULL;
    if (letter->kind == MAIL_EVENT) {
        node_take(part->node, event, now);
    } else if (letter->kind == MAIL_BEGIN && node_state(part->node) == NODE_JOINED) {
        cluster_thread_begin(part, now);
    } else if (letter->kind == MAIL_LEAVE) {
        node_leave(part->node, now);
    } else if (member && letter->kind == MAIL_WANT) {
        node_want(part->node, &letter->address, letter->ticket, now);
    } else if (member && letter->kind == MAIL_RELEASE) {
        node_release(part->node, &letter->address, letter->time, now);
    } else if (member && letter->kind == MAIL_GROWN) {
        node_grown(part->node, letter->agent, letter->bytes, now);
    } else if (member && letter->kind == MAIL_SETTLED) {
        node_settled(part->node, letter->ticket, letter->fault, letter->agent, now);
    } else if (member && letter->kind == MAIL_FORGET) {
        node_forget(part->node, letter->ticket);
    } else if (member && letter->kind == MAIL_MOVED) {
        node_moved(part->node, letter->agent);
    } else if (member && letter->kind == MAIL_ASK) {
        node_ask(part->node, (uint32_t)letter->ticket, letter->url, now);
    } else if (member && letter->kind == MAIL_FETCHED) {
        ErrandAnswer *answer = letter->answer;
        letter->answer = NULL;
        node_fetched(part->node, letter->ticket, answer, now);
    } else if (member && letter->kind == MAIL_TABLE) {
        node_table_committed(part->node, letter->table, now);
    }
    cluster_mail_delete(letter);
}

/* ---- thread ---------------------------------------------------------------------------------- */

static void publish_state(ClusterPart *part)
{
    NodeState state = node_state(part->node);
    if (state == NODE_JOINING) {
        cluster_state_set(part, CLUSTER_JOINING, node_text(part->node));
    } else if (state == NODE_JOINED) {
        cluster_state_set(part, CLUSTER_JOINED, "");
    } else if (state == NODE_LEFT) {
        cluster_state_set(part, CLUSTER_LEFT, "");
    }
}

static void publish_figures(ClusterPart *part, MonoTime now)
{
    if (mono_before(now, part->next_figures) || node_state(part->node) == NODE_JOINING) {
        return;
    }
    ClusterFigures figures = {.agent = node_identity(part->node)->self};
    node_stats(part->node, &figures.node);
    part->next_figures = mono_add_ms(now, FIGURES_MS);
    mutex_lock(&part->mutex);
    part->figures = figures;
    mutex_unlock(&part->mutex);
}

/* Time that the clock did not count makes leases void. */
static void look_at_sleep(ClusterPart *part, MonoTime now)
{
    int64_t asleep_ns = clock_asleep_ns();
    if (asleep_ns - part->asleep_ns > ASLEEP_NS) {
        node_slept(part->node, now);
    }
    part->asleep_ns = asleep_ns;
}

static bool cluster_thread_is_over(ClusterPart *part)
{
    NodeState state = node_state(part->node);
    return state == NODE_LEFT || (state == NODE_OUT && atomic_load(&part->leaving));
}

void *cluster_thread_run(void *argument)
{
    ClusterPart *part = argument;
    MonoTime not_before = {0};
    part->asleep_ns = clock_asleep_ns();
    while (!cluster_thread_is_over(part)) {
        thread_step("waiting");
        MonoTime next = node_next(part->node);
        MonoTime figures = mono_add_ms(mono_now(), FIGURES_MS);
        Mail *letter =
            cluster_mail_take(&part->mail, not_before, mono_before(next, figures) ? next : figures);
        MonoTime now = mono_now();
        thread_step("working");
        look_at_sleep(part, now);
        while (letter != NULL) {
            Mail *following = letter->next;
            handle(part, letter, now);
            letter = following;
        }
        node_work(part->node, now);
        not_before = mono_add_ms(now, node_state(part->node) == NODE_MEMBER ? GATHER_MS : 0);
        publish_state(part);
        publish_figures(part, now);
        if (atomic_load(&part->mail.lost) && cluster_state_get(part) != CLUSTER_OUT) {
            cluster_state_set(part, CLUSTER_OUT, "no memory for what the cluster has to say");
        }
    }
    cluster_mail_close(&part->mail);
    publish_state(part);
    return NULL;
}
