#include "command/schedule_command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/embed.h"
#include "command/schedule_plan.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "crawl/input_file.h"
#include "store/frequency/freq_scheduler.h"

/* `ragno schedule DIR refused [--only FILTER]`: schedules pages that were refused when they were
 * found.
 *
 * What: a crawl refuses links that are deeper than scope.depth, have a parked pattern
 * (trap_yield.h), come after too many redirects, or belong to a host that was full. Such a page is
 * known, but was never scheduled, and the reason is not stored. The filter language selects the
 * pages (tests on URLs, and DepthAtMost). The selected pages get the levels of their scores, in
 * order of discovery, and the next run fetches them like any other page. Their links are judged by
 * the options of that run, so the option that refused them must be raised or turned off, too: after
 * `--only 'DepthAtMost(25)'` crawl with scope.depth = 25.
 *
 * Hosts that were dropped or parked come back with all their URLs. `ragno schedule DIR revive
 * [HOST...]` does only that, for the named hosts or for all. The command needs the directory for
 * itself.
 * Threads: main.
 * Errors: exit status 0 done; 2 usage or a wrong filter; 3 cannot be read or written; 17 in use,
 * damaged or of another format version. */

#define PAGES_PER_TXN 20000u

typedef struct Refused {
    PageDB *db;
    MDB_txn *txn; /* of a piece of work, as the next two */
    Schedule *schedule;
    HostRows *hosts;
    Filter *filter; /* NULL: all */
    FilterScratch *scratch;
    Url url;
    Buffer text;
    uint64_t n_scheduled;
    uint64_t n_hosts; /* that were brought back */
    uint64_t n_urls;  /* with them */
    bool *aside;      /* by host: it was dropped or parked when we began */
    bool *wanted;     /* by host: it is to be brought back */
    uint32_t n_aside;
    bool hosts_only;    /* revive: nothing else is scheduled */
    char *const *names; /* revive: only these hosts; NULL: all */
    int n_names;
} Refused;

static const char refused_usage[] =
    "usage: ragno schedule DIR refused [--only FILTER]\n"
    "Schedules what was refused: too deep, of a parked pattern, behind too many\n"
    "redirects, of a host that was full; and brings back the hosts that were dropped\n"
    "or parked, with all their URLs.\n"
    "  --only FILTER   of these only what it lets through; it knows URL and "
    "depth\n";

typedef enum Want {
    WANT_NOTHING,
    WANT_PAGE, /* it was refused */
    WANT_HOST  /* it is parked with its host */
} Want;

static Want what_is_wanted(const Refused *refused, const PageRef *page)
{
    bool refused_when_found = page->status == 0;
    bool refused_in_its_turn = page->status == STATUS_TRAP;
    if (page->level < SCHEDULE_MAX_LEVELS && page->host < refused->n_aside &&
        refused->aside[page->host]) {
        return WANT_HOST;
    }
    return page->level == PAGE_DB_NO_LEVEL && page->n_crawls == 0 &&
                   (refused_when_found || refused_in_its_turn)
               ? WANT_PAGE
               : WANT_NOTHING;
}

static bool passes(Refused *refused, const PageRef *page)
{
    if (refused->filter == NULL) {
        return true;
    }
    FilterInput input = {.url = &refused->url,
                         .has_depth = true,
                         .depth = page->depth > UINT32_MAX ? UINT32_MAX : (uint32_t)page->depth};
    return url_parse(&refused->url, NULL, page->url, page->url_length) == RESULT_OK &&
           filter_matches(refused->filter, &input, refused->scratch);
}

/* Page, schedule and the host's count of URLs together. */
static Result schedule_refused_put_back(Refused *refused, const PageRef *page)
{
    HostRecord record;
    refused->n_scheduled++;
    unsigned level = schedule_level(refused->schedule, page->score);
    if (page_db_set_state(refused->db, refused->txn, page->index, 0, (uint8_t)level, 0) !=
        page_db_error_ok) {
        return RESULT_FULL;
    }
    Result rc = schedule_put(refused->schedule, refused->txn, page->host, level, page->index);
    if (rc == RESULT_OK) {
        rc = host_rows_get(refused->hosts, refused->txn, page->host, &record);
    }
    if (rc == RESULT_OK) {
        record.urls += page->status == 0; /* what was refused in its turn is counted already */
        rc = host_rows_put(refused->hosts, refused->txn, page->host, &record);
    }
    return rc;
}

/* One transaction: opens the tables, does a piece of work, commits it. */
typedef Result Piece(Refused *refused, uint64_t first);

static Result in_transaction(Refused *refused, Piece *piece, uint64_t first)
{
    Journal *journal = page_db_journal(refused->db);
    if (page_db_txn_begin(refused->db, false, &refused->txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = schedule_open(&refused->schedule, refused->txn, NULL, journal);
    if (rc == RESULT_OK) {
        rc = host_rows_open(&refused->hosts, refused->txn, journal);
    }
    if (rc == RESULT_OK) {
        rc = piece(refused, first);
    }
    rc = page_db_txn_end(refused->db, refused->txn, rc);
    host_rows_close(refused->hosts);
    schedule_close(refused->schedule);
    refused->hosts = NULL;
    refused->schedule = NULL;
    return rc;
}

/* ---- pages ---- */

static Result look_at_pages(Refused *refused, uint64_t first)
{
    uint64_t n_pages = page_db_n_pages(refused->db, refused->txn);
    Result rc = RESULT_OK;
    for (uint64_t i = first; i < n_pages && i < first + PAGES_PER_TXN && rc == RESULT_OK; i++) {
        PageRef page;
        if (page_db_get(refused->db, refused->txn, i, &page, &refused->text) != page_db_error_ok) {
            return RESULT_DAMAGED;
        }
        Want want = what_is_wanted(refused, &page);
        if (want == WANT_NOTHING || page.host >= refused->n_aside || !passes(refused, &page)) {
            continue;
        }
        refused->wanted[page.host] = true;
        if (want == WANT_PAGE) {
            rc = schedule_refused_put_back(refused, &page);
        }
    }
    return rc;
}

/* ---- hosts ---- */

static Result schedule_refused_note_host(void *context, uint32_t host, const HostRecord *record)
{
    Refused *refused = context;
    if (host < refused->n_aside) {
        refused->aside[host] = host_is_aside(record);
    }
    return RESULT_OK;
}

static Result look_at_hosts(Refused *refused, uint64_t first)
{
    (void)first;
    uint32_t n = page_db_n_hosts(refused->db, refused->txn);
    refused->aside = calloc(n == 0 ? 1 : n, sizeof *refused->aside);
    refused->wanted = calloc(n == 0 ? 1 : n, sizeof *refused->wanted);
    if (refused->aside == NULL || refused->wanted == NULL) {
        return RESULT_MEMORY;
    }
    refused->n_aside = n;
    Result rc = host_rows_walk(refused->hosts, refused->txn, schedule_refused_note_host, refused);
    memset(refused->wanted, refused->filter == NULL, n * sizeof *refused->wanted);
    return rc;
}

/* "www.example.org" is any of its origins, "https://www.example.org" that one. */
static bool schedule_refused_is_named(const Refused *refused, const char *origin)
{
    const char *name = strstr(origin, "://");
    name = name == NULL ? origin : name + 3;
    size_t length = strcspn(name, ":");
    for (int i = 0; i < refused->n_names; i++) {
        const char *wanted = refused->names[i];
        if (strcmp(wanted, origin) == 0 || strcmp(wanted, name) == 0 ||
            (*name != '[' && strlen(wanted) == length && strncmp(wanted, name, length) == 0)) {
            return true;
        }
    }
    return refused->names == NULL;
}

static Result schedule_refused_bring_back(Refused *refused, uint64_t first)
{
    Result rc = RESULT_OK;
    for (uint64_t i = first; i < refused->n_aside && i < first + PAGES_PER_TXN && rc == RESULT_OK;
         i++) {
        uint32_t host = (uint32_t)i;
        HostRecord record;
        uint64_t urls = 0;
        unsigned level = 0;
        buffer_reset(&refused->text);
        if (!refused->aside[i] || !refused->wanted[i] ||
            page_db_host_origin(refused->db, refused->txn, host, &refused->text) !=
                page_db_error_ok ||
            !schedule_refused_is_named(refused, buffer_string(&refused->text))) {
            continue;
        }
        rc = host_rows_get(refused->hosts, refused->txn, host, &record);
        if (rc == RESULT_OK) {
            rc = host_parking_bring_back(refused->schedule, refused->txn, host, &record, &urls,
                                         &level);
        }
        if (rc == RESULT_OK) {
            rc = host_rows_put(refused->hosts, refused->txn, host, &record);
        }
        refused->n_hosts++;
        refused->n_urls += urls;
    }
    return rc;
}

static int schedule_refused_run(Refused *refused, const char *directory)
{
    int status = crawl_open("schedule", directory, false, &refused->db);
    if (status != 0) {
        return status;
    }
    Result rc = in_transaction(refused, look_at_hosts, 0);
    uint64_t n_pages = 0;
    MDB_txn *txn = NULL;
    if (rc == RESULT_OK && page_db_txn_begin(refused->db, true, &txn) == page_db_error_ok) {
        n_pages = refused->hosts_only ? 0 : page_db_n_pages(refused->db, txn);
        page_db_txn_abort(refused->db, txn);
    }
    for (uint64_t i = 0; rc == RESULT_OK && i < n_pages; i += PAGES_PER_TXN) {
        rc = in_transaction(refused, look_at_pages, i);
    }
    for (uint64_t i = 0; rc == RESULT_OK && i < refused->n_aside; i += PAGES_PER_TXN) {
        rc = in_transaction(refused, schedule_refused_bring_back, i);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno schedule: %s: %s\n", directory, result_name(rc));
        return rc == RESULT_DAMAGED || rc == RESULT_VERSION ? EXIT_DIRECTORY : EXIT_IO;
    }
    if (!refused->hosts_only) {
        (void)fprintf(stderr, "%" PRIu64 " pages are scheduled\n", refused->n_scheduled);
    }
    if (refused->n_hosts > 0 || refused->hosts_only) {
        (void)fprintf(stderr, "%" PRIu64 " hosts are brought back, with %" PRIu64 " URLs\n",
                      refused->n_hosts, refused->n_urls);
    }
    return refused->names != NULL && refused->n_hosts == 0 ? EXIT_NEGATIVE : 0;
}

/* Only the holder of the lock writes the schedule. */
static int work(Refused *refused, const char *directory)
{
    CrawlStore store = {.lock = -1};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    if (!crawl_open_is_crawl(directory)) {
        (void)fprintf(stderr, "ragno schedule: %s holds no crawl\n", directory);
        return EXIT_IO;
    }
    buffer_init(&refused->text, BUFFER_NO_LIMIT);
    Result rc = crawl_store_lock(&store, directory, false, &error);
    int status = exit_status_tell("schedule", rc, &error) == 0
                     ? schedule_refused_run(refused, directory)
                     : EXIT_DIRECTORY;
    (void)page_db_delete(refused->db);
    crawl_store_close(&store);
    free(refused->aside);
    free(refused->wanted);
    buffer_destroy(&refused->text);
    url_destroy(&refused->url);
    return status;
}

/* argv[0] is "schedule", argv[2] "refused". Returns the exit status. */
static int schedule_refused(int argc, char **argv)
{
    const char *expression = NULL;
    const CommandOption rows[] = {{"only", 0, COMMAND_TEXT, .to = &expression}};
    CommandLine line = {"schedule", refused_usage, COMMAND_ROWS(rows), .words_least = 2,
                        .words_most = 2};
    Refused refused = {.db = NULL};
    int status = command_line_take(&line, argc, argv);
    if (status == 0) {
        status = command_filter("schedule", "only", expression, FILTER_HAS_DEPTH, &refused.filter);
    }
    if (status == 0 && filter_scratch_new(&refused.scratch) != RESULT_OK) {
        status = EXIT_INTERNAL;
    }
    if (status == 0) {
        status = work(&refused, line.words[0]);
    }
    filter_scratch_delete(refused.scratch);
    filter_delete(refused.filter);
    return status == COMMAND_HELPED ? 0 : status;
}

/* The same for "revive"; 1 when hosts are named and none of them is set aside. */
static int schedule_revive(int argc, char **argv)
{
    CommandLine line = {
        .command = "schedule",
        .usage = "usage: ragno schedule DIR revive [HOST...]\n"
                 "Brings hosts back that were dropped or parked, with all their URLs: those\n"
                 "that are named, or all. ragno db DIR hosts --parked lists them.\n",
        .words_least = 2,
        .words_most = argc};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    Refused refused = {.hosts_only = true,
                       .names = line.n_words > 2 ? line.words + 2 : NULL,
                       .n_names = line.n_words - 2};
    return work(&refused, line.words[0]);
}

/* ---- `ragno schedule DIR freq` ---- */

typedef struct FreqCommand {
    const char *directory;
    const char *rules_file;
    double freq_default; /* negative: not given */
    double scale;
    bool is_print;
    uint64_t top; /* 0: all */
} FreqCommand;

#define SCALE_NONE (-1.0)

EMBED(schedule_usage, "src/command/schedule_command.txt");

static int schedule_command_complain(const char *what)
{
    (void)fprintf(stderr, "ragno schedule: %s\n%s", what, schedule_usage);
    return EXIT_USAGE;
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

static int schedule_take_freq(void *freq, const char *value)
{
    return parse_freq(value, freq)
               ? 0
               : schedule_command_complain("--default: expected visits per second or an interval");
}

/* 0, an exit status, or COMMAND_HELPED. */
static int schedule_command_parse(FreqCommand *command, int argc, char **argv)
{
    uint64_t top = UINT64_MAX;
    const CommandOption rows[] = {
        {"default", 0, COMMAND_TAKE, .to = &command->freq_default, .take = schedule_take_freq},
        {"scale", 0, COMMAND_REAL, .to = &command->scale, .least = -1e30, .most = 1e30},
        {"rules", 0, COMMAND_TEXT, .to = &command->rules_file},
        {"print", 0, COMMAND_FLAG, .to = &command->is_print},
        {"top", 0, COMMAND_NUMBER, .to = &top, .most = 1e15}};
    CommandLine line = {"schedule", schedule_usage, COMMAND_ROWS(rows), .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status;
    }
    if (strcmp(line.words[1], "freq") != 0) {
        return command_line_complain(&line, "expected freq, plan, refused or revive, not",
                                     line.words[1]);
    }
    bool has_top = top != UINT64_MAX;
    command->directory = line.words[0];
    command->top = has_top ? top : 0;
    int ways = (command->rules_file != NULL) + command->is_print;
    if (ways > 1 || (ways == 0 && command->freq_default < 0.0 && !(command->scale > 0.0))) {
        return schedule_command_complain("expected one of --default, --rules, --print");
    }
    bool has_default = command->freq_default >= 0.0;
    bool has_scale = command->scale != SCALE_NONE;
    if ((ways > 0 && has_scale) || (command->is_print && has_default) ||
        (has_top && !command->is_print)) {
        return schedule_command_complain("these options do not go together");
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
    RevisitRows *table = NULL;
    if (page_db_txn_begin(db, false, &txn) != page_db_error_ok) {
        return EXIT_IO;
    }
    Result rc = revisit_rows_open(&table, txn, true);
    if (rc == RESULT_OK) {
        rc = revisit_rows_settled_put(table, txn, all ? page_db_n_pages(db, txn) : 0);
    }
    revisit_rows_close(table);
    return page_db_txn_end(db, txn, rc) == RESULT_OK ? 0 : EXIT_IO;
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
    if (code != freq_scheduler_error_ok) {
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
        return status == COMMAND_HELPED ? 0 : status;
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
            if (status == 0) {
                status = schedule_command_run(&command, sch, rules);
            }
            if (status == 0 && !command.is_print) {
                status = schedule_command_settle(db, true);
            }
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
