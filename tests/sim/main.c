/* sim: crawls a simulated web in virtual time and checks the promises of the crawler on the way.
 *
 *   sim [--urls N] [--hosts N] [--addresses N] [--seed N] [--crashes N] [--memory BYTES]
 *       [--connections N] [--trouble N] [--days N] [--batch-time MS] [--batch-pages N]
 *       [--sieve BYTES] [--sieve-from URLS] [--directory DIR] [--leaves N] [--journal BYTES]
 *   sim --agents N [--urls N] [--hosts N] [--addresses N] [--seed N] [--lost N] [--kills N]
 *       [--cuts N] [--downs N] [--limit PAGES] and others   (cluster_sim.h)
 *
 * Figures go to standard output, one per line; violations and progress to standard error. Exit
 * status 1 when a promise was broken or the crawl did not end. */
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/thread/log.h"
#include "base/option/options.h"
#include "cluster_sim.h"
#include "crawl.h"

#define MARKS      100u
#define TENTH      (MARKS / 10)
#define DAY_MS     INT64_C(86400000)
#define CRASH_SALT 99u

typedef struct Settings {
    uint32_t urls;
    uint32_t hosts;
    uint32_t addresses;
    uint64_t seed;
    uint32_t crashes;
    int64_t memory;
    uint32_t connections;
    uint32_t batch_ms;
    uint32_t batch_pages;
    uint32_t trouble;
    uint32_t days;       /* longer than this means that it does not end */
    int64_t journal;     /* memory of its index; 0 = none */
    int64_t sieve;       /* memory of the sieve; 0 = none */
    uint32_t sieve_from; /* URLs known before it is used */
    uint32_t leaves;     /* of every such transaction the pages are counted; 0 = none */
    const char *directory;
} Settings;

typedef struct Mark {
    uint64_t results; /* pages and refusals so far */
    int64_t cpu_ns;
    uint64_t rss_kb;
    uint64_t written; /* bytes */
    CrawlCost cost;
} Mark;

typedef struct Figures {
    Mark marks[MARKS + 2];
    size_t n_marks;
    uint64_t base_kb; /* resident before the crawl begins */
    uint64_t peak_kb;
    size_t
        frontier_bytes; /* what the frontier counted at most; the rest are batches, LMDB, world */
} Figures;

/* A number of a file of /proc; 0: it is not there. */
static uint64_t number_of(const char *path, const char *name)
{
    FILE *file = fopen(path, "re");
    char line[256];
    uint64_t number = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            number = strtoull(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return number;
}

/* Memory of this process's own: what is mapped of the database does not count. */
static uint64_t anonymous_kb(void)
{
    return number_of("/proc/self/status", "RssAnon:");
}

static uint64_t results_of(const Audit *audit)
{
    return audit->pages + audit->refused;
}

/* What a tenth of the results cost, part by part. */
static void print_tenth(const Mark *from, const Mark *to)
{
    double n = (double)(to->results - from->results) * 1e3;
    const CrawlCost *a = &from->cost;
    const CrawlCost *b = &to->cost;
    double cpu = (double)(to->cpu_ns - from->cpu_ns) / n;
    double apply = (double)(b->apply_ns - a->apply_ns) / n;
    double write = (double)(b->write_ns - a->write_ns) / n;
    double tell = (double)(b->tell_ns - a->tell_ns) / n;
    double merge = (double)(b->merge_ns - a->merge_ns) / n;
    (void)fprintf(stderr,
                  "sim:      a result: %.1f us (apply %.1f, write %.1f, tell %.1f, merge %.1f, "
                  "else %.1f), %.2f kB written; %.1f results in a commit\n",
                  cpu, apply, write, tell, merge, cpu - apply - write - tell - merge,
                  (double)(to->written - from->written) / n,
                  n / 1e3 / (double)(b->commits - a->commits + 1));
}

static void take_mark(Figures *figures, const Crawl *crawl, uint32_t urls)
{
    uint64_t results = results_of(crawl->audit);
    size_t n = figures->n_marks;
    if (n >= MARKS + 2 || results < (uint64_t)urls * n / MARKS) {
        return;
    }
    Mark *mark = &figures->marks[figures->n_marks++];
    *mark = (Mark){.results = results,
                   .cpu_ns = cpu_process_ns(),
                   .rss_kb = anonymous_kb(),
                   .written = number_of("/proc/self/io", "wchar:"),
                   .cost = crawl->cost};
    figures->peak_kb = mark->rss_kb > figures->peak_kb ? mark->rss_kb : figures->peak_kb;
    if (crawl->distributor.memory > figures->frontier_bytes) {
        figures->frontier_bytes = crawl->distributor.memory;
    }
    if (n % TENTH == 0) {
        (void)fprintf(stderr,
                      "sim: %3zu%% day %.2f results %" PRIu64 " hosts in memory %zu (%zu MB) "
                      "front %zu of %zu, cpu %.1f s, own %" PRIu64 " MB\n",
                      n * 100 / MARKS, (double)crawl->now.ns / 1e6 / (double)DAY_MS, results,
                      crawl->distributor.visit_states.count, crawl->distributor.memory >> 20,
                      workbench_front(&crawl->workbench), crawl->required_front,
                      (double)mark->cpu_ns / 1e9, (mark->rss_kb - figures->base_kb) >> 10);
        if (n >= TENTH) {
            print_tenth(mark - TENTH, mark);
        }
    }
}

/* What was written for each result between two shares of all results. */
static double written_between(const Figures *figures, double from, double to)
{
    const Mark *last = &figures->marks[figures->n_marks - 1];
    const Mark *a = NULL;
    const Mark *b = last;
    for (size_t i = 0; i < figures->n_marks && b == last; i++) {
        const Mark *mark = &figures->marks[i];
        double share = (double)mark->results / (double)last->results;
        a = a == NULL && share >= from ? mark : a;
        b = share >= to ? mark : b;
    }
    return a == NULL || b->results <= a->results
               ? 0
               : (double)(b->written - a->written) / (double)(b->results - a->results);
}

static void print_written(const Figures *figures, const Leaves *leaves)
{
    (void)printf("sim.written_bytes_per_result = %.0f bytes\n", written_between(figures, 0, 1));
    (void)printf("sim.late_written_bytes_per_result = %.0f bytes\n",
                 written_between(figures, 0.9, 1));
    double all = 0;
    for (size_t i = 0; i < leaves->n_tables && leaves->results > 0; i++) {
        double each = (double)leaves->tables[i].written / (double)leaves->results;
        (void)printf("sim.leaves_per_result.%s = %.3f pages\n", leaves->tables[i].name, each);
        all += each;
    }
    if (leaves->results > 0) {
        (void)printf("sim.leaves_per_result = %.3f pages\n", all);
    }
}

/* CPU time per result between two shares of all results. */
static double cost_between(const Figures *figures, double from, double to)
{
    const Mark *last = &figures->marks[figures->n_marks - 1];
    const Mark *a = NULL;
    const Mark *b = last;
    for (size_t i = 0; i < figures->n_marks; i++) {
        const Mark *mark = &figures->marks[i];
        double share = (double)mark->results / (double)last->results;
        if (a == NULL && share >= from) {
            a = mark;
        }
        if (share >= to) {
            b = mark;
            break;
        }
    }
    return a == NULL || b->results <= a->results
               ? 0
               : (double)(b->cpu_ns - a->cpu_ns) / (double)(b->results - a->results);
}

static void print_figures(const Figures *figures, const Crawl *crawl, int64_t cpu_ns)
{
    const Audit *audit = crawl->audit;
    double early = cost_between(figures, 0.05, 0.15);
    double late = cost_between(figures, 0.90, 1.0);
    (void)printf("sim.urls = %" PRIu64 " urls\n", audit->known);
    (void)printf("sim.violations = %" PRIu64 " count\n", audit->violations);
    (void)printf("sim.late_over_early_cost = %.3f ratio\n", early > 0 ? late / early : 0);
    (void)printf("sim.rss_mb = %.1f MB\n", (double)(figures->peak_kb - figures->base_kb) / 1024);
    (void)printf("sim.frontier_mb = %.1f MB\n", (double)figures->frontier_bytes / (1 << 20));
    (void)printf("sim.results_per_commit = %.1f results\n",
                 (double)results_of(audit) / (double)(crawl->cost.commits + 1));
    (void)printf("sim.urls_per_cpu_s = %.0f 1/s\n",
                 (double)results_of(audit) * 1e9 / (double)cpu_ns);
    (void)printf("sim.days = %.2f days\n", (double)crawl->now.ns / 1e6 / (double)DAY_MS);
    (void)printf("sim.longest_merge_ms = %.1f ms\n", (double)crawl->longest_merge_ns / 1e6);
    (void)printf("sim.evictions = %" PRIu64 " hosts\n",
                 crawl->evictions + crawl->distributor.steering.evictions);
    (void)printf("sim.longest_merge_wall_ms = %.1f ms\n",
                 (double)crawl->longest_merge_wall_ns / 1e6);
    print_written(figures, &crawl->leaves);
    (void)printf("sim.refetched = %" PRIu64 " urls\n", audit->refetched);
    (void)printf("sim.host_checks = %" PRIu64 " requests\n", audit->checks);
}

/* One whole crawl; false when it broke down. */
static bool run(const Settings *settings, Crawl *crawl, Figures *figures)
{
    uint64_t next_crash = 0;
    uint32_t crashes = 0;
    uint64_t spacing = settings->urls / (settings->crashes + 1) + 1;
    next_crash = hash_mix(settings->seed + CRASH_SALT) % spacing;
    while (crawl_turn(crawl, crawl_next(crawl))) {
        take_mark(figures, crawl, settings->urls);
        if (crashes < settings->crashes && results_of(crawl->audit) >= next_crash) {
            crashes++;
            uint64_t luck = hash_mix(settings->seed + CRASH_SALT + crashes);
            next_crash = crashes * spacing + luck % spacing;
            if (!crawl_crash(crawl, (int64_t)(luck >> 32) % 60000)) {
                return false;
            }
        }
        if (crawl->now.ns / 1000000 > (int64_t)settings->days * DAY_MS) {
            (void)fprintf(stderr, "sim: no end after %u days: %zu visit states, %zu away\n",
                          settings->days, crawl->distributor.visit_states.count,
                          crawl->distributor.n_away);
            return false;
        }
    }
    figures->marks[figures->n_marks < MARKS + 2 ? figures->n_marks++ : MARKS + 1] =
        (Mark){.results = results_of(crawl->audit),
               .cpu_ns = cpu_process_ns(),
               .written = number_of("/proc/self/io", "wchar:"),
               .cost = crawl->cost};
    print_tenth(&figures->marks[figures->n_marks > TENTH ? figures->n_marks - TENTH : 0],
                &figures->marks[figures->n_marks - 1]);
    return !crawl->broken;
}

static int simulate(const Settings *settings)
{
    World world;
    Audit audit;
    static Crawl crawl;
    static Figures figures;
    char directory[PATH_MAX];
    const char *place = getenv("TMPDIR");
    (void)snprintf(directory, sizeof directory, "%s/ragno-sim-XXXXXX",
                   place == NULL ? "/tmp" : place);
    const char *path = settings->directory != NULL ? settings->directory : mkdtemp(directory);
    CrawlOptions options = {.directory = path,
                            .memory_bytes = (size_t)settings->memory,
                            .connections = settings->connections,
                            .batch_ms = settings->batch_ms,
                            .batch_pages = settings->batch_pages,
                            .front_max = 100000,
                            .window = 32,
                            .sieve_bytes = (size_t)settings->sieve,
                            .sieve_least = settings->sieve_from,
                            .map_bytes = (size_t)1 << 38,
                            .journal_bytes = (size_t)settings->journal,
                            .leaves = settings->leaves,
                            .politeness = crawl_politeness(),
                            .seeds = settings->hosts / 1000 + 1};
    if (path == NULL || !world_init(&world, settings->seed, settings->urls, settings->hosts,
                                    settings->addresses, WORLD_HOST_URLS)) {
        return 2;
    }
    world.trouble = settings->trouble;
    world.breaks = true;
    if (!audit_init(&audit, &world, &options.politeness, CRAWL_ROBOTS_MS) ||
        !crawl_open(&crawl, &options, &world, &audit) || !crawl_seed(&crawl)) {
        return 2;
    }
    crawl_begin(&crawl, false);
    figures.base_kb = anonymous_kb();
    bool ended = run(settings, &crawl, &figures);
    int64_t cpu_ns = cpu_process_ns();
    if (ended) {
        crawl_check_end(&crawl);
    }
    print_figures(&figures, &crawl, cpu_ns);
    bool good = ended && audit.violations == 0;
    crawl_close(&crawl, true);
    audit_destroy(&audit);
    world_destroy(&world);
    (void)rmdir(path);
    return good ? 0 : 1;
}

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end = NULL;
    *number = strtoull(text, &end, 10);
    return end != text && *end == '\0' && *number <= most;
}

/* False: it is wrong. */
static bool take_cluster_option(ClusterSimOptions *cluster, int option, unsigned number)
{
    cluster->agents = option == 'A' ? number : cluster->agents;
    cluster->lost = option == 'L' ? number : cluster->lost;
    cluster->kills = option == 'K' ? number : cluster->kills;
    cluster->cuts = option == 'C' ? number : cluster->cuts;
    cluster->downs = option == 'N' ? number : cluster->downs;
    cluster->limit = option == 'l' ? number : cluster->limit;
    cluster->moves = option == 'V' ? number : cluster->moves;
    cluster->stops = option == 'P' ? number : cluster->stops;
    cluster->returns = option == 'R' ? number : cluster->returns;
    cluster->orders = option == 'O' ? number : cluster->orders;
    cluster->host_urls = option == 'H' ? number : cluster->host_urls;
    cluster->trouble_s = option == 'T' && number > 0 ? number : cluster->trouble_s;
    cluster->stills = option == 'i' ? number : cluster->stills;
    cluster->fails = option == 'F' ? number : cluster->fails;
    cluster->machines = option == 'G' ? number : cluster->machines;
    cluster->strays = option == 'Y' ? number : cluster->strays;
    cluster->stale_ms = option == 'w' ? number : cluster->stale_ms;
    cluster->even = cluster->even || option == 'e';
    cluster->most = cluster->most || option == 'o';
    return option != 'A' || (number > 0 && number <= CLUSTER_SIM_AGENTS);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"urls", required_argument, NULL, 'u'},
                                          {"hosts", required_argument, NULL, 'h'},
                                          {"addresses", required_argument, NULL, 'a'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"crashes", required_argument, NULL, 'c'},
                                          {"memory", required_argument, NULL, 'm'},
                                          {"connections", required_argument, NULL, 'n'},
                                          {"batch-time", required_argument, NULL, 'b'},
                                          {"days", required_argument, NULL, 'd'},
                                          {"trouble", required_argument, NULL, 't'},
                                          {"batch-pages", required_argument, NULL, 'B'},
                                          {"sieve", required_argument, NULL, 'S'},
                                          {"sieve-from", required_argument, NULL, 'f'},
                                          {"directory", required_argument, NULL, 'D'},
                                          {"agents", required_argument, NULL, 'A'},
                                          {"lost", required_argument, NULL, 'L'},
                                          {"kills", required_argument, NULL, 'K'},
                                          {"cuts", required_argument, NULL, 'C'},
                                          {"downs", required_argument, NULL, 'N'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"stills", required_argument, NULL, 'i'},
                                          {"moves", required_argument, NULL, 'V'},
                                          {"fails", required_argument, NULL, 'F'},
                                          {"machines", required_argument, NULL, 'G'},
                                          {"strays", required_argument, NULL, 'Y'},
                                          {"stale", required_argument, NULL, 'w'},
                                          {"even", no_argument, NULL, 'e'},
                                          {"most", no_argument, NULL, 'o'},
                                          {"host-urls", required_argument, NULL, 'H'},
                                          {"trouble-s", required_argument, NULL, 'T'},
                                          {"stops", required_argument, NULL, 'P'},
                                          {"leaves", required_argument, NULL, 'E'},
                                          {"returns", required_argument, NULL, 'R'},
                                          {"orders", required_argument, NULL, 'O'},
                                          {"journal", required_argument, NULL, 'j'},
                                          {NULL, 0, NULL, 0}};
    Settings settings = {.urls = 100000,
                         .hosts = 5000,
                         .addresses = 1500,
                         .seed = 1,
                         .memory = 256 << 20,
                         .connections = 2000,
                         .batch_ms = 200,
                         .batch_pages = 2048,
                         .trouble = 1,
                         .sieve = 16 << 20,
                         .journal = 48 << 20,
                         .sieve_from = 2000000,
                         .days = 365};
    ClusterSimOptions cluster = {.agents = 0, .host_urls = 1000, .trouble_s = 400};
    int option = 0;
    bool ok = true;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1 && ok) {
        uint64_t number = 0;
        bool is_number = option != 'm' && option != 'S' && option != 'D' && option != 'e' &&
                         option != 'o' && option != 'j' && option != '?';
        ok = option != '?' && (!is_number || read_number(optarg, UINT32_MAX / 2, &number));
        settings.urls = option == 'u' ? (uint32_t)number : settings.urls;
        settings.hosts = option == 'h' ? (uint32_t)number : settings.hosts;
        settings.addresses = option == 'a' ? (uint32_t)number : settings.addresses;
        settings.seed = option == 's' ? number : settings.seed;
        settings.crashes = option == 'c' ? (uint32_t)number : settings.crashes;
        settings.connections = option == 'n' ? (uint32_t)number : settings.connections;
        settings.batch_ms = option == 'b' ? (uint32_t)number : settings.batch_ms;
        settings.batch_pages = option == 'B' ? (uint32_t)number : settings.batch_pages;
        settings.days = option == 'd' ? (uint32_t)number : settings.days;
        settings.trouble = option == 't' ? (uint32_t)number : settings.trouble;
        settings.sieve_from = option == 'f' ? (uint32_t)number : settings.sieve_from;
        settings.leaves = option == 'E' ? (uint32_t)number : settings.leaves;
        settings.directory = option == 'D' ? optarg : settings.directory;
        ok = ok && take_cluster_option(&cluster, option, (unsigned)number);
        ok = ok && (option != 'S' || option_parse_size(optarg, &settings.sieve) == RESULT_OK);
        ok = ok && (option != 'j' || option_parse_size(optarg, &settings.journal) == RESULT_OK);
        ok = ok && (option != 'm' || option_parse_size(optarg, &settings.memory) == RESULT_OK);
    }
    if (!ok || settings.hosts == 0 || settings.addresses == 0 || optind != argc) {
        (void)fprintf(
            stderr, "usage: sim [--urls N] [--hosts N] [--addresses N] [--seed N]\n"
                    "           [--crashes N] [--memory SIZE] [--connections N]\n"
                    "           [--trouble N] [--days N] [--batch-time MS] [--batch-pages N]\n"
                    "           [--sieve SIZE] [--sieve-from URLS] [--directory DIR] [--leaves N]\n"
                    "           [--journal SIZE]\n"
                    "       sim --agents N [--lost N] [--kills N] [--cuts N] [--downs N]\n"
                    "           [--moves N] [--stops N] [--returns N] [--orders N] [--trouble-s N] "
                    "[--limit N] "
                    "[--host-urls N]\n"
                    "           [--stills N] [--fails N] [--machines N] [--strays N] [--stale MS] "
                    "[--even] [--most]\n");
        return 2;
    }
    if (cluster.agents > 0) {
        log_set_level(LOG_LEVEL_ERROR);
        cluster.urls = settings.urls;
        cluster.hosts = settings.hosts;
        cluster.addresses = settings.addresses;
        cluster.seed = settings.seed;
        cluster.batch_ms = settings.batch_ms;
        cluster.memory_bytes = (size_t)settings.memory;
        cluster.directory = settings.directory;
        return cluster_sim_run(&cluster);
    }
    log_set_level(LOG_LEVEL_WARN);
    return simulate(&settings);
}
