#include "base/memory/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#define PIECE_BYTES 65536u
#define BLOCK_BYTES 512.0

const char *file_path(Path *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* cppcheck-suppress ctuuninitvar */
    (void)vsnprintf(path->text, sizeof path->text, format, arguments);
    va_end(arguments);
    return path->text;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

Result file_read_rest(FILE *file, Buffer *out)
{
    char piece[PIECE_BYTES];
    size_t n = 0;
    while ((n = fread(piece, 1, sizeof piece, file)) > 0) {
        Result rc = buffer_append(out, piece, n);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return ferror(file) != 0 ? RESULT_IO : RESULT_OK;
}

Result file_read(const char *path, Buffer *out)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return result_of_errno(errno);
    }
    Result rc = file_read_rest(file, out);
    (void)fclose(file);
    return rc;
}

Result file_map(int directory, const char *path, const char **bytes, uint64_t *length)
{
    struct stat info = {0};
    *bytes = NULL;
    *length = 0;
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = fstat(fd, &info) == 0 ? RESULT_OK : result_of_errno(errno);
    if (rc == RESULT_OK && !S_ISREG(info.st_mode)) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK && info.st_size > 0) {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            rc = result_of_errno(errno);
        } else {
            *bytes = map;
            *length = (uint64_t)info.st_size;
        }
    }
    (void)close(fd);
    return rc;
}

void file_unmap(const char *bytes, uint64_t length)
{
    if (bytes != NULL) {
        /* munmap wants a pointer to what may change; the bytes were only read. */
        (void)munmap((void *)(uintptr_t)bytes, (size_t)length);
    }
}

Result file_map_scratch(void **map, size_t n)
{
    FILE *file = tmpfile();
    int code = file == NULL ? errno : posix_fallocate(fileno(file), 0, (off_t)n);
    *map =
        code != 0 ? MAP_FAILED : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (*map == MAP_FAILED) {
        code = code != 0 ? code : errno;
        *map = NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return code == 0 ? RESULT_OK : result_of_errno(code);
}

Result file_open_private(FILE **file, const char *path, Buffer *error)
{
    struct stat st;
    *file = fopen(path, "re");
    if (*file == NULL) {
        (void)buffer_printf(error, "cannot be opened: %s", strerrordesc_np(errno));
        return errno == ENOENT ? RESULT_NOT_FOUND : RESULT_IO;
    }
    if (fstat(fileno(*file), &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
        return RESULT_OK;
    }
    (void)buffer_printf(error,
                        "has mode %04o, so that others may read it; expected 0600 (chmod 600)",
                        (unsigned)st.st_mode & 07777u);
    (void)fclose(*file);
    *file = NULL;
    return RESULT_INVALID;
}

void file_close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

Result file_close(FILE *file, Result rc)
{
    if (rc == RESULT_OK && (fflush(file) != 0 || fsync(fileno(file)) != 0)) {
        rc = result_of_errno(errno);
    }
    return fclose(file) != 0 && rc == RESULT_OK ? result_of_errno(errno) : rc;
}

Result file_replace(const char *path, const void *bytes, size_t n)
{
    Path draft;
    FILE *file = fopen(file_path(&draft, "%s.new", path), "wbe");
    if (file == NULL) {
        return result_of_errno(errno);
    }
    Result rc =
        file_close(file, fwrite(bytes, 1, n, file) == n ? RESULT_OK : result_of_errno(errno));
    if (rc == RESULT_OK && rename(draft.text, path) != 0) {
        rc = result_of_errno(errno);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    /* A name that was given or taken is on the disk when its folder is. */
    Path folder;
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 1 : (int)(slash - path) + 1;
    return file_sync_folder(file_path(&folder, "%.*s", length, slash == NULL ? "." : path));
}

/* Where the descriptor stands, or at a place. */
static Result file_put(int fd, const void *bytes, size_t n, const uint64_t *at)
{
    const char *from = bytes;
    for (size_t done = 0; done < n;) {
        ssize_t put = at == NULL ? write(fd, from + done, n - done)
                                 : pwrite(fd, from + done, n - done, (off_t)(*at + done));
        if (put == 0 || (put < 0 && errno != EINTR)) {
            return put == 0 ? RESULT_FULL : result_of_errno(errno);
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return RESULT_OK;
}

Result file_write(int fd, const void *bytes, size_t n)
{
    return file_put(fd, bytes, n, NULL);
}

Result file_write_at(int fd, const void *bytes, size_t n, uint64_t at)
{
    return file_put(fd, bytes, n, &at);
}

Result file_read_at(int fd, void *bytes, size_t n, uint64_t at)
{
    char *to = bytes;
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, to + done, n - done, (off_t)(at + done));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return got == 0 ? RESULT_DAMAGED : result_of_errno(errno);
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return RESULT_OK;
}

Result file_sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Result rc = fd < 0 || fsync(fd) != 0 ? result_of_errno(errno) : RESULT_OK;
    file_close_fd(fd);
    return rc;
}

Result file_copy(int from, uint64_t at, uint64_t n, int to)
{
    char piece[PIECE_BYTES];
    for (ssize_t got = 1; n > 0 && got > 0;) {
        got = pread(from, piece, n < sizeof piece ? (size_t)n : sizeof piece, (off_t)at);
        if (got < 0) {
            return result_of_errno(errno);
        }
        Result rc = file_write(to, piece, (size_t)got);
        if (rc != RESULT_OK) {
            return rc;
        }
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return RESULT_OK;
}

Result file_walk(const char *path, Result (*visit)(void *context, const char *name), void *context)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    Result rc = RESULT_OK;
    if (folder == NULL) {
        return result_of_errno(errno);
    }
    while ((entry = readdir(folder)) != NULL) {
        struct stat info;
        if (fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode)) {
            rc = visit(context, entry->d_name);
        }
        if (rc != RESULT_OK) {
            break;
        }
    }
    (void)closedir(folder);
    return rc;
}

/* A folder is an entry twice: before what is in it (FTS_D), and behind. */
static double file_go_through(const char *path, bool removes)
{
    double bytes = 0;
    const FTSENT *entry = NULL;
    Path root;
    char *const roots[] = {root.text, NULL};
    (void)file_path(&root, "%s", path);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    while (walk != NULL && (entry = fts_read(walk)) != NULL) {
        if (entry->fts_info != FTS_D && entry->fts_info != FTS_NS) {
            bytes += (double)entry->fts_statp->st_blocks * BLOCK_BYTES;
            (void)(removes && remove(entry->fts_accpath));
        }
    }
    if (walk != NULL) {
        (void)fts_close(walk);
    }
    return bytes;
}

bool file_name_ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name);
    size_t m = strlen(suffix);
    return n > m && memcmp(name + n - m, suffix, m) == 0;
}

void file_remove(const char *path)
{
    (void)file_go_through(path, true);
}

Result file_make_folder(Path *folder, const char *name)
{
    const char *parent = getenv("TMPDIR");
    (void)file_path(folder, "%s/ragno-%s-XXXXXX",
                    parent == NULL || *parent == '\0' ? "/tmp" : parent, name);
    return mkdtemp(folder->text) == NULL ? result_of_errno(errno) : RESULT_OK;
}

double file_bytes(const char *path)
{
    return file_go_through(path, false);
}

/* ---- temporary file ---- */

#define MODE       0600
#define NAME_BYTES 48
#define TRIES      16 /* for a name that nobody has; the first is free but for sabotage */

/* Creates a file under a name that nobody can know before; errno when it cannot. */
static int create_under_any_name(int folder, char name[NAME_BYTES])
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; i < TRIES && fd < 0 && errno == EEXIST; i++) {
        uint64_t number = 0;
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
            return -1;
        }
        (void)snprintf(name, NAME_BYTES, "unnamed-%016" PRIx64 ".tmp", number);
        fd = openat(folder, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, MODE);
    }
    return fd;
}

Result temporary_file_open_named(int directory, const char *path, int *fd)
{
    char name[NAME_BYTES] = "";
    int folder = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    *fd = create_under_any_name(folder, name);
    if (*fd < 0) {
        rc = result_of_errno(errno);
    } else if (unlinkat(folder, name, 0) != 0) {
        rc = result_of_errno(errno);
        (void)close(*fd);
    }
    (void)close(folder);
    return rc;
}

Result temporary_file_open(int directory, const char *path, int *fd)
{
    *fd = openat(directory, path, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
    if (*fd >= 0) {
        return RESULT_OK;
    }
    /* Which of them comes depends on the file system, and on what stands between. */
    bool unsupported = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS;
    return unsupported ? temporary_file_open_named(directory, path, fd) : result_of_errno(errno);
}
