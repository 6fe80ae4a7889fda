#include "command/crawl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/embed.h"
#include "command/forget/forget.h"
#include "command/forget/forget_order.h"
#include "crawl/agent/agent.h"
#include "crawl/command_line.h"
#include "rules/memory_budget.h"

#define LIST_MAX 1000u

typedef struct Line {
    AgentOptions agent;
    const char *config_file;
    CommandSettings settings;
    Buffer headers;
    const char *print; /* --print-config's argument, "" when none, NULL when not asked */
    bool help_config;
    const char *help_word;
    bool test_config;
    bool version;
} Line;

EMBED(crawl_usage_text, "src/command/crawl.txt");

void crawl_usage(FILE *out)
{
    (void)fputs(crawl_usage_text, out);
}

/* ---- parsing ---- */

static int crawl_complain(const char *word, const char *what)
{
    (void)fprintf(stderr, "ragno: %s: %s\n", word, what);
    return EXIT_USAGE;
}

static int crawl_take_progress(void *to, const char *word)
{
    Line *line = to;
    static const char *const words[] = {"auto", "always", "never"};
    if (word == NULL) {
        line->agent.progress = PROGRESS_ALWAYS;
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0) {
            line->agent.progress = (ProgressMode)i;
            return 0;
        }
    }
    return crawl_complain(word, "--progress expects auto, always or never");
}

static int crawl_take_header(void *to, const char *header)
{
    Line *line = to;
    if (strchr(header, ':') == NULL || strchr(header, '|') != NULL) {
        return crawl_complain(header, "--header expects 'Name: value'");
    }
    if (line->headers.length > 0) {
        (void)buffer_append_char(&line->headers, '|');
    }
    return buffer_append_string(&line->headers, header) == RESULT_OK ? 0 : EXIT_INTERNAL;
}

static int crawl_take_seeds(void *to, const char *file)
{
    Line *line = to;
    if (line->agent.n_seed_files == LIST_MAX) {
        return crawl_complain(file, "too many seed files");
    }
    line->agent.seed_files[line->agent.n_seed_files++] = file;
    return 0;
}

static int crawl_take_print(void *to, const char *word)
{
    *(const char **)to = word == NULL ? "" : word;
    return 0;
}

static int crawl_take_help(void *to, const char *word)
{
    Line *line = to;
    line->help_config = true;
    line->help_word = word;
    return 0;
}

/* 0, an exit status, or COMMAND_HELPED. */
static int crawl_parse_line(Line *line, int argc, char **argv)
{
    AgentOptions *agent = &line->agent;
    CommandSettings *to = &line->settings;
    const CommandOption options[] = {
        {"input-file", 'i', COMMAND_TAKE, .to = line, .take = crawl_take_seeds},
        {"config", 'c', COMMAND_TEXT, .to = &line->config_file},
        {"set", 's', COMMAND_SETTING, .to = to},
        {"dir", 'd', COMMAND_TEXT, .to = &agent->directory},
        {"new", 'n', COMMAND_FLAG, .to = &agent->must_be_new},
        {"header", 'H', COMMAND_TAKE, .to = line, .take = crawl_take_header},
        {"log", 'o', COMMAND_TEXT, .to = &agent->crawl_log},
        {"quiet", 'q', COMMAND_FLAG, .to = &agent->quiet},
        {"verbose", 'v', COMMAND_FLAG, .to = &agent->verbose},
        {"progress", 0, COMMAND_MAY, .to = line, .take = crawl_take_progress},
        {"print-config", 0, COMMAND_MAY, .to = &line->print, .take = crawl_take_print},
        {"help-config", 0, COMMAND_MAY, .to = line, .take = crawl_take_help},
        {"test-config", 0, COMMAND_FLAG, .to = &line->test_config},
        {"version", 'V', COMMAND_FLAG, .to = &line->version},
        /* Other spellings of --set. */
        {"user-agent", 'U', COMMAND_SETTING, .to = to, .setting = "crawl.user_agent"},
        {"contact", 0, COMMAND_SETTING, .to = to, .setting = "crawl.contact"},
        {"wait", 'w', COMMAND_SETTING, .to = to, .setting = "politeness.host_delay"},
        {"ip-wait", 0, COMMAND_SETTING, .to = to, .setting = "politeness.ip_delay"},
        {"connections", 'j', COMMAND_SETTING, .to = to, .setting = "fetch.connections"},
        {"depth", 'l', COMMAND_SETTING, .to = to, .setting = "scope.depth"},
        {"tries", 't', COMMAND_SETTING, .to = to, .setting = "politeness.tries"},
        {"domains", 'D', COMMAND_SETTING, .to = to, .setting = "scope.domains"},
        {"exclude-domains", 0, COMMAND_SETTING, .to = to, .setting = "scope.exclude_domains"},
        {"accept-regex", 0, COMMAND_SETTING, .to = to, .setting = "scope.accept_regex"},
        {"reject-regex", 0, COMMAND_SETTING, .to = to, .setting = "scope.reject_regex"},
        {"stay", 0, COMMAND_SETTING, .to = to, .setting = "scope.stay"},
        {"page-requisites", 0, COMMAND_SETTING, .to = to, .setting = "scope.embeds",
         .value = "yes"},
        {"sitemap-only", 0, COMMAND_SETTING, .to = to, .setting = "scope.sitemap_only",
         .value = "yes"},
        {"max-pages", 0, COMMAND_SETTING, .to = to, .setting = "crawl.max_pages"},
        {"quota", 'Q', COMMAND_SETTING, .to = to, .setting = "crawl.max_bytes"},
        {"max-duration", 0, COMMAND_SETTING, .to = to, .setting = "crawl.max_duration"},
        {"warc-max-size", 0, COMMAND_SETTING, .to = to, .setting = "warc.max_size"},
        {"no-warc", 0, COMMAND_SETTING, .to = to, .setting = "warc.enabled", .value = "no"}};
    CommandLine words = {"crawl", crawl_usage_text, COMMAND_ROWS(options), .words_most = argc,
                         .is_terse = true};
    int status = command_line_take(&words, argc, argv);
    agent->seed_words = words.words;
    agent->n_seed_words = (size_t)words.n_words;
    return status;
}

/* ---- configuration ---- */

/* A crawl that is resumed without -c goes on with the configuration it was started with, but for
 * the limits of the whole crawl. */
static const char *config_file_of(Line *line, char *path, size_t size)
{
    if (line->config_file != NULL) {
        return line->config_file;
    }
    (void)snprintf(path, size, "%s/config.ini", line->agent.directory);
    line->agent.settings = config_file_look(path);
    return line->agent.settings != CONFIG_FILE_NONE ? path : NULL;
}

/* error gets a line for each mistake. */
static Result crawl_load_config(Line *line, Config *config, Buffer *error)
{
    char path[4096];
    const char *file = config_file_of(line, path, sizeof path);
    bool is_own = line->config_file == NULL && line->agent.settings == CONFIG_FILE_WHOLE;
    Result rc = RESULT_OK;
    if (file != NULL) {
        rc = is_own ? options_load_printed(&config->options, file, error)
                    : options_load(&config->options, file, error);
    }
    if (rc != RESULT_OK && rc != RESULT_INVALID) {
        (void)buffer_printf(error, "cannot read %s: %s\n", file, result_name(rc));
        rc = RESULT_INVALID;
    }
    if (line->config_file == NULL && file != NULL) {
        /* The limits of the whole crawl belong to a run: what ended the last one does not end the
         * next. */
        static const char *const limits[] = {"crawl.max_pages", "crawl.max_bytes",
                                             "crawl.max_duration"};
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            const OptionSpec *spec = options_find(&config->options, limits[i]);
            (void)options_set(&config->options, limits[i], spec->standard, "default", error);
        }
    }
    if (options_load_environment(&config->options, "RAGNO_", error) != RESULT_OK) {
        rc = RESULT_INVALID;
    }
    if (line->headers.length > 0) {
        (void)options_set(&config->options, "fetch.headers", line->headers.data, "command line",
                          error);
    }
    if (command_settings_apply(&line->settings, &config->options, error) != RESULT_OK) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = config_identify(config, error);
    }
    if (rc == RESULT_OK) {
        rc = memory_budget_apply(config, error);
    }
    if (rc == RESULT_OK) {
        rc = config_resolve_paths(config, error);
    }
    if (rc == RESULT_OK) {
        rc = config_check(config, error);
    }
    return rc;
}

static bool crawl_reload(void *context, Config *fresh, Buffer *error)
{
    if (config_init(fresh) != RESULT_OK) {
        return false;
    }
    if (crawl_load_config(context, fresh, error) != RESULT_OK) {
        config_destroy(fresh);
        return false;
    }
    return true;
}

/* --test-config of what has been read without a mistake: a crawl could start with it. */
static int tell_valid(const Config *config)
{
    Buffer error = {.limit = 4096};
    Result rc = config_check_identity(config, &error);
    if (rc == RESULT_OK) {
        (void)printf("the configuration is valid\n");
    } else {
        (void)fprintf(stderr, "ragno: %s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
    return rc == RESULT_OK ? EXIT_FINISHED : EXIT_USAGE;
}

/* ---- starting anew after an erasure ---- */

/* An option that was given. */
static void crawl_add(char **argv, size_t *n, const char *option, const char *value)
{
    if (value != NULL) {
        argv[(*n)++] = (char *)(uintptr_t)option;
        argv[(*n)++] = (char *)(uintptr_t)value;
    }
}

/* The same program with the same settings, as the same process; the seeds are known, and `--new`
 * was for the first time. Returns only when that fails. */
static int crawl_start_anew(const Line *line)
{
    const AgentOptions *agent = &line->agent;
    Buffer set = {.limit = BUFFER_NO_LIMIT};
    char **argv = calloc(2 * line->settings.n + 16, sizeof *argv);
    size_t n = 0;
    if (argv == NULL) {
        return EXIT_INTERNAL;
    }
    argv[n++] = (char *)(uintptr_t) "ragno";
    crawl_add(argv, &n, "-d", agent->directory);
    crawl_add(argv, &n, "-c", line->config_file);
    crawl_add(argv, &n, "-o", agent->crawl_log);
    for (size_t i = 0; i < line->settings.n; i++) {
        const char *name = line->settings.all[i].name;
        Buffer text = {.limit = BUFFER_NO_LIMIT};
        (void)buffer_printf(&text, "%.*s=%s", (int)strcspn(name, "="), name,
                            line->settings.all[i].value);
        crawl_add(argv, &n, "-s", buffer_detach(&text));
    }
    if (line->headers.length > 0 &&
        buffer_printf(&set, "fetch.headers=%s", buffer_string(&line->headers)) == RESULT_OK) {
        crawl_add(argv, &n, "-s", set.data);
    }
    const char *const progress[] = {"--progress=auto", "--progress=always", "--progress=never"};
    argv[n++] = (char *)(uintptr_t)progress[agent->progress];
    if (agent->quiet) {
        argv[n++] = (char *)(uintptr_t) "-q";
    }
    if (agent->verbose) {
        argv[n++] = (char *)(uintptr_t) "-v";
    }
    (void)execv("/proc/self/exe", argv);
    perror("ragno: cannot start anew");
    free(argv);
    return EXIT_INTERNAL;
}

/* What was to be forgotten goes before anything is read. */
static int crawl_or_erase(Line *line)
{
    bool erase = false;
    line->agent.erase = &erase;
    int status = forget_order_is_due(line->agent.directory)
                     ? forget_finish(line->agent.directory, line->agent.quiet)
                     : 0;
    const Config *config = line->agent.config;
    if (status == EXIT_FINISHED && config->store_retention > 0) {
        WallTime before = {wall_now().us - config->store_retention * 1000};
        status =
            forget_expired(line->agent.directory, line->agent.crawl_log, before, line->agent.quiet);
    }
    if (status == EXIT_FINISHED || status == EXIT_SIGNAL) { /* the latter: links wait for it */
        status = agent_run(&line->agent);
    }
    line->agent.erase = NULL;
    if (!erase && status != EXIT_SIGNAL && forget_order_is_due(line->agent.directory)) {
        /* Nothing was left before the time for it had come. */
        int erased = forget_finish(line->agent.directory, line->agent.quiet);
        status = erased == EXIT_FINISHED ? status : erased;
    }
    return erase ? crawl_start_anew(line) : status;
}

static int crawl_run(Line *line, Config *config)
{
    Buffer errors = {.limit = BUFFER_NO_LIMIT};
    Result rc = crawl_load_config(line, config, &errors);
    char *save = NULL;
    for (char *sentence = errors.length == 0 ? NULL : strtok_r(errors.data, "\n", &save);
         sentence != NULL; sentence = strtok_r(NULL, "\n", &save)) {
        (void)fprintf(stderr, "ragno: %s\n", sentence);
    }
    buffer_destroy(&errors);
    int status = rc == RESULT_OK ? 0 : EXIT_USAGE;
    if (line->help_config) {
        if (options_help(&config->options, line->help_word, stdout) == 0) {
            (void)fprintf(stderr,
                          "ragno: no option has to do with '%s' (--help-config lists all)\n",
                          line->help_word);
            return EXIT_USAGE;
        }
        return EXIT_FINISHED;
    }
    if (status != 0) {
        return status;
    }
    if (line->print != NULL) {
        if (strcmp(line->print, "sample") == 0) {
            options_print_sample(&config->options, stdout);
        } else {
            options_print(&config->options, stdout);
            memory_budget_print(config, stdout);
        }
        return EXIT_FINISHED;
    }
    if (line->test_config) {
        return tell_valid(config);
    }
    line->agent.config = config;
    line->agent.reload = crawl_reload;
    line->agent.reload_context = line;
    return crawl_or_erase(line);
}

int crawl_main(int argc, char **argv)
{
    Config config;
    Line line = {.agent = {.directory = "crawl"}};
    line.agent.seed_files = calloc(LIST_MAX, sizeof *line.agent.seed_files);
    buffer_init(&line.headers, 65536);
    int status = line.agent.seed_files == NULL || config_init(&config) != RESULT_OK
                     ? EXIT_INTERNAL
                     : crawl_parse_line(&line, argc, argv);
    if (status == 0 && line.version) {
        (void)printf("ragno %s\n", RAGNO_VERSION);
    } else if (status == 0) {
        status = crawl_run(&line, &config);
    }
    config_destroy(&config);
    free(line.agent.seed_files);
    buffer_destroy(&line.headers);
    return status == COMMAND_HELPED ? EXIT_FINISHED : status;
}
