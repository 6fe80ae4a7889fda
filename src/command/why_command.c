#include "command/why_command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/control/control_link.h"
#include "crawl/crawl_open.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "why/why.h"
#include "why/why_text.h"

#define ANSWER_MS 5000 /* of a running crawl */

static int usage(FILE *out)
{
    (void)fprintf(
        out, "usage: ragno why DIR URL [--json]\n"
             "Everything about one URL: how it was found, what the rules say of it, where it is\n"
             "now and what it waits for, each attempt, and what comes next. Its state is one of\n"
             "unknown, refused, queued, in flight, fetched, duplicate, failed, host dropped.\n"
             "Exit: 0, 1 when nothing is known of it, 2 when it is no URL.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

/* The tables of a crawl; those that are not there stay NULL. */
typedef struct Tables {
    HostTable *hosts;
    Schedule *schedule;
    RevisitTable *revisits;
} Tables;

static Result open_tables(PageDB *db, Tables *tables)
{
    MDB_txn *txn = NULL;
    MDB_dbi dbi = 0;
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = host_table_open(&tables->hosts, txn);
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    if (rc == RESULT_OK && mdb_dbi_open(txn, "schedule", 0, &dbi) == MDB_SUCCESS) {
        rc = schedule_open(&tables->schedule, txn, NULL);
    }
    if (rc == RESULT_OK) {
        rc = revisit_table_open(&tables->revisits, txn, false);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    /* Handles stay open when the transaction that opened them is committed. */
    return page_db_txn_commit(db, txn) == page_db_error_ok ? rc : RESULT_IO;
}

static void close_tables(Tables *tables)
{
    host_table_close(tables->hosts);
    schedule_close(tables->schedule);
    revisit_table_close(tables->revisits);
}

/* The configuration that the crawl was last started with. false: there is none. */
static bool read_config(Config *config, const char *directory)
{
    Buffer path;
    Buffer error;
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    bool is_there = buffer_printf(&path, "%s/config.ini", directory) == RESULT_OK &&
                    options_load(&config->options, buffer_string(&path), &error) == RESULT_OK;
    if (!is_there) {
        (void)fprintf(stderr, "ragno why: the rules are not judged: %s\n",
                      error.length == 0 ? "there is no config.ini" : buffer_string(&error));
    }
    buffer_destroy(&path);
    buffer_destroy(&error);
    return is_there;
}

/* Asks the crawl that runs there, if one does, whether it is fetching the URL right now. Without an
 * answer it is not. */
static bool note_line(void *context, const char *line)
{
    (void)line;
    *(bool *)context = true;
    return true;
}

static bool is_in_flight(void *directory, const char *url)
{
    char word[] = "flights";
    char *copy = strdup(url);
    char *words[] = {word, copy};
    ControlLink *link = NULL;
    Buffer error;
    bool found = false;
    buffer_init(&error, 4096);
    if (copy != NULL && control_link_open(&link, directory, &error) == RESULT_OK) {
        (void)control_link_ask(link, words, 2, note_line, &found, ANSWER_MS, NULL, &error);
    }
    control_link_close(link);
    buffer_destroy(&error);
    free(copy);
    return found;
}

static int print(const Why *why, bool json, WallTime now)
{
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    if (json) {
        JsonWriter writer;
        json_init(&writer, &out);
        why_json(why, now, &writer);
        rc = writer.result == RESULT_OK ? buffer_append_char(&out, '\n') : writer.result;
    } else {
        rc = why_text(why, now, &out);
    }
    bool written =
        fwrite(buffer_string(&out), 1, out.length, stdout) == out.length && fflush(stdout) == 0;
    buffer_destroy(&out);
    if (rc != RESULT_OK || !written) {
        (void)fprintf(stderr, "ragno why: %s\n",
                      written ? result_name(rc) : "standard output cannot be written");
        return written ? EXIT_INTERNAL : EXIT_IO;
    }
    return why->state == WHY_UNKNOWN ? EXIT_NEGATIVE : 0;
}

static int run(const char *directory, const char *url, bool json, PageDB *db)
{
    Why why;
    Config config = {.crawl_contact = NULL};
    Tables tables = {.hosts = NULL};
    Buffer error;
    int status = 0;
    char *name = strdup(directory);
    buffer_init(&error, 4096);
    Result rc = name == NULL ? RESULT_MEMORY : config_init(&config);
    bool has_config = rc == RESULT_OK && read_config(&config, directory);
    rc = rc == RESULT_OK ? open_tables(db, &tables) : rc;
    if (rc == RESULT_OK) {
        const WallTime now = wall_now();
        WhySources sources = {.directory = directory,
                              .db = db,
                              .hosts = tables.hosts,
                              .schedule = tables.schedule,
                              .revisits = tables.revisits,
                              .config = has_config ? &config : NULL,
                              .is_running = crawl_store_owner(directory) != 0,
                              .is_in_flight = is_in_flight,
                              .context = name,
                              .now = now};
        rc = why_find(&why, &sources, url, &error);
        status = rc == RESULT_OK ? print(&why, json, now) : 0;
        why_destroy(&why);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno why: %s\n",
                      error.length == 0 ? result_name(rc) : buffer_string(&error));
        status = rc == RESULT_INVALID   ? EXIT_USAGE
                 : rc == RESULT_DAMAGED ? EXIT_DIRECTORY
                 : rc == RESULT_IO      ? EXIT_IO
                                        : EXIT_INTERNAL;
    }
    close_tables(&tables);
    config_destroy(&config);
    buffer_destroy(&error);
    free(name);
    return status;
}

int why_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool json = false;
    PageDB *db = NULL;
    optind = 0;
    for (int o = 0; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h') {
            return usage(stdout);
        }
        if (o != 'j') {
            return usage(stderr);
        }
        json = true;
    }
    if (argc - optind != 2) {
        return usage(stderr);
    }
    int status = crawl_open("why", argv[optind], true, &db);
    if (status == 0) {
        status = run(argv[optind], argv[optind + 1], json, db);
        (void)page_db_delete(db);
    }
    return status;
}
