#include "command/verify/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "command/verify/verify_missing.h"
#include "command/verify/verify_parts.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"

static Result verify_all(Verify *verify)
{
    Result rc = verify_moved(verify);
    rc = rc == RESULT_OK ? verify_config(verify) : rc;
    rc = rc == RESULT_OK ? verify_open_database(verify) : rc;
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = verify_files(verify);
    if (verify->db == NULL) {
        return rc;
    }
    /* A crawl without WARC has no folder, and then nothing to compare pages with. */
    if (rc == RESULT_OK) {
        rc = verify_captures(verify);
    }
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = verify_links(verify);
    }
    return rc == RESULT_OK || rc == RESULT_NOT_FOUND ? verify_database(verify) : rc;
}

/* Opens the lock of the directory for a repair. */
static Result verify_lock(const VerifyOptions *options, CrawlStore *store)
{
    Buffer error;
    *store = (CrawlStore){.lock = -1};
    if (!options->repair || access(options->directory, F_OK) != 0) {
        return RESULT_OK;
    }
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = crawl_store_lock(store, options->directory, false, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno verify: %s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
    return rc;
}

Result verify_directory(const VerifyOptions *given, VerifyCounts *counts)
{
    VerifyOptions options = *given;
    options.repair = options.repair || options.refetch;
    Verify verify = {.options = &options, .counts = counts};
    *counts = (VerifyCounts){.files = 0};
    Buffer directory;
    CrawlStore store;
    buffer_init(&directory, BUFFER_NO_LIMIT);
    buffer_init(&verify.line, BUFFER_NO_LIMIT);
    buffer_init(&verify.url, BUFFER_NO_LIMIT);
    map_init(&verify.originals);
    map_init(&verify.errands);
    map_init(&verify.declared);
    buffer_init(&verify.untried, BUFFER_NO_LIMIT);
    buffer_init(&verify.moved, BUFFER_NO_LIMIT);
    buffer_init(&verify.missing, BUFFER_NO_LIMIT);
    Result rc = verify_lock(&options, &store);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&directory, "%s/warc", options.directory);
        verify.warc_directory = directory.data;
    }
    if (rc == RESULT_OK) {
        rc = verify_all(&verify);
    }
    (void)fprintf(options.out,
                  "sum\t%" PRIu64 " files\t%" PRIu64 " records\t%" PRIu64 " captures\t%" PRIu64
                  " revisits\t%" PRIu64 " pages\t%" PRIu64 " captures of no page\t%" PRIu64
                  " problems\t%" PRIu64 " repaired\n",
                  counts->files, counts->records, counts->captures, counts->revisits, counts->pages,
                  counts->strangers, counts->problems, counts->repaired);
    (void)page_db_delete(verify.db);
    crawl_store_close(&store);
    free(verify.captured);
    free(verify.stored);
    map_destroy(&verify.originals);
    map_destroy(&verify.errands);
    map_destroy(&verify.declared);
    free(verify.told);
    buffer_destroy(&verify.untried);
    buffer_destroy(&verify.moved);
    buffer_destroy(&verify.missing);
    buffer_destroy(&directory);
    buffer_destroy(&verify.line);
    buffer_destroy(&verify.url);
    return rc;
}

static int verify_usage(FILE *out)
{
    (void)fprintf(
        out,
        "usage: ragno verify DIR [--repair] [--refetch] [--moved FILE]...\n"
        "Checks that WARC files, their indices, PageDB, the schedule and the host records agree.\n"
        "  --repair   writes schedule, host counters and indices anew, makes lost lists of links\n"
        "             from stored answers, moves broken ends of WARC files aside\n"
        "  --refetch  the same, and schedules pages again that are in no WARC file\n"
        "  --moved FILE  the WARC file FILE was moved away: nothing in it is missed, now or "
        "later.\n"
        "             Its index stays in DIR/warc, or lies beside FILE and is copied there\n"
        "Exit status: 0 no problem, 1 problems (repaired or not), 3 cannot be read,\n"
        "17 in use (--repair).\n");
    return out == stdout ? 0 : 2;
}

#define MOVED_OPTION "--moved="

static bool is_moved_option(const char *word)
{
    return strncmp(word, MOVED_OPTION, strlen(MOVED_OPTION)) == 0;
}

/* -1: go on; else the exit status. */
static int verify_parse(VerifyOptions *options, int argc, char **argv, const char **moved)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return verify_usage(stdout);
        }
        if (strcmp(argv[i], "--repair") == 0) {
            options->repair = true;
        } else if (strcmp(argv[i], "--refetch") == 0) {
            options->refetch = true;
        } else if (is_moved_option(argv[i])) {
            moved[options->n_moved++] = argv[i] + strlen(MOVED_OPTION);
        } else if (strcmp(argv[i], "--moved") == 0 && i + 1 < argc) {
            moved[options->n_moved++] = argv[++i];
        } else if (argv[i][0] != '-' && options->directory == NULL) {
            options->directory = argv[i];
        } else {
            (void)fprintf(stderr, "ragno verify: unexpected '%s'\n", argv[i]);
            return verify_usage(stderr);
        }
    }
    return options->directory == NULL ? verify_usage(stderr) : -1;
}

static int verify_run_one(const VerifyOptions *options)
{
    VerifyCounts counts;
    if (access(options->directory, F_OK) != 0) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", options->directory, strerror(errno));
        return 3;
    }
    Result rc = verify_directory(options, &counts);
    if (rc == RESULT_LOCKED) {
        return EXIT_DIRECTORY; /* who has it was told */
    }
    if (rc == RESULT_INVALID && options->n_moved > 0) {
        return EXIT_USAGE; /* why was told */
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", options->directory, result_name(rc));
        return EXIT_IO;
    }
    return counts.problems == 0 ? 0 : 1;
}

int verify_main(int argc, char **argv)
{
    const char **moved = calloc((size_t)argc + 1, sizeof *moved);
    if (moved == NULL) {
        (void)fprintf(stderr, "ragno verify: out of memory\n");
        return EXIT_IO;
    }
    VerifyOptions options = {.out = stdout, .moved = moved};
    int status = verify_parse(&options, argc, argv, moved);
    status = status < 0 ? verify_run_one(&options) : status;
    free(moved);
    return status;
}
