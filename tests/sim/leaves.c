#include "base/memory/bits.h"
#include "leaves.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of LMDB 0.9 on 64 bits: offsets in a page, a node and the record of a table. */
#define PAGE_HEAD   16u
#define PAGE_FLAGS  10u
#define PAGE_LOWER  12u
#define PAGE_PAGES  12u
#define PAGE_BRANCH 0x01u
#define PAGE_LEAF2  0x20u
#define NODE_HEAD   8u
#define NODE_BIG    0x01u
#define NODE_SUB    0x02u
#define TABLE_BYTES 48u
#define TABLE_ROOT  40u
#define PAGE_BYTES  4096u
#define NO_PAGE     UINT64_MAX
#define DEEPEST     24u

/* One walk: the first marks pages, the second counts those that are not marked. */
typedef struct Walk {
    Leaves *leaves;
    bool counts;
    uint64_t written;
} Walk;

static uint16_t number16(const uint8_t *p)
{
    uint16_t n = 0;
    memcpy(&n, p, sizeof n);
    return n;
}

static uint64_t number64(const uint8_t *p)
{
    uint64_t n = 0;
    memcpy(&n, p, sizeof n);
    return n;
}

/* Whether what is below the page is to be looked at. */
static bool leaves_enter(Walk *walk, uint64_t page)
{
    Leaves *leaves = walk->leaves;
    bool known = page < leaves->n_bits && bits_has(leaves->bits, page);
    if (walk->counts) {
        walk->written += !known;
        return !known;
    }
    if (page < leaves->n_bits) {
        bits_set(leaves->bits, page);
    }
    return true;
}

static bool leaves_walk(Walk *walk, uint64_t page, unsigned depth);

static bool leaves_walk_node(Walk *walk, const uint8_t *bytes, size_t at, bool is_branch,
                             unsigned depth)
{
    const uint8_t *node = bytes + at;
    uint64_t low = number16(node), high = number16(node + 2), flags = number16(node + 4);
    if (is_branch) {
        return leaves_walk(walk, low | high << 16 | flags << 32, depth + 1);
    }
    const uint8_t *data = node + NODE_HEAD + number16(node + 6);
    if ((flags & NODE_BIG) != 0) {
        uint8_t head[PAGE_HEAD];
        uint64_t first = number64(data);
        if (pread(walk->leaves->fd, head, sizeof head, (off_t)(first * PAGE_BYTES)) !=
            (ssize_t)sizeof head) {
            return false;
        }
        uint32_t n = 0;
        memcpy(&n, head + PAGE_PAGES, sizeof n);
        for (uint32_t i = 0; i < n; i++) {
            (void)leaves_enter(walk, first + i);
        }
    } else if ((flags & NODE_SUB) != 0 && number64(data + TABLE_ROOT) != NO_PAGE) {
        return leaves_walk(walk, number64(data + TABLE_ROOT), depth + 1);
    }
    return true;
}

static bool leaves_walk(Walk *walk, uint64_t page, unsigned depth)
{
    uint8_t bytes[PAGE_BYTES];
    if (!leaves_enter(walk, page)) {
        return true;
    }
    if (depth > DEEPEST || pread(walk->leaves->fd, bytes, sizeof bytes,
                                 (off_t)(page * PAGE_BYTES)) != (ssize_t)sizeof bytes) {
        return false;
    }
    uint16_t flags = number16(bytes + PAGE_FLAGS);
    size_t n = (flags & PAGE_LEAF2) != 0 ? 0 : (number16(bytes + PAGE_LOWER) - PAGE_HEAD) / 2;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = leaves_walk_node(walk, bytes, number16(bytes + PAGE_HEAD + 2 * i),
                              (flags & PAGE_BRANCH) != 0, depth);
    }
    return ok;
}

static LeavesTable *leaves_table(Leaves *leaves, const MDB_val *name)
{
    size_t i = 0;
    while (i < leaves->n_tables && strncmp(leaves->tables[i].name, name->mv_data, name->mv_size)) {
        i++;
    }
    if (i == LEAVES_TABLES || name->mv_size >= sizeof leaves->tables[0].name) {
        return NULL;
    }
    if (i == leaves->n_tables) {
        leaves->tables[leaves->n_tables++] = (LeavesTable){.written = 0};
        memcpy(leaves->tables[i].name, name->mv_data, name->mv_size);
    }
    return &leaves->tables[i];
}

/* Walks through every table as it is committed. */
static bool leaves_walk_all(Leaves *leaves, MDB_env *env, bool counts)
{
    MDB_txn *txn = NULL;
    MDB_dbi all = 0;
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    bool ok = mdb_env_get_fd(env, &leaves->fd) == 0 &&
              mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0 &&
              mdb_dbi_open(txn, NULL, 0, &all) == 0 && mdb_cursor_open(txn, all, &cursor) == 0;
    while (ok && mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        Walk walk = {.leaves = leaves, .counts = counts};
        LeavesTable *table = leaves_table(leaves, &key);
        ok = table != NULL && value.mv_size == TABLE_BYTES;
        if (ok && number64((const uint8_t *)value.mv_data + TABLE_ROOT) != NO_PAGE) {
            ok = leaves_walk(&walk, number64((const uint8_t *)value.mv_data + TABLE_ROOT), 0);
            table->written += walk.written;
        }
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    return ok;
}

bool leaves_before(Leaves *leaves, MDB_env *env)
{
    MDB_envinfo info;
    if (mdb_env_info(env, &info) != 0) {
        return false;
    }
    leaves->n_bits = info.me_last_pgno + 1;
    leaves->bits = calloc(1, leaves->n_bits / 8 + 1);
    return leaves->bits != NULL && leaves_walk_all(leaves, env, false);
}

bool leaves_after(Leaves *leaves, MDB_env *env, uint64_t results)
{
    bool ok = leaves_walk_all(leaves, env, true);
    leaves->results += results;
    leaves_forget(leaves);
    return ok;
}

void leaves_forget(Leaves *leaves)
{
    free(leaves->bits);
    leaves->bits = NULL;
}
