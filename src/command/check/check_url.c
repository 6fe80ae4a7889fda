#include "command/check/check_commands.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "parse/url/url.h"

/* A base with another scheme than http(s) is of no use to a relative reference, but does not stand
 * in the way of an absolute one. */
static bool has_other_scheme(const char *base)
{
    size_t n = strcspn(base, ":/?#\\");
    return n > 0 && base[n] == ':' && !(n == 4 && strncasecmp(base, "http", n) == 0) &&
           !(n == 5 && strncasecmp(base, "https", n) == 0);
}

int check_url(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: ragno check url BASE HREF\n");
        return 2;
    }
    Url base;
    Url url;
    url_init(&base);
    url_init(&url);
    Result rc = RESULT_OK;
    bool has_base = argv[1][0] != '\0' && !has_other_scheme(argv[1]);
    if (has_base) {
        rc = url_parse(&base, NULL, argv[1], strlen(argv[1]));
    }
    if (rc == RESULT_OK) {
        rc = url_parse(&url, has_base ? &base : NULL, argv[2], strlen(argv[2]));
    }
    if (rc == RESULT_OK) {
        (void)printf("%s\n", url.href);
    }
    url_destroy(&base);
    url_destroy(&url);
    return rc == RESULT_OK ? 0 : 1;
}
