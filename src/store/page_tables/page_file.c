#include "store/page_tables/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/file.h"

/* A database that is opened for reading only cannot be lengthened to be looked at. Its writer, if
 * it lives, will do so; this many missing pages are taken for such a moment. */
#define MISSING_PAGES_WHILE_READING 16

#define AHEAD_SHARE      8u   /* the file is longer than it must be by this part of it at most */
#define LEAST_AHEAD      128u /* pages: smaller files are left alone */
#define PACK_SHARE       8u   /* of the pages are free */
#define LEAST_PACK_PAGES 256u
#define MOST_PACK_BYTES  ((uint64_t)256 << 20)
#define FETCHED_AT_ONCE  256u
#define ROOM_BYTES       ((uint64_t)4 << 20) /* less than this is no room */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

typedef struct FileLength {
    int fd;
    size_t page_bytes;
    uint64_t bytes;  /* of the file */
    uint64_t pages;  /* whole ones in it */
    uint64_t wanted; /* by the highest page number */
} FileLength;

static int page_file_measure(PageDBStore *store, FileLength *f)
{
    MDB_envinfo info;
    MDB_stat stat_;
    struct stat st;
    int rc = mdb_env_info(store->env, &info);
    if (rc == 0) {
        rc = mdb_env_stat(store->env, &stat_);
    }
    if (rc == 0) {
        rc = mdb_env_get_fd(store->env, &f->fd);
    }
    if (rc == 0 && fstat(f->fd, &st) != 0) {
        rc = errno;
    }
    if (rc == 0) {
        f->page_bytes = stat_.ms_psize;
        f->bytes = (uint64_t)st.st_size;
        f->pages = f->bytes / f->page_bytes;
        f->wanted = info.me_last_pgno + 1;
    }
    return rc;
}

/* How many free pages have numbers from `first` on. The free list is LMDB's table 0: values are a
 * count and that many page numbers. */
static int count_free(MDB_env *env, uint64_t first, uint64_t *n)
{
    MDB_txn *txn = NULL;
    LmdbRows rows;
    *n = 0;
    int rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (rc != 0) {
        return rc;
    }
    lmdb_rows_begin(&rows, txn, 0, (MDB_val){0});
    while (lmdb_rows_next(&rows)) {
        const char *bytes = rows.value.mv_data;
        size_t most = rows.value.mv_size / sizeof(size_t);
        size_t count = 0;
        if (most > 0) {
            memcpy(&count, bytes, sizeof count);
            (void)lmdb_rows_note(&rows, count < most ? 0 : MDB_CORRUPTED);
        }
        for (size_t i = 1; rows.code == 0 && i <= count; i++) {
            size_t page = 0;
            memcpy(&page, bytes + i * sizeof page, sizeof page);
            *n += page >= first;
        }
    }
    rc = lmdb_rows_close(&rows, 0);
    mdb_txn_abort(txn);
    return rc;
}

/* A file that is shorter than its highest page number says; nobody else writes. */
static int check_short_file(PageDBStore *store, bool *cut, const char **what)
{
    FileLength f;
    int rc = page_file_measure(store, &f);
    if (rc != 0 || f.pages >= f.wanted) {
        return rc;
    }
    /* With zeros in place of what is missing, LMDB answers MDB_CORRUPTED where it would die. */
    if (ftruncate(f.fd, (off_t)(f.wanted * f.page_bytes)) != 0) {
        *what = "lengthening the file";
        return errno;
    }
    uint64_t n_free = 0;
    rc = count_free(store->env, f.pages, &n_free);
    if (rc == 0 && n_free == f.wanted - f.pages) {
        return 0;
    }
    *cut = true;
    if (ftruncate(f.fd, (off_t)f.bytes) != 0) {
        *what = "restoring the file";
        return errno;
    }
    return 0;
}

int page_file_check(PageDBStore *store, bool *cut, const char **what)
{
    FileLength f;
    *cut = false;
    *what = "looking at the file";
    int rc = page_file_measure(store, &f);
    if (rc != 0 || f.pages >= f.wanted) {
        return rc;
    }
    if (store->read_only) {
        *cut = f.wanted - f.pages > MISSING_PAGES_WHILE_READING;
        return 0;
    }
    /* While this transaction is open no other process writes, so that what is cut off again below
     * is only what was added here. */
    MDB_txn *txn = NULL;
    rc = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (rc == 0) {
        rc = check_short_file(store, cut, what);
        mdb_txn_abort(txn);
    }
    return rc;
}

/* Not ftruncate: it would take away what another thread or process has written behind `to` since
 * the length was looked at. */
int page_file_lengthen(int fd, uint64_t from, uint64_t to)
{
    return fallocate(fd, 0, (off_t)from, (off_t)(to - from)) == 0 ? 0 : errno;
}

/* Brings the pages from the old end of the file on into the page cache, each for itself, since a
 * map that is read at random asks for no more; few at a time, since they count as resident while
 * they are mapped. What fails is only slower later. */
static void fetch_pages(const FileLength *f, uint64_t end)
{
    for (uint64_t at = f->pages; at < end; at += FETCHED_AT_ONCE) {
        uint64_t n = end - at < FETCHED_AT_ONCE ? end - at : FETCHED_AT_ONCE;
        size_t bytes = (size_t)n * f->page_bytes;
        void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, f->fd, (off_t)(at * f->page_bytes));
        if (map == MAP_FAILED) {
            return;
        }
        if (madvise(map, bytes, MADV_RANDOM) == 0) {
            (void)madvise(map, bytes, MADV_POPULATE_READ);
        }
        (void)munmap(map, bytes);
    }
}

void page_file_extend(PageDBStore *store)
{
    FileLength f;
    /* Counted as a reader, so that the map does not move. */
    inv_semaphore_inc(&store->txn_manager->txn_counter_read);
    int rc = page_file_measure(store, &f);
    inv_semaphore_dec(&store->txn_manager->txn_counter_read);
    if (rc != 0) {
        return;
    }
    uint64_t ahead = f.wanted / AHEAD_SHARE;
    ahead = ahead > PAGE_FILE_AHEAD ? PAGE_FILE_AHEAD : ahead;
    bool runs_short = ahead >= LEAST_AHEAD && f.pages < f.wanted + ahead / 2;
    uint64_t pages = runs_short ? f.wanted + ahead : f.wanted;
    if (f.pages < pages && page_file_lengthen(f.fd, f.bytes, pages * f.page_bytes) == 0 &&
        runs_short) {
        fetch_pages(&f, pages);
    }
}

void page_file_trim(PageDBStore *store)
{
    FileLength f;
    MDB_txn *txn = NULL;
    /* While it is open nobody else commits. */
    if (mdb_txn_begin(store->env, NULL, 0, &txn) != 0) {
        return;
    }
    if (page_file_measure(store, &f) == 0 && f.pages > f.wanted) {
        (void)!ftruncate(f.fd, (off_t)(f.wanted * f.page_bytes));
    }
    mdb_txn_abort(txn);
}

/* Whether its free pages are worth a copy. */
static bool page_file_is_loose(PageDBStore *store, const FileLength *f)
{
    uint64_t n_free = 0;
    return f->wanted >= LEAST_PACK_PAGES && f->wanted * f->page_bytes <= MOST_PACK_BYTES &&
           count_free(store->env, 0, &n_free) == 0 && n_free >= f->wanted / PACK_SHARE;
}

/* The copy has the owner and the mode of the original, whoever makes it. */
static bool page_file_copy(MDB_env *env, int from, int to)
{
    struct stat st;
    return fstat(from, &st) == 0 && fchown(to, st.st_uid, st.st_gid) == 0 &&
           fchmod(to, st.st_mode) == 0 && mdb_env_copyfd2(env, to, MDB_CP_COMPACT) == 0 &&
           fsync(to) == 0;
}

size_t page_file_pack(PageDBStore *store, const char *directory)
{
    FileLength f;
    MDB_envinfo info;
    Path path;
    if (page_file_measure(store, &f) != 0 || !page_file_is_loose(store, &f) ||
        mdb_env_info(store->env, &info) != 0) {
        return 0;
    }
    (void)file_path(&path, "%s/data.mdb.new", directory);
    int to = open(path.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, LMDB_FILE_MODE);
    bool copied = to >= 0 && page_file_copy(store->env, f.fd, to);
    file_close_fd(to);
    if (!copied) {
        (void)unlink(path.text);
    }
    return copied ? info.me_last_txnid : 0;
}

/* The last transaction of the file. Nobody else has it open. */
static bool page_file_is_as_of(const char *directory, size_t as_of)
{
    MDB_env *env = NULL;
    MDB_envinfo info;
    bool is = lmdb_env_open(&env, directory, MDB_RDONLY | MDB_NOLOCK, 0, 1, 0) == 0 &&
              mdb_env_info(env, &info) == 0 && info.me_last_txnid == as_of;
    mdb_env_close(env);
    return is;
}

/* The lock on the folder keeps away whoever is about to open the database, the lock on lock.mdb,
 * which is the one of LMDB, finds whoever has it open. */
void page_file_replace(const char *directory, size_t as_of)
{
    Path lock, file, copy;
    struct flock others = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    (void)file_path(&file, "%s/data.mdb", directory);
    (void)file_path(&copy, "%s/data.mdb.new", directory);
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = open(file_path(&lock, "%s/lock.mdb", directory), O_RDWR | O_CLOEXEC);
    bool is_alone = folder >= 0 && fd >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0 &&
                    fcntl(fd, F_SETLK, &others) == 0 && page_file_is_as_of(directory, as_of);
    if (is_alone && rename(copy.text, file.text) == 0) {
        (void)fsync(folder);
    } else {
        (void)unlink(copy.text);
    }
    file_close_fd(fd);
    file_close_fd(folder);
}

bool page_file_is_full(PageDBStore *store)
{
    FileLength f;
    struct rlimit limit;
    if (page_file_measure(store, &f) != 0) {
        return false;
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        f.bytes + ROOM_BYTES > limit.rlim_cur) {
        return true;
    }
    int rc = fallocate(f.fd, FALLOC_FL_KEEP_SIZE, (off_t)f.bytes, (off_t)ROOM_BYTES);
    return rc != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
}
