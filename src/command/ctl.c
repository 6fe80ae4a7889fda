#include "command/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/control/control_link.h"
#include "crawl/desk/desk.h"
#include "crawl/exit_status.h"

#define ANSWER_MS 600000 /* for one line; a checkpoint of a large crawl takes its time */

static int ctl_usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno ctl DIR WORD [ARGUMENT]...\n"
                       "Steers the crawl that runs in DIR. Its words:\n");
    desk_print_words(out);
    (void)fprintf(out, "status --json and --follow are understood, too.\n"
                       "Exit: 0 done, 1 the crawl cannot do it, 2 it does not understand,\n"
                       "3 no crawl runs there.\n");
    return out == stdout ? EXIT_FINISHED : EXIT_USAGE;
}

static bool ctl_print_line(void *context, const char *line)
{
    (void)context;
    (void)puts(line);
    (void)fflush(stdout);
    return ferror(stdout) == 0; /* nobody reads it any more */
}

static int ctl_exit_status(Result rc)
{
    return rc == RESULT_OK        ? EXIT_FINISHED
           : rc == RESULT_LIMIT   ? EXIT_NEGATIVE
           : rc == RESULT_INVALID ? EXIT_USAGE
                                  : EXIT_IO;
}

/* Options are words of the crawl without their dashes: --json, --follow. */
static void strip_dashes(char **words, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], "--json") == 0 || strcmp(words[i], "--follow") == 0) {
            words[i] += 2;
        }
    }
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
    Buffer note;
    Buffer error;
    char **words = argv + 2;
    size_t n = (size_t)argc - 2;
    buffer_init(&note, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    strip_dashes(words, n);
    Result rc = control_link_open(&link, argv[1], &error);
    if (rc == RESULT_OK) {
        rc = control_link_ask(link, words, n, ctl_print_line, NULL,
                              follows(words, n) ? -1 : ANSWER_MS, &note, &error);
    }
    if (rc == RESULT_CLOSED && ferror(stdout)) {
        rc = RESULT_OK; /* `ragno ctl DIR status --follow | head` */
    } else if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno ctl: %s\n",
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    } else if (note.length > 0) {
        (void)fprintf(stderr, "ragno ctl: %s\n", buffer_string(&note));
    }
    control_link_close(link);
    buffer_destroy(&note);
    buffer_destroy(&error);
    return ctl_exit_status(rc);
}
