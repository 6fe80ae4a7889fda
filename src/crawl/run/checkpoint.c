#include "crawl/run/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/clock.h"
#include "base/thread/log.h"
#include "store/archive/warc_files.h"

static char *checkpoint_join(const char *directory, const char *name)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    (void)buffer_printf(&path, "%s/%s", directory, name);
    return buffer_detach(&path);
}

static void *checkpoint_main(void *argument)
{
    Checkpoint *checkpoint = argument;
    char *target = checkpoint_join(checkpoint->draft, "crawl.mdb");
    thread_step("copying the database");
    checkpoint->code = target == NULL ? ENOMEM : mdb_env_copy2(checkpoint->env, target, 0);
    if (checkpoint->code == 0 && (warc_files_sync_directory(target) != RESULT_OK ||
                                  rename(checkpoint->draft, checkpoint->path) != 0)) {
        checkpoint->code = errno == 0 ? EIO : errno;
    }
    free(target);
    atomic_store(&checkpoint->is_done, true);
    checkpoint->ring(checkpoint->context);
    return NULL;
}

static void clear(Checkpoint *checkpoint)
{
    free(checkpoint->draft);
    free(checkpoint->path);
    checkpoint->draft = NULL;
    checkpoint->path = NULL;
    checkpoint->runs = false;
}

/* DIR/checkpoint-TIME.new/crawl.mdb */
static Result make_folders(Checkpoint *checkpoint, const char *directory)
{
    char name[64];
    char time[CLOCK_TEXT_BYTES];
    (void)snprintf(name, sizeof name, "checkpoint-%s", wall_format_compact(wall_now(), time));
    checkpoint->path = checkpoint_join(directory, name);
    (void)snprintf(name, sizeof name, "checkpoint-%s.new", time);
    checkpoint->draft = checkpoint_join(directory, name);
    char *inner =
        checkpoint->draft == NULL ? NULL : checkpoint_join(checkpoint->draft, "crawl.mdb");
    Result rc = checkpoint->path == NULL || inner == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK && (mkdir(checkpoint->draft, 0755) != 0 || mkdir(inner, 0755) != 0)) {
        rc = result_of_errno(errno);
    }
    free(inner);
    return rc;
}

static Result checkpoint_fail(Checkpoint *checkpoint, const char *directory, Result rc,
                              Buffer *answer)
{
    (void)buffer_printf(answer, "%s cannot be made: %s",
                        checkpoint->path == NULL ? directory : checkpoint->path, result_name(rc));
    clear(checkpoint);
    return rc;
}

Result checkpoint_prepare(Checkpoint *checkpoint, const char *directory, Buffer *answer)
{
    if (checkpoint->runs) {
        (void)buffer_append_string(answer, "a checkpoint is being made already");
        return RESULT_EXISTS;
    }
    Result rc = make_folders(checkpoint, directory);
    return rc == RESULT_OK ? rc : checkpoint_fail(checkpoint, directory, rc, answer);
}

Result checkpoint_begin(Checkpoint *checkpoint, MDB_env *env, void (*ring)(void *context),
                        void *context, Buffer *answer)
{
    checkpoint->env = env;
    checkpoint->ring = ring;
    checkpoint->context = context;
    checkpoint->code = 0;
    atomic_store(&checkpoint->is_done, false);
    checkpoint->thread = (Thread){.started = false};
    Result rc = thread_start(&checkpoint->thread, "checkpoint", checkpoint_main, checkpoint);
    checkpoint->runs = rc == RESULT_OK;
    return rc == RESULT_OK ? rc : checkpoint_fail(checkpoint, "", rc, answer);
}

bool checkpoint_end(Checkpoint *checkpoint, Result *rc, Buffer *answer)
{
    if (!checkpoint->runs || !atomic_load(&checkpoint->is_done)) {
        return false;
    }
    thread_join(&checkpoint->thread);
    *rc = checkpoint->code == 0 ? RESULT_OK : RESULT_IO;
    if (checkpoint->code == 0) {
        (void)buffer_printf(answer, "%s", checkpoint->path);
        LOG_INFO("agent", "checkpoint made", "path=%s", checkpoint->path);
    } else {
        (void)buffer_printf(answer, "%s was not finished: %s", checkpoint->draft,
                            mdb_strerror(checkpoint->code));
        LOG_WARN("agent", "checkpoint failed", "path=%s error=\"%s\"", checkpoint->draft,
                 mdb_strerror(checkpoint->code));
    }
    clear(checkpoint);
    return true;
}

void checkpoint_stop(Checkpoint *checkpoint)
{
    Result rc = RESULT_OK;
    Buffer ignored;
    if (checkpoint->runs) {
        buffer_init(&ignored, BUFFER_NO_LIMIT);
        thread_join(&checkpoint->thread);
        atomic_store(&checkpoint->is_done, true);
        (void)checkpoint_end(checkpoint, &rc, &ignored);
        buffer_destroy(&ignored);
    }
}
