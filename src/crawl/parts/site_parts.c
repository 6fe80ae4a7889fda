#include "crawl/parts/site_parts.h"

#include <stdio.h>

#include "rules/site/site_book.h"

/* A delay of a host that is shorter than that of its address does nothing for a host that is alone
 * there. */
static void tell_of_delays(const Config *config)
{
    const Options *options = &config->options;
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        Config values;
        if (options->specs[site->spec].offset != offsetof(Config, politeness_host_delay)) {
            continue;
        }
        site_values_of(config, site->pattern, &values);
        int64_t ip_delay = values.politeness_ip_delay;
        if (site->value.number < ip_delay) {
            (void)fprintf(stderr,
                          "ragno: warning: %s: host_delay = %s of %s is less than the delay of its "
                          "address (ip_delay, %lld ms), which binds; set ip_delay there, too\n",
                          site->origin, site->text, site->pattern, (long long)ip_delay);
            LOG_WARN("politeness", "ip_delay binds, not host_delay",
                     "site=\"%s\" host_delay=%s ip_delay_ms=%lld next=\"set ip_delay there, too\"",
                     site->pattern, site->text, (long long)ip_delay);
        }
    }
}

Result site_parts_share(AgentParts *parts, Buffer *error)
{
    SiteBook *book = NULL;
    Result rc = site_book_new(&book, parts->config, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* Loud: it may be a mistake, and it is the operator who answers for it. */
    const Options *options = &parts->config->options;
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        if (options->specs[site->spec].offset == offsetof(Config, robots_obey) &&
            !site->value.flag) {
            (void)fprintf(stderr,
                          "ragno: warning: %s: robots.txt is NOT obeyed for hosts that match %s\n",
                          site->origin, site->pattern);
            LOG_WARN("robots", "robots.txt is NOT obeyed for a site",
                     "site=\"%s\" by=%s next=\"only for hosts that are yours\"", site->pattern,
                     site->origin);
        }
    }
    tell_of_delays(parts->config);
    rc = shared_replace(&parts->sites, book);
    if (rc == RESULT_OK && parts->distributor_sites.shared == NULL) {
        shared_reader_open(&parts->distributor_sites, &parts->sites);
        shared_reader_open(&parts->ingest_sites, &parts->sites);
    }
    return rc;
}

void site_parts_destroy(AgentParts *parts)
{
    if (parts->distributor_sites.shared != NULL) {
        shared_reader_close(&parts->distributor_sites);
        shared_reader_close(&parts->ingest_sites);
    }
    shared_destroy(&parts->sites);
}

int64_t site_parts_host_delay(void *context, const char *hostname, int64_t standard_ms)
{
    AgentParts *parts = context;
    Config config;
    (void)standard_ms;
    site_book_config(shared_get(&parts->distributor_sites), hostname, &config);
    return config.politeness_host_delay;
}

uint64_t site_parts_host_pages(void *context, const char *hostname)
{
    AgentParts *parts = context;
    Config config;
    site_book_config(shared_get(&parts->distributor_sites), hostname, &config);
    return (uint64_t)config.limits_pages_per_host;
}

bool site_parts_host_config(void *context, const char *hostname, Config *config)
{
    AgentParts *parts = context;
    const SiteBook *book = shared_get(&parts->ingest_sites);
    site_book_config(book, hostname, config);
    return site_book_has_limits(book);
}
