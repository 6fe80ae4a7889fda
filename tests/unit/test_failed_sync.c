/* A disk that fails while a commit is made durable. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/uio.h>

#include "store/best_first/bf_scheduler.h"
#include "store/frequency/freq_scheduler.h"
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "page_db_fixture.h"

#define CALLS 100u

/* These take the place of the C library's, for LMDB as well. */
int fdatasync(int fd);
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset);
ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset);

static bool sync_fails;
static unsigned syncs_found_full; /* the next ones find the disk full */
static size_t n_syncs;
static bool writes_are_short;

int fdatasync(int fd)
{
    (void)fd;
    n_syncs++;
    if (syncs_found_full > 0) {
        syncs_found_full--;
        errno = ENOSPC;
        return -1;
    }
    if (sync_fails) {
        errno = EIO;
        return -1;
    }
    return 0;
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
    ssize_t done = 0;
    for (int i = 0; i < n; i++) {
        ssize_t rc = pwrite(fd, parts[i].iov_base, parts[i].iov_len, offset + done);
        if (rc < 0) {
            return rc;
        }
        done += rc;
    }
    return writes_are_short ? done / 2 : done;
}

static char path[FOLDER_BYTES];

static int add(PageDB *db, const char *url)
{
    CrawledPage *page = page_db_fixture_page(url, 1.0, 0.5f, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(page, "http://a.test/link", 0.5f), 0);
    int rc = (int)page_db_add(db, page, NULL);
    crawled_page_delete(page);
    return rc;
}

static PageDB *open_durable(const char *name)
{
    PageDB *db = NULL;
    PageDBOptions options = {.map_bytes = (size_t)1 << 28}; /* a sanitizer lets no usual one grow */
    folder_name(path, name);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &options), page_db_error_ok);
    return db;
}

static void after_a_failed_sync_nothing_is_committed_until_it_is_opened_anew(void)
{
    PageDB *db = open_durable("sync");
    CU_ASSERT_EQUAL(add(db, "http://a.test/1"), page_db_error_ok);
    sync_fails = true;
    CU_ASSERT_EQUAL(add(db, "http://a.test/2"), page_db_error_io);
    CU_ASSERT_PTR_NOT_NULL(error_message(db->error));
    sync_fails = false; /* as the system says of pages that it has dropped */
    CU_ASSERT_EQUAL(add(db, "http://a.test/3"), page_db_error_io);
    const char *words = error_message(db->error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(words);
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "open it anew"));
    uint64_t index = 7;
    CU_ASSERT_EQUAL(page_db_get_idx(db, page_db_hash("http://a.test/1"), &index), page_db_error_ok);
    (void)page_db_delete(db);
    db = open_durable("sync");
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_get_idx(db, page_db_hash("http://a.test/1"), &index), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_get_idx(db, page_db_hash("http://a.test/2"), &index),
                    page_db_error_no_page);
    CU_ASSERT_EQUAL(add(db, "http://a.test/2"), page_db_error_ok);
    (void)page_db_delete(db);
}

/* Even where each call takes a tenth of a second. */
static void calls_of_the_documented_library_share_syncs(void)
{
    PageDB *db = NULL;
    FreqScheduler *scheduler = NULL;
    folder_name(path, "shared");
    CU_ASSERT_EQUAL_FATAL(page_db_new(&db, path), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_new(&scheduler, db, NULL), freq_scheduler_error_ok);
    n_syncs = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        char url[64];
        PageRequest *request = NULL;
        (void)snprintf(url, sizeof url, "http://a.test/%u", i);
        CU_ASSERT_EQUAL(add(db, url), page_db_error_ok);
        CU_ASSERT_EQUAL(freq_scheduler_request(scheduler, 1, &request), freq_scheduler_error_ok);
        page_request_delete(request);
    }
    CU_ASSERT(n_syncs < CALLS / 2);
    n_syncs = 0;
    CU_ASSERT_EQUAL(page_db_set_sync(db, 1), page_db_error_ok);
    CU_ASSERT_EQUAL(n_syncs, 1); /* of those before */
    CU_ASSERT_EQUAL(add(db, "http://a.test/durable"), page_db_error_ok);
    CU_ASSERT(n_syncs > 1);
    n_syncs = 0;
    CU_ASSERT_EQUAL(page_db_set_sync(db, 0), page_db_error_ok);
    freq_scheduler_delete(scheduler);
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(n_syncs, 1);
}

/* It has room again at once, as after the map has grown. */
static void a_reload_whose_commit_found_the_disk_full_goes_over_its_pages_again(void)
{
    PageDB *db = open_durable("reload");
    BFScheduler *sch = NULL;
    BFSchedulerCounts counts;
    CU_ASSERT_EQUAL(add(db, "http://a.test/"), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&sch, db, NULL), bf_scheduler_error_ok);
    syncs_found_full = 1;
    CU_ASSERT_EQUAL(bf_scheduler_reload(sch), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(syncs_found_full, 0);
    CU_ASSERT_EQUAL(bf_scheduler_counts(sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(counts.scheduled, 1);
    bf_scheduler_delete(sch);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    folder_remove(path);
}

UNIT_MAIN("failed_sync",
          {"a reload whose commit found the disk full goes over its pages again",
           a_reload_whose_commit_found_the_disk_full_goes_over_its_pages_again},
          {"calls of the documented library share syncs",
           calls_of_the_documented_library_share_syncs},
          {"after a failed sync nothing is committed until it is opened anew",
           after_a_failed_sync_nothing_is_committed_until_it_is_opened_anew})
