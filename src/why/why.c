#include "why/why.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hours.h"
#include "base/memory/file.h"
#include "fetch/transfer/fetch_result.h"
#include "logs/crawl_log_line.h"
#include "logs/log_reader.h"
#include "parse/host/authority.h"
#include "parse/host/domain.h"
#include "rules/dedup.h"
#include "store/cdxj/cdxj.h"
#include "store/schedule/schedule_read.h"

/* ---- Why trail ---- */

/* What is looked for. */
typedef struct Search {
    WhyTrail *trail;
    LogText url;
    Buffer robots; /* URL of its host's robots.txt */
    Buffer name;   /* "dns:HOST" */
} Search;

static char *why_trail_copy_of(LogText text)
{
    return text.length == 0 ? NULL : strndup(text.bytes, text.length);
}

static void why_trail_forget(WhyAttempt *attempt)
{
    free(attempt->error);
    free(attempt->rule);
    free(attempt->duplicate_of);
    free(attempt->near);
}

static WhyAttempt attempt_of(const CrawlLogLine *line)
{
    return (WhyAttempt){.start = line->start,
                        .duration_ms = line->duration_ms,
                        .status = line->status,
                        .bytes = line->bytes,
                        .retry = line->retry,
                        .robots = line->robots,
                        .error = why_trail_copy_of(line->error),
                        .rule = why_trail_copy_of(line->rule),
                        .duplicate_of = why_trail_copy_of(line->duplicate_of),
                        .near = why_trail_copy_of(line->near),
                        .truncated = line->truncated.length > 0,
                        .dropped_host = line->host_dropped};
}

static void why_trail_keep(WhyTrail *trail, const CrawlLogLine *line)
{
    if (trail->n == WHY_ATTEMPTS) {
        why_trail_forget(&trail->attempts[0]);
        memmove(&trail->attempts[0], &trail->attempts[1],
                (WHY_ATTEMPTS - 1) * sizeof *trail->attempts);
        trail->n--;
    }
    trail->attempts[trail->n++] = attempt_of(line);
    trail->n_all++;
}

static void why_trail_take_line(Search *search, const char *bytes, size_t length)
{
    CrawlLogLine line;
    const char *why = NULL;
    bool may_be = memmem(bytes, length, search->url.bytes, search->url.length) != NULL;
    bool may_be_host =
        !may_be && (memmem(bytes, length, search->robots.data, search->robots.length) != NULL ||
                    memmem(bytes, length, search->name.data, search->name.length) != NULL);
    if ((!may_be && !may_be_host) ||
        crawl_log_line_parse(bytes, length, &line, &why) != RESULT_OK) {
        return;
    }
    bool robots = log_text_is(line.url, buffer_string(&search->robots));
    if (log_text_is(line.url, search->url.bytes)) {
        why_trail_keep(search->trail, &line);
    } else if (robots || log_text_is(line.url, buffer_string(&search->name))) {
        /* Trouble of its host is of interest until the host answers. */
        WhyTrail *trail = search->trail;
        why_trail_forget(&trail->host);
        trail->host = (WhyAttempt){.status = 0};
        if (line.status < 200 || line.status >= 500) {
            trail->host = attempt_of(&line);
            trail->host_is_robots = robots;
        }
    }
}

/* "URL STATUS RULE DEPTH REFERRER" */
static void take_skipped(Search *search, const char *bytes, size_t length)
{
    WhyTrail *trail = search->trail;
    LogText column[CRAWL_LOG_COLUMNS] = {{NULL, 0}};
    int64_t status = 0;
    (void)crawl_log_columns(bytes, length, column);
    if (!log_text_is(column[0], search->url.bytes) || !log_text_number(column[1], &status)) {
        return;
    }
    free(trail->skipped_rule);
    free(trail->skipped_on);
    trail->is_skipped = true;
    trail->skipped_status = (int)status;
    trail->skipped_rule = why_trail_copy_of(column[2]);
    trail->skipped_on = why_trail_copy_of(column[4]);
}

/* bytes: how much of its end is read; 0: all of it. */
static Result why_trail_read_log(Search *search, const char *path, size_t bytes,
                                 void (*take)(Search *search, const char *line, size_t length),
                                 Buffer *error)
{
    LogReader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    Result rc =
        bytes == 0 ? log_reader_open(&reader, path) : log_reader_open_tail(&reader, path, bytes);
    if (rc == RESULT_NOT_FOUND) {
        return RESULT_OK;
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: %s", path, strerror(errno));
        return rc;
    }
    while (log_reader_next(reader, &line, &length)) {
        take(search, line, length);
    }
    search->trail->is_partial = search->trail->is_partial || log_reader_is_cut(reader) ||
                                log_reader_problem(reader) != NULL;
    log_reader_close(reader);
    return RESULT_OK;
}

/* Reads DIR/crawl.log and DIR/skipped.log for what they say of url, whose host is origin. bytes: as
 * WhySources.log_bytes. To be destroyed in any case. */
static Result why_trail_read(WhyTrail *trail, const char *directory, const char *url,
                             const char *origin, size_t bytes, Buffer *error)
{
    Search search = {.trail = trail, .url = {url, strlen(url)}};
    Path path;
    LogText host = log_text_host((LogText){origin, strlen(origin)});
    *trail = (WhyTrail){.is_partial = false};
    buffer_init(&search.robots, BUFFER_NO_LIMIT);
    buffer_init(&search.name, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&search.robots, "%s/robots.txt", origin);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&search.name, "dns:%.*s", (int)host.length, host.bytes);
    }
    if (rc == RESULT_OK) {
        rc = why_trail_read_log(&search, file_path(&path, "%s/crawl.log", directory), bytes,
                                why_trail_take_line, error);
    }
    if (rc == RESULT_OK) {
        rc = why_trail_read_log(&search, file_path(&path, "%s/skipped.log", directory), bytes,
                                take_skipped, error);
    }
    buffer_destroy(&search.robots);
    buffer_destroy(&search.name);
    return rc;
}

static void why_trail_destroy(WhyTrail *trail)
{
    for (size_t i = 0; i < trail->n; i++) {
        why_trail_forget(&trail->attempts[i]);
    }
    why_trail_forget(&trail->host);
    free(trail->skipped_rule);
    free(trail->skipped_on);
}

/* ---- Why ---- */

#define ITEMS_AT_ONCE 512u

/* One question. */
typedef struct Question {
    Why *why;
    const WhySources *from;
    GroupRecord domain;
    GroupRecord address;
    bool has_domain;
    bool has_address;
    MDB_txn *txn;
    Buffer url; /* scratch */
    Buffer robots;
    bool has_robots;
    unsigned redirects;
    unsigned embeds;
} Question;

const char *why_state_name(WhyState state)
{
    static const char *const names[] = {WORDS_NAMES(WHY_STATE_WORDS)};
    return names[state];
}

/* ---- the URL ---- */

/* The URL as the crawl would write it; the origin of its host. */
static Result read_url(Why *why, const char *text, Buffer *error)
{
    Url url = {.href = NULL};
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    Result rc = url_parse_word(&url, text);
    if (rc == RESULT_INVALID || rc == RESULT_LIMIT) {
        (void)buffer_printf(error, "'%.200s' is not an http or https URL", text);
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        why->url = strndup(url.href, url.length);
        rc = url_origin(&url, &origin);
        why->origin = buffer_detach(&origin);
        rc = why->url == NULL || why->origin == NULL ? RESULT_MEMORY : rc;
    }
    url_destroy(&url);
    buffer_destroy(&origin);
    return rc;
}

static Result set_text(char **field, const Buffer *text)
{
    free(*field);
    *field = strndup(buffer_string(text), text->length);
    return *field == NULL ? RESULT_MEMORY : RESULT_OK;
}

/* Finds the page, by the spelling that stands for it if need be (scope.dedup_key). */
static Result find_page(Question *q)
{
    Why *why = q->why;
    uint64_t index = 0;
    int rc = page_db_find(q->from->db, q->txn, why->url, strlen(why->url), &index);
    if (rc == page_db_error_no_page && dedup_stands_for(q->txn, why->url, &q->url) == RESULT_OK) {
        why->asked = why->url;
        why->url = NULL;
        if (set_text(&why->url, &q->url) != RESULT_OK) {
            return RESULT_MEMORY;
        }
        rc = page_db_find(q->from->db, q->txn, why->url, strlen(why->url), &index);
    }
    if (rc == page_db_error_no_page) {
        return RESULT_OK;
    }
    if (rc == page_db_error_ok) {
        rc = page_db_get(q->from->db, q->txn, index, &why->page, &q->url);
    }
    why->is_known = rc == page_db_error_ok;
    why->page.url = NULL;
    return why->is_known ? RESULT_OK : RESULT_DAMAGED;
}

/* ---- how it was found ---- */

static Result find_path(Question *q)
{
    Why *why = q->why;
    uint64_t index = why->page.index;
    bool redirects = true;
    bool embeds = true;
    while (index != PAGE_DB_NO_INDEX && why->n_path < WHY_STEPS) {
        PageRef page;
        WhyStep *step = &why->path[why->n_path];
        if (page_db_get(q->from->db, q->txn, index, &page, &q->url) != page_db_error_ok) {
            return RESULT_DAMAGED;
        }
        step->url = NULL;
        if (set_text(&step->url, &q->url) != RESULT_OK) {
            return RESULT_MEMORY;
        }
        step->hop = (char)page.hop;
        redirects = redirects && page.hop == 'R';
        q->redirects += redirects;
        why->n_path++;
        embeds = embeds && (page.hop == 'E' || page.hop == 'R');
        q->embeds = embeds && page.hop == 'E' ? (unsigned)why->n_path : q->embeds;
        index = page.linked_from;
    }
    why->path_is_cut = index != PAGE_DB_NO_INDEX;
    for (size_t i = 0; i < why->n_path / 2; i++) {
        WhyStep step = why->path[i];
        why->path[i] = why->path[why->n_path - 1 - i];
        why->path[why->n_path - 1 - i] = step;
    }
    return RESULT_OK;
}

/* ---- its host ---- */

/* Notes until when the host is outside its hours. */
static void why_note_closed(Question *q, int64_t closed_ms, const char *by)
{
    int64_t opens_ms = q->from->now.us / 1000 + closed_ms;
    if (closed_ms > 0 && opens_ms > q->why->opens_ms) {
        q->why->opens_ms = opens_ms;
        q->why->bound_by = by;
    }
}

/* The pause between two fetches of the host: configured, or its Crawl-delay; and that of its
 * address. */
static void why_find_delays(Question *q)
{
    const Config *config = q->from->config;
    Why *why = q->why;
    Config values;
    if (config == NULL) {
        return;
    }
    why_values(config, why->origin, &values);
    int64_t delay = values.politeness_host_delay;
    why->ip_delay_ms = values.politeness_ip_delay;
    int64_t crawl_delay = why->host.crawl_delay_ms < values.politeness_crawl_delay_max
                              ? why->host.crawl_delay_ms
                              : values.politeness_crawl_delay_max;
    why->host_delay_ms = crawl_delay > delay ? crawl_delay : delay;
    why->bound_by = politeness_what_binds(delay, crawl_delay, why->ip_delay_ms);
    HoursBook book = {.list = NULL};
    const Hours *hours = NULL;
    const char *wrong = NULL;
    if (hours_book_get(&book, values.politeness_hours, &hours, &wrong) == RESULT_OK &&
        hours != NULL) {
        why_note_closed(q, hours_wait_ms(hours, q->from->now), "politeness.hours");
    }
    hours_book_destroy(&book);
}

static Result why_find_host(Question *q)
{
    Why *why = q->why;
    const WhySources *from = q->from;
    uint32_t host = 0;
    if (from->hosts == NULL || page_db_host_find(from->db, q->txn, why->origin, strlen(why->origin),
                                                 &host) != page_db_error_ok) {
        return RESULT_OK;
    }
    Result rc = host_rows_get(from->hosts, q->txn, host, &why->host);
    why->has_host = rc == RESULT_OK;
    why_find_delays(q);
    if (rc == RESULT_OK && from->schedule != NULL) {
        rc = schedule_host_count(from->schedule, q->txn, host, &why->host_queued);
    }
    if (rc == RESULT_OK && why->host.robots_version > 0 &&
        host_rows_get_robots(from->hosts, q->txn, host, &q->robots) == RESULT_OK) {
        q->has_robots = true;
        Robots *robots = NULL;
        const Config *config = q->from->config;
        if (config != NULL && robots_parse(buffer_string(&q->robots), q->robots.length,
                                           config->robots_agent, &robots) == RESULT_OK) {
            why_note_closed(q, robots_closed_ms(robots, q->from->now), "Visit-time");
        }
        robots_delete(robots);
    }
    return rc;
}

/* What its domain and the address of its host have, for a URL that was not let in. */
static Result find_groups(Question *q)
{
    const Why *why = q->why;
    const WhySources *from = q->from;
    if (from->groups == 0 || why->is_queued || (why->is_known && why->page.n_crawls > 0)) {
        return RESULT_OK;
    }
    Authority at = authority_of(why->url, strlen(why->url));
    Domain domain = domain_registered(why->url + at.host, at.host_end - at.host);
    uint64_t key = group_key_of_domain(domain.name == NULL ? "" : domain.name, domain.length);
    Result rc = group_rows_get(from->groups, q->txn, key, &q->domain);
    q->has_domain = rc == RESULT_OK;
    if (rc == RESULT_OK && why->has_host && why->host.address != 0) {
        rc = group_rows_get(from->groups, q->txn, why->host.address, &q->address);
        q->has_address = rc == RESULT_OK;
    }
    return rc;
}

/* ---- the schedule ---- */

/* The place in front of a level's first entry, for schedule_head; NULL: that of all entries. */
static const ScheduleItem *level_start(unsigned level, ScheduleItem *place)
{
    *place = (ScheduleItem){.index = UINT64_MAX, .level = level - 1};
    return level == 0 ? NULL : place;
}

/* Whether the page is in the schedule: one look. */
static Result why_look_up(Question *q, bool *found)
{
    const PageRef *page = &q->why->page;
    ScheduleItem item;
    ScheduleItem place;
    const ScheduleItem *behind = level_start(page->level, &place);
    size_t n = 0;
    if (page->index > 0) {
        place = (ScheduleItem){.index = page->index - 1, .level = page->level};
        behind = &place;
    }
    Result rc = schedule_head(q->from->schedule, q->txn, page->host, behind, &item, 1, &n);
    *found = rc == RESULT_OK && n == 1 && item.index == page->index && item.level == page->level;
    return rc;
}

/* How many entries of its level go before it, one by one. */
static Result count_level(Question *q, uint64_t *before)
{
    const PageRef *page = &q->why->page;
    ScheduleItem items[ITEMS_AT_ONCE];
    ScheduleItem place;
    const ScheduleItem *behind = level_start(page->level, &place);
    size_t n = ITEMS_AT_ONCE;
    Result rc = RESULT_OK;
    *before = 0;
    while (rc == RESULT_OK && n == ITEMS_AT_ONCE && *before < WHY_AHEAD_MOST) {
        rc = schedule_head(q->from->schedule, q->txn, page->host, behind, items, ITEMS_AT_ONCE, &n);
        for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
            if (items[i].level != page->level || items[i].index >= page->index) {
                return RESULT_OK;
            }
            ++*before;
        }
        if (n > 0) {
            place = items[n - 1];
            behind = &place;
        }
    }
    q->why->ahead_is_more = *before >= WHY_AHEAD_MOST;
    return rc;
}

static Result why_find_place(Question *q)
{
    Why *why = q->why;
    const PageRef *page = &why->page;
    uint64_t before = 0;
    if (q->from->schedule == NULL || page->level >= SCHEDULE_MAX_LEVELS) {
        return RESULT_OK;
    }
    Result rc = why_look_up(q, &why->is_queued);
    if (rc == RESULT_OK && why->is_queued) {
        rc = count_level(q, &before);
    }
    for (unsigned level = 0; rc == RESULT_OK && why->is_queued && level < page->level; level++) {
        uint64_t entries = 0;
        rc = schedule_level_count(q->from->schedule, q->txn, page->host, level, &entries);
        why->ahead += entries;
    }
    why->ahead += before;
    if (why->is_queued && why->has_host) {
        int64_t now_ms = q->from->now.us / 1000;
        int64_t from = why->host.not_before_ms > now_ms ? why->host.not_before_ms : now_ms;
        int64_t delay = why->host_delay_ms > 0 ? why->host_delay_ms : 0;
        bool far = why->ahead > (uint64_t)INT32_MAX;
        why->earliest_ms = far ? 0 : from + (int64_t)why->ahead * delay;
    }
    return rc;
}

/* ---- the archive ---- */

/* ---- the verdict ---- */

static Result why_judge_one(Question *q)
{
    Why *why = q->why;
    const char *referrer = why->n_path > 1 ? why->path[why->n_path - 2].url : why->trail.skipped_on;
    WhyCase subject = {.config = q->from->config,
                       .directory = q->from->directory,
                       .stay = q->from->stay,
                       .url = why->url,
                       .referrer = referrer,
                       .has_depth = why->is_known,
                       .depth = why->is_known ? why->page.depth : 0,
                       .hop = why->is_known ? (char)why->page.hop : '\0',
                       .redirects = q->redirects,
                       .embeds = q->embeds,
                       .host = why->has_host ? &why->host : NULL,
                       .domain = q->has_domain ? &q->domain : NULL,
                       .address = q->has_address ? &q->address : NULL,
                       .robots = q->has_robots ? buffer_string(&q->robots) : NULL,
                       .robots_length = q->robots.length};
    return q->from->config == NULL ? RESULT_OK : why_judge(&why->judged, &subject);
}

static bool was_duplicate(const WhyTrail *trail)
{
    return trail->n > 0 && trail->attempts[trail->n - 1].duplicate_of != NULL;
}

/* A refusal; the other negative statuses are failures. */
static bool why_is_refusal(int32_t status)
{
    return status <= STATUS_TOO_DEEP && status != STATUS_SLOW && status != STATUS_TOO_LARGE &&
           status != STATUS_DECODING && status != STATUS_DROPPED;
}

static WhyState why_state_of(const Why *why, const WhySources *from)
{
    const PageRef *page = &why->page;
    bool gone = why->has_host && why->host.state != HOST_ACTIVE;
    bool answered = page->n_crawls > 0;
    if (!why->is_known) {
        return why->trail.is_skipped ? WHY_REFUSED : WHY_UNKNOWN;
    }
    if (from->is_in_flight != NULL && from->is_in_flight(from->directory, why->url)) {
        return WHY_IN_FLIGHT;
    }
    if (why->is_queued && !(gone && !answered)) {
        return WHY_QUEUED;
    }
    if (answered) {
        return was_duplicate(&why->trail) ? WHY_DUPLICATE : WHY_FETCHED;
    }
    if (why->is_queued) {
        return WHY_HOST_DROPPED; /* with all that it has scheduled */
    }
    if (why_is_refusal(page->status)) {
        return WHY_REFUSED;
    }
    if (page->status < 0 && page->status != STATUS_DROPPED) {
        return WHY_FAILED;
    }
    return gone ? WHY_HOST_DROPPED : WHY_REFUSED;
}

static Result why_answer(Question *q)
{
    Why *why = q->why;
    Result rc = find_page(q);
    if (rc == RESULT_OK) {
        rc = why_find_host(q);
    }
    if (rc == RESULT_OK && why->is_known) {
        rc = find_path(q);
    }
    if (rc == RESULT_OK && why->is_known) {
        rc = why_find_place(q);
        RevisitDue due;
        if (q->from->revisits != NULL &&
            revisit_rows_get(q->from->revisits, q->txn, q->why->page.index, &due) == RESULT_OK) {
            q->why->is_revisited = true;
            q->why->revisit_s = due.time_s;
            q->why->revisit_interval_s = due.freq > 0 ? 1 / (double)due.freq : 0;
        }
        q->why->is_rendered = q->from->renders != NULL &&
                              render_table_get(q->from->renders, q->txn, q->why->page.index,
                                               &q->why->render, NULL) == RESULT_OK;
    }
    return rc == RESULT_OK ? find_groups(q) : rc;
}

Result why_find(Why *why, const WhySources *sources, const char *url, Buffer *error)
{
    Question q = {.why = why, .from = sources};
    *why = (Why){.is_running = sources->is_running, .host_delay_ms = -1, .ip_delay_ms = -1};
    buffer_init(&q.url, BUFFER_NO_LIMIT);
    buffer_init(&q.robots, BUFFER_NO_LIMIT);
    Result rc = read_url(why, url, error);
    if (rc == RESULT_OK && page_db_txn_begin(sources->db, true, &q.txn) != page_db_error_ok) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = why_answer(&q);
        page_db_txn_abort(sources->db, q.txn);
    }
    if (rc == RESULT_OK) {
        rc = why_trail_read(&why->trail, sources->directory, why->url, why->origin,
                            sources->log_bytes, error);
    }
    if (rc == RESULT_OK) {
        CdxjCapture capture;
        Path path;
        WallTime visit = {llround(why->page.last_crawl * 1e6)};
        if (cdxj_of_visit(file_path(&path, "%s/warc", sources->directory), why->url,
                          strlen(why->url), why->page.status, visit, &capture) == RESULT_OK) {
            why->is_stored = true;
            memcpy(why->file, capture.filename, sizeof why->file);
            why->offset = capture.offset;
            why->length = capture.length;
        }
    }
    if (rc == RESULT_OK) {
        rc = why_judge_one(&q);
    }
    why->state = rc == RESULT_OK ? why_state_of(why, sources) : WHY_UNKNOWN;
    if (rc != RESULT_OK && error->length == 0) {
        (void)buffer_printf(error, "%s: %s", sources->directory, result_name(rc));
    }
    buffer_destroy(&q.url);
    buffer_destroy(&q.robots);
    return rc;
}

void why_destroy(Why *why)
{
    free(why->url);
    free(why->asked);
    free(why->origin);
    for (size_t i = 0; i < why->n_path; i++) {
        free(why->path[i].url);
    }
    why_judgements_destroy(&why->judged);
    why_trail_destroy(&why->trail);
}
