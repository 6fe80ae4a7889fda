#include "crawl/cluster/cluster_edicts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "cluster/wire/wire.h"
#include "store/archive/warc_files.h"

#define FILE_BYTES (2 * EDICTS_BYTES) /* a file that is longer is none of ours */

void cluster_edicts_init(ClusterEdicts *edicts)
{
    *edicts = (ClusterEdicts){.has_news = false};
    mutex_init(&edicts->mutex, RANK_TABLE);
}

void cluster_edicts_destroy(ClusterEdicts *edicts)
{
    for (size_t i = 0; i < edicts->n_told; i++) {
        free(edicts->told[i].text);
    }
    free(edicts->told);
    edicts_destroy(&edicts->news);
    edicts_destroy(&edicts->kept);
    mutex_destroy(&edicts->mutex);
}

/* ---- the file ---- */

static Result cluster_edicts_path(const char *directory, const char *end, Buffer *path)
{
    buffer_init(path, BUFFER_NO_LIMIT);
    return buffer_printf(path, "%s/" EDICTS_FILE "%s", directory, end);
}

void cluster_edicts_load(ClusterEdicts *edicts, const char *directory)
{
    Buffer path;
    char *bytes = malloc(FILE_BYTES);
    Result rc = cluster_edicts_path(directory, "", &path);
    FILE *file = rc == RESULT_OK && bytes != NULL ? fopen(buffer_string(&path), "rbe") : NULL;
    if (file != NULL) {
        size_t length = fread(bytes, 1, FILE_BYTES, file);
        WireReader reader = wire_reader(bytes, length);
        uint64_t applied = wire_get_64(&reader);
        rc = reader.bad ? RESULT_DAMAGED
                        : edicts_read(&edicts->kept, reader.next, wire_left(&reader));
        edicts->kept_applied = rc == RESULT_OK ? applied : 0;
        if (rc != RESULT_OK) {
            LOG_WARN("cluster", "edicts of operators cannot be read; the server's are taken",
                     "path=%s error=\"%s\"", buffer_string(&path), result_name(rc));
        }
        (void)fclose(file);
    }
    buffer_destroy(&path);
    free(bytes);
}

static Result cluster_edicts_write(const char *draft, const char *path, const Buffer *bytes)
{
    FILE *file = fopen(draft, "wbe");
    if (file == NULL) {
        return result_of_errno(errno);
    }
    bool failed = fwrite(bytes->data, 1, bytes->length, file) != bytes->length ||
                  fflush(file) != 0 || fsync(fileno(file)) != 0;
    failed |= fclose(file) != 0;
    if (failed) {
        return RESULT_FULL;
    }
    return rename(draft, path) == 0 ? RESULT_OK : result_of_errno(errno);
}

static Result cluster_edicts_keep(const char *directory, const Edicts *edicts, uint64_t applied)
{
    Buffer path;
    Buffer draft;
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    WireWriter writer = wire_writer(&bytes);
    wire_put_64(&writer, applied);
    Result rc = cluster_edicts_path(directory, "", &path);
    Result rc_draft = cluster_edicts_path(directory, ".new", &draft);
    rc = rc == RESULT_OK ? rc_draft : rc;
    if (rc == RESULT_OK) {
        rc = edicts_write(edicts, &bytes);
    }
    if (rc == RESULT_OK) {
        rc = cluster_edicts_write(buffer_string(&draft), buffer_string(&path), &bytes);
    }
    if (rc == RESULT_OK) {
        rc = warc_files_sync_directory(directory);
    }
    buffer_destroy(&path);
    buffer_destroy(&draft);
    buffer_destroy(&bytes);
    return rc;
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

static void cluster_edicts_hear(void *context, uint64_t ticket, Result rc, const char *text)
{
    ClusterPart *part = context;
    ClusterEdicts *edicts = &part->edicts;
    mutex_lock(&edicts->mutex);
    ClusterTold *more = reallocarray(edicts->told, edicts->n_told + 1, sizeof *more);
    if (more != NULL) {
        edicts->told = more;
        more[edicts->n_told++] = (ClusterTold){ticket, rc, strdup(text)};
    }
    mutex_unlock(&edicts->mutex);
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
        edicts_init(&part->edicts.news);
    }
    part->edicts.has_news = false;
    mutex_unlock(&part->edicts.mutex);
    return has_news;
}

uint64_t cluster_edicts_before(ClusterPart *part)
{
    return part->edicts.kept_applied;
}

void cluster_edicts_applied(ClusterPart *part, const Edicts *edicts, uint64_t number,
                            const char *text)
{
    Result rc = cluster_edicts_keep(part->store->directory, edicts, number);
    Mail letter = {.kind = MAIL_APPLIED, .ticket = number, .url = strdup(text)};
    if (rc != RESULT_OK || letter.url == NULL) {
        LOG_ERROR("cluster", "an order cannot be kept; this agent waits until it can",
                  "directory=%s error=\"%s\"", part->store->directory, result_name(rc));
        free(letter.url);
        return;
    }
    cluster_mail_post(&part->mail, &letter);
}

void cluster_edicts_order(ClusterPart *part, const Edict *edict, uint64_t ticket)
{
    Edicts *one = calloc(1, sizeof *one);
    Mail letter = {.kind = MAIL_ORDER, .ticket = ticket, .edicts = one};
    Result rc = one == NULL ? RESULT_MEMORY : edicts_add(one, edict);
    if (rc == RESULT_OK && cluster_state_get(part) != CLUSTER_MEMBER) {
        rc = RESULT_CLOSED;
    }
    if (rc == RESULT_OK) {
        cluster_mail_post(&part->mail, &letter);
        return;
    }
    if (one != NULL) {
        edicts_destroy(one);
    }
    free(one);
    cluster_edicts_hear(part, ticket, rc,
                        rc == RESULT_CLOSED ? "this agent is no member of its cluster now"
                                            : result_name(rc));
}

bool cluster_edicts_told(ClusterPart *part, ClusterTold *told)
{
    ClusterEdicts *edicts = &part->edicts;
    mutex_lock(&edicts->mutex);
    bool any = edicts->n_told > 0;
    if (any) {
        *told = edicts->told[0];
        memmove(edicts->told, edicts->told + 1, --edicts->n_told * sizeof *edicts->told);
    }
    mutex_unlock(&edicts->mutex);
    return any;
}
