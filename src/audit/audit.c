#include "audit/audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hours.h"
#include "parse/host/authority.h"
#include "store/archive/warc_reader.h"

#define AUDIT_HOURS_US INT64_C(60000000) /* hours are told in minutes */

/* ---- Audit window ---- */

/* A request in the window, by boot and end. */
typedef struct WindowFetch {
    HeapNode node;
    AuditFetch fetch;
} WindowFetch;

bool audit_window_pop(AuditWindow *window, AuditFetch *out)
{
    HeapNode *node = heap_pop(window);
    if (node == NULL) {
        return false;
    }
    WindowFetch *first = HEAP_ELEMENT(node, WindowFetch, node);
    *out = first->fetch;
    free(first);
    return true;
}

/* Boots are numbered as they come. Of requests that ended at once any goes first, which no check
 * depends on. */
Result audit_window_push(AuditWindow *window, const AuditFetch *fetch)
{
    WindowFetch *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        return RESULT_MEMORY;
    }
    entry->fetch = *fetch;
    heap_node_init(&entry->node);
    Result rc = heap_push(window, &entry->node, (int64_t)fetch->boot, (uint64_t)fetch->mono_end);
    if (rc != RESULT_OK) {
        free(entry);
    }
    return rc;
}

/* ---- Audit robots ---- */

#define RULES_BYTES_MAX ((size_t)128 << 20)

/* db is taken and may be NULL; the others are borrowed. RESULT_MEMORY, RESULT_IO: the database
 * cannot be read. To be destroyed in any case. */
static Result audit_robots_init(AuditRobots *robots, PageDB *db, const char *directory,
                                const char *agent, AuditHosts *audited)
{
    MDB_txn *txn = NULL;
    *robots = (AuditRobots){.db = db, .agent = agent, .audited = audited};
    (void)file_path(&robots->warc, "%s/warc", directory);
    if (db == NULL) {
        return RESULT_OK;
    }
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = host_rows_open(&robots->hosts, txn, page_db_journal(db));
    /* Handles stay open when the transaction that opened them is committed. */
    if (page_db_txn_commit(db, txn) != page_db_error_ok && rc == RESULT_OK) {
        rc = RESULT_IO;
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc; /* a database of the library */
}

/* ---- the content of a version ---- */

static Result from_database(const AuditRobots *robots, const char *origin, int64_t version,
                            Buffer *out)
{
    MDB_txn *txn = NULL;
    uint32_t host = 0;
    if (robots->hosts == NULL || version < 1 || version > UINT32_MAX ||
        page_db_txn_begin(robots->db, true, &txn) != page_db_error_ok) {
        return RESULT_NOT_FOUND;
    }
    Result rc = page_db_host_find(robots->db, txn, origin, strlen(origin), &host) == 0
                    ? host_rows_get_robots_version(robots->hosts, txn, host, (uint32_t)version, out)
                    : RESULT_NOT_FOUND;
    page_db_txn_abort(robots->db, txn);
    return rc;
}

typedef struct CaptureSearch {
    char before[CLOCK_TEXT_BYTES];
    CdxjCapture capture;
} CaptureSearch;

/* Keeps the newest capture before the request that decided anything: the file, or that there is
 * none. */
static bool audit_robots_take_capture(void *context, const CdxjEntry *entry)
{
    CaptureSearch *search = context;
    bool decides = (entry->status >= 200 && entry->status < 300) ||
                   (entry->status >= 400 && entry->status < 500 && entry->status != 429);
    if (decides && memcmp(entry->timestamp.bytes, search->before, CDXJ_TIMESTAMP_BYTES) <= 0) {
        (void)cdxj_capture_take(&search->capture, entry);
    }
    return true;
}

static Result from_archive(const AuditRobots *robots, const char *origin, WallTime start,
                           Buffer *out)
{
    CaptureSearch search = {.before = ""};
    WarcAnswer answer;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    warc_answer_init(&answer);
    (void)wall_format_seconds(start, search.before);
    Result rc = buffer_printf(&url, "%s/robots.txt", origin);
    if (rc == RESULT_OK) {
        rc = cdxj_find(robots->warc.text, url.data, url.length, audit_robots_take_capture, &search);
    }
    if (rc == RESULT_OK && search.capture.filename[0] == '\0') {
        rc = RESULT_NOT_FOUND;
    }
    if (rc == RESULT_OK && search.capture.status < 300) {
        rc = warc_load_capture(robots->warc.text, &search.capture, url.data, url.length, &answer);
        if (rc == RESULT_OK && answer.truncated) {
            rc = RESULT_NOT_FOUND;
        }
        if (rc == RESULT_OK) {
            rc = buffer_append(out, buffer_string(&answer.body), answer.body.length);
        }
    }
    buffer_destroy(&url);
    warc_answer_destroy(&answer);
    return rc;
}

Result audit_robots_content(AuditRobots *robots, const char *origin, int64_t version,
                            WallTime start, Buffer *out)
{
    Result rc = from_database(robots, origin, version, out);
    if (rc != RESULT_OK && rc != RESULT_MEMORY) {
        rc = from_archive(robots, origin, start, out);
    }
    return rc == RESULT_OK || rc == RESULT_MEMORY ? rc : RESULT_NOT_FOUND;
}

/* ---- rules ---- */

/* Sets host->rules to the rules of a version, or to NULL when its content is not known. start: when
 * a request under this version began. RESULT_MEMORY. */
static Result audit_robots_load(AuditRobots *robots, AuditHost *host, int64_t version,
                                WallTime start)
{
    if (host->rules_version == version) {
        return RESULT_OK;
    }
    if (robots->rules_bytes > RULES_BYTES_MAX) {
        audit_hosts_forget_rules(robots->audited);
        robots->rules_bytes = 0;
    }
    Buffer content = {.limit = BUFFER_NO_LIMIT};
    robots_delete(host->rules);
    host->rules = NULL;
    host->rules_version = version;
    Result rc = audit_robots_content(robots, host->origin, version, start, &content);
    if (rc == RESULT_OK) {
        rc = robots_parse(buffer_string(&content), content.length, robots->agent, &host->rules);
    }
    buffer_destroy(&content);
    if (rc == RESULT_OK) {
        robots->rules_bytes += robots_bytes(host->rules);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* Whether the rules of a host allow one of its URLs. host->rules must not be NULL. */
static bool audit_robots_allow(const AuditHost *host, LogText url, RobotsVerdict *verdict)
{
    size_t from = authority_of(url.bytes, url.length).end;
    return robots_allows(host->rules, url.bytes + from, url.length - from, verdict);
}

/* ---- Audit ---- */

#define BOOTS_MAX    4096u
#define BOOT_BYTES   16u
#define BACKWARDS_MS INT64_C(600000) /* a monotonic clock that goes back so far was restarted */

/* The boots whose clocks the log has seen, numbered as they came. */
typedef struct Boots {
    char (*ids)[BOOT_BYTES];
    uint32_t n;
    uint32_t now;
    bool is_named;  /* the present one has an id */
    int64_t latest; /* monotonic end in it */
} Boots;

typedef struct Run {
    Audit *audit;
    const AuditOptions *options;
    AuditWhom whom;
    AuditWindow window;
    Boots boots;
    HoursBook hours;
    Result result;
} Run;

/* ---- boots ---- */

static void enter_boot(Boots *boots, uint32_t boot, bool is_named)
{
    boots->now = boot;
    boots->is_named = is_named;
    boots->latest = INT64_MIN;
}

/* The number of the boot that a line's clock is of. */
static uint32_t boot_of(Boots *boots, const CrawlLogLine *line)
{
    char id[BOOT_BYTES] = "";
    if (line->boot.length > 0 && line->boot.length < BOOT_BYTES) {
        memcpy(id, line->boot.bytes, line->boot.length);
        uint32_t i = 0;
        while (i < boots->n && strcmp(boots->ids[i], id) != 0) {
            i++;
        }
        if (i == boots->n && boots->n < BOOTS_MAX) {
            memcpy(boots->ids[boots->n++], id, sizeof id);
        }
        if (i != boots->now || !boots->is_named) {
            enter_boot(boots, i, true);
        }
    } else if (!boots->is_named && line->mono_end + BACKWARDS_MS < boots->latest &&
               boots->n < BOOTS_MAX) {
        boots->ids[boots->n][0] = '\0'; /* logs of older versions do not name boots */
        enter_boot(boots, boots->n++, false);
    }
    boots->latest = line->mono_end > boots->latest ? line->mono_end : boots->latest;
    return boots->now;
}

/* ---- what is asked about ---- */

static bool time_is_selected(const AuditOptions *options, WallTime start)
{
    return start.us >= options->from.us && start.us < options->until.us;
}

static void audit_count_request(AuditCounts *counts, const CrawlLogLine *line)
{
    bool robots = crawl_log_line_is_robots(line);
    counts->requests++;
    counts->robots_files += robots;
    counts->pages += !robots;
    counts->bytes += line->bytes > 0 ? (uint64_t)line->bytes : 0;
    if (counts->first.us == 0 || line->start.us < counts->first.us) {
        counts->first = line->start;
    }
    if (line->end.us > counts->last.us) {
        counts->last = line->end;
    }
}

/* ---- one request ---- */

/* Whom the delays of a request are of: its URL's host, or the one that the line names. */
static LogText origin_of(const CrawlLogLine *line, char scratch[LOG_ORIGIN_BYTES])
{
    return line->as.length > 0 ? line->as : log_text_origin(line->url, scratch);
}

static AuditHost *audit_find_host(Run *run, LogText origin)
{
    bool is_new = false;
    AuditHost *host = audit_hosts_find(&run->audit->hosts, origin, &is_new);
    if (host != NULL && is_new) {
        host->is_selected = audit_whom_is_host(&run->whom, host->origin);
        host->force = audit_delays_now(&run->audit->delays, host->origin);
    }
    return host;
}

static AuditAddress *find_address(Run *run, const IpAddress *ip)
{
    bool is_new = false;
    AuditAddress *address = audit_hosts_find_address(&run->audit->hosts, ip, &is_new);
    if (address != NULL && is_new) {
        address->is_selected =
            audit_whom_is_address(&run->whom, ip) &&
            (run->options->ips == NULL || ip_ranges_contain(run->options->ips, ip));
    }
    return address;
}

static void find_breach(Run *run, AuditBreach breach, const AuditFetch *fetch,
                        const CrawlLogLine *line, const RobotsVerdict *verdict)
{
    AuditFinding finding = {
        .breach = breach, .place = fetch->place, .time = line->start, .asked = line->robots};
    if (fetch->is_selected) {
        audit_findings_add(&run->audit->findings, &finding, line->url.bytes, line->url.length,
                           verdict == NULL ? NULL : verdict->rule);
    }
}

/* Judges a page by the robots.txt that its line names; says what that asks for as a delay. */
static Result judge_by_robots(Run *run, const AuditFetch *fetch, const CrawlLogLine *line,
                              int64_t *crawl_delay_ms)
{
    Audit *audit = run->audit;
    bool robots = crawl_log_line_is_robots(line);
    RobotsVerdict verdict = {.allowed = true};
    if (line->robots < 1) {
        if (!robots && line->robots == 0) {
            find_breach(run, BREACH_NO_ROBOTS, fetch, line, NULL);
        }
        return RESULT_OK;
    }
    /* The version on the line of a robots.txt that is another host's is that of who wants it. */
    if (robots && (line->as.length > 0 || line->status < 200 || line->status >= 500 ||
                   (line->status >= 300 && line->status < 400))) {
        return RESULT_OK;
    }
    bool is_new = fetch->host->rules_version != line->robots;
    Result rc = audit_robots_load(&audit->robots, fetch->host, line->robots, line->start);
    audit->counts.versions += is_new && fetch->is_selected && fetch->host->rules != NULL;
    if (rc != RESULT_OK || fetch->host->rules == NULL) {
        audit->counts.not_judged_by_robots += !robots && fetch->is_selected;
        return rc;
    }
    *crawl_delay_ms = robots_crawl_delay_ms(fetch->host->rules);
    if (robots) {
        return RESULT_OK;
    }
    WallTime before = {line->start.us - AUDIT_HOURS_US};
    if (robots_closed_ms(fetch->host->rules, line->start) > 0 &&
        robots_closed_ms(fetch->host->rules, before) > 0) {
        find_breach(run, BREACH_HOURS, fetch, line, NULL);
    }
    bool allowed = audit_robots_allow(fetch->host, line->url, &verdict);
    /* The crawl takes what is too expensive to decide for forbidden; nothing is proven by that. */
    audit->counts.judged_by_robots += fetch->is_selected && !verdict.undecided;
    audit->counts.not_judged_by_robots += fetch->is_selected && verdict.undecided;
    if (!allowed && !verdict.undecided) {
        find_breach(run, BREACH_FORBIDDEN, fetch, line, &verdict);
    }
    return RESULT_OK;
}

/* "3750/12/0"; nothing: no pace is stated. */
static LearnedPace audit_pace_of(LogText text)
{
    char copy[80] = "";
    char *next = copy;
    if (text.length == 0 || text.length >= sizeof copy) {
        return (LearnedPace){0};
    }
    memcpy(copy, text.bytes, text.length);
    long long delay_ms = strtoll(next, &next, 10);
    unsigned long usual_ms = *next == '/' ? strtoul(next + 1, &next, 10) : 0;
    unsigned long steady = *next == '/' ? strtoul(next + 1, &next, 10) : 0;
    return (LearnedPace){
        .delay_ms = delay_ms, .usual_ms = (uint32_t)usual_ms, .steady = (uint32_t)steady};
}

/* No connection came about, and another address of the host was tried at once: the host was not
 * asked, and is owed nothing. */
static bool audit_was_elsewhere(const CrawlLogLine *line)
{
    bool is_connect = line->status == -2 || log_text_is(line->error, "connect-time");
    return is_connect && line->retry == 0 && line->owes_host == 0;
}

/* What configuration and Crawl-delay ask for after this request. Where the line says what it left,
 * the configuration counts only as far as it is known to be of that time. */
static void note_delays(Run *run, AuditFetch *fetch, const CrawlLogLine *line,
                        int64_t crawl_delay_ms)
{
    const AuditDelays *delays = &run->audit->delays;
    bool holds = delays->is_known && (fetch->owes_host < 0 || fetch->start.us > delays->since.us);
    AuditForce force = audit_delays_in_force(delays, fetch->host, fetch->start, fetch->end);
    int64_t crawl_delay = holds ? audit_delays_of_robots(delays, crawl_delay_ms) : -1;
    fetch->crawl_delay = audit_delays_of_robots(delays, crawl_delay_ms);
    fetch->host_asks = holds ? force.least_ms : -1;
    fetch->host_asks = crawl_delay > fetch->host_asks ? crawl_delay : fetch->host_asks;
    fetch->ip_asks = holds ? force.ip_ms : -1;
    bool too_many = holds && force.connections > 0 && fetch->at_once > force.connections;
    fetch->at_once = too_many ? force.connections : fetch->at_once;
    fetch->keep_alive_ms = !holds || crawl_delay > 0 ? -1 : force.keep_alive_ms;
    fetch->learned_ms = holds ? force.learned_ms : -1;
    fetch->delay_ms = holds && !force.has_changed ? force.least_ms : -1;
    const Hours *hours = NULL;
    const char *wrong = NULL;
    if (holds && force.hours != NULL &&
        hours_book_get(&run->hours, force.hours, &hours, &wrong) == RESULT_OK && hours != NULL &&
        hours_wait_ms(hours, line->start) > 0 &&
        hours_wait_ms(hours, (WallTime){line->start.us - AUDIT_HOURS_US}) > 0) {
        find_breach(run, BREACH_HOURS, fetch, line, NULL);
    }
}

static void judge_pauses(Run *run, AuditFetch *fetch)
{
    Audit *audit = run->audit;
    AuditPause pause = audit_pauses_add(&audit->pauses, fetch, &audit->findings);
    if (fetch->is_selected && run->options->sink.request != NULL) {
        run->options->sink.request(run->options->sink.context, fetch, &pause);
    }
    free(fetch->text);
}

static Result audit_take_request(Run *run, const CrawlLogLine *line, LogText text)
{
    Audit *audit = run->audit;
    char scratch[LOG_ORIGIN_BYTES];
    AuditFetch first;
    int64_t crawl_delay_ms = -1;
    AuditFetch fetch = {
        .host = audit_find_host(run, origin_of(line, scratch)),
        .address = find_address(run, &line->address),
        .place = {.file = log_reader_file(audit->reader), .line = log_reader_line(audit->reader)},
        .boot = boot_of(&run->boots, line),
        .mono_start = line->us_start >= 0 ? line->us_start : line->mono_start * 1000,
        .mono_end = line->us_end >= 0 ? line->us_end : line->mono_end * 1000,
        .is_exact = line->us_end >= 0,
        .at_once = line->at_once < CONFIG_MOST_AT_ONCE ? line->at_once : CONFIG_MOST_AT_ONCE,
        .burst = line->burst,
        .pace = audit_pace_of(line->learned),
        .took_ms = line->mono_end - line->mono_start,
        .status = (int)line->status,
        .is_robots = crawl_log_line_is_robots(line),
        .start = line->start,
        .end = line->end,
        .owed = line->owed,
        .given = line->given,
        .owes_host = line->owes_host,
        .owes_ip = line->owes_ip};
    if (fetch.host == NULL || fetch.address == NULL) {
        return RESULT_MEMORY;
    }
    fetch.is_selected = fetch.host->is_selected && fetch.address->is_selected &&
                        time_is_selected(run->options, line->start);
    if (fetch.is_selected) {
        audit_count_request(&audit->counts, line);
    }
    Result rc = judge_by_robots(run, &fetch, line, &crawl_delay_ms);
    note_delays(run, &fetch, line, crawl_delay_ms);
    if (audit_was_elsewhere(line)) {
        fetch.host_asks = -1;
    }
    if (rc == RESULT_OK && fetch.is_selected && run->options->sink.request != NULL) {
        fetch.text = strndup(text.bytes, text.length);
        rc = fetch.text == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    if (rc == RESULT_OK) {
        rc = audit_window_push(&run->window, &fetch);
    }
    if (rc != RESULT_OK) {
        free(fetch.text);
    } else if (run->window.count > AUDIT_WINDOW && audit_window_pop(&run->window, &first)) {
        judge_pauses(run, &first);
    }
    return rc;
}

static Result audit_take_line(Run *run, const char *bytes, size_t length)
{
    Audit *audit = run->audit;
    AuditCounts *counts = &audit->counts;
    CrawlLogLine line;
    const char *why = NULL;
    counts->lines++;
    if (crawl_log_line_parse(bytes, length, &line, &why) != RESULT_OK) {
        if (counts->unreadable++ == 0) {
            audit->unreadable = (AuditPlace){.file = log_reader_file(audit->reader),
                                             .line = log_reader_line(audit->reader)};
            audit->unreadable_why = why;
        }
        return RESULT_OK;
    }
    if (line.was_sent && line.url.length > 0) {
        return audit_take_request(run, &line, (LogText){bytes, length});
    }
    if (line.bytes > 0 || line.status > 0) {
        counts->without_times++;
    } else if (line.status == -9998 && line.url.length > 0) {
        char scratch[LOG_ORIGIN_BYTES];
        AuditHost *host = audit_find_host(run, origin_of(&line, scratch));
        counts->refused += host != NULL && host->is_selected && run->options->ips == NULL &&
                           time_is_selected(run->options, line.start);
    }
    return RESULT_OK;
}

/* Nobody is proven to have been treated well by a name that the log does not know. */
static Result audit_check_whom(const Run *run, Buffer *error)
{
    size_t place = 0;
    const AuditHost *host = NULL;
    const AuditAddress *address = NULL;
    bool is_known = false;
    while (!run->whom.is_address && (host = map_next(&run->audit->hosts.hosts, &place)) != NULL) {
        is_known |= host->is_selected;
    }
    while (run->whom.is_address &&
           (address = map_next(&run->audit->hosts.addresses, &place)) != NULL) {
        is_known |= address->is_selected;
    }
    if (run->whom.name == NULL || is_known) {
        return RESULT_OK;
    }
    const char *nearest =
        run->whom.is_address ? NULL : audit_whom_nearest(&run->whom, &run->audit->hosts);
    char port[8] = "";
    if (run->whom.port != 0) {
        (void)snprintf(port, sizeof port, ":%u", (unsigned)run->whom.port);
    }
    (void)buffer_printf(error, "the log knows nothing of '%s%s'%s%s%s", run->whom.name, port,
                        nearest == NULL ? "" : "; did you mean ", nearest == NULL ? "" : nearest,
                        nearest == NULL ? "" : "?");
    return RESULT_INVALID;
}

/* ---- all of them ---- */

static void count_subjects(Audit *audit)
{
    size_t place = 0;
    const AuditHost *host = NULL;
    const AuditAddress *address = NULL;
    while ((host = map_next(&audit->hosts.hosts, &place)) != NULL) {
        audit->counts.hosts += host->subject.n_selected > 0;
    }
    place = 0;
    while ((address = map_next(&audit->hosts.addresses, &place)) != NULL) {
        audit->counts.addresses += address->subject.n_selected > 0;
    }
}

static Result audit_read_all(Run *run)
{
    const char *line = NULL;
    size_t length = 0;
    AuditFetch fetch;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && log_reader_next(run->audit->reader, &line, &length)) {
        rc = audit_take_line(run, line, length);
    }
    while (audit_window_pop(&run->window, &fetch)) {
        judge_pauses(run, &fetch);
    }
    count_subjects(run->audit);
    return rc;
}

Result audit_run(Audit *audit, const AuditOptions *options, PageDB *db, Buffer *error)
{
    Run run = {.audit = audit, .options = options, .boots = {.latest = INT64_MIN}};
    heap_init(&run.window);
    *audit = (Audit){.unreadable_why = ""};
    if (options->host != NULL) {
        Result parsed = audit_whom_parse(&run.whom, options->host);
        if (parsed != RESULT_OK) {
            (void)buffer_append_string(error, "--host: expected a host, a URL or an address");
            return parsed;
        }
    }
    Result rc = audit_delays_read(&audit->delays, options->directory, error);
    audit->pauses.delays = &audit->delays;
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    Result opened = audit_robots_init(&audit->robots, db, options->directory,
                                      audit_delays_agent(&audit->delays), &audit->hosts);
    if (rc == RESULT_OK) {
        rc = opened;
    }
    if (rc == RESULT_OK) {
        Path path;
        (void)file_path(&path, "%s/crawl.log", options->directory);
        const char *log = options->log != NULL ? options->log : path.text;
        rc = log_reader_open(&audit->reader, log);
        if (rc != RESULT_OK) {
            (void)buffer_printf(error, "%s: %s", log,
                                rc == RESULT_MEMORY ? result_name(rc) : strerror(errno));
        }
    }
    if (rc == RESULT_OK) {
        run.boots.ids = calloc(BOOTS_MAX, sizeof *run.boots.ids);
        run.boots.n = 1; /* one without a name, until the log names it */
        rc = run.boots.ids == NULL ? RESULT_MEMORY : audit_read_all(&run);
    }
    if (rc == RESULT_OK) {
        rc = audit_check_whom(&run, error);
    }
    audit_whom_destroy(&run.whom);
    free(run.boots.ids);
    hours_book_destroy(&run.hours);
    heap_destroy(&run.window);
    if (rc != RESULT_OK && error->length == 0) {
        (void)buffer_printf(error, "%s: %s", options->directory, result_name(rc));
    }
    return rc;
}

void audit_destroy(Audit *audit)
{
    audit_findings_destroy(&audit->findings);
    audit_hosts_destroy(&audit->hosts);
    host_rows_close(audit->robots.hosts);
    (void)page_db_delete(audit->robots.db);
    audit_delays_destroy(&audit->delays);
    log_reader_close(audit->reader);
}
