#include "forecast/host_pace.h"

#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
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
}

/* What the options say of one host. Without [site] sections the name does not matter. */
static Result host_pace_find_delays(HostPaces *paces, MDB_txn *txn, uint32_t host,
                                    HostDelays *delays, int64_t *most)
{
    const Config *config = paces->config;
    const Options *options = &config->options;
    *delays = host_delays_of(config);
    *most = config->limits_pages_per_host;
    if (options->n_sites == 0) {
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
    (void)options_site_number(options, offsetof(Config, politeness_host_delay), text,
                              &delays->host_ms);
    (void)options_site_number(options, offsetof(Config, politeness_ip_delay), text, &delays->ip_ms);
    (void)options_site_number(options, offsetof(Config, limits_pages_per_host), text, most);
    free(text);
    return RESULT_OK;
}

Result host_pace_find(HostPaces *paces, MDB_txn *txn, uint32_t host, const HostRecord *record,
                      HostPace *pace)
{
    HostDelays delays;
    int64_t most = 0;
    Result rc = host_pace_find_delays(paces, txn, host, &delays, &most);
    *pace = (HostPace){.address = record->address,
                       .host_s = host_delays_host_s(&delays, record, paces->typical_ms),
                       .address_s = host_delays_address_s(&delays, record, paces->typical_ms),
                       .most = most};
    return rc;
}
