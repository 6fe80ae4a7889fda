/* Updates of the best-first scheduler on disks that are slow. The calls by which LMDB writes are
 * this program's own; as much of the scheduler's time passes in them as such a disk would take. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "store/pages/page_db_open.h"
#include "bf_world.h"
#include "fake_time.h"

static atomic_uint sync_us;  /* that each sync takes, */
static atomic_uint write_us; /* and each page that was written before */

#define GOOD_SYNC_US 50
static atomic_uint bytes_to_sync;
static FakeTime fake_time;

/* The C library's names; nothing declares them here with these attributes. */
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset);
ssize_t writev(int fd, const struct iovec *pieces, int n);
int fdatasync(int fd);

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    atomic_fetch_add(&bytes_to_sync, (unsigned)n);
    return syscall(SYS_pwrite64, fd, bytes, n, offset);
}

ssize_t writev(int fd, const struct iovec *pieces, int n)
{
    for (int i = 0; i < n; i++) {
        atomic_fetch_add(&bytes_to_sync, (unsigned)pieces[i].iov_len);
    }
    return syscall(SYS_writev, fd, pieces, n);
}

int fdatasync(int fd)
{
    int64_t n = atomic_exchange(&bytes_to_sync, 0) / 4096;
    (void)fd;
    fake_time_add(&fake_time,
                  1000 * ((int64_t)atomic_load(&sync_us) + n * (int64_t)atomic_load(&write_us)));
    return 0;
}

/* Each update moves every page. */
static int update_all(void *state)
{
    atomic_fetch_add((atomic_uint *)state, 1);
    return 0;
}

static int get_other(void *state, uint64_t index, float *old, float *score)
{
    *old = 0.0f;
    *score = 1.0f / (float)(2 + (index + atomic_load((atomic_uint *)state)) % 16 * 4);
    return 0;
}

static void start(World *w, atomic_uint *n_updates)
{
    const PageDBOptions options = {.map_bytes = (size_t)1 << 32};
    fake_time_init(&fake_time);
    atomic_store(&sync_us, GOOD_SYNC_US);
    atomic_store(&write_us, 0);
    folder_make(w->dir);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&w->db, w->dir, &options), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&w->sch, w->db, NULL), bf_scheduler_error_ok);
    bf_scheduler_set_time(w->sch, &fake_time.keeper);
    *w->sch->scorer = (Scorer){.state = n_updates, .update = update_all, .get = get_other};
}

static BFSchedulerCounts counts_of(World *w)
{
    BFSchedulerCounts counts = {0};
    CU_ASSERT_EQUAL(bf_scheduler_counts(w->sch, &counts), bf_scheduler_error_ok);
    return counts;
}

static void end(World *w)
{
    CU_ASSERT_EQUAL(bf_scheduler_update_stop(w->sch), bf_scheduler_error_ok);
    world_end(w);
    fake_time_destroy(&fake_time);
}

static void where_a_sync_takes_too_long_only_adders_write(void)
{
    World w;
    atomic_uint n_updates = 0;
    start(&w, &n_updates);
    atomic_store(&sync_us, 60000);
    add_web(&w, 0, 128, 4000);
    CU_ASSERT_EQUAL(bf_scheduler_update_start(w.sch), bf_scheduler_error_ok);
    for (uint64_t i = 128; i < 134; i++) {
        fake_time_pass(&fake_time, BF_SCHEDULER_SILENCE_MS * 13 / 10);
        add_web(&w, i, i + 1, 4000);
    }
    BFSchedulerCounts counts = counts_of(&w);
    CU_ASSERT(atomic_load(&n_updates) > 0 && counts.rides > 2 && counts.moves > 30);
    CU_ASSERT_EQUAL(counts.update_txns, 0);
    end(&w);
}

static void transactions_are_as_small_as_the_disk_is_slow(void)
{
    World w;
    atomic_uint n_updates = 0;
    start(&w, &n_updates);
    add_web(&w, 0, 1000, 100000);
    atomic_store(&sync_us, 2000);
    atomic_store(&write_us, 1000);
    add_web(&w, 1000, 1010, 100000);
    CU_ASSERT_EQUAL(bf_scheduler_update_start(w.sch), bf_scheduler_error_ok);
    BFSchedulerCounts counts = counts_of(&w);
    for (int i = 0; i < 1000 && counts.update_txns < 3; i++) {
        fake_time_pass(&fake_time, 20);
        counts = counts_of(&w);
    }
    CU_ASSERT(counts.update_txns >= 3 && counts.moves > 0);
    CU_ASSERT(counts.longest_update_ms > 2.0);
    CU_ASSERT(counts.longest_update_ms < 50.0);
    end(&w);
}

UNIT_MAIN("bf_slow_disk",
          {"where a sync takes too long only adders write",
           where_a_sync_takes_too_long_only_adders_write},
          {"transactions are as small as the disk is slow",
           transactions_are_as_small_as_the_disk_is_slow})
