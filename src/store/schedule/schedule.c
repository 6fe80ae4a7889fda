#include "store/schedule/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "store/schedule/schedule_gone.h"

/* ---- The tables of a Schedule, and the bytes of their keys and values ---- */

/* Both tables, and the list of removals that the journal keeps for a host:
 *
 *   schedule         (host 7, level 2) -> 11 15 90      gone of host 7: (2, 11) (2, 15) (2, 90)
 *                    (host 7, level 5) -> 12 13
 *   schedule_hosts   5 -> 7                             its best level without what is gone
 *
 * So whoever puts an entry into the list must look whether that has emptied a level
 * (schedule_remove_later), and whoever empties the list has nothing to tell schedule_hosts
 * (schedule_remove_gone). */

/* Finds the first key of host at or behind level; SCHEDULE_NO_LEVEL: there is none. The cursor then
 * stands at that key, and lmdb_rows_count says how many entries the level has. */
static unsigned schedule_find_level(ScheduleWork *work, uint32_t host, unsigned level)
{
    return schedule_work_find(work, host, level, 0, MDB_SET_RANGE) &&
                   schedule_key_host(&work->rows.key) == host
               ? schedule_key_level(&work->rows.key)
               : SCHEDULE_NO_LEVEL;
}

/* ---- Schedule parking ---- */

static void schedule_put_host(ScheduleWork *work, unsigned list, uint32_t host)
{
    ScheduleHostRow row;
    schedule_host_row_set(&row, list, host);
    if (work->rows.code == 0) {
        (void)lmdb_rows_note(&work->rows, mdb_put(work->txn, work->schedule->hosts, &row.key,
                                                  &row.data, MDB_NODUPDATA));
    }
}

/* It must be there. */
static void schedule_delete_host(ScheduleWork *work, unsigned list, uint32_t host)
{
    ScheduleHostRow row;
    schedule_host_row_set(&row, list, host);
    if (work->rows.code == 0) {
        work->rows.code = mdb_del(work->txn, work->schedule->hosts, &row.key, &row.data);
    }
}

/* Whether the host is in the list of parked ones; NULL: whether anybody is. */
static bool schedule_finds_parked(ScheduleWork *work, const uint32_t *host)
{
    ScheduleWork hosts;
    bool any = false;
    (void)schedule_number_read(work, SCHEDULE_PARKED_LEVEL, &any);
    if (host == NULL || !any) {
        return any;
    }
    schedule_work_begin(&hosts, work->schedule, work->txn, work->schedule->hosts);
    any = schedule_work_find_host(&hosts, SCHEDULE_PARKED_LEVEL, *host, MDB_GET_BOTH);
    (void)lmdb_rows_note(&work->rows, lmdb_rows_close(&hosts.rows, 0));
    return any;
}

Result schedule_is_parked(Schedule *schedule, MDB_txn *txn, uint32_t host, bool *parked)
{
    ScheduleWork work;
    schedule_work_begin(&work, schedule, txn, schedule->hosts);
    *parked = schedule_finds_parked(&work, &host);
    return schedule_work_end(&work);
}

/* Counts entries that were added to (negative: removed from) parked hosts. */
static void schedule_note_parked(ScheduleWork *work, int64_t change)
{
    bool any = false;
    if (change == 0) {
        return;
    }
    uint64_t count = schedule_number_read(work, SCHEDULE_PARKED_ENTRIES, &any);
    if (change > 0) {
        count += (uint64_t)change;
    } else {
        count -= bounds_size((uint64_t)-change, 0, count);
    }
    schedule_number_write(work, SCHEDULE_PARKED_ENTRIES, count, SCHEDULE_NUMBER_BYTES);
}

/* ---- the public part ---- */

/* What a host has: entries, and the level of the first; without those of its list. */
static uint64_t schedule_find_entries(ScheduleWork *work, uint32_t host, unsigned *level)
{
    ScheduleGone gone;
    uint64_t entries = 0;
    *level = SCHEDULE_NO_LEVEL;
    schedule_gone_read(work, host, &gone);
    unsigned at = schedule_find_level(work, host, 0);
    while (at != SCHEDULE_NO_LEVEL) {
        size_t of_level = lmdb_rows_count(&work->rows) - schedule_gone_of_level(&gone, at);
        *level = entries == 0 && of_level > 0 ? at : *level;
        entries += of_level;
        at = schedule_find_level(work, host, at + 1);
    }
    return entries;
}

Result schedule_host_count(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries)
{
    ScheduleWork work;
    unsigned level = SCHEDULE_NO_LEVEL;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    *entries = schedule_find_entries(&work, host, &level);
    return schedule_work_end(&work);
}

Result schedule_park(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries)
{
    ScheduleWork work;
    unsigned level = SCHEDULE_NO_LEVEL;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    bool parked = schedule_finds_parked(&work, &host);
    *entries = schedule_find_entries(&work, host, &level);
    if (!parked) {
        if (level != SCHEDULE_NO_LEVEL) {
            schedule_delete_host(&work, level, host);
        }
        schedule_put_host(&work, SCHEDULE_PARKED_LEVEL, host);
        schedule_note_parked(&work, (int64_t)*entries);
        schedule_number_write(&work, SCHEDULE_VERSION_LEVEL, SCHEDULE_VERSION_PARKING,
                              SCHEDULE_HOST_BYTES);
    }
    return schedule_work_end(&work);
}

Result schedule_unpark(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries,
                       unsigned *level)
{
    ScheduleWork work;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    bool parked = schedule_finds_parked(&work, &host);
    *entries = schedule_find_entries(&work, host, level);
    if (parked) {
        schedule_delete_host(&work, SCHEDULE_PARKED_LEVEL, host);
        schedule_note_parked(&work, -(int64_t)*entries);
        if (*level != SCHEDULE_NO_LEVEL) {
            schedule_put_host(&work, *level, host);
        }
    }
    return schedule_work_end(&work);
}

Result schedule_parked_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts)
{
    ScheduleWork work;
    bool any = false;
    schedule_work_begin(&work, schedule, txn, schedule->hosts);
    *entries = schedule_number_read(&work, SCHEDULE_PARKED_ENTRIES, &any);
    *hosts = schedule_work_find_host(&work, SCHEDULE_PARKED_LEVEL, 0, MDB_SET)
                 ? lmdb_rows_count(&work.rows)
                 : 0;
    return schedule_work_end(&work);
}

Result schedule_parked_hosts(Schedule *schedule, MDB_txn *txn, uint64_t *next, uint32_t *hosts,
                             size_t max, size_t *n)
{
    ScheduleWork work;
    *n = 0;
    if (*next > UINT32_MAX || max == 0) {
        return RESULT_OK;
    }
    schedule_work_begin(&work, schedule, txn, schedule->hosts);
    bool is_there =
        schedule_work_find_host(&work, SCHEDULE_PARKED_LEVEL, *next, MDB_GET_BOTH_RANGE);
    while (is_there) {
        hosts[*n] = (uint32_t)schedule_load_bytes(work.rows.value.mv_data, SCHEDULE_HOST_BYTES);
        *next = (uint64_t)hosts[*n] + 1;
        *n += 1;
        is_there = *n < max && lmdb_rows_get(&work.rows, MDB_NEXT_DUP);
    }
    return schedule_work_end(&work);
}

/* Entries that are added, removed or moved, and what of it the table of hosts has to know. */

/* The level of the first entry that is left at or behind from, without those of the list. The
 * cursor then stands at that level. */
static unsigned schedule_find_best(ScheduleWork *work, uint32_t host, unsigned from,
                                   const ScheduleGone *gone)
{
    unsigned best = schedule_find_level(work, host, from);
    while (best != SCHEDULE_NO_LEVEL && gone->n > 0 &&
           lmdb_rows_count(&work->rows) <= schedule_gone_of_level(gone, best)) {
        best = schedule_find_level(work, host, best + 1);
    }
    return best;
}

/* The changes of one host, which come one after the other: its list is read and written once for
 * all of them, and its best level is compared once. */
typedef struct HostChanges {
    uint32_t host;
    ScheduleGone gone; /* its list as it will be */
    size_t before;     /* items that its row of the journal has */
    bool is_asked;     /* best is known: behind the question it may change */
    unsigned best;     /* its level before the changes */
    ScheduleItem tail; /* the last one of its level, and the cursor is there; else of no level */
    int64_t change;    /* entries that were added */
} HostChanges;

/* Before the first change that its best level may follow from. */
static void host_changes_ask(ScheduleWork *work, HostChanges *h)
{
    h->tail.level = SCHEDULE_NO_LEVEL;
    if (!h->is_asked) {
        h->best = schedule_find_best(work, h->host, 0, &h->gone);
        h->is_asked = true;
    }
}

/* The entry is not in the list. */
static void host_changes_put(ScheduleWork *work, HostChanges *h, unsigned level, uint64_t index)
{
    unsigned flags = MDB_APPENDDUP; /* fills pages whole instead of splitting them in halves */
    if (h->tail.level != level || h->tail.index >= index) {
        /* Without a list, a host that has the key has this level, or a better one, as its best
         * already, and the question is saved. */
        bool is_new = !schedule_work_find(work, h->host, level, index, MDB_SET_KEY);
        if (!h->is_asked && (is_new || h->gone.n > 0)) {
            host_changes_ask(work, h);
            is_new = !schedule_work_find(work, h->host, level, index, MDB_SET_KEY);
        }
        bool is_last = is_new || (lmdb_rows_get(&work->rows, MDB_LAST_DUP) &&
                                  memcmp(work->record.index, work->rows.value.mv_data,
                                         SCHEDULE_INDEX_BYTES) > 0);
        flags = is_last && !is_new ? MDB_APPENDDUP : MDB_NODUPDATA;
        h->tail.level = is_last ? level : SCHEDULE_NO_LEVEL;
    } else {
        schedule_store_bytes(work->record.index, index, SCHEDULE_INDEX_BYTES);
    }
    h->tail.index = index;
    work->rows.key = (MDB_val){SCHEDULE_KEY_BYTES, work->record.key};
    work->rows.value = (MDB_val){SCHEDULE_INDEX_BYTES, work->record.index};
    h->change += lmdb_rows_put(&work->rows, flags);
}

/* Removes what is in a list, and the list, which had `before` items in the journal. The list is
 * replaced by an empty one first: rows of the journal are not deleted, and one that stayed would be
 * carried out again by the sweep. */
static void schedule_remove_gone(ScheduleWork *work, uint32_t host, ScheduleGone *gone,
                                 size_t before)
{
    size_t n = gone->n;
    gone->n = 0;
    if (before > 0) {
        schedule_gone_write(work, host, gone, before);
    }
    for (size_t i = 0; i < n; i++) {
        const ScheduleItem *item = &gone->items[i];
        if (!schedule_work_find(work, host, item->level, item->index, MDB_GET_BOTH)) {
            (void)lmdb_rows_note(&work->rows, MDB_CORRUPTED);
        }
        lmdb_rows_delete(&work->rows, 0);
    }
}

static void host_changes_empty_list(ScheduleWork *work, HostChanges *h)
{
    h->tail.level = SCHEDULE_NO_LEVEL;
    schedule_remove_gone(work, h->host, &h->gone, h->before);
    h->before = 0;
}

/* later: puts the entry into the list of those that are removed together; a full one is removed. */
static void host_changes_remove(ScheduleWork *work, HostChanges *h, ScheduleItem item, bool later)
{
    if (schedule_gone_has(&h->gone, item.level, item.index)) {
        return;
    }
    h->tail.level = SCHEDULE_NO_LEVEL;
    if (!schedule_work_find(work, h->host, item.level, item.index, MDB_GET_BOTH)) {
        return;
    }
    /* Only a level that ends can change which is the best. */
    if (lmdb_rows_count(&work->rows) <= schedule_gone_of_level(&h->gone, item.level) + 1) {
        host_changes_ask(work, h);
        (void)schedule_work_find(work, h->host, item.level, item.index, MDB_GET_BOTH);
    }
    h->change -= 1;
    if (!later) {
        lmdb_rows_delete(&work->rows, 0);
        return;
    }
    h->gone.items[h->gone.n++] = item;
    if (h->gone.n == SCHEDULE_GONE_MAX) {
        host_changes_empty_list(work, h);
    }
}

/* What is in the list of the host is removed first when the change might meet it: an entry that is
 * moved may be in the list, and one that is added again would be found in the table, and then be
 * removed with the list. Any other addition leaves the list alone. */
static void host_changes_make(ScheduleWork *work, HostChanges *h, const ScheduleChange *c)
{
    bool later = c->to == SCHEDULE_NO_LEVEL && journal_takes(work->schedule->journal);
    if (!later && h->gone.n > 0 &&
        (c->from != SCHEDULE_NO_LEVEL || schedule_gone_has(&h->gone, c->to, c->index))) {
        host_changes_empty_list(work, h);
    }
    if (c->from != SCHEDULE_NO_LEVEL) {
        host_changes_remove(work, h, (ScheduleItem){.index = c->index, .level = c->from}, later);
    }
    if (c->to != SCHEDULE_NO_LEVEL) {
        host_changes_put(work, h, c->to, c->index);
    }
}

static void host_changes_end(ScheduleWork *work, const HostChanges *h, bool parked)
{
    if (h->gone.n != h->before) {
        schedule_gone_write(work, h->host, &h->gone, h->before);
    }
    if (h->is_asked && !parked) {
        unsigned best = schedule_find_best(work, h->host, 0, &h->gone);
        if (best != h->best && h->best != SCHEDULE_NO_LEVEL) {
            schedule_delete_host(work, h->best, h->host);
        }
        if (best != h->best && best != SCHEDULE_NO_LEVEL) {
            schedule_put_host(work, best, h->host);
        }
    }
}

/* Both handles of a schedule in a pointer: whoever opened it may have closed it when a sweep comes.
 */
#define HANDLE_BITS 16u
#define HANDLE_MASK ((1u << HANDLE_BITS) - 1)

/* What a sweep of the journal does with the list of a host. The row that was swept stays readable
 * until all of its generation are, so schedule_remove_gone appends an empty list to the active
 * generation. A sweep that is begun anew passes such a host over, since the active row is newer. */
static int schedule_sweep_row(void *context, Journal *journal, MDB_txn *txn, uint64_t host,
                              const MDB_val *row)
{
    uintptr_t handles = (uintptr_t)context;
    Schedule schedule = {.entries = (MDB_dbi)(handles & HANDLE_MASK),
                         .hosts = (MDB_dbi)(handles >> HANDLE_BITS),
                         .journal = journal};
    ScheduleGone gone;
    ScheduleWork work;
    int rc = schedule_gone_decode(row, &gone);
    if (rc != MDB_SUCCESS || gone.n == 0) {
        return rc;
    }
    schedule_work_begin(&work, &schedule, txn, schedule.entries);
    schedule_remove_gone(&work, (uint32_t)host, &gone, gone.n);
    schedule_gone_settle(&work);
    return lmdb_rows_close(&work.rows, 0);
}

static bool is_valid(unsigned level, uint64_t index)
{
    return level < SCHEDULE_MAX_LEVELS && index <= SCHEDULE_MAX_INDEX;
}

Result schedule_put(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level, uint64_t index)
{
    ScheduleChange change = schedule_move(host, SCHEDULE_NO_LEVEL, level, index);
    return level < SCHEDULE_MAX_LEVELS ? schedule_change(schedule, txn, &change, 1)
                                       : RESULT_INVALID;
}

Result schedule_remove(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                       uint64_t index)
{
    ScheduleChange change = schedule_move(host, level, SCHEDULE_NO_LEVEL, index);
    return level < SCHEDULE_MAX_LEVELS ? schedule_change(schedule, txn, &change, 1)
                                       : RESULT_INVALID;
}

Result schedule_change(Schedule *schedule, MDB_txn *txn, const ScheduleChange *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ScheduleChange *c = &changes[i];
        if ((c->from != SCHEDULE_NO_LEVEL && !is_valid(c->from, c->index)) ||
            (c->to != SCHEDULE_NO_LEVEL && !is_valid(c->to, c->index))) {
            return RESULT_INVALID;
        }
    }
    ScheduleWork work;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    HostChanges h; /* most of it is its list, which is not zeroed for each host */
    int64_t of_parked = 0;
    bool any_parked = schedule_finds_parked(&work, NULL);
    for (size_t i = 0; work.rows.code == 0 && i < n;) {
        uint32_t host = changes[i].host;
        h.host = host;
        h.is_asked = false;
        h.tail.level = SCHEDULE_NO_LEVEL;
        h.change = 0;
        schedule_gone_read(&work, host, &h.gone);
        h.before = h.gone.n;
        for (; i < n && changes[i].host == host; i++) {
            if (changes[i].from != changes[i].to) {
                host_changes_make(&work, &h, &changes[i]);
            }
        }
        bool parked = any_parked && schedule_finds_parked(&work, &host);
        of_parked += parked ? h.change : 0;
        host_changes_end(&work, &h, parked);
    }
    schedule_note_parked(&work, of_parked);
    return schedule_work_end(&work);
}

static int schedule_compare_changes(const void *a, const void *b)
{
    const ScheduleChange *x = a;
    const ScheduleChange *y = b;
    uint64_t x_key = (uint64_t)x->host << 8 | (x->to == SCHEDULE_NO_LEVEL ? x->from : x->to);
    uint64_t y_key = (uint64_t)y->host << 8 | (y->to == SCHEDULE_NO_LEVEL ? y->from : y->to);
    if (x_key != y_key) {
        return x_key < y_key ? -1 : 1;
    }
    return x->index != y->index ? (x->index > y->index) - (x->index < y->index) : x->to - y->to;
}

Result schedule_change_all(Schedule *schedule, MDB_txn *txn, ScheduleChange *changes, size_t n)
{
    if (n > 1) {
        qsort(changes, n, sizeof *changes, schedule_compare_changes);
    }
    return schedule_change(schedule, txn, changes, n);
}

/* Those of all hosts, without the entries: these go, too. */
static void forget_lists(ScheduleWork *work)
{
    static const ScheduleGone none = {.n = 0};
    ScheduleGone gone;
    for (MDB_cursor_op op = MDB_FIRST; lmdb_rows_get(&work->rows, op); op = MDB_NEXT_NODUP) {
        uint32_t host = schedule_key_host(&work->rows.key);
        schedule_gone_read(work, host, &gone);
        if (gone.n > 0) {
            schedule_gone_write(work, host, &none, gone.n);
        }
    }
}

Result schedule_clear_host(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *removed)
{
    ScheduleGone gone;
    ScheduleWork work;
    *removed = 0;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    schedule_gone_read(&work, host, &gone);
    schedule_remove_gone(&work, host, &gone, gone.n);
    unsigned best = schedule_find_level(&work, host, 0);
    unsigned level = best;
    while (level != SCHEDULE_NO_LEVEL) {
        *removed += lmdb_rows_count(&work.rows);
        lmdb_rows_delete(&work.rows, MDB_NODUPDATA);
        level = schedule_find_level(&work, host, level);
    }
    if (schedule_finds_parked(&work, &host)) { /* one that was emptied is not any more */
        schedule_delete_host(&work, SCHEDULE_PARKED_LEVEL, host);
        schedule_note_parked(&work, -(int64_t)*removed);
    } else if (best != SCHEDULE_NO_LEVEL) {
        schedule_delete_host(&work, best, host);
    }
    return schedule_work_end(&work);
}

/* ---- Schedule ---- */

#define DEFAULT_NAME "schedule"
#define HOSTS_SUFFIX "_hosts"

/* Reads the format version, or writes it into a new table. */
static Result check_version(MDB_txn *txn, MDB_dbi hosts)
{
    Schedule schedule = {.hosts = hosts};
    ScheduleWork work;
    bool any = false;
    schedule_work_begin(&work, &schedule, txn, hosts);
    uint64_t found = schedule_number_read(&work, SCHEDULE_VERSION_LEVEL, &any);
    if (!any) {
        found = SCHEDULE_VERSION;
        schedule_number_write(&work, SCHEDULE_VERSION_LEVEL, found, SCHEDULE_HOST_BYTES);
    }
    Result rc = schedule_work_end(&work);
    bool is_known = found == SCHEDULE_VERSION || found == SCHEDULE_VERSION_PARKING;
    return rc == RESULT_OK && !is_known ? RESULT_VERSION : rc;
}

Result schedule_open(Schedule **schedule, MDB_txn *txn, const ScheduleOptions *options,
                     Journal *journal)
{
    Result rc = schedule_open_named(schedule, txn, DEFAULT_NAME, options);
    if (rc == RESULT_OK && journal != NULL) {
        (*schedule)->journal = journal;
        JournalTarget target = {.context = (void *)((uintptr_t)(*schedule)->hosts << HANDLE_BITS |
                                                    (*schedule)->entries),
                                .apply = schedule_sweep_row};
        journal_set_target(journal, JOURNAL_SCHEDULE, &target);
    }
    return rc;
}

Result schedule_open_named(Schedule **schedule, MDB_txn *txn, const char *name,
                           const ScheduleOptions *options)
{
    const ScheduleOptions defaults = {.levels = SCHEDULE_DEFAULT_LEVELS,
                                      .score_top = SCHEDULE_DEFAULT_SCORE_TOP,
                                      .score_ratio = SCHEDULE_DEFAULT_SCORE_RATIO};
    const ScheduleOptions *o = options == NULL ? &defaults : options;
    *schedule = NULL;
    char hosts_name[SCHEDULE_NAME_BYTES + sizeof HOSTS_SUFFIX];
    int length = snprintf(hosts_name, sizeof hosts_name, "%s%s", name, HOSTS_SUFFIX);
    if (length < 0 || (size_t)length >= sizeof hosts_name) {
        return RESULT_INVALID;
    }
    if (o->levels < 1 || o->levels + o->has_express > SCHEDULE_MAX_LEVELS || !(o->score_top > 0) ||
        !(o->score_ratio > 1) || !isfinite(o->score_top) || !isfinite(o->score_ratio)) {
        return RESULT_INVALID;
    }
    Schedule *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return RESULT_MEMORY;
    }
    s->levels = o->levels;
    s->first = o->has_express ? 1 : 0;
    double least = (double)o->score_top;
    for (unsigned level = 0; level < s->levels; level++) {
        s->least[level] = (float)least;
        least /= (double)o->score_ratio;
    }
    const unsigned flags = MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED;
    int rc = mdb_dbi_open(txn, name, flags, &s->entries);
    if (rc == MDB_SUCCESS) {
        rc = mdb_dbi_open(txn, hosts_name, flags, &s->hosts);
    }
    Result result = lmdb_code(rc);
    if (result == RESULT_OK) {
        result = check_version(txn, s->hosts);
    }
    if (result != RESULT_OK) {
        free(s);
        return result;
    }
    *schedule = s;
    return RESULT_OK;
}

void schedule_close(Schedule *schedule)
{
    free(schedule);
}

unsigned schedule_level(const Schedule *schedule, float score)
{
    unsigned low = 0;
    unsigned high = schedule->levels - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (score >= schedule->least[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return schedule->first + low;
}

bool schedule_is_express(const Schedule *schedule, unsigned level)
{
    return level < schedule->first;
}

void schedule_level_range(const Schedule *schedule, unsigned level, float *least, float *below)
{
    if (level < schedule->first) {
        *least = *below = INFINITY;
        return;
    }
    level -= schedule->first;
    *below = level == 0 ? INFINITY : schedule->least[level - 1];
    *least = level + 1 >= schedule->levels ? 0.0f : schedule->least[level];
}

Result schedule_clear(Schedule *schedule, MDB_txn *txn)
{
    ScheduleWork work;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    forget_lists(&work);
    Result rc = schedule_work_end(&work);
    if (rc == RESULT_OK) {
        rc = lmdb_code(mdb_drop(txn, schedule->entries, 0));
    }
    if (rc == RESULT_OK) {
        rc = lmdb_code(mdb_drop(txn, schedule->hosts, 0));
    }
    return rc == RESULT_OK ? check_version(txn, schedule->hosts) : rc;
}

Result schedule_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts)
{
    ScheduleWork work;
    MDB_stat of_entries = {.ms_entries = 0};
    MDB_stat of_hosts = {.ms_entries = 0};
    uint64_t parked_entries = 0;
    uint64_t parked_hosts = 0;
    Result result = schedule_parked_counts(schedule, txn, &parked_entries, &parked_hosts);
    /* The format version is in the table, too, and the count of parked entries when it was ever
     * written. */
    bool has_count = false;
    bool has_gone = false;
    schedule_work_begin(&work, schedule, txn, schedule->hosts);
    (void)lmdb_rows_note(&work.rows, mdb_stat(txn, schedule->entries, &of_entries));
    (void)lmdb_rows_note(&work.rows, mdb_stat(txn, schedule->hosts, &of_hosts));
    uint64_t gone = schedule_number_read(&work, SCHEDULE_GONE_ENTRIES, &has_gone);
    (void)schedule_number_read(&work, SCHEDULE_PARKED_ENTRIES, &has_count);
    Result rc = result_first(result, schedule_work_end(&work));
    *entries = rc == RESULT_OK ? of_entries.ms_entries - parked_entries - gone : 0;
    *hosts = rc == RESULT_OK ? of_hosts.ms_entries - parked_hosts - 1 - has_count - has_gone : 0;
    return rc;
}
