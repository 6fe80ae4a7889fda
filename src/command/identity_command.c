#include "command/identity_command.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/embed.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"
#include "fetch/identity/message_signature.h"
#include "report/write/report_html.h"

EMBED(identity_usage, "src/command/identity_command.txt");

static int identity_command_complain(const char *path, const Buffer *error, Result rc)
{
    (void)fprintf(stderr, "ragno identity: %s: %s\n", path,
                  error->length > 0 ? buffer_string(error) : result_name(rc));
    return rc == RESULT_INVALID ? EXIT_USAGE : EXIT_IO;
}

static void identity_command_tell(const char *path, const SigningKey *key)
{
    printf(
        "keyid      %s\n"
        "public     %s\n"
        "configure  [crawl]\n"
        "           signature_key = %s\n"
        "           signature_agent = https://YOUR.SITE\n"
        "publish    the output of: ragno identity directory %s\n"
        "           at             https://YOUR.SITE" KEY_DIRECTORY_PATH "\n"
        "           as             Content-Type: " KEY_DIRECTORY_TYPE "\n"
        "addresses  the output of: ragno identity addresses ADDRESS...\n"
        "           on the page that crawl.contact names; and in the DNS a name below YOUR.SITE\n"
        "           for each address (PTR), which leads back to the address (A, AAAA)\n",
        signing_key_id(key), signing_key_public(key), path, path);
}

/* Shows the key of a file; a new one is written to it before. */
static int identity_command_key(const char *path, bool is_new)
{
    SigningKey *key = NULL;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = is_new ? signing_key_generate(&key) : signing_key_read(&key, path, &error);
    if (rc == RESULT_OK && is_new) {
        rc = signing_key_write(key, path, &error);
    }
    int status = rc == RESULT_OK ? 0 : identity_command_complain(path, &error, rc);
    if (rc == RESULT_OK) {
        identity_command_tell(path, key);
    }
    signing_key_delete(key);
    buffer_destroy(&error);
    return status;
}

static int print_addresses(int n, char **addresses)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    Result rc = key_directory_write_addresses((const char *const *)addresses, (size_t)n, wall_now(),
                                              &out, &error);
    if (rc == RESULT_OK) {
        (void)fputs(buffer_string(&out), stdout);
    }
    buffer_destroy(&out);
    return exit_status_tell("identity", rc, &error) == 0 ? 0 : EXIT_USAGE;
}

/* ---- the page about the crawler ---- */

typedef struct IdentityPage {
    CheckOptions options;
    const char *purpose; /* what the data is for; NULL: it is not said */
    const char *ranges;  /* where the output of `identity addresses` is published; NULL: nowhere */
    Config config;
    Buffer agent;  /* of its requests */
    Buffer usages; /* a purpose, when there is no other */
} IdentityPage;

/* Text of the configuration between two literals. */
static void identity_page_put(Buffer *out, const char *before, const char *text, const char *after)
{
    (void)buffer_append_string(out, before);
    (void)html_append(out, text);
    (void)buffer_append_string(out, after);
}

static const char *identity_rendering(const Config *config)
{
    return config->render_mode == RENDER_MODE_OFF
               ? "Pages are not rendered: none of their scripts is run."
               : "Some pages are rendered. Their scripts have no network: what they need is asked "
                 "for as pages are, with GET, the same delays and robots.txt.";
}

/* What the recommendations for crawlers ask such a page for (docs/manners.md). */
static Result identity_page_write(const IdentityPage *page, Buffer *out)
{
    const Config *config = &page->config;
    identity_page_put(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>",
                      config->robots_agent, "</title>\n");
    if (page->ranges != NULL) {
        identity_page_put(out, "<link rel=\"client-ranges\" href=\"", page->ranges, "\">\n");
    }
    identity_page_put(out, "<h1>", config->robots_agent, ", a web crawler</h1>\n");
    identity_page_put(out, "<p>Its requests say <code>User-Agent: ", buffer_string(&page->agent),
                      "</code>.\n");
    identity_page_put(out, "<h2>What the pages are used for</h2>\n<p>", page->purpose, "\n");
    identity_page_put(out, "<h2>Rendering</h2>\n<p>", identity_rendering(config), "\n");
    (void)buffer_printf(
        out,
        "<h2>How often</h2>\n<p>One request after the other, %.3g s or more after the "
        "last answer. Crawl-delay, Request-rate and Visit-time of robots.txt, "
        "Retry-After and Cache-Control are kept.\n",
        (double)config->politeness_host_delay / 1e3);
    identity_page_put(
        out,
        "<h2>How to keep it out</h2>\n<p>In robots.txt, which is read again after a day "
        "at the latest:\n<pre>User-agent: ",
        config->robots_agent, "\nDisallow: /</pre>\n");
    identity_page_put(out,
                      "<p>For some uses only: Content-Usage, Content-Signal, TDMRep, RSL, noai. "
                      "<code>ragno check robots FILE ",
                      config->robots_agent,
                      " URL</code> tells what a robots.txt says of a page, and of its use.\n");
    identity_page_put(out, "<h2>Contact</h2>\n<p>", config->crawl_contact, "\n");
    if (page->ranges != NULL) {
        identity_page_put(out, "<p><a rel=\"client-ranges\" href=\"", page->ranges,
                          "\">Its addresses</a>\n");
    }
    return buffer_end(out, 0);
}

#define KEYS_MOST 16

static int identity_page_tell(const IdentityPage *page, Buffer *out)
{
    if (page->purpose == NULL || *page->config.crawl_contact == '\0') {
        (void)fputs("ragno identity page: it needs --purpose or crawl.usages, and crawl.contact\n",
                    stderr);
        return EXIT_USAGE;
    }
    return identity_page_write(page, out) == RESULT_OK ? 0 : EXIT_INTERNAL;
}

static int identity_directory_tell(const IdentityPage *page, int n, char **paths, Buffer *out)
{
    SigningKey *keys[KEYS_MOST] = {NULL};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    const Config *config = &page->config;
    char *own = config->crawl_signature_key;
    KeyDirectoryCard card = {.agent = config->robots_agent,
                             .contact = config->crawl_contact,
                             .user_agent = buffer_string(&page->agent),
                             .purpose = page->purpose,
                             .rendering = identity_rendering(config),
                             .ranges = page->ranges};
    int status = 0;
    if (n == 0 && *own != '\0') {
        n = 1;
        paths = &own;
    }
    if (n == 0 || n > KEYS_MOST || (page->purpose != NULL && *config->crawl_contact == '\0')) {
        (void)fprintf(stderr,
                      "ragno identity directory: it needs 1 to %d keys, and with a purpose "
                      "crawl.contact\n",
                      KEYS_MOST);
        return EXIT_USAGE;
    }
    for (int i = 0; i < n && status == 0; i++) {
        Result rc = signing_key_read(&keys[i], paths[i], &error);
        status = rc == RESULT_OK ? 0 : identity_command_complain(paths[i], &error, rc);
    }
    if (status == 0 &&
        key_directory_write((const SigningKey *const *)keys, (size_t)n,
                            page->purpose == NULL ? NULL : &card, out) != RESULT_OK) {
        status = EXIT_INTERNAL;
    }
    for (int i = 0; i < n; i++) {
        signing_key_delete(keys[i]);
    }
    buffer_destroy(&error);
    return status;
}

/* `identity page` and `identity directory`, which read the configuration. */
static int identity_page_main(int argc, char **argv)
{
    bool is_page = strcmp(argv[0], "page") == 0;
    IdentityPage page = {.agent = {.limit = 4096}, .usages = {.limit = 256}};
    const CommandOption rows[] = {{"purpose", 0, COMMAND_TEXT, .to = &page.purpose},
                                  {"ranges", 0, COMMAND_TEXT, .to = &page.ranges},
                                  CHECK_OPTIONS_ROWS(&page.options)};
    CommandLine line = {is_page ? "identity page" : "identity directory", identity_usage,
                        COMMAND_ROWS(rows), .words_most = is_page ? 0 : argc};
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    status = check_options_load(&page.options, &page.config);
    if (status == 0 && config_user_agent(&page.config, &page.agent) != RESULT_OK) {
        status = EXIT_INTERNAL;
    }
    if (page.purpose == NULL && config_usages(&page.config) != 0 &&
        usage_print(config_usages(&page.config), &page.usages) == RESULT_OK) {
        page.purpose = buffer_string(&page.usages);
    }
    if (status == 0) {
        status = is_page ? identity_page_tell(&page, &out)
                         : identity_directory_tell(&page, line.n_words, line.words, &out);
    }
    (void)fputs(status == 0 ? buffer_string(&out) : "", stdout);
    buffer_destroy(&out);
    buffer_destroy(&page.agent);
    buffer_destroy(&page.usages);
    config_destroy(&page.config);
    return status;
}

int identity_main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        (void)fputs(identity_usage, stdout);
        return 0;
    }
    if (argc == 3 && strcmp(word, "new") == 0) {
        return identity_command_key(argv[2], true);
    }
    if (argc == 3 && strcmp(word, "show") == 0) {
        return identity_command_key(argv[2], false);
    }
    if (argc > 2 && strcmp(word, "addresses") == 0) {
        return print_addresses(argc - 2, argv + 2);
    }
    if (strcmp(word, "page") == 0 || strcmp(word, "directory") == 0) {
        return identity_page_main(argc - 1, argv + 1);
    }
    (void)fputs(identity_usage, stderr);
    return EXIT_USAGE;
}
