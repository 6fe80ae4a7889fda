#include <stdio.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "crawl/input_file.h"
#include "command/check/check_commands.h"
#include "parse/robots/robots.h"

/* Path and query of a URL as written (not normalised), or the word itself when it has no authority.
 */
static const char *path_of(const char *url, size_t *length)
{
    const char *path = url;
    const char *authority = strstr(url, "//");
    /* "//" counts where an authority may stand: at the start or behind the scheme's colon. */
    if (authority != NULL && (authority == url || authority[-1] == ':') &&
        strcspn(url, "/?#") >= (size_t)(authority - url)) {
        path = authority + 2 + strcspn(authority + 2, "/?#");
    }
    *length = strcspn(path, "#");
    return path;
}

int check_robots(int argc, char **argv)
{
    if (argc != 4) {
        (void)fprintf(stderr, "usage: ragno check robots FILE AGENT URL\n");
        return 2;
    }
    Buffer body;
    Buffer path;
    Robots *robots = NULL;
    buffer_init(&path, BUFFER_NO_LIMIT);
    int status = input_file_read(argv[1], &body);
    if (status != 0) {
        return status;
    }
    size_t length = 0;
    const char *rest = path_of(argv[3], &length);
    Result rc = RESULT_OK;
    if (length == 0 || *rest != '/') {
        rc = buffer_append_char(&path, '/'); /* "http://host?query" */
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(&path, rest, length);
    }
    if (rc == RESULT_OK) {
        rc = robots_parse(body.data, body.length, argv[2], &robots);
    }
    if (rc == RESULT_OK) {
        RobotsVerdict verdict;
        bool allowed = robots_allows(robots, path.data, path.length, &verdict);
        (void)printf("%s\t", allowed ? "allow" : "deny");
        if (verdict.line == 0) {
            (void)printf("no rule\n");
        } else {
            (void)printf("line %u: %s\n", verdict.line, verdict.rule);
        }
        if (verdict.undecided) {
            (void)fprintf(stderr, "ragno check robots: the rules are too expensive to evaluate; a "
                                  "URL that they leave undecided is forbidden\n");
        }
    } else {
        (void)fprintf(stderr, "ragno check robots: %s\n", result_name(rc));
        status = 3;
    }
    robots_delete(robots);
    buffer_destroy(&path);
    buffer_destroy(&body);
    return status;
}
