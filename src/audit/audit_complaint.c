#include "audit/audit_complaint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit_text.h"
#include "base/core/temporary_file.h"

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

/* ---- requests ------------------------------------------------------------------------------- */

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

/* ---- the answer ----------------------------------------------------------------------------- */

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
            if (c != '\r') {
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
