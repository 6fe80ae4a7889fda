#include "command/check/check_commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "crawl/input_file.h"
#include "parse/visible/visible.h"

#define USAGE "text FILE [--base URL] [--content-type T] [--main | --facts]"

typedef struct CheckText {
    const char *file;
    const char *base;
    const char *content_type;
    bool facts;
    bool main_text;
} CheckText;

static bool check_text_read_arguments(CheckText *check, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool has_next = i + 1 < argc;
        if (strcmp(word, "--base") == 0 && has_next) {
            check->base = argv[++i];
        } else if (strcmp(word, "--content-type") == 0 && has_next) {
            check->content_type = argv[++i];
        } else if (strcmp(word, "--main") == 0) {
            check->main_text = true;
        } else if (strcmp(word, "--facts") == 0) {
            check->facts = true;
        } else if (check->file == NULL && (word[0] != '-' || word[1] == '\0')) {
            check->file = word;
        } else {
            return false;
        }
    }
    return check->file != NULL;
}

static void print_fact(const char *name, const char *value)
{
    if (value != NULL) {
        (void)printf("%s\t%s\n", name, value);
    }
}

/* One line per fact; line feeds and tabs within a heading are blanks. */
static void print_facts(const VisibleReader *reader, const VisiblePage *page)
{
    print_fact("encoding", page->encoding);
    print_fact("title", page->title);
    print_fact("description", page->description);
    print_fact("canonical", page->canonical);
    print_fact("language", page->language);
    for (size_t i = 0; i < page->n_headings; i++) {
        VisibleHeading heading = visible_heading(reader, i);
        (void)printf("h%u\t", heading.level);
        for (size_t k = 0; k < heading.length; k++) {
            char c = heading.text[k];
            (void)putchar(c == '\n' || c == '\t' ? ' ' : c);
        }
        (void)putchar('\n');
    }
}

/* Prints the visible text of a page, or with --facts what the page says of itself. */
int check_text(int argc, char **argv)
{
    CheckText check = {.file = NULL};
    Buffer body;
    if (!check_text_read_arguments(&check, argc, argv)) {
        (void)fprintf(stderr, "usage: ragno check %s\n", USAGE);
        return 2;
    }
    int status = input_file_read(check.file, &body);
    if (status != 0) {
        return status;
    }
    VisibleReader *reader = NULL;
    VisibleOptions options = {.memory_bytes = (size_t)1 << 30, .main_text = check.main_text};
    Result rc = visible_reader_new(&reader, &options);
    if (rc == RESULT_OK) {
        VisibleInput input = {.body = buffer_string(&body),
                              .length = body.length,
                              .content_type = check.content_type,
                              .url = check.base,
                              .url_length = check.base == NULL ? 0 : strlen(check.base)};
        VisiblePage page;
        rc = visible_read(reader, &input, &page);
        if (check.facts) {
            print_facts(reader, &page);
        } else {
            (void)fwrite(check.main_text ? page.main_text : page.text, 1,
                         check.main_text ? page.main_length : page.length, stdout);
            (void)putchar('\n');
        }
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno check: %s: %s\n", check.file, result_name(rc));
    }
    visible_reader_delete(reader);
    buffer_destroy(&body);
    return rc == RESULT_OK ? 0 : 1;
}
