/* A library to preload: what a program meets when its machine fails it. A test turns each on and
 * off while the program runs.
 *
 *   LD_PRELOAD=./outage_shim.so OUTAGE=FILE program
 *
 * FILE holds three integers of 64 bits, which the test writes in place; all are 0 at first:
 *   0  nanoseconds that the system's clock is ahead (less than 0: behind)
 *   1  not 0: there is no route, connect() and sendto() fail with ENETUNREACH
 *   2  milliseconds that each fsync, fdatasync and msync takes longer
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

typedef struct Outage {
    _Atomic int64_t clock_ns;
    _Atomic int64_t no_route;
    _Atomic int64_t sync_ms;
} Outage;

static Outage nothing;
static Outage *outage = &nothing;
static once_flag once = ONCE_FLAG_INIT;

static void map_file(void)
{
    const char *path = getenv("OUTAGE");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *outage, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
        outage = map;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static const Outage *now(void)
{
    call_once(&once, map_file);
    return outage;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    long rc = syscall(SYS_clock_gettime, clock, time);
    if (rc == 0 && clock == CLOCK_REALTIME) {
        int64_t ns =
            time->tv_sec * INT64_C(1000000000) + time->tv_nsec + atomic_load(&now()->clock_ns);
        time->tv_sec = (time_t)(ns / 1000000000);
        time->tv_nsec = (long)(ns % 1000000000);
    }
    return (int)rc;
}

static int unreachable(const struct sockaddr *address)
{
    if (address == NULL || address->sa_family == AF_UNIX || atomic_load(&now()->no_route) == 0) {
        return 0;
    }
    errno = ENETUNREACH;
    return 1;
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return unreachable(address) ? -1 : (int)syscall(SYS_connect, fd, address, length);
}

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *address,
               socklen_t length)
{
    return unreachable(address)
               ? -1
               : (ssize_t)syscall(SYS_sendto, fd, bytes, n, flags, address, length);
}

static void wait_for_disk(void)
{
    int64_t ms = atomic_load(&now()->sync_ms);
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    if (ms > 0) {
        (void)thrd_sleep(&time, NULL);
    }
}

int fsync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, fd);
}

int msync(void *address, size_t length, int flags)
{
    wait_for_disk();
    return (int)syscall(SYS_msync, address, length, flags);
}
