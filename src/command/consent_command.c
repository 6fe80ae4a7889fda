#include "command/consent_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "fetch/transfer/robots_answer.h"
#include "page/parsed_page.h"
#include "parse/host/authority.h"
#include "parse/http/decode.h"
#include "parse/robots/robots.h"
#include "parse/url/url.h"
#include "store/archive/warc_load.h"
#include "store/pages/page_db_read.h"

#define STATEMENTS_MOST 256u
#define TEXT_SHOWN      200u /* bytes of a statement */
#define USAGES          5u
#define HOSTS_HELD      64u /* robots.txt of so many hosts at once */
#define BODY_MOST       ((size_t)USAGE_HTML_BYTES)

/* A file or an answer that states something. */
typedef struct ConsentSource {
    char url[2048];
    char date[CLOCK_TEXT_BYTES]; /* when it was fetched; "" = not known */
    char digest[64];             /* of its payload; "" = not known */
    bool is_present;             /* of the database: it may be newer than the capture */
} ConsentSource;

typedef struct ConsentStatement {
    char place[64]; /* "robots.txt line 3", "header Content-Usage" */
    char text[TEXT_SHOWN + 1];
    Usage usage;
    const ConsentSource *source;
} ConsentStatement;

typedef struct Consent {
    CrawlView *view;
    char archive[4096]; /* DIR/warc */
    char origin[1024];  /* "http://www.example.org:81" */
    const char *path;   /* of the URL, with its query */
    size_t path_length;
    char timestamp[16]; /* of the capture, as in CDXJ; "" = it is not there */
    ConsentSource page;
    ConsentSource robots;
    ConsentSource tdm;
    ConsentStatement list[STATEMENTS_MOST];
    size_t n;
    bool is_cut; /* there were more */
    Decoder *decoder;
} Consent;

static const char consent_usage[] =
    "usage: ragno consent DIR URL|HOST [--usage USAGE]\n"
    "       ragno consent DIR --changed\n"
    "For which use a page is allowed, by which statement, and what others said: as of\n"
    "its capture, from the archive. The strictest statement holds. USAGE is train-ai,\n"
    "ai-input, search, tdm or image-ai (train and others are understood).\n"
    "--changed lists captures whose site denies more now than it did then, a line for\n"
    "each: URL, what is denied (crawl: by robots.txt), the line that says so.\n"
    "Exit: 0 not denied, 1 denied, or nothing is known of the host, 2 wrong usage.\n";

/* ---- statements ---- */

static void consent_add(Consent *consent, const ConsentSource *source, const char *place,
                        const char *text, size_t length, Usage usage)
{
    if ((usage.denied | usage.allowed) == 0) {
        return;
    }
    if (consent->n == STATEMENTS_MOST) {
        consent->is_cut = true;
        return;
    }
    ConsentStatement *statement = &consent->list[consent->n++];
    *statement = (ConsentStatement){.usage = usage, .source = source};
    (void)snprintf(statement->place, sizeof statement->place, "%s", place);
    length = length < TEXT_SHOWN ? length : TEXT_SHOWN;
    for (size_t i = 0; i < length; i++) { /* a terminal is not to be told what to do */
        statement->text[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
    }
}

/* Each field by itself: what it says is what a header says that has no other. */
static void consent_read_header(Consent *consent, const HttpHeader *header)
{
    size_t position = 0;
    HttpField field;
    while (http_header_next(header, &position, &field)) {
        char place[64];
        HttpHeader one = *header;
        one.fields = field.name;
        one.fields_length = (size_t)(field.value + field.value_length - field.name);
        (void)snprintf(place, sizeof place, "header %.*s",
                       (int)(field.name_length < 40 ? field.name_length : 40), field.name);
        consent_add(consent, &consent->page, place, field.value, field.value_length,
                    usage_of_header(&one));
    }
}

/* Each meta element by itself. */
static void consent_read_html(Consent *consent, const char *bytes, size_t length)
{
    length = length < BODY_MOST ? length : BODY_MOST;
    for (size_t i = 0; i + 5 < length; i++) {
        if (bytes[i] != '<' || strncasecmp(bytes + i, "<meta", 5) != 0) {
            continue;
        }
        const char *end = memchr(bytes + i, '>', length - i);
        size_t n = end == NULL ? length - i : (size_t)(end - bytes) - i + 1;
        consent_add(consent, &consent->page, "meta element", bytes + i, n,
                    usage_of_html(bytes + i, n));
        i += n - 1;
    }
}

/* The text of a line of a file. */
static const char *consent_line(const char *text, size_t length, unsigned line, size_t *n)
{
    const char *end = text + length;
    for (unsigned i = 1; i < line && text < end; i++) {
        const char *lf = memchr(text, '\n', (size_t)(end - text));
        text = lf == NULL ? end : lf + 1;
    }
    const char *lf = text == end ? NULL : memchr(text, '\n', (size_t)(end - text));
    *n = (size_t)((lf == NULL ? end : lf) - text);
    return text;
}

static void consent_read_rules(Consent *consent, const Robots *robots, const Buffer *text)
{
    RobotsUsageLine lines[STATEMENTS_MOST];
    size_t n =
        robots_usage_lines(robots, consent->path, consent->path_length, lines, STATEMENTS_MOST);
    for (size_t i = 0; i < n; i++) {
        char place[64];
        size_t length = 0;
        const char *line = consent_line(buffer_string(text), text->length, lines[i].line, &length);
        (void)snprintf(place, sizeof place, "robots.txt line %u", lines[i].line);
        if (lines[i].of_file) {
            consent_add(consent, &consent->tdm, "tdmrep.json", "tdm-reservation", 15,
                        lines[i].usage);
        } else {
            consent_add(consent, &consent->robots, place, line, length, lines[i].usage);
        }
    }
}

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
    CdxjCapture found = {.offset = entry->offset, .length = entry->length};
    bool is_good = entry->status >= 200 && entry->status < 300;
    (void)snprintf(found.timestamp, sizeof found.timestamp, "%.*s", (int)entry->timestamp.length,
                   entry->timestamp.bytes);
    (void)snprintf(found.filename, sizeof found.filename, "%.*s", (int)entry->filename.length,
                   entry->filename.bytes);
    found.revisit = entry->mime.length == 12 && memcmp(entry->mime.bytes, "warc/revisit", 12) == 0;
    if ((*search->until != '\0' && strcmp(found.timestamp, search->until) > 0) ||
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

/* The file of the origin, out of the archive or else of the database. False: there is none. */
static bool consent_file(Consent *consent, const char *name, ConsentSource *source, Buffer *text)
{
    char url[2048];
    HttpHeader header;
    WarcAnswer answer;
    ConsentSearch search = {.until = consent->timestamp};
    bool is_good = false;
    warc_answer_init(&answer);
    (void)snprintf(url, sizeof url, "%s%s", consent->origin, name);
    if (consent_load(consent, url, &search, source, &answer) && answer.status < 300 &&
        http_header_parse(&header, buffer_string(&answer.header), answer.header.length) ==
            RESULT_OK) {
        is_good = consent_decode(consent, &header, &answer.body, text);
    }
    bool is_absent = answer.status >= 400 && answer.status < 500;
    warc_answer_destroy(&answer);
    if (is_good || is_absent || consent->view->hosts == NULL) {
        return is_good;
    }
    MDB_txn *txn = NULL;
    uint32_t host = 0;
    if (page_db_txn_begin(consent->view->db, true, &txn) != page_db_error_ok) {
        return false;
    }
    Result rc = page_db_host_find(consent->view->db, txn, consent->origin, strlen(consent->origin),
                                  &host) == page_db_error_ok
                    ? RESULT_OK
                    : RESULT_NOT_FOUND;
    if (rc == RESULT_OK && source == &consent->robots) {
        rc = host_table_get_robots(consent->view->hosts, txn, host, text);
    } else if (rc == RESULT_OK) {
        const char *body = NULL;
        size_t length = 0;
        rc = host_table_get_usage_file(consent->view->hosts, txn, host, &body, &length);
        rc = rc == RESULT_OK ? buffer_append(text, body, length) : rc;
    }
    page_db_txn_abort(consent->view->db, txn);
    *source = (ConsentSource){.is_present = true};
    (void)snprintf(source->url, sizeof source->url, "%s", url);
    return rc == RESULT_OK && text->length > 0;
}

static void consent_read_files(Consent *consent)
{
    Robots *robots = NULL;
    Buffer text, tdm;
    buffer_init(&text, ROBOTS_MAX_BYTES);
    buffer_init(&tdm, ROBOTS_MAX_BYTES);
    (void)consent_file(consent, "/robots.txt", &consent->robots, &text);
    bool has_tdm = consent_file(consent, ROBOTS_USAGE_FILE, &consent->tdm, &tdm);
    Result rc = robots_parse(buffer_string(&text), text.length, consent->view->config.robots_agent,
                             &robots);
    if (rc == RESULT_OK && has_tdm) {
        (void)robots_add_tdm(robots, buffer_string(&tdm), tdm.length);
    }
    if (rc == RESULT_OK) {
        consent_read_rules(consent, robots, &text);
    }
    robots_delete(robots);
    buffer_destroy(&text);
    buffer_destroy(&tdm);
}

/* The answer that is kept; without one the files of the origin as they are now speak alone. */
static void consent_read_page(Consent *consent, const char *url)
{
    HttpHeader header;
    WarcAnswer answer;
    Buffer text = {.limit = BODY_MOST};
    ConsentSearch search = {.until = "", .wants_page = true};
    warc_answer_init(&answer);
    if (consent_load(consent, url, &search, &consent->page, &answer)) {
        (void)snprintf(consent->timestamp, sizeof consent->timestamp, "%s", search.best.timestamp);
        if (http_header_parse(&header, buffer_string(&answer.header), answer.header.length) ==
            RESULT_OK) {
            consent_read_header(consent, &header);
            if (consent_decode(consent, &header, &answer.body, &text)) {
                consent_read_html(consent, buffer_string(&text), text.length);
            }
        }
    }
    warc_answer_destroy(&answer);
    buffer_destroy(&text);
}

/* ---- what it comes to ---- */

static void consent_print_statement(const ConsentStatement *statement, const char *word)
{
    const ConsentSource *source = statement->source;
    (void)printf("  %s by %s: %s\n     %s", word, statement->place, statement->text, source->url);
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
    bool is_denied = false;
    bool is_allowed = false;
    for (size_t i = 0; i < consent->n; i++) {
        is_denied |= (consent->list[i].usage.denied & bit) != 0;
        is_allowed |= (consent->list[i].usage.allowed & bit) != 0;
    }
    (void)usage_print(bit, &name);
    (void)printf("%s: %s\n", buffer_string(&name),
                 is_denied    ? "denied"
                 : is_allowed ? "allowed"
                              : "nothing is said");
    buffer_destroy(&name);
    for (size_t i = 0; i < consent->n; i++) {
        if ((consent->list[i].usage.denied & bit) != 0) {
            consent_print_statement(&consent->list[i], "denied");
        }
    }
    for (size_t i = 0; i < consent->n; i++) {
        if ((consent->list[i].usage.allowed & bit) != 0) {
            consent_print_statement(&consent->list[i], is_denied ? "although allowed" : "allowed");
        }
    }
    return is_denied;
}

static int consent_print(const Consent *consent, const char *url, unsigned asked)
{
    bool is_denied = false;
    (void)printf("%s\n", url);
    if (*consent->page.date != '\0') {
        (void)printf("captured %s, %s\n", consent->page.date, consent->page.digest);
    } else {
        (void)printf("not in the archive: what the files of its site say\n");
    }
    for (unsigned i = 0; i < USAGES; i++) {
        if ((asked & 1u << i) != 0) {
            is_denied |= consent_print_usage(consent, 1u << i);
        }
    }
    if (consent->is_cut) {
        (void)printf("There are more than %u statements; the others are not shown.\n",
                     STATEMENTS_MOST);
    }
    return is_denied && asked != USAGE_ALL ? EXIT_NEGATIVE : 0;
}

static bool consent_is_known(Consent *consent)
{
    MDB_txn *txn = NULL;
    uint32_t host = 0;
    if (page_db_txn_begin(consent->view->db, true, &txn) != page_db_error_ok) {
        return false;
    }
    int rc =
        page_db_host_find(consent->view->db, txn, consent->origin, strlen(consent->origin), &host);
    page_db_txn_abort(consent->view->db, txn);
    return rc == page_db_error_ok;
}

/* word: a URL, an origin, or the name of a host. */
static int consent_tell(CrawlView *view, const char *word, unsigned asked)
{
    static const char *const prefixes[] = {"https://", "http://"};
    bool is_url = strstr(word, "://") != NULL;
    Consent *consent = calloc(1, sizeof *consent);
    Url url = {.href = NULL};
    int status = EXIT_INTERNAL;
    if (consent == NULL || decoder_new(&consent->decoder) != RESULT_OK) {
        goto done;
    }
    consent->view = view;
    (void)snprintf(consent->archive, sizeof consent->archive, "%s/warc", view->directory);
    for (size_t i = is_url ? 1 : 0; i < 2; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text, "%s%s", is_url ? "" : prefixes[i], word);
        if (url_parse(&url, NULL, text, strlen(text)) != RESULT_OK) {
            (void)fprintf(stderr, "ragno consent: '%s' is not a URL\n", word);
            status = EXIT_USAGE;
            goto done;
        }
        Authority at = authority_of(url.href, url.length);
        (void)snprintf(consent->origin, sizeof consent->origin, "%.*s%.*s", (int)at.start, url.href,
                       (int)(at.end - at.host), url.href + at.host);
        consent->path = url.href + at.end;
        consent->path_length = url.length - at.end;
        if (consent_is_known(consent)) {
            consent_read_page(consent, url.href);
            consent_read_files(consent);
            status = consent_print(consent, url.href, asked);
            goto done;
        }
    }
    (void)fprintf(stderr, "ragno consent: nothing is known of the host of '%s'\n", word);
    status = EXIT_NEGATIVE;
done:
    url_destroy(&url);
    if (consent != NULL) {
        decoder_delete(consent->decoder);
    }
    free(consent);
    return status;
}

/* ---- what has changed since ---- */

typedef struct ConsentHost {
    bool is_read;
    uint32_t host;
    Robots *robots; /* NULL: none is known */
    Buffer text;
} ConsentHost;

static void consent_read_host(const CrawlView *view, MDB_txn *txn, ConsentHost *held, uint32_t host)
{
    const char *tdm = NULL;
    size_t length = 0;
    robots_delete(held->robots);
    held->robots = NULL;
    held->is_read = true;
    held->host = host;
    buffer_reset(&held->text);
    (void)host_table_get_robots(view->hosts, txn, host, &held->text);
    if (robots_parse(buffer_string(&held->text), held->text.length, view->config.robots_agent,
                     &held->robots) != RESULT_OK) {
        return;
    }
    if (host_table_get_usage_file(view->hosts, txn, host, &tdm, &length) == RESULT_OK) {
        (void)robots_add_tdm(held->robots, tdm, length);
    }
}

static void consent_print_change(const ConsentHost *held, const char *url, unsigned bits,
                                 const RobotsUsageLine *lines, size_t n)
{
    Buffer name = {.limit = 128};
    size_t length = 0;
    const char *text = "tdmrep.json";
    (void)usage_print(bits, &name);
    for (size_t i = 0; i < n; i++) {
        if ((lines[i].usage.denied & bits) != 0 && lines[i].line > 0) {
            text =
                consent_line(buffer_string(&held->text), held->text.length, lines[i].line, &length);
            break;
        }
    }
    length = length == 0 ? strlen(text) : length;
    length -= length > 0 && text[length - 1] == '\r';
    (void)printf("%s\t%s\t%.*s\n", url, buffer_string(&name), (int)length, text);
    buffer_destroy(&name);
}

static void consent_compare(const ConsentHost *held, const PageRef *page, const char *url)
{
    RobotsUsageLine lines[STATEMENTS_MOST];
    RobotsVerdict verdict = {.line = 0};
    unsigned denied = 0;
    Authority at = authority_of(url, strlen(url));
    const char *path = url + at.end;
    if (held->robots == NULL || page->n_crawls == 0 || page->status < 200 || page->status >= 300) {
        return;
    }
    if (!robots_allows(held->robots, path, strlen(path), &verdict)) {
        (void)printf("%s\tcrawl\t%s\n", url, verdict.rule == NULL ? "" : verdict.rule);
    }
    size_t n = robots_usage_lines(held->robots, path, strlen(path), lines, STATEMENTS_MOST);
    for (size_t i = 0; i < n; i++) {
        denied |= lines[i].usage.denied;
    }
    denied &= ~usage_of_flags(page->flags);
    if (denied != 0) {
        consent_print_change(held, url, denied, lines, n);
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
    for (size_t i = 0; i < HOSTS_HELD; i++) {
        buffer_init(&held[i].text, ROBOTS_MAX_BYTES);
    }
    uint64_t n = page_db_n_pages(view->db, txn);
    for (uint64_t i = 0; i < n; i++) {
        PageRef page;
        if (page_db_get(view->db, txn, i, &page, &url) != page_db_error_ok) {
            continue;
        }
        ConsentHost *host = &held[page.host % HOSTS_HELD];
        if (!host->is_read || host->host != page.host) {
            consent_read_host(view, txn, host, page.host);
        }
        consent_compare(host, &page, buffer_string(&url));
    }
    page_db_txn_abort(view->db, txn);
    for (size_t i = 0; i < HOSTS_HELD; i++) {
        robots_delete(held[i].robots);
        buffer_destroy(&held[i].text);
    }
    free(held);
    buffer_destroy(&url);
    return fflush(stdout) == 0 ? 0 : EXIT_IO;
}

static int consent_take_usage(void *asked, const char *value)
{
    unsigned bits =
        strcmp(value, "train") == 0 ? (unsigned)USAGE_TRAIN_AI : usage_asked(value, strlen(value));
    if (bits == 0) {
        (void)fprintf(stderr, "ragno consent: --usage: there is no usage '%s'\n", value);
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
    CommandLine line = {.command = "consent",
                        .usage = consent_usage,
                        .options = options,
                        .n_options = 2,
                        .words_least = 1,
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
