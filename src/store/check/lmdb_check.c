#include "store/check/lmdb_check.h"

#include <fcntl.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/bits.h"
#include "base/memory/file.h"
#include "store/lmdb/lmdb_result.h"

#define HEADER_BYTES 16u
#define NODE_BYTES   8u
#define NO_PAGE      UINT64_MAX
#define MAX_DEPTH    32u
#define MAX_TABLES   64u
#define NAME_BYTES   64u
#define LOCK_MODE    0640 /* of a lock.mdb that is missing: of the user and the group */
#define META_TRIES   8    /* a writer may be faster than we for so long */
#define KEY_MOST     511u
#define PAGE_LEAST   256u
#define PAGE_MOST    65536u

#define META_MAGIC   0xBEEFC0DEu
#define META_VERSION 1u

/* Flags of pages, of nodes and of tables. */
enum {
    PAGE_BRANCH = 1,
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    PAGE_META = 8,
    PAGE_FIXED = 32,
    PAGE_INNER = 64
};
enum { NODE_ELSEWHERE = 1, NODE_TREE = 2, NODE_MANY = 4 };
enum {
    TABLE_AT_ADDRESS = 1, /* of the free list: the map's place is prescribed. Never ours */
    TABLE_MANY_VALUES = 4,
    TABLE_INTEGERS = 8,
    TABLE_FIXED_VALUES = 16,
    TABLE_FLAGS = TABLE_MANY_VALUES | TABLE_INTEGERS | TABLE_FIXED_VALUES /* that ours have */
};

typedef struct Header {
    uint64_t number;
    uint16_t key_bytes; /* of PAGE_FIXED */
    uint16_t flags;
    uint16_t lower; /* offsets end */
    uint16_t upper; /* nodes begin */
} Header;

typedef struct Tree {
    uint32_t pad;
    uint16_t flags;
    uint16_t depth;
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
    uint64_t root;
} Tree;

typedef struct Meta {
    uint32_t magic;
    uint32_t version;
    uint64_t address;
    uint64_t map_bytes;
    Tree trees[2]; /* free list, table of tables */
    uint64_t last_page;
    uint64_t transaction;
} Meta;

typedef struct Node {
    uint16_t flags;
    uint16_t key_bytes;
    uint64_t child; /* of a branch */
    size_t bytes;   /* of a leaf's value */
    const uint8_t *key;
    const uint8_t *value;
} Node;

typedef struct Table {
    char name[NAME_BYTES];
    Tree tree;
} Table;

typedef struct Walk {
    const uint8_t *map;
    uint64_t n_pages; /* whole ones in the file */
    size_t page_bytes;
    uint64_t n_numbers;  /* pages that may be named: those that are free need not be in the file */
    uint8_t *seen;       /* one bit per page */
    bool is_free_list;   /* its values are read, too */
    bool without_leaves; /* of long files */
    const char *table;
    Table *tables; /* found in the table of tables; NULL while others are read */
    size_t n_tables;
    LmdbBroken told;
    void *context;
    uint64_t n_broken;
} Walk;

static void lmdb_check_complain(Walk *walk, uint64_t page, const char *what)
{
    walk->told(walk->context, walk->table, page, what);
    walk->n_broken++;
}

/* ---- pages ---- */

static Header lmdb_check_read_header(const uint8_t *bytes)
{
    Header header;
    memcpy(&header, bytes, sizeof header);
    return header;
}

/* Pages first to first + n - 1 are in the file and were in no tree before. */
static bool lmdb_check_take(Walk *walk, uint64_t first, uint64_t n, uint64_t end)
{
    if (first < 2 || first >= end || n > end - first) {
        lmdb_check_complain(walk, first, "is not in the file");
        return false;
    }
    for (uint64_t page = first; page < first + n; page++) {
        if (bits_has(walk->seen, page)) {
            lmdb_check_complain(walk, page, "is used twice");
            return false;
        }
        bits_set(walk->seen, page);
    }
    return true;
}

/* The node at an offset of a page, or of a page inside a value, of size bytes. */
static bool read_node(const uint8_t *page, size_t size, const Header *header, size_t number,
                      bool branch, Node *node)
{
    uint16_t offset = 0;
    uint16_t words[4];
    memcpy(&offset, page + HEADER_BYTES + number * sizeof offset, sizeof offset);
    if (offset < header->upper || offset + NODE_BYTES > size) {
        return false;
    }
    memcpy(words, page + offset, sizeof words);
    uint32_t low = (uint32_t)words[1] << 16 | words[0];
    node->flags = branch ? 0 : words[2];
    node->child = low | (uint64_t)words[2] << 32;
    node->key_bytes = words[3];
    node->key = page + offset + NODE_BYTES;
    node->bytes = low;
    node->value = node->key + node->key_bytes;
    size_t room = size - offset - NODE_BYTES;
    size_t leaf = (node->flags & NODE_ELSEWHERE) != 0 ? sizeof(uint64_t) : low;
    size_t inside = branch ? 0 : leaf;
    return node->key_bytes <= KEY_MOST && node->key_bytes <= room &&
           inside <= room - node->key_bytes;
}

static int lmdb_check_compare_numbers(const uint8_t *a, const uint8_t *b, size_t length)
{
    uint64_t x = 0;
    uint64_t y = 0;
    memcpy(&x, a, length < sizeof x ? length : sizeof x);
    memcpy(&y, b, length < sizeof y ? length : sizeof y);
    return (x > y) - (x < y);
}

/* Keys that stand in the wrong order are not found. */
static bool ascend(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes,
                   unsigned table_flags)
{
    if ((table_flags & TABLE_INTEGERS) != 0) {
        return a_bytes == b_bytes && lmdb_check_compare_numbers(a, b, a_bytes) < 0;
    }
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order != 0 ? order < 0 : a_bytes < b_bytes;
}

static bool has_sound_header(const Header *header, size_t size, size_t *n)
{
    *n = header->lower < HEADER_BYTES ? 0 : (header->lower - HEADER_BYTES) / sizeof(uint16_t);
    return *n > 0 && header->lower <= header->upper && header->upper <= size;
}

/* ---- values ---- */

static void walk_tree(Walk *walk, const Tree *tree);

/* Values of one length, one behind the other, which ascend as memcmp has it. */
static bool check_fixed(const uint8_t *page, size_t size, const Header *header, size_t n)
{
    size_t bytes = header->key_bytes;
    if (bytes == 0 || n * bytes > size - HEADER_BYTES) {
        return false;
    }
    const uint8_t *values = page + HEADER_BYTES;
    for (size_t i = 1; i < n; i++) {
        if (memcmp(values + (i - 1) * bytes, values + i * bytes, bytes) >= 0) {
            return false;
        }
    }
    return true;
}

/* Values of one key as a small page inside the node. All that ours have are of one length. */
static bool check_inner(const Node *node, uint64_t *entries)
{
    size_t n = 0;
    size_t size = node->bytes;
    if (size < HEADER_BYTES) {
        return false;
    }
    Header header = lmdb_check_read_header(node->value);
    if ((header.flags & (PAGE_INNER | PAGE_FIXED)) != (PAGE_INNER | PAGE_FIXED) ||
        !has_sound_header(&header, size, &n)) {
        return false;
    }
    *entries += n;
    return check_fixed(node->value, size, &header, n);
}

/* A value of the free list: a count and that many page numbers, the greatest first. */
static bool check_free_pages(Walk *walk, const uint8_t *value, size_t bytes)
{
    uint64_t n = 0;
    uint64_t before = UINT64_MAX;
    if (bytes < sizeof n) {
        return false;
    }
    memcpy(&n, value, sizeof n);
    if (n > bytes / sizeof n - 1) {
        return false;
    }
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t page = 0;
        memcpy(&page, value + i * sizeof page, sizeof page);
        if (page >= before || !lmdb_check_take(walk, page, 1, walk->n_numbers)) {
            return page < before; /* else told */
        }
        before = page;
    }
    return true;
}

/* A value that is too large for its page has pages of its own. */
static bool check_elsewhere(Walk *walk, const Node *node)
{
    uint64_t number = 0;
    uint32_t n = 0;
    memcpy(&number, node->value, sizeof number);
    if (number < 2 || number >= walk->n_pages) {
        lmdb_check_complain(walk, number, "is not in the file");
        return true; /* told */
    }
    const uint8_t *page = walk->map + number * walk->page_bytes;
    Header header = lmdb_check_read_header(page);
    memcpy(&n, page + offsetof(Header, lower), sizeof n);
    if (header.number != number || (header.flags & PAGE_OVERFLOW) == 0 ||
        HEADER_BYTES + node->bytes > (uint64_t)n * walk->page_bytes) {
        return false;
    }
    if (lmdb_check_take(walk, number, n, walk->n_pages) && walk->is_free_list) {
        return check_free_pages(walk, page + HEADER_BYTES, node->bytes);
    }
    return true;
}

static bool check_subtree(Walk *walk, const Node *node, uint64_t *entries)
{
    Tree tree;
    if (node->bytes != sizeof tree) {
        return false;
    }
    memcpy(&tree, node->value, sizeof tree);
    if ((tree.flags & ~(unsigned)TABLE_FLAGS) != 0) {
        return false;
    }
    if ((node->flags & NODE_MANY) != 0) {
        *entries += tree.entries;
        walk_tree(walk, &tree);
        return true;
    }
    *entries += 1;
    if (walk->tables == NULL || walk->n_tables == MAX_TABLES || node->key_bytes >= NAME_BYTES) {
        return walk->tables != NULL;
    }
    Table *table = &walk->tables[walk->n_tables++];
    *table = (Table){.tree = tree};
    memcpy(table->name, node->key, node->key_bytes);
    return true;
}

static bool check_value(Walk *walk, const Node *node, unsigned table_flags, uint64_t *entries)
{
    if ((node->flags & NODE_MANY) != 0 && (table_flags & TABLE_MANY_VALUES) == 0) {
        return false;
    }
    if ((node->flags & NODE_TREE) != 0) {
        return check_subtree(walk, node, entries);
    }
    if ((node->flags & NODE_MANY) != 0) {
        return check_inner(node, entries);
    }
    *entries += 1;
    if ((node->flags & NODE_ELSEWHERE) != 0) {
        return check_elsewhere(walk, node);
    }
    return !walk->is_free_list || check_free_pages(walk, node->value, node->bytes);
}

/* ---- trees ---- */

static void walk_page(Walk *walk, const Tree *tree, uint64_t number, unsigned level,
                      uint64_t *entries);

/* The nodes of a page, and what hangs from them. */
static bool walk_nodes(Walk *walk, const Tree *tree, const uint8_t *page, const Header *header,
                       size_t n, unsigned level, uint64_t *entries)
{
    bool branch = level < tree->depth;
    Node before = {.flags = 0};
    for (size_t i = 0; i < n; i++) {
        Node node;
        /* The first key of a branch stands for everything that is smaller. */
        size_t first = branch ? 1 : 0;
        if (!read_node(page, walk->page_bytes, header, i, branch, &node) ||
            (i > first &&
             !ascend(before.key, before.key_bytes, node.key, node.key_bytes, tree->flags))) {
            return false;
        }
        before = node;
        if (branch) {
            walk_page(walk, tree, node.child, level + 1, entries);
        } else if (!check_value(walk, &node, tree->flags, entries)) {
            return false;
        }
    }
    return true;
}

static void walk_page(Walk *walk, const Tree *tree, uint64_t number, unsigned level,
                      uint64_t *entries)
{
    size_t n = 0;
    if (!lmdb_check_take(walk, number, 1, walk->n_pages) ||
        (level == tree->depth && walk->without_leaves)) {
        return;
    }
    const uint8_t *page = walk->map + number * walk->page_bytes;
    Header header = lmdb_check_read_header(page);
    unsigned kind = level < tree->depth ? PAGE_BRANCH : PAGE_LEAF;
    unsigned kinds = PAGE_BRANCH | PAGE_LEAF | PAGE_OVERFLOW | PAGE_INNER;
    bool sound = header.number == number && (header.flags & kinds) == kind &&
                 has_sound_header(&header, walk->page_bytes, &n);
    if (sound && (header.flags & PAGE_FIXED) != 0) {
        sound = kind == PAGE_LEAF && header.key_bytes == tree->pad &&
                check_fixed(page, walk->page_bytes, &header, n);
        *entries += n;
    } else if (sound) {
        sound = walk_nodes(walk, tree, page, &header, n, level, entries);
    }
    if (!sound) {
        lmdb_check_complain(walk, number, "is broken");
    }
}

static void walk_tree(Walk *walk, const Tree *tree)
{
    uint64_t entries = 0;
    uint64_t before = walk->n_broken;
    if (tree->root == NO_PAGE ? tree->entries != 0 : tree->depth == 0 || tree->depth > MAX_DEPTH) {
        lmdb_check_complain(walk, tree->root, "is no root");
        return;
    }
    if (tree->root != NO_PAGE) {
        walk_page(walk, tree, tree->root, 1, &entries);
    }
    if (walk->n_broken == before && entries != tree->entries && !walk->without_leaves) {
        lmdb_check_complain(walk, tree->root, "is the root of a tree that lacks entries");
    }
}

/* ---- the file ---- */

/* Whether LMDB may read a meta page: it takes the size of pages, the place of the map and the
 * length of the file from there, unseen. */
static bool lmdb_check_is_sound_meta(const Header *header, const Meta *meta, uint64_t file_bytes)
{
    uint64_t page_bytes = meta->trees[0].pad;
    return (header->flags & PAGE_META) != 0 && meta->magic == META_MAGIC &&
           meta->version == META_VERSION && meta->address == 0 && page_bytes >= PAGE_LEAST &&
           page_bytes <= PAGE_MOST && (page_bytes & (page_bytes - 1)) == 0 &&
           (meta->trees[0].flags & TABLE_INTEGERS) != 0 &&
           (meta->trees[0].flags & TABLE_AT_ADDRESS) == 0 &&
           (meta->trees[1].flags & ~(unsigned)TABLE_FLAGS) == 0 &&
           /* What is missing is free, and the free list is in the file: eight bytes a page. */
           meta->last_page >= 1 && meta->last_page < file_bytes / page_bytes + file_bytes / 8;
}

static bool lmdb_check_read_meta(int fd, off_t at, Header *header, Meta *meta)
{
    return pread(fd, header, sizeof *header, at) == sizeof *header &&
           pread(fd, meta, sizeof *meta, at + HEADER_BYTES) == sizeof *meta;
}

/* Both meta pages, as long as LMDB has not opened the file. A file of another program, or none, is
 * for LMDB to refuse. */
static void lmdb_check_metas(Walk *walk, int fd)
{
    struct stat st;
    Header header;
    Meta meta;
    if (fstat(fd, &st) != 0 || st.st_size == 0) {
        return;
    }
    walk->table = "";
    uint64_t page_bytes = PAGE_LEAST;
    for (uint64_t i = 0; i < 2; i++) {
        bool is_read = lmdb_check_read_meta(fd, (off_t)(i * page_bytes), &header, &meta);
        if (is_read && i == 0 && meta.magic == META_MAGIC && meta.version != META_VERSION) {
            return;
        }
        if (!is_read || !lmdb_check_is_sound_meta(&header, &meta, (uint64_t)st.st_size) ||
            (i == 1 && meta.trees[0].pad != page_bytes)) {
            lmdb_check_complain(walk, i, "is no meta page");
            return;
        }
        page_bytes = meta.trees[0].pad;
    }
}

/* Both meta pages are read before the transaction begins: one of them is its own, or a writer was
 * in between. The transaction keeps all pages of its moment. */
static bool lmdb_check_begin(MDB_env *env, int fd, size_t page_bytes, MDB_txn **txn, Meta *meta)
{
    for (int i = 0; i < META_TRIES; i++) {
        Header header;
        Meta metas[2];
        if (!lmdb_check_read_meta(fd, 0, &header, &metas[0]) ||
            !lmdb_check_read_meta(fd, (off_t)page_bytes, &header, &metas[1]) ||
            mdb_txn_begin(env, NULL, MDB_RDONLY, txn) != 0) {
            return false;
        }
        size_t id = mdb_txn_id(*txn);
        if (metas[0].transaction == id || metas[1].transaction == id) {
            *meta = metas[metas[0].transaction == id ? 0 : 1];
            return true;
        }
        mdb_txn_abort(*txn);
    }
    return false;
}

/* In the transaction: everything that it sees is in the file by now. */
static Result lmdb_check_walk_file(Walk *walk, int fd, const Meta *meta, uint64_t leaves_most)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size == 0) {
        return RESULT_IO;
    }
    size_t size = (size_t)st.st_size;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    Table *tables = calloc(MAX_TABLES, sizeof *tables);
    walk->n_pages = size / walk->page_bytes;
    walk->n_numbers = meta->last_page + 1;
    walk->without_leaves = leaves_most > 0 && size > leaves_most;
    uint64_t n_bits = walk->n_pages > walk->n_numbers ? walk->n_pages : walk->n_numbers;
    walk->seen = calloc(n_bits / 8 + 1, 1);
    Result rc =
        map == MAP_FAILED || tables == NULL || walk->seen == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK) {
        walk->map = map;
        bool is_long = walk->without_leaves;
        walk->without_leaves = false;
        walk->table = "";
        walk->tables = tables;
        walk_tree(walk, &meta->trees[1]);
        walk->tables = NULL;
        walk->without_leaves = is_long;
        for (size_t i = 0; i < walk->n_tables; i++) {
            walk->table = tables[i].name;
            walk_tree(walk, &tables[i].tree);
        }
        /* Last: by now the pages that are not free are known. */
        walk->table = "free list";
        walk->without_leaves = false;
        walk->is_free_list = true;
        walk_tree(walk, &meta->trees[0]);
    }
    if (map != MAP_FAILED) {
        (void)munmap(map, size);
    }
    free(walk->seen);
    free(tables);
    return rc;
}

/* The walk of one moment. RESULT_TIMEOUT: without a lock, a writer has used its pages anew. */
static Result lmdb_check_walk_moment(Walk *walk, MDB_env *env, const LmdbCheckOptions *options)
{
    MDB_txn *txn = NULL;
    MDB_stat stat;
    MDB_envinfo info;
    Meta meta;
    int fd = -1;
    if (mdb_env_stat(env, &stat) != 0 || mdb_env_get_fd(env, &fd) != 0) {
        return RESULT_OK;
    }
    walk->page_bytes = stat.ms_psize;
    if (!lmdb_check_begin(env, fd, walk->page_bytes, &txn, &meta)) {
        return RESULT_OK;
    }
    Result rc = lmdb_check_walk_file(walk, fd, &meta, options->leaves_most);
    mdb_txn_abort(txn);
    bool is_past = options->unlocked && mdb_env_info(env, &info) == 0 &&
                   info.me_last_txnid != meta.transaction;
    return rc == RESULT_OK && is_past && walk->n_broken > 0 ? RESULT_TIMEOUT : rc;
}

static Result lmdb_check_trees(Walk *walk, const char *path, const LmdbCheckOptions *options)
{
    MDB_env *env = NULL;
    Result rc = RESULT_OK;
    unsigned flags = MDB_RDONLY | MDB_NOTLS | (options->unlocked ? (unsigned)MDB_NOLOCK : 0u);
    if (mdb_env_create(&env) != 0) {
        return RESULT_MEMORY;
    }
    (void)mdb_env_set_mapsize(env, 1); /* LMDB maps as much as there is, instead of a terabyte */
    if (lmdb_env_enter(env, path, flags, LOCK_MODE) == 0) {
        rc = lmdb_check_walk_moment(walk, env, options);
        for (int i = 1; i < META_TRIES && rc == RESULT_TIMEOUT; i++) {
            *walk = (Walk){.told = walk->told, .context = walk->context};
            rc = lmdb_check_walk_moment(walk, env, options);
        }
    }
    mdb_env_close(env);
    return rc;
}

Result lmdb_check(const char *path, const LmdbCheckOptions *options, LmdbBroken told, void *context,
                  uint64_t *n_broken)
{
    static const LmdbCheckOptions defaults = {.unlocked = false};
    Walk walk = {.told = told, .context = context};
    Result rc = RESULT_OK;
    Path file;
    int fd = open(file_path(&file, "%s/data.mdb", path), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        lmdb_check_metas(&walk, fd);
        (void)close(fd);
    }
    if (walk.n_broken == 0) {
        rc = lmdb_check_trees(&walk, path, options == NULL ? &defaults : options);
    }
    *n_broken = walk.n_broken;
    return rc;
}
