#include "command/ctl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>

#include "crawl/desk/desk.h"
#include "crawl/command_line.h"

#define ANSWER_MS 600000 /* for one line; a checkpoint of a large crawl takes its time */

static int ctl_usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno ctl DIR WORD [ARGUMENT]...\n"
                       "Steers the crawl that runs in DIR. Its words:\n");
    desk_print_words(out);
    (void)fprintf(out, "status --json and --follow are understood, too.\n"
                       "Exit: 0 done, 1 the crawl cannot do it, 2 it does not understand,\n"
                       "3 no crawl runs there (deny and allow need none).\n");
    return out == stdout ? EXIT_FINISHED : EXIT_USAGE;
}

static bool ctl_print_line(void *context, const char *line)
{
    (void)context;
    (void)puts(line);
    (void)fflush(stdout);
    return ferror(stdout) == 0; /* nobody reads it any more */
}

/* Changes the list as it stands in the directory, whose lock is held. */
static Result ctl_change_denials(const char *directory, const char *rule, bool denies, Buffer *note,
                                 Buffer *error)
{
    DenialList list = {.n = 0};
    char time[CLOCK_TEXT_BYTES];
    char who[CLOCK_TEXT_BYTES + 32];
    (void)snprintf(who, sizeof who, "%s uid=%u", wall_format_iso(wall_now(), time),
                   (unsigned)getuid());
    Result rc = denial_list_read(&list, directory, error);
    if (rc == RESULT_OK) {
        rc = denies ? denial_list_add(&list, rule, who) : denial_list_remove(&list, rule);
    }
    if (rc == RESULT_OK) {
        rc = denial_list_write(&list, directory, error);
    }
    denial_list_destroy(&list);
    if (rc == RESULT_OK || rc == RESULT_EXISTS) {
        (void)buffer_printf(note, "'%s' is denied%s when the crawl goes on", rule,
                            denies ? "" : " no more");
        return RESULT_OK;
    }
    if (rc == RESULT_NOT_FOUND) {
        (void)buffer_printf(error, "there is no denial '%s' (denied.txt lists them)", rule);
        return RESULT_LIMIT;
    }
    return rc;
}

/* A crawl that has ended by its denials could not be helped otherwise: deny and allow change the
 * file that the next start reads. RESULT_NOT_FOUND: any other word, which needs a crawl. */
static Result ctl_without_crawl(const char *directory, char *const *words, size_t n, Buffer *note,
                                Buffer *error)
{
    CrawlStore store;
    Buffer rule = {.limit = BUFFER_NO_LIMIT};
    bool denies = strcmp(words[0], "deny") == 0;
    if (n != 2 || (!denies && strcmp(words[0], "allow") != 0) || !crawl_store_exists(directory)) {
        return RESULT_NOT_FOUND;
    }
    buffer_reset(error);
    Result rc = denials_normalise(words[1], &rule, error);
    if (rc == RESULT_OK) {
        rc = crawl_store_lock(&store, directory, false, error);
        if (rc == RESULT_OK) {
            rc = ctl_change_denials(directory, buffer_string(&rule), denies, note, error);
        }
        crawl_store_close(&store);
    }
    buffer_destroy(&rule);
    return rc;
}

static bool follows(char *const *words, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], "follow") == 0) {
            return true;
        }
    }
    return false;
}

int ctl_main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return ctl_usage(stdout);
    }
    if (argc < 3 || argv[1][0] == '-') {
        return ctl_usage(stderr);
    }
    ControlLink *link = NULL;
    Buffer note = {.limit = BUFFER_NO_LIMIT};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    char **words = argv + 2;
    size_t n = (size_t)argc - 2;
    /* Options are words of the crawl without their dashes: --json, --follow. */
    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], "--json") == 0 || strcmp(words[i], "--follow") == 0) {
            words[i] += 2;
        }
    }
    Result rc = control_link_open(&link, argv[1], &error);
    if (rc == RESULT_NOT_FOUND) {
        rc = ctl_without_crawl(argv[1], words, n, &note, &error);
    } else if (rc == RESULT_OK) {
        rc = control_link_ask(link, words, n, ctl_print_line, NULL,
                              follows(words, n) ? -1 : ANSWER_MS, &note, &error);
    }
    if (rc == RESULT_CLOSED && ferror(stdout)) {
        rc = RESULT_OK; /* `ragno ctl DIR status --follow | head` */
    } else if (rc == RESULT_OK && note.length > 0) {
        (void)fprintf(stderr, "ragno ctl: %s\n", buffer_string(&note));
    }
    control_link_close(link);
    buffer_destroy(&note);
    int status = exit_status_tell("ctl", rc, &error);
    if (rc == RESULT_LIMIT) {
        return EXIT_NEGATIVE;
    }
    return rc == RESULT_OK || rc == RESULT_INVALID ? status : EXIT_IO;
}

/* ---- status command ---- */

#define STATUS_LIMIT 65536u
#define STATUS_MS    2000 /* a crawl that hangs has a file at least */

/* As the crawl itself tells it now; when none runs, or none answers, as it was told last. */
static int read_status(const char *directory, Buffer *out)
{
    char *words[] = {(char[]){"status"}, (char[]){"json"}};
    Buffer error = {.limit = STATUS_LIMIT};
    ControlLink *link = NULL;
    Path path;
    Result rc = control_link_call(&link, directory, words, 2, out, STATUS_MS, NULL, &error);
    control_link_close(link);
    buffer_destroy(&error);
    if (rc == RESULT_OK && out->length > 0) {
        return 0;
    }
    buffer_reset(out);
    if (file_read(file_path(&path, "%s/status.json", directory), out) != RESULT_OK) {
        (void)fprintf(stderr, "ragno status: %s holds no crawl that ran: %s: %s\n", directory,
                      path.text, strerror(errno));
        return EXIT_IO;
    }
    return out->length > 0 && out->data[0] == '{' ? 0 : EXIT_DIRECTORY;
}

/* Our own JSON is flat: `"name": value` separated by ", ". */
static void print_fields(char *text, long owner)
{
    char *save = NULL;
    for (char *field = strtok_r(text, "{},\n", &save); field != NULL;
         field = strtok_r(NULL, "{},\n", &save)) {
        char *name = strchr(field, '"');
        char *end = name == NULL ? NULL : strchr(name + 1, '"');
        if (end == NULL || end[1] != ':') {
            continue;
        }
        *end = '\0';
        char *value = end + 2 + strspn(end + 2, " \"");
        value[strcspn(value, "\"")] = '\0';
        if (strcmp(name + 1, "state") == 0 && owner == 0 &&
            (strcmp(value, "running") == 0 || strcmp(value, "paused") == 0)) {
            (void)printf("%-16s not running (it ended without saying so; start it to resume)\n",
                         "state");
        } else {
            (void)printf("%-16s %s\n", name + 1, value);
        }
    }
}

int status_main(int argc, char **argv)
{
    bool json = false;
    const CommandOption rows[] = {{"json", 0, COMMAND_FLAG, .to = &json}};
    CommandLine line = {
        .command = "status",
        .usage = "usage: ragno status DIR [--json]\n"
                 "       ragno status nats://HOST:PORT/NAME [--credentials FILE] [--json]\n"
                 "The status of a running crawl, or the last one of a crawl that has stopped.\n",
        .options = rows,
        .n_options = 1,
        .words_most = 1};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? EXIT_FINISHED : status;
    }
    const char *directory = line.n_words > 0 ? line.words[0] : "crawl";
    Buffer text = {.limit = STATUS_LIMIT};
    status = read_status(directory, &text);
    if (status == EXIT_DIRECTORY) {
        (void)fprintf(stderr, "ragno status: %s/status.json is damaged\n", directory);
    } else if (status == 0 && json) {
        (void)fputs(buffer_string(&text), stdout);
    } else if (status == 0) {
        print_fields(text.data, crawl_store_owner(directory));
    }
    buffer_destroy(&text);
    return status;
}
