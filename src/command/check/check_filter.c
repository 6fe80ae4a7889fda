#include "command/check/check.h"

#include <stdio.h>
#include <string.h>

#include "crawl/command_line.h"
#include "crawl/input_file.h"
#include "parse/filter/filter_atoms.h"

static Result check_filter_read_file(void *context, const char *path, Buffer *out)
{
    (void)context;
    return input_file_read(path, out) == 0 ? RESULT_OK : RESULT_IO;
}

static void check_filter_complain(const char *expression, const FilterError *error)
{
    (void)fprintf(stderr, "ragno check filter: column %zu: %s%s%s\n", error->column, error->message,
                  error->hint[0] != '\0' ? "; " : "", error->hint);
    if (strlen(expression) < 200 && strpbrk(expression, "\t\n\r") == NULL) {
        (void)fprintf(stderr, "  %s\n  %*s\n", expression, (int)error->column, "^");
    }
}

typedef struct Question {
    const char *expression;
    FilterInput input;
    Url source;
    Buffer body;
    bool explain;
    char **urls; /* of argv */
    int n_urls;
} Question;

static int check_filter_take_source(void *to, const char *value)
{
    Question *question = to;
    if (url_parse(&question->source, NULL, value, strlen(value)) != RESULT_OK) {
        (void)fprintf(stderr, "ragno check filter: --source %s: not an http or https URL\n", value);
        return 2;
    }
    question->input.source = &question->source;
    return 0;
}

static int check_filter_take_body(void *to, const char *value)
{
    Question *question = to;
    FilterInput *input = &question->input;
    int status = input_file_read(value, &question->body);
    input->has_body = status == 0;
    input->body = question->body.data;
    input->body_length = question->body.length;
    return status;
}

static int check_filter_read_arguments(Question *question, int argc, char **argv, const char *usage)
{
    FilterInput *input = &question->input;
    uint64_t depth = UINT64_MAX;
    uint64_t answered = 0;
    const CommandOption rows[] = {
        {"source", 0, COMMAND_TAKE, .to = question, .take = check_filter_take_source},
        {"depth", 0, COMMAND_NUMBER, .to = &depth, .most = 1000000},
        {"status", 0, COMMAND_NUMBER, .to = &answered, .most = 999},
        {"content-type", 0, COMMAND_TEXT, .to = &input->content_type},
        {"body", 0, COMMAND_TAKE, .to = question, .take = check_filter_take_body},
        {"explain", 0, COMMAND_FLAG, .to = &question->explain}};
    CommandLine line = {"check filter", usage, COMMAND_ROWS(rows), .words_least = 1,
                        .words_most = argc};
    int status = command_line_take(&line, argc, argv);
    if (status == 0) {
        question->expression = line.words[0];
        question->urls = line.words + 1;
        question->n_urls = line.n_words - 1;
    }
    input->has_depth = depth != UINT64_MAX;
    input->depth = input->has_depth ? (uint32_t)depth : 0;
    input->status = (int)answered;
    return status;
}

/* Answers for one URL. */
static int check_filter_answer(const Question *question, const Filter *filter,
                               FilterScratch *scratch, const char *text)
{
    Url url = {.href = NULL};
    Buffer reason = {.limit = BUFFER_NO_LIMIT};
    Result rc = url_parse(&url, NULL, text, strlen(text));
    if (rc == RESULT_OK) {
        bool matches = false;
        FilterInput input = question->input;
        input.url = &url;
        rc = filter_explain(filter, &input, scratch, &matches, &reason);
        (void)printf("%s\t%s%s%s\n", matches ? "true" : "false", text,
                     question->explain ? "\t" : "",
                     question->explain ? buffer_string(&reason) : "");
    } else {
        (void)fprintf(stderr, "ragno check filter: %s: not an http or https URL\n", text);
    }
    buffer_destroy(&reason);
    url_destroy(&url);
    return rc == RESULT_OK ? 0 : 1;
}

int check_filter(const char *usage, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--atoms") == 0) {
        for (size_t i = 0; filter_atom_help(i) != NULL; i++) {
            const FilterAtomHelp *help = filter_atom_help(i);
            (void)printf("%s(%s)\t%s\n", help->name, help->arguments, help->help);
        }
        return 0;
    }
    Question question = {.body = {.limit = BUFFER_NO_LIMIT}};
    Filter *filter = NULL;
    FilterScratch *scratch = NULL;
    FilterError error;
    int status = check_filter_read_arguments(&question, argc, argv, usage);
    if (status == 0) {
        FilterOptions options = {.available = FILTER_HAS_ALL, .read_file = check_filter_read_file};
        Result rc = filter_compile(&filter, question.expression, strlen(question.expression),
                                   &options, &error);
        if (rc != RESULT_OK) {
            check_filter_complain(question.expression, &error);
            status = rc == RESULT_IO ? 3 : 2;
        }
    }
    if (status == 0 && filter_scratch_new(&scratch) != RESULT_OK) {
        status = 1;
    }
    for (int i = 0; scratch != NULL && i < question.n_urls; i++) {
        int one = check_filter_answer(&question, filter, scratch, question.urls[i]);
        status = one != 0 ? one : status;
    }
    filter_scratch_delete(scratch);
    filter_delete(filter);
    buffer_destroy(&question.body);
    url_destroy(&question.source);
    return status;
}
