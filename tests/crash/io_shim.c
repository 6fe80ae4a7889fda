/* A library to preload: counts a program's writes, syncs and renames, fails or kills at the n-th,
 * or records them all so that a power cut at any moment can be replayed (tests/crash/power_cut.c).
 *
 *   gcc -shared -fPIC -O2 -D_GNU_SOURCE -o io_shim.so tests/crash/io_shim.c -ldl -pthread
 *   LD_PRELOAD=./io_shim.so IO_DIR=/abs/dir ... program
 *
 *   IO_DIR=DIR      (needed) only calls on files below DIR count; absolute, without symbolic links
 *   IO_COUNT=FILE   at exit: how many calls there were, in decimal
 *   IO_FAIL=N       the N-th call (from 1) fails, in the way that IO_HOW says:
 *                     EIO (default), ENOSPC    it returns this error
 *                     kill, killed-after       the process is killed before it, after it
 *                     half                     it writes half of its bytes, and is killed
 *   IO_STICKY=1     every call from the N-th on fails, as on a full disk
 *   IO_FULL=FILE    while FILE exists, writes that make a file longer fail with ENOSPC
 *   IO_RECORD=FILE  the log for power_cut, outside DIR
 *   IO_SLOW_SYNC=MS each fsync and fdatasync takes so much longer, as on a slow disk
 *
 * Calls seen: write pwrite writev pwritev fsync fdatasync ftruncate rename renameat unlink
 * unlinkat, and their 64-bit names. open openat creat mkdir mkdirat are recorded, not counted. A
 * stdio stream that fopen opens for writing is one of ours (fopencookie), since the C library's
 * own writes do not leave it by name; fileno knows it. Not seen: fdopen, mmap, sendfile. LMDB
 * without MDB_WRITEMAP is seen whole; its O_DSYNC writes of the meta page are recorded as durable
 * at once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

#include "power_cut.h"

#define MAX_FILES 4096

typedef struct FileId {
    dev_t device;
    ino_t inode;
    uint32_t id;
} FileId;

/* One for the process: that is what a preloaded library is. */
static struct {
    once_flag once;
    mtx_t mutex;
    char directory[PATH_MAX];
    size_t directory_length;
    long fail_at;
    bool is_sticky;
    const char *how;
    const char *full_path;
    const char *count_path;
    struct timespec slow_sync;
    int record_fd;
    atomic_long calls;
    FileId files[MAX_FILES]; /* guarded by mutex, like the log */
    size_t n_files;
    uint32_t next_id;
} shim = {.once = ONCE_FLAG_INIT, .record_fd = -1};

typedef enum Fate { FATE_DO, FATE_FAIL, FATE_KILL_AFTER, FATE_HALF } Fate;

/* --- start and end --------------------------------------------------------------------------- */

static void start(void)
{
    const char *directory = getenv("IO_DIR");
    const char *fail = getenv("IO_FAIL");
    const char *record = getenv("IO_RECORD");
    const char *sticky = getenv("IO_STICKY");
    const char *slow = getenv("IO_SLOW_SYNC");
    if (directory == NULL || mtx_init(&shim.mutex, mtx_plain) != thrd_success) {
        return;
    }
    shim.directory_length = strlen(directory);
    if (shim.directory_length >= sizeof shim.directory) {
        abort();
    }
    memcpy(shim.directory, directory, shim.directory_length + 1);
    shim.fail_at = fail != NULL ? strtol(fail, NULL, 10) : 0;
    shim.how = getenv("IO_HOW") != NULL ? getenv("IO_HOW") : "EIO";
    shim.is_sticky = sticky != NULL && strcmp(sticky, "1") == 0;
    shim.full_path = getenv("IO_FULL");
    long slow_ms = slow != NULL ? strtol(slow, NULL, 10) : 0;
    shim.slow_sync = (struct timespec){slow_ms / 1000, slow_ms % 1000 * 1000000};
    shim.count_path = getenv("IO_COUNT");
    if (record != NULL) {
        shim.record_fd = (int)syscall(SYS_openat, AT_FDCWD, record,
                                      O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
        if (shim.record_fd < 0) {
            abort();
        }
    }
}

static void init(void)
{
    call_once(&shim.once, start);
}

__attribute__((destructor)) static void finish(void)
{
    char text[32];
    if (shim.count_path == NULL) {
        return;
    }
    int n = snprintf(text, sizeof text, "%ld\n", atomic_load(&shim.calls));
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, shim.count_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0 && n > 0) {
        (void)syscall(SYS_write, fd, text, (size_t)n);
        (void)syscall(SYS_close, fd);
    }
}

/* --- which files count ----------------------------------------------------------------------- */

static bool is_below(const char *path)
{
    return shim.directory_length > 0 && strncmp(path, shim.directory, shim.directory_length) == 0 &&
           (path[shim.directory_length] == '/' || path[shim.directory_length] == 0);
}

static bool path_of_fd(int fd, char path[PATH_MAX])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n <= 0) {
        return false;
    }
    path[n] = 0;
    return true;
}

static bool counts(int fd)
{
    char path[PATH_MAX];
    init();
    return shim.directory_length > 0 && path_of_fd(fd, path) && is_below(path);
}

/* The absolute path that a call on (directory, name) means; false when it is outside DIR. */
static bool resolve(int directory, const char *name, char path[PATH_MAX])
{
    init();
    if (shim.directory_length == 0) {
        return false;
    }
    char base[PATH_MAX] = "";
    if (name[0] != '/') {
        if (directory == AT_FDCWD ? getcwd(base, sizeof base) == NULL
                                  : !path_of_fd(directory, base)) {
            return false;
        }
        while (strncmp(name, "./", 2) == 0) {
            name += 2;
        }
    }
    size_t length = strlen(base), more = strlen(name);
    if (length + more + 2 > PATH_MAX) {
        return false;
    }
    memcpy(path, base, length);
    if (length > 0) {
        path[length++] = '/';
    }
    memcpy(path + length, name, more + 1);
    return is_below(path);
}

/* --- fate ------------------------------------------------------------------------------------ */

static Fate next_fate(void)
{
    long number = atomic_fetch_add(&shim.calls, 1) + 1;
    bool hit =
        shim.fail_at > 0 && (number == shim.fail_at || (shim.is_sticky && number > shim.fail_at));
    if (!hit) {
        return FATE_DO;
    }
    if (strcmp(shim.how, "kill") == 0) {
        (void)kill(getpid(), SIGKILL);
    }
    if (strcmp(shim.how, "killed-after") == 0) {
        return FATE_KILL_AFTER;
    }
    if (strcmp(shim.how, "half") == 0) {
        return FATE_HALF;
    }
    errno = strcmp(shim.how, "ENOSPC") == 0 ? ENOSPC : EIO;
    return FATE_FAIL;
}

static void after(Fate fate)
{
    if (fate == FATE_KILL_AFTER || fate == FATE_HALF) {
        (void)kill(getpid(), SIGKILL);
    }
}

/* --- the log --------------------------------------------------------------------------------- */

static void emit(const PowerCutEvent *event, const char *path, const char *second,
                 const struct iovec *iov, int n_iov)
{
    struct iovec pieces[16] = {{(void *)(uintptr_t)event, sizeof *event},
                               {(void *)(uintptr_t)path, event->path_bytes},
                               {(void *)(uintptr_t)second, event->second_bytes}};
    int n = 3;
    uint64_t left = event->data_bytes;
    /* A call with more pieces than fit here is written out in several appends; the mutex is held.
     */
    (void)syscall(SYS_writev, shim.record_fd, pieces, n);
    for (int i = 0; i < n_iov && left > 0; i++) {
        size_t length = iov[i].iov_len < left ? iov[i].iov_len : (size_t)left;
        (void)syscall(SYS_write, shim.record_fd, iov[i].iov_base, length);
        left -= length;
    }
}

static void emit_path(PowerCutKind kind, uint32_t id, const char *path, const char *second)
{
    PowerCutEvent event = {.magic = POWER_CUT_MAGIC,
                           .kind = kind,
                           .id = id,
                           .path_bytes = (uint32_t)strlen(path),
                           .second_bytes = second != NULL ? (uint32_t)strlen(second) : 0};
    emit(&event, path, second, NULL, 0);
}

static void lock(void)
{
    if (shim.record_fd >= 0) {
        (void)mtx_lock(&shim.mutex);
    }
}

static void unlock(void)
{
    if (shim.record_fd >= 0) {
        int error = errno;
        (void)mtx_unlock(&shim.mutex);
        errno = error;
    }
}

/* The number of an open file; 0 when it was never opened by name (O_TMPFILE) or is a directory. */
static uint32_t id_of(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
    for (size_t i = shim.n_files; i-- > 0;) {
        if (shim.files[i].inode == status.st_ino && shim.files[i].device == status.st_dev) {
            return shim.files[i].id;
        }
    }
    return 0;
}

static uint32_t new_id(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || shim.n_files == MAX_FILES) {
        abort();
    }
    shim.files[shim.n_files++] = (FileId){status.st_dev, status.st_ino, ++shim.next_id};
    return shim.next_id;
}

/* A file that was there before the recording: its contents go into the log as durable. */
static void emit_existing(int fd, const char *path)
{
    char bytes[65536];
    int source = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    uint32_t id = new_id(fd);
    emit_path(POWER_CUT_EXISTING, id, path, NULL);
    uint64_t offset = 0;
    for (ssize_t n = 1; source >= 0 && n > 0; offset += (uint64_t)n) {
        n = syscall(SYS_pread64, source, bytes, sizeof bytes, offset);
        if (n <= 0) {
            break;
        }
        PowerCutEvent event = {.magic = POWER_CUT_MAGIC,
                               .kind = POWER_CUT_WRITE,
                               .id = id,
                               .is_durable = 1,
                               .offset = offset,
                               .data_bytes = (uint64_t)n};
        struct iovec iov = {bytes, (size_t)n};
        emit(&event, "", "", &iov, 1);
    }
    if (source >= 0) {
        (void)syscall(SYS_close, source);
    }
}

static void emit_write(int fd, const struct iovec *iov, int n_iov, uint64_t offset, ssize_t written)
{
    uint32_t id = shim.record_fd >= 0 && written > 0 ? id_of(fd) : 0;
    if (id == 0) {
        return;
    }
    int flags = fcntl(fd, F_GETFL);
    PowerCutEvent event = {.magic = POWER_CUT_MAGIC,
                           .kind = POWER_CUT_WRITE,
                           .id = id,
                           .is_durable = (flags & O_DSYNC) != 0,
                           .offset = offset,
                           .data_bytes = (uint64_t)written};
    emit(&event, "", "", iov, n_iov);
}

/* --- opening --------------------------------------------------------------------------------- */

static int open_recorded(int directory, const char *name, int flags, mode_t mode)
{
    char path[PATH_MAX];
    struct stat status;
    if (!resolve(directory, name, path) || shim.record_fd < 0 || (flags & O_DIRECTORY) != 0 ||
        (flags & O_ACCMODE) == O_RDONLY) {
        return (int)syscall(SYS_openat, directory, name, flags, mode);
    }
    lock();
    bool existed = fstatat(directory, name, &status, 0) == 0;
    bool truncates = existed && (flags & O_TRUNC) != 0;
    int fd = (int)syscall(SYS_openat, directory, name, flags & ~O_TRUNC, mode);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        if (!existed) {
            emit_path(POWER_CUT_CREATE, new_id(fd), path, NULL);
        } else if (id_of(fd) == 0) {
            emit_existing(fd, path);
        }
        if (truncates) {
            (void)syscall(SYS_ftruncate, fd, 0);
            PowerCutEvent event = {
                .magic = POWER_CUT_MAGIC, .kind = POWER_CUT_TRUNCATE, .id = id_of(fd)};
            emit(&event, "", "", NULL, 0);
        }
    }
    unlock();
    return fd;
}

static mode_t mode_argument(int flags, va_list arguments)
{
    return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = mode_argument(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return open_recorded(AT_FDCWD, path, flags, mode);                                         \
    }
#define DEFINE_OPENAT(name)                                                                        \
    int name(int directory, const char *path, int flags, ...)                                      \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = mode_argument(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return open_recorded(directory, path, flags, mode);                                        \
    }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

/* Compiled with fortification, programs call these instead when there is no mode. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

int __open_2(const char *path, int flags)
{
    return open_recorded(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
    return open_recorded(AT_FDCWD, path, flags, 0);
}

int __openat_2(int directory, const char *path, int flags)
{
    return open_recorded(directory, path, flags, 0);
}

int __openat64_2(int directory, const char *path, int flags)
{
    return open_recorded(directory, path, flags, 0);
}

int creat(const char *path, mode_t mode)
{
    return open_recorded(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int mkdirat(int directory, const char *name, mode_t mode)
{
    char path[PATH_MAX];
    bool below = resolve(directory, name, path);
    lock();
    int rc = (int)syscall(SYS_mkdirat, directory, name, mode);
    if (rc == 0 && below && shim.record_fd >= 0) {
        emit_path(POWER_CUT_MKDIR, 0, path, NULL);
    }
    unlock();
    return rc;
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

/* --- writing --------------------------------------------------------------------------------- */

static bool makes_longer(int fd, const struct iovec *iov, int n, bool at_offset, off_t offset)
{
    struct stat status;
    off_t end = at_offset ? offset : lseek(fd, 0, SEEK_CUR);
    if (fstat(fd, &status) != 0) {
        return false;
    }
    if (!at_offset && (fcntl(fd, F_GETFL) & O_APPEND) != 0) {
        end = status.st_size;
    }
    for (int i = 0; i < n; i++) {
        end += (off_t)iov[i].iov_len;
    }
    return end > status.st_size;
}

static ssize_t write_pieces(int fd, const struct iovec *iov, int n, bool at_offset, off_t offset)
{
    if (!counts(fd)) {
        return at_offset ? syscall(SYS_pwritev, fd, iov, n, offset, 0)
                         : syscall(SYS_writev, fd, iov, n);
    }
    Fate fate = next_fate();
    if (fate == FATE_FAIL) {
        return -1;
    }
    if (shim.full_path != NULL && syscall(SYS_faccessat, AT_FDCWD, shim.full_path, F_OK, 0) == 0 &&
        makes_longer(fd, iov, n, at_offset, offset)) {
        errno = ENOSPC;
        return -1;
    }
    struct iovec half;
    if (fate == FATE_HALF && n > 0) {
        half = (struct iovec){iov[0].iov_base, iov[0].iov_len / 2};
        iov = &half;
        n = 1;
    }
    lock();
    off_t where = offset;
    if (!at_offset) {
        struct stat status;
        bool appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0 && fstat(fd, &status) == 0;
        where = appends ? status.st_size : lseek(fd, 0, SEEK_CUR);
    }
    ssize_t written =
        at_offset ? syscall(SYS_pwritev, fd, iov, n, offset, 0) : syscall(SYS_writev, fd, iov, n);
    emit_write(fd, iov, n, (uint64_t)where, written);
    unlock();
    after(fate);
    return written;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, length};
    return write_pieces(fd, &iov, 1, false, 0);
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
    return write_pieces(fd, iov, n, false, 0);
}

#define DEFINE_PWRITE(name)                                                                        \
    ssize_t name(int fd, const void *bytes, size_t length, off_t offset)                           \
    {                                                                                              \
        struct iovec iov = {(void *)(uintptr_t)bytes, length};                                     \
        return write_pieces(fd, &iov, 1, true, offset);                                            \
    }
#define DEFINE_PWRITEV(name)                                                                       \
    ssize_t name(int fd, const struct iovec *iov, int n, off_t offset)                             \
    {                                                                                              \
        return write_pieces(fd, iov, n, true, offset);                                             \
    }

DEFINE_PWRITE(pwrite)
DEFINE_PWRITE(pwrite64)
DEFINE_PWRITEV(pwritev)
DEFINE_PWRITEV(pwritev64)

static int truncate_file(int fd, off_t size)
{
    if (!counts(fd)) {
        return (int)syscall(SYS_ftruncate, fd, size);
    }
    Fate fate = next_fate();
    if (fate == FATE_FAIL) {
        return -1;
    }
    lock();
    int rc = (int)syscall(SYS_ftruncate, fd, size);
    uint32_t id = rc == 0 && shim.record_fd >= 0 ? id_of(fd) : 0;
    if (id != 0) {
        PowerCutEvent event = {.magic = POWER_CUT_MAGIC,
                               .kind = POWER_CUT_TRUNCATE,
                               .id = id,
                               .offset = (uint64_t)size};
        emit(&event, "", "", NULL, 0);
    }
    unlock();
    after(fate);
    return rc;
}

int ftruncate(int fd, off_t size)
{
    return truncate_file(fd, size);
}

int ftruncate64(int fd, off_t size)
{
    return truncate_file(fd, size);
}

/* --- syncing --------------------------------------------------------------------------------- */

static int sync_file(int fd, long number)
{
    char path[PATH_MAX];
    struct stat status;
    if (!counts(fd)) {
        return (int)syscall(number, fd);
    }
    Fate fate = next_fate();
    if (fate == FATE_FAIL) {
        return -1;
    }
    (void)thrd_sleep(&shim.slow_sync, NULL);
    lock();
    int rc = (int)syscall(number, fd);
    if (rc == 0 && shim.record_fd >= 0 && fstat(fd, &status) == 0) {
        if (S_ISDIR(status.st_mode) && path_of_fd(fd, path)) {
            emit_path(POWER_CUT_SYNC_DIRECTORY, 0, path, NULL);
        } else {
            emit_path(POWER_CUT_SYNC, id_of(fd), "", NULL);
        }
    }
    unlock();
    after(fate);
    return rc;
}

int fsync(int fd)
{
    return sync_file(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_file(fd, SYS_fdatasync);
}

/* --- names ----------------------------------------------------------------------------------- */

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    bool below = resolve(from_directory, from, a) && resolve(to_directory, to, b);
    Fate fate = below ? next_fate() : FATE_DO;
    if (fate == FATE_FAIL) {
        return -1;
    }
    lock();
    int rc = (int)syscall(SYS_renameat, from_directory, from, to_directory, to);
    if (rc == 0 && below && shim.record_fd >= 0) {
        emit_path(POWER_CUT_RENAME, 0, a, b);
    }
    unlock();
    after(fate);
    return rc;
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int directory, const char *name, int flags)
{
    char path[PATH_MAX];
    bool below = resolve(directory, name, path);
    Fate fate = below ? next_fate() : FATE_DO;
    if (fate == FATE_FAIL) {
        return -1;
    }
    lock();
    struct stat status;
    bool known = fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    int rc = (int)syscall(SYS_unlinkat, directory, name, flags);
    if (rc == 0 && below && shim.record_fd >= 0) {
        emit_path(POWER_CUT_UNLINK, 0, path, NULL);
        /* The system may give its number to the next file. */
        for (size_t i = 0; known && i < shim.n_files; i++) {
            if (shim.files[i].inode == status.st_ino && shim.files[i].device == status.st_dev) {
                shim.files[i].inode = 0;
            }
        }
    }
    unlock();
    after(fate);
    return rc;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

/* --- stdio ------------------------------------------------------------------------------------ */

#define MAX_STREAMS 256

/* Streams that write below DIR; guarded by shim.mutex. A slot is free when its stream is NULL. */
static struct {
    FILE *stream;
    int fd;
} streams[MAX_STREAMS];

static ssize_t stream_write(void *cookie, const char *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = write((int)(intptr_t)cookie, bytes + done, length - done);
        if (n <= 0) {
            return 0; /* which is how a cookie says that it failed */
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int stream_close(void *cookie)
{
    int fd = (int)(intptr_t)cookie;
    (void)mtx_lock(&shim.mutex);
    for (size_t i = 0; i < MAX_STREAMS; i++) {
        if (streams[i].stream != NULL && streams[i].fd == fd) {
            streams[i].stream = NULL;
        }
    }
    (void)mtx_unlock(&shim.mutex);
    return (int)syscall(SYS_close, fd);
}

static FILE *open_stream(const char *path, const char *mode)
{
    bool appends = mode[0] == 'a';
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (appends ? O_APPEND : O_TRUNC);
    int fd = open_recorded(AT_FDCWD, path, flags, 0666);
    if (fd < 0) {
        return NULL;
    }
    cookie_io_functions_t functions = {.write = stream_write, .close = stream_close};
    FILE *stream = fopencookie((void *)(intptr_t)fd, appends ? "a" : "w", functions);
    (void)mtx_lock(&shim.mutex);
    size_t i = 0;
    while (i < MAX_STREAMS && streams[i].stream != NULL) {
        i++;
    }
    if (stream == NULL || i == MAX_STREAMS) {
        abort();
    }
    streams[i].stream = stream;
    streams[i].fd = fd;
    (void)mtx_unlock(&shim.mutex);
    return stream;
}

#define DEFINE_FOPEN(name)                                                                         \
    FILE *name(const char *path, const char *mode)                                                 \
    {                                                                                              \
        char absolute[PATH_MAX];                                                                   \
        FILE *(*real)(const char *, const char *) =                                                \
            __extension__(FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, #name);         \
        bool ours = (mode[0] == 'w' || mode[0] == 'a') && strchr(mode, '+') == NULL &&             \
                    resolve(AT_FDCWD, path, absolute);                                             \
        return ours ? open_stream(path, mode) : real(path, mode);                                  \
    }

DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

int fileno(FILE *stream)
{
    int (*real)(FILE *) = __extension__(int (*)(FILE *)) dlsym(RTLD_NEXT, "fileno");
    int fd = -1;
    init();
    if (shim.directory_length > 0) {
        (void)mtx_lock(&shim.mutex);
        for (size_t i = 0; i < MAX_STREAMS; i++) {
            fd = streams[i].stream == stream ? streams[i].fd : fd;
        }
        (void)mtx_unlock(&shim.mutex);
    }
    return fd >= 0 ? fd : real(stream);
}
