#include "command/db/db.h"

#include <stdio.h>
#include <string.h>

#include "command/db/db_view.h"
#include "crawl/crawl_view.h"

typedef struct DbCommand {
    const char *name;
    const char *usage;
    int (*run)(DbView *view, int argc, char **argv);
} DbCommand;

static const DbCommand commands[] = {
    {"dump", "dump                             all pages by hash", db_dump},
    {"find", "find REGEX                       pages whose URL matches", db_find_regex},
    {"get",
     "get URL [--headers] [--body|--raw] one page; or its stored answer, decoded or as stored",
     db_get},
    {"hosts", "hosts [HOST|--parked|--walls]    id, origin, known, crawled, scheduled pages",
     db_hosts},
    {"info", "info                             counts, format version, the size of every table",
     db_info},
    {"links", "links [--from URL|--to URL] [--ids]", db_links},
    {"path", "path URL [--here]                how the crawl got there, seed first", db_path},
    {"urls", "urls INDEX...                    a line each; empty: there is no such page", db_urls},
    {"schedule",
     "schedule [--top N] [--host HOST] priority, score, url; --due: next visit, interval, url",
     db_schedule},
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static int db_usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno db DIR COMMAND\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        (void)fprintf(out, "  %s\n", commands[i].usage);
    }
    (void)fprintf(out, "Pages are printed as: hash index url first_crawl last_crawl n_changes "
                       "n_crawls depth score, tab separated.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int db_run(const DbCommand *command, const char *dir, int argc, char **argv)
{
    DbView view = {.directory = dir};
    Buffer warc = {.limit = BUFFER_NO_LIMIT}; /* the folder beside the database */
    if (buffer_printf(&warc, crawl_open_is_crawl(dir) ? "%s/warc" : "%s/../warc", dir) !=
        RESULT_OK) {
        return EXIT_INTERNAL;
    }
    view.warc = buffer_string(&warc);
    buffer_init(&view.url, BUFFER_NO_LIMIT);
    int status = crawl_open("db", dir, true, &view.db);
    if (status == 0) {
        int rc = short_read_begin(&view.read, view.db, stdout);
        view.txn = view.read.txn;
        status = rc == page_db_error_ok ? command->run(&view, argc, argv) : db_failed(&view, rc);
        short_read_pause(&view.read);
    }
    buffer_destroy(&view.url);
    buffer_destroy(&warc);
    (void)page_db_delete(view.db);
    return status;
}

int db_main(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return db_usage(stdout);
    }
    if (argc < 3) {
        return db_usage(stderr);
    }
    if (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0) {
        return db_usage(stdout);
    }
    OptionNear near = {argv[2], .least = strlen(argv[2])}; /* else no letter is the same */
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[2], commands[i].name) == 0) {
            return db_run(&commands[i], argv[1], argc - 2, argv + 2);
        }
        (void)option_near_look(&near, commands[i].name);
    }
    (void)fprintf(stderr, "ragno db: unknown command '%s'", argv[2]);
    if (near.name != NULL) {
        (void)fprintf(stderr, "; did you mean '%s'?", near.name);
    }
    (void)fprintf(stderr, "\n");
    return db_usage(stderr);
}
