#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory/buffer.h"
#include "crawl/input_file.h"
#include "command/check/check_commands.h"
#include "parse/sitemap/sitemap.h"

/* Prints a field without what would break the line. */
static void print_field(const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        (void)putchar(c < 0x20 || c == 0x7F ? ' ' : c);
    }
}

/* A SitemapSink: one line per entry, hints only where there are any. */
static bool print_entry(void *context, const SitemapEntry *entry)
{
    (void)context;
    bool has_hints = entry->lastmod[0] != '\0' || entry->changefreq != SITEMAP_FREQUENCY_NONE ||
                     entry->priority >= 0.0;
    bool is_clean = strncasecmp(entry->loc, "http", 4) == 0 &&
                    strcspn(entry->loc, "\t\r\n") == entry->loc_length;
    print_field(is_clean ? entry->loc : entry->url->href);
    if (has_hints) {
        (void)putchar('\t');
        print_field(entry->lastmod);
        (void)printf("\t%s\t", sitemap_frequency_name(entry->changefreq));
        if (entry->priority >= 0.0) {
            (void)printf("%g", entry->priority);
        }
    }
    (void)putchar('\n');
    return true;
}

int check_sitemap(int argc, char **argv)
{
    const char *path = NULL;
    const char *url = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--url") == 0 && i + 1 < argc) {
            url = argv[++i];
        } else if (path == NULL) {
            path = argv[i];
        } else {
            path = NULL;
            break;
        }
    }
    if (path == NULL || url == NULL) {
        (void)fprintf(stderr, "usage: ragno check sitemap FILE --url URL\n");
        return 2;
    }
    Buffer body;
    int status = input_file_read(path, &body);
    if (status != 0) {
        return status;
    }
    SitemapParser *parser = NULL;
    SitemapReport report = {.kind = SITEMAP_UNKNOWN};
    Result rc = sitemap_parser_new(&parser, &SITEMAP_OPTIONS_DEFAULT);
    if (rc == RESULT_OK) {
        SitemapInput input = {.body = buffer_string(&body),
                              .length = body.length,
                              .url = url,
                              .url_length = strlen(url)};
        rc = sitemap_parse(parser, &input, print_entry, NULL, &report);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno check sitemap: %s: %s\n", path, result_name(rc));
    }
    if (report.is_broken || report.n_rejected > 0) {
        (void)fprintf(stderr, "ragno check sitemap: %s: %llu rejected%s\n", path,
                      (unsigned long long)report.n_rejected,
                      report.is_broken ? ", the file is broken" : "");
    }
    sitemap_parser_delete(parser);
    buffer_destroy(&body);
    return rc == RESULT_OK ? 0 : rc == RESULT_MEMORY ? 3 : 1;
}
