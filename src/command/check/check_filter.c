#include "crawl/input_file.h"
#include "command/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/filter/filter.h"
#include "parse/filter/filter_atoms.h"

static int check_filter_usage(void)
{
    (void)fprintf(
        stderr, "usage: ragno check filter 'EXPRESSION' [--source URL] [--depth N] [--status N]\n"
                "                          [--content-type TYPE] [--body FILE] [--explain] URL...\n"
                "       ragno check filter --atoms\n");
    return 2;
}

static int print_atoms(void)
{
    for (size_t i = 0; filter_atom_help(i) != NULL; i++) {
        const FilterAtomHelp *help = filter_atom_help(i);
        (void)printf("%s(%s)\t%s\n", help->name, help->arguments, help->help);
    }
    return 0;
}

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
    int n_urls; /* at the start of argv */
} Question;

/* Reads a number of an option. */
static bool check_filter_read_number(const char *text, long most, long *value)
{
    char *end = NULL;
    *value = strtol(text, &end, 10);
    return end != text && *end == '\0' && *value >= 0 && *value <= most;
}

/* Applies one option with its value; exit status other than 0 when it is wrong. */
static int read_option(Question *question, const char *name, const char *value)
{
    FilterInput *input = &question->input;
    long number = 0;
    if (strcmp(name, "--source") == 0) {
        if (url_parse(&question->source, NULL, value, strlen(value)) != RESULT_OK) {
            (void)fprintf(stderr, "ragno check filter: --source %s: not an http or https URL\n",
                          value);
            return 2;
        }
        input->source = &question->source;
        return 0;
    }
    if (strcmp(name, "--depth") == 0 && check_filter_read_number(value, 1000000, &number)) {
        input->has_depth = true;
        input->depth = (uint32_t)number;
        return 0;
    }
    if (strcmp(name, "--status") == 0 && check_filter_read_number(value, 999, &number)) {
        input->status = (int)number;
        return 0;
    }
    if (strcmp(name, "--content-type") == 0) {
        input->content_type = value;
        return 0;
    }
    if (strcmp(name, "--body") == 0) {
        int status = input_file_read(value, &question->body);
        input->has_body = status == 0;
        input->body = question->body.data;
        input->body_length = question->body.length;
        return status;
    }
    return check_filter_usage();
}

/* Options may stand anywhere; "--" ends them. The URLs are moved to the front of argv. */
static int check_filter_read_arguments(Question *question, int argc, char **argv)
{
    bool options = true;
    for (int i = 1; i < argc; i++) {
        bool is_option = options && strncmp(argv[i], "--", 2) == 0;
        if (is_option && argv[i][2] == '\0') {
            options = false;
        } else if (is_option && strcmp(argv[i], "--explain") == 0) {
            question->explain = true;
        } else if (is_option) {
            int status =
                i + 1 < argc ? read_option(question, argv[i], argv[i + 1]) : check_filter_usage();
            if (status != 0) {
                return status;
            }
            i++;
        } else if (question->expression == NULL) {
            question->expression = argv[i];
        } else {
            argv[question->n_urls++] = argv[i];
        }
    }
    return question->expression == NULL ? check_filter_usage() : 0;
}

/* Answers for one URL. */
static int check_filter_answer(const Question *question, const Filter *filter,
                               FilterScratch *scratch, const char *text)
{
    Url url;
    Buffer reason;
    url_init(&url);
    buffer_init(&reason, BUFFER_NO_LIMIT);
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

int check_filter(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--atoms") == 0) {
        return print_atoms();
    }
    Question question = {.expression = NULL};
    Filter *filter = NULL;
    FilterScratch *scratch = NULL;
    FilterError error;
    url_init(&question.source);
    buffer_init(&question.body, BUFFER_NO_LIMIT);
    int status = check_filter_read_arguments(&question, argc, argv);
    if (status == 0) {
        FilterOptions options = {.available = FILTER_HAS_ALL, .read_file = check_filter_read_file};
        Result rc = filter_compile(&filter, question.expression, strlen(question.expression),
                                   &options, &error);
        if (rc != RESULT_OK) {
            check_filter_complain(question.expression, &error);
        }
        status = rc == RESULT_OK ? 0 : rc == RESULT_IO ? 3 : 2;
    }
    if (status == 0 && filter_scratch_new(&scratch) != RESULT_OK) {
        status = 1;
    }
    for (int i = 0; scratch != NULL && i < question.n_urls; i++) {
        int one = check_filter_answer(&question, filter, scratch, argv[i]);
        status = one != 0 ? one : status;
    }
    filter_scratch_delete(scratch);
    filter_delete(filter);
    buffer_destroy(&question.body);
    url_destroy(&question.source);
    return status;
}
