#include "command/plan/plan_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES 512.0

/* What is done with each entry but folders, and with a folder behind its entries. */
typedef struct Walk {
    double bytes;
    bool removes;
} Walk;

static void plan_folder_walk(Walk *w, int parent, const char *name, unsigned depth);

static void walk_entries(Walk *w, int folder, unsigned depth)
{
    DIR *entries = fdopendir(folder);
    if (entries == NULL) {
        (void)close(folder);
        return;
    }
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            plan_folder_walk(w, dirfd(entries), e->d_name, depth + 1);
        }
    }
    (void)closedir(entries);
}

static void plan_folder_walk(Walk *w, int parent, const char *name, unsigned depth)
{
    struct stat info;
    if (depth > PLAN_FOLDER_DEPTH || fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    bool is_folder = S_ISDIR(info.st_mode);
    w->bytes += (double)info.st_blocks * BLOCK_BYTES;
    if (is_folder) {
        int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0) {
            walk_entries(w, folder, depth);
        }
    }
    if (w->removes) {
        (void)unlinkat(parent, name, is_folder ? AT_REMOVEDIR : 0);
    }
}

double plan_folder_bytes(const char *path)
{
    Walk w = {.bytes = 0};
    plan_folder_walk(&w, AT_FDCWD, path, 0);
    return w.bytes;
}

Result plan_folder_make(Buffer *path)
{
    const char *parent = getenv("TMPDIR");
    Result rc = buffer_printf(path, "%s/ragno-plan-XXXXXX",
                              parent == NULL || *parent == '\0' ? "/tmp" : parent);
    if (rc == RESULT_OK && mkdtemp(path->data) == NULL) {
        rc = RESULT_IO;
    }
    return rc;
}

void plan_folder_remove(const char *path)
{
    Walk w = {.removes = true};
    plan_folder_walk(&w, AT_FDCWD, path, 0);
}
