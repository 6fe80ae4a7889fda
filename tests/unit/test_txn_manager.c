/* TxnManager: counting, growth under load, and the interleavings that used to deadlock such things.
 */
#include "folder_fixture.h"
#include "unit.h"
#include "until.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "store/lmdb/txn_manager.h"

#define SMALL_MAP ((size_t)1 << 20)

typedef struct Fixture {
    char path[FOLDER_BYTES];
    MDB_env *env;
    TxnManager *tm;
    MDB_dbi dbi;
} Fixture;

static void open_fixture(Fixture *f, const char *name)
{
    folder_name(f->path, name);
    folder_remove(f->path);
    CU_ASSERT_EQUAL_FATAL(mkdir(f->path, 0700), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&f->env), 0);
    CU_ASSERT_EQUAL(mdb_env_set_mapsize(f->env, SMALL_MAP), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(f->env, f->path, MDB_NOTLS | MDB_NOSYNC, 0600), 0);
    CU_ASSERT_EQUAL_FATAL(txn_manager_new(&f->tm, f->env), txn_manager_error_ok);
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(txn_manager_begin(f->tm, 0, &txn), txn_manager_error_ok);
    CU_ASSERT_EQUAL(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &f->dbi), 0);
    CU_ASSERT_EQUAL(txn_manager_commit(f->tm, txn), txn_manager_error_ok);
}

static void close_fixture(Fixture *f)
{
    CU_ASSERT_EQUAL(inv_semaphore_count(&f->tm->txn_counter_read), 0);
    CU_ASSERT_EQUAL(inv_semaphore_count(&f->tm->txn_counter_write), 0);
    CU_ASSERT_EQUAL(txn_manager_delete(f->tm), txn_manager_error_ok);
    mdb_env_close(f->env);
    folder_remove(f->path);
}

static size_t map_size(MDB_env *env)
{
    MDB_envinfo info;
    CU_ASSERT_EQUAL(mdb_env_info(env, &info), 0);
    return info.me_mapsize;
}

static void transactions_are_counted(void)
{
    Fixture f;
    open_fixture(&f, "txncount");
    MDB_txn *reader = NULL, *other = NULL, *writer = NULL;
    CU_ASSERT_EQUAL(txn_manager_begin(f.tm, MDB_RDONLY, &reader), txn_manager_error_ok);
    CU_ASSERT_EQUAL(txn_manager_begin(f.tm, MDB_RDONLY, &other), txn_manager_error_ok);
    CU_ASSERT_EQUAL(txn_manager_begin(f.tm, 0, &writer), txn_manager_error_ok);
    CU_ASSERT_EQUAL(inv_semaphore_count(&f.tm->txn_counter_read), 2);
    CU_ASSERT_EQUAL(inv_semaphore_count(&f.tm->txn_counter_write), 1);
    CU_ASSERT_EQUAL(txn_manager_abort(f.tm, reader), txn_manager_error_ok);
    CU_ASSERT_EQUAL(txn_manager_commit(f.tm, other), txn_manager_error_ok);
    CU_ASSERT_EQUAL(inv_semaphore_count(&f.tm->txn_counter_read), 0);
    /* A commit that fails leaves nothing counted: here the map is too small for a record. */
    uint64_t number = 1;
    MDB_val key = {sizeof number, &number};
    MDB_val value = {2 * SMALL_MAP, NULL};
    CU_ASSERT_EQUAL(mdb_put(writer, f.dbi, &key, &value, MDB_RESERVE), MDB_MAP_FULL);
    CU_ASSERT_EQUAL(txn_manager_commit(f.tm, writer), txn_manager_error_mdb);
    CU_ASSERT_PTR_NOT_NULL(error_message(f.tm->error));
    CU_ASSERT_EQUAL(inv_semaphore_count(&f.tm->txn_counter_write), 0);
    CU_ASSERT_EQUAL(txn_manager_begin(f.tm, 0, &writer), txn_manager_error_ok);
    CU_ASSERT_PTR_NULL(error_message(f.tm->error));
    CU_ASSERT_EQUAL(txn_manager_abort(f.tm, writer), txn_manager_error_ok);
    close_fixture(&f);
}

static bool is_there(const Fixture *f, MDB_txn *txn, uint64_t number)
{
    MDB_val key = {sizeof number, &number};
    MDB_val value;
    return mdb_get(txn, f->dbi, &key, &value) == 0;
}

/* What was aborted is used again: for a snapshot of then, and across growth. */
static void a_reader_begun_again_reads_the_present(void)
{
    Fixture f;
    MDB_txn *reader = NULL;
    MDB_txn *writer = NULL;
    open_fixture(&f, "txnagain");
    for (uint64_t number = 0; number < 8; number++) {
        MDB_val key = {sizeof number, &number};
        MDB_val value = {sizeof number, &number};
        CU_ASSERT_EQUAL_FATAL(txn_manager_begin(f.tm, MDB_RDONLY, &reader), txn_manager_error_ok);
        CU_ASSERT_EQUAL_FATAL(txn_manager_begin(f.tm, 0, &writer), txn_manager_error_ok);
        CU_ASSERT_EQUAL(mdb_put(writer, f.dbi, &key, &value, 0), 0);
        CU_ASSERT_EQUAL(txn_manager_commit(f.tm, writer), txn_manager_error_ok);
        CU_ASSERT_FALSE(is_there(&f, reader, number));
        CU_ASSERT_EQUAL(txn_manager_abort(f.tm, reader), txn_manager_error_ok);
        CU_ASSERT_EQUAL(atomic_load(&f.tm->idle), reader);
        CU_ASSERT_EQUAL_FATAL(txn_manager_begin(f.tm, MDB_RDONLY, &reader), txn_manager_error_ok);
        CU_ASSERT_TRUE(is_there(&f, reader, number));
        CU_ASSERT_EQUAL(txn_manager_abort(f.tm, reader), txn_manager_error_ok);
        CU_ASSERT_EQUAL(txn_manager_expand_to(f.tm, 0), txn_manager_error_ok);
    }
    close_fixture(&f);
}

static void the_map_doubles_when_few_pages_are_free(void)
{
    Fixture f;
    open_fixture(&f, "txngrow");
    size_t before = map_size(f.env);
    CU_ASSERT_EQUAL(txn_manager_expand(f.tm), txn_manager_error_ok);
    CU_ASSERT_EQUAL(map_size(f.env), 2 * before);
    CU_ASSERT_EQUAL(txn_manager_expand_to(f.tm, (size_t)1 << 30), txn_manager_error_ok);
    CU_ASSERT_EQUAL(map_size(f.env), (size_t)1 << 30);
    CU_ASSERT_EQUAL(txn_manager_expand(f.tm), txn_manager_error_ok);
    CU_ASSERT_EQUAL(map_size(f.env), (size_t)1 << 30);
    CU_ASSERT_NOT_EQUAL(txn_manager_expand_to(f.tm, (size_t)1 << 62), txn_manager_error_ok);
    CU_ASSERT_EQUAL(map_size(f.env), (size_t)1 << 30);
    close_fixture(&f);
}

typedef struct Nested {
    Fixture *f;
    _Atomic bool holding;
    _Atomic bool expanding;
} Nested;

static bool is_door_closed(InvSemaphore *semaphore)
{
    mutex_lock(&semaphore->mutex);
    bool is_closed = semaphore->blocked;
    mutex_unlock(&semaphore->mutex);
    return is_closed;
}

static void *read_inside_a_read(void *argument)
{
    Nested *n = argument;
    MDB_txn *outer = NULL, *inner = NULL;
    bool ok = txn_manager_begin(n->f->tm, MDB_RDONLY, &outer) == txn_manager_error_ok;
    atomic_store(&n->holding, true);
    while (!atomic_load(&n->expanding)) {
    }
    /* The expansion closes the door; then the second transaction. */
    ok = ok && UNTIL(is_door_closed(&n->f->tm->txn_counter_read)) &&
         txn_manager_begin(n->f->tm, MDB_RDONLY, &inner) == txn_manager_error_ok;
    (void)txn_manager_abort(n->f->tm, inner);
    (void)txn_manager_abort(n->f->tm, outer);
    return ok ? n : NULL;
}

static void a_reader_inside_a_reader_does_not_deadlock_an_expansion(void)
{
    Fixture f;
    open_fixture(&f, "txnnest");
    Nested n = {.f = &f};
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_inside_a_read, &n), 0);
    while (!atomic_load(&n.holding)) {
    }
    size_t before = map_size(f.env);
    atomic_store(&n.expanding, true);
    CU_ASSERT_EQUAL(txn_manager_expand(f.tm), txn_manager_error_ok);
    CU_ASSERT_EQUAL(map_size(f.env), 2 * before);
    void *result = NULL;
    CU_ASSERT_EQUAL(pthread_join(thread, &result), 0);
    CU_ASSERT_PTR_NOT_NULL(result);
    close_fixture(&f);
}

typedef struct Door {
    InvSemaphore semaphore;
    atomic_bool is_in;
} Door;

static void *enter(void *argument)
{
    Door *door = argument;
    inv_semaphore_inc(&door->semaphore);
    atomic_store(&door->is_in, true);
    inv_semaphore_dec(&door->semaphore);
    return NULL;
}

static void nobody_enters_while_the_door_is_closed(void)
{
    Door door = {.is_in = false};
    pthread_t thread;
    inv_semaphore_init(&door.semaphore);
    inv_semaphore_block(&door.semaphore);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, enter, &door), 0);
    CU_ASSERT_FALSE(inv_semaphore_block_until(&door.semaphore, (MonoTime){0})); /* it is closed */
    CU_ASSERT_FALSE(atomic_load(&door.is_in));
    inv_semaphore_release(&door.semaphore);
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    CU_ASSERT_TRUE(atomic_load(&door.is_in));
    inv_semaphore_block(&door.semaphore); /* and nobody is in any more */
    CU_ASSERT_EQUAL(inv_semaphore_count(&door.semaphore), 0);
    inv_semaphore_release(&door.semaphore);
    inv_semaphore_destroy(&door.semaphore);
}

enum { WRITERS = 2, READERS = 3 };

typedef struct Load {
    Fixture *f;
    unsigned id;
    unsigned records;
    _Atomic bool *stop;
    unsigned errors;
} Load;

static void *write_records(void *argument)
{
    Load *load = argument;
    static const char bytes[3000] = {1};
    for (uint64_t i = 0; i < load->records; i++) {
        uint64_t number = i * WRITERS + load->id;
        MDB_txn *txn = NULL;
        MDB_val key = {sizeof number, &number};
        MDB_val value = {sizeof bytes, (char *)(uintptr_t)bytes};
        int rc = txn_manager_expand(load->f->tm) != txn_manager_error_ok;
        if (rc == 0) {
            rc = txn_manager_begin_mdb(load->f->tm, 0, &txn);
        }
        if (rc == 0) {
            rc = mdb_put(txn, load->f->dbi, &key, &value, 0);
            rc = txn_manager_commit_mdb(load->f->tm, txn) != 0 || rc != 0;
        }
        load->errors += rc != 0;
    }
    return NULL;
}

static void *read_records(void *argument)
{
    Load *load = argument;
    while (!atomic_load(load->stop)) {
        MDB_txn *txn = NULL;
        if (txn_manager_begin_mdb(load->f->tm, MDB_RDONLY, &txn) != 0) {
            load->errors++;
            continue;
        }
        MDB_cursor *cursor = NULL;
        MDB_val key, value;
        int rc = mdb_cursor_open(txn, load->f->dbi, &cursor);
        for (unsigned i = 0; rc == 0 && i < 1000; i++) {
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
            load->errors += rc == 0 && *(const char *)value.mv_data != 1;
        }
        load->errors += rc != 0 && rc != MDB_NOTFOUND;
        mdb_cursor_close(cursor);
        txn_manager_abort_mdb(load->f->tm, txn);
    }
    return NULL;
}

static void threads_read_and_write_across_expansions(void)
{
    Fixture f;
    open_fixture(&f, "txnload");
    unsigned records = getenv("FULL") != NULL ? 100000 : 1500;
    _Atomic bool stop = false;
    pthread_t threads[WRITERS + READERS];
    Load loads[WRITERS + READERS];
    for (unsigned i = 0; i < WRITERS + READERS; i++) {
        loads[i] = (Load){.f = &f, .id = i, .records = records, .stop = &stop};
        void *(*run)(void *) = i < WRITERS ? write_records : read_records;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, run, &loads[i]), 0);
    }
    unsigned errors = 0;
    for (unsigned i = 0; i < WRITERS + READERS; i++) {
        if (i == WRITERS) {
            atomic_store(&stop, true);
        }
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
        errors += loads[i].errors;
    }
    CU_ASSERT_EQUAL(errors, 0);
    CU_ASSERT(map_size(f.env) >= 8 * SMALL_MAP);
    MDB_stat stat;
    CU_ASSERT_EQUAL(mdb_env_stat(f.env, &stat), 0);
    CU_ASSERT_EQUAL(stat.ms_entries, (size_t)records * WRITERS);
    close_fixture(&f);
}

UNIT_MAIN("txn_manager",
          {"nobody enters while the door is closed", nobody_enters_while_the_door_is_closed},
          {"transactions are counted", transactions_are_counted},
          {"a reader begun again reads the present", a_reader_begun_again_reads_the_present},
          {"the map doubles when few pages are free", the_map_doubles_when_few_pages_are_free},
          {"a reader inside a reader does not deadlock an expansion",
           a_reader_inside_a_reader_does_not_deadlock_an_expansion},
          {"threads read and write across expansions", threads_read_and_write_across_expansions})
