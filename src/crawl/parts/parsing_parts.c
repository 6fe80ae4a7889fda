#include "crawl/parts/parsing_parts.h"

#include "crawl/parts/rule_parts.h"
#include "crawl/parts/wires.h"

Result parsing_parts_new(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    Result rc = rule_parts_share(parts, error);
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
    options.stay = parts->stay;
    options.results = &parts->results;
    return parsing_new(&parts->parsing, &options, parts->archive, &parts->stats, wires_parsed,
                       wires_skipped, parts);
}
