#include "store/pages/page_db.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "store/pages/page_batch.h"
#include "store/pages/page_file.h"
#include "store/pages/page_hosts.h"
#include "store/records/page_packs.h"
#include "store/pages/page_reader.h"

#define DIRECTORY_MODE  0775
#define FILE_MODE       0664
#define MAX_TABLES      32
#define DEFAULT_READERS 510
#define LEAST_MAP_BYTES ((size_t)1 << 20)
#define MESSAGE_BYTES   512

static const char version_key[] = "version";
static const char seed_key[] = "seed";

int page_db_fail(PageDB *db, int code, const char *what)
{
    if (code != page_db_error_ok) {
        error_set(db->error, code, what);
    }
    return code;
}

static int code_of_mdb(int rc)
{
    switch (rc) {
    case 0:
        return page_db_error_ok;
    case ENOMEM:
        return page_db_error_memory;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO: /* LMDB's answer to a short write */
        return page_db_error_full;
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
        return page_db_error_version;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        return page_db_error_damaged;
    case MDB_READERS_FULL:
    case EAGAIN:
    case EBUSY:
        return page_db_error_locked;
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
        return page_db_error_invalid_path;
    default:
        return page_db_error_internal;
    }
}

int page_db_fail_mdb(PageDB *db, int rc, const char *what)
{
    if (rc == 0) {
        return page_db_error_ok;
    }
    char text[MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s: %s", what, mdb_strerror(rc));
    return page_db_fail(db, code_of_mdb(rc), text);
}

uint64_t page_db_hash(const char *url)
{
    PageDBStore store = {.hash_mask = UINT64_MAX};
    PageDB db = {.store = &store};
    return page_db_key(&db, url, strlen(url)).hash;
}

uint32_t page_db_hash_get_domain(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

uint32_t page_db_hash_get_url(uint64_t hash)
{
    return (uint32_t)hash;
}

/* ---- Opening -----------------------------------------------------------------------------------
 */

static int open_table(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi)
{
    return mdb_dbi_open(txn, name, flags, dbi);
}

static int open_tables(MDB_txn *txn, PageTables *t, unsigned create)
{
    const struct {
        const char *name;
        unsigned flags;
        MDB_dbi *dbi;
    } tables[] = {
        {"info", 0, &t->info},
        {"hash2idx", MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED, &t->hash2idx},
        {"idx2info", MDB_INTEGERKEY, &t->idx2info},
        {"idx2crawl", MDB_INTEGERKEY, &t->idx2crawl},
        {"links", MDB_INTEGERKEY, &t->links},
        {"origins", MDB_INTEGERKEY, &t->origins},
        {"origin2host", MDB_INTEGERKEY, &t->origin2host},
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++) {
        rc = open_table(txn, tables[i].name, tables[i].flags | create, tables[i].dbi);
    }
    return rc;
}

static MDB_val key_of(const char *name)
{
    return (MDB_val){strlen(name), (char *)(uintptr_t)name};
}

static int read_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t *number)
{
    MDB_val key = key_of(name), value;
    int rc = mdb_get(txn, info, &key, &value);
    if (rc == 0 && value.mv_size != sizeof *number) {
        return MDB_INVALID;
    }
    if (rc == 0) {
        memcpy(number, value.mv_data, sizeof *number);
        *number = le64toh(*number);
    }
    return rc;
}

static int write_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t number)
{
    number = htole64(number);
    MDB_val key = key_of(name), value = {sizeof number, &number};
    return mdb_put(txn, info, &key, &value, 0);
}

int page_db_count_pages(PageDBStore *store, MDB_txn *txn, uint64_t *n_pages)
{
    return read_number(txn, store->tables.info, PAGE_DB_N_PAGES_KEY, n_pages);
}

/* What an environment holds before it is touched. */
typedef enum Content { CONTENT_EMPTY, CONTENT_OURS } Content;

/* Decides by the info table alone, without creating anything. An environment with other tables but
 * without ours is empty to us, unless it has tables of these names in another format. */
static int look_at_content(PageDB *db, MDB_txn *txn, Content *content)
{
    MDB_dbi info = 0;
    *content = CONTENT_EMPTY;
    int rc = mdb_dbi_open(txn, "info", 0, &info);
    if (rc == MDB_NOTFOUND) {
        return page_db_error_ok;
    }
    uint64_t version = 0;
    if (rc == 0) {
        rc = read_number(txn, info, version_key, &version);
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
                       "the database has format version %llu, this program reads version %u",
                       (unsigned long long)version, PAGE_DB_FORMAT_VERSION);
        return page_db_fail(db, page_db_error_version, text);
    }
    *content = CONTENT_OURS;
    return page_db_error_ok;
}

static int check_counts(PageDB *db, MDB_txn *txn, bool damaged_keys)
{
    PageDBStore *store = db->store;
    uint64_t n_pages = 0;
    MDB_stat packs, hashes;
    int rc = read_number(txn, store->tables.info, PAGE_DB_N_PAGES_KEY, &n_pages);
    if (rc == 0) {
        rc = read_number(txn, store->tables.info, seed_key, &store->seed);
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

/* An LMDB code or errno. */
static int create_content(PageDBStore *store, MDB_txn *txn)
{
    if (getrandom(&store->seed, sizeof store->seed, 0) != (ssize_t)sizeof store->seed) {
        return errno;
    }
    int rc = open_tables(txn, &store->tables, MDB_CREATE);
    if (rc == 0) {
        rc = write_number(txn, store->tables.info, version_key, PAGE_DB_FORMAT_VERSION);
    }
    if (rc == 0) {
        rc = write_number(txn, store->tables.info, seed_key, store->seed);
    }
    if (rc == 0) {
        rc = write_number(txn, store->tables.info, PAGE_DB_N_PAGES_KEY, 0);
    }
    return rc;
}

/* Opens or creates the tables in one transaction. */
static int open_content(PageDB *db, bool damaged_keys)
{
    MDB_txn *txn = NULL;
    Content content = CONTENT_EMPTY;
    int rc = page_db_txn_begin(db, true, &txn);
    if (rc != page_db_error_ok) {
        return rc;
    }
    rc = look_at_content(db, txn, &content);
    if (rc == page_db_error_ok && content == CONTENT_OURS) {
        rc = page_db_fail_mdb(db, open_tables(txn, &db->store->tables, 0), "opening the tables");
        if (rc == page_db_error_ok) {
            rc = check_counts(db, txn, damaged_keys);
        }
    }
    /* Handles that were opened stay open only if their transaction is committed. */
    if (rc != page_db_error_ok || content == CONTENT_OURS) {
        if (rc == page_db_error_ok) {
            return page_db_txn_commit(db, txn);
        }
        page_db_txn_abort(db, txn);
        return rc;
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
    if (rc != page_db_error_ok) {
        page_db_txn_abort(db, txn);
        return rc;
    }
    return page_db_txn_commit(db, txn);
}

static int file_path(const PageDB *db, const char *name, char *out, size_t size)
{
    int n = snprintf(out, size, "%s/%s", db->path, name);
    return n < 0 || (size_t)n >= size ? ENAMETOOLONG : 0;
}

/* Makes the names in db->path, or with "..", its own name durable. */
static int sync_directory(const PageDB *db, const char *name)
{
    char path[4096];
    int rc = file_path(db, name, path, sizeof path);
    int fd = rc == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (rc == 0 && (fd < 0 || fsync(fd) != 0)) {
        rc = errno;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* A database without pages that is durable before it has its name. */
static int create_env(PageDB *db, const char *fresh, const char *file)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    int rc = unlink(fresh) == 0 || errno == ENOENT ? mdb_env_create(&env) : errno;
    if (rc != 0) {
        return rc;
    }
    rc = mdb_env_set_maxdbs(env, MAX_TABLES);
    if (rc == 0) {
        rc = mdb_env_open(env, fresh, MDB_NOSUBDIR | MDB_NOLOCK, FILE_MODE);
    }
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
    if (rc == 0 && rename(fresh, file) != 0) {
        rc = errno;
    }
    return rc == 0 ? sync_directory(db, ".") : rc;
}

/* LMDB begins a file with a write that is not synced, and refuses half of it ever after. So a new
 * one is made under another name; the lock on the directory keeps processes from making two. */
static int create_file(PageDB *db, const char *file)
{
    char fresh[4096];
    struct stat st;
    if (stat(file, &st) == 0 && st.st_size > 0) {
        return 0;
    }
    int rc = file_path(db, "data.mdb.new", fresh, sizeof fresh);
    int fd = rc == 0 ? open(db->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (rc == 0 && (fd < 0 || flock(fd, LOCK_EX) != 0)) {
        rc = errno;
    }
    if (rc == 0 && (stat(file, &st) != 0 || st.st_size == 0)) {
        rc = create_env(db, fresh, file);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

static int prepare_directory(PageDB *db, const PageDBOptions *options)
{
    char file[4096];
    struct stat st;
    int rc = file_path(db, "data.mdb", file, sizeof file);
    if (rc != 0) {
        return page_db_fail_mdb(db, rc, db->path);
    }
    if (options->read_only || options->no_create) {
        if (stat(file, &st) != 0) {
            return page_db_fail_mdb(db, errno, file);
        }
        return page_db_error_ok;
    }
    rc = mkdir(db->path, DIRECTORY_MODE) == 0 ? sync_directory(db, "..") : errno;
    if (rc == EEXIST) {
        rc = stat(db->path, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    }
    if (rc == 0) {
        rc = create_file(db, file);
    }
    return page_db_fail_mdb(db, rc, db->path);
}

static bool address_space_has(size_t bytes)
{
    void *probe = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return probe != MAP_FAILED && munmap(probe, bytes) == 0;
}

/* LMDB ends the program behind this: it has met a page that is none. */
static void tell_broken(MDB_env *env, const char *assertion)
{
    const char *path = NULL;
    (void)mdb_env_get_path(env, &path);
    LOG_ERROR("db", "the database file is broken", "path=%s problem=\"%s\" next=\"ragno verify\"",
              path == NULL ? "-" : path, assertion);
}

static int open_environment(PageDB *db, const PageDBOptions *options)
{
    PageDBStore *store = db->store;
    size_t map_bytes = options->map_bytes == 0 ? PAGE_DB_DEFAULT_SIZE : options->map_bytes;
    while (options->map_bytes == 0 && map_bytes > LEAST_MAP_BYTES &&
           !address_space_has(map_bytes)) {
        map_bytes /= 2;
    }
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
    flags |= options->read_only ? MDB_RDONLY : 0;
    flags |= options->no_sync ? MDB_NOSYNC : 0;
    unsigned readers = options->max_readers == 0 ? DEFAULT_READERS : options->max_readers;
    int rc = mdb_env_create(&store->env);
    if (rc == 0) {
        rc = mdb_env_set_mapsize(store->env, map_bytes);
    }
    if (rc == 0) {
        rc = mdb_env_set_assert(store->env, tell_broken);
    }
    if (rc == 0) {
        rc = mdb_env_set_maxreaders(store->env, readers);
    }
    if (rc == 0) {
        rc = mdb_env_set_maxdbs(store->env, MAX_TABLES);
    }
    if (rc == 0) {
        rc = mdb_env_open(store->env, db->path, flags, FILE_MODE);
    }
    if (rc == 0) {
        return page_file_check(db);
    }
    return page_db_fail_mdb(db, rc, db->path);
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
    mutex_init(&store->streams_mutex, RANK_STORE);
    mutex_init(&store->readers_mutex, RANK_TABLE);
    page_lookup_init(&store->lookup);
    return db;
}

static void rest_readers(void *db)
{
    page_readers_rest(db);
}

int page_db_open(PageDB **db, const char *path, const PageDBOptions *options)
{
    static const PageDBOptions defaults = {.map_bytes = 0};
    options = options == NULL ? &defaults : options;
    *db = allocate(path);
    if (*db == NULL) {
        return page_db_error_memory;
    }
    PageDBStore *store = (*db)->store;
    store->read_only = options->read_only;
    store->batch = page_batch_new();
    store->hosts = page_hosts_new();
    if (store->batch == NULL || store->hosts == NULL) {
        return page_db_fail(*db, page_db_error_memory, "page_db_open: out of memory");
    }
    int rc = prepare_directory(*db, options);
    if (rc == page_db_error_ok) {
        rc = open_environment(*db, options);
    }
    if (rc == page_db_error_ok &&
        txn_manager_new(&(*db)->txn_manager, store->env) != txn_manager_error_ok) {
        rc = page_db_fail(*db, page_db_error_memory, "page_db_open: out of memory");
    }
    if (rc == page_db_error_ok) {
        (*db)->txn_manager->park = page_stream_park_all;
        (*db)->txn_manager->drop_idle = rest_readers;
        (*db)->txn_manager->hook_context = *db;
        rc = open_content(*db, options->damaged_keys);
    }
    if (rc != page_db_error_ok) {
        error_add((*db)->error, path);
    }
    return rc;
}

PageDBError page_db_new(PageDB **db, const char *path)
{
    return (PageDBError)page_db_open(db, path, NULL);
}

static void remove_files(PageDB *db)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "data.mdb.new"};
    char file[4096];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (file_path(db, names[i], file, sizeof file) == 0) {
            (void)unlink(file);
        }
    }
    (void)rmdir(db->path);
}

PageDBError page_db_delete(PageDB *db)
{
    if (db == NULL) {
        return page_db_error_ok;
    }
    PageDBStore *store = db->store;
    bool opened = db->txn_manager != NULL;
    page_readers_delete(db);
    (void)txn_manager_delete(db->txn_manager);
    if (store->env != NULL) {
        mdb_env_close(store->env);
    }
    if (opened && !db->persist && !store->read_only) {
        remove_files(db);
    }
    domain_temp_delete(db->domain_temp);
    page_batch_delete(store->batch);
    page_hosts_delete(store->hosts);
    map_residence_close(&store->residence);
    mutex_destroy(&store->mutex);
    mutex_destroy(&store->streams_mutex);
    mutex_destroy(&store->readers_mutex);
    page_lookup_destroy(&store->lookup);
    error_delete(db->error);
    free(store);
    free(db->path);
    free(db);
    return page_db_error_ok;
}

/* ---- Transactions ------------------------------------------------------------------------------
 */

MDB_env *page_db_env(PageDB *db)
{
    return db->store->env;
}

int page_db_txn_begin(PageDB *db, bool read_only, MDB_txn **txn)
{
    error_clean(db->error);
    *txn = NULL;
    if (!read_only && db->store->read_only) {
        return page_db_fail(db, page_db_error_read_only, "the database was opened for reading");
    }
    int rc = txn_manager_begin_mdb(db->txn_manager, read_only ? MDB_RDONLY : 0, txn);
    if (rc == 0 && !read_only) {
        page_hosts_begin(db->store->hosts, mdb_txn_id(*txn));
    }
    return page_db_fail_mdb(db, rc, "beginning a transaction");
}

int page_db_txn_commit(PageDB *db, MDB_txn *txn)
{
    error_clean(db->error);
    bool writes = atomic_load(&db->txn_manager->writer) == txn;
    size_t id = mdb_txn_id(txn);
    int rc = txn_manager_commit_mdb(db->txn_manager, txn);
    if (rc == 0 && writes) {
        page_hosts_committed(db->store->hosts, id);
    }
    if (writes) {
        page_readers_rest(db);
        page_file_extend(db);
        (void)page_db_check_residence(db);
    }
    return page_db_fail_mdb(db, rc, "committing");
}

void page_db_txn_abort(PageDB *db, MDB_txn *txn)
{
    txn_manager_abort_mdb(db->txn_manager, txn);
}

int page_db_grow(PageDB *db)
{
    error_clean(db->error);
    TxnManagerError rc = txn_manager_expand_to(db->txn_manager, 0);
    if (rc == txn_manager_error_ok) {
        return page_db_error_ok;
    }
    const char *message = error_message(db->txn_manager->error);
    return page_db_fail(
        db, rc == txn_manager_error_memory ? page_db_error_full : page_db_error_internal,
        message == NULL ? "growing the map" : message);
}

void page_db_set_residence(PageDB *db, size_t budget)
{
    map_residence_set(&db->store->residence, budget);
}

void page_store_check_residence(PageDBStore *store)
{
    mdb_filehandle_t file = -1;
    if (mdb_env_get_fd(store->env, &file) == 0) {
        (void)map_residence_check(&store->residence,
                                  file); /* a budget that is missed is no error */
    }
}

void page_db_looked_up(PageDB *db, unsigned n)
{
    page_store_looked_up(db->store, n);
}

uint64_t page_db_check_residence(PageDB *db)
{
    MDB_txn *txn = NULL; /* while it lives, the map is not moved */
    if (atomic_load(&db->store->residence.budget) > 0 &&
        txn_manager_begin_mdb(db->txn_manager, MDB_RDONLY, &txn) == 0) {
        page_store_check_residence(db->store);
        txn_manager_abort_mdb(db->txn_manager, txn);
    }
    return atomic_load(&db->store->residence.n);
}

/* ---- Settings ----------------------------------------------------------------------------------
 */

void page_db_set_persist(PageDB *db, int value)
{
    db->persist = value;
}

PageDBError page_db_set_domain_temp(PageDB *db, size_t n_domains, float window)
{
    error_clean(db->error);
    DomainTemp *fresh = domain_temp_new(n_domains, window);
    if (fresh == NULL) {
        return (PageDBError)page_db_fail(db, page_db_error_memory,
                                         "page_db_set_domain_temp: no memory, or no domains");
    }
    mutex_lock(&db->store->mutex);
    DomainTemp *old = db->domain_temp;
    db->domain_temp = fresh;
    mutex_unlock(&db->store->mutex);
    domain_temp_delete(old);
    return page_db_error_ok;
}

float page_db_get_domain_crawl_rate(PageDB *db, uint32_t domain_hash)
{
    mutex_lock(&db->store->mutex);
    float temp = db->domain_temp == NULL ? 0 : domain_temp_get(db->domain_temp, domain_hash);
    mutex_unlock(&db->store->mutex);
    return temp;
}
