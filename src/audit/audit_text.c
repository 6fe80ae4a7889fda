#include "audit/audit_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/temporary_file.h"
#include "base/memory/json_writer.h"

/* ---- Audit text ---- */

#define CLOSEST_HOSTS 5u
#define CHANGES_TOLD  20u

const char *audit_text_time(WallTime time, char text[AUDIT_TIME_BYTES])
{
    char iso[CLOCK_TEXT_BYTES];
    (void)snprintf(text, AUDIT_TIME_BYTES, "%s", wall_format_iso(time, iso));
    text[10] = ' ';
    text[23] = '\0'; /* its Z */
    return text;
}

static void print_place(const Audit *audit, AuditPlace place, FILE *out)
{
    (void)fprintf(out, "%s:%" PRIu64, log_reader_name(audit->reader, place.file), place.line);
}

/* ---- breaches ---- */

static void print_pause(const Audit *audit, const AuditFinding *finding, FILE *out)
{
    bool at_once = finding->found < 0;
    (void)fprintf(out, "%s was asked ", finding->subject);
    if (at_once) {
        (void)fprintf(out, "%" PRId64 " ms before the end of the request in ", -finding->found);
    } else {
        (void)fprintf(out, "%" PRId64 " ms after the request in ", finding->found);
    }
    if (finding->before.line == 0) {
        (void)fprintf(out, "a log that is gone");
    } else {
        print_place(audit, finding->before, out);
    }
    (void)fprintf(out, "; it was owed %" PRId64 " ms, so %" PRId64 " ms too soon\n", finding->asked,
                  finding->asked - finding->found);
}

static void print_finding(const Audit *audit, const AuditFinding *finding, FILE *out)
{
    (void)fprintf(out, "breach %s ", audit_breach_name(finding->breach));
    print_place(audit, finding->place, out);
    (void)fprintf(out, ": ");
    switch (finding->breach) {
    case BREACH_HOST_PAUSE:
    case BREACH_IP_PAUSE:
    case BREACH_AT_ONCE:
        print_pause(audit, finding, out);
        break;
    case BREACH_OWED:
        (void)fprintf(
            out, "%s was owed %" PRId64 " ms according to its line, but %" PRId64 " ms were due\n",
            finding->subject, finding->found, finding->asked);
        break;
    case BREACH_STATED:
        (void)fprintf(out,
                      "the line states a pause of %" PRId64 " ms for %s, its times give %" PRId64
                      " ms\n",
                      finding->asked, finding->subject, finding->found);
        break;
    case BREACH_FORBIDDEN:
        (void)fprintf(out, "%s is forbidden by version %" PRId64 " of robots.txt: %s\n",
                      finding->subject, finding->asked,
                      finding->rule == NULL ? "(out of memory)" : finding->rule);
        break;
    case BREACH_NO_ROBOTS:
        (void)fprintf(out, "%s was fetched before robots.txt was known\n", finding->subject);
        break;
    case AUDIT_BREACHES:
        break;
    }
}

static void print_findings(const Audit *audit, FILE *out)
{
    const AuditFindings *findings = &audit->findings;
    for (size_t i = 0; i < findings->n_kept; i++) {
        print_finding(audit, &findings->kept[i], out);
    }
    uint64_t more = audit_findings_total(findings) - findings->n_kept;
    if (more > 0) {
        (void)fprintf(out, "and %" PRIu64 " more\n", more);
    }
    if (audit_findings_total(findings) > 0) {
        (void)fputc('\n', out);
    }
}

/* ---- closest calls ---- */

static int by_slack(const void *a, const void *b)
{
    const AuditHost *x = *(AuditHost *const *)a;
    const AuditHost *y = *(AuditHost *const *)b;
    int64_t p = x->subject.closest.slack;
    int64_t q = y->subject.closest.slack;
    return p != q ? (p > q ? 1 : -1) : strcmp(x->origin, y->origin);
}

/* The hosts that are asked about and were paused for, the closest first; *list is the caller's. */
static size_t closest_hosts(const Audit *audit, AuditHost ***list)
{
    size_t place = 0;
    size_t n = 0;
    AuditHost *host = NULL;
    *list = malloc((audit->hosts.hosts.count + 1) * sizeof **list);
    while (*list != NULL && (host = map_next(&audit->hosts.hosts, &place)) != NULL) {
        if (host->is_selected && host->subject.closest.slack != INT64_MAX) {
            (*list)[n++] = host;
        }
    }
    if (n > 0) {
        qsort(*list, n, sizeof **list, by_slack);
    }
    return n < CLOSEST_HOSTS ? n : CLOSEST_HOSTS;
}

static const AuditAddress *closest_address(const Audit *audit)
{
    size_t place = 0;
    const AuditAddress *address = NULL;
    const AuditAddress *closest = NULL;
    while ((address = map_next(&audit->hosts.addresses, &place)) != NULL) {
        if (address->is_selected && address->subject.closest.slack != INT64_MAX &&
            (closest == NULL || address->subject.closest.slack < closest->subject.closest.slack)) {
            closest = address;
        }
    }
    return closest;
}

static void print_closest(const Audit *audit, const char *name, const AuditClosest *closest,
                          FILE *out)
{
    (void)fprintf(out, "    %6" PRId64 " ms  owed %" PRId64 " ms  %s  ",
                  closest->owed + closest->slack, closest->owed, name);
    print_place(audit, closest->before, out);
    (void)fprintf(out, " -> ");
    print_place(audit, closest->place, out);
    (void)fputc('\n', out);
}

/* ---- figures ---- */

static uint64_t breaches(const Audit *audit, AuditBreach a, AuditBreach b, AuditBreach c)
{
    const uint64_t *count = audit->findings.count;
    return count[a] + (b != a ? count[b] : 0) + (c != a && c != b ? count[c] : 0);
}

static void print_requests(const Audit *audit, FILE *out)
{
    const AuditCounts *counts = &audit->counts;
    char first[AUDIT_TIME_BYTES];
    char last[AUDIT_TIME_BYTES];
    (void)fprintf(out,
                  "requests    %" PRIu64 " (%" PRIu64 " of robots.txt) to %" PRIu64
                  " host%s at %" PRIu64 " address%s, %" PRIu64 " bytes\n",
                  counts->requests, counts->robots_files, counts->hosts,
                  counts->hosts == 1 ? "" : "s", counts->addresses,
                  counts->addresses == 1 ? "" : "es", counts->bytes);
    if (counts->requests > 0) {
        (void)fprintf(out, "from        %s to %s UTC\n", audit_text_time(counts->first, first),
                      audit_text_time(counts->last, last));
    }
}

static void print_pauses(const Audit *audit, FILE *out)
{
    AuditHost **hosts = NULL;
    char ip[IP_ADDRESS_TEXT_BYTES];
    size_t n = closest_hosts(audit, &hosts);
    uint64_t wrong = breaches(audit, BREACH_HOST_PAUSE, BREACH_OWED, BREACH_STATED);
    (void)fprintf(out, "hosts       %" PRIu64 " breaches in %" PRIu64 " pauses%s\n", wrong,
                  audit->pauses.judged_hosts, n > 0 ? "; the closest:" : "");
    for (size_t i = 0; i < n; i++) {
        print_closest(audit, hosts[i]->origin, &hosts[i]->subject.closest, out);
    }
    free(hosts);
    const AuditAddress *address = closest_address(audit);
    wrong = breaches(audit, BREACH_IP_PAUSE, BREACH_AT_ONCE, BREACH_AT_ONCE);
    (void)fprintf(out,
                  "addresses   %" PRIu64 " breaches in %" PRIu64 " pauses, %" PRIu64
                  " of them two requests at once%s\n",
                  wrong, audit->pauses.judged_addresses, audit->findings.count[BREACH_AT_ONCE],
                  address != NULL ? "; the closest:" : "");
    if (address != NULL) {
        print_closest(audit, ip_address_format(&address->ip, ip), &address->subject.closest, out);
    }
}

static void print_robots(const Audit *audit, FILE *out)
{
    const AuditCounts *counts = &audit->counts;
    (void)fprintf(out,
                  "robots.txt  %" PRIu64 " breaches in %" PRIu64 " pages, judged by %" PRIu64
                  " versions; %" PRIu64 " URLs were forbidden and not asked for\n",
                  breaches(audit, BREACH_FORBIDDEN, BREACH_NO_ROBOTS, BREACH_NO_ROBOTS),
                  counts->judged_by_robots, counts->versions, counts->refused);
}

/* What the log could not prove. */
static void print_unproven(const Audit *audit, FILE *out)
{
    const AuditCounts *counts = &audit->counts;
    const char *problem = log_reader_problem(audit->reader);
    if (counts->not_judged_by_robots > 0) {
        (void)fprintf(out,
                      "unproven    %" PRIu64
                      " pages: the content of their robots.txt is neither in "
                      "the database nor in the WARC files (%" PRIu64 " versions)\n",
                      counts->not_judged_by_robots, audit->robots.n_unknown);
    }
    if (counts->without_times > 0) {
        (void)fprintf(out, "unproven    %" PRIu64 " requests: their lines have no ip: and mono:\n",
                      counts->without_times);
    }
    if (audit->pauses.not_owed > 0) {
        (void)fprintf(out,
                      "unproven    %" PRIu64 " pauses: neither the log nor %s says how long they "
                      "had to be\n",
                      audit->pauses.not_owed, "config.ini");
    }
    if (audit->pauses.missing > 0) {
        (void)fprintf(out,
                      "unproven    %" PRIu64
                      " pauses: they are longer than stated, so the log lacks "
                      "a request in between\n",
                      audit->pauses.missing);
    }
    if (counts->unreadable > 0) {
        (void)fprintf(
            out, "unproven    %" PRIu64 " lines cannot be read; the first: ", counts->unreadable);
        print_place(audit, audit->unreadable, out);
        (void)fprintf(out, ": %s\n", audit->unreadable_why);
    }
    if (problem != NULL) {
        (void)fprintf(out, "unproven    %s\n", problem);
    }
    if (audit->pauses.by_wall_clock > 0) {
        (void)fprintf(out,
                      "note        %" PRIu64 " pauses over a restart of the machine were measured "
                      "by the wall clock\n",
                      audit->pauses.by_wall_clock);
    }
}

/* An answer to a complaint says when the delays were changed, and by whom. */
static void print_changes(const Audit *audit, FILE *out)
{
    const AuditChanges *changes = &audit->delays.changes;
    char time[AUDIT_TIME_BYTES];
    for (size_t i = 0; i < changes->n && i < CHANGES_TOLD; i++) {
        (void)fprintf(out, "changed     %s UTC %s\n", audit_text_time(changes->list[i].time, time),
                      changes->list[i].text);
    }
    if (changes->n > CHANGES_TOLD) {
        (void)fprintf(out, "changed     and %zu more times (ragno.log)\n",
                      changes->n - CHANGES_TOLD);
    }
    if (audit->pauses.by_order > 0) {
        (void)fprintf(out,
                      "ordered     %" PRIu64 " times an operator had a host asked before its rest "
                      "was over; the last order:\n            %s UTC %s\n",
                      audit->pauses.by_order,
                      audit_text_time(changes->orders[changes->n_orders - 1].time, time),
                      changes->orders[changes->n_orders - 1].text);
    }
}

void audit_text_print(const Audit *audit, FILE *out)
{
    uint64_t total = audit_findings_total(&audit->findings);
    print_findings(audit, out);
    print_requests(audit, out);
    print_pauses(audit, out);
    print_robots(audit, out);
    print_changes(audit, out);
    print_unproven(audit, out);
    if (total == 0) {
        (void)fprintf(out, "verdict     no breach\n");
    } else {
        (void)fprintf(out, "verdict     %" PRIu64 " breach%s\n", total, total == 1 ? "" : "es");
    }
}

/* ---- JSON ---- */

static void json_place(JsonWriter *json, const Audit *audit, const char *name, AuditPlace place)
{
    Buffer text;
    if (place.line == 0) {
        json_null(json, name);
        return;
    }
    buffer_init(&text, 4096);
    (void)buffer_printf(&text, "%s:%" PRIu64, log_reader_name(audit->reader, place.file),
                        place.line);
    json_string(json, name, buffer_string(&text));
    buffer_destroy(&text);
}

static void json_findings(JsonWriter *json, const Audit *audit)
{
    char time[CLOCK_TEXT_BYTES];
    json_open(json, "breaches_by_kind", '{');
    for (size_t i = 0; i < AUDIT_BREACHES; i++) {
        json_count(json, audit_breach_name((AuditBreach)i), audit->findings.count[i]);
    }
    json_close(json);
    json_open(json, "breaches_kept", '[');
    for (size_t i = 0; i < audit->findings.n_kept; i++) {
        const AuditFinding *finding = &audit->findings.kept[i];
        bool robots = finding->breach == BREACH_FORBIDDEN || finding->breach == BREACH_NO_ROBOTS;
        json_open(json, NULL, '{');
        json_string(json, "kind", audit_breach_name(finding->breach));
        json_place(json, audit, "line", finding->place);
        json_place(json, audit, "line_before", finding->before);
        json_string(json, "time", wall_format_iso(finding->time, time));
        json_string(json, robots ? "url" : "subject", finding->subject);
        json_integer(json, robots ? "robots_version" : "owed_ms", finding->asked);
        if (robots) {
            json_string(json, "rule", finding->rule);
        } else {
            json_integer(json, "found_ms", finding->found);
        }
        json_close(json);
    }
    json_close(json);
}

static void json_closest(JsonWriter *json, const Audit *audit, const char *name,
                         const AuditClosest *closest)
{
    json_open(json, NULL, '{');
    json_string(json, "subject", name);
    json_integer(json, "pause_ms", closest->owed + closest->slack);
    json_integer(json, "owed_ms", closest->owed);
    json_place(json, audit, "line", closest->place);
    json_place(json, audit, "line_before", closest->before);
    json_close(json);
}

static void json_changes(JsonWriter *json, const AuditChanges *changes)
{
    char time[CLOCK_TEXT_BYTES];
    json_open(json, "delays_changed", '[');
    for (size_t i = 0; i < changes->n; i++) {
        json_open(json, NULL, '{');
        json_string(json, "time", wall_format_iso(changes->list[i].time, time));
        json_string(json, "change", changes->list[i].text);
        json_close(json);
    }
    json_close(json);
}

static void json_pauses(JsonWriter *json, const Audit *audit)
{
    AuditHost **hosts = NULL;
    char ip[IP_ADDRESS_TEXT_BYTES];
    size_t n = closest_hosts(audit, &hosts);
    const AuditAddress *address = closest_address(audit);
    json_count(json, "host_pauses", audit->pauses.judged_hosts);
    json_count(json, "address_pauses", audit->pauses.judged_addresses);
    json_open(json, "closest_hosts", '[');
    for (size_t i = 0; i < n; i++) {
        json_closest(json, audit, hosts[i]->origin, &hosts[i]->subject.closest);
    }
    json_close(json);
    json_open(json, "closest_addresses", '[');
    if (address != NULL) {
        json_closest(json, audit, ip_address_format(&address->ip, ip), &address->subject.closest);
    }
    json_close(json);
    free(hosts);
}

static void json_counts(JsonWriter *json, const Audit *audit)
{
    const AuditCounts *counts = &audit->counts;
    char time[CLOCK_TEXT_BYTES];
    bool any = counts->requests > 0;
    json_count(json, "lines", counts->lines);
    json_count(json, "requests", counts->requests);
    json_count(json, "robots_files", counts->robots_files);
    json_count(json, "pages", counts->pages);
    json_count(json, "bytes", counts->bytes);
    json_count(json, "hosts", counts->hosts);
    json_count(json, "addresses", counts->addresses);
    json_string(json, "first", any ? wall_format_iso(counts->first, time) : NULL);
    json_string(json, "last", any ? wall_format_iso(counts->last, time) : NULL);
    json_count(json, "robots_versions", counts->versions);
    json_count(json, "robots_judged", counts->judged_by_robots);
    json_count(json, "robots_refused", counts->refused);
    json_open(json, "unproven", '{');
    json_count(json, "robots_not_known", counts->not_judged_by_robots);
    json_count(json, "without_times", counts->without_times);
    json_count(json, "nothing_owed_is_known", audit->pauses.not_owed);
    json_count(json, "requests_missing", audit->pauses.missing);
    json_count(json, "unreadable_lines", counts->unreadable);
    json_string(json, "unreadable_file", log_reader_problem(audit->reader));
    json_close(json);
}

Result audit_text_json(const Audit *audit, Buffer *out)
{
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_count(&json, "breaches", audit_findings_total(&audit->findings));
    json_counts(&json, audit);
    json_pauses(&json, audit);
    json_changes(&json, &audit->delays.changes);
    json_findings(&json, audit);
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}

/* ---- Audit complaint ---- */

#define VERSIONS_MAX  100u /* shown */
#define CONTENT_LINES 200u /* of one robots.txt */
#define COPY_BYTES    65536u

/* A content of a host's robots.txt that was in force. */
typedef struct Version {
    const char *origin; /* the audit's */
    int64_t version;
    WallTime first; /* request under it */
    WallTime last;
    uint64_t pages;
} Version;

struct AuditComplaint {
    FILE *rows;
    Version *versions;
    size_t n_versions;
    uint64_t versions_left_out;
    int64_t shortest_host; /* ms; -1 = there was no pause */
    int64_t shortest_host_owed;
    int64_t shortest_address;
    uint64_t bound_by_host; /* pauses whose end the host's delay decided */
    uint64_t bound_by_address;
    Result result;
};

Result audit_complaint_new(AuditComplaint **out)
{
    AuditComplaint *complaint = calloc(1, sizeof *complaint);
    int fd = -1;
    if (complaint == NULL) {
        return RESULT_MEMORY;
    }
    complaint->shortest_host = -1;
    complaint->shortest_address = -1;
    const char *folder = getenv("TMPDIR");
    Result rc = temporary_file_open(AT_FDCWD, folder == NULL ? "/tmp" : folder, &fd);
    if (rc == RESULT_OK) {
        complaint->rows = fdopen(fd, "w+");
        rc = complaint->rows == NULL ? RESULT_MEMORY : RESULT_OK;
        if (rc != RESULT_OK) {
            (void)close(fd);
        }
    }
    complaint->versions = calloc(VERSIONS_MAX, sizeof *complaint->versions);
    rc = rc == RESULT_OK && complaint->versions == NULL ? RESULT_MEMORY : rc;
    if (rc != RESULT_OK) {
        audit_complaint_delete(complaint);
        return rc;
    }
    *out = complaint;
    return RESULT_OK;
}

void audit_complaint_delete(AuditComplaint *complaint)
{
    if (complaint == NULL) {
        return;
    }
    if (complaint->rows != NULL) {
        (void)fclose(complaint->rows);
    }
    free(complaint->versions);
    free(complaint);
}

/* ---- requests ---- */

static void audit_complaint_note_version(AuditComplaint *complaint, const AuditFetch *fetch,
                                         const CrawlLogLine *line)
{
    size_t i = 0;
    if (line->robots < 1 || crawl_log_line_is_robots(line)) {
        return;
    }
    while (i < complaint->n_versions && (complaint->versions[i].version != line->robots ||
                                         complaint->versions[i].origin != fetch->host->origin)) {
        i++;
    }
    if (i == VERSIONS_MAX) {
        complaint->versions_left_out++;
        return;
    }
    Version *version = &complaint->versions[i];
    if (i == complaint->n_versions) {
        *version = (Version){
            .origin = fetch->host->origin, .version = line->robots, .first = fetch->start};
        complaint->n_versions++;
    }
    version->last = fetch->start;
    version->pages++;
}

static int64_t shorter(int64_t a, int64_t b)
{
    return b < 0 || (a >= 0 && a <= b) ? a : b;
}

static void print_ms(FILE *out, int64_t ms)
{
    if (ms < 0) {
        (void)fprintf(out, "          -");
    } else {
        (void)fprintf(out, " %6" PRId64 ".%03ds", ms / 1000, (int)(ms % 1000));
    }
}

static void audit_complaint_take_request(void *context, const AuditFetch *fetch,
                                         const AuditPause *pause)
{
    AuditComplaint *complaint = context;
    CrawlLogLine line;
    const char *why = NULL;
    char time[AUDIT_TIME_BYTES];
    char ip[IP_ADDRESS_TEXT_BYTES];
    if (crawl_log_line_parse(fetch->text, strlen(fetch->text), &line, &why) != RESULT_OK) {
        return; /* it was read before */
    }
    audit_complaint_note_version(complaint, fetch, &line);
    int64_t shortest = shorter(complaint->shortest_host, pause->host);
    if (shortest != complaint->shortest_host) {
        complaint->shortest_host = shortest;
        complaint->shortest_host_owed = pause->host_owed;
    }
    complaint->shortest_address = shorter(complaint->shortest_address, pause->address);
    if (pause->host >= 0 && pause->address >= 0) { /* the delay that ended later bound it */
        bool by_address = pause->address - pause->address_owed < pause->host - pause->host_owed;
        complaint->bound_by_address += by_address;
        complaint->bound_by_host += !by_address;
    }
    (void)fprintf(complaint->rows, "%s", audit_text_time(fetch->start, time));
    print_ms(complaint->rows, pause->host);
    (void)fprintf(complaint->rows, " %6d %9" PRId64 " %6" PRId64 " ms", line.status,
                  line.bytes < 0 ? 0 : line.bytes, line.duration_ms);
    if (line.robots >= 1 && !crawl_log_line_is_robots(&line)) {
        (void)fprintf(complaint->rows, " %6" PRId64, line.robots);
    } else {
        (void)fprintf(complaint->rows, "      -");
    }
    if (fprintf(complaint->rows, "  %-15s %.*s\n", ip_address_format(&fetch->address->ip, ip),
                (int)line.url.length, line.url.bytes) < 0) {
        complaint->result = RESULT_IO;
    }
}

AuditSink audit_complaint_sink(AuditComplaint *complaint)
{
    return (AuditSink){.context = complaint, .request = audit_complaint_take_request};
}

/* ---- the answer ---- */

static void print_head(const Audit *audit, const AuditOptions *options, FILE *out)
{
    const Config *config = &audit->delays.config;
    const AuditCounts *counts = &audit->counts;
    char first[AUDIT_TIME_BYTES];
    char last[AUDIT_TIME_BYTES];
    (void)fprintf(out, "What our crawler requested");
    if (options->host != NULL) {
        (void)fprintf(out, " of %s", options->host);
    }
    (void)fprintf(out, "\n\n");
    if (audit->delays.is_known && *config->crawl_user_agent != '\0') {
        (void)fprintf(out, "crawler          %s\n", config->crawl_user_agent);
    } else if (audit->delays.is_known) {
        (void)fprintf(out, "crawler          ragno%s%s%s\n",
                      *config->crawl_contact == '\0' ? "" : " (+", config->crawl_contact,
                      *config->crawl_contact == '\0' ? "" : ")");
    }
    if (audit->delays.is_known) {
        (void)fprintf(out, "obeys            robots.txt groups for \"%s\", or else for \"*\"\n",
                      audit_delays_agent(&audit->delays));
    }
    (void)fprintf(out,
                  "requests         %" PRIu64 ", of them %" PRIu64 " of robots.txt; %" PRIu64
                  " bytes received\n",
                  counts->requests, counts->robots_files, counts->bytes);
    if (counts->requests > 0) {
        (void)fprintf(out, "from             %s to %s UTC\n", audit_text_time(counts->first, first),
                      audit_text_time(counts->last, last));
    }
    (void)fprintf(out, "not requested    %" PRIu64 " URLs, since robots.txt forbids them\n",
                  counts->refused);
}

static void print_manners(const AuditComplaint *complaint, const Audit *audit, FILE *out)
{
    uint64_t total = audit_findings_total(&audit->findings);
    if (complaint->shortest_host >= 0) {
        (void)fprintf(out,
                      "shortest pause   %" PRId64 " ms between two requests to the host (owed: "
                      "%" PRId64 " ms)\n",
                      complaint->shortest_host, complaint->shortest_host_owed);
    }
    if (complaint->shortest_address >= 0) {
        (void)fprintf(out, "                 %" PRId64 " ms between two requests to one address\n",
                      complaint->shortest_address);
    }
    if (complaint->bound_by_host + complaint->bound_by_address > 0) {
        (void)fprintf(out,
                      "bound by         the delay of the host %" PRIu64
                      " times, that of its address %" PRIu64 " times\n",
                      complaint->bound_by_host, complaint->bound_by_address);
    }
    if (total == 0) {
        (void)fprintf(out,
                      "breaches         none: every pause was kept, and every page was allowed "
                      "by the robots.txt of its time\n");
    } else {
        (void)fprintf(out, "breaches         %" PRIu64 ", listed at the end\n", total);
    }
    if (audit->counts.not_judged_by_robots > 0) {
        (void)fprintf(out,
                      "not known        the robots.txt in force for %" PRIu64 " of the pages\n",
                      audit->counts.not_judged_by_robots);
    }
}

/* The lines of a file, marked, without what a terminal could take for commands. */
static void print_content(const Buffer *content, FILE *out)
{
    size_t at = 0;
    unsigned n = 0;
    if (content->length == 0) {
        (void)fprintf(out, "    (there is none, or it is empty: everything is allowed)\n");
    }
    while (at < content->length && n++ < CONTENT_LINES) {
        const char *line = content->data + at;
        const char *end = memchr(line, '\n', content->length - at);
        size_t length = end == NULL ? content->length - at : (size_t)(end - line);
        (void)fprintf(out, "    | ");
        for (size_t i = 0; i < length; i++) {
            unsigned char c = (unsigned char)line[i];
            bool is_c1 = c == 0xC2 && i + 1 < length && (unsigned char)line[i + 1] >= 0x80 &&
                         (unsigned char)line[i + 1] < 0xA0;
            if (is_c1) {
                (void)fputc('?', out);
                i++;
            } else if (c != '\r') {
                (void)fputc(c < ' ' && c != '\t' ? '?' : c == 0x7F ? '?' : c, out);
            }
        }
        (void)fputc('\n', out);
        at += length + 1;
    }
    if (at < content->length) {
        (void)fprintf(out, "    ... (%zu bytes in all)\n", content->length);
    }
}

static Result print_versions(const AuditComplaint *complaint, Audit *audit, FILE *out)
{
    Buffer content;
    Result rc = RESULT_OK;
    buffer_init(&content, BUFFER_NO_LIMIT);
    for (size_t i = 0; rc == RESULT_OK && i < complaint->n_versions; i++) {
        const Version *version = &complaint->versions[i];
        char first[AUDIT_TIME_BYTES];
        char last[AUDIT_TIME_BYTES];
        (void)fprintf(out,
                      "\nrobots.txt of %s, version %" PRId64 ": in force for %" PRIu64
                      " pages, from %s to %s UTC\n",
                      version->origin, version->version, version->pages,
                      audit_text_time(version->first, first), audit_text_time(version->last, last));
        buffer_reset(&content);
        rc = audit_robots_content(&audit->robots, version->origin, version->version, version->first,
                                  &content);
        if (rc == RESULT_OK) {
            print_content(&content, out);
        } else if (rc == RESULT_NOT_FOUND) {
            (void)fprintf(out, "    (its content is not kept)\n");
            rc = RESULT_OK;
        }
    }
    if (complaint->versions_left_out > 0) {
        (void)fprintf(out, "\nFurther versions, of %" PRIu64 " pages, are left out.\n",
                      complaint->versions_left_out);
    }
    buffer_destroy(&content);
    return rc;
}

static Result print_rows(AuditComplaint *complaint, FILE *out)
{
    char block[COPY_BYTES];
    size_t n = 0;
    if (fflush(complaint->rows) != 0 || fseek(complaint->rows, 0, SEEK_SET) != 0) {
        return RESULT_IO;
    }
    (void)fprintf(out,
                  "\nThe pause is from the end of the request before to the begin of this one. A "
                  "negative status\nis an attempt that brought no answer.\n");
    (void)fprintf(out, "\n%-23s %11s %6s %9s %9s %6s  %-15s %s\n", "begun (UTC)", "pause", "status",
                  "bytes", "took", "robots", "address", "URL");
    while ((n = fread(block, 1, sizeof block, complaint->rows)) > 0) {
        if (fwrite(block, 1, n, out) != n) {
            return result_of_errno(errno);
        }
    }
    return ferror(complaint->rows) ? RESULT_IO : RESULT_OK;
}

Result audit_complaint_print(AuditComplaint *complaint, Audit *audit, const AuditOptions *options,
                             FILE *out)
{
    print_head(audit, options, out);
    print_manners(complaint, audit, out);
    Result rc = print_versions(complaint, audit, out);
    if (rc == RESULT_OK && audit->counts.requests > 0) {
        rc = print_rows(complaint, out);
    }
    (void)fputc('\n', out);
    return complaint->result != RESULT_OK ? complaint->result : rc;
}
