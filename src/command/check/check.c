#include "command/check/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/ascii.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"
#include "crawl/fault.h"
#include "crawl/input_file.h"
#include "crawl/parts/network_parts.h"
#include "page/crawl_log_notes.h"

static int check_misuse(const char *usage)
{
    (void)fputs(usage, stderr);
    return EXIT_USAGE;
}

/* The options and the file of the commands that look at one file. Each takes those options that its
 * usage names, and needs a URL that its usage has without brackets. */

typedef struct CheckFile {
    const char *file;
    char **words;             /* behind it */
    const char *url;          /* the document's: --base, or --url */
    const char *content_type; /* or NULL */
    bool link_text;
    bool styles;
    int front_end; /* 0: skim, 1: libxml2 */
    bool facts;
    bool main_text;
    bool markdown;
    bool no_styles;
    Buffer body;
    HtmlParser *parser; /* of check_file_parse, as the next */
    Page page;
} CheckFile;

/* Far above what a crawl allows: a check shows all that the parser finds, and only a file that
 * would eat the machine is refused. */
#define LINK_TEXT       ((size_t)200)
#define PAGE_LINKS      ((size_t)1 << 24)
#define PAGE_LINK_BYTES ((size_t)1 << 20)
#define PAGE_MEMORY     ((size_t)4 << 30)

/* words: the file and what stands behind it. Prints its own error messages. Returns 0,
 * COMMAND_HELPED or the exit status; check_file_close in any case. */
static int check_file_open(CheckFile *check, const char *usage, int argc, char **argv, int words)
{
    const CommandOption all[] = {
        {"base", 0, COMMAND_TEXT, .to = &check->url},
        {"url", 0, COMMAND_TEXT, .to = &check->url},
        {"content-type", 0, COMMAND_TEXT, .to = &check->content_type},
        {"text", 0, COMMAND_FLAG, .to = &check->link_text},
        {"embeds", 0, COMMAND_FLAG, .to = &check->styles},
        {"front-end", 0, COMMAND_WORD, .to = &check->front_end, .words = "skim|libxml2"},
        {"main", 0, COMMAND_FLAG, .to = &check->main_text},
        {"markdown", 0, COMMAND_FLAG, .to = &check->markdown},
        {"no-styles", 0, COMMAND_FLAG, .to = &check->no_styles},
        {"facts", 0, COMMAND_FLAG, .to = &check->facts}};
    /* Usage is the table of what a command takes: an option that is not in it is refused as
     * unknown. */
    CommandOption own[sizeof all / sizeof *all];
    CommandLine line = {"check", usage, own, .words_least = words, .words_most = words};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "--%s", all[i].name);
        if (strstr(usage, name) != NULL) {
            own[line.n_options++] = all[i];
        }
    }
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status;
    }
    check->file = line.words[0];
    check->words = line.words + 1;
    /* "FILE --" in a usage: the option behind it has no brackets, so it must be given. */
    if (check->url == NULL && strstr(usage, "FILE --") != NULL) {
        return command_line_complain(
            &line, strstr(usage, "--url") != NULL ? "no --url for" : "no --base for", check->file);
    }
    return input_file_read(check->file, &check->body);
}

static void check_file_close(CheckFile *check)
{
    html_parser_delete(check->parser);
    buffer_destroy(&check->body);
}

/* The file as a page, for `ragno check links`, `charset` and `digest`: opens it, too. */
static int check_file_parse(CheckFile *check, const char *usage, int argc, char **argv)
{
    int status = check_file_open(check, usage, argc, argv, 1);
    if (status != 0) {
        return status;
    }
    HtmlOptions options = {.max_links = PAGE_LINKS,
                           .max_link_bytes = PAGE_LINK_BYTES,
                           .forms = true,
                           .robots_agent = "ragno",
                           .memory_bytes = PAGE_MEMORY,
                           .use_libxml2 = check->front_end == 1,
                           .styles = check->styles,
                           .link_text = check->link_text ? LINK_TEXT : 0};
    Result rc = html_parser_new(&check->parser, &options);
    if (rc == RESULT_OK) {
        HtmlInput input = {.body = buffer_string(&check->body),
                           .length = check->body.length,
                           .content_type = check->content_type,
                           .url = check->url,
                           .url_length = strlen(check->url)};
        /* By prefix: parameters such as a charset may follow. */
        bool is_sheet =
            check->content_type != NULL && strncasecmp(check->content_type, "text/css", 8) == 0;
        rc = is_sheet ? html_parse_sheet(check->parser, &input, &check->page)
                      : html_parse(check->parser, &input, &check->page);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno check: %s: %s\n",
                      rc == RESULT_INVALID ? check->url : check->file,
                      rc == RESULT_INVALID ? "no http URL" : result_name(rc));
    }
    return rc == RESULT_OK ? 0 : 1;
}

/* The whole answer, which includes a <meta> behind the prescan's reach: so the page is parsed. */
static int check_charset(const char *usage, int argc, char **argv)
{
    /* Any URL will do: no link of the page is looked at. */
    CheckFile check = {.url = "http://localhost/"};
    int status = check_file_parse(&check, usage, argc, argv);
    if (status == 0) {
        (void)printf("%s\n", check.page.encoding);
    }
    check_file_close(&check);
    return status;
}

static int check_config(const char *usage, int argc, char **argv)
{
    Config config;
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        return check_misuse(usage);
    }
    CheckOptions options = {.file = argc == 2 ? argv[1] : NULL};
    int status = check_options_load(&options, &config);
    if (status == 0) {
        Buffer remark = {.limit = 4096};
        (void)printf("the configuration is valid\n");
        /* A remark and status 0: a file without a contact is a good part of one that has it
         * elsewhere. */
        if (config_check_identity(&config, &remark) != RESULT_OK) {
            (void)fprintf(stderr, "a crawl needs one more thing: %s\n", buffer_string(&remark));
        }
        buffer_destroy(&remark);
    }
    config_destroy(&config);
    return status;
}

static int check_page_digest(const char *usage, int argc, char **argv)
{
    CheckFile check = {.file = NULL};
    int status = check_file_parse(&check, usage, argc, argv);
    if (status == 0) {
        const Page *page = &check.page;
        Hash128 body = hash_128(check.body.data, check.body.length);
        (void)printf("%016" PRIx64 "%016" PRIx64 " %016" PRIx64 "%016" PRIx64 " %016" PRIx64 "\n",
                     page->text_digest[0], page->text_digest[1], body.high, body.low,
                     page->simhash);
    }
    check_file_close(&check);
    return status;
}

/* The resolver's thread hands what it has answered to the command's. */
static void on_answered(void *answers, VisitState *visit_state)
{
    (void)queue_push(answers, visit_state);
}

static Result new_question(VisitState **question, const char *host)
{
    Buffer origin = {.limit = 4096};
    /* A host with a port is a name here, too; an address needs brackets to be told apart from
     * it. */
    bool bare_v6 = strchr(host, ':') != NULL && *host != '[';
    Result rc = buffer_printf(&origin, bare_v6 ? "http://[%s]" : "http://%s", host);
    if (rc == RESULT_OK) {
        rc = visit_state_new(question, 0, origin.data, origin.length);
    }
    buffer_destroy(&origin);
    return rc;
}

/* "HOST<tab>ADDRESS<tab>SECONDS left<tab>milliseconds it took", or what is wrong instead. */
static bool check_dns_print_answer(const VisitState *answer)
{
    char address[IP_ADDRESS_TEXT_BYTES];
    if (answer->address.class != FETCH_OK) {
        (void)printf("%s\t-\t%s\t%lld ms\n", answer->identity.hostname,
                     fetch_class_name(answer->address.class),
                     (long long)answer->address.resolve_ms);
        return false;
    }
    (void)printf("%s\t%s\t%lld s\t%lld ms\n", answer->identity.hostname,
                 ip_address_format(&answer->address.ip, address),
                 (long long)mono_ms_between(mono_now(), answer->address.expiry) / 1000,
                 (long long)answer->address.resolve_ms);
    return true;
}

static int ask_all(Resolver *resolver, Queue *answers, int n, char **hosts)
{
    VisitState **questions = calloc((size_t)n, sizeof(VisitState *));
    int status = questions == NULL ? 1 : 0;
    int waiting = 0;
    for (int i = 0; i < n && questions != NULL; i++) {
        if (new_question(&questions[i], hosts[i]) != RESULT_OK) {
            (void)fprintf(stderr, "ragno check dns: %s: not a host name\n", hosts[i]);
            status = 1;
            continue;
        }
        waiting++;
        resolver_resolve(resolver, questions[i]);
    }
    /* All questions are under way by now, and are answered at once, as in a crawl. A resolver
     * answers each, by its time-out at the latest, so this ends. */
    for (; waiting > 0; waiting--) {
        void *answer = NULL;
        size_t got = 0;
        (void)queue_pop(answers, &answer, 1, &got, MONO_NEVER);
    }
    /* In the order of the words, whichever answer came first. */
    for (int i = 0; i < n && questions != NULL; i++) {
        if (questions[i] != NULL && !check_dns_print_answer(questions[i])) {
            status = 1;
        }
        visit_state_delete(questions[i]);
    }
    free(questions);
    return status;
}

static int check_dns_resolve(const Config *config, int n, char **hosts)
{
    IpPolicy policy = {.loopback_only = false};
    Queue answers;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = ip_ranges_parse(&policy.allowed, config->fetch_allow_addresses, &error);
    buffer_destroy(&error);
    if (rc == RESULT_OK) {
        /* Room for every answer: the resolver's thread never waits for this one. */
        rc = queue_init(&answers, (size_t)n);
    }
    if (rc != RESULT_OK) {
        ip_ranges_destroy(&policy.allowed);
        return 1;
    }
    ResolverOptions options = network_parts_resolver_options(config, &policy);
    Resolver *resolver = NULL;
    int status = 1;
    rc = resolver_new(&resolver, &options, on_answered, &answers);
    if (rc == RESULT_OK) {
        rc = resolver_start(resolver);
    }
    if (rc == RESULT_OK) {
        status = ask_all(resolver, &answers, n, hosts);
        resolver_stop(resolver);
    } else {
        (void)fprintf(stderr, "ragno check dns: dns.servers = %s: %s\n", config->dns_servers,
                      result_name(rc));
        status = rc == RESULT_INVALID ? 2 : 1;
    }
    resolver_delete(resolver);
    queue_destroy(&answers);
    ip_ranges_destroy(&policy.allowed);
    return status;
}

static int check_dns(const char *usage, int argc, char **argv)
{
    CheckOptions options = {.file = NULL};
    Config config;
    const CommandOption rows[] = {CHECK_OPTIONS_ROWS(&options)};
    CommandLine line = {"check dns", usage, COMMAND_ROWS(rows), .words_least = 1,
                        .words_most = argc};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    status = check_options_load(&options, &config);
    if (status == 0) {
        status = check_dns_resolve(&config, line.n_words, line.words);
    }
    config_destroy(&config);
    return status;
}

static int check_links(const char *usage, int argc, char **argv)
{
    CheckFile check = {.file = NULL};
    int status = check_file_parse(&check, usage, argc, argv);
    for (size_t i = 0; status == 0 && i < check.page.n_links; i++) {
        const PageLink *link = &check.page.links[i];
        (void)printf("%s\t%s", link_kind_name((LinkKind)link->kind), link->url);
        if (link->text != NULL) { /* no tab and no line end is in it */
            (void)printf("\t%.*s\t%.*s", (int)link->text->anchor_length, link->text->anchor,
                         (int)link->text->around_length, link->text->around);
        }
        (void)printf("\n");
    }
    check_file_close(&check);
    return status;
}

static int check_retries(const char *usage, int argc, char **argv)
{
    RetryRule rules[FETCH_CLASSES];
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    if (argc > 2) {
        return check_misuse(usage);
    }
    politeness_default_rules(rules);
    Result rc = argc == 2 ? politeness_parse_rules(rules, argv[1], &error) : RESULT_OK;
    if (exit_status_tell("check retries", rc, &error) != 0) {
        return 2;
    }
    for (FetchClass class = FETCH_OK + 1; class < FETCH_CLASSES; class ++) {
        const RetryRule *rule = &rules[class];
        (void)printf("%s\t", fetch_class_name(class));
        /* As politeness.retry takes it. */
        static const int64_t units_ms[] = {3600000, 60000, 1000, 1};
        static const char *const units[] = {"h", "m", "s", "ms"};
        size_t unit = rule->wait_ms == 0 ? 2 : 0;
        while (rule->wait_ms % units_ms[unit] != 0) {
            unit++;
        }
        (void)printf("%lld%s", (long long)(rule->wait_ms / units_ms[unit]), units[unit]);
        (void)printf("\t%u\t%s\t%s\t%s\n", rule->retries, rule->drops_host ? "host" : "URL",
                     fetch_class_is_of_url(class) ? "URL" : "host", fetch_class_meaning(class));
    }
    return 0;
}

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

/* "usage  train-ai  denied  line 3: Content-Usage: train-ai=n", a line for each statement that
 * denies something, and for each that allows something. */
static void check_robots_usage(const Robots *robots, const char *path, size_t length)
{
    UsageStatement list[ROBOTS_MAX_USAGES];
    UsageLedger ledger = {.list = list, .max = ROBOTS_MAX_USAGES};
    (void)robots_usage(robots, path, length, &ledger);
    /* Each statement twice: what it denies, then what it allows. Neither may be there. */
    for (size_t i = 0; i < 2 * ledger.n; i++) {
        const UsageStatement *statement = &list[i / 2];
        unsigned bits = i % 2 == 0 ? statement->usage.denied : statement->usage.allowed;
        Buffer name = {.limit = 128};
        if (bits != 0 && usage_print(bits, &name) == RESULT_OK) {
            (void)printf("usage\t%s\t%s\t", name.data, i % 2 == 0 ? "denied" : "allowed");
            if (statement->line > 0) {
                (void)printf("line %u: %s\n", statement->line, statement->text);
            } else {
                (void)printf("the licence %s permits nothing before it is read\n", statement->text);
            }
        }
        buffer_destroy(&name);
    }
}

static int check_robots(const char *usage, int argc, char **argv)
{
    CheckFile check = {.file = NULL};
    Buffer path = {.limit = BUFFER_NO_LIMIT};
    Robots *robots = NULL;
    size_t length = 0;
    int status = check_file_open(&check, usage, argc, argv, 3);
    if (status != 0) {
        check_file_close(&check);
        return status;
    }
    const char *rest = path_of(check.words[1], &length);
    Result rc = RESULT_OK;
    if (length == 0 || *rest != '/') {
        rc = buffer_append_char(&path, '/'); /* "http://host?query" */
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(&path, rest, length);
    }
    if (rc == RESULT_OK) {
        rc = robots_parse(check.body.data, check.body.length, check.words[0], &robots);
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
        check_robots_usage(robots, path.data, path.length);
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
    check_file_close(&check);
    return status;
}

/* A SitemapSink: one line per entry, hints only where there are any. */
static bool print_entry(void *context, const SitemapEntry *entry)
{
    (void)context;
    bool has_hints = entry->lastmod[0] != '\0' || entry->changefreq != SITEMAP_FREQUENCY_NONE ||
                     entry->priority >= 0.0;
    /* As written where that is a whole URL on one line, so that it can be compared with the file;
     * else resolved, as the crawl would take it. */
    bool is_clean = strncasecmp(entry->loc, "http", 4) == 0 &&
                    strcspn(entry->loc, "\t\r\n") == entry->loc_length;
    const char *url = is_clean ? entry->loc : entry->url->href;
    ascii_print(stdout, url, strlen(url), ' ');
    if (has_hints) {
        (void)putchar('\t');
        ascii_print(stdout, entry->lastmod, strlen(entry->lastmod), ' ');
        (void)printf("\t%s\t", sitemap_frequency_name(entry->changefreq));
        if (entry->priority >= 0.0) {
            (void)printf("%g", entry->priority);
        }
    }
    (void)putchar('\n');
    return true;
}

static int check_sitemap(const char *usage, int argc, char **argv)
{
    CheckFile check = {.file = NULL};
    int status = check_file_open(&check, usage, argc, argv, 1);
    if (status != 0) {
        check_file_close(&check);
        return status;
    }
    SitemapParser *parser = NULL;
    SitemapReport report = {.kind = SITEMAP_UNKNOWN};
    Result rc = sitemap_parser_new(&parser, &SITEMAP_OPTIONS_DEFAULT);
    if (rc == RESULT_OK) {
        SitemapInput input = {.body = buffer_string(&check.body),
                              .length = check.body.length,
                              .url = check.url,
                              .url_length = strlen(check.url)};
        rc = sitemap_parse(parser, &input, print_entry, NULL, &report);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno check sitemap: %s: %s\n", check.file, result_name(rc));
    }
    /* Told, and no failure: what stood before the break was taken, as in a crawl. */
    if (report.is_broken || report.n_rejected > 0) {
        (void)fprintf(stderr, "ragno check sitemap: %s: %llu rejected%s\n", check.file,
                      (unsigned long long)report.n_rejected,
                      report.is_broken ? ", the file is broken" : "");
    }
    sitemap_parser_delete(parser);
    check_file_close(&check);
    if (rc != RESULT_OK) {
        return rc == RESULT_MEMORY ? 3 : 1;
    }
    return 0;
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
        ascii_print(stdout, heading.text, heading.length, ' ');
        (void)putchar('\n');
    }
}

/* Prints the visible text of a page, or with --facts what the page says of itself. */
static int check_page_text(const char *usage, int argc, char **argv)
{
    CheckFile check = {.file = NULL};
    int status = check_file_open(&check, usage, argc, argv, 1);
    if (status != 0) {
        check_file_close(&check);
        return status;
    }
    VisibleReader *reader = NULL;
    VisibleOptions options = {.memory_bytes = (size_t)1 << 30,
                              .main_text = check.main_text,
                              .styles = !check.no_styles,
                              .markdown = check.markdown};
    Result rc = visible_reader_new(&reader, &options);
    if (rc == RESULT_OK) {
        VisibleInput input = {.body = buffer_string(&check.body),
                              .length = check.body.length,
                              .content_type = check.content_type,
                              .url = check.url,
                              .url_length = check.url == NULL ? 0 : strlen(check.url)};
        VisiblePage page;
        rc = visible_read(reader, &input, &page);
        if (check.facts) {
            print_facts(reader, &page);
        } else if (check.markdown && rc == RESULT_OK) {
            Buffer text = {.limit = BUFFER_NO_LIMIT};
            rc = visible_page_markdown(reader, &text);
            (void)printf("%.*s\n", (int)text.length, buffer_string(&text));
            buffer_destroy(&text);
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
    check_file_close(&check);
    return rc == RESULT_OK ? 0 : 1;
}

/* Whether a file needs a browser, and why. */
static int check_page(const char *usage, int argc, char **argv)
{
    CheckFile check = {.file = NULL};
    PageVerdict verdict;
    Buffer why = {.limit = 4096};
    int status = check_file_open(&check, usage, argc, argv, 1);
    if (status != 0) {
        check_file_close(&check);
        return status;
    }
    page_verdict_judge(buffer_string(&check.body), check.body.length, &verdict);
    (void)page_verdict_tell(verdict.signs, &why);
    if (check.url != NULL) {
        (void)printf("url\t%s\n", check.url);
    }
    (void)printf("browser\t%s\nwhy\t%s\nscripts\t%u\ntext\t%zu\nlinks\t%u\n",
                 verdict.needs_browser ? "yes" : "no", buffer_string(&why), verdict.scripts,
                 verdict.text_bytes, verdict.links);
    buffer_destroy(&why);
    check_file_close(&check);
    return 0;
}

/* A base with another scheme than http(s) is of no use to a relative reference, but does not stand
 * in the way of an absolute one. */
static bool has_other_scheme(const char *base)
{
    /* A scheme ends before the first of these; "/a:b" and "?a:b" have none. */
    size_t n = strcspn(base, ":/?#\\");
    return n > 0 && base[n] == ':' && !(n == 4 && strncasecmp(base, "http", n) == 0) &&
           !(n == 5 && strncasecmp(base, "https", n) == 0);
}

static int check_url(const char *usage, int argc, char **argv)
{
    if (argc != 3) {
        return check_misuse(usage);
    }
    Url base = {.href = NULL};
    Url url = {.href = NULL};
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

/* The pages of a crawl's database, and nothing else: also beside a crawl that has met a broken one
 * and holds the locks (crawl/fault.h). */
static int check_database(const char *usage, int argc, char **argv)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    if (argc != 2) {
        return check_misuse(usage);
    }
    if (!crawl_store_exists(argv[1])) {
        (void)fprintf(stderr, "ragno check: %s holds no crawl\n", argv[1]);
        return EXIT_IO;
    }
    /* A damaged page of the database is met as a signal (SIGBUS) within the look: from here on it
     * is told, with the status that says so, and not a crash. */
    fault_watch(argv[1]);
    Result rc = crawl_store_look(argv[1], true, &error);
    (void)exit_status_tell("check", rc, &error);
    if (rc != RESULT_OK) {
        return rc == RESULT_DAMAGED ? EXIT_DIRECTORY : EXIT_INTERNAL;
    }
    return 0;
}

/* ---- `ragno check ---- */

typedef struct CheckCommand {
    const char *name;
    const char *usage;
    int (*run)(const char *usage, int argc, char **argv); /* argv[0] is the command's name */
} CheckCommand;

/* For the manual, with tabs between. */
static int check_annotations(const char *usage, int argc, char **argv)
{
    (void)usage;
    (void)argc;
    (void)argv;
    for (unsigned i = 0; i < CRAWL_LOG_NOTE_COUNT; i++) {
        const CrawlLogNoteRow *row = &crawl_log_notes[i];
        (void)printf("%s%s%s\t%s\n", row->name, row->kind == CRAWL_LOG_FLAG ? "" : ":", row->value,
                     row->meaning);
    }
    return 0;
}

static const CheckCommand commands[] = {
    {"annotations", "", check_annotations},
    {"robots", "FILE AGENT URL", check_robots},
    {"charset", "FILE [--content-type T]", check_charset},
    {"config", "[FILE]", check_config},
    {"database", "DIR", check_database},
    {"digest", "FILE --base URL [--content-type T]", check_page_digest},
    {"dns", "[-c FILE] [-s SECTION.KEY=VALUE]... HOST...", check_dns},
    {"links", "FILE --base URL [--content-type T] [--embeds] [--text] [--front-end skim|libxml2]",
     check_links},
    {"page", "FILE [--base URL]", check_page},
    {"render", "FILE|DIR URL [--document] [-c FILE] [-s SECTION.KEY=VALUE]...", check_render},
    {"sitemap", "FILE --url URL", check_sitemap},
    {"text", "FILE [--base URL] [--content-type T] [--no-styles] [--markdown] [--main | --facts]",
     check_page_text},
    {"filter",
     "'EXPRESSION' [--source URL] [--depth N] [--status N]\n"
     "                     [--content-type TYPE] [--body FILE] [--explain] URL...\n"
     "  ragno check filter --atoms",
     check_filter},
    {"retries", "['CLASS WAIT RETRIES [drop], ...']", check_retries},
    {"url", "BASE HREF", check_url},
    {NULL, NULL, NULL},
};

static int check_usage_one(FILE *out)
{
    (void)fprintf(out, "usage:\n");
    for (const CheckCommand *c = commands; c->name != NULL; c++) {
        (void)fprintf(out, "  ragno check %s %s\n", c->name, c->usage);
    }
    return out == stdout ? 0 : 2;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int check_main(int argc, char **argv)
{
    if (argc < 2) {
        return check_usage_one(stderr);
    }
    if (is_help(argv[1])) {
        return check_usage_one(stdout);
    }
    for (const CheckCommand *c = commands; c->name != NULL; c++) {
        if (strcmp(argv[1], c->name) == 0) {
            char usage[512];
            (void)snprintf(usage, sizeof usage, "usage: ragno check %s %s\n", c->name, c->usage);
            if (argc > 2 && is_help(argv[2])) {
                (void)fputs(usage, stdout);
                return 0;
            }
            /* A command sees its own name as argv[0], as if it were a program. */
            int status = c->run(usage, argc - 1, argv + 1);
            return status == COMMAND_HELPED ? 0 : status;
        }
    }
    (void)fprintf(stderr, "ragno check: unknown command '%s'\n", argv[1]);
    return check_usage_one(stderr);
}
