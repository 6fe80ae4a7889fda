#include "command/status_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/cluster/cluster_command.h"
#include "crawl/command_line.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "base/memory/file.h"

#define STATUS_LIMIT 65536u

static int read_status(const char *directory, Buffer *out)
{
    Path path;
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
    CommandLine line = {.command = "status",
                        .usage = "usage: ragno status DIR [--json]\n"
                                 "       ragno status nats://HOST:PORT/NAME [--credentials FILE]\n"
                                 "The last status of a running or stopped crawl.\n",
                        .options = rows,
                        .n_options = 1,
                        .words_most = 1};
    if (argc > 1 && (strncmp(argv[1], "nats://", 7) == 0 || strncmp(argv[1], "tls://", 6) == 0)) {
        return cluster_status_main(argc, argv);
    }
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? EXIT_FINISHED : status;
    }
    const char *directory = line.n_words > 0 ? line.words[0] : "crawl";
    Buffer text;
    buffer_init(&text, STATUS_LIMIT);
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
