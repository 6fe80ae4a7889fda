#include "command/consent_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/embed.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "page/parsed_page.h"
#include "parse/host/authority.h"
#include "parse/http/decode.h"
#include "store/archive/warc_reader.h"

#define STATEMENTS_MOST 256u
#define TEXT_SHOWN      200 /* bytes of a statement */
#define USAGES          5u
#define HOSTS_HELD      64u /* hosts whose robots.txt is in memory at once */
#define ORIGIN_BYTES    1024u
#define BODY_MOST       ((size_t)USAGE_HTML_BYTES)

/* A file or an answer that states something. */
typedef struct ConsentSource {
    char url[2048];
    char date[CLOCK_TEXT_BYTES]; /* when it was fetched; "" = not known */
    char digest[64];             /* of its payload; "" = not known */
    bool is_present;             /* of the database: it may be newer than the capture */
    Buffer text;
} ConsentSource;

typedef struct Consent {
    CrawlView *view;
    char archive[4096];        /* DIR/warc */
    char origin[ORIGIN_BYTES]; /* "http://www.example.org:81" */
    uint32_t host;             /* its number */
    const char *path;          /* of the URL, with its query */
    size_t path_length;
    char timestamp[16]; /* of the capture, as in CDXJ; "" = it is not there */
    WarcAnswer page;
    ConsentSource sources[USAGE_PLACES]; /* USAGE_IN_PAGE: the header's, too */
    UsageStatement list[STATEMENTS_MOST];
    UsageLedger ledger;
    Robots *robots;       /* its words are the list's */
    bool robots_names_it; /* a licence */
    Decoder *decoder;
} Consent;

EMBED(consent_usage, "src/command/consent_command.txt");

/* ---- where they are kept ---- */

typedef struct ConsentSearch {
    const char *until; /* timestamp; "" = none */
    bool wants_page;   /* a 200 answer before all others */
    bool is_good;
    CdxjCapture best;
    char digest[64];
} ConsentSearch;

static bool consent_found(void *context, const CdxjEntry *entry)
{
    ConsentSearch *search = context;
    CdxjCapture found = {.offset = 0};
    bool is_good = entry->status >= 200 && entry->status < 300;
    if (!cdxj_capture_take(&found, entry) ||
        (*search->until != '\0' && strcmp(found.timestamp, search->until) > 0) ||
        entry->status == 304 || (search->wants_page && search->is_good && !is_good)) {
        return true;
    }
    bool is_better = search->wants_page && is_good && !search->is_good;
    if (is_better || strcmp(found.timestamp, search->best.timestamp) >= 0) {
        search->best = found;
        search->is_good = is_good;
        (void)snprintf(search->digest, sizeof search->digest, "%.*s", (int)entry->digest.length,
                       entry->digest.bytes);
    }
    return true;
}

/* The text of a body; false: it cannot be decoded. */
static bool consent_decode(Consent *consent, const HttpHeader *header, const Buffer *body,
                           Buffer *text)
{
    DecodeStatus status =
        decode_answer(consent->decoder, header, buffer_string(body), body->length, text, 0);
    return status == DECODE_OK || status == DECODE_LIMIT || status == DECODE_TRUNCATED;
}

/* Loads the capture of a URL that held at the time of the page's. */
static bool consent_load(Consent *consent, const char *url, ConsentSearch *search,
                         ConsentSource *source, WarcAnswer *answer)
{
    if (cdxj_find(consent->archive, url, strlen(url), consent_found, search) != RESULT_OK ||
        *search->best.timestamp == '\0' ||
        warc_load_capture(consent->archive, &search->best, url, strlen(url), answer) != RESULT_OK) {
        return false;
    }
    (void)snprintf(source->url, sizeof source->url, "%s", url);
    (void)snprintf(source->digest, sizeof source->digest, "%s", search->digest);
    (void)wall_format_iso(answer->date, source->date);
    return true;
}

/* A file of the origin out of the archive. True: it is there, or known to be missing. */
static bool consent_load_file(Consent *consent, const char *url, ConsentSource *source)
{
    HttpHeader header;
    WarcAnswer answer;
    ConsentSearch search = {.until = consent->timestamp};
    bool is_known = false;
    warc_answer_init(&answer);
    if (consent_load(consent, url, &search, source, &answer) && answer.status < 300 &&
        http_header_parse(&header, buffer_string(&answer.header), answer.header.length) ==
            RESULT_OK) {
        is_known = consent_decode(consent, &header, &answer.body, &source->text);
    }
    is_known |= answer.status >= 400 && answer.status < 500;
    warc_answer_destroy(&answer);
    return is_known;
}

/* The same out of the database, as it is now. */
static void consent_read_database(Consent *consent, const char *url, UsagePlace place)
{
    const CrawlView *view = consent->view;
    ConsentSource *source = &consent->sources[place];
    MDB_txn *txn = NULL;
    if (view->hosts == NULL || page_db_txn_begin(view->db, true, &txn) != page_db_error_ok) {
        return;
    }
    source->is_present = true;
    *source->date = *source->digest = '\0';
    (void)snprintf(source->url, sizeof source->url, "%s", url);
    if (place == USAGE_IN_ROBOTS) {
        (void)host_rows_get_robots(view->hosts, txn, consent->host, &source->text);
    } else {
        (void)host_rows_get_usage_file(view->hosts, txn, consent->host, place, &source->text);
    }
    page_db_txn_abort(view->db, txn);
}

static void consent_read_file(Consent *consent, const char *url, UsagePlace place)
{
    if (!consent_load_file(consent, url, &consent->sources[place])) {
        consent_read_database(consent, url, place);
    }
}

static RslReader consent_reader(const CrawlView *view, const char *origin)
{
    return (RslReader){.origin = origin, .user = (RslUser)view->config.robots_licence_user};
}

/* The licences that robots.txt names. */
static void consent_read_licences(Consent *consent)
{
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    RslReader reader = consent_reader(consent->view, consent->origin);
    for (UsagePlace i = USAGE_IN_LICENCE; i < USAGE_PLACES; i++) {
        const Buffer *text = &consent->sources[i].text;
        buffer_reset(&url);
        if (robots_licence_url(consent->robots, i, consent->origin, &url) == RESULT_OK) {
            consent_read_file(consent, url.data, i);
            (void)robots_add_licence(consent->robots, i, buffer_string(text), text->length,
                                     &reader);
        }
    }
    buffer_destroy(&url);
}

static void consent_read_files(Consent *consent)
{
    char url[2048];
    const Buffer *text = &consent->sources[USAGE_IN_ROBOTS].text;
    (void)snprintf(url, sizeof url, "%s/robots.txt", consent->origin);
    consent_read_file(consent, url, USAGE_IN_ROBOTS);
    if (robots_parse(buffer_string(text), text->length, consent->view->config.robots_agent,
                     &consent->robots) != RESULT_OK) {
        return;
    }
    (void)snprintf(url, sizeof url, "%s%s", consent->origin, ROBOTS_TDM_FILE);
    consent_read_file(consent, url, USAGE_IN_TDM);
    text = &consent->sources[USAGE_IN_TDM].text;
    (void)robots_add_tdm(consent->robots, buffer_string(text), text->length);
    consent_read_licences(consent);
    consent->robots_names_it =
        robots_usage(consent->robots, consent->path, consent->path_length, &consent->ledger)
            .robots_names_it;
}

/* The answer that is kept; without one the files of the origin as they are now speak alone. */
static void consent_read_page(Consent *consent, const char *url)
{
    HttpHeader header;
    WarcAnswer *answer = &consent->page;
    ConsentSource *source = &consent->sources[USAGE_IN_PAGE];
    ConsentSearch search = {.until = "", .wants_page = true};
    if (!consent_load(consent, url, &search, source, answer)) {
        return;
    }
    (void)snprintf(consent->timestamp, sizeof consent->timestamp, "%s", search.best.timestamp);
    if (http_header_parse(&header, buffer_string(&answer->header), answer->header.length) !=
        RESULT_OK) {
        return;
    }
    (void)usage_of_header(&header, &consent->ledger);
    if (consent_decode(consent, &header, &answer->body, &source->text)) {
        (void)usage_of_html(buffer_string(&source->text), source->text.length, &consent->ledger);
    }
}

/* ---- what it comes to ---- */

/* A line of what a stranger wrote. */
static void consent_print_text(const char *text, size_t length)
{
    ascii_print(stdout, text, length, ' ');
    (void)putchar('\n');
}

/* The words of a statement. */
static void consent_print_words(const UsageStatement *statement)
{
    static const char *const places[USAGE_IN_LICENCE + 1] = {[USAGE_IN_HEADER] = "header ",
                                                             [USAGE_IN_PAGE] = "element ",
                                                             [USAGE_IN_ROBOTS] = "robots.txt",
                                                             [USAGE_IN_TDM] = "tdmrep.json: ",
                                                             [USAGE_IN_LICENCE] = "licence"};
    bool of_licence = usage_is_licence(statement->place);
    (void)printf("%s", places[of_licence ? USAGE_IN_LICENCE : statement->place]);
    if (statement->line > 0) {
        (void)printf(" line %u: ", statement->line);
    } else if (of_licence) {
        (void)printf(" that was not read to its end, so that it permits nothing: ");
    }
    size_t n = statement->length;
    consent_print_text(statement->text, n < TEXT_SHOWN ? n : TEXT_SHOWN);
}

static void consent_print_statement(const Consent *consent, const UsageStatement *statement,
                                    const char *verdict)
{
    UsagePlace place = statement->place == USAGE_IN_HEADER ? USAGE_IN_PAGE : statement->place;
    const ConsentSource *source = &consent->sources[place];
    (void)printf("  %s by ", verdict);
    consent_print_words(statement);
    (void)printf("     %s", source->url);
    if (source->is_present) {
        (void)printf(", as it is now (its earlier text is not in the archive)");
    }
    if (*source->date != '\0') {
        (void)printf(", fetched %s", source->date);
    }
    (void)printf("%s%s\n", *source->digest == '\0' ? "" : ", ", source->digest);
}

/* Prints one usage; true: it is denied. */
static bool consent_print_usage(const Consent *consent, unsigned bit)
{
    Buffer name = {.limit = 64};
    Usage whole = {0};
    for (size_t i = 0; i < consent->ledger.n; i++) {
        whole = usage_join(whole, consent->list[i].usage);
    }
    bool is_denied = (whole.denied & bit) != 0;
    const char *verdict = (whole.allowed & bit) != 0 ? "allowed" : "nothing is said";
    (void)usage_print(bit, &name);
    (void)printf("%s: %s\n", buffer_string(&name), is_denied ? "denied" : verdict);
    buffer_destroy(&name);
    for (size_t i = 0; i < consent->ledger.n; i++) {
        if ((consent->list[i].usage.denied & bit) != 0) {
            consent_print_statement(consent, &consent->list[i], "denied");
        }
    }
    for (size_t i = 0; i < consent->ledger.n; i++) {
        if ((consent->list[i].usage.allowed & bit) != 0) {
            consent_print_statement(consent, &consent->list[i],
                                    is_denied ? "although allowed" : "allowed");
        }
    }
    return is_denied;
}

static int consent_print(const Consent *consent, const char *url, unsigned asked)
{
    unsigned judged = asked == USAGE_ALL ? config_usages(&consent->view->config) : asked;
    bool is_denied = false;
    const ConsentSource *page = &consent->sources[USAGE_IN_PAGE];
    (void)printf("%s\n", url);
    if (*page->date != '\0') {
        (void)printf("captured %s, %s\n", page->date, page->digest);
    } else {
        (void)printf("not in the archive: what the files of its site say\n");
    }
    for (unsigned i = 0; i < USAGES; i++) {
        if ((asked & 1u << i) != 0) {
            is_denied |= consent_print_usage(consent, 1u << i) && (judged & 1u << i) != 0;
        }
    }
    if (consent->ledger.is_cut) {
        (void)printf("There are more than %u statements; the others are not shown.\n",
                     STATEMENTS_MOST);
    }
    return is_denied ? EXIT_NEGATIVE : 0;
}

static Consent *consent_new(CrawlView *view)
{
    Consent *consent = calloc(1, sizeof *consent);
    if (consent == NULL || decoder_new(&consent->decoder) != RESULT_OK) {
        free(consent);
        return NULL;
    }
    consent->view = view;
    consent->ledger = (UsageLedger){.list = consent->list, .max = STATEMENTS_MOST};
    warc_answer_init(&consent->page);
    for (size_t i = 0; i < USAGE_PLACES; i++) {
        buffer_init(&consent->sources[i].text, i == USAGE_IN_PAGE ? BODY_MOST : ROBOTS_MAX_BYTES);
    }
    (void)snprintf(consent->archive, sizeof consent->archive, "%s/warc", view->directory);
    return consent;
}

static void consent_delete(Consent *consent)
{
    if (consent == NULL) {
        return;
    }
    for (size_t i = 0; i < USAGE_PLACES; i++) {
        buffer_destroy(&consent->sources[i].text);
    }
    warc_answer_destroy(&consent->page);
    robots_delete(consent->robots);
    decoder_delete(consent->decoder);
    free(consent);
}

/* The origin of a URL; returns its path. */
static const char *consent_origin(const char *url, char origin[ORIGIN_BYTES])
{
    Authority at = authority_of(url, strlen(url));
    (void)snprintf(origin, ORIGIN_BYTES, "%.*s%.*s", (int)at.start, url, (int)(at.end - at.host),
                   url + at.host);
    return url + at.end;
}

static bool consent_is_known(Consent *consent)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(consent->view->db, true, &txn) != page_db_error_ok) {
        return false;
    }
    int rc = page_db_host_find(consent->view->db, txn, consent->origin, strlen(consent->origin),
                               &consent->host);
    page_db_txn_abort(consent->view->db, txn);
    return rc == page_db_error_ok;
}

/* word: a URL, an origin, or the name of a host. */
static int consent_tell(CrawlView *view, const char *word, unsigned asked)
{
    static const char *const prefixes[] = {"https://", "http://"};
    bool is_url = strstr(word, "://") != NULL;
    Consent *consent = consent_new(view);
    Url url = {.href = NULL};
    int status = EXIT_INTERNAL;
    if (consent == NULL) {
        goto done;
    }
    for (size_t i = is_url ? 1 : 0; i < 2; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text, "%s%s", is_url ? "" : prefixes[i], word);
        if (url_parse(&url, NULL, text, strlen(text)) != RESULT_OK) {
            (void)fprintf(stderr, "ragno consent: '%s' is not a URL\n", word);
            status = EXIT_USAGE;
            goto done;
        }
        consent->path = consent_origin(url.href, consent->origin);
        consent->path_length = strlen(consent->path);
        if (consent_is_known(consent)) {
            consent_read_page(consent, url.href);
            consent_read_files(consent);
            for (size_t k = 0; k < consent->ledger.n; k++) {
                /* Who names a licence that nobody has read permits nothing by it. */
                Usage *usage = &consent->list[k].usage;
                usage->robots_names_it = consent->robots_names_it;
                *usage = usage_settle(*usage);
            }
            status = consent_print(consent, url.href, asked);
            goto done;
        }
    }
    (void)fprintf(stderr, "ragno consent: nothing is known of the host of '%s'\n", word);
    status = EXIT_NEGATIVE;
done:
    url_destroy(&url);
    consent_delete(consent);
    return status;
}

/* ---- what has changed since ---- */

typedef struct ConsentHost {
    bool is_read;
    uint32_t host;
    Robots *robots; /* NULL: none is known */
} ConsentHost;

static void consent_read_host(const CrawlView *view, MDB_txn *txn, ConsentHost *held, uint32_t host,
                              const char *url)
{
    char origin[ORIGIN_BYTES];
    (void)consent_origin(url, origin);
    RslReader reader = consent_reader(view, origin);
    robots_delete(held->robots);
    held->robots = NULL;
    held->is_read = true;
    held->host = host;
    (void)host_rows_get_rules(view->hosts, txn, host, view->config.robots_agent, &reader,
                              &held->robots, NULL);
}

static void consent_compare(const ConsentHost *held, const PageRef *page, const char *url)
{
    UsageStatement list[STATEMENTS_MOST];
    UsageLedger ledger = {.list = list, .max = STATEMENTS_MOST};
    RobotsVerdict verdict = {.line = 0};
    Authority at = authority_of(url, strlen(url));
    const char *path = url + at.end;
    if (held->robots == NULL || page->n_crawls == 0 || page->status < 200 || page->status >= 300) {
        return;
    }
    if (!robots_allows(held->robots, path, strlen(path), &verdict)) {
        const char *rule = verdict.rule == NULL ? "" : verdict.rule;
        (void)printf("%s\tcrawl\t", url);
        consent_print_text(rule, strlen(rule));
    }
    unsigned denied = robots_usage(held->robots, path, strlen(path), &ledger).denied;
    denied &= ~usage_of_flags(page->flags);
    for (size_t i = 0; i < ledger.n && denied != 0; i++) {
        unsigned bits = list[i].usage.denied & denied;
        denied &= ~bits;
        if (bits != 0) {
            Buffer name = {.limit = 128};
            (void)usage_print(bits, &name);
            (void)printf("%s\t%s\t", url, buffer_string(&name));
            consent_print_text(list[i].text, list[i].length);
            buffer_destroy(&name);
        }
    }
}

static int consent_changed(const CrawlView *view)
{
    ConsentHost *held = calloc(HOSTS_HELD, sizeof *held);
    MDB_txn *txn = NULL;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    if (held == NULL || view->hosts == NULL ||
        page_db_txn_begin(view->db, true, &txn) != page_db_error_ok) {
        free(held);
        return EXIT_INTERNAL;
    }
    uint64_t n = page_db_n_pages(view->db, txn);
    for (uint64_t i = 0; i < n; i++) {
        PageRef page;
        if (page_db_get(view->db, txn, i, &page, &url) != page_db_error_ok) {
            continue;
        }
        ConsentHost *host = &held[page.host % HOSTS_HELD];
        if (!host->is_read || host->host != page.host) {
            consent_read_host(view, txn, host, page.host, buffer_string(&url));
        }
        consent_compare(host, &page, buffer_string(&url));
    }
    page_db_txn_abort(view->db, txn);
    for (size_t i = 0; i < HOSTS_HELD; i++) {
        robots_delete(held[i].robots);
    }
    free(held);
    buffer_destroy(&url);
    return 0;
}

static int consent_take_usage(void *asked, const char *value)
{
    unsigned bits = usage_asked(value, strlen(value));
    if (bits == 0) {
        (void)fprintf(stderr, "ragno consent: --usage %s: expected " USAGE_WORDS "\n", value);
    }
    *(unsigned *)asked = bits;
    return bits == 0 ? EXIT_USAGE : 0;
}

int consent_main(int argc, char **argv)
{
    unsigned asked = USAGE_ALL;
    bool changed = false;
    const CommandOption options[] = {
        {"usage", 0, COMMAND_TAKE, .to = &asked, .take = consent_take_usage},
        {"changed", 0, COMMAND_FLAG, .to = &changed}};
    CommandLine line = {"consent", consent_usage, COMMAND_ROWS(options), .words_least = 1,
                        .words_most = 2};
    CrawlView view;
    int status = command_line_take(&line, argc, argv);
    if (status == 0 && line.n_words != (changed ? 1 : 2)) {
        (void)fputs(consent_usage, stderr);
        status = EXIT_USAGE;
    }
    if (status == 0) {
        status = crawl_view_open(&view, "consent", line.words[0]);
    }
    if (status == 0) {
        status = changed ? consent_changed(&view) : consent_tell(&view, line.words[1], asked);
        crawl_view_close(&view);
    }
    return status == COMMAND_HELPED ? 0 : status;
}
