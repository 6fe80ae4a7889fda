#include "forecast/host_pace.h"

#include <stdlib.h>
#include <string.h>

#include "logs/log_text.h"
#include "rules/host_delays.h"

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
static Result host_pace_config(HostPaces *paces, MDB_txn *txn, uint32_t host, Config *values)
{
    *values = *paces->config;
    if (values->options.n_sites == 0) {
        return RESULT_OK;
    }
    if (page_db_host_origin(paces->db, txn, host, &paces->origin) != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    LogText name = log_text_host((LogText){paces->origin.data, paces->origin.length});
    char *text = name.length == 0 ? NULL : strndup(name.bytes, name.length);
    if (text == NULL) {
        return name.length == 0 ? RESULT_OK : RESULT_MEMORY;
    }
    site_values_of(paces->config, text, values);
    free(text);
    return RESULT_OK;
}

Result host_pace_find(HostPaces *paces, MDB_txn *txn, uint32_t host, const HostRecord *record,
                      HostPace *pace)
{
    Config values;
    const char *why = NULL;
    Result rc = host_pace_config(paces, txn, host, &values);
    *pace = (HostPace){.address = record->address, .most = values.limits_pages_per_host};
    if (rc == RESULT_OK) {
        rc = hours_book_get(&paces->hours, values.politeness_hours, &pace->hours, &why);
    }
    pace->host_s = host_delays_host_s(&values, record, paces->typical_ms);
    pace->host_s /= pace->hours == NULL ? 1 : hours_share(pace->hours);
    pace->address_s = host_delays_address_s(&values, record, paces->typical_ms);
    return rc;
}
