#include "command/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/plan/plan_crawl.h"
#include "command/plan/plan_seeds.h"
#include "crawl/command_option.h"
#include "crawl/exit_status.h"

static int plan_usage(FILE *out)
{
    (void)fprintf(
        out,
        "usage: ragno plan DIR [--json] [-s SECTION.KEY=VALUE]...\n"
        "       ragno plan -i FILE... [URL]... [--contact URL] [-c FILE] [-s "
        "SECTION.KEY=VALUE]...\n"
        "                  [--json]\n"
        "The first tells of a crawl, running or not: how many pages, how much time, bytes and "
        "disk\n"
        "until a limit or the end, and what binds. -s tries other settings: crawl.max_pages=1M\n"
        "(limits of a run hold only while it runs), politeness.host_delay=2s. Only reads.\n"
        "The second looks names up and fetches robots.txt of the seeds' hosts, politely, and "
        "nothing\n"
        "else: for each seed what stands in its way, how many pages a day politeness allows, and\n"
        "which sitemaps robots.txt names. A file of - is standard input.\n"
        "  --json   one object; of seeds one a line, and one for all\n"
        "Exit: 0 told; of seeds: all may be fetched; 1 something stands in the way of one; 2 "
        "usage;\n"
        "3 input or output; 11 stopped by a signal, what was found is told; 17 DIR is damaged.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

typedef struct Line {
    CheckOptions options;
    PlanSeeds seeds;
    bool json;
    bool has_too_many;  /* files */
    char contact[1024]; /* "crawl.contact=URL" */
} Line;

/* Takes argv[*i] if it is one of the command's own options, with its value; *i moves on. */
static bool plan_take_option(Line *line, int argc, char **argv, int *i)
{
    const char *file = strcmp(argv[*i], "-i") == 0 && *i + 1 < argc
                           ? argv[++*i]
                           : command_option("--input-file", argc, argv, i);
    const char *contact = file == NULL ? command_option("--contact", argc, argv, i) : NULL;
    if (file != NULL) {
        line->has_too_many = line->seeds.n_files == PLAN_SEED_FILES;
        line->seeds.files[line->seeds.n_files - line->has_too_many] = file;
        line->seeds.n_files += !line->has_too_many;
    }
    if (contact != NULL) {
        (void)snprintf(line->contact, sizeof line->contact, "crawl.contact=%s", contact);
    }
    return file != NULL || contact != NULL;
}

/* Takes the options that are the command's own; the others stay in argv. The number of words, or -1
 * when help was asked for. */
static int take_own(Line *line, int argc, char **argv)
{
    int n = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return -1;
        }
        if (strcmp(argv[i], "--json") == 0) {
            line->json = true;
        } else if (!plan_take_option(line, argc, argv, &i)) {
            argv[++n] = argv[i];
        }
    }
    return n;
}

static bool plan_is_url(const char *word)
{
    return strstr(word, "://") != NULL;
}

int plan_main(int argc, char **argv)
{
    Line line = {.options = {.command = "plan"}};
    int n = take_own(&line, argc, argv);
    if (n < 0) {
        return plan_usage(stdout);
    }
    if (line.has_too_many) {
        (void)fprintf(stderr, "ragno plan: more than %u seed files\n", PLAN_SEED_FILES);
        return EXIT_USAGE;
    }
    if (*line.contact != '\0') {
        line.options.assignments[line.options.n_assignments++] = line.contact;
    }
    n = check_options_take(&line.options, n + 1, argv);
    if (n < 0) {
        return plan_usage(stderr);
    }
    if (line.seeds.n_files == 0 && n == 1 && !plan_is_url(argv[1])) {
        if (line.options.file != NULL) {
            (void)fprintf(stderr, "ragno plan: -c goes with seeds: a crawl has its config.ini\n");
            return EXIT_USAGE;
        }
        return plan_crawl(argv[1], &line.options, line.json);
    }
    if (line.seeds.n_files == 0 && (n == 0 || !plan_is_url(argv[1]))) {
        return plan_usage(stderr);
    }
    line.seeds.words = argv + 1;
    line.seeds.n_words = (size_t)n;
    return plan_seeds(&line.seeds, &line.options, line.json);
}
