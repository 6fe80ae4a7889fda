#include "store/lmdb/journal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/thread/mutex.h"
#include "store/lmdb/reader_slots.h"
#include "store/lmdb/lmdb_result.h"

#define GENERATIONS 2u
#define CHUNK_ROWS  4096u      /* rows that the index grows by; it is never moved */
#define LEAST_HEADS 1024u      /* a power of two */
#define MOST_ROWS   (1u << 30) /* of a generation: numbers of rows have 32 bits */
#define LEAST_ROWS  1024u      /* frozen in the smallest database */
#define ROWS_A_PAGE 4u         /* of the database: a sweep touches each page for several rows */
#define SWEEP_LEAST 256u       /* rows with a commit, beside one and a half for each new row */
#define HEAD_BYTES  9u         /* of a row: word, table */

/* The life of a generation. There are two tables; the index of a third one may be kept.
 *
 *   EMPTY    number 0, no row
 *     | journal_begin_generation(), by the first journal_put(): row 0 holds its number
 *   ACTIVE   rows from `committed` to n belong to the transaction under way
 *     | journal_freeze(), by journal_settle() when it has rows enough and the other one is EMPTY
 *   FROZEN   takes no more rows; `order` says what is to be written, from `swept` to `reached`
 *     |      in the transaction under way
 *     | journal_sweep_rows() has written all and emptied the table; journal_settle()
 *   RETIRED  an index without a table: snapshots of before `retired_by` still have its rows
 *     | journal_is_past(), or the next one is retired
 *   gone
 *
 * A transaction that is not committed takes its own step back (journal_take_back): rows that it
 * appended, what it swept, the table that it emptied. Nothing else can have changed meanwhile,
 * since LMDB has one writer.
 *
 * The index is no snapshot. It has rows that are not committed yet, and a row number may belong to
 * another generation in the snapshot of a reader. So a reader takes from the index where to look,
 * and from its own transaction what is there (journal_read): a row that its snapshot lacks, or that
 * is of another word, is passed over, and `before` leads to the next older one. */

typedef struct JournalEntry {
    uint64_t word;
    uint32_t before; /* the next older row of the same word and table; 0 = none */
    uint32_t table;
} JournalEntry;

typedef struct Generation {
    uint64_t number; /* 0: it is empty */
    JournalEntry **chunks;
    size_t n_chunks;
    uint32_t n;         /* rows, the first one (row 0) included */
    uint32_t committed; /* of these */
    uint32_t *heads;    /* by word and table: the newest row; 0 = free */
    size_t n_heads;     /* a power of two, or 0 */
    size_t n_words;
} Generation;

struct Journal {
    MDB_env *env; /* borrowed */
    Mutex mutex;  /* RANK_TABLE; guards what readers look at: generations and retired */
    MDB_dbi dbis[GENERATIONS];
    Generation generations[GENERATIONS];
    unsigned active;      /* which of them */
    Generation retired;   /* was swept; for snapshots that are older than its last piece */
    unsigned retired_at;  /* which table it was in */
    size_t retired_by;    /* the transaction that dropped it */
    atomic_bool has_rows; /* of any generation: else nothing is locked */
    bool follows;
    _Atomic size_t followed; /* the snapshot that the index is of */
    JournalTarget targets[JOURNAL_TABLES];
    size_t most;     /* rows of a generation */
    uint32_t *order; /* rows of the frozen one by table and word */
    size_t n_order;
    size_t swept;   /* of these, as committed */
    size_t reached; /* of these, in this transaction */
    bool dropped;   /* in this transaction */
    size_t pages;   /* of the database, as of the last write transaction */
};

/* ---- the index of a generation ---- */

static JournalEntry *generation_entry(const Generation *generation, uint32_t row)
{
    return &generation->chunks[row / CHUNK_ROWS][row % CHUNK_ROWS];
}

static void generation_clear(Generation *generation)
{
    for (size_t i = 0; i < generation->n_chunks; i++) {
        free(generation->chunks[i]);
    }
    free(generation->chunks);
    free(generation->heads);
    *generation = (Generation){.number = 0};
}

/* Where the newest row of a word stands, or would. At most half of the heads are used
 * (generation_add), so there is a free one to stop at. The table is mixed in above the words, most
 * of which are small numbers. */
static uint32_t *generation_slot(const Generation *generation, uint64_t word, uint32_t table)
{
    size_t mask = generation->n_heads - 1;
    size_t i = (size_t)hash_mix(word + ((uint64_t)table << 56)) & mask;
    while (generation->heads[i] != 0) {
        const JournalEntry *entry = generation_entry(generation, generation->heads[i]);
        if (entry->word == word && entry->table == table) {
            break;
        }
        i = (i + 1) & mask;
    }
    return &generation->heads[i];
}

static uint32_t generation_newest(const Generation *generation, uint64_t word, uint32_t table)
{
    return generation->n_words == 0 ? 0 : *generation_slot(generation, word, table);
}

/* Rows are entered in order of their numbers, so a chain of `before` goes from new to old. */
static void generation_enter(Generation *generation, uint32_t row)
{
    JournalEntry *entry = generation_entry(generation, row);
    uint32_t *slot = generation_slot(generation, entry->word, entry->table);
    generation->n_words += *slot == 0;
    entry->before = *slot;
    *slot = row;
}

/* Makes all heads anew, with room for as many words again. */
static int generation_rehash(Generation *generation, size_t n_heads)
{
    uint32_t *heads = calloc(n_heads, sizeof *heads);
    if (heads == NULL) {
        return ENOMEM;
    }
    free(generation->heads);
    generation->heads = heads;
    generation->n_heads = n_heads;
    generation->n_words = 0;
    for (uint32_t row = 1; row < generation->n; row++) {
        generation_enter(generation, row);
    }
    return 0;
}

/* What may lack memory comes before the first change: ENOMEM leaves the index as it was. */
static int generation_add(Generation *generation, uint64_t word, uint32_t table)
{
    uint32_t row = generation->n;
    if (row / CHUNK_ROWS == generation->n_chunks) {
        JournalEntry **chunks =
            reallocarray(generation->chunks, generation->n_chunks + 1, sizeof(JournalEntry *));
        if (chunks == NULL) {
            return ENOMEM;
        }
        generation->chunks = chunks;
        chunks[generation->n_chunks] = malloc(CHUNK_ROWS * sizeof **chunks);
        if (chunks[generation->n_chunks] == NULL) {
            return ENOMEM;
        }
        generation->n_chunks++;
    }
    if (2 * (generation->n_words + 1) > generation->n_heads) {
        int rc = generation_rehash(generation, generation->n_heads == 0 ? LEAST_HEADS
                                                                        : 2 * generation->n_heads);
        if (rc != 0) {
            return rc;
        }
    }
    *generation_entry(generation, row) = (JournalEntry){.word = word, .table = table};
    generation->n = row + 1;
    generation_enter(generation, row);
    return 0;
}

/* ---- opening, and following another process ---- */

static Generation *journal_active(Journal *journal)
{
    return &journal->generations[journal->active];
}

/* The other one; it is empty unless it is being swept. */
static Generation *journal_frozen(Journal *journal)
{
    return &journal->generations[1 - journal->active];
}

/* The number of the generation in a table; 0: it is empty. */
static int journal_number(MDB_txn *txn, MDB_dbi dbi, uint64_t *number)
{
    uint64_t first = 0;
    MDB_val key = {sizeof first, &first};
    MDB_val value;
    *number = 0;
    int rc = mdb_get(txn, dbi, &key, &value);
    if (rc == 0 && value.mv_size != sizeof *number) {
        return MDB_CORRUPTED;
    }
    if (rc == 0) {
        memcpy(number, value.mv_data, sizeof *number);
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int journal_take_row(Generation *generation, const MDB_val *key, const MDB_val *value)
{
    uint64_t row = 0;
    uint64_t word = 0;
    memcpy(&row, key->mv_data, sizeof row);
    /* Rows are numbered without gaps: a row's number is its place in the index. */
    if (row != generation->n || value->mv_size < HEAD_BYTES) {
        return MDB_CORRUPTED;
    }
    memcpy(&word, value->mv_data, sizeof word);
    uint32_t table = ((const uint8_t *)value->mv_data)[sizeof word];
    return table == 0 || table >= JOURNAL_TABLES ? MDB_CORRUPTED
                                                 : generation_add(generation, word, table);
}

/* Reads the rows of a table that the index does not have yet. */
static int journal_load(Journal *journal, MDB_txn *txn, unsigned which)
{
    Generation *generation = &journal->generations[which];
    uint64_t number = 0;
    LmdbRows rows;
    int rc = journal_number(txn, journal->dbis[which], &number);
    if (rc != 0) {
        return rc;
    }
    /* Rows are only appended, so the index lacks the end of the table; under another number the
     * table was emptied and begun anew since. */
    if (number != generation->number) {
        generation_clear(generation);
        generation->number = number;
        generation->n = number != 0;
    }
    if (number == 0) {
        return 0;
    }
    uint64_t next = generation->n;
    lmdb_rows_begin(&rows, txn, journal->dbis[which], lmdb_bytes(&next, sizeof next));
    while (lmdb_rows_next(&rows)) {
        (void)lmdb_rows_note(&rows, journal_take_row(generation, &rows.key, &rows.value));
    }
    generation->committed = generation->n;
    return lmdb_rows_close(&rows, 0);
}

static void journal_note_rows(Journal *journal)
{
    bool has = journal->retired.n > 0;
    for (unsigned i = 0; i < GENERATIONS; i++) {
        has = has || journal->generations[i].n > 0;
    }
    atomic_store_explicit(&journal->has_rows, has, memory_order_release);
}

static int journal_load_all(Journal *journal, MDB_txn *txn)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < GENERATIONS; i++) {
        rc = journal_load(journal, txn, i);
    }
    /* The newer of two tables takes rows. A process that was killed in the middle of a sweep finds
     * both: the older one is frozen, and its sweep begins anew, which changes nothing that is
     * newer. */
    journal->active = journal->generations[1].number > journal->generations[0].number;
    journal_note_rows(journal);
    return rc;
}

/* A process that only reads: the index becomes that of the snapshot, unless it is newer. A newer
 * one is good for an older snapshot, too (journal_read passes over rows that it lacks). */
static int journal_follow(Journal *journal, MDB_txn *txn)
{
    size_t id = mdb_txn_id(txn);
    if (!journal->follows || id <= atomic_load(&journal->followed)) {
        return 0;
    }
    mutex_lock(&journal->mutex);
    int rc = id <= atomic_load(&journal->followed) ? 0 : journal_load_all(journal, txn);
    if (rc == 0) {
        atomic_store(&journal->followed, id);
    }
    mutex_unlock(&journal->mutex);
    return rc;
}

static const char *const journal_names[GENERATIONS] = {"journal0", "journal1"};

int journal_create(MDB_txn *txn)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < GENERATIONS; i++) {
        MDB_dbi dbi = 0;
        rc = mdb_dbi_open(txn, journal_names[i], MDB_INTEGERKEY | MDB_CREATE, &dbi);
    }
    return rc;
}

int journal_open(Journal **out, MDB_txn *txn, bool follows)
{
    Journal *journal = calloc(1, sizeof *journal);
    *out = journal;
    if (journal == NULL) {
        return ENOMEM;
    }
    mutex_init(&journal->mutex, RANK_TABLE);
    journal->follows = follows;
    journal->env = mdb_txn_env(txn);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < GENERATIONS; i++) {
        rc = mdb_dbi_open(txn, journal_names[i], MDB_INTEGERKEY, &journal->dbis[i]);
    }
    if (rc == 0) {
        rc = journal_load_all(journal, txn);
    }
    atomic_store(&journal->followed, mdb_txn_id(txn));
    return rc;
}

void journal_close(Journal *journal)
{
    if (journal == NULL) {
        return;
    }
    generation_clear(&journal->generations[0]);
    generation_clear(&journal->generations[1]);
    generation_clear(&journal->retired);
    free(journal->order);
    mutex_destroy(&journal->mutex);
    free(journal);
}

void journal_set_target(Journal *journal, JournalTable table, const JournalTarget *target)
{
    mutex_lock(&journal->mutex);
    if (journal->targets[table].apply == NULL) {
        journal->targets[table] = *target;
    }
    mutex_unlock(&journal->mutex);
}

void journal_set_rows(Journal *journal, size_t rows)
{
    journal->most = rows < MOST_ROWS ? rows : MOST_ROWS;
}

bool journal_takes(const Journal *journal)
{
    return journal != NULL &&
           (journal->most > 0 || atomic_load_explicit(&journal->has_rows, memory_order_acquire));
}

size_t journal_rows(const Journal *journal)
{
    return (size_t)journal->generations[0].n + journal->generations[1].n;
}

/* ---- rows ---- */

/* MDB_RESERVE: the row is written once, where it stays. MDB_APPEND: it goes behind the last one
 * without a search, and pages are filled. */
static int journal_append(MDB_txn *txn, MDB_dbi dbi, uint64_t row, MDB_val *value)
{
    MDB_val key = {sizeof row, &row};
    return mdb_put(txn, dbi, &key, value, MDB_APPEND | MDB_RESERVE);
}

static int journal_begin_generation(Journal *journal, MDB_txn *txn)
{
    Generation *active = journal_active(journal);
    /* The newest of all: journal_older() goes from new to old by these numbers. */
    uint64_t number = journal_frozen(journal)->number + 1;
    if (number <= journal->retired.number) {
        number = journal->retired.number + 1;
    }
    MDB_val value = {sizeof number, NULL};
    int rc = journal_append(txn, journal->dbis[journal->active], 0, &value);
    if (rc != 0) {
        return rc;
    }
    memcpy(value.mv_data, &number, sizeof number);
    mutex_lock(&journal->mutex);
    active->number = number;
    active->n = 1;
    journal_note_rows(journal);
    mutex_unlock(&journal->mutex);
    return 0;
}

int journal_put(Journal *journal, MDB_txn *txn, JournalTable table, uint64_t word,
                const MDB_val *row)
{
    Generation *active = journal_active(journal);
    int rc = active->n == 0 ? journal_begin_generation(journal, txn) : 0;
    MDB_val value = {HEAD_BYTES + row->mv_size, NULL};
    if (rc == 0) {
        rc = active->n >= MOST_ROWS
                 ? MDB_MAP_FULL
                 : journal_append(txn, journal->dbis[journal->active], active->n, &value);
    }
    if (rc != 0) {
        return rc;
    }
    uint8_t *bytes = value.mv_data;
    memcpy(bytes, &word, sizeof word);
    bytes[sizeof word] = (uint8_t)table;
    memcpy(bytes + HEAD_BYTES, row->mv_data, row->mv_size);
    /* The index comes behind the row: a reader that finds the entry and not the row passes over it,
     * because its snapshot was taken before. If there is no memory for the entry the transaction
     * must be aborted, and takes the row with it. */
    mutex_lock(&journal->mutex);
    rc = generation_add(active, word, (uint32_t)table);
    mutex_unlock(&journal->mutex);
    return rc;
}

/* The generation behind one with this number, from new to old; UINT64_MAX: the newest of all. */
static const Generation *journal_older(const Journal *journal, uint64_t number, unsigned *which)
{
    const Generation *const all[] = {&journal->generations[0], &journal->generations[1],
                                     &journal->retired};
    const Generation *found = NULL;
    for (unsigned i = 0; i <= GENERATIONS; i++) {
        if (all[i]->number != 0 && all[i]->number < number &&
            (found == NULL || all[i]->number > found->number)) {
            found = all[i];
            *which = i < GENERATIONS ? i : journal->retired_at;
        }
    }
    return found;
}

/* The number of the next row to look at; false: there is none. The lock is held for the
 * index alone. Between two steps a generation may have moved on to another state, or be gone: a
 * walk knows it by its number, not by its place. */
static bool journal_step(Journal *journal, uint32_t table, uint64_t word, JournalWalk *walk,
                         unsigned *which, uint32_t *row)
{
    mutex_lock(&journal->mutex);
    if (walk->generation == 0) {
        *walk = (JournalWalk){.generation = UINT64_MAX};
    }
    const Generation *at =
        walk->row == 0 ? NULL : journal_older(journal, walk->generation + 1, which);
    if (at == NULL || at->number != walk->generation || walk->row >= at->n) {
        walk->row = 0; /* that generation is gone, or its rows are told */
    }
    while (walk->row == 0) {
        at = journal_older(journal, walk->generation, which);
        if (at == NULL) {
            break;
        }
        walk->generation = at->number;
        walk->row = generation_newest(at, word, table);
    }
    *row = walk->row;
    if (walk->row != 0) {
        /* Remembered now, while the lock is held: the entry may be gone when the caller asks
         * again. */
        walk->row = generation_entry(at, walk->row)->before;
    }
    mutex_unlock(&journal->mutex);
    return *row != 0;
}

/* Reads a row if the snapshot has it. */
static int journal_read(MDB_txn *txn, MDB_dbi dbi, uint32_t number, JournalTable table,
                        uint64_t word, MDB_val *row)
{
    uint64_t n = number;
    uint64_t found = 0;
    MDB_val key = {sizeof n, &n};
    MDB_val value;
    int rc = mdb_get(txn, dbi, &key, &value);
    if (rc != 0) {
        return rc;
    }
    if (value.mv_size < HEAD_BYTES) {
        return MDB_CORRUPTED;
    }
    uint8_t *bytes = value.mv_data;
    memcpy(&found, bytes, sizeof found);
    *row = (MDB_val){value.mv_size - HEAD_BYTES, bytes + HEAD_BYTES};
    /* In an older snapshot the table may hold another generation. */
    return found == word && bytes[sizeof found] == (uint8_t)table ? 0 : MDB_NOTFOUND;
}

int journal_find(Journal *journal, MDB_txn *txn, JournalTable table, uint64_t word,
                 JournalWalk *walk, MDB_val *row)
{
    unsigned which = 0;
    uint32_t number = 0;
    if (journal == NULL) {
        return MDB_NOTFOUND;
    }
    int rc = journal_follow(journal, txn);
    if (rc != 0) {
        return rc;
    }
    if (!atomic_load_explicit(&journal->has_rows, memory_order_acquire)) {
        return MDB_NOTFOUND;
    }
    rc = MDB_NOTFOUND;
    while (rc == MDB_NOTFOUND &&
           journal_step(journal, (uint32_t)table, word, walk, &which, &number)) {
        rc = journal_read(txn, journal->dbis[which], number, table, word, row);
    }
    return rc;
}

/* Of the index alone, and so also of rows that are not committed yet: for the writer. */
bool journal_has(Journal *journal, JournalTable table, uint64_t word)
{
    JournalWalk walk = {.generation = 0};
    unsigned which = 0;
    uint32_t row = 0;
    return journal != NULL && journal_step(journal, (uint32_t)table, word, &walk, &which, &row);
}

int journal_get(Journal *journal, MDB_txn *txn, JournalTable table, uint64_t word, MDB_val *row)
{
    JournalWalk walk = {.generation = 0};
    return journal_find(journal, txn, table, word, &walk, row);
}

/* ---- sweeps ---- */

/* Rows of bodies with the same word stay in order of arrival. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const Generation *generation = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const JournalEntry *left = generation_entry(generation, x);
    const JournalEntry *right = generation_entry(generation, y);
    if (left->table != right->table) {
        return left->table < right->table ? -1 : 1;
    }
    if (left->word != right->word) {
        return left->word < right->word ? -1 : 1;
    }
    return (x > y) - (x < y);
}

/* The rows of the frozen generation, in the order in which they are written. Of rows with the same
 * word the last one is enough, but for bodies. Made once: a frozen generation does not change, and
 * an abort only sets `reached` back. */
static int journal_sort(Journal *journal)
{
    const Generation *frozen = journal_frozen(journal);
    if (journal->order != NULL) {
        return 0;
    }
    journal->order = malloc(frozen->n * sizeof *journal->order);
    if (journal->order == NULL) {
        return ENOMEM;
    }
    journal->n_order = 0;
    journal->swept = 0;
    journal->reached = 0;
    for (uint32_t row = 1; row < frozen->n; row++) {
        const JournalEntry *entry = generation_entry(frozen, row);
        if (entry->table == JOURNAL_BODIES ||
            generation_newest(frozen, entry->word, entry->table) == row) {
            journal->order[journal->n_order++] = row;
        }
    }
    qsort_r(journal->order, journal->n_order, sizeof *journal->order, compare_rows,
            (void *)(uintptr_t)frozen);
    return 0;
}

static int journal_write_row(Journal *journal, MDB_txn *txn, uint32_t number)
{
    const JournalEntry *entry = generation_entry(journal_frozen(journal), number);
    MDB_val row;
    if (entry->table != JOURNAL_BODIES &&
        generation_newest(journal_active(journal), entry->word, entry->table) != 0) {
        /* The active generation has a newer one, which its own sweep writes. If that row is of
         * this transaction, the two are committed, or taken back, together. */
        return 0;
    }
    int rc = journal_read(txn, journal->dbis[1 - journal->active], number,
                          (JournalTable)entry->table, entry->word, &row);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
    }
    const JournalTarget *target = &journal->targets[entry->table];
    return target->apply(target->context, journal, txn, entry->word, &row);
}

/* Rows of one table, n at most; *n falls by what was written. `end` is called whatever failed,
 * since `begin` may hold something. */
static int journal_sweep_table(Journal *journal, MDB_txn *txn, size_t *n)
{
    const Generation *frozen = journal_frozen(journal);
    uint32_t table = generation_entry(frozen, journal->order[journal->reached])->table;
    const JournalTarget *target = &journal->targets[table];
    if (target->apply == NULL) {
        return EINVAL; /* whoever sweeps knows all tables */
    }
    int rc = target->begin == NULL ? 0 : target->begin(target->context, txn);
    while (rc == 0 && *n > 0 && journal->reached < journal->n_order &&
           generation_entry(frozen, journal->order[journal->reached])->table == table) {
        rc = journal_write_row(journal, txn, journal->order[journal->reached]);
        journal->reached++;
        (*n)--;
    }
    return target->end == NULL ? rc : target->end(target->context, rc);
}

static int journal_sweep_rows(Journal *journal, MDB_txn *txn, size_t n)
{
    int rc = journal_sort(journal);
    while (rc == 0 && n > 0 && journal->reached < journal->n_order) {
        rc = journal_sweep_table(journal, txn, &n);
    }
    if (rc == 0 && journal->reached == journal->n_order) {
        /* Emptied in the transaction of the last piece, so every snapshot has the rows either
         * here or in their tables. */
        rc = mdb_drop(txn, journal->dbis[1 - journal->active], 0);
        journal->dropped = rc == 0;
        journal->retired_by = mdb_txn_id(txn);
    }
    return rc;
}

/* For each row that the transaction appended one and a half are written: so the frozen generation
 * is gone when the active one has two thirds of its rows. */
int journal_sweep(Journal *journal, MDB_txn *txn)
{
    if (journal == NULL || journal->most == 0) {
        return 0;
    }
    MDB_envinfo info;
    if (mdb_env_info(journal->env, &info) == 0) {
        journal->pages = info.me_last_pgno;
    }
    const Generation *active = journal_active(journal);
    size_t fresh = active->n - active->committed;
    return journal_frozen(journal)->n == 0
               ? 0
               : journal_sweep_rows(journal, txn, fresh + fresh / 2 + SWEEP_LEAST);
}

/* What was active is frozen; the table of the other one is empty. */
static void journal_freeze(Journal *journal)
{
    generation_clear(&journal->retired);
    journal->active = 1 - journal->active;
    free(journal->order);
    journal->order = NULL;
}

/* For `ragno forget`, which reads the tables alone: again and again, each time with a commit,
 * until *done. */
int journal_drain(Journal *journal, MDB_txn *txn, size_t n, bool *done)
{
    *done = journal_frozen(journal)->n == 0 && journal_active(journal)->n == 0;
    if (*done) {
        return 0;
    }
    if (journal_frozen(journal)->n == 0) {
        mutex_lock(&journal->mutex);
        journal_freeze(journal);
        mutex_unlock(&journal->mutex);
    }
    return journal_sweep_rows(journal, txn, n);
}

/* The rows that were appended are not there. */
static void journal_take_back(Journal *journal)
{
    Generation *active = journal_active(journal);
    journal->reached = journal->swept;
    journal->dropped = false;
    if (active->n == active->committed) {
        return;
    }
    active->n = active->committed;
    if (active->n == 0) {
        generation_clear(active);
        return;
    }
    /* An abort must not fail for lack of memory, so the heads are filled anew in place. That costs
     * a pass over the rows of the generation; aborts are rare (a full disk, no memory). */
    memset(active->heads, 0, active->n_heads * sizeof *active->heads);
    active->n_words = 0;
    for (uint32_t row = 1; row < active->n; row++) {
        generation_enter(active, row);
    }
}

/* Nobody has a snapshot of before the last piece of the sweep. It reads the slots of all
 * processes, so it is asked before the mutex is taken. */
static bool journal_is_past(Journal *journal)
{
    ReaderTable readers;
    return reader_slots_tell(journal->env, &readers) == 0 &&
           (readers.oldest_pid == 0 || readers.oldest_txn >= journal->retired_by);
}

/* A generation has that many rows before it is frozen: as many as make a sweep change several
 * rows of each page that it touches. */
static size_t journal_enough(const Journal *journal)
{
    size_t rows = journal->pages * ROWS_A_PAGE;
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows;
    return rows < journal->most ? rows : journal->most;
}

void journal_settle(Journal *journal, bool committed)
{
    if (journal == NULL || journal->follows) {
        return;
    }
    Generation *active = journal_active(journal);
    bool past = journal->retired.n > 0 && journal_is_past(journal);
    mutex_lock(&journal->mutex);
    if (!committed) {
        journal_take_back(journal);
    }
    active->committed = active->n;
    journal->swept = journal->reached;
    /* Its rows are in the tables for every snapshot from this commit on; the index stays for older
     * ones. */
    if (journal->dropped) {
        generation_clear(&journal->retired);
        journal->retired = *journal_frozen(journal);
        journal->retired_at = 1 - journal->active;
        *journal_frozen(journal) = (Generation){.number = 0};
        journal->dropped = false;
        free(journal->order);
        journal->order = NULL;
    } else if (past) {
        generation_clear(&journal->retired);
    }
    /* While a snapshot is old enough to need the retired index, the active generation may grow to
     * twice its size, because the freeze would give the table and the place of that index to the
     * next one. A reader that takes longer still loses it: it then finds rows of the tables as they
     * were before the sweep, which are older than its snapshot. */
    size_t enough = journal_enough(journal) * (journal->retired.n > 0 ? 2 : 1);
    if (journal->most > 0 && active->n > enough && journal_frozen(journal)->n == 0) {
        journal_freeze(journal);
    }
    journal_note_rows(journal);
    mutex_unlock(&journal->mutex);
}
