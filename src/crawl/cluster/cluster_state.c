#include "crawl/cluster/cluster_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Cluster mail ---- */

void cluster_mail_init(ClusterMail *mail)
{
    *mail = (ClusterMail){.end = &mail->first};
    mutex_init(&mail->mutex, RANK_QUEUE);
    condition_init(&mail->changed);
}

void cluster_mail_delete(Mail *letter)
{
    transport_event_delete(letter->event);
    node_note_release(&letter->note);
    free(letter);
}

void cluster_mail_destroy(ClusterMail *mail)
{
    while (mail->first != NULL) {
        Mail *next = mail->first->next;
        cluster_mail_delete(mail->first);
        mail->first = next;
    }
    condition_destroy(&mail->changed);
    mutex_destroy(&mail->mutex);
}

void cluster_mail_post(ClusterMail *mail, const Mail *letter)
{
    Mail *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        atomic_store(&mail->lost, true);
        return;
    }
    *copy = *letter;
    copy->next = NULL;
    mutex_lock(&mail->mutex);
    bool dropped = mail->closed;
    if (!dropped) {
        *mail->end = copy;
        mail->end = &copy->next;
        if (!mail->gathers) {
            condition_signal(&mail->changed);
        }
    }
    mutex_unlock(&mail->mutex);
    if (dropped) {
        cluster_mail_delete(copy);
    }
}

void cluster_mail_note(ClusterMail *mail, const NodeNote *note)
{
    Mail letter = {.kind = MAIL_NOTE, .note = *note};
    cluster_mail_post(mail, &letter);
}

Mail *cluster_mail_take(ClusterMail *mail, MonoTime not_before, MonoTime deadline)
{
    mutex_lock(&mail->mutex);
    mail->gathers = true;
    while (condition_wait_until(&mail->changed, &mail->mutex, not_before)) {
    }
    mail->gathers = false;
    while (mail->first == NULL && condition_wait_until(&mail->changed, &mail->mutex, deadline)) {
    }
    Mail *all = mail->first;
    mail->first = NULL;
    mail->end = &mail->first;
    mutex_unlock(&mail->mutex);
    return all;
}

void cluster_mail_close(ClusterMail *mail)
{
    mutex_lock(&mail->mutex);
    mail->closed = true;
    mutex_unlock(&mail->mutex);
}

/* ---- Cluster state ---- */

void cluster_state_set(ClusterPart *part, NodeState state, const char *text)
{
    mutex_lock(&part->mutex);
    bool changed = (int)state != atomic_load(&part->state) || strcmp(text, part->text) != 0;
    atomic_store(&part->state, (int)state);
    (void)snprintf(part->text, sizeof part->text, "%s", text);
    mutex_unlock(&part->mutex);
    if (changed) {
        part->sinks.news(part->sinks.context);
    }
}

/* Nothing is left here, and what is elsewhere is known there (invariant 1). Ingest's word is read
 * last: it is set before what it speaks of changes. */
bool cluster_state_is_idle(ClusterPart *part)
{
    const ClusterBonds *bonds = &part->bonds;
    bool empty = inbox_is_empty(&part->inbox) && ingest_waiting(bonds->ingest) == 0 &&
                 ingest_cluster_outbox_blocks(&part->ingest) == 0;
    bool done = stats_get(&bonds->stats->urls_queued) == 0 && atomic_load(&part->settled);
    bool idle = done && atomic_load(&part->quiet);
    return empty && (idle || atomic_load(&part->tail)); /* what waits at a tail is never quiet */
}
