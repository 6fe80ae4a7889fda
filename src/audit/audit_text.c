#include "audit/audit_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"

/* ---- Audit text ---- */

#define CLOSEST_HOSTS 5u
#define CHANGES_TOLD  20u
#define AUDIT_LABELS  22u /* columns */
#define PLACE_BYTES   320u

const char *audit_text_time(WallTime time, char text[AUDIT_TIME_BYTES])
{
    char iso[CLOCK_TEXT_BYTES];
    (void)snprintf(text, AUDIT_TIME_BYTES, "%s", wall_format_iso(time, iso));
    text[10] = ' ';
    text[23] = '\0'; /* its Z */
    return text;
}

/* "crawl.log:12" in text, which has room for a name and a number; NULL: there is no such line. */
static const char *audit_text_place(const Audit *audit, AuditPlace place, char text[PLACE_BYTES])
{
    if (place.line == 0) {
        return NULL;
    }
    (void)snprintf(text, PLACE_BYTES, "%s:%" PRIu64, log_reader_name(audit->reader, place.file),
                   place.line);
    return text;
}

/* ---- breaches ---- */

static void audit_tell_findings(const Audit *audit, ReportWriter *to)
{
    static const ReportColumn columns[] = {
        {"kind", "breach", false, false},       {"line", "line", false, false},
        {"line_before", "after", false, false}, {"time", NULL, false, false},
        {"subject", "of", false, true},         {"owed_ms", "owed, ms", true, false},
        {"found_ms", "found, ms", true, false}, {"robots_version", "robots.txt", true, false},
        {"rule", "rule", false, false}};
    const AuditFindings *findings = &audit->findings;
    uint64_t total = audit_findings_total(findings);
    report_list(to, "breaches_kept", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < findings->n_kept; i++) {
        const AuditFinding *finding = &findings->kept[i];
        char line[PLACE_BYTES];
        char before[PLACE_BYTES];
        bool robots = finding->breach >= BREACH_FORBIDDEN;
        const ReportValue number = REPORT_INTEGER(finding->asked);
        const ReportValue values[] = {REPORT_TEXT(audit_breach_name(finding->breach)),
                                      REPORT_TEXT(audit_text_place(audit, finding->place, line)),
                                      REPORT_TEXT(audit_text_place(audit, finding->before, before)),
                                      REPORT_TIME(finding->time),
                                      REPORT_TEXT(finding->subject),
                                      robots ? REPORT_NONE : number,
                                      robots ? REPORT_NONE : REPORT_INTEGER(finding->found),
                                      robots ? number : REPORT_NONE,
                                      REPORT_TEXT(finding->rule)};
        report_row(to, values);
    }
    report_list_end(to);
    if (total > findings->n_kept) {
        report_note(to, NULL, "and %" PRIu64 " more", total - findings->n_kept);
    }
    report_object(to, "breaches_by_kind");
    for (size_t i = 0; i < AUDIT_BREACHES; i++) {
        report_fact(to, audit_breach_name((AuditBreach)i), NULL, REPORT_COUNT(findings->count[i]));
    }
    report_object_end(to);
}

/* ---- closest calls ---- */

static int by_slack(const void *a, const void *b)
{
    const AuditHost *x = *(AuditHost *const *)a;
    const AuditHost *y = *(AuditHost *const *)b;
    int64_t p = x->subject.closest.slack;
    int64_t q = y->subject.closest.slack;
    return p != q ? (p > q) - (p < q) : strcmp(x->origin, y->origin);
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

static void audit_tell_closest(const Audit *audit, const char *name, const AuditClosest *closest,
                               ReportWriter *to)
{
    char line[PLACE_BYTES];
    char before[PLACE_BYTES];
    const ReportValue values[] = {REPORT_TEXT(name), REPORT_INTEGER(closest->owed + closest->slack),
                                  REPORT_INTEGER(closest->owed),
                                  REPORT_TEXT(audit_text_place(audit, closest->place, line)),
                                  REPORT_TEXT(audit_text_place(audit, closest->before, before))};
    report_row(to, values);
}

static void audit_tell_pauses(const Audit *audit, ReportWriter *to)
{
    static const ReportColumn columns[] = {{"subject", "closest pauses", false, true},
                                           {"pause_ms", "ms", true, false},
                                           {"owed_ms", "owed", true, false},
                                           {"line", "line", false, false},
                                           {"line_before", "after", false, false}};
    AuditHost **hosts = NULL;
    char ip[IP_ADDRESS_TEXT_BYTES];
    size_t n = closest_hosts(audit, &hosts);
    const AuditAddress *address = closest_address(audit);
    report_fact(to, "host_pauses", "pauses of hosts", REPORT_COUNT(audit->pauses.judged_hosts));
    report_fact(to, "address_pauses", "pauses of addresses",
                REPORT_COUNT(audit->pauses.judged_addresses));
    report_list(to, "closest_hosts", columns, 5);
    for (size_t i = 0; i < n; i++) {
        audit_tell_closest(audit, hosts[i]->origin, &hosts[i]->subject.closest, to);
    }
    report_list_end(to);
    report_list(to, "closest_addresses", columns, 5);
    if (address != NULL) {
        audit_tell_closest(audit, ip_address_format(&address->ip, ip), &address->subject.closest,
                           to);
    }
    report_list_end(to);
    free(hosts);
}

/* ---- figures ---- */

static void audit_tell_counts(const Audit *audit, ReportWriter *to)
{
    const AuditCounts *counts = &audit->counts;
    bool any = counts->requests > 0;
    report_fact(to, "lines", "lines", REPORT_COUNT(counts->lines));
    report_fact(to, "requests", "requests", REPORT_COUNT(counts->requests));
    report_fact(to, "robots_files", "of robots.txt", REPORT_COUNT(counts->robots_files));
    report_fact(to, "pages", "of pages", REPORT_COUNT(counts->pages));
    report_fact(to, "hosts", "to hosts", REPORT_COUNT(counts->hosts));
    report_fact(to, "addresses", "at addresses", REPORT_COUNT(counts->addresses));
    report_fact(to, "bytes", "received", REPORT_BYTES(counts->bytes));
    report_fact(to, "first", "from", any ? REPORT_TIME(counts->first) : REPORT_NONE);
    report_fact(to, "last", "to", any ? REPORT_TIME(counts->last) : REPORT_NONE);
    report_fact(to, "robots_versions", "versions of robots.txt", REPORT_COUNT(counts->versions));
    report_fact(to, "robots_judged", "pages judged by them",
                REPORT_COUNT(counts->judged_by_robots));
    report_fact(to, "robots_refused", "URLs refused by them", REPORT_COUNT(counts->refused));
}

/* What is 0 is not told to people: nothing is unproven there. */
static void audit_tell_unproven(ReportWriter *to, const char *key, const char *label, uint64_t n)
{
    report_fact(to, key, n > 0 ? label : NULL, REPORT_COUNT(n));
}

/* What the log could not prove. */
static void audit_tell_doubts(const Audit *audit, ReportWriter *to)
{
    const AuditCounts *counts = &audit->counts;
    char place[PLACE_BYTES];
    report_object(to, "unproven");
    audit_tell_unproven(to, "robots_not_known",
                        "unproven: pages whose robots.txt is in neither database nor WARC files",
                        counts->not_judged_by_robots);
    audit_tell_unproven(to, "without_times", "unproven: requests whose lines have no ip: and mono:",
                        counts->without_times);
    audit_tell_unproven(to, "nothing_owed_is_known",
                        "unproven: pauses of which neither the log nor config.ini says how long "
                        "they had to be",
                        audit->pauses.not_owed);
    audit_tell_unproven(to, "requests_missing",
                        "unproven: pauses that are longer than stated, so the log lacks a request",
                        audit->pauses.missing);
    audit_tell_unproven(to, "unreadable_lines", "unproven: lines that cannot be read",
                        counts->unreadable);
    report_fact(to, "unreadable_first", "the first of them",
                REPORT_TEXT(audit_text_place(audit, audit->unreadable, place)));
    report_fact(to, "unreadable_why", "it",
                REPORT_TEXT(counts->unreadable > 0 ? audit->unreadable_why : NULL));
    report_fact(to, "unreadable_file", "unproven:", REPORT_TEXT(log_reader_problem(audit->reader)));
    audit_tell_unproven(to, "by_wall_clock",
                        "pauses over a restart of the machine, by the wall clock",
                        audit->pauses.by_wall_clock);
    report_object_end(to);
}

/* An answer to a complaint says when the delays were changed, and by whom. */
static void audit_tell_changes(const Audit *audit, ReportWriter *to)
{
    static const ReportColumn columns[] = {{"time", "changed", false, false},
                                           {"change", "how", false, false}};
    const AuditChanges *changes = &audit->delays.changes;
    report_list(to, "delays_changed", columns, 2);
    for (size_t i = 0; i < changes->n && (i < CHANGES_TOLD || report_is_json(to)); i++) {
        const ReportValue values[] = {REPORT_TIME(changes->list[i].time),
                                      REPORT_TEXT(changes->list[i].text)};
        report_row(to, values);
    }
    report_list_end(to);
    if (changes->n > CHANGES_TOLD) {
        report_note(to, NULL, "and %zu more times (ragno.log)", changes->n - CHANGES_TOLD);
    }
    if (audit->pauses.by_order > 0) {
        report_fact(to, "ordered", "asked early, by order", REPORT_COUNT(audit->pauses.by_order));
        report_fact(to, "ordered_last", "the last time",
                    REPORT_TIME(changes->orders[changes->n_orders - 1].time));
        report_fact(to, "ordered_how", "how",
                    REPORT_TEXT(changes->orders[changes->n_orders - 1].text));
    }
}

Result audit_write(const Audit *audit, ReportForm form, Buffer *out)
{
    uint64_t total = audit_findings_total(&audit->findings);
    ReportWriter *to = NULL;
    Result rc = report_writer_new(&to, form, AUDIT_LABELS, out);
    if (rc != RESULT_OK) {
        return rc;
    }
    audit_tell_findings(audit, to);
    audit_tell_counts(audit, to);
    audit_tell_pauses(audit, to);
    audit_tell_changes(audit, to);
    audit_tell_doubts(audit, to);
    report_fact(to, "breaches", total > 0 ? "breaches" : NULL, REPORT_COUNT(total));
    if (total == 0) {
        report_note(to, NULL, "no breach%s",
                    log_reader_problem(audit->reader) == NULL ? "" : " in what could be read");
    }
    return report_writer_end(to);
}

/* ---- Audit requests ---- */

#define CONTENT_LINES 200u /* of one robots.txt */

/* The lines of a file, marked, without what a terminal could take for commands. */
static void audit_requests_print_content(const Buffer *content, FILE *out)
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
            size_t control = ascii_control_bytes(line + i, length - i);
            i += control == 2 ? 1 : 0;
            if (line[i] != '\r') {
                (void)fputc(control > 0 && line[i] != '\t' ? '?' : line[i], out);
            }
        }
        (void)fputc('\n', out);
        at += length + 1;
    }
    if (at < content->length) {
        (void)fprintf(out, "    ... (%zu bytes in all)\n", content->length);
    }
}

/* The robots.txt that allows a page of this host, before the first page that it allows. */
static Result audit_requests_tell_robots(AuditRequests *requests, const AuditFetch *fetch,
                                         int64_t version)
{
    Buffer content = {.limit = BUFFER_NO_LIMIT};
    AuditHost *host = fetch->host;
    if (host->version_told == version) {
        return RESULT_OK;
    }
    host->version_told = version;
    (void)fprintf(requests->out, "robots.txt of %s, version %" PRId64 ":\n", host->origin, version);
    Result rc = audit_robots_content(&requests->audit->robots, host->origin, version, fetch->start,
                                     &content);
    if (rc == RESULT_OK) {
        audit_requests_print_content(&content, requests->out);
    } else if (rc == RESULT_NOT_FOUND) {
        (void)fprintf(requests->out, "    (its content is not kept)\n");
        rc = RESULT_OK;
    }
    buffer_destroy(&content);
    return rc;
}

static void audit_requests_take(void *context, const AuditFetch *fetch, const AuditPause *pause)
{
    AuditRequests *requests = context;
    CrawlLogLine line;
    const char *why = NULL;
    char time[AUDIT_TIME_BYTES];
    char ip[IP_ADDRESS_TEXT_BYTES];
    char waited[24] = "-";
    if (requests->result != RESULT_OK ||
        crawl_log_line_parse(fetch->text, strlen(fetch->text), &line, &why) != RESULT_OK) {
        return; /* it was read before */
    }
    if (!requests->has_begun) {
        requests->has_begun = true;
        (void)fprintf(requests->out,
                      "The pause is from the end of the request before to the begin of this one. A "
                      "negative status\nis an attempt that brought no answer.\n\n"
                      "%-23s %11s %6s %9s %9s  %-15s %s\n",
                      "begun (UTC)", "pause", "status", "bytes", "took", "address", "URL");
    }
    if (line.robots >= 1 && !crawl_log_line_is_robots(&line)) {
        requests->result = audit_requests_tell_robots(requests, fetch, line.robots);
    }
    if (pause->host >= 0) {
        (void)snprintf(waited, sizeof waited, "%" PRId64 ".%03ds", pause->host / 1000,
                       (int)(pause->host % 1000));
    }
    if (fprintf(requests->out, "%s %11s %6d %9" PRId64 " %6" PRId64 " ms  %-15s %.*s\n",
                audit_text_time(fetch->start, time), waited, line.status,
                line.bytes < 0 ? 0 : line.bytes, line.duration_ms,
                ip_address_format(&fetch->address->ip, ip), (int)line.url.length,
                line.url.bytes) < 0) {
        requests->result = RESULT_IO;
    }
}

AuditSink audit_requests_sink(AuditRequests *requests)
{
    return (AuditSink){.context = requests, .request = audit_requests_take};
}
