#include "store/pages/page_db_open.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/pages/page_db_read.h"
#include "base/memory/file.h"
#include "base/thread/log.h"
#include "store/lmdb/reader_slots.h"
#include "store/page_batch/page_batch.h"
#include "store/page_tables/page_file.h"
#include "store/page_tables/page_hosts.h"
#include "store/page_tables/page_reader.h"
#include "store/pages/page_error.h"
#include "store/page_tables/page_lookup.h"

/* Which databases this process has open: each at most once.
 *
 * What: LMDB tells processes apart by a POSIX lock on lock.mdb. A second environment on the same
 * file in one process loses that lock for both when either is closed; other processes then take the
 * readers of this one for dead and reuse the pages that they read. So the second opening is refused
 * before LMDB sees it. A database is told by device and inode of its file, so another path to it is
 * the same database.
 * Owns: the list of claims, the one list of the process. A forked child has none of its parent's.
 * Threads: any; a mutex (RANK_TABLE) guards the list.
 * Errors: errno; EBUSY: it is open already. */

typedef struct PageClaim PageClaim;

/* The directory of a database: data.mdb and lock.mdb, and how a new database comes into being.
 *
 * What: LMDB begins a file with a write that is not synced, and refuses a file that has only half
 * of it. So a new database is made under another name, made durable, and renamed. A lock on the
 * directory keeps two processes from making two.
 * Owns: nothing; the path is PageDB's.
 * Threads: the one that opens the database.
 * Errors: errno and LMDB codes. */

#define DIRECTORY_MODE 0775

/* Makes the names in a folder durable; 0 or errno. */
static int sync_directory(const char *path)
{
    return file_sync_folder(path) == RESULT_OK ? 0 : errno;
}

/* Writes the tables of a database without pages. An LMDB code or errno. */
static int create_content(PageDBStore *store, MDB_txn *txn)
{
    if (getrandom(&store->seed, sizeof store->seed, 0) != (ssize_t)sizeof store->seed) {
        return errno;
    }
    const struct {
        const char *name;
        uint64_t number;
    } numbers[] = {{PAGE_TABLES_VERSION, PAGE_DB_FORMAT_VERSION},
                   {PAGE_TABLES_SEED, store->seed},
                   {PAGE_TABLES_N_PAGES, 0}};
    int rc = page_tables_open(txn, &store->tables, true);
    if (rc == 0) {
        rc = journal_create(txn);
    }
    for (size_t i = 0; rc == 0 && i < sizeof numbers / sizeof *numbers; i++) {
        rc = page_tables_write_number(txn, store->tables.info, numbers[i].name, numbers[i].number);
    }
    return rc;
}

/* A database without pages that is durable before it has its name. */
static int create_env(PageDB *db, const char *path, const char *file)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    int rc =
        unlink(path) == 0 || errno == ENOENT
            ? lmdb_env_open(&env, path, MDB_NOSUBDIR | MDB_NOLOCK, PAGE_DIRECTORY_MAX_TABLES, 0, 0)
            : errno;
    if (rc == 0) {
        rc = mdb_txn_begin(env, NULL, 0, &txn);
    }
    if (rc == 0) {
        rc = create_content(db->store, txn);
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
    return rc == 0 ? sync_directory(db->path) : rc;
}

/* LMDB begins a file with a write that is not synced, and refuses half of it ever after. So a new
 * one is made under another name; the lock on the directory keeps processes from making two. */
static int create_file(PageDB *db, const char *file)
{
    Path path;
    struct stat st;
    if (stat(file, &st) == 0 && st.st_size > 0) {
        return 0;
    }
    int fd = open(db->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || flock(fd, LOCK_EX) != 0 ? errno : 0;
    if (rc == 0 && (stat(file, &st) != 0 || st.st_size == 0)) {
        rc = create_env(db, file_path(&path, "%s/data.mdb.new", db->path), file);
    }
    file_close_fd(fd);
    return rc;
}

/* Makes sure that the directory holds a database, an existing one or a new one. */
static int page_directory_create(PageDB *db)
{
    Path path;
    struct stat st;
    int rc = mkdir(db->path, DIRECTORY_MODE) == 0
                 ? sync_directory(file_path(&path, "%s/..", db->path))
                 : errno;
    if (rc == EEXIST) {
        rc = stat(db->path, &st) != 0 ? errno : 0;
        if (rc == 0 && !S_ISDIR(st.st_mode)) {
            rc = ENOTDIR;
        }
    }
    return rc == 0 ? create_file(db, file_path(&path, "%s/data.mdb", db->path)) : rc;
}

/* Removes the files and, when nothing else is in it, the directory. */
static void page_directory_remove(const char *directory)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "data.mdb.new"};
    Path path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unlink(file_path(&path, "%s/%s", directory, names[i]));
    }
    (void)rmdir(directory);
}

struct PageClaim {
    PageClaim *next;
    dev_t device;
    ino_t file;
    pid_t process;
};

static Mutex list_mutex = {.handle = PTHREAD_MUTEX_INITIALIZER, .rank = RANK_TABLE};
static PageClaim *list; /* guarded by list_mutex */

/* Claims the database whose file is directory/data.mdb. On failure *claim is NULL. */
static int page_claim_take(PageClaim **claim, const char *directory)
{
    Path path;
    struct stat st;
    *claim = NULL;
    if (stat(file_path(&path, "%s/data.mdb", directory), &st) != 0) {
        return errno;
    }
    PageClaim *mine = malloc(sizeof *mine);
    if (mine == NULL) {
        return ENOMEM;
    }
    *mine = (PageClaim){.device = st.st_dev, .file = st.st_ino, .process = getpid()};
    mutex_lock(&list_mutex);
    const PageClaim *other = list;
    while (other != NULL && (other->device != mine->device || other->file != mine->file ||
                             other->process != mine->process)) {
        other = other->next;
    }
    if (other == NULL) {
        mine->next = list;
        list = mine;
    }
    mutex_unlock(&list_mutex);
    if (other != NULL) {
        free(mine);
        return EBUSY;
    }
    *claim = mine;
    return 0;
}

/* Gives it back; NULL is accepted. */
static void page_claim_drop(PageClaim *claim)
{
    if (claim == NULL) {
        return;
    }
    mutex_lock(&list_mutex);
    PageClaim **at = &list;
    while (*at != claim) {
        at = &(*at)->next;
    }
    *at = claim->next;
    mutex_unlock(&list_mutex);
    free(claim);
}

/* Opening and closing: the environment, the tables in it, and what is kept beside them. */

#define DEFAULT_READERS 510
#define LEAST_MAP_BYTES ((size_t)1 << 20)
#define MESSAGE_BYTES   512

/* Decides by the info table alone, without creating anything. An environment with other tables but
 * without ours is empty to us, unless it has tables of these names in another format. */
static int look_at_content(PageDB *db, MDB_txn *txn, bool *is_ours)
{
    MDB_dbi info = 0;
    *is_ours = false;
    int rc = mdb_dbi_open(txn, PAGE_TABLES_INFO, 0, &info);
    if (rc == MDB_NOTFOUND) {
        return page_db_error_ok;
    }
    uint64_t version = 0;
    if (rc == 0) {
        rc = page_tables_read_number(txn, info, PAGE_TABLES_VERSION, &version);
    }
    if (rc == MDB_NOTFOUND || rc == MDB_INVALID || rc == MDB_INCOMPATIBLE) {
        return page_db_fail(db, page_db_error_version,
                            "the database has no format version: not written by ragno");
    }
    if (rc != 0) {
        return page_db_fail_mdb(db, rc, "reading the format version");
    }
    if (version != PAGE_DB_FORMAT_VERSION) {
        char text[MESSAGE_BYTES];
        (void)snprintf(text, sizeof text,
                       "the database has format version %llu, this program reads version %u (%s)",
                       (unsigned long long)version, PAGE_DB_FORMAT_VERSION,
                       version < PAGE_DB_FORMAT_VERSION
                           ? "`ragno import` brings its WARC files into a new crawl"
                           : "a newer ragno reads it");
        return page_db_fail(db, page_db_error_version, text);
    }
    *is_ours = true;
    return page_db_error_ok;
}

static int check_counts(PageDB *db, MDB_txn *txn, bool damaged_keys)
{
    PageDBStore *store = db->store;
    uint64_t n_pages = 0;
    MDB_stat packs, hashes;
    int rc = page_tables_read_number(txn, store->tables.info, PAGE_TABLES_N_PAGES, &n_pages);
    if (rc == 0) {
        rc = page_tables_read_number(txn, store->tables.info, PAGE_TABLES_SEED, &store->seed);
    }
    if (rc == 0) {
        rc = mdb_stat(txn, store->tables.idx2info, &packs);
    }
    if (rc == 0) {
        rc = mdb_stat(txn, store->tables.hash2idx, &hashes);
    }
    if (rc != 0) {
        return page_db_fail_mdb(db, rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc, "reading the counts");
    }
    if (packs.ms_entries != (n_pages + PAGE_PACK_RECORDS - 1) / PAGE_PACK_RECORDS ||
        (hashes.ms_entries != n_pages && !damaged_keys)) {
        return page_db_fail(db, page_db_error_damaged,
                            "the tables do not have as many pages as the database counts");
    }
    return page_db_error_ok;
}

int page_db_share_seed(PageDB *db, MDB_txn *txn, uint64_t seed)
{
    error_clean(db->error);
    if (page_db_n_pages(db, txn) > 0 || page_db_n_hosts(db, txn) > 0) {
        return page_db_fail(db, page_db_error_invalid, "page_db_share_seed: there are pages");
    }
    int rc = page_tables_write_number(txn, db->store->tables.info, PAGE_TABLES_SEED, seed);
    db->store->seed = rc == 0 ? seed : db->store->seed;
    return page_db_fail_mdb(db, rc, "page_db_share_seed");
}

/* Opens or creates the tables in one transaction. */
static int open_content(PageDB *db, const PageDBOptions *options)
{
    MDB_txn *txn = NULL;
    bool is_ours = false;
    int rc = page_db_txn_begin(db, true, &txn);
    if (rc != page_db_error_ok) {
        return rc;
    }
    rc = look_at_content(db, txn, &is_ours);
    if (rc == page_db_error_ok && is_ours) {
        rc = page_db_fail_mdb(db, page_tables_open(txn, &db->store->tables, false),
                              "opening the tables");
        if (rc == page_db_error_ok) {
            rc = check_counts(db, txn, options->damaged_keys);
        }
    }
    /* Handles that were opened stay open only if their transaction is committed. */
    if (rc != page_db_error_ok || is_ours) {
        return page_db_txn_end_code(db, txn, rc);
    }
    page_db_txn_abort(db, txn);
    if (db->store->read_only) {
        return page_db_fail(db, page_db_error_invalid_path, "there is no page database");
    }
    rc = page_db_txn_begin(db, false, &txn);
    if (rc != page_db_error_ok) {
        return rc;
    }
    rc = page_db_fail_mdb(db, create_content(db->store, txn), "creating the tables");
    return page_db_txn_end_code(db, txn, rc);
}

static int open_journal(PageDB *db, const PageDBOptions *options)
{
    (void)options;
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(db, true, &txn);
    if (rc != page_db_error_ok) {
        return rc;
    }
    rc = page_db_fail_mdb(db, page_store_open_journal(db->store, txn), "opening the journal");
    return page_db_txn_end_code(db, txn, rc);
}

/* Whether a file can be mapped as LMDB does it; emulators refuse that sooner than other maps. */
static bool page_db_open_address_space_has(size_t bytes)
{
    int file = memfd_create("probe", MFD_CLOEXEC);
    void *probe = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    file_close_fd(file);
    return probe != MAP_FAILED && munmap(probe, bytes) == 0;
}

/* LMDB ends the program behind this: it has met a page that is none. */
static void page_db_open_tell_broken(MDB_env *env, const char *assertion)
{
    const char *path = NULL;
    (void)mdb_env_get_path(env, &path);
    LOG_ERROR("db", "the database file is broken", "path=%s problem=\"%s\" next=\"ragno verify\"",
              path == NULL ? "-" : path, assertion);
}

static int page_db_open_check_file(PageDB *db)
{
    bool cut = false;
    const char *what = NULL;
    int rc = page_file_check(db->store, &cut, &what);
    if (rc == 0 && cut) {
        return page_db_fail(db, page_db_error_damaged, "the file is shorter than its contents");
    }
    return page_db_fail_mdb(db, rc, what);
}

/* Clears what dead processes have left in the table of readers. Who only reads stays out while few
 * slots are left: the process that writes needs them. */
static int check_readers(PageDB *db)
{
    ReaderTable table;
    int rc = reader_slots_check(db->store->env, &table);
    unsigned kept = table.limit / PAGE_DB_KEPT_SHARE;
    if (rc == 0 && db->store->read_only && table.slots + kept >= table.limit) {
        char text[MESSAGE_BYTES];
        (void)snprintf(text, sizeof text,
                       "%u of %u slots for readers are taken, and the rest is kept for the crawl; "
                       "end some of the commands that read this database",
                       table.slots, table.limit);
        return page_db_fail(db, page_db_error_locked, text);
    }
    return page_db_fail_mdb(db, rc, "looking at the table of readers");
}

static int claim(PageDB *db, const PageDBOptions *options)
{
    int rc = page_claim_take(&db->store->claim, db->path);
    (void)options;
    if (rc == EBUSY) {
        return page_db_fail(db, page_db_error_locked,
                            "this process has the database open already; share that PageDB");
    }
    return page_db_fail_mdb(db, rc, db->path);
}

static int open_environment(PageDB *db, const PageDBOptions *options)
{
    PageDBStore *store = db->store;
    size_t map_bytes = options->map_bytes == 0 ? PAGE_DB_DEFAULT_SIZE : options->map_bytes;
    while (options->map_bytes == 0 && map_bytes > LEAST_MAP_BYTES &&
           !page_db_open_address_space_has(map_bytes)) {
        map_bytes /= 2;
    }
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
    flags |= options->read_only ? MDB_RDONLY : 0;
    flags |= options->no_sync ? MDB_NOSYNC : 0;
    unsigned readers = options->max_readers == 0 ? DEFAULT_READERS : options->max_readers;
    int rc =
        lmdb_env_open(&store->env, db->path, flags, PAGE_DIRECTORY_MAX_TABLES, map_bytes, readers);
    if (rc == 0) {
        rc = mdb_env_set_assert(store->env, page_db_open_tell_broken);
    }
    if (rc == EACCES && options->read_only) {
        return page_db_fail(
            db, page_db_error_invalid_path,
            "no permission for crawl.mdb, in which who reads needs to write lock.mdb: "
            "be the user who crawls, or read a copy of your own");
    }
    if (rc != 0) {
        return page_db_fail_mdb(db, rc, db->path);
    }
    rc = page_db_open_check_file(db);
    return rc == page_db_error_ok ? check_readers(db) : rc;
}

static PageDB *allocate(const char *path)
{
    PageDB *db = calloc(1, sizeof *db);
    PageDBStore *store = calloc(1, sizeof *store);
    Error *error = error_new();
    char *copy = strdup(path);
    if (db == NULL || store == NULL || error == NULL || copy == NULL) {
        free(copy);
        error_delete(error);
        free(store);
        free(db);
        return NULL;
    }
    db->path = copy;
    db->error = error;
    db->persist = PAGE_DB_DEFAULT_PERSIST;
    db->store = store;
    store->hash_mask = UINT64_MAX;
    mutex_init(&store->mutex, RANK_STORE);
    mutex_init(&store->readers_mutex, RANK_TABLE);
    page_lookup_init(&store->lookup);
    return db;
}

static void rest_readers(void *store)
{
    page_readers_rest(store);
}

static void settle_journal(void *context, bool committed)
{
    PageDBStore *store = context;
    journal_settle(store->journal, committed);
}

static int prepare_directory(PageDB *db, const PageDBOptions *options)
{
    Path file;
    if (options->read_only || options->no_create) {
        (void)file_path(&file, "%s/data.mdb", db->path);
        return page_db_fail_mdb(db, file_exists(file.text) ? 0 : errno, file.text);
    }
    return page_db_fail_mdb(db, page_directory_create(db), db->path);
}

/* All transactions go through the manager, so that the map can grow. */
static int make_txn_manager(PageDB *db, const PageDBOptions *options)
{
    (void)options;
    PageDBStore *store = db->store;
    if (txn_manager_new(&db->txn_manager, store->env) != txn_manager_error_ok) {
        return page_db_fail(db, page_db_error_memory, "page_db_open: out of memory");
    }
    store->txn_manager = db->txn_manager;
    db->txn_manager->drop_idle = rest_readers;
    db->txn_manager->settle = settle_journal;
    db->txn_manager->hook_context = store;
    return page_db_error_ok;
}

/* The order of opening: the directory, which gives a file its name only when it is whole; the
 * claim, before LMDB takes its lock; the environment, whose file is looked at before the first
 * transaction, because reading behind the end of a mapped file that was cut kills the process; the
 * manager, by which all transactions go; the tables; the journal, which is one of them. Whatever
 * fails, the caller has a PageDB with the words of the error, and page_db_delete takes it apart. */
int page_db_open(PageDB **db, const char *path, const PageDBOptions *options)
{
    static const PageDBOptions defaults = {.map_bytes = 0};
    if (db == NULL) {
        return page_db_error_invalid;
    }
    options = options == NULL ? &defaults : options;
    *db = allocate(path == NULL ? "" : path);
    if (*db == NULL) {
        return page_db_error_memory;
    }
    if (path == NULL) {
        return page_db_fail(*db, page_db_error_invalid, "page_db_open: path is NULL");
    }
    PageDBStore *store = (*db)->store;
    store->read_only = options->read_only;
    store->batch = page_batch_new();
    store->hosts = page_hosts_new();
    if (store->batch == NULL || store->hosts == NULL) {
        return page_db_fail(*db, page_db_error_memory, "page_db_open: out of memory");
    }
    static int (*const steps[])(PageDB *, const PageDBOptions *) = {
        prepare_directory, claim, open_environment, make_txn_manager, open_content, open_journal};
    int rc = page_db_error_ok;
    for (size_t i = 0; rc == page_db_error_ok && i < sizeof steps / sizeof *steps; i++) {
        rc = steps[i](*db, options);
    }
    if (rc != page_db_error_ok) {
        error_add((*db)->error, path);
    }
    return rc;
}

PageDBError page_db_set_sync(PageDB *db, int value)
{
    int rc = page_db_check(db, true, "page_db_set_sync");
    if (rc == page_db_error_ok) {
        rc = page_db_fail_mdb(db, mdb_env_set_flags(db->store->env, MDB_NOSYNC, value == 0),
                              "page_db_set_sync");
    }
    if (rc == page_db_error_ok) {
        db->store->lazy_sync = value == 0;
        atomic_store(&db->store->synced_ns, mono_now().ns);
    }
    if (rc == page_db_error_ok && value != 0) {
        rc = page_db_fail_mdb(db, mdb_env_sync(db->store->env, 1), "page_db_set_sync");
    }
    return (PageDBError)rc;
}

PageDBError page_db_new(PageDB **db, const char *path)
{
    PageDBError code = (PageDBError)page_db_open(db, path, NULL);
    if (code == page_db_error_ok) {
        code = page_db_set_sync(*db, 0);
    }
    return code;
}

/* The packed copy takes its place when the environment is closed, and the claim goes behind that:
 * no other PageDB of this process may open the file that is about to be replaced. */
PageDBError page_db_delete(PageDB *db)
{
    if (db == NULL) {
        return page_db_error_ok;
    }
    PageDBStore *store = db->store;
    bool opened = db->txn_manager != NULL;
    size_t packed = 0;
    page_readers_delete(store);
    (void)txn_manager_delete(db->txn_manager);
    if (store->env != NULL) {
        if (store->lazy_sync) {
            (void)mdb_env_sync(store->env, 1);
        }
        if (opened && !store->read_only && !store->failed) {
            packed = db->persist ? page_file_pack(store, db->path) : 0;
            page_file_trim(store);
        }
        mdb_env_close(store->env);
        if (packed != 0) {
            page_file_replace(db->path, packed);
        }
    }
    page_claim_drop(store->claim);
    journal_close(store->journal);
    if (opened && !db->persist && !store->read_only) {
        page_directory_remove(db->path);
    }
    domain_temp_delete(db->domain_temp);
    page_batch_delete(store->batch);
    page_hosts_delete(store->hosts);
    map_residence_close(&store->residence);
    mutex_destroy(&store->mutex);
    mutex_destroy(&store->readers_mutex);
    page_lookup_destroy(&store->lookup);
    error_delete(db->error);
    free(store);
    free(db->path);
    free(db);
    return page_db_error_ok;
}
