#include "ingest/revisit/revisits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/revisit/revisit_price.h"
#include "store/schedule/schedule_read.h"

/* Revisit line: how the due pages of one host get into its schedule.
 *
 * What: of a host, host_share due pages are in the schedule at once, at REVISIT_LEVEL, which is
 * above all scores. The others wait in the host's line, in order of due time, and come as a group
 * when those are done.
 *
 * Owns: nothing; borrows the tables.
 * Threads: ingest, inside the batch's transaction.
 * Invariants:
 *  1. A due page is in the schedule at most once: entries are keyed by host, level and page, and
 *     the level is the one that PageDB has for the page.
 *  2. A host that has new URLs gets as many fetches of those between two groups as the last group
 *     had pages (HostRecord.owed): due pages and new ones do not starve each other. */

#define REVISIT_LEVEL 0u

typedef struct RevisitLine {
    const RevisitRows *table;
    PageDB *db;
    Schedule *schedule;
    unsigned host_share; /* at most 255, as HostRecord.owed */
} RevisitLine;

/* Revisit signal: a sitemap or a feed says that a page has changed since its last visit.
 *
 * What: an entry whose lastmod (a feed's date) is later than the last crawl of its page is a
 * signal. The page is then due at once, if its host has told the truth often enough: of n signals
 * that a visit has followed, by itself or because of them, those that found the page changed count
 * as true, and (true + 1) / (n + 2) must not be below schedule.signal_trust. A signal is noted in
 * any case, and the next visit of the page says whether it was true. A lastmod that is a day
 * without a time is that day's beginning.
 * Owns: nothing.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_DAMAGED and those of the tables. */

/* Entries of one sitemap that a visit looks up; the next visits take those behind them. */
#define REVISIT_SIGNALS_MAX 10000u

static Result schedule_page(const RevisitLine *line, const Batch *batch, BatchHost *host,
                            const PageRef *page)
{
    Result rc = schedule_put(line->schedule, batch->txn, page->host, REVISIT_LEVEL, page->index);
    /* Not RESULT_FULL for whatever went wrong: ingest would wait for room on a damaged disk. */
    if (rc == RESULT_OK) {
        rc = batch_result_of(batch, page_db_set_state(line->db, batch->txn, page->index,
                                                      page->status, REVISIT_LEVEL, 0));
    }
    batch_host_gets(host, 1, REVISIT_LEVEL);
    return rc;
}

static void owe(BatchHost *host, uint64_t n)
{
    uint64_t owed = host->record.owed + n;
    host->record.owed = (uint8_t)(owed < UINT8_MAX ? owed : UINT8_MAX);
}

/* Whether more than `most` fetches of new URLs come first; not when the host has none. */
static Result is_owing(const RevisitLine *line, const Batch *batch, BatchHost *host, unsigned most,
                       bool *owing)
{
    uint64_t all = 0;
    uint64_t due = 0;
    *owing = false;
    if (host->record.owed <= most) {
        return RESULT_OK;
    }
    Result rc = schedule_host_count(line->schedule, batch->txn, host->host, &all);
    if (rc == RESULT_OK) {
        rc = schedule_level_count(line->schedule, batch->txn, host->host, REVISIT_LEVEL, &due);
    }
    /* A debt that nobody is left to collect is forgiven: else due pages would wait for URLs that do
     * not exist. */
    *owing = all > due;
    host->record.owed = *owing ? host->record.owed : 0;
    return rc;
}

/* A page is due: it goes into the schedule, or to the end of its host's line. */
static Result revisit_line_admit(const RevisitLine *line, const Batch *batch, BatchHost *host,
                                 const PageRef *page, const RevisitDue *due)
{
    if (page->level != SCHEDULE_NO_LEVEL) { /* since before the start, or it was cleared */
        batch_host_gets(host, 1, page->level);
        return schedule_put(line->schedule, batch->txn, page->host, page->level, page->index);
    }
    uint64_t n = 0;
    bool is_empty = true;
    bool owing = false;
    Result rc = schedule_level_count(line->schedule, batch->txn, page->host, REVISIT_LEVEL, &n);
    if (rc == RESULT_OK) {
        rc = is_owing(line, batch, host, line->host_share / 2, &owing);
    }
    if (rc == RESULT_OK) {
        rc = revisit_rows_line_is_empty(line->table, batch->txn, page->host, &is_empty);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    /* Not past a line that has begun: whoever is due first goes first. */
    if (!is_empty || owing || n >= line->host_share) {
        return revisit_rows_line_put(line->table, batch->txn, page->host, due);
    }
    owe(host, 1);
    return schedule_page(line, batch, host, page);
}

/* Schedules a page that was in the line, unless it was moved or removed since; counts it. */
static Result revisit_line_schedule(const RevisitLine *line, const Batch *batch, BatchHost *host,
                                    const RevisitDue *due, Buffer *url, uint64_t *n)
{
    RevisitDue now;
    PageRef page;
    Result rc = revisit_rows_get(line->table, batch->txn, due->index, &now);
    if (rc != RESULT_OK || now.time_s != due->time_s) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (page_db_get(line->db, batch->txn, due->index, &page, url) != 0) {
        return RESULT_DAMAGED;
    }
    if (page.level != SCHEDULE_NO_LEVEL) {
        return RESULT_OK;
    }
    *n += 1;
    return schedule_page(line, batch, host, &page);
}

/* Schedules the next group of the host's line, if no due page of the host is left in the schedule.
 * url is scratch memory. */
static Result revisit_line_move_up(const RevisitLine *line, const Batch *batch, BatchHost *host,
                                   Buffer *url)
{
    uint64_t n = 0;
    bool owing = false;
    Result rc = schedule_level_count(line->schedule, batch->txn, host->host, REVISIT_LEVEL, &n);
    if (rc == RESULT_OK) {
        rc = is_owing(line, batch, host, 0, &owing);
    }
    if (rc != RESULT_OK || n > 0 || owing) {
        return rc;
    }
    while (rc == RESULT_OK && n < line->host_share) {
        RevisitDue due;
        rc = revisit_rows_line_take(line->table, batch->txn, host->host, &due);
        if (rc == RESULT_OK) {
            rc = revisit_line_schedule(line, batch, host, &due, url, &n);
        }
    }
    owe(host, n);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* How often a page changes that was not visited yet, as a sitemap has it: a hint, which holds until
 * its own visits tell. */
static Result revisit_signal_hint(const RevisitLine *line, const Batch *batch, uint64_t index,
                                  uint32_t every_s)
{
    RevisitNote note;
    Result rc = revisit_rows_note_get(line->table, batch->txn, index, &note);
    if (rc != RESULT_OK || every_s == 0 || note.hint_freq > 0 || note.fixed_freq > 0) {
        return rc;
    }
    note.hint_freq = 1 / (float)every_s;
    return revisit_rows_note_put(line->table, batch->txn, index, &note);
}

/* What an entry says: *follows: *due is the page's, and it is to be visited now. */
static Result revisit_signal_take(const RevisitLine *line, Batch *batch, const LinkDate *date,
                                  double trust, RevisitDue *due, bool *follows)
{
    const char *url = date->url;
    PageRef page;
    RevisitNote note;
    uint64_t index = 0;
    *follows = false;
    int code = page_db_find(line->db, batch->txn, url, strlen(url), &index);
    if (code != page_db_error_ok) {
        return code == page_db_error_no_page ? RESULT_OK : RESULT_DAMAGED;
    }
    if (batch_stored(batch, index, &page) != RESULT_OK) {
        return RESULT_DAMAGED;
    }
    if (page.n_crawls == 0) {
        return revisit_signal_hint(line, batch, index, date->every_s);
    }
    if ((double)date->lastmod_s <= page.last_crawl) {
        return RESULT_OK;
    }
    Result rc = revisit_rows_get(line->table, batch->txn, index, due);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = revisit_rows_note_get(line->table, batch->txn, index, &note);
    if (rc == RESULT_OK && !note.has_signal) {
        note.has_signal = true;
        note.signal_changes = (uint32_t)page.n_changes;
        rc = revisit_rows_note_put(line->table, batch->txn, index, &note);
    }
    const BatchHost *host = rc == RESULT_OK ? batch_host(batch, page.host) : NULL;
    if (host == NULL) {
        return rc == RESULT_OK ? batch->result : rc;
    }
    double is_true = ((double)host->record.signals_true + 1) / ((double)host->record.signals + 2);
    *follows = page.level == SCHEDULE_NO_LEVEL && is_true >= trust;
    return RESULT_OK;
}

/* A page was visited: whether the signal that its note holds was true is counted, and the note has
 * none any more. page is as it was stored after the visit. */
static void revisit_signal_settle(HostRecord *host, const PageRef *page, RevisitNote *note)
{
    if (note->has_signal) {
        host->signals++;
        host->signals_true += (uint32_t)page->n_changes != note->signal_changes;
        note->has_signal = false;
        note->signal_changes = 0;
    }
}

/* Revisit visit: what the answer to one visit changes in a page's note.
 *
 * What: the note (store/tables/revisit_rows.h) holds the validators of what is stored and how
 * often in a row the page was missed. A pure function of the answer: no tables, no clock. */

static void take_validator(const char *validator, char *out, size_t most)
{
    size_t length = validator == NULL ? 0 : strlen(validator);
    if (length > 0 && length <= most) {
        memcpy(out, validator, length + 1);
    }
}

/* Until when it is fresh, and there at all: the last answer holds. */
static void revisit_visit_times(const ParsedPage *page, RevisitNote *note)
{
    const FetchCost *cost = &page->fetch->cost;
    if (page->fetch->answer.status < 200) {
        return;
    }
    double end_s =
        (double)cost->wall_start.us / 1e6 + (double)mono_ms_between(cost->start, cost->end) / 1e3;
    double fresh_s = (double)page->about.freshness.fresh_s;
    note->fresh_until_s = fresh_s > 0 ? end_s + fresh_s : 0;
    note->ends_s =
        page->fetch->request.ignores_freshness ? 0 : (double)page->about.freshness.ends_s;
}

/* A page that is gone, or was never there to be fetched, is missed; an answer ends that. 410 says
 * that it is gone for good: all its tries are used up. */
static void count_miss(const FetchResult *fetch, const PageRef *page, RevisitNote *note)
{
    bool is_gone = fetch->answer.status == 404 || fetch->answer.status == 410;
    if (fetch->answer.status == 410 && !fetch->request.ignores_freshness) {
        note->misses = UINT8_MAX;
    } else if (is_gone || page->n_crawls == 0) {
        note->misses = note->misses < UINT8_MAX ? (uint8_t)(note->misses + 1) : UINT8_MAX;
    } else if (fetch->answer.status >= 100) {
        note->misses = 0;
    }
}

/* Updates a note. Validators come from an answer that brought or confirmed content. 404 counts as
 * a miss, and so does no answer at all when the page was never crawled; any other answer ends the
 * misses. ref is the page as it is stored. */
static void revisit_visit_note(const ParsedPage *page, const PageRef *ref, RevisitNote *note)
{
    /* Validators are those of the content that is stored: an incomplete one has none. */
    const FetchResult *fetch = page->fetch;
    if (fetch->answer.status >= 200 && fetch->answer.status < 400 && fetch->answer.status != 304) {
        note->etag[0] = '\0';
        note->last_modified[0] = '\0';
    }
    bool is_cut = fetch->answer.truncated == TRUNCATED_TIME ||
                  fetch->answer.truncated == TRUNCATED_DISCONNECT;
    if (fetch->answer.status == 304 || (fetch->answer.status == 200 && !is_cut)) {
        take_validator(page->about.etag, note->etag, REVISIT_ETAG_BYTES);
        take_validator(page->about.last_modified, note->last_modified, REVISIT_DATE_BYTES);
    }
    revisit_visit_times(page, note);
    count_miss(page->fetch, ref, note);
}

/* Whether the two notes are the same, so that no new record is needed. */
static bool revisit_visit_is_same(const RevisitNote *a, const RevisitNote *b)
{
    return a->misses == b->misses && a->has_signal == b->has_signal &&
           a->seen.n_same == b->seen.n_same && a->seen.n_changed == b->seen.n_changed &&
           a->fixed_freq == b->fixed_freq && a->hint_freq == b->hint_freq &&
           a->fresh_until_s == b->fresh_until_s && a->ends_s == b->ends_s &&
           strcmp(a->etag, b->etag) == 0 && strcmp(a->last_modified, b->last_modified) == 0;
}

/* ---- Revisits ---- */

/* Where a page stands between two visits. Its row in the revisit table stays until the last arrow:
 *
 *   row --(due) take_due--> the host's line --revisit_line_move_up--> schedule, level 0 --> fetched
 *    ^          '--- the line is empty, and the share not used up -----------^               |
 *    '----------------------------------- revisits_note <-----------------------------------'
 *
 * The chore walks the rows in order of time. Up to `position` it has seen all of them, and their
 * pages stand behind the first arrow. A row that is put at or before it would not be seen, so
 * revisits_put moves it back, and rows in between are seen twice. That does no harm: a page in the
 * schedule is known by its level, and a page in a line is put there again under the same key. For
 * the same reason position is not stored, and a start begins with the earliest row. */

#define LOOKS_PER_CLOCK 16u /* entries between two looks at the clock */
#define RESTS_MAX       16u
#define PIECE           1024u /* entries in one transaction: bounds what its commit has to sync */

struct Revisits {
    RevisitsOptions options; /* without the policy */
    Shared policies;         /* RevisitPolicy, with its rules */
    SharedReader policy;     /* the ingest thread's */
    RevisitLine line;
    RevisitPricing pricing;
    Buffer url;
    RevisitDue position; /* the chore has seen all up to here */
    RevisitDue kept;     /* as of the last commit */
    double next_s;       /* of the entries behind it none is due before */
    MonoTime pause;      /* the chore rests until then */
    unsigned n_done;     /* entries of this piece */
    bool is_cut;         /* it ended before all was done */
    bool settling;       /* there may be crawled pages that were never entered */
    bool kept_settling;  /* as of the last commit */
    uint64_t n_entered;  /* of those */
};

static MonoTime now_mono(const Revisits *revisits)
{
    const RevisitClock *clock = &revisits->options.clock;
    return clock->mono == NULL ? mono_now() : clock->mono(clock->context);
}

static double now_s(const Revisits *revisits)
{
    const RevisitClock *clock = &revisits->options.clock;
    WallTime now = clock->wall == NULL ? wall_now() : clock->wall(clock->context);
    return (double)now.us / 1e6;
}

static void policy_delete(void *object)
{
    RevisitPolicy *policy = object;
    if (policy != NULL) {
        freq_rules_delete(policy->rules);
        free(policy);
    }
}

/* As of now; valid until the next call. */
static const RevisitPolicy *policy_of(Revisits *revisits)
{
    return shared_get(&revisits->policy);
}

Result revisits_set_policy(Revisits *revisits, const RevisitPolicy *policy)
{
    RevisitPolicy *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        freq_rules_delete(policy->rules);
        return RESULT_MEMORY;
    }
    *copy = *policy;
    return shared_replace(&revisits->policies, copy);
}

Result revisits_new(Revisits **out, const RevisitsOptions *options, const IngestStore *store)
{
    Revisits *revisits = calloc(1, sizeof *revisits);
    if (revisits == NULL) {
        freq_rules_delete(options->policy.rules);
        return RESULT_MEMORY;
    }
    *revisits = (Revisits){
        .options = *options,
        .line = {.table = store->revisits,
                 .db = store->db,
                 .schedule = store->schedule,
                 .host_share = options->host_share == 0 ? REVISIT_HOST_SHARE : options->host_share},
        .url = {.limit = BUFFER_NO_LIMIT},
        .settling = true,
        .kept_settling = true};
    /* revisits_set_policy below owns them, also when it fails. */
    revisits->options.policy.rules = NULL;
    shared_init(&revisits->policies, policy_delete);
    shared_reader_open(&revisits->policy, &revisits->policies);
    revisit_pricing_init(&revisits->pricing, store->revisits, store->db);
    Result rc = revisits_set_policy(revisits, &options->policy);
    if (rc != RESULT_OK) {
        revisits_delete(revisits);
        return rc;
    }
    *out = revisits;
    return RESULT_OK;
}

void revisits_delete(Revisits *revisits)
{
    if (revisits != NULL) {
        revisit_pricing_destroy(&revisits->pricing);
        shared_reader_close(&revisits->policy);
        shared_destroy(&revisits->policies);
        buffer_destroy(&revisits->url);
        free(revisits);
    }
}

static Result revisits_read_page(Revisits *revisits, const Batch *batch, uint64_t index,
                                 PageRef *page)
{
    int rc = page_db_get(revisits->line.db, batch->txn, index, page, &revisits->url);
    page->url = buffer_string(&revisits->url);
    if (rc != page_db_error_ok) {
        return rc == page_db_error_no_page ? RESULT_NOT_FOUND : RESULT_DAMAGED;
    }
    return RESULT_OK;
}

/* The chore has to look again at what is due from time_s on. kept moves, too: after an abort it is
 * the place to go back to, and one that is too early costs only look-ups. */
static void look_back(Revisits *revisits, double time_s)
{
    revisits->position =
        (RevisitDue){.time_s = nextafter(time_s, 0), .index = UINT64_MAX - 1, .freq = 1};
    revisits->kept = revisits->position;
}

/* Enters a page, or moves it, and lets the chore see it. */
static Result revisits_put(Revisits *revisits, const Batch *batch, const RevisitDue *due)
{
    if (due->time_s <= revisits->position.time_s) { /* the wall clock went back */
        look_back(revisits, due->time_s);
    }
    revisits->next_s = fmin(revisits->next_s, due->time_s);
    return revisit_rows_put(revisits->line.table, batch->txn, due);
}

static RevisitDue next_visit(Revisits *revisits, const Batch *batch, const PageRef *page,
                             const RevisitNote *note, double from_s)
{
    const RevisitPolicy *policy = policy_of(revisits);
    const RevisitPrice *price = revisit_pricing_of(&revisits->pricing, batch, policy, page);
    double interval_s = revisit_policy_interval_s(policy, page, note, price);
    return (RevisitDue){.time_s = fmax(from_s + interval_s, note->fresh_until_s),
                        .index = page->index,
                        .freq = (float)(1 / interval_s)};
}

/* ---- what is due ---- */

/* What `ragno schedule` built counts from 0: its times become wall times. Pages that are not spread
 * stand at 0 and are due a period after their last crawl. */
static Result anchor(Revisits *revisits, const Batch *batch, const PageRef *page,
                     const RevisitDue *built)
{
    RevisitNote note;
    Result rc = revisit_rows_note_get(revisits->line.table, batch->txn, page->index, &note);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* The rate that the command gave survives in the note: the row is replaced by one of wall time,
     * which is how the chore knows at its next look that this page is anchored. */
    note.fixed_freq = built->freq;
    RevisitDue due = next_visit(revisits, batch, page, &note, page->last_crawl);
    double margin = policy_of(revisits)->margin;
    if (built->time_s > 0) {
        double least_s = margin < 0 ? 0 : page->last_crawl + 1 / ((double)due.freq * (1 + margin));
        due.time_s = fmax(fmax(now_s(revisits) + built->time_s, least_s), note.fresh_until_s);
    }
    rc = revisit_rows_note_put(revisits->line.table, batch->txn, page->index, &note);
    return rc == RESULT_OK ? revisits_put(revisits, batch, &due) : rc;
}

static Result take_due(Revisits *revisits, Batch *batch, const RevisitDue *due)
{
    PageRef page;
    RevisitNote note;
    Result rc = revisits_read_page(revisits, batch, due->index, &page);
    if (rc == RESULT_NOT_FOUND) {
        return revisit_rows_remove(revisits->line.table, batch->txn, due->index);
    }
    if (rc == RESULT_OK) {
        rc = revisit_rows_note_get(revisits->line.table, batch->txn, due->index, &note);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    BatchHost *host = batch_host(batch, page.host);
    if (host == NULL) {
        return batch->result;
    }
    if (revisit_policy_is_over(policy_of(revisits), &page, &note)) {
        return revisit_rows_remove(revisits->line.table, batch->txn, due->index);
    }
    if (due->time_s < REVISIT_VIRTUAL_MAX) {
        return anchor(revisits, batch, &page, due);
    }
    return revisit_line_admit(&revisits->line, batch, host, &page, due);
}

/* ---- crawls that were begun otherwise ---- */

static Result settle_page(Revisits *revisits, const Batch *batch, uint64_t index)
{
    PageRef page;
    RevisitDue due;
    RevisitNote note;
    Result rc = revisits_read_page(revisits, batch, index, &page);
    if (rc != RESULT_OK || page.n_crawls == 0) {
        return rc;
    }
    rc = revisit_rows_get(revisits->line.table, batch->txn, index, &due);
    if (rc != RESULT_NOT_FOUND) {
        return rc;
    }
    rc = revisit_rows_note_get(revisits->line.table, batch->txn, index, &note);
    if (rc != RESULT_OK || revisit_policy_is_over(policy_of(revisits), &page, &note)) {
        return rc;
    }
    due = next_visit(revisits, batch, &page, &note, page.last_crawl);
    revisits->n_entered++;
    return revisits_put(revisits, batch, &due);
}

/* Counts an entry of this piece of the chore; true when it was the last for now. */
static bool is_enough(Revisits *revisits, MonoTime until)
{
    revisits->n_done++;
    revisits->is_cut = revisits->n_done >= PIECE || (revisits->n_done % LOOKS_PER_CLOCK == 0 &&
                                                     !mono_before(now_mono(revisits), until));
    return revisits->is_cut;
}

/* Enters crawled pages that nobody entered. Once all are, only the mark moves on. */
static Result revisits_settle(Revisits *revisits, const Batch *batch, MonoTime until)
{
    uint64_t n_pages = page_db_n_pages(revisits->line.db, batch->txn);
    uint64_t index = 0;
    Result rc = revisit_rows_settled_get(revisits->line.table, batch->txn, &index);
    while (rc == RESULT_OK && revisits->settling && index < n_pages && !revisits->is_cut) {
        rc = settle_page(revisits, batch, index++);
        (void)is_enough(revisits, until);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (revisits->settling && index >= n_pages) {
        revisits->settling = false;
        if (revisits->n_entered > 0) {
            LOG_INFO("revisits", "pages crawled before are visited again", "pages=%llu",
                     (unsigned long long)revisits->n_entered);
        }
    }
    return revisit_rows_settled_put(revisits->line.table, batch->txn,
                                    revisits->settling ? index : n_pages);
}

/* ---- the chore ---- */

static MonoTime revisits_chore_due(void *context)
{
    const Revisits *revisits = context;
    if (revisits->settling) {
        return revisits->pause;
    }
    /* No row lies behind the position: the next revisits_put sets next_s, and with it this. */
    if (isinf(revisits->next_s)) {
        return MONO_NEVER;
    }
    MonoTime due = {0};
    double wait_ms = ceil((revisits->next_s - now_s(revisits)) * 1e3);
    if (wait_ms > 0) {
        due = wait_ms < 1e15 ? mono_add_ms(now_mono(revisits), (int64_t)wait_ms) : MONO_NEVER;
    }
    return mono_later(due, revisits->pause);
}

static Result revisits_chore_run(void *context, Batch *batch, MonoTime until)
{
    Revisits *revisits = context;
    double now = now_s(revisits);
    revisits->n_done = 0;
    revisits->is_cut = false;
    Result rc = revisits_settle(revisits, batch, until);
    if (rc == RESULT_OK) {
        rc =
            revisit_pricing_run(&revisits->pricing, batch, policy_of(revisits), now_mono(revisits));
    }
    revisits->next_s = revisits->is_cut ? now : HUGE_VAL; /* unless one is found */
    while (rc == RESULT_OK && !revisits->is_cut) {
        RevisitDue due = revisits->position;
        rc = revisit_rows_next(revisits->line.table, batch->txn, &due);
        if (rc != RESULT_OK || due.time_s > now) {
            revisits->next_s =
                rc == RESULT_OK ? fmin(revisits->next_s, due.time_s) : revisits->next_s;
            rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
            break;
        }
        revisits->position = due; /* first: what is moved may move it back */
        rc = take_due(revisits, batch, &due);
        if (is_enough(revisits, until)) {
            revisits->next_s = now; /* there may be more */
        }
    }
    return rc == RESULT_OK ? revisits_end(revisits, batch) : rc;
}

/* What is left over goes on with the next batch. */
static void revisits_chore_ended(void *context, Result rc)
{
    Revisits *revisits = context;
    if (rc == RESULT_OK) {
        revisits->kept = revisits->position;
        revisits->kept_settling = revisits->settling;
    } else {
        revisits->position = revisits->kept;
        revisits->settling = revisits->kept_settling;
        revisits->next_s = 0;
    }
    int64_t pause_ms = rc == RESULT_OK && revisits->is_cut ? 0 : revisits->options.pause_ms;
    revisits->pause = mono_add_ms(now_mono(revisits), pause_ms);
}

/* The crawl does not end by itself. */
static bool revisits_chore_holds(void *context)
{
    (void)context;
    return true;
}

IngestChore revisits_chore(Revisits *revisits)
{
    return (IngestChore){.context = revisits,
                         .due = revisits_chore_due,
                         .run = revisits_chore_run,
                         .ended = revisits_chore_ended,
                         .holds = revisits_chore_holds,
                         .rides = true};
}

/* ---- results ---- */

static void count_visit(Batch *batch, const FetchResult *fetch, const RevisitDue *old)
{
    double late_s = (double)fetch->cost.wall_start.us / 1e6 - old->time_s;
    batch->visits.visits++;
    batch->visits.not_modified += fetch->answer.status == 304;
    batch->visits.gone += fetch->answer.status == 404 || fetch->answer.status == 410;
    batch->late_s = fmax(batch->late_s, late_s);
}

Result revisits_learn_numbers(Revisits *revisits, const Batch *batch, ParsedPage *page)
{
    const RevisitRows *table = revisits->line.table;
    uint64_t index = page->fetch->request.index;
    uint8_t history[NUMBERS_HISTORY_BYTES];
    size_t length = 0;
    Result rc = revisit_rows_numbers_get(table, batch->txn, index, history, &length);
    if (rc != RESULT_OK || (page->hashes.numbers.n == 0 && length == 0)) {
        return rc;
    }
    (void)numbers_learn(&page->hashes.numbers, history, &length);
    page->hashes.content[0] = numbers_mix(page->hashes.content[0], history, length);
    return revisit_rows_numbers_put(table, batch->txn, index, history, length);
}

Result revisits_note(Revisits *revisits, Batch *batch, const ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    PageRef ref;
    RevisitDue old = {.freq = 0};
    RevisitNote before;
    Result rc = revisits_read_page(revisits, batch, fetch->request.index, &ref);
    if (rc == RESULT_OK) {
        rc = revisit_rows_get(revisits->line.table, batch->txn, fetch->request.index, &old);
    }
    bool is_visit = rc == RESULT_OK;
    if (rc == RESULT_NOT_FOUND && ref.n_crawls == 0 && fetch->kind != FETCHED_PAGE) {
        return RESULT_OK; /* refused, and never crawled */
    }
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = revisit_rows_note_get(revisits->line.table, batch->txn, fetch->request.index, &before);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (is_visit && old.time_s >= REVISIT_VIRTUAL_MAX) {
        revisits->pricing.n_visits++;
        count_visit(batch, fetch, &old);
    }
    RevisitNote note = before;
    revisit_visit_note(page, &ref, &note);
    BatchHost *host =
        note.has_signal && fetch->answer.status >= 100 ? batch_host(batch, ref.host) : NULL;
    if (host != NULL) {
        revisit_signal_settle(&host->record, &ref, &note);
    }
    RevisitDue due =
        next_visit(revisits, batch, &ref, &note, (double)fetch->cost.wall_start.us / 1e6);
    bool ends = note.ends_s > 0 && due.time_s >= note.ends_s; /* it will not be there */
    if (ends || revisit_policy_is_over(policy_of(revisits), &ref, &note)) {
        batch->visits.ended++;
        return revisit_rows_remove(revisits->line.table, batch->txn, ref.index);
    }
    note.seen = revisit_policy_seen(&ref, &note);
    if (!revisit_visit_is_same(&note, &before)) {
        rc = revisit_rows_note_put(revisits->line.table, batch->txn, ref.index, &note);
    }
    return rc == RESULT_OK ? revisits_put(revisits, batch, &due) : rc;
}

Result revisits_take_signals(Revisits *revisits, Batch *batch, const ParsedPage *page)
{
    double now = now_s(revisits);
    const RevisitPolicy *policy = policy_of(revisits);
    Result rc = RESULT_OK;
    size_t n_looked = 0;
    for (size_t i = 0; rc == RESULT_OK && i < page->links.n_dates && n_looked < REVISIT_SIGNALS_MAX;
         i++) {
        const LinkDate *date = &page->links.dates[i];
        double said_s = (double)date->lastmod_s;
        bool is_news = page->fetch->request.again && said_s > now - policy->max_s && said_s <= now;
        if (!is_news && date->every_s == 0) {
            continue; /* too old to be news, or a day that is to come */
        }
        RevisitDue due;
        bool follows = false;
        n_looked++;
        LinkDate said = *date;
        said.lastmod_s = is_news ? date->lastmod_s : 0;
        rc = revisit_signal_take(&revisits->line, batch, &said, policy->signal_trust, &due,
                                 &follows);
        RevisitNote note = {.fresh_until_s = 0};
        if (rc == RESULT_OK && follows) {
            rc = revisit_rows_note_get(revisits->line.table, batch->txn, due.index, &note);
        }
        double earliest_s = fmax(now, note.fresh_until_s);
        if (rc == RESULT_OK && follows && due.time_s > earliest_s) {
            due.time_s = earliest_s;
            batch->visits.signals++;
            rc = revisits_put(revisits, batch, &due);
        }
    }
    return rc;
}

bool revisits_rest(Revisits *revisits, HostRecord *record)
{
    const RevisitPolicy *policy = policy_of(revisits);
    if (record->rests + 1u >= policy->tries || record->rests >= RESTS_MAX) {
        return false;
    }
    double rest_s = fmin(ldexp(policy->default_s, record->rests), policy->max_s);
    int64_t until_ms = (int64_t)((now_s(revisits) + rest_s) * 1e3);
    record->rests++;
    record->failures = 0;
    record->not_before_ms = record->not_before_ms < until_ms ? until_ms : record->not_before_ms;
    return true;
}

Result revisits_end(Revisits *revisits, Batch *batch)
{
    uint64_t n_waiting = 0;
    size_t place = 0;
    BatchHost *host = NULL;
    Result rc = revisit_rows_line_count(revisits->line.table, batch->txn, &n_waiting);
    while (rc == RESULT_OK && (host = map_next(&batch->hosts, &place)) != NULL) {
        if (host->cleared && host->record.state == HOST_FULL) {
            /* Its due pages left the schedule with its other URLs, but their rows are there, before
             * position. */
            look_back(revisits, 0);
            revisits->next_s = 0;
        }
        if (n_waiting > 0) {
            rc = revisit_line_move_up(&revisits->line, batch, host, &revisits->url);
        }
    }
    return rc;
}

void revisits_publish(const Revisits *revisits, MDB_txn *txn, const RevisitTotals *totals,
                      Stats *stats)
{
    uint64_t n = 0;
    (void)revisit_rows_count(revisits->line.table, txn, &n);
    stats_set(&stats->revisit_pages, n);
    stats_set(&stats->revisits, totals->visits);
    stats_set(&stats->not_modified, totals->not_modified);
    stats_set(&stats->revisit_signals, totals->signals);
}
