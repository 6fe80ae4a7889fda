#include "forecast/host_pace.h"

#include <stdlib.h>
#include <string.h>

#include "logs/log_text.h"
#include "rules/host_delays.h"
#include "store/pages/page_db_read.h"

void host_paces_init(HostPaces *paces, const Config *config, PageDB *db, double typical_ms)
{
    *paces = (HostPaces){.config = config, .db = db, .typical_ms = typical_ms};
    buffer_init(&paces->origin, BUFFER_NO_LIMIT);
}

void host_paces_destroy(HostPaces *paces)
{
    buffer_destroy(&paces->origin);
    hours_book_destroy(&paces->hours);
}

/* What the options say of one host. Without [site] sections the name does not matter. */
static Result host_pace_find_delays(HostPaces *paces, MDB_txn *txn, uint32_t host,
                                    HostDelays *delays, HostPace *pace)
{
    const char *why = NULL;
    const Config *config = paces->config;
    Config values;
    *delays = host_delays_of(config);
    pace->most = config->limits_pages_per_host;
    if (config->options.n_sites == 0) {
        return hours_book_get(&paces->hours, config->politeness_hours, &pace->hours, &why);
    }
    if (page_db_host_origin(paces->db, txn, host, &paces->origin) != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    LogText name = log_text_host((LogText){paces->origin.data, paces->origin.length});
    char *text = name.length == 0 ? NULL : strndup(name.bytes, name.length);
    if (text == NULL) {
        return name.length == 0 ? RESULT_OK : RESULT_MEMORY;
    }
    site_values_of(config, text, &values);
    *delays = host_delays_of(&values);
    pace->most = values.limits_pages_per_host;
    free(text);
    return hours_book_get(&paces->hours, values.politeness_hours, &pace->hours, &why);
}

Result host_pace_find(HostPaces *paces, MDB_txn *txn, uint32_t host, const HostRecord *record,
                      HostPace *pace)
{
    HostDelays delays;
    *pace = (HostPace){.address = record->address};
    Result rc = host_pace_find_delays(paces, txn, host, &delays, pace);
    pace->host_s = host_delays_host_s(&delays, record, paces->typical_ms);
    pace->host_s /= pace->hours == NULL ? 1 : hours_share(pace->hours);
    pace->address_s = host_delays_address_s(&delays, record, paces->typical_ms);
    return rc;
}
