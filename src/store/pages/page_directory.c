#include "store/pages/page_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_MODE 0775

static int file_path(const char *directory, const char *name, char out[PAGE_DIRECTORY_PATH_BYTES])
{
    int n = snprintf(out, PAGE_DIRECTORY_PATH_BYTES, "%s/%s", directory, name);
    return n < 0 || n >= PAGE_DIRECTORY_PATH_BYTES ? ENAMETOOLONG : 0;
}

/* Makes the names in the directory, or with "..", its own name durable. */
static int sync_directory(const char *directory, const char *name)
{
    char path[PAGE_DIRECTORY_PATH_BYTES];
    int rc = file_path(directory, name, path);
    int fd = rc == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (rc == 0 && (fd < 0 || fsync(fd) != 0)) {
        rc = errno;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* What a new database is made of. */
typedef struct Fresh {
    const char *directory;
    PageDirectoryFill fill;
    void *context;
} Fresh;

/* A database without pages that is durable before it has its name. */
static int create_env(const Fresh *fresh, const char *path, const char *file)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    int rc = unlink(path) == 0 || errno == ENOENT ? mdb_env_create(&env) : errno;
    if (rc != 0) {
        return rc;
    }
    rc = mdb_env_set_maxdbs(env, PAGE_DIRECTORY_MAX_TABLES);
    if (rc == 0) {
        rc = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK, PAGE_DIRECTORY_FILE_MODE);
    }
    if (rc == 0) {
        rc = mdb_txn_begin(env, NULL, 0, &txn);
    }
    if (rc == 0) {
        rc = fresh->fill(fresh->context, txn);
        if (rc == 0) {
            rc = mdb_txn_commit(txn);
        } else {
            mdb_txn_abort(txn);
        }
    }
    mdb_env_close(env);
    if (rc == 0 && rename(path, file) != 0) {
        rc = errno;
    }
    return rc == 0 ? sync_directory(fresh->directory, ".") : rc;
}

/* LMDB begins a file with a write that is not synced, and refuses half of it ever after. So a new
 * one is made under another name; the lock on the directory keeps processes from making two. */
static int create_file(const Fresh *fresh, const char *file)
{
    char path[PAGE_DIRECTORY_PATH_BYTES];
    struct stat st;
    if (stat(file, &st) == 0 && st.st_size > 0) {
        return 0;
    }
    int rc = file_path(fresh->directory, "data.mdb.new", path);
    int fd = rc == 0 ? open(fresh->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (rc == 0 && (fd < 0 || flock(fd, LOCK_EX) != 0)) {
        rc = errno;
    }
    if (rc == 0 && (stat(file, &st) != 0 || st.st_size == 0)) {
        rc = create_env(fresh, path, file);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

int page_directory_create(const char *directory, PageDirectoryFill fill, void *context)
{
    char file[PAGE_DIRECTORY_PATH_BYTES];
    struct stat st;
    Fresh fresh = {.directory = directory, .fill = fill, .context = context};
    int rc = file_path(directory, "data.mdb", file);
    if (rc != 0) {
        return rc;
    }
    rc = mkdir(directory, DIRECTORY_MODE) == 0 ? sync_directory(directory, "..") : errno;
    if (rc == EEXIST) {
        rc = stat(directory, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    }
    return rc == 0 ? create_file(&fresh, file) : rc;
}

int page_directory_check(const char *directory, char failed[PAGE_DIRECTORY_PATH_BYTES])
{
    struct stat st;
    int rc = file_path(directory, "data.mdb", failed);
    if (rc != 0) {
        (void)snprintf(failed, PAGE_DIRECTORY_PATH_BYTES, "%s", directory);
        return rc;
    }
    return stat(failed, &st) == 0 ? 0 : errno;
}

void page_directory_remove(const char *directory)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "data.mdb.new"};
    char file[PAGE_DIRECTORY_PATH_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (file_path(directory, names[i], file) == 0) {
            (void)unlink(file);
        }
    }
    (void)rmdir(directory);
}
