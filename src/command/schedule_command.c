#include "command/schedule_command.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "base/memory/buffer.h"
#include "crawl/input_file.h"
#include "crawl/crawl_open.h"
#include "crawl/exit_status.h"
#include "command/schedule_plan.h"
#include "command/schedule_refused.h"
#include "store/frequency/freq_scheduler.h"
#include "store/tables/revisit_table.h"

typedef struct FreqCommand {
    const char *directory;
    const char *rules_file;
    double freq_default; /* negative: not given */
    double scale;
    double visits;
    bool is_print;
    bool has_top;
    size_t top; /* 0: all */
} FreqCommand;

#define SCALE_NONE (-1.0)

static int schedule_command_usage(FILE *out)
{
    (void)fprintf(
        out,
        "usage: ragno schedule DIR freq --default FREQ [--scale S]\n"
        "       ragno schedule DIR freq --rules FILE [--default FREQ]\n"
        "       ragno schedule DIR freq --visits N\n"
        "       ragno schedule DIR freq --print [--top N]\n"
        "       ragno schedule DIR plan [--visits N]\n"
        "       ragno schedule DIR refused [--only FILTER]\n"
        "       ragno schedule DIR revive [HOST...]\n"
        "Builds the revisit schedule of a crawl from its crawled pages; tells what a budget of\n"
        "visits comes to (plan --help); schedules what was refused when it was found (refused\n"
        "--help); or brings hosts back that were dropped or parked (revive --help).\n"
        "  --default FREQ  visits per second, or an interval: 90s 15m 6h 2d\n"
        "  --scale S       visit S times as often as a page was seen to change\n"
        "  --rules FILE    lines of: REGEX, blanks, and an interval or xN\n"
        "  --visits N      share N visits per second by estimated change rates\n"
        "  --print         due time, visits per second and URL, in order of turn; the time is\n"
        "                  seconds since 1970, or from now on when just built\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int schedule_command_complain(const char *what, const char *value)
{
    (void)fprintf(stderr, "ragno schedule: %s '%s'\n", what, value);
    return schedule_command_usage(stderr);
}

/* A number above 0, or an interval with a unit, of which it is the inverse; one that a float holds,
 * as the schedule does. */
static bool parse_freq(const char *text, double *freq)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || !(value > 0.0)) {
        return false;
    }
    const char units[] = "smhd";
    const double seconds[] = {1.0, 60.0, 3600.0, 86400.0};
    const char *unit = *end == '\0' ? NULL : strchr(units, *end);
    *freq = unit == NULL ? value : 1.0 / (value * seconds[unit - units]);
    bool is_whole = *end == '\0' || (unit != NULL && end[1] == '\0');
    return is_whole && isfinite((float)*freq) && (float)*freq > 0.0f;
}

static bool parse_count(const char *text, size_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *out = (size_t)value;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* One option; 0, or an exit status; -1: help was printed. */
static int schedule_command_take_option(FreqCommand *command, int option)
{
    switch (option) {
    case 'd':
        return parse_freq(optarg, &command->freq_default)
                   ? 0
                   : schedule_command_complain(
                         "--default: expected visits per second or an interval, not", optarg);
    case 's': {
        char *end = NULL;
        command->scale = strtod(optarg, &end);
        return end != optarg && *end == '\0' && isfinite(command->scale)
                   ? 0
                   : schedule_command_complain("--scale: not a number:", optarg);
    }
    case 'v':
        return parse_freq(optarg, &command->visits)
                   ? 0
                   : schedule_command_complain("--visits: expected visits per second, not", optarg);
    case 'r':
        command->rules_file = optarg;
        return 0;
    case 'p':
        command->is_print = true;
        return 0;
    case 't':
        command->has_top = true;
        return parse_count(optarg, &command->top)
                   ? 0
                   : schedule_command_complain("--top: not a number:", optarg);
    case 'h':
        (void)schedule_command_usage(stdout);
        return -1;
    default:
        return schedule_command_usage(stderr);
    }
}

static int schedule_command_parse(FreqCommand *command, int argc, char **argv)
{
    static const struct option options[] = {
        {"default", required_argument, NULL, 'd'}, {"scale", required_argument, NULL, 's'},
        {"visits", required_argument, NULL, 'v'},  {"rules", required_argument, NULL, 'r'},
        {"print", no_argument, NULL, 'p'},         {"top", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    optind = 0;
    for (int o = getopt_long(argc, argv, "h", options, NULL); o != -1;
         o = getopt_long(argc, argv, "h", options, NULL)) {
        int status = schedule_command_take_option(command, o);
        if (status != 0) {
            return status;
        }
    }
    if (argc - optind != 2) {
        return schedule_command_usage(stderr);
    }
    if (strcmp(argv[optind + 1], "freq") != 0) {
        return schedule_command_complain("expected freq, plan, refused or revive, not",
                                         argv[optind + 1]);
    }
    command->directory = argv[optind];
    int ways = (command->rules_file != NULL) + (command->visits > 0.0) + command->is_print;
    if (ways > 1 || (ways == 0 && command->freq_default < 0.0 && !(command->scale > 0.0))) {
        (void)fprintf(stderr,
                      "ragno schedule: expected one of --default, --rules, --visits, --print\n");
        return schedule_command_usage(stderr);
    }
    bool has_default = command->freq_default >= 0.0;
    bool has_scale = command->scale != SCALE_NONE;
    if ((ways > 0 && has_scale) || ((command->visits > 0.0 || command->is_print) && has_default) ||
        (command->has_top && !command->is_print)) {
        (void)fprintf(stderr, "ragno schedule: these options do not go together\n");
        return schedule_command_usage(stderr);
    }
    return 0;
}

/* Reads the rules; complains with FILE:LINE. */
static int read_rules(const char *path, FreqRules **rules)
{
    Buffer text;
    int status = input_file_read(path, &text);
    if (status != 0) {
        return EXIT_IO;
    }
    size_t line = 0;
    char why[FREQ_RULES_WHY_BYTES] = "";
    Result rc = freq_rules_new(rules, buffer_string(&text), text.length, &line, why);
    buffer_destroy(&text);
    if (rc == RESULT_INVALID) {
        (void)fprintf(stderr, "%s:%zu: %s\n", path, line, why);
        return EXIT_USAGE;
    }
    return rc == RESULT_OK ? 0 : EXIT_IO;
}

/* Tells a continuous crawl how far pages were decided about: all (what is left out is not visited
 * again), or none, while the schedule is being built. */
static int schedule_command_settle(PageDB *db, bool all)
{
    MDB_txn *txn = NULL;
    RevisitTable *table = NULL;
    if (page_db_txn_begin(db, false, &txn) != page_db_error_ok) {
        return EXIT_IO;
    }
    Result rc = revisit_table_open(&table, txn, true);
    if (rc == RESULT_OK) {
        rc = revisit_table_settled_put(table, txn, all ? page_db_n_pages(db, txn) : 0);
    }
    revisit_table_close(table);
    if (rc != RESULT_OK) {
        page_db_txn_abort(db, txn);
        return EXIT_IO;
    }
    return page_db_txn_commit(db, txn) == page_db_error_ok ? 0 : EXIT_IO;
}

static FreqSchedulerError build(const FreqCommand *command, FreqScheduler *sch,
                                const FreqRules *rules)
{
    FreqSchedulerError code = freq_scheduler_clear(sch);
    if (code != freq_scheduler_error_ok) {
        return code;
    }
    if (rules != NULL) {
        return freq_scheduler_load_rules(sch, rules, (float)command->freq_default, NULL);
    }
    if (command->visits > 0.0) {
        return freq_scheduler_load_estimated(sch, command->visits, NULL);
    }
    return freq_scheduler_load_simple(sch, (float)command->freq_default, (float)command->scale);
}

static int schedule_command_print_line(void *context, double time, double freq, const char *url)
{
    size_t *left = context;
    (void)printf("%.3f\t%.6e\t%s\n", time, freq, url); /* wall times have ten digits */
    *left -= 1;
    return *left == 0;
}

static int schedule_command_run(const FreqCommand *command, FreqScheduler *sch,
                                const FreqRules *rules)
{
    FreqSchedulerError code = freq_scheduler_error_ok;
    if (command->is_print) {
        size_t left = command->top == 0 ? SIZE_MAX : command->top;
        code = freq_scheduler_walk(sch, schedule_command_print_line, &left);
    } else {
        code = build(command, sch, rules);
        uint64_t n_pages = 0;
        if (code == freq_scheduler_error_ok) {
            code = freq_scheduler_count(sch, &n_pages);
        }
        if (code == freq_scheduler_error_ok) {
            (void)fprintf(stderr, "%llu pages are scheduled\n", (unsigned long long)n_pages);
        }
    }
    if (code != freq_scheduler_error_ok || fflush(stdout) != 0) {
        const char *words = error_message(sch->error);
        (void)fprintf(stderr, "ragno schedule: %s\n", words == NULL ? strerror(errno) : words);
        return EXIT_IO;
    }
    return 0;
}

int schedule_main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[2], "refused") == 0) {
        return schedule_refused(argc, argv);
    }
    if (argc > 2 && strcmp(argv[2], "plan") == 0) {
        return schedule_plan(argc, argv);
    }
    if (argc > 2 && strcmp(argv[2], "revive") == 0) {
        return schedule_revive(argc, argv);
    }
    FreqCommand command = {.freq_default = -1.0, .scale = SCALE_NONE};
    int status = schedule_command_parse(&command, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    FreqRules *rules = NULL;
    if (command.rules_file != NULL) {
        status = read_rules(command.rules_file, &rules);
    }
    PageDB *db = NULL;
    if (status == 0) {
        status = crawl_open("schedule", command.directory, false, &db);
    }
    if (status == 0) {
        FreqScheduler *sch = NULL;
        FreqSchedulerError code = freq_scheduler_new(&sch, db, NULL);
        if (code == freq_scheduler_error_ok) {
            sch->persist = 1;
            status = command.is_print ? 0 : schedule_command_settle(db, false);
            status = status == 0 ? schedule_command_run(&command, sch, rules) : status;
            status = status == 0 && !command.is_print ? schedule_command_settle(db, true) : status;
        } else {
            const char *words = sch == NULL ? NULL : error_message(sch->error);
            (void)fprintf(stderr, "ragno schedule: %s\n", words == NULL ? "out of memory" : words);
            status = EXIT_IO;
        }
        freq_scheduler_delete(sch);
        (void)page_db_delete(db);
    }
    freq_rules_delete(rules);
    return status;
}
