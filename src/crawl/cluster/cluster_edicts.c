#include "crawl/cluster/cluster_edicts.h"

#include <stdlib.h>
#include <string.h>

#define FILE_BYTES (2 * EDICTS_BYTES) /* a file that is longer is none of ours */

void cluster_edicts_init(ClusterEdicts *edicts)
{
    *edicts = (ClusterEdicts){.has_news = false};
    mutex_init(&edicts->mutex, RANK_TABLE);
    tray_init(&edicts->told, sizeof(ClusterTold));
}

void cluster_edicts_destroy(ClusterEdicts *edicts)
{
    ClusterTold told;
    for (size_t i = 0; tray_get(&edicts->told, i, &told); i++) {
        free(told.text);
    }
    tray_destroy(&edicts->told);
    edicts_destroy(&edicts->news);
    edicts_destroy(&edicts->kept);
    mutex_destroy(&edicts->mutex);
}

/* ---- the file ---- */

void cluster_edicts_load(ClusterEdicts *edicts, const char *directory)
{
    Path path;
    Buffer bytes = {.limit = FILE_BYTES};
    Result rc = file_read(file_path(&path, "%s/" EDICTS_FILE, directory), &bytes);
    if (rc == RESULT_OK) {
        WireReader reader = wire_reader(bytes.data, bytes.length);
        edicts->kept_applied = wire_get_number(&reader, 8);
        rc = reader.bad ? RESULT_DAMAGED
                        : edicts_read(&edicts->kept, reader.next, wire_left(&reader));
    }
    if (rc != RESULT_OK) {
        edicts->kept_applied = 0;
    }
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        LOG_WARN("cluster", "edicts of operators cannot be read; the server's are taken",
                 "path=%s error=\"%s\"", path.text, result_name(rc));
    }
    buffer_destroy(&bytes);
}

/* ---- the cluster thread's ---- */

static void cluster_edicts_apply(void *context, const Edicts *edicts)
{
    ClusterPart *part = context;
    mutex_lock(&part->edicts.mutex);
    part->edicts.has_news |= edicts_copy(&part->edicts.news, edicts) == RESULT_OK;
    mutex_unlock(&part->edicts.mutex);
    part->sinks.news(part->sinks.context);
}

static void cluster_edicts_hear(void *context, uint64_t ticket, Result rc, uint64_t by_all,
                                const char *text)
{
    ClusterPart *part = context;
    ClusterTold told = {ticket, rc, by_all, strdup(text)};
    if (tray_put(&part->edicts.told, &told, NULL) != RESULT_OK) {
        free(told.text);
    }
    part->sinks.news(part->sinks.context);
}

EdictSinks cluster_edicts_sinks(ClusterPart *part)
{
    return (EdictSinks){
        .context = part, .apply = cluster_edicts_apply, .told = cluster_edicts_hear};
}

/* ---- the main thread's ---- */

bool cluster_edicts_take(ClusterPart *part, Edicts *edicts)
{
    mutex_lock(&part->edicts.mutex);
    bool has_news = part->edicts.has_news;
    if (has_news) {
        edicts_destroy(edicts);
        *edicts = part->edicts.news;
        part->edicts.news = (Edicts){.n = 0};
    }
    part->edicts.has_news = false;
    mutex_unlock(&part->edicts.mutex);
    return has_news;
}

void cluster_edicts_applied(ClusterPart *part, const Edicts *edicts, uint64_t number,
                            const char *text)
{
    Path path;
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    WireWriter writer = wire_writer(&bytes);
    wire_put_number(&writer, number, 8);
    Result rc = writer.rc == RESULT_OK ? edicts_write(edicts, &bytes) : writer.rc;
    if (rc == RESULT_OK) {
        rc = file_replace(file_path(&path, "%s/" EDICTS_FILE, part->store->directory), bytes.data,
                          bytes.length);
    }
    buffer_destroy(&bytes);
    NodeNote note = {.kind = NODE_APPLIED, .ticket = number, .text = strdup(text)};
    if (rc != RESULT_OK || note.text == NULL) {
        LOG_ERROR("cluster", "an order cannot be kept; this agent waits until it can",
                  "directory=%s error=\"%s\"", part->store->directory, result_name(rc));
        free(note.text);
        return;
    }
    cluster_mail_note(&part->mail, &note);
}

void cluster_edicts_order(ClusterPart *part, const Edict *edict, uint64_t ticket)
{
    Edicts *one = calloc(1, sizeof *one);
    NodeNote note = {.kind = NODE_ORDER, .ticket = ticket, .edicts = one};
    Result rc = one == NULL ? RESULT_MEMORY : edicts_add(one, edict);
    if (rc == RESULT_OK && atomic_load(&part->state) != NODE_MEMBER) {
        rc = RESULT_CLOSED;
    }
    if (rc == RESULT_OK) {
        cluster_mail_note(&part->mail, &note);
        return;
    }
    node_note_release(&note);
    cluster_edicts_hear(part, ticket, rc, 0,
                        rc == RESULT_CLOSED ? "this agent is no member of its cluster now"
                                            : result_name(rc));
}

bool cluster_edicts_told(ClusterPart *part, ClusterTold *told)
{
    bool any = tray_get(&part->edicts.told, 0, told);
    tray_drop(&part->edicts.told, any ? 1 : 0);
    return any;
}
