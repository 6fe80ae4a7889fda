#include "frontier/host/visit_window.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "store/schedule/schedule_read.h"
#include "base/thread/log.h"
#include "base/memory/array.h"

#define REFILL_BATCH 64u
#define WINDOW_LEAST 4u
#define TEXT_LIMIT   ((size_t)2 << 20)
#define LAST_INDEX   ((UINT64_C(1) << 48) - 1)

static char present; /* what in_flight maps to */

/* Takes URLs out of the window until `least` remain; they may be handed out again. */
static void window_release_to(Distributor *distributor, VisitState *visit_state, uint32_t least)
{
    uint64_t left = visit_state->distributor.uncommitted;
    visit_state->check.asks = false; /* none of its URLs */
    while (visit_state_count(visit_state) > least) {
        const WindowUrl *url = visit_state_peek(visit_state);
        (void)map_remove(&distributor->in_flight, map_key(url->index));
        assert(left > 0);
        left--;
        visit_state_take(visit_state);
    }
    distributor_set_uncommitted(distributor, visit_state, left);
}

void visit_window_release(Distributor *distributor, VisitState *visit_state)
{
    window_release_to(distributor, visit_state, 0);
    visit_state_set_window(visit_state, NULL, NULL, 0, 0);
}

void visit_window_release_ready(Distributor *distributor, VisitState *visit_state)
{
    window_release_to(distributor, visit_state, visit_state->window.n_later);
    if (visit_state_count(visit_state) == 0) {
        visit_state_set_window(visit_state, NULL, NULL, 0, 0);
    }
}

/* A share of the memory that is left, so that more hosts mean shorter windows. One that is often
 * out of date before it is used up becomes shorter; one that is used up, longer. */
static uint32_t window_size(const Distributor *distributor, VisitState *visit_state)
{
    size_t hosts = distributor->visit_states.count + 1;
    size_t share = distributor->options.memory_bytes / 2 / hosts / 128;
    uint32_t most = distributor->options.window_max;
    size_t least = most < WINDOW_LEAST ? most : WINDOW_LEAST;
    uint32_t size = (uint32_t)bounds_size(share, least, most);
    uint32_t appetite = visit_state->distributor.appetite;
    if (appetite == 0 || appetite >= size) {
        return size;
    }
    appetite = appetite < WINDOW_LEAST ? WINDOW_LEAST : appetite;
    visit_state->distributor.appetite = 2 * appetite;
    return appetite < size ? appetite : size;
}

/* Entries of a host that may go into its window. */
typedef struct Choice {
    Distributor *distributor;
    MDB_txn *txn;
    uint32_t host;
    ScheduleItem *items; /* chosen so far */
    size_t n;
} Choice;

/* Chooses up to `max` entries that are not in flight, in order, behind *after (NULL: the head);
 * *after moves on. *is_end: there are no more. */
static Result visit_window_choose(Choice *choice, ScheduleItem *after, bool started, size_t max,
                                  bool *is_end)
{
    Distributor *distributor = choice->distributor;
    ScheduleItem items[REFILL_BATCH];
    size_t most = choice->n + max;
    *is_end = false;
    while (!*is_end && choice->n < most) {
        size_t n = 0;
        size_t i = 0;
        Result rc = schedule_head(distributor->schedule, choice->txn, choice->host,
                                  started ? after : NULL, items, REFILL_BATCH, &n);
        if (rc != RESULT_OK) {
            return rc;
        }
        while (i < n && choice->n < most) {
            *after = items[i++];
            if (map_get(&distributor->in_flight, map_key(after->index)) == NULL) {
                choice->items[choice->n++] = *after;
            }
        }
        *is_end = n < REFILL_BATCH && i == n;
        started = true;
    }
    return RESULT_OK;
}

/* The levels at which the host has entries behind *after; places[l] is where those of level l
 * begin. */
static Result find_levels(const Choice *choice, ScheduleItem after, uint64_t *levels,
                          ScheduleItem places[SCHEDULE_MAX_LEVELS])
{
    size_t n = 1;
    *levels = 0;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && n == 1) {
        ScheduleItem item = {.level = SCHEDULE_NO_LEVEL};
        rc = schedule_head(choice->distributor->schedule, choice->txn, choice->host, &after, &item,
                           1, &n);
        if (rc == RESULT_OK && n == 1) {
            *levels |= UINT64_C(1) << item.level;
            places[item.level] = after;
            after = (ScheduleItem){.level = item.level, .index = LAST_INDEX};
        }
    }
    return rc;
}

/* Chooses up to max entries behind `after`, of all levels there, the better ones more often. */
static Result choose_lower(Choice *choice, ScheduleItem after, size_t max)
{
    const LevelBias others = {.kind = LEVEL_BIAS_WEIGHTED, .lower_share = 1.0};
    ScheduleItem places[SCHEDULE_MAX_LEVELS];
    uint64_t levels = 0;
    Result rc = find_levels(choice, after, &levels, places);
    uint64_t best = UINT64_C(1) << choice->items[0].level; /* has had its share */
    while (rc == RESULT_OK && max > 0 && levels != 0) {
        unsigned level = level_bias_choose(&others, (levels & ~best) == 0 ? levels : levels | best,
                                           choice->distributor->tickets++);
        size_t before = choice->n;
        bool is_end = false;
        rc = visit_window_choose(choice, &places[level], true, 1, &is_end);
        /* It reads on into the next level, where others have been chosen from, or will be. */
        if (choice->n > before && choice->items[before].level != level) {
            choice->n = before;
        }
        if (choice->n == before) {
            levels &= ~(UINT64_C(1) << level);
        }
        max -= choice->n - before;
    }
    return rc;
}

/* The window of a host, best level first: the head of its schedule, and with a weighted bias a
 * share of what comes later, so that its lower levels get their turns (visit_state.c). */
static Result choose_window(Choice *choice, size_t max)
{
    const LevelBias *bias = &choice->distributor->options.bias;
    size_t lower = bias->kind == LEVEL_BIAS_WEIGHTED && max > 1
                       ? (size_t)(bias->lower_share * (double)max + 0.5)
                       : 0;
    lower = lower < max ? lower : max - 1;
    ScheduleItem after = {.index = 0};
    bool is_end = false;
    Result rc = visit_window_choose(choice, &after, false, max - lower, &is_end);
    if (rc == RESULT_OK && lower > 0 && !is_end) {
        rc = choose_lower(choice, after, lower);
        array_sort(choice->items, choice->n, sizeof *choice->items, ARRAY_KEY(ScheduleItem, level),
                   ARRAY_KEY(ScheduleItem, index));
    }
    return rc;
}

/* The validators of a page that was crawled before, behind the URLs; 0 when there are none. */
static uint32_t read_validators(Distributor *distributor, MDB_txn *txn, uint64_t index)
{
    RevisitNote note;
    Buffer *text = &distributor->text;
    size_t offset = text->length;
    if (distributor->options.revisits == NULL ||
        revisit_rows_note_get(distributor->options.revisits, txn, index, &note) != RESULT_OK ||
        (note.etag[0] == '\0' && note.last_modified[0] == '\0')) {
        return 0;
    }
    if (buffer_append(text, note.etag, strlen(note.etag) + 1) != RESULT_OK ||
        buffer_append(text, note.last_modified, strlen(note.last_modified) + 1) != RESULT_OK) {
        text->length = offset; /* it is fetched without a condition */
        return 0;
    }
    return (uint32_t)offset;
}

static Result visit_window_read_urls(Distributor *distributor, MDB_txn *txn,
                                     const ScheduleItem *chosen, size_t n, WindowUrl *urls,
                                     uint32_t *count)
{
    Buffer url = {.limit = TEXT_LIMIT};
    buffer_reset(&distributor->text);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        PageRef page;
        buffer_reset(&url);
        int rc = page_db_get(distributor->db, txn, chosen[i].index, &page, &url);
        size_t offset = distributor->text.length;
        if (rc == 0 && *count > 0 && offset + url.length + 1 > TEXT_LIMIT) {
            break; /* the rest comes with the next window */
        }
        if (rc != 0 || buffer_append(&distributor->text, url.data, url.length) != RESULT_OK ||
            buffer_append_char(&distributor->text, '\0') != RESULT_OK) {
            LOG_ERROR("distributor", "scheduled page cannot be read", "index=%llu rc=%d",
                      (unsigned long long)chosen[i].index, rc);
            distributor->text.length = offset;
            if (rc == page_db_error_no_page || rc == page_db_error_damaged) {
                (void)disk_read_note(distributor, RESULT_DAMAGED); /* it would be asked for ever */
            }
            continue;
        }
        bool again = page.n_crawls > 0;
        urls[(*count)++] = (WindowUrl){
            .index = chosen[i].index,
            .again = again,
            .walled = again && wall_run_is_status(page.status),
            .validators = again ? read_validators(distributor, txn, chosen[i].index) : 0,
            .offset = (uint32_t)offset,
            .length = (uint32_t)url.length,
            .level = (uint8_t)chosen[i].level,
            .hop = page.hop,
            .depth = (uint8_t)(page.depth > 255 ? 255 : page.depth),
            .tries = page.tries};
    }
    buffer_destroy(&url);
    return RESULT_OK;
}

/* How many pages may still be fetched of a host, none of which is in flight yet. */
static Result pages_left(const Distributor *distributor, MDB_txn *txn,
                         const VisitState *visit_state, uint64_t *left)
{
    HostRecord record = {.state = HOST_ACTIVE};
    const DistributorOptions *options = &distributor->options;
    uint64_t most = options->host_pages == NULL
                        ? options->pages_per_host
                        : options->host_pages(options->context, visit_state->identity.hostname);
    *left = UINT64_MAX;
    if (most == 0) {
        return RESULT_OK;
    }
    Result rc = host_rows_get(distributor->host_rows, txn, visit_state->identity.host, &record);
    if (rc == RESULT_OK && record.state == HOST_ACTIVE) { /* a full one has visits only */
        uint64_t taken = host_pages(&record) + visit_state->distributor.uncommitted;
        *left = taken < most ? most - taken : 0;
    }
    return rc;
}

/* Adds the URLs that wait for a retry behind the new ones, their texts behind the texts. Without
 * room they wait no longer: they come with a later window. */
static uint32_t window_carry_over(Distributor *distributor, VisitState *visit_state,
                                  WindowUrl *urls, uint32_t count)
{
    Buffer *text = &distributor->text;
    uint64_t uncommitted = visit_state->distributor.uncommitted;
    const VisitWindow *old = &visit_state->window;
    for (uint32_t i = old->next; i < old->count; i++) {
        WindowUrl url = old->urls[i];
        size_t offset = text->length;
        const char *etag = old->bytes + url.validators;
        Result rc = buffer_append(text, old->bytes + url.offset, url.length);
        if (rc == RESULT_OK) {
            rc = buffer_append_char(text, '\0');
        }
        size_t validators = text->length;
        if (rc == RESULT_OK && url.validators != 0) {
            size_t length = strlen(etag) + 1;
            rc = buffer_append(text, etag, length + strlen(etag + length) + 1);
        }
        if (rc != RESULT_OK) {
            text->length = offset;
            uncommitted -= map_remove(&distributor->in_flight, map_key(url.index)) != NULL;
            continue;
        }
        url.offset = (uint32_t)offset;
        url.validators = url.validators == 0 ? 0 : (uint32_t)validators;
        urls[count++] = url;
    }
    distributor_set_uncommitted(distributor, visit_state, uncommitted);
    return count;
}

/* The URL of the page that a host is checked by, behind the others; false: there is none. */
static bool window_read_check(Distributor *distributor, MDB_txn *txn, const VisitState *visit_state,
                              WindowUrl *check)
{
    PageRef page;
    Buffer url;
    size_t offset = distributor->text.length;
    if (!visit_state->check.has_page) {
        return false;
    }
    buffer_init(&url, TEXT_LIMIT);
    *check = visit_state->check.url;
    check->offset = (uint32_t)offset;
    bool has_url = page_db_get(distributor->db, txn, check->index, &page, &url) == 0 &&
                   buffer_append(&distributor->text, url.data, url.length) == RESULT_OK &&
                   buffer_append_char(&distributor->text, '\0') == RESULT_OK;
    check->length = (uint32_t)url.length;
    buffer_destroy(&url);
    distributor->text.length = has_url ? distributor->text.length : offset;
    return has_url;
}

Result visit_window_refill(Distributor *distributor, MDB_txn *txn, VisitState *visit_state)
{
    uint32_t want = window_size(distributor, visit_state);
    uint64_t left = 0;
    visit_state->check.asks = false; /* its URL may be asked again behind the next failure */
    Result rc = pages_left(distributor, txn, visit_state, &left);
    uint32_t n_later = visit_state_count(visit_state);
    visit_state->distributor.capped = rc == RESULT_OK && left == 0;
    if (n_later == 0) {
        visit_state_set_window(visit_state, NULL, NULL, 0, 0);
    }
    if (rc != RESULT_OK || left == 0) {
        return rc;
    }
    want = want < left ? want : (uint32_t)left;
    ScheduleItem *chosen = calloc(want, sizeof *chosen);
    WindowUrl *urls = calloc((size_t)want + n_later, sizeof *urls);
    size_t n = 0;
    uint32_t count = 0;
    rc = chosen == NULL || urls == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK) {
        Choice choice = {.distributor = distributor,
                         .txn = txn,
                         .host = visit_state->identity.host,
                         .items = chosen};
        rc = choose_window(&choice, want);
        n = choice.n;
    }
    if (rc == RESULT_OK) {
        rc = visit_window_read_urls(distributor, txn, chosen, n, urls, &count);
    }
    uint32_t n_new = count;
    if (rc == RESULT_OK && count > 0) {
        count = window_carry_over(distributor, visit_state, urls, count);
    }
    WindowUrl check;
    bool has_check =
        rc == RESULT_OK && count > 0 && window_read_check(distributor, txn, visit_state, &check);
    size_t bytes = (count == 0 ? 0 : count * sizeof *urls) + distributor->text.length;
    char *memory = rc == RESULT_OK && count > 0 ? malloc(bytes) : NULL;
    if (memory != NULL) {
        memcpy(memory, urls, count * sizeof *urls);
        memcpy(memory + count * sizeof *urls, distributor->text.data, distributor->text.length);
        for (uint32_t i = 0; i < n_new && rc == RESULT_OK; i++) {
            rc = map_put(&distributor->in_flight, map_key(urls[i].index), &present);
            if (rc != RESULT_OK) { /* without room it has none that wait, either */
                window_release_to(distributor, visit_state, 0);
                n_new = i;
                count = i;
            }
        }
        visit_state_set_window(visit_state, (WindowUrl *)(void *)memory,
                               memory + (bytes - distributor->text.length), count, bytes);
        if (has_check) {
            visit_state->check.url = check;
        }
        distributor_set_uncommitted(distributor, visit_state,
                                    visit_state->distributor.uncommitted + n_new);
    }
    free(chosen);
    free(urls);
    return rc;
}
