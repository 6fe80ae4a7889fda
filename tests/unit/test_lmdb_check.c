/* A file of LMDB, whole and with a page of each kind broken. */
#include "folder_fixture.h"
#include "unit.h"

#include <fcntl.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/check/lmdb_check.h"

#define PAGE 4096

typedef struct File {
    char directory[64];
    char data[80];
    uint64_t told;
    char last[128];
} File;

static void put(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t key_bytes, const void *value,
                size_t bytes)
{
    MDB_val k = {key_bytes, (void *)(uintptr_t)key};
    MDB_val v = {bytes, (void *)(uintptr_t)value};
    CU_ASSERT_EQUAL_FATAL(mdb_put(txn, dbi, &k, &v, 0), 0);
}

/* Tables of each kind that we use: text, numbers, many values of one length for a key, in a page
 * inside the node and in a tree, and values of several pages. */
static void fill(MDB_txn *txn)
{
    static const char large[3 * PAGE] = "large";
    MDB_dbi text = 0, numbers = 0, many = 0;
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "text", MDB_CREATE, &text), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "numbers", MDB_CREATE | MDB_INTEGERKEY, &numbers), 0);
    CU_ASSERT_EQUAL_FATAL(
        mdb_dbi_open(txn, "many", MDB_CREATE | MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED, &many),
        0);
    for (uint64_t i = 0; i < 3000; i++) {
        char key[16];
        uint32_t domain = i < 2000 ? 7 : (uint32_t)i;
        char value[17];
        int n = snprintf(key, sizeof key, "%u", (unsigned)i * 7919u);
        (void)snprintf(value, sizeof value, "%016u", (unsigned)i * 31u);
        put(txn, text, key, (size_t)n, value, 16);
        put(txn, numbers, &i, sizeof i, large, i % 500 == 0 ? sizeof large : i % 90);
        put(txn, many, &domain, sizeof domain, value, 16);
        put(txn, many, &domain, sizeof domain, "another value...", 16);
    }
}

static File *file_new(void)
{
    File *file = calloc(1, sizeof *file);
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    folder_make(file->directory);
    (void)snprintf(file->data, sizeof file->data, "%s/data.mdb", file->directory);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&env), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_mapsize(env, (size_t)64 << 20), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_maxdbs(env, 8), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(env, file->directory, MDB_NOSYNC, 0644), 0);
    for (int i = 0; i < 3; i++) { /* the same thing again: there are free pages then */
        CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(env, NULL, 0, &txn), 0);
        fill(txn);
        CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(txn), 0);
    }
    mdb_env_close(env);
    return file;
}

static void file_delete(File *file)
{
    folder_remove(file->directory);
    free(file);
}

static void on_broken(void *context, const char *table, uint64_t page, const char *what)
{
    File *file = context;
    file->told++;
    (void)snprintf(file->last, sizeof file->last, "%s %u %s", table, (unsigned)page, what);
}

static uint64_t broken(File *file)
{
    uint64_t n = 0;
    file->told = 0;
    CU_ASSERT_EQUAL(lmdb_check(file->directory, NULL, on_broken, file, &n), RESULT_OK);
    CU_ASSERT_EQUAL(file->told, n);
    return n;
}

static void a_whole_file_is_whole(void)
{
    File *file = file_new();
    CU_ASSERT_EQUAL(broken(file), 0);
    CU_ASSERT_STRING_EQUAL(file->last, "");
    file_delete(file);
}

/* Each page in turn is overwritten, and put back: nothing may happen but that it is told. Which
 * pages are in use is known by then: those that LMDB itself reads. */
static void each_broken_page_is_told(void)
{
    File *file = file_new();
    uint8_t bytes[PAGE];
    uint8_t nonsense[PAGE];
    unsigned n_found[2] = {0, 0};
    int fd = open(file->data, O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    off_t size = lseek(fd, 0, SEEK_END);
    for (size_t i = 0; i < sizeof nonsense; i++) {
        nonsense[i] = (uint8_t)(i * 37 + 11);
    }
    for (off_t at = 2 * PAGE; at < size; at += PAGE) {
        CU_ASSERT_EQUAL_FATAL(pread(fd, bytes, PAGE, at), PAGE);
        for (int way = 0; way < 2; way++) {
            static const uint8_t zeroes[PAGE] = {0};
            CU_ASSERT_EQUAL(pwrite(fd, way == 0 ? zeroes : nonsense, PAGE, at), PAGE);
            n_found[way] += broken(file) > 0;
        }
        CU_ASSERT_EQUAL(pwrite(fd, bytes, PAGE, at), PAGE);
    }
    (void)close(fd);
    /* Free pages and the insides of large values are nobody's: zeroes and nonsense alike. */
    CU_ASSERT(n_found[0] > 60);
    CU_ASSERT_EQUAL(n_found[0], n_found[1]);
    CU_ASSERT_EQUAL(broken(file), 0);
    file_delete(file);
}

static void single_bytes_do_no_harm(void)
{
    File *file = file_new();
    int fd = open(file->data, O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    off_t size = lseek(fd, 0, SEEK_END);
    uint64_t state = 1;
    unsigned n_found = 0;
    for (int i = 0; i < 3000; i++) {
        uint8_t byte = 0;
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
        /* The first bytes of a page say what it is. */
        off_t page = 2 + (off_t)(state >> 33) % (size / PAGE - 2);
        off_t at = page * PAGE + (off_t)(state >> 20 & (i % 2 == 0 ? 63 : PAGE - 1));
        CU_ASSERT_EQUAL(pread(fd, &byte, 1, at), 1);
        uint8_t other = (uint8_t)(byte ^ (1u << (state >> 60 & 7)));
        CU_ASSERT_EQUAL(pwrite(fd, &other, 1, at), 1);
        n_found += broken(file) > 0;
        CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, at), 1);
    }
    (void)close(fd);
    CU_ASSERT(n_found > 300);
    CU_ASSERT_EQUAL(broken(file), 0);
    file_delete(file);
}

/* LMDB divides by the size of pages that stands there, and maps the file where it is told to. */
static void meta_pages_do_no_harm(void)
{
    File *file = file_new();
    unsigned n_found = 0;
    int fd = open(file->data, O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    for (off_t at = 0; at < PAGE + 152; at = at == 151 ? PAGE : at + 1) {
        for (int bit = 0; bit < 8; bit++) {
            uint8_t byte = 0;
            CU_ASSERT_EQUAL(pread(fd, &byte, 1, at), 1);
            uint8_t other = (uint8_t)(byte ^ 1u << bit);
            CU_ASSERT_EQUAL(pwrite(fd, &other, 1, at), 1);
            n_found += broken(file) > 0;
            CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, at), 1);
        }
    }
    (void)close(fd);
    CU_ASSERT(n_found > 400);
    CU_ASSERT_EQUAL(broken(file), 0);
    file_delete(file);
}

/* Whoever writes takes pages from the free list: one that is in use would be overwritten. */
static void a_free_page_that_is_in_use_is_told(void)
{
    File *file = file_new();
    uint64_t newer[2];
    uint64_t root = 0;
    uint64_t in_use = 0;
    int fd = open(file->data, O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    for (off_t i = 0; i < 2; i++) { /* behind a page's header: number of its transaction */
        CU_ASSERT_EQUAL(pread(fd, &newer[i], 8, i * PAGE + 16 + 128), 8);
    }
    off_t meta = newer[1] > newer[0] ? PAGE + 16 : 16;
    CU_ASSERT_EQUAL(pread(fd, &root, 8, meta + 24 + 40), 8);
    CU_ASSERT_EQUAL(pread(fd, &in_use, 8, meta + 72 + 40), 8);
    CU_ASSERT_FATAL(root != UINT64_MAX);
    /* The last value on its root ends with the least page number. */
    CU_ASSERT_EQUAL(pwrite(fd, &in_use, 8, (off_t)root * PAGE + PAGE - 8), 8);
    CU_ASSERT_EQUAL(broken(file), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(file->last, "free list"));
    (void)close(fd);
    file_delete(file);
}

static void without_locks_it_is_the_same(void)
{
    static const LmdbCheckOptions options = {.unlocked = true, .leaves_most = PAGE};
    File *file = file_new();
    uint64_t n = 0;
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&env), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(env, file->directory, 0, 0644), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CU_ASSERT_EQUAL(lmdb_check(file->directory, &options, on_broken, file, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 0);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    file_delete(file);
}

UNIT_MAIN("lmdb_check", {"a whole file is whole", a_whole_file_is_whole},
          {"meta pages do no harm", meta_pages_do_no_harm},
          {"a free page that is in use is told", a_free_page_that_is_in_use_is_told},
          {"without locks it is the same", without_locks_it_is_the_same},
          {"each broken page is told", each_broken_page_is_told},
          {"single bytes do no harm", single_bytes_do_no_harm})
