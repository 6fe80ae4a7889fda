/* Host pace: how often politeness lets a host and its address be asked, and when.
 *
 * What: rules/host_delays.h for a host of the database, with the [site] sections of a
 * configuration.
 * Owns: a scratch buffer, and hours. Configuration and database are borrowed.
 * Threads: one.
 * Errors: RESULT_DAMAGED, RESULT_MEMORY. */
#pragma once

#include "base/core/hours.h"
#include "rules/config.h"
#include "store/pages/page_db.h"
#include "store/tables/host_rows.h"

typedef struct HostPace {
    uint64_t address;   /* as HostRecord.address; 0 = not known */
    double host_s;      /* seconds for a page, by the host's delays and hours: on average */
    double address_s;   /* and by its address's, which other hosts may need, too */
    int64_t most;       /* limits.pages_per_host; 0 = no limit */
    const Hours *hours; /* politeness.hours; NULL = always; the paces' */
} HostPace;

typedef struct HostPaces {
    const Config *config;
    PageDB *db;
    double typical_ms; /* of a fetch from a host that was not asked yet */
    Buffer origin;
    HoursBook hours;
} HostPaces;

void host_paces_init(HostPaces *paces, const Config *config, PageDB *db, double typical_ms);
void host_paces_destroy(HostPaces *paces);
Result host_pace_find(HostPaces *paces, MDB_txn *txn, uint32_t host, const HostRecord *record,
                      HostPace *pace);
