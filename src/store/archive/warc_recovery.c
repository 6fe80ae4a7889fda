#include "store/archive/warc_recovery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"

#define COMPONENT "warc"

typedef struct Recovery {
    const char *directory;
    bool known; /* the database said what is committed, if only that nothing is */
    WarcEnd committed;
    size_t memory_bytes;
    Buffer path;
    Buffer other;
} Recovery;

/* Checks a file up to end and rebuilds its journal. */
static Result rebuild_journal(Recovery *recovery, const WarcFile *file, uint64_t end)
{
    Result rc = warc_path(&recovery->path, recovery->directory, file->name, true);
    if (rc == RESULT_OK) {
        rc = warc_index_path(&recovery->other, recovery->directory, file->name, true);
    }
    return rc == RESULT_OK
               ? warc_files_index(recovery->path.data, file->name, end, recovery->other.data)
               : rc;
}

/* A file that holds the committed end: what is behind it goes. */
static Result warc_recovery_cut(Recovery *recovery, const WarcFile *file, uint64_t end)
{
    Result rc = rebuild_journal(recovery, file, end);
    if (rc == RESULT_OK && file->size > end) {
        LOG_INFO(COMPONENT, "tail behind the last commit cut off", "file=%s bytes=%llu", file->name,
                 (unsigned long long)(file->size - end));
        int fd = open(recovery->path.data, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)end) != 0 || fsync(fd) != 0) {
            rc = warc_files_failed("truncate", recovery->path.data);
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    return rc;
}

static void remove_journal(Recovery *recovery, const char *name)
{
    if (warc_index_path(&recovery->other, recovery->directory, name, true) == RESULT_OK) {
        (void)unlink(recovery->other.data);
    }
}

/* A file that the database knows nothing of. */
static Result discard(Recovery *recovery, const WarcFile *file)
{
    bool ours = recovery->known && file->readable && file->serial > 0;
    Result rc = warc_path(&recovery->path, recovery->directory, file->name, true);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (ours || file->size == 0) {
        LOG_INFO(COMPONENT, "uncommitted file removed", "file=%s bytes=%llu", file->name,
                 (unsigned long long)file->size);
        rc = unlink(recovery->path.data) == 0 ? RESULT_OK
                                              : warc_files_failed("remove", recovery->path.data);
    } else {
        LOG_WARN(COMPONENT, "uncommitted file set aside", "file=%s bytes=%llu", file->name,
                 (unsigned long long)file->size);
        rc = warc_path(&recovery->other, recovery->directory, file->name, false);
        rc = rc == RESULT_OK ? buffer_append_string(&recovery->other, ".uncommitted") : rc;
        if (rc == RESULT_OK && rename(recovery->path.data, recovery->other.data) != 0) {
            rc = warc_files_failed("rename", recovery->path.data);
        }
    }
    remove_journal(recovery, file->name);
    return rc;
}

static Result recover_file(Recovery *recovery, const WarcFile *file, WarcCurrent *current)
{
    uint64_t end = warc_end_of(&recovery->committed, file->serial);
    if (!file->open) {
        remove_journal(recovery, file->name); /* left by a crash at the end of finishing */
        return RESULT_OK;
    }
    if (!file->readable || file->serial == 0 || end == 0) {
        return discard(recovery, file);
    }
    if (end == UINT64_MAX) {
        Result rc = rebuild_journal(recovery, file, file->size);
        return rc == RESULT_OK
                   ? warc_files_finish(recovery->directory, file->name, recovery->memory_bytes)
                   : rc;
    }
    Result rc = warc_recovery_cut(recovery, file, end);
    if (rc == RESULT_OK && current->n == WARC_FILES_MAX) {
        rc = RESULT_DAMAGED; /* several files with one number */
    }
    if (rc == RESULT_OK) {
        WarcFile *copy = &current->files[current->n];
        *copy = *file;
        copy->size = end;
        copy->name = strdup(file->name);
        rc = copy->name == NULL ? RESULT_MEMORY : RESULT_OK;
        current->n += copy->name != NULL;
    }
    return rc;
}

/* "x.cdxj.new", "x.cdxj.run3": what a crash left of sorting an index. */
static bool is_left_over(const char *name)
{
    const char *index = strstr(name, ".cdxj.");
    const char *rest = index == NULL ? "" : index + strlen(".cdxj.");
    return strcmp(rest, "new") == 0 || (strncmp(rest, "run", 3) == 0 && rest[3] != '\0' &&
                                        strspn(rest + 3, "0123456789") == strlen(rest + 3));
}

static Result remove_left_overs(const char *directory)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return result_of_errno(errno);
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(dir)) != NULL) {
        if (is_left_over(entry->d_name)) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0); /* in nobody's way if it stays */
        }
    }
    (void)closedir(dir);
    return RESULT_OK;
}

/* Is a file of the committed end long enough? Asked before anything is changed. A file that is not
 * there at all was moved away after it was finished: a crash does not take a name that was synced.
 */
static Result find_committed(const Recovery *recovery, const WarcFileList *list, uint32_t serial,
                             uint64_t offset)
{
    bool found = false;
    for (size_t i = 0; i < list->n; i++) {
        const WarcFile *file = &list->files[i];
        if (file->serial != serial) {
            continue;
        }
        found = true;
        if (file->size < offset) {
            LOG_ERROR(COMPONENT, "file is too short", "file=%s size=%llu committed=%llu",
                      file->name, (unsigned long long)file->size, (unsigned long long)offset);
            return RESULT_DAMAGED;
        }
    }
    if (!found) {
        LOG_WARN(COMPONENT, "file of the last commit was moved away", "directory=%s number=%u",
                 recovery->directory, (unsigned)serial);
    }
    return RESULT_OK;
}

void warc_current_free(WarcCurrent *current)
{
    for (unsigned i = 0; i < current->n; i++) {
        free(current->files[i].name);
    }
    current->n = 0;
}

Result warc_files_recover(const char *directory, const WarcEnd *committed, size_t memory_bytes,
                          WarcCurrent *current)
{
    WarcFileList list;
    *current = (WarcCurrent){.last_serial = committed == NULL ? 0 : warc_end_last(committed)};
    Result rc = warc_files_list(directory, &list);
    if (rc != RESULT_OK) {
        return rc;
    }
    Recovery recovery = {
        .directory = directory, .known = committed != NULL, .memory_bytes = memory_bytes};
    if (committed != NULL) {
        recovery.committed = *committed;
    }
    buffer_init(&recovery.path, BUFFER_NO_LIMIT);
    buffer_init(&recovery.other, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < recovery.committed.n && rc == RESULT_OK; i++) {
        rc = find_committed(&recovery, &list, recovery.committed.at[i].file,
                            recovery.committed.at[i].offset);
    }
    rc = rc == RESULT_OK ? remove_left_overs(directory) : rc;
    for (size_t i = 0; i < list.n && rc == RESULT_OK; i++) {
        uint32_t serial = list.files[i].serial;
        current->last_serial = serial > current->last_serial ? serial : current->last_serial;
        rc = recover_file(&recovery, &list.files[i], current);
    }
    if (rc == RESULT_OK) {
        rc = warc_files_sync_directory(directory);
    }
    if (rc != RESULT_OK) {
        warc_current_free(current);
    }
    buffer_destroy(&recovery.path);
    buffer_destroy(&recovery.other);
    warc_files_free(&list);
    return rc;
}
