#include "command/complaint_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "audit/audit_text.h"
#include "base/memory/embed.h"
#include "command/ctl.h"
#include "command/forget/forget.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"

#define WHY_BYTES 2048u /* of a URL that is shown */

typedef struct Complaint {
    const char *directory;
    const char *subject; /* as it was given */
    Buffer host;         /* a name; empty: an address */
    Buffer url;          /* empty: a host or an address */
    IpRanges ips;
    bool has_ips;
    bool deny;
    bool forget;
    /* What the audit has told. */
    uint64_t breaches;
    uint64_t versions; /* of robots.txt */
    uint64_t refused;
    uint64_t requests; /* that count: of the URL, when there is one */
    uint64_t robots;
    uint64_t bytes;
    uint64_t of_status[6]; /* errors, 1xx ... 5xx */
    WallTime first;
    WallTime last;
    int64_t shortest_ms; /* between two requests to the host, or to the address; -1 = one request */
    int64_t owed_ms;     /* what was owed then */
    IpAddress address;   /* that was asked last */
    bool was_asked;
    char referrer[WHY_BYTES]; /* of the last page that was asked for and found by a link */
    char page[WHY_BYTES];     /* that page */
} Complaint;

/* ---- what was asked ---- */

static bool complaint_is_about(const Complaint *complaint, const CrawlLogLine *line)
{
    return complaint->url.length == 0 ||
           (complaint->url.length == line->url.length &&
            memcmp(complaint->url.data, line->url.bytes, line->url.length) == 0);
}

/* A sink of the audit. */
static void complaint_note(void *context, const AuditFetch *fetch, const AuditPause *pause)
{
    Complaint *complaint = context;
    CrawlLogLine line;
    const char *why = NULL;
    if (fetch->text == NULL ||
        crawl_log_line_parse(fetch->text, strlen(fetch->text), &line, &why) != RESULT_OK) {
        return;
    }
    bool by_host = complaint->host.length > 0;
    int64_t ms = by_host ? pause->host : pause->address;
    int64_t owed = by_host ? pause->host_owed : pause->address_owed;
    if (ms >= 0 && (complaint->shortest_ms < 0 || ms < complaint->shortest_ms)) {
        complaint->shortest_ms = ms;
        complaint->owed_ms = owed;
    }
    if (!complaint_is_about(complaint, &line)) {
        return;
    }
    bool robots = crawl_log_line_is_robots(&line);
    complaint->first = complaint->requests == 0 ? line.start : complaint->first;
    complaint->last = line.end;
    complaint->requests++;
    complaint->robots += robots;
    complaint->bytes += line.bytes > 0 ? (uint64_t)line.bytes : 0;
    complaint->of_status[line.status >= 100 && line.status < 600 ? line.status / 100 : 0]++;
    complaint->address = line.address;
    complaint->was_asked = true;
    if (!robots && (line.referrer.length > 0 || complaint->page[0] == '\0')) {
        (void)snprintf(complaint->page, sizeof complaint->page, "%.*s", (int)line.url.length,
                       line.url.bytes);
        (void)snprintf(complaint->referrer, sizeof complaint->referrer, "%.*s",
                       (int)line.referrer.length, line.referrer.bytes);
    }
}

/* The address of this machine that requests to there come from. False: it cannot be told. */
static bool complaint_source(const Complaint *complaint, char text[IP_ADDRESS_TEXT_BYTES])
{
    struct sockaddr_storage to;
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof from;
    IpAddress address;
    if (!complaint->was_asked) {
        return false;
    }
    socklen_t to_length = ip_address_to_socket(&complaint->address, 80, &to);
    int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    /* A datagram socket only finds the route; nothing is sent. */
    int rc = connect(fd, (const struct sockaddr *)&to, to_length);
    bool found = fd >= 0 && rc == 0 && getsockname(fd, (struct sockaddr *)&from, &length) == 0 &&
                 ip_address_of_socket((const struct sockaddr *)&from, &address) == RESULT_OK;
    if (found) {
        (void)ip_address_format(&address, text);
    }
    file_close_fd(fd);
    return found;
}

/* ---- the letter ---- */

static void complaint_print_figures(const Complaint *complaint)
{
    static const char *const words[] = {"without an answer",
                                        "1xx",
                                        "answered (2xx)",
                                        "redirected (3xx)",
                                        "refused or not found (4xx)",
                                        "errors of the server (5xx)"};
    char first[AUDIT_TIME_BYTES];
    char last[AUDIT_TIME_BYTES];
    (void)printf("    requests      %" PRIu64 ", of these %" PRIu64 " for robots.txt\n",
                 complaint->requests, complaint->robots);
    (void)printf("    received      %.1f kB\n", (double)complaint->bytes / 1e3);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (complaint->of_status[i] > 0) {
            (void)printf("    %-13" PRIu64 " %s\n", complaint->of_status[i], words[i]);
        }
    }
    (void)printf("    first         %s UTC\n    last          %s UTC\n",
                 audit_text_time(complaint->first, first), audit_text_time(complaint->last, last));
    if (complaint->shortest_ms >= 0) {
        (void)printf("    shortest      %.3f s between two requests to the same %s",
                     (double)complaint->shortest_ms / 1e3,
                     complaint->host.length > 0 ? "host" : "address");
        if (complaint->owed_ms >= 0) {
            (void)printf(" (%.3f s were to be kept)", (double)complaint->owed_ms / 1e3);
        }
        (void)fputc('\n', stdout);
    }
    (void)printf("    robots.txt    %" PRIu64 " versions were read; %" PRIu64
                 " URLs were not requested because of it\n",
                 complaint->versions, complaint->refused);
}

static void complaint_print_why(const Complaint *complaint)
{
    if (complaint->page[0] == '\0') {
        return;
    }
    if (complaint->referrer[0] == '\0') {
        (void)printf("Our crawl was told to begin at %s.\n", complaint->page);
    } else {
        (void)printf("It came there by links: %s, for example, is linked on %s.\n", complaint->page,
                     complaint->referrer);
    }
}

static void complaint_print(const Complaint *complaint, const Config *config)
{
    char source[IP_ADDRESS_TEXT_BYTES];
    uint64_t breaches = complaint->breaches;
    (void)printf("Subject: Requests of our crawler to %s\n\nThank you for writing to us.\n\n",
                 complaint->subject);
    if (complaint->requests == 0) {
        (void)printf("Our log, which has every request of this crawl, has none to %s. Somebody "
                     "else may use the\nname of our crawler. Please send us the time and the "
                     "address of such a request.\n",
                     complaint->subject);
    } else {
        (void)printf("Our crawler (%s) has made these requests to %s:\n\n",
                     *config->crawl_user_agent == '\0' ? "ragno" : config->crawl_user_agent,
                     complaint->subject);
        complaint_print_figures(complaint);
        (void)printf("\nThey came from %s. ", complaint_source(complaint, source)
                                                  ? source
                                                  : "an address that this machine cannot tell");
        complaint_print_why(complaint);
        if (breaches == 0) {
            (void)printf("\nWe have checked all of them: the pauses that we promise were kept, and "
                         "robots.txt was obeyed.\n");
        } else {
            (void)printf("\nWe have checked all of them, and %" PRIu64 " were not as they should "
                         "have been. We are sorry, and look into it.\n",
                         breaches);
        }
    }
    if (complaint->deny || complaint->forget) {
        (void)printf("\nWe do not visit %s any more, from this moment on.\n", complaint->subject);
    } else {
        (void)printf("\nIf you do not want our crawler at %s, say so, and it stops at once.\n",
                     complaint->subject);
    }
    if (complaint->forget) {
        (void)printf("What we had stored of it is erased from this crawl.\n");
    }
    if (*config->crawl_contact != '\0') {
        (void)printf("\nWho we are, and how robots.txt keeps our crawler out: %s\n",
                     config->crawl_contact);
    }
}

/* ---- what is done ---- */

/* As the command of this name does it. */
static int complaint_have(const Complaint *complaint, int (*main_of)(int argc, char **argv),
                          const char *name, const char *word)
{
    char *words[] = {(char *)(uintptr_t)name, (char *)(uintptr_t)complaint->directory,
                     (char *)(uintptr_t)word, (char *)(uintptr_t)complaint->subject, NULL};
    return main_of(4, words);
}

/* ---- the command ---- */

EMBED(complaint_usage, "src/command/complaint_command.txt");

/* What the word means: an address, a URL or a host. */
static Result complaint_read(Complaint *complaint)
{
    Url url = {.href = NULL};
    IpAddress address;
    bool is_url = strstr(complaint->subject, "://") != NULL;
    if (ip_address_parse(complaint->subject, strlen(complaint->subject), &address) == RESULT_OK) {
        complaint->has_ips = true;
        return ip_ranges_parse(&complaint->ips, complaint->subject, &complaint->host);
    }
    Result rc = url_parse_word(&url, complaint->subject);
    if (rc == RESULT_OK) {
        rc = buffer_append(&complaint->host, url.href + url.host_start,
                           url.host_end - url.host_start);
    }
    if (rc == RESULT_OK && is_url) {
        rc = buffer_append(&complaint->url, url.href, url.length);
    }
    url_destroy(&url);
    return rc;
}

static int complaint_parse(Complaint *complaint, int argc, char **argv)
{
    const CommandOption options[] = {{"deny", 0, COMMAND_FLAG, .to = &complaint->deny},
                                     {"forget", 0, COMMAND_FLAG, .to = &complaint->forget}};
    CommandLine line = {"complaint", complaint_usage, COMMAND_ROWS(options), .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status;
    }
    complaint->directory = line.words[0];
    complaint->subject = line.words[1];
    if (complaint_read(complaint) != RESULT_OK) {
        (void)fprintf(stderr, "ragno complaint: '%s' is neither a URL, a host nor an address\n",
                      complaint->subject);
        return EXIT_USAGE;
    }
    return 0;
}

/* The denial, so that the letter has the last of the requests; the audit, the erasure, and the
 * letter, which says what was done. */
static int complaint_run(Complaint *complaint, const Config *config, PageDB *db)
{
    int status = complaint->deny ? complaint_have(complaint, ctl_main, "ctl", "deny") : 0;
    if (status != 0) {
        (void)page_db_delete(db);
        return status;
    }
    Audit audit;
    Buffer error = {.limit = 65536};
    AuditOptions options = {.directory = complaint->directory,
                            .host = complaint->has_ips ? NULL : buffer_string(&complaint->host),
                            .ips = complaint->has_ips ? &complaint->ips : NULL,
                            .from = {INT64_MIN},
                            .until = {INT64_MAX},
                            .sink = {.context = complaint, .request = complaint_note}};
    Result rc = audit_run(&audit, &options, db, &error);
    if (rc == RESULT_INVALID && audit.counts.lines > 0) { /* no request to it: the letter says so */
        (void)fprintf(stderr, "ragno complaint: %s\n", buffer_string(&error));
        rc = RESULT_OK;
    }
    complaint->breaches = audit_findings_total(&audit.findings);
    complaint->versions = audit.counts.versions;
    complaint->refused = audit.counts.refused;
    audit_destroy(&audit); /* with the database, which an erasure takes for itself */
    status = exit_status_tell("complaint", rc, &error) == 0 ? 0 : EXIT_IO;
    if (status == 0 && complaint->forget) {
        status = complaint_have(complaint, forget_main, "forget", "-q");
    }
    if (status == 0) {
        complaint_print(complaint, config);
        status = complaint->breaches > 0 ? EXIT_NEGATIVE : 0;
    }
    return status;
}

int complaint_main(int argc, char **argv)
{
    Complaint complaint = {.shortest_ms = -1, .owed_ms = -1};
    Config config;
    PageDB *db = NULL;
    buffer_init(&complaint.host, BUFFER_NO_LIMIT);
    buffer_init(&complaint.url, BUFFER_NO_LIMIT);
    if (config_init(&config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    int status = complaint_parse(&complaint, argc, argv);
    if (status == 0) {
        status = crawl_open("complaint", complaint.directory, true, &db);
        if (status == 0) {
            /* The crawl's own settings, as far as they can be read: the letter says who crawls. */
            (void)config_load_of(&config, complaint.directory, NULL);
            status = complaint_run(&complaint, &config, db);
        }
    }
    config_destroy(&config);
    ip_ranges_destroy(&complaint.ips);
    buffer_destroy(&complaint.host);
    buffer_destroy(&complaint.url);
    return status == COMMAND_HELPED ? 0 : status;
}
