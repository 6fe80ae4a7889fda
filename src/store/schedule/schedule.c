#include "store/schedule/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/schedule/schedule_parking.h"
#include "store/schedule/schedule_table.h"

#define DEFAULT_NAME "schedule"
#define HOSTS_SUFFIX "_hosts"

/* Reads the format version, or writes it into a new table. */
static Result check_version(MDB_txn *txn, MDB_dbi hosts)
{
    unsigned char level = SCHEDULE_VERSION_LEVEL;
    unsigned char version[SCHEDULE_HOST_BYTES];
    MDB_val key = {1, &level};
    MDB_val data;
    int rc = mdb_get(txn, hosts, &key, &data);
    if (rc == MDB_NOTFOUND) {
        schedule_store_bytes(version, SCHEDULE_VERSION, SCHEDULE_HOST_BYTES);
        data = (MDB_val){SCHEDULE_HOST_BYTES, version};
        return schedule_result(mdb_put(txn, hosts, &key, &data, 0));
    }
    if (rc != MDB_SUCCESS) {
        return schedule_result(rc);
    }
    uint64_t found = data.mv_size == SCHEDULE_HOST_BYTES
                         ? schedule_load_bytes(data.mv_data, SCHEDULE_HOST_BYTES)
                         : 0;
    return found == SCHEDULE_VERSION || found == SCHEDULE_VERSION_PARKING ? RESULT_OK
                                                                          : RESULT_VERSION;
}

Result schedule_open(Schedule **schedule, MDB_txn *txn, const ScheduleOptions *options)
{
    return schedule_open_named(schedule, txn, DEFAULT_NAME, options);
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
    Result result = schedule_result(rc);
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
    int rc = mdb_drop(txn, schedule->entries, 0);
    if (rc == MDB_SUCCESS) {
        rc = mdb_drop(txn, schedule->hosts, 0);
    }
    return rc == MDB_SUCCESS ? check_version(txn, schedule->hosts) : schedule_result(rc);
}

Result schedule_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts)
{
    MDB_stat of_entries;
    MDB_stat of_hosts;
    uint64_t parked_entries = 0;
    uint64_t parked_hosts = 0;
    *entries = 0;
    *hosts = 0;
    Result result = schedule_parked_counts(schedule, txn, &parked_entries, &parked_hosts);
    int rc = mdb_stat(txn, schedule->entries, &of_entries);
    if (rc == MDB_SUCCESS) {
        rc = mdb_stat(txn, schedule->hosts, &of_hosts);
    }
    if (rc == MDB_SUCCESS && result == RESULT_OK) {
        /* The format version is in the table, too, and the count of parked entries when it was ever
         * written. */
        unsigned char level = SCHEDULE_PARKED_ENTRIES;
        MDB_val key = {1, &level};
        MDB_val data;
        bool has_count = mdb_get(txn, schedule->hosts, &key, &data) == MDB_SUCCESS;
        *entries = of_entries.ms_entries - parked_entries;
        *hosts = of_hosts.ms_entries - parked_hosts - (has_count ? 2 : 1);
    }
    return rc == MDB_SUCCESS ? result : schedule_result(rc);
}
