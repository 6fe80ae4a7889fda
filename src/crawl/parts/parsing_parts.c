#include "crawl/parts/parsing_parts.h"

#include "crawl/parts/wires.h"

Result parsing_parts_share_rules(AgentParts *parts, Buffer *error)
{
    Scope *scope = NULL;
    ScopeOptions options = scope_options(parts->config);
    Result rc = scope_new(&scope, &options, error);
    if (rc == RESULT_OK) {
        rc = filters_share(&parts->filters, &parts->fetch_filter, parts->config, error);
    }
    if (rc != RESULT_OK) {
        scope_delete(scope);
        return rc;
    }
    return shared_replace(&parts->scope, scope);
}

Result parsing_parts_new(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    Result rc = parsing_parts_share_rules(parts, error);
    if (rc == RESULT_OK && *config->score_rules != '\0') {
        rc = score_rules_read(&parts->score_rules, config->score_rules, error);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    ParsingOptions options = parsing_options(config);
    options.dedup = parts->dedup;
    options.filters = &parts->filters;
    options.score_rules = parts->score_rules;
    options.scope = &parts->scope;
    options.results = &parts->results;
    return parsing_new(&parts->parsing, &options, parts->archive, &parts->stats, wires_parsed,
                       wires_skipped, parts);
}
