#include "crawl/parts/parsing_parts.h"

#include "crawl/parts/rule_parts.h"
#include "crawl/parts/wires.h"
#include "page/tool/text_language.h"

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
    if (options.form == QUESTION_JSON) {
        (void)text_language_load();
    }
    Result rc = classifier_new(&parts->classifier, &options, &parts->stats);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "score.scorer: no classifier: %s", result_name(rc));
    }
    return rc;
}

static Result read_options(AgentParts *parts, ParsingOptions *options, Buffer *error)
{
    const Config *config = parts->config;
    *options = parsing_options(config);
    options->dedup = parts->dedup;
    options->filters = &parts->filters;
    options->scope = &parts->scope;
    options->stay = parts->stay;
    options->results = &parts->results;
    return *config->score_rules == '\0'
               ? RESULT_OK
               : score_rules_read(&options->score_rules, config->score_rules, error);
}

Result parsing_parts_new(AgentParts *parts, Buffer *error)
{
    ParsingOptions options;
    Result rc = rule_parts_share(parts, error);
    rc = rc == RESULT_OK ? build_classifier(parts, error) : rc;
    rc = rc == RESULT_OK ? read_options(parts, &options, error) : rc;
    return rc != RESULT_OK ? rc
                           : parsing_new(&parts->parsing, &options, parts->archive, &parts->stats,
                                         wires_parsed, wires_skipped, parts);
}

Result parsing_parts_change(AgentParts *parts, Buffer *error)
{
    ParsingOptions options;
    Result rc = read_options(parts, &options, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = parsing_change(parts->parsing, &options);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "parse.threads = %u: they cannot be started: %s",
                            options.threads, result_name(rc));
    }
    return rc;
}
