#include "command/check/check_page.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "crawl/input_file.h"

#define LINK_TEXT       ((size_t)200)
#define PAGE_LINKS      ((size_t)1 << 24)
#define PAGE_LINK_BYTES ((size_t)1 << 20)
#define PAGE_MEMORY     ((size_t)4 << 30)

static int check_page_read_arguments(CheckPage *check, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i] == NULL ? "" : argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--base") == 0 && next != NULL) {
            check->base = next;
            i++;
        } else if (strcmp(word, "--content-type") == 0 && next != NULL) {
            check->content_type = next;
            i++;
        } else if (strcmp(word, "--text") == 0) {
            check->link_text = LINK_TEXT;
        } else if (strcmp(word, "--embeds") == 0) {
            check->styles = true;
        } else if (strcmp(word, "--front-end") == 0 && next != NULL &&
                   (strcmp(next, "skim") == 0 || strcmp(next, "libxml2") == 0)) {
            check->use_libxml2 = strcmp(next, "libxml2") == 0;
            i++;
        } else if (check->file == NULL && (word[0] != '-' || word[1] == '\0')) {
            check->file = word;
        } else {
            return 2;
        }
    }
    return check->file == NULL || check->base == NULL ? 2 : 0;
}

int check_page_open(CheckPage *check, int argc, char **argv, const char *usage)
{
    buffer_init(&check->body, 0);
    if (check_page_read_arguments(check, argc, argv) != 0) {
        (void)fprintf(stderr, "usage: ragno check %s\n", usage);
        return 2;
    }
    int status = input_file_read(check->file, &check->body);
    if (status != 0) {
        return status;
    }
    HtmlOptions options = {.max_links = PAGE_LINKS,
                           .max_link_bytes = PAGE_LINK_BYTES,
                           .forms = true,
                           .robots_agent = "ragno",
                           .memory_bytes = PAGE_MEMORY,
                           .use_libxml2 = check->use_libxml2,
                           .styles = check->styles,
                           .link_text = check->link_text,
                           .digest_any_host = false};
    Result rc = html_parser_new(&check->parser, &options);
    if (rc == RESULT_OK) {
        HtmlInput input = {.body = buffer_string(&check->body),
                           .length = check->body.length,
                           .content_type = check->content_type,
                           .url = check->base,
                           .url_length = strlen(check->base)};
        bool is_sheet =
            check->content_type != NULL && strncasecmp(check->content_type, "text/css", 8) == 0;
        rc = is_sheet ? html_parse_sheet(check->parser, &input, &check->page)
                      : html_parse(check->parser, &input, &check->page);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno check: %s: %s\n",
                      rc == RESULT_INVALID ? check->base : check->file,
                      rc == RESULT_INVALID ? "no http URL" : result_name(rc));
    }
    return rc == RESULT_OK ? 0 : 1;
}

void check_page_close(CheckPage *check)
{
    html_parser_delete(check->parser);
    buffer_destroy(&check->body);
}
