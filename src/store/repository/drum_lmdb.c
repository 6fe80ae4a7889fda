#include "store/repository/drum_lmdb.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_TABLE   "drum.progress"
#define PROGRESS_VERSION 1u
#define DEFAULT_MAP      ((size_t)64 << 30)
#define LONGEST_KEY      511u /* LMDB's compiled limit; checked at open */
#define PAGE_BYTES       4096u

typedef struct ProgressRecord {
    uint32_t version;
    uint32_t bucket;
    uint64_t generation;
} ProgressRecord;

typedef struct Repository {
    DrumRepository interface; /* first */
    MDB_env *env;
    bool owns_env;
    char *table;
    MDB_dbi keys;
    MDB_dbi progress;
    size_t commit_bytes;
    /* of the transaction under way */
    MDB_txn *txn;
    MDB_cursor *finder;
    MDB_cursor *putter;
    size_t changed_bytes; /* of pages, at most */
    bool is_positioned;   /* at_key and at_value are what the finder stands on */
    bool is_at_end;       /* the finder ran out of keys */
    MDB_val at_key;
    MDB_val at_value;
    uint8_t last_key[LONGEST_KEY]; /* the greatest in the table */
    size_t last_length;            /* 0 when there is none */
} Repository;

static Result translate(int code)
{
    switch (code) {
    case MDB_SUCCESS:
        return RESULT_OK;
    case MDB_NOTFOUND:
        return RESULT_NOT_FOUND;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
        return RESULT_FULL;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
    case MDB_INVALID:
        return RESULT_DAMAGED;
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
        return RESULT_VERSION;
    case MDB_BAD_VALSIZE:
        return RESULT_LIMIT;
    default:
        return code > 0 ? result_of_errno(code) : RESULT_INTERNAL;
    }
}

static MDB_val key_value(const DrumRepository *interface, const DrumKey *key)
{
    /* LMDB takes keys as pointers to bytes that it only reads. */
    return interface->keys == DRUM_KEYS_NUMBERS
               ? (MDB_val){sizeof key->number, (void *)(uintptr_t)&key->number}
               : (MDB_val){key->bytes.length, (void *)(uintptr_t)key->bytes.bytes};
}

/* Negative, 0, positive, as the table orders them. */
static int drum_lmdb_compare(const Repository *repository, const MDB_val *a, const MDB_val *b)
{
    if (repository->interface.keys == DRUM_KEYS_NUMBERS) {
        uint64_t x, y;
        memcpy(&x, a->mv_data, sizeof x);
        memcpy(&y, b->mv_data, sizeof y);
        return (x > y) - (x < y);
    }
    size_t least = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
    int order = memcmp(a->mv_data, b->mv_data, least);
    return order != 0 ? order : (a->mv_size > b->mv_size) - (a->mv_size < b->mv_size);
}

/* ---- the interface ---- */

static Result read_progress(Repository *repository, MDB_txn *txn, DrumProgress *progress)
{
    MDB_val key = {strlen(repository->table), repository->table};
    MDB_val value;
    ProgressRecord record;
    *progress = (DrumProgress){0, 0};
    int code = mdb_get(txn, repository->progress, &key, &value);
    if (code == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    if (code != 0) {
        return translate(code);
    }
    if (value.mv_size != sizeof record) {
        return RESULT_VERSION;
    }
    memcpy(&record, value.mv_data, sizeof record);
    if (record.version != PROGRESS_VERSION) {
        return RESULT_VERSION;
    }
    *progress = (DrumProgress){record.generation, record.bucket};
    return RESULT_OK;
}

static Result lmdb_progress(DrumRepository *interface, DrumProgress *progress)
{
    Repository *repository = (Repository *)interface;
    MDB_txn *txn = NULL;
    int code = mdb_txn_begin(repository->env, NULL, MDB_RDONLY, &txn);
    if (code != 0) {
        return translate(code);
    }
    Result rc = read_progress(repository, txn, progress);
    mdb_txn_abort(txn);
    return rc;
}

static void end_transaction(Repository *repository)
{
    repository->txn = NULL;
    repository->finder = NULL;
    repository->putter = NULL;
    repository->is_positioned = false;
}

static void lmdb_abort(DrumRepository *interface)
{
    Repository *repository = (Repository *)interface;
    if (repository->finder != NULL) {
        mdb_cursor_close(repository->finder);
    }
    if (repository->putter != NULL) {
        mdb_cursor_close(repository->putter);
    }
    mdb_txn_abort(repository->txn);
    end_transaction(repository);
}

static void note_last(Repository *repository, const MDB_val *key)
{
    repository->last_length = key->mv_size <= LONGEST_KEY ? key->mv_size : 0;
    memcpy(repository->last_key, key->mv_data, repository->last_length);
}

static Result lmdb_begin(DrumRepository *interface)
{
    Repository *repository = (Repository *)interface;
    MDB_val key, value;
    end_transaction(repository);
    int code = mdb_txn_begin(repository->env, NULL, 0, &repository->txn);
    if (code != 0) {
        repository->txn = NULL;
        return translate(code);
    }
    code = mdb_cursor_open(repository->txn, repository->keys, &repository->finder);
    if (code == 0) {
        code = mdb_cursor_open(repository->txn, repository->keys, &repository->putter);
    }
    if (code == 0) {
        code = mdb_cursor_get(repository->putter, &key, &value, MDB_LAST);
        repository->last_length = 0;
        if (code == 0) {
            note_last(repository, &key);
        }
        code = code == MDB_NOTFOUND ? 0 : code;
    }
    if (code != 0) {
        lmdb_abort(interface);
        return translate(code);
    }
    repository->changed_bytes = 0;
    repository->is_at_end = false;
    return RESULT_OK;
}

static Result lmdb_find(DrumRepository *interface, const DrumKey *key, DrumBytes *value)
{
    Repository *repository = (Repository *)interface;
    MDB_val wanted = key_value(interface, key);
    int order = 1;
    if (repository->is_positioned) {
        if (repository->is_at_end) {
            return RESULT_NOT_FOUND;
        }
        order = drum_lmdb_compare(repository, &wanted, &repository->at_key);
    }
    if (order > 0) {
        repository->at_key = wanted;
        int code = mdb_cursor_get(repository->finder, &repository->at_key, &repository->at_value,
                                  MDB_SET_RANGE);
        repository->is_at_end = code == MDB_NOTFOUND;
        repository->is_positioned = code == 0 || repository->is_at_end;
        if (code != 0) {
            return translate(code);
        }
        order = drum_lmdb_compare(repository, &wanted, &repository->at_key);
    }
    if (order != 0) {
        return RESULT_NOT_FOUND;
    }
    *value = (DrumBytes){repository->at_value.mv_data, repository->at_value.mv_size};
    return RESULT_OK;
}

static Result lmdb_put(DrumRepository *interface, const DrumKey *key, DrumBytes value, bool is_new)
{
    Repository *repository = (Repository *)interface;
    MDB_val wanted = key_value(interface, key);
    MDB_val data = {value.length, (void *)(uintptr_t)value.bytes};
    MDB_val last = {repository->last_length, repository->last_key};
    /* Behind the greatest key pages are filled to the brim instead of split in halves. */
    bool is_last =
        is_new && (last.mv_size == 0 || drum_lmdb_compare(repository, &wanted, &last) > 0);
    int code = mdb_cursor_put(repository->putter, &wanted, &data, is_last ? MDB_APPEND : 0);
    if (code != 0) {
        return translate(code);
    }
    if (is_last) {
        note_last(repository, &wanted);
        repository->changed_bytes += 2 * (wanted.mv_size + data.mv_size) + 16;
    } else {
        repository->changed_bytes += PAGE_BYTES + data.mv_size;
    }
    repository->is_positioned = false;
    return RESULT_OK;
}

static Result lmdb_commit(DrumRepository *interface, DrumProgress progress, bool last, bool *ended)
{
    Repository *repository = (Repository *)interface;
    *ended = last || (repository->commit_bytes > 0 &&
                      repository->changed_bytes >= repository->commit_bytes);
    repository->is_positioned = false;
    if (!*ended) {
        return RESULT_OK;
    }
    ProgressRecord record = {
        .version = PROGRESS_VERSION, .bucket = progress.bucket, .generation = progress.generation};
    MDB_val key = {strlen(repository->table), repository->table};
    MDB_val value = {sizeof record, &record};
    int code = mdb_put(repository->txn, repository->progress, &key, &value, 0);
    if (code != 0) {
        lmdb_abort(interface);
        return translate(code);
    }
    mdb_cursor_close(repository->finder);
    mdb_cursor_close(repository->putter);
    code = mdb_txn_commit(repository->txn);
    end_transaction(repository);
    return translate(code);
}

/* ---- opening ---- */

static int open_env(MDB_env **env, const char *path, size_t map_bytes)
{
    int code = mdb_env_create(env);
    if (code != 0) {
        *env = NULL;
        return code;
    }
    code = mdb_env_set_maxdbs(*env, 4);
    if (code == 0) {
        code = mdb_env_set_mapsize(*env, map_bytes > 0 ? map_bytes : DEFAULT_MAP);
    }
    return code == 0 ? mdb_env_open(*env, path, MDB_NOSUBDIR | MDB_NOTLS, 0644) : code;
}

/* Makes the names in the directory of path durable. */
static int drum_lmdb_sync_parent(const char *path)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    memcpy(parent, length > 0 ? path : "./", length > 0 ? length : 2);
    parent[length > 0 ? length : 2] = 0;
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = fd >= 0 && fsync(fd) == 0 ? 0 : errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return code;
}

/* A new LMDB file begins with a write that is not synced, and half of it cannot be opened ever
 * after: so it is made under another name, and gets its own when it is durable. */
static int create_env_file(const char *path)
{
    char fresh[PATH_MAX];
    char lock[PATH_MAX];
    MDB_env *env = NULL;
    int n = snprintf(fresh, sizeof fresh, "%s.new", path);
    int m = snprintf(lock, sizeof lock, "%s.new-lock", path);
    if (n <= 0 || m <= 0 || (size_t)m >= sizeof lock) {
        return ENAMETOOLONG;
    }
    (void)unlink(fresh);
    int code = open_env(&env, fresh, 0);
    if (code == 0) {
        code = mdb_env_sync(env, 1);
    }
    if (env != NULL) {
        mdb_env_close(env);
    }
    (void)unlink(lock);
    if (code == 0 && rename(fresh, path) != 0) {
        code = errno;
    }
    return code == 0 ? drum_lmdb_sync_parent(path) : code;
}

static int open_own_env(Repository *repository, const DrumLmdbOptions *options)
{
    repository->owns_env = true;
    int code = access(options->path, F_OK) == 0 ? 0 : create_env_file(options->path);
    return code == 0 ? open_env(&repository->env, options->path, options->map_bytes) : code;
}

static int drum_lmdb_open_tables(Repository *repository)
{
    unsigned flags = repository->interface.keys == DRUM_KEYS_NUMBERS ? MDB_INTEGERKEY : 0u;
    MDB_txn *txn = NULL;
    int code = mdb_txn_begin(repository->env, NULL, 0, &txn);
    if (code != 0) {
        return code;
    }
    unsigned found = 0;
    code = mdb_dbi_open(txn, repository->table, MDB_CREATE | flags, &repository->keys);
    if (code == 0) {
        code = mdb_dbi_flags(txn, repository->keys, &found);
    }
    if (code == 0 && (found & (MDB_INTEGERKEY | MDB_DUPSORT)) != flags) {
        code = MDB_INCOMPATIBLE;
    }
    if (code == 0) {
        code = mdb_dbi_open(txn, PROGRESS_TABLE, MDB_CREATE, &repository->progress);
    }
    if (code != 0) {
        mdb_txn_abort(txn);
        return code;
    }
    return mdb_txn_commit(txn);
}

Result drum_lmdb_open(DrumRepository **result, const DrumLmdbOptions *options)
{
    *result = NULL;
    Repository *repository = calloc(1, sizeof *repository);
    if (repository == NULL) {
        return RESULT_MEMORY;
    }
    repository->interface = (DrumRepository){.keys = options->keys,
                                             .progress = lmdb_progress,
                                             .begin = lmdb_begin,
                                             .find = lmdb_find,
                                             .put = lmdb_put,
                                             .commit = lmdb_commit,
                                             .abort = lmdb_abort};
    repository->commit_bytes = options->commit_bytes;
    repository->table = strdup(options->table != NULL ? options->table : "drum");
    int code = repository->table != NULL ? 0 : ENOMEM;
    if (code == 0 && options->env != NULL) {
        repository->env = options->env;
    } else if (code == 0) {
        code = options->path != NULL ? open_own_env(repository, options) : EINVAL;
    }
    if (code == 0) {
        int longest = mdb_env_get_maxkeysize(repository->env);
        repository->interface.key_limit =
            longest < (int)LONGEST_KEY ? (size_t)longest : (size_t)LONGEST_KEY;
        code = drum_lmdb_open_tables(repository);
    }
    if (code != 0) {
        drum_lmdb_close(&repository->interface);
        return translate(code);
    }
    *result = &repository->interface;
    return RESULT_OK;
}

void drum_lmdb_close(DrumRepository *interface)
{
    Repository *repository = (Repository *)interface;
    if (repository == NULL) {
        return;
    }
    if (repository->txn != NULL) {
        lmdb_abort(interface);
    }
    if (repository->owns_env && repository->env != NULL) {
        mdb_env_close(repository->env);
    }
    free(repository->table);
    free(repository);
}

MDB_env *drum_lmdb_environment(DrumRepository *interface)
{
    return ((Repository *)interface)->env;
}

MDB_txn *drum_lmdb_transaction(DrumRepository *interface)
{
    return ((Repository *)interface)->txn;
}

Result drum_lmdb_get(DrumRepository *interface, const DrumKey *key, void **value, size_t *length)
{
    Repository *repository = (Repository *)interface;
    MDB_val wanted = key_value(interface, key);
    MDB_val found;
    MDB_txn *txn = NULL;
    *value = NULL;
    int code = mdb_txn_begin(repository->env, NULL, MDB_RDONLY, &txn);
    if (code != 0) {
        return translate(code);
    }
    code = mdb_get(txn, repository->keys, &wanted, &found);
    if (code == 0) {
        *value = malloc(found.mv_size + 1);
        code = *value != NULL ? 0 : ENOMEM;
    }
    if (code == 0) {
        memcpy(*value, found.mv_data, found.mv_size);
        *length = found.mv_size;
    }
    mdb_txn_abort(txn);
    return translate(code);
}

Result drum_lmdb_count(DrumRepository *interface, uint64_t *count)
{
    Repository *repository = (Repository *)interface;
    MDB_txn *txn = NULL;
    MDB_stat stat;
    int code = mdb_txn_begin(repository->env, NULL, MDB_RDONLY, &txn);
    if (code != 0) {
        return translate(code);
    }
    code = mdb_stat(txn, repository->keys, &stat);
    mdb_txn_abort(txn);
    *count = code == 0 ? stat.ms_entries : 0;
    return translate(code);
}
