#include "crawl/parts/parsing_parts.h"

#include "crawl/parts/rule_parts.h"
#include "crawl/parts/wires.h"

static Result build_classifier(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    ClassifierOptions options = {.form = page_question_wanted(config),
                                 .command = config->score_command,
                                 .model = config->score_model,
                                 .label = config->score_label,
                                 .queue = (size_t)config->score_command_queue,
                                 .batch = (size_t)config->score_command_batch,
                                 .timeout_ms = config->score_command_timeout,
                                 .default_score = (float)config->score_command_default,
                                 .sink = wires_classified,
                                 .context = parts};
    if (options.form == QUESTION_NONE) {
        return RESULT_OK;
    }
    Result rc = classifier_new(&parts->classifier, &options, &parts->stats);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "score.scorer: no classifier: %s", result_name(rc));
    }
    return rc;
}

Result parsing_parts_new(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    Result rc = rule_parts_share(parts, error);
    if (rc == RESULT_OK && *config->score_rules != '\0') {
        rc = score_rules_read(&parts->score_rules, config->score_rules, error);
    }
    rc = rc == RESULT_OK ? build_classifier(parts, error) : rc;
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
