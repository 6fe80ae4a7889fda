#include "fetch/transfer/fetcher_rules.h"

static Result open_filters(FetcherRules *rules)
{
    const FetcherOptions *options = rules->options;
    if (options->filter == NULL && options->body_filter == NULL) {
        return RESULT_OK;
    }
    if (options->body_filter != NULL) {
        shared_reader_open(&rules->body_filter, options->body_filter);
    }
    if (options->filter != NULL) {
        shared_reader_open(&rules->filter, options->filter);
        rules->step.filter = &rules->filter;
    }
    Result rc = filter_scratch_new(&rules->filter_scratch);
    rules->step.filter_scratch = rules->filter_scratch;
    return rc;
}

Result fetcher_rules_open(FetcherRules *rules, const FetcherOptions *options, unsigned number)
{
    *rules = (FetcherRules){.options = options};
    rules->step = (FetchRules){.politeness = &rules->site.politeness,
                               .robots = {.agent = options->robots_agent,
                                          .ports = options->ports,
                                          .max_ratio = options->max_ratio},
                               .worker = number,
                               .costs = options->costs,
                               .url = &rules->url,
                               .text = &rules->text};
    url_init(&rules->url);
    buffer_init(&rules->text, 2 * URL_MAX_BYTES);
    shared_reader_open(&rules->sites, options->sites);
    if (options->admission != NULL) {
        shared_reader_open(&rules->admission, options->admission);
        rules->step.admission = &rules->admission;
        rules->step.judge = options->judge;
    }
    if (options->traps != NULL) {
        shared_reader_open(&rules->traps, options->traps);
        rules->step.traps = &rules->traps;
    }
    Result rc = decoder_new(&rules->decoder);
    rules->step.robots.decoder = rules->decoder;
    return rc == RESULT_OK ? open_filters(rules) : rc;
}

void fetcher_rules_close(FetcherRules *rules)
{
    if (rules->options == NULL) {
        return;
    }
    shared_reader_close(&rules->sites);
    shared_reader_close(&rules->admission);
    shared_reader_close(&rules->filter);
    shared_reader_close(&rules->body_filter);
    shared_reader_close(&rules->traps);
    filter_scratch_delete(rules->filter_scratch);
    decoder_delete(rules->decoder);
    url_destroy(&rules->url);
    buffer_destroy(&rules->text);
}

void fetcher_rules_site(FetcherRules *rules, const char *hostname, FetchSite *site)
{
    rules->options->site_of(shared_get(&rules->sites), hostname, site);
}

void fetcher_rules_look_up(FetcherRules *rules, VisitState *visit_state)
{
    FetchSite *site = &rules->site;
    fetcher_rules_site(rules, visit_state->identity.hostname, site);
    rules->step.ignores_robots = site->ignores_robots;
    rules->step.robots.expiry_ms = site->robots_expiry_ms;
    rules->step.usage = site->usage;
    rules->step.hours = site->hours;
    rules->step.robots.asks_tdm = site->asks_tdm;
    rules->step.robots.licence_user = site->licence_user;
    rules->step.keeps_cookies = site->keeps_cookies;
    rules->step.most_bytes_s = site->most_bytes_s;
    visit_state->politeness.delay_ms = site->politeness.host_delay_ms;
}

const Filter *fetcher_rules_body_filter(FetcherRules *rules)
{
    return rules->options->body_filter == NULL ? NULL : shared_get(&rules->body_filter);
}
