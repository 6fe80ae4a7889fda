#include "command/backup/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/embed.h"
#include "command/forget/forget_order.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"

/* A file of a crawl in its backup: linked, copied, or lengthened.
 *
 * What: a file that never changes again (a finished WARC file and its index) is linked where both
 * are on one file system; anything else is copied, and synced. A copy takes the place of the old
 * one when it is whole. A log only grows: when the copy is its beginning, what is new is appended.
 * Owns: nothing.
 * Threads: any.
 * Errors: RESULT_NOT_FOUND: there is no such file any more; RESULT_FULL, RESULT_IO. */

typedef enum BackupWay {
    BACKUP_LINK, /* never changes again; skipped when the copy has its length */
    BACKUP_GROW, /* only grows, or begins anew */
    BACKUP_COPY
} BackupWay;

typedef struct BackupCounts {
    uint64_t linked;
    uint64_t copied;
    uint64_t kept;  /* were there already */
    uint64_t bytes; /* written */
} BackupCounts;

#define TAIL_BYTES ((off_t)4096) /* that tell whether a copy is the beginning of a file */

/* The length that the copy is to have. */
static uint64_t backup_file_size(const struct stat *st, uint64_t most)
{
    return (uint64_t)st->st_size < most ? (uint64_t)st->st_size : most;
}

/* The same from an open file, which may have no name any more. */
static Result backup_file_of(int from, const char *to, uint64_t most, BackupCounts *counts)
{
    struct stat st;
    Path draft;
    if (fstat(from, &st) != 0) {
        return result_of_errno(errno);
    }
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    int fd = open(file_path(&draft, "%s.draft", to), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  st.st_mode & 0777u);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = file_copy(from, 0, backup_file_size(&st, most), fd);
    if (rc == RESULT_OK && (futimens(fd, times) != 0 || fsync(fd) != 0)) {
        rc = result_of_errno(errno);
    }
    (void)close(fd);
    if (rc == RESULT_OK && rename(draft.text, to) != 0) {
        rc = result_of_errno(errno);
    }
    counts->copied++;
    counts->bytes += backup_file_size(&st, most);
    return rc;
}

/* Whether the copy, which is shorter, ends with what the file has there. */
static bool backup_file_is_beginning(int from, int copy, off_t length)
{
    char ours[TAIL_BYTES];
    char theirs[TAIL_BYTES];
    off_t at = length > TAIL_BYTES ? length - TAIL_BYTES : 0;
    size_t n = (size_t)(length - at);
    return pread(from, ours, n, at) == (ssize_t)n && pread(copy, theirs, n, at) == (ssize_t)n &&
           memcmp(ours, theirs, n) == 0;
}

/* RESULT_NOT_FOUND: the copy cannot be lengthened. */
static Result backup_file_grow(int from, const char *to, uint64_t most, BackupCounts *counts)
{
    struct stat st, copy;
    int fd = open(to, O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        return RESULT_NOT_FOUND;
    }
    Result rc = fstat(from, &st) == 0 && fstat(fd, &copy) == 0 ? RESULT_OK : RESULT_IO;
    uint64_t size = rc == RESULT_OK ? backup_file_size(&st, most) : 0;
    if (rc == RESULT_OK && ((uint64_t)copy.st_size > size || copy.st_nlink > 1 ||
                            !backup_file_is_beginning(from, fd, copy.st_size))) {
        rc = RESULT_NOT_FOUND;
    }
    if (rc == RESULT_OK && (uint64_t)copy.st_size < size) {
        uint64_t more = size - (uint64_t)copy.st_size;
        rc = file_copy(from, (uint64_t)copy.st_size, more, fd);
        counts->bytes += more;
        if (rc == RESULT_OK && fsync(fd) != 0) {
            rc = result_of_errno(errno);
        }
    }
    (void)close(fd);
    counts->kept += rc == RESULT_OK;
    return rc;
}

/* Whether the copy is the file already. */
static bool backup_file_is_there(int from, const char *to, uint64_t most)
{
    struct stat st, copy;
    return fstat(from, &st) == 0 && stat(to, &copy) == 0 &&
           ((st.st_ino == copy.st_ino && st.st_dev == copy.st_dev) ||
            ((uint64_t)copy.st_size == backup_file_size(&st, most) &&
             copy.st_mtim.tv_sec == st.st_mtim.tv_sec &&
             copy.st_mtim.tv_nsec == st.st_mtim.tv_nsec));
}

/* RESULT_NOT_FOUND: no link can be made here. */
static Result backup_file_link(const char *from, const char *to, BackupCounts *counts)
{
    Path draft;
    (void)unlink(file_path(&draft, "%s.draft", to));
    bool linked = link(from, draft.text) == 0 && rename(draft.text, to) == 0;
    counts->linked += linked;
    return linked ? RESULT_OK : RESULT_NOT_FOUND;
}

/* *to has what *from has, up to its first `most` bytes. */
static Result backup_file(const char *from, const char *to, BackupWay way, uint64_t most,
                          BackupCounts *counts)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    Result rc = RESULT_NOT_FOUND;
    if (fd < 0) {
        return result_of_errno(errno);
    }
    if (way == BACKUP_LINK && backup_file_is_there(fd, to, most)) {
        counts->kept++;
        rc = RESULT_OK;
    } else if (way == BACKUP_LINK && most == UINT64_MAX) {
        rc = backup_file_link(from, to, counts);
    } else if (way == BACKUP_GROW) {
        rc = backup_file_grow(fd, to, most, counts);
    }
    if (rc == RESULT_NOT_FOUND) {
        rc = backup_file_of(fd, to, most, counts);
    }
    (void)close(fd);
    return rc;
}

#define MARK       "backup.unfinished"
#define FILES_MOST 4096u /* bucket files */

typedef struct Backup {
    const char *from;
    const char *to;
    BackupCounts counts;
    Buffer error;            /* a sentence */
    bool restores;           /* the copy is to live by itself: nothing is linked */
    const char *folder;      /* whose files are being visited */
    WarcEnd end;             /* of the commit */
    char *names[FILES_MOST]; /* bucket files */
    int fds[FILES_MOST];
    size_t n;
} Backup;

static Result backup_fail(Backup *backup, const char *what, Result rc)
{
    if (rc != RESULT_OK && backup->error.length == 0) {
        (void)buffer_printf(&backup->error, "%s: %s", what, result_name(rc));
    }
    return rc;
}

static Result backup_make_folder(Backup *backup, const char *name)
{
    Path path;
    return mkdir(file_path(&path, "%s/%s", backup->to, name), 0755) == 0 || errno == EEXIST
               ? RESULT_OK
               : backup_fail(backup, path.text, result_of_errno(errno));
}

/* The regular files of DIR/FOLDER ("." for DIR), one after the other; none when it is not there. */
static Result backup_each(Backup *backup, const char *root, const char *folder,
                          Result (*visit)(void *backup, const char *name))
{
    Path path;
    backup->folder = folder;
    Result rc = file_walk(file_path(&path, "%s/%s", root, folder), visit, backup);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* One file, to the place that it has in DIR. A file that went meanwhile is none. */
static Result backup_take(Backup *backup, const char *folder, const char *name, BackupWay way,
                          uint64_t most)
{
    Path from, to;
    BackupWay how = backup->restores ? BACKUP_COPY : way;
    (void)file_path(&from, "%s/%s/%s", backup->from, folder, name);
    (void)file_path(&to, "%s/%s/%s", backup->to, folder, name);
    Result rc = backup_file(from.text, to.text, how, most, &backup->counts);
    return backup_fail(backup, from.text, rc == RESULT_NOT_FOUND ? RESULT_OK : rc);
}

/* ---- the sieve ---- */

static Result backup_open_bucket(void *context, const char *name)
{
    Backup *backup = context;
    Path path;
    for (size_t i = 0; i < backup->n; i++) {
        if (strcmp(backup->names[i], name) == 0) {
            return RESULT_OK;
        }
    }
    if (backup->n == FILES_MOST) {
        return RESULT_LIMIT;
    }
    int fd = open(file_path(&path, "%s/" SIEVE_DIRECTORY "/%s", backup->from, name),
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return RESULT_OK;
    }
    backup->names[backup->n] = strdup(name);
    backup->fds[backup->n] = fd;
    return backup->names[backup->n++] == NULL ? RESULT_MEMORY : RESULT_OK;
}

static Result backup_drop(void *context, const char *name)
{
    Backup *backup = context;
    Path path;
    return unlink(file_path(&path, "%s/%s/%s", backup->to, backup->folder, name)) == 0
               ? RESULT_OK
               : backup_fail(backup, path.text, result_of_errno(errno));
}

/* ---- the database ---- */

/* What the copy says of the other files. */
static int backup_read_end(Backup *backup, const char *path)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    int rc = lmdb_env_open(&env, path, MDB_RDONLY, PAGE_DIRECTORY_MAX_TABLES, 0, 0);
    if (rc == 0) {
        rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    }
    if (rc == 0) {
        Result found = warc_end_get(txn, &backup->end);
        rc = found == RESULT_OK || found == RESULT_NOT_FOUND ? 0 : MDB_CORRUPTED;
        mdb_txn_abort(txn);
    }
    mdb_env_close(env);
    return rc;
}

static Result backup_database(Backup *backup)
{
    MDB_env *env = NULL;
    Path from, to;
    (void)file_path(&from, "%s/crawl.mdb", backup->from);
    file_remove(file_path(&to, "%s/crawl.mdb.new", backup->to));
    Result rc = backup_make_folder(backup, "crawl.mdb.new");
    if (rc != RESULT_OK) {
        return rc;
    }
    int code = lmdb_env_open(&env, from.text, MDB_RDONLY, PAGE_DIRECTORY_MAX_TABLES, 0, 0);
    if (code == 0) {
        code = lmdb_env_copy(env, to.text, MDB_CP_COMPACT);
    }
    if (code == 0) {
        code = backup_read_end(backup, to.text);
    }
    mdb_env_close(env);
    return backup_fail(backup, from.text, lmdb_result(code, "copy the database"));
}

/* The copy takes its place; the table of readers of the old one goes with it. */
static Result backup_place_database(Backup *backup)
{
    Path from, to, lock;
    Result rc = backup_make_folder(backup, "crawl.mdb");
    if (rc != RESULT_OK) {
        return rc;
    }
    if (unlink(file_path(&lock, "%s/crawl.mdb/lock.mdb", backup->to)) != 0 && errno != ENOENT) {
        return backup_fail(backup, lock.text, result_of_errno(errno));
    }
    (void)file_path(&from, "%s/crawl.mdb.new/data.mdb", backup->to);
    if (rename(from.text, file_path(&to, "%s/crawl.mdb/data.mdb", backup->to)) != 0) {
        return backup_fail(backup, to.text, result_of_errno(errno));
    }
    file_remove(file_path(&from, "%s/crawl.mdb.new", backup->to));
    return RESULT_OK;
}

/* ---- the archive ---- */

/* Of a file that goes on behind the commit, its beginning, as a finished file. */
static Result backup_part(Backup *backup, const WarcFile *file, uint64_t end)
{
    Path from, to, warc;
    (void)file_path(&warc, "%s/warc", backup->to);
    (void)file_path(&to, "%s/warc/%s", backup->to, file->name);
    (void)file_path(&from, "%s/warc/%s" WARC_OPEN_SUFFIX, backup->from, file->name);
    Result rc = backup_file(from.text, to.text, BACKUP_GROW, end, &backup->counts);
    if (rc == RESULT_NOT_FOUND) { /* it is finished since it was listed */
        (void)file_path(&from, "%s/warc/%s", backup->from, file->name);
        rc = backup_file(from.text, to.text, BACKUP_GROW, end, &backup->counts);
    }
    if (rc == RESULT_OK) {
        rc = warc_files_index_sorted(warc.text, file->name, end);
    }
    return backup_fail(backup, file->name, rc);
}

static Result backup_archive(Backup *backup)
{
    WarcFileList list;
    Path warc;
    Result rc = warc_files_list(file_path(&warc, "%s/warc", backup->from), &list);
    if (rc == RESULT_NOT_FOUND) {
        return RESULT_OK;
    }
    if (rc == RESULT_OK) {
        rc = backup_make_folder(backup, "warc");
    }
    for (size_t i = 0; rc == RESULT_OK && i < list.n; i++) {
        const WarcFile *file = &list.files[i];
        uint64_t end = warc_end_of(&backup->end, file->serial);
        bool is_ours = file->readable && file->serial > 0;
        if (is_ours && end == 0 && backup->end.file > 0) {
            continue; /* begun since that commit */
        }
        bool is_part = is_ours && end != UINT64_MAX && (file->open || file->size > end);
        if (is_part) {
            rc = backup_part(backup, file, end);
        } else if (!file->open) {
            /* A finished file and its index. */
            Path index;
            rc = backup_take(backup, "warc", file->name, BACKUP_LINK, UINT64_MAX);
            if (rc == RESULT_OK) {
                (void)warc_index_path(&index, "", file->name, false);
                rc = backup_take(backup, "warc", index.text + 1, BACKUP_LINK, UINT64_MAX);
            }
        }
    }
    warc_files_free(&list);
    return rc;
}

/* ---- what is left ---- */

static bool backup_is_none(const char *name)
{
    static const char *const none[] = {"lock", "control", "crawl.pending", MARK, NULL};
    for (size_t i = 0; none[i] != NULL; i++) {
        if (strcmp(name, none[i]) == 0) {
            return true;
        }
    }
    return false;
}

static Result backup_rest(void *context, const char *name)
{
    Backup *backup = context;
    size_t n = strlen(name);
    bool is_log = n > 4 && strcmp(name + n - 4, ".log") == 0;
    if (backup_is_none(name)) {
        return RESULT_OK;
    }
    return backup_take(backup, backup->folder, name, is_log ? BACKUP_GROW : BACKUP_COPY,
                       UINT64_MAX);
}

/* Whether moved.txt names a WARC file, or the file of this index. */
static bool backup_was_moved(const Backup *backup, const char *name)
{
    Path path;
    char line[4096];
    bool moved = false;
    FILE *file = fopen(file_path(&path, "%s/moved.txt", backup->from), "re");
    size_t stem = strcspn(name, ".");
    while (file != NULL && !moved && fgets(line, sizeof line, file) != NULL) {
        moved = strncmp(line, name, stem) == 0 && line[stem] == '.';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return moved;
}

/* What DIR does not have any more goes. */
static Result backup_clear(void *context, const char *name)
{
    Backup *backup = context;
    Path from, open;
    bool there = file_exists(file_path(&from, "%s/%s/%s", backup->from, backup->folder, name));
    if (!there && strcmp(backup->folder, "warc") == 0) {
        there = file_exists(file_path(&open, "%s/warc/%s" WARC_OPEN_SUFFIX, backup->from, name)) ||
                backup_was_moved(backup, name);
    }
    return there || strcmp(name, MARK) == 0 ? RESULT_OK : backup_drop(backup, name);
}

static Result backup_mark(Backup *backup, bool set)
{
    Path path;
    (void)file_path(&path, "%s/" MARK, backup->to);
    int fd = set ? open(path.text, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
    bool done = set ? fd >= 0 : unlink(path.text) == 0;
    Result rc = done ? RESULT_OK : backup_fail(backup, path.text, result_of_errno(errno));
    file_close_fd(fd);
    return rc == RESULT_OK ? warc_files_sync_directory(backup->to) : rc;
}

/* ---- all of it ---- */

static Result backup_buckets(Backup *backup)
{
    Result rc = backup->n == 0 ? RESULT_OK : backup_make_folder(backup, SIEVE_DIRECTORY);
    if (rc == RESULT_OK) {
        rc = backup_each(backup, backup->to, SIEVE_DIRECTORY, backup_drop);
    }
    for (size_t i = 0; rc == RESULT_OK && i < backup->n; i++) {
        Path to;
        (void)file_path(&to, "%s/" SIEVE_DIRECTORY "/%s", backup->to, backup->names[i]);
        rc = backup_fail(backup, to.text,
                         backup_file_of(backup->fds[i], to.text, UINT64_MAX, &backup->counts));
    }
    return rc;
}

/* In order: the sieve's files are opened before and behind the copy of the database, so that none
 * which it needs is missed. */
static Result backup_steps(Backup *backup)
{
    const struct {
        Result (*step)(Backup *backup); /* NULL: the files of a folder are visited */
        const char *root;
        const char *folder;
        Result (*visit)(void *backup, const char *name);
    } steps[] = {{NULL, backup->from, SIEVE_DIRECTORY, backup_open_bucket},
                 {.step = backup_database},
                 {NULL, backup->from, SIEVE_DIRECTORY, backup_open_bucket},
                 {.step = backup_buckets},
                 {.step = backup_archive},
                 {NULL, backup->from, ".", backup_rest},
                 {.step = backup_place_database},
                 {NULL, backup->to, "warc", backup_clear},
                 {NULL, backup->to, ".", backup_clear}};
    Result rc = backup_mark(backup, true);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        rc = steps[i].step != NULL
                 ? steps[i].step(backup)
                 : backup_each(backup, steps[i].root, steps[i].folder, steps[i].visit);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return backup_mark(backup, false);
}

static int backup_end(Backup *backup, const char *command, Result rc)
{
    for (size_t i = 0; i < backup->n; i++) {
        free(backup->names[i]);
        (void)close(backup->fds[i]);
    }
    if (rc == RESULT_OK) {
        (void)printf("%s: %" PRIu64 " files linked, %" PRIu64 " copied, %" PRIu64
                     " as they were; %.1f MB written\n",
                     backup->to, backup->counts.linked, backup->counts.copied, backup->counts.kept,
                     (double)backup->counts.bytes / 1e6);
    }
    (void)exit_status_tell(command, rc, &backup->error);
    if (rc == RESULT_DAMAGED || rc == RESULT_CLOSED) {
        return EXIT_DIRECTORY;
    }
    return rc == RESULT_OK ? EXIT_FINISHED : EXIT_IO;
}

EMBED(backup_usage, "src/command/backup/backup.txt");

/* The status with which it ends here, or -1. */
static int backup_look(const char *command, int argc, char **argv)
{
    bool help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (help || argc != 3 || argv[1][0] == '-') {
        (void)fputs(backup_usage, help ? stdout : stderr);
        return help ? EXIT_FINISHED : EXIT_USAGE;
    }
    if (!crawl_store_exists(argv[1])) {
        (void)fprintf(stderr, "ragno %s: %s holds no crawl\n", command, argv[1]);
        return EXIT_IO;
    }
    if (forget_order_is_due(argv[1])) {
        (void)fprintf(stderr, "ragno %s: %s: an erasure is under way (ragno forget)\n", command,
                      argv[1]);
        return EXIT_DIRECTORY;
    }
    crawl_store_keep_private();
    if (mkdir(argv[2], 0755) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "ragno %s: %s: %s\n", command, argv[2], strerror(errno));
        return EXIT_IO;
    }
    return -1;
}

static bool backup_is_empty(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry = NULL;
    bool empty = dir != NULL;
    while (empty && (entry = readdir(dir)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return empty;
}

/* What keeps a backup from being made, or from being brought back. */
static Result backup_may(Backup *backup)
{
    Path mark;
    if (!backup->restores && crawl_store_exists(backup->to) && crawl_store_owner(backup->to) != 0) {
        (void)buffer_printf(&backup->error, "%s is itself in use", backup->to);
        return RESULT_CLOSED;
    }
    if (backup->restores && file_exists(file_path(&mark, "%s/" MARK, backup->from))) {
        (void)buffer_printf(&backup->error,
                            "%s: the last backup into it was interrupted; repeat it", backup->from);
        return RESULT_DAMAGED;
    }
    if (backup->restores && !backup_is_empty(backup->to)) {
        (void)buffer_printf(&backup->error, "%s is not empty", backup->to);
        return RESULT_EXISTS;
    }
    return RESULT_OK;
}

static int backup_run(const char *command, bool restores, int argc, char **argv)
{
    int status = backup_look(command, argc, argv);
    if (status >= 0) {
        return status;
    }
    Backup *backup = calloc(1, sizeof *backup);
    if (backup == NULL) {
        return EXIT_INTERNAL;
    }
    backup->from = argv[1];
    backup->to = argv[2];
    backup->restores = restores;
    buffer_init(&backup->error, BUFFER_NO_LIMIT);
    Result rc = backup_may(backup);
    if (rc == RESULT_OK) {
        rc = backup_steps(backup);
    }
    status = backup_end(backup, command, rc);
    free(backup);
    return status;
}

int backup_main(int argc, char **argv)
{
    return backup_run("backup", false, argc, argv);
}

int restore_main(int argc, char **argv)
{
    return backup_run("restore", true, argc, argv);
}
