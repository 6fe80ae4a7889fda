#include "render/desk/desk_jobs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "base/thread/thread.h"
#include "render/crawl_source.h"

#define DESK_LOOK_MS 100   /* between two looks at the table, when there is nothing to do */
#define DESK_LACKING 64u   /* jobs whose requisites are looked at for one that is taken */
#define DESK_WAITING 4096u /* jobs that are looked at for one that waits */
#define DESK_ASKING  16u   /* guesses that ingest has not written down */
#define DESK_PATIENCE_MS                                                                           \
    600000 /* a result that was not written down by then is lost, and made anew */

/* ---- turns ---- */

#define TURNS_BEST  8 /* what a host may have to its credit */
#define TURNS_PRICE 2 /* cheap pages make up for a dear one */
#define TURNS_TIMES 3 /* what pages usually take, for a glance */
#define TURNS_FIRST 2 /* the same, of which nothing has come yet */

/* What a host without credit may hope for: how much its next page has, in doublings of a trial. */
typedef enum TurnsHope {
    HOPE_NONE,
    HOPE_TRIAL,
    HOPE_TWICE,
    HOPE_FOURFOLD,
    HOPE_ALL, /* its pages bring something */
    HOPE_OVER,
    HOPES
} TurnsHope;

/* What maps hold are addresses in here: of hosts their hope and their credit, from -TURNS_BEST to
 * TURNS_BEST, and what was not enough for a page. */
#define TURNS_CREDITS (2 * TURNS_BEST + 1)
static char turns_standings[HOPES * TURNS_CREDITS];
static char turns_glanced;
static char turns_tried;

/* A part that is most of it is all of it. */
static int64_t turns_part(const Turns *turns, int64_t part_ms)
{
    return part_ms * 2 < turns->most_ms ? part_ms : turns->most_ms;
}

static int64_t turns_trial_ms(const Turns *turns)
{
    int64_t tenth = turns->most_ms / 10;
    return turns_part(turns, tenth > TURNS_TRIAL ? tenth : TURNS_TRIAL);
}

bool turns_is_heavy(const Turns *turns, const Turn *turn, int64_t cpu_ms)
{
    return turn->cpu_ms > turns_trial_ms(turns) && cpu_ms > turns_trial_ms(turns);
}

/* What the account has, but what pages usually take in any case. */
static int64_t turns_glance_ms(const Turns *turns)
{
    int64_t glance_ms = turns->usual_ms * TURNS_TIMES;
    glance_ms = glance_ms < turns->saved_ms ? glance_ms : turns->saved_ms;
    glance_ms = turns_part(turns, glance_ms > turns->usual_ms ? glance_ms : turns->usual_ms);
    return glance_ms < turns_trial_ms(turns) ? glance_ms : turns_trial_ms(turns);
}

void turns_init(Turns *turns, int64_t most_ms)
{
    *turns = (Turns){.most_ms = most_ms,
                     .usual_ms = TURNS_USUAL,
                     .saved_ms = (int64_t)TURNS_USUAL * TURNS_FIRST};
    map_init(&turns->hosts);
    map_init(&turns->pages);
}

void turns_destroy(Turns *turns)
{
    map_destroy(&turns->hosts);
    map_destroy(&turns->pages);
}

static int turns_credit(const Turns *turns, uint32_t host)
{
    const char *at = map_get(&turns->hosts, map_key(host));
    return at == NULL ? 0 : (int)((at - turns_standings) % TURNS_CREDITS) - TURNS_BEST;
}

static TurnsHope turns_hope(const Turns *turns, uint32_t host)
{
    const char *at = map_get(&turns->hosts, map_key(host));
    return at == NULL ? HOPE_NONE : (TurnsHope)((at - turns_standings) / TURNS_CREDITS);
}

static bool turns_is_stranger(const Turns *turns, uint32_t host)
{
    return map_get(&turns->hosts, map_key(host)) == NULL;
}

TurnPlace turns_place(const Turns *turns, uint32_t host, uint64_t page)
{
    if (turns->saved_ms < 0 && turns_is_stranger(turns, host)) {
        return TURN_UNSURE;
    }
    int credit = turns_credit(turns, host);
    const char *known = map_get(&turns->pages, map_key(page));
    if (known != &turns_glanced && credit >= (known != NULL)) {
        return TURN_AT_ONCE;
    }
    TurnsHope hope = turns_hope(turns, host);
    if (hope != HOPE_NONE && hope != HOPE_OVER) {
        return TURN_HOPEFUL;
    }
    return known == &turns_glanced ? TURN_LATER : TURN_IS_DEAR;
}

/* CPU time of a page whose turn comes. */
static int64_t turns_cpu_ms(const Turns *turns, uint32_t host, uint64_t page, TurnPlace place)
{
    if (place == TURN_LATER) {
        return turns_trial_ms(turns);
    }
    if (place == TURN_HOPEFUL) {
        static const int64_t trials[HOPES] = {[HOPE_NONE] = 1,
                                              [HOPE_TRIAL] = 1,
                                              [HOPE_TWICE] = 2,
                                              [HOPE_FOURFOLD] = 4,
                                              [HOPE_OVER] = 1}; /* HOPE_ALL: all of it */
        int64_t n = trials[turns_hope(turns, host)];
        return n == 0 ? turns->most_ms : turns_part(turns, n * turns_trial_ms(turns));
    }
    if (place == TURN_IS_DEAR || map_get(&turns->pages, map_key(page)) != NULL) {
        return turns->most_ms;
    }
    return turns_credit(turns, host) > 0 ? turns_trial_ms(turns) : turns_glance_ms(turns);
}

bool turns_may_begin(const Turns *turns, TurnPlace place, MonoTime now)
{
    int64_t needs_ms = place == TURN_IS_DEAR ? turns->most_ms : turns_trial_ms(turns);
    bool has_gap = turns->has_begun;
    for (int before = TURN_AT_ONCE; before < (int)place && has_gap; before++) {
        has_gap = mono_ms_between(turns->last[before], now) >= needs_ms;
    }
    return place == TURN_AT_ONCE || !turns->has_begun || has_gap ||
           (turns->n_later == 0 &&
            turns->saved_ms - (place == TURN_UNSURE ? 0 : turns->owed_ms) >= needs_ms);
}

Turn turns_begin(Turns *turns, uint32_t host, uint64_t page, MonoTime now)
{
    TurnPlace place = turns_place(turns, host, page);
    Turn turn = {.host = host,
                 .page = page,
                 .place = place,
                 .cpu_ms = turns_cpu_ms(turns, host, page, place)};
    turns->n_later += place != TURN_AT_ONCE;
    for (int each = 0; each < TURN_PLACES && !turns->has_begun; each++) {
        turns->last[each] = now;
    }
    turns->last[place] = now;
    turns->has_begun = true;
    return turn;
}

/* Without memory it is not noted. */
static void turns_put(Map *map, uint64_t key, char *value)
{
    if (map->count >= TURNS_MOST) {
        map_destroy(map);
        map_init(map);
    }
    (void)map_put(map, map_key(key), value);
}

/* What is left of a host's credit when one of its pages was not content with what it had. */
static int turns_charge(const Turns *turns, const Turn *turn, int credit)
{
    if (turn->cpu_ms < turns_trial_ms(turns)) {
        return -1; /* nothing is known of it but a glance */
    }
    int charged = credit - TURNS_PRICE < -TURNS_BEST ? credit : credit - TURNS_PRICE;
    return turn->cpu_ms == turns->most_ms && charged > -1 ? -1 : charged;
}

/* A step towards what a page took, however far that is: so half of them are above. */
static void turns_note_usual(Turns *turns, int64_t cpu_ms)
{
    int64_t step = turns->usual_ms / 8;
    turns->usual_ms += cpu_ms > turns->usual_ms ? step : 0;
    turns->usual_ms -= cpu_ms < turns->usual_ms && turns->usual_ms > TURNS_USUAL ? step : 0;
}

/* What a turn that a browser has seen leaves in the account. A host of which nothing was known and
 * that brought something vouches for the next ones. */
static void turns_pay(Turns *turns, const Turn *turn, TurnEnd end, int64_t cpu_ms)
{
    bool is_stranger = turns_is_stranger(turns, turn->host);
    int64_t saved_ms = turns->saved_ms;
    if (end >= TURN_ANSWERED || (!is_stranger && turn->place >= TURN_LATER)) {
        saved_ms -= cpu_ms;
        turns->owed_ms += is_stranger || turn->place == TURN_HOPEFUL ? cpu_ms : 0;
    } else if (!is_stranger) {
        saved_ms += cpu_ms / TURNS_SHARE;
        turns->owed_ms -= cpu_ms / TURNS_SHARE;
    } else if (end == TURN_FRUITFUL) {
        saved_ms = (saved_ms < 0 ? 0 : saved_ms) + cpu_ms;
    }
    turns->saved_ms =
        bounds_int64(saved_ms, -turns_part(turns, turns->usual_ms * TURNS_TIMES), turns->most_ms);
    turns->owed_ms = bounds_int64(turns->owed_ms, 0, turns->most_ms);
}

/* What a turn leaves of a host's hope. */
static TurnsHope turns_learn(const Turns *turns, const Turn *turn, TurnEnd end, int64_t cpu_ms)
{
    TurnsHope hope = turns_hope(turns, turn->host);
    if (end == TURN_FRUITFUL && turns_is_heavy(turns, turn, cpu_ms)) {
        return HOPE_ALL;
    }
    if (end == TURN_DEAR && turn->cpu_ms == turns->most_ms) {
        return HOPE_OVER;
    }
    bool is_first = hope == HOPE_NONE;
    bool is_more = turn->place == TURN_HOPEFUL && hope < HOPE_ALL &&
                   turn->cpu_ms == turns_cpu_ms(turns, turn->host, turn->page, TURN_HOPEFUL);
    return (TurnsHope)(hope + (end == TURN_ANSWERED && (is_first || is_more)));
}

void turns_end(Turns *turns, const Turn *turn, TurnEnd end, int64_t cpu_ms, MonoTime now)
{
    int credit = turns_credit(turns, turn->host);
    TurnsHope hope = turns_learn(turns, turn, end, cpu_ms);
    turns->n_later -= turn->place != TURN_AT_ONCE;
    turns->last[turn->place] = now;
    if (end == TURN_UNSEEN) {
        return;
    }
    turns_pay(turns, turn, end, cpu_ms);
    if (end == TURN_FRUITFUL && turns_is_heavy(turns, turn, cpu_ms)) {
        credit = credit < 0 ? credit : turns_charge(turns, turn, credit);
        (void)map_remove(&turns->pages, map_key(turn->page));
    } else if (end >= TURN_ANSWERED) {
        credit = turns_charge(turns, turn, credit);
        turns_put(&turns->pages, turn->page,
                  turn->cpu_ms < turns_trial_ms(turns) ? &turns_glanced : &turns_tried);
    } else {
        bool is_enough = turn->place == TURN_HOPEFUL || turn->place == TURN_LATER;
        credit = is_enough && credit < 0 ? 1 : credit + (credit < TURNS_BEST);
        turns_note_usual(turns, cpu_ms);
        (void)map_remove(&turns->pages, map_key(turn->page));
    }
    turns_put(&turns->hosts, turn->host,
              &turns_standings[(int)hope * TURNS_CREDITS + credit + TURNS_BEST]);
}

/* ---- jobs ---- */

/* Whether a job that is under way has been changed by ingest, or its result is lost. */
static bool jobs_is_settled(DeskJobs *jobs, MDB_txn *txn, const DeskJob *mine)
{
    RenderJob now;
    Result rc = render_table_get(jobs->options.table, txn, mine->page, &now, NULL);
    return rc != RESULT_OK || now.state != mine->job.state || now.rounds != mine->job.rounds ||
           !mono_before(mono_now(), mono_add_ms(mine->taken, DESK_PATIENCE_MS));
}

static void jobs_forget_locked(DeskJobs *jobs, uint64_t page)
{
    DeskJob *mine = map_remove(&jobs->under_way, map_key(page));
    jobs->n_asking -= mine != NULL && mine->is_asking;
    free(mine);
}

/* Forgets what ingest has written down. */
static void jobs_sweep_locked(DeskJobs *jobs, MDB_txn *txn)
{
    bool found = true;
    while (found) {
        size_t place = 0;
        DeskJob *mine = NULL;
        found = false;
        while (!found && (mine = map_next(&jobs->under_way, &place)) != NULL) {
            found = jobs_is_settled(jobs, txn, mine);
        }
        if (found) {
            jobs_forget_locked(jobs, mine->page);
        }
    }
}

/* Whether one more page may be rendered, beside those that were and those under way. */
static bool jobs_may_begin(DeskJobs *jobs, MDB_txn *txn, uint8_t rounds)
{
    RenderTotals totals;
    if (jobs->options.no_share || jobs->options.config->render_mode != RENDER_MODE_AUTO ||
        rounds > 0) {
        return true;
    }
    if (render_table_totals(jobs->options.table, txn, &totals) != RESULT_OK) {
        return false;
    }
    uint64_t begun = totals.jobs[RENDER_JOB_DONE] + totals.jobs[RENDER_JOB_FAILED] +
                     totals.jobs[RENDER_JOB_LACKING] + totals.jobs[RENDER_JOB_ASKED] +
                     jobs->under_way.count;
    uint64_t share = totals.judged * (uint64_t)jobs->options.config->render_share / 100;
    return begun < DESK_JOBS_FREE || begun < share;
}

/* Whether all that a job waits for has been answered or given up. */
static bool jobs_has_come(DeskJobs *jobs, MDB_txn *txn, const RenderJob *job,
                          const void *requisites, Buffer *url)
{
    for (uint32_t i = 0; i < job->n_requisites; i++) {
        PageRef page;
        uint64_t index = 0;
        memcpy(&index, (const char *)requisites + i * sizeof index, sizeof index);
        if (page_db_get(jobs->options.db, txn, index, &page, url) == page_db_error_ok &&
            crawl_source_may_come(&page)) {
            return false;
        }
    }
    return true;
}

/* Which job is looked for. */
typedef struct DeskWish {
    TurnPlace place; /* TURN_PLACES: any */
    bool is_quiet;   /* what is lacking will not come */
    Buffer *url;     /* scratch */
} DeskWish;

/* url is scratch. */
static Result jobs_get(DeskJobs *jobs, MDB_txn *txn, uint64_t page, Buffer *url, DeskJob *job,
                       const void **requisites)
{
    PageRef ref;
    *job = (DeskJob){.page = page, .taken = mono_now()};
    Result rc = render_table_get(jobs->options.table, txn, page, &job->job, requisites);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (map_get(&jobs->under_way, map_key(page)) != NULL) {
        return RESULT_EXISTS;
    }
    if (page_db_get(jobs->options.db, txn, page, &ref, url) != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    job->host = ref.host;
    job->is_last = job->job.rounds >= jobs->options.config->render_rounds;
    return RESULT_OK;
}

/* Whether a job is one of those that are looked for. */
static bool jobs_is_wanted(const DeskJobs *jobs, const DeskWish *wish, const DeskJob *job)
{
    return wish->place == TURN_PLACES ||
           turns_place(&jobs->turns, job->host, job->page) == wish->place;
}

/* A job, LACKING or ASKED, whose requisites have come, or will not. */
static bool jobs_find_lacking_locked(DeskJobs *jobs, MDB_txn *txn, const DeskWish *wish,
                                     DeskJob *job)
{
    bool was_begun = jobs->lacking.has_begun;
    for (unsigned i = 0; i < DESK_LACKING; i++) {
        const void *requisites = NULL;
        Result rc = render_table_next(jobs->options.table, txn, RENDER_JOB_LACKING, &jobs->lacking);
        if (rc != RESULT_OK) {
            jobs->lacking = (RenderCursor){.has_begun = false};
            if (!was_begun) {
                return false;
            }
            was_begun = false; /* once more, from the first one on */
            continue;
        }
        if (jobs_get(jobs, txn, jobs->lacking.page, wish->url, job, &requisites) != RESULT_OK ||
            !jobs_is_wanted(jobs, wish, job)) {
            continue;
        }
        if (jobs_has_come(jobs, txn, &job->job, requisites, wish->url)) {
            return true;
        }
        if (wish->is_quiet) { /* what was only guessed may still turn out to be something else */
            job->is_last = job->is_last || job->job.state == RENDER_JOB_LACKING;
            return true;
        }
    }
    return false;
}

static bool jobs_find_waiting_locked(DeskJobs *jobs, MDB_txn *txn, const DeskWish *wish,
                                     DeskJob *job)
{
    unsigned left = DESK_WAITING;
    RenderCursor cursor = {.has_begun = false};
    if (jobs->n_asking >= DESK_ASKING) {
        return false; /* they would be asked for in vain, as long as the first ones are not known */
    }
    while (left-- > 0 &&
           render_table_next(jobs->options.table, txn, RENDER_JOB_WAITING, &cursor) == RESULT_OK) {
        if (jobs_get(jobs, txn, cursor.page, wish->url, job, NULL) == RESULT_OK &&
            jobs_is_wanted(jobs, wish, job) && jobs_may_begin(jobs, txn, job->job.rounds)) {
            return true;
        }
    }
    return false;
}

static bool jobs_find_locked(DeskJobs *jobs, MDB_txn *txn, const DeskWish *wish, DeskJob *job)
{
    return jobs_find_lacking_locked(jobs, txn, wish, job) ||
           jobs_find_waiting_locked(jobs, txn, wish, job);
}

/* What is done with a job that is found. */
typedef enum DeskAim {
    AIM_TAKE,
    AIM_LOOK, /* whether one can be taken */
    AIM_HOLD  /* whether there is one that can be taken now or later */
} DeskAim;

/* Finds a job: those that were put back behind the others. */
static bool jobs_find(DeskJobs *jobs, DeskAim aim, DeskJob *found)
{
    MDB_txn *txn = NULL;
    Buffer url;
    bool is_quiet = jobs->options.quiet != NULL && jobs->options.quiet(jobs->options.context);
    if (page_db_txn_begin(jobs->options.db, true, &txn) != page_db_error_ok) {
        return false;
    }
    buffer_init(&url, BUFFER_NO_LIMIT);
    mutex_lock(&jobs->mutex);
    jobs_sweep_locked(jobs, txn);
    bool is_any = aim == AIM_HOLD;
    DeskWish wish = {.place = TURN_PLACES,
                     .is_quiet = is_any || (is_quiet && jobs->under_way.count == 0),
                     .url = &url};
    /* Whether nothing else is left: all that are under way were put back. */
    bool is_rest =
        jobs->under_way.count <= jobs->turns.n_later && (is_quiet || jobs->options.quiet == NULL);
    bool has_job = is_any && jobs_find_locked(jobs, txn, &wish, found);
    for (int place = TURN_AT_ONCE; place < TURN_PLACES && !has_job && !is_any; place++) {
        wish.place = (TurnPlace)place;
        has_job = (is_rest || turns_may_begin(&jobs->turns, wish.place, mono_now())) &&
                  jobs_find_locked(jobs, txn, &wish, found);
    }
    DeskJob *mine = has_job && aim == AIM_TAKE ? malloc(sizeof *mine) : NULL;
    if (mine != NULL) {
        found->turn = turns_begin(&jobs->turns, found->host, found->page, mono_now());
        *mine = *found;
        if (map_put(&jobs->under_way, map_key(mine->page), mine) != RESULT_OK) {
            turns_end(&jobs->turns, &mine->turn, TURN_UNSEEN, 0, mono_now());
            free(mine);
            has_job = false;
        }
    }
    mutex_unlock(&jobs->mutex);
    page_db_txn_abort(jobs->options.db, txn);
    buffer_destroy(&url);
    return has_job && (aim != AIM_TAKE || mine != NULL);
}

bool desk_jobs_take(DeskJobs *jobs, DeskJob *job)
{
    thread_step("waiting");
    while (!atomic_load(&jobs->is_closed)) {
        if (jobs_find(jobs, AIM_TAKE, job)) {
            return true;
        }
        mutex_lock(&jobs->mutex);
        if (!atomic_load(&jobs->is_closed)) {
            (void)condition_wait_until(&jobs->changed, &jobs->mutex,
                                       mono_add_ms(mono_now(), DESK_LOOK_MS));
        }
        mutex_unlock(&jobs->mutex);
    }
    return false;
}

void desk_jobs_give_back(DeskJobs *jobs, uint64_t page)
{
    mutex_lock(&jobs->mutex);
    jobs_forget_locked(jobs, page);
    mutex_unlock(&jobs->mutex);
}

void desk_jobs_note_asking(DeskJobs *jobs, uint64_t page)
{
    mutex_lock(&jobs->mutex);
    DeskJob *mine = map_get(&jobs->under_way, map_key(page));
    if (mine != NULL) {
        mine->is_asking = true;
        jobs->n_asking++;
    }
    mutex_unlock(&jobs->mutex);
}

void desk_jobs_end_turn(DeskJobs *jobs, const DeskJob *job, TurnEnd end, int64_t cpu_ms)
{
    mutex_lock(&jobs->mutex);
    turns_end(&jobs->turns, &job->turn, end, cpu_ms, mono_now());
    mutex_unlock(&jobs->mutex);
    LOG_DEBUG("render", "turn",
              "page=%" PRIu64 " place=%d has_ms=%" PRId64 " took_ms=%" PRId64 " end=%d", job->page,
              (int)job->turn.place, job->turn.cpu_ms, cpu_ms, (int)end);
}

void desk_jobs_close(DeskJobs *jobs)
{
    mutex_lock(&jobs->mutex);
    atomic_store(&jobs->is_closed, true);
    condition_broadcast(&jobs->changed);
    mutex_unlock(&jobs->mutex);
}

/* Whether a job is left, or the result of one is under way. */
static bool jobs_are_left(DeskJobs *jobs, DeskAim aim)
{
    DeskJob job;
    if (jobs_find(jobs, aim, &job)) {
        return true;
    }
    mutex_lock(&jobs->mutex);
    bool are_left = jobs->under_way.count > 0;
    mutex_unlock(&jobs->mutex);
    return are_left;
}

bool desk_jobs_are_idle(DeskJobs *jobs)
{
    return !jobs_are_left(jobs, AIM_LOOK);
}

bool desk_jobs_hold(DeskJobs *jobs)
{
    return jobs_are_left(jobs, AIM_HOLD);
}

void desk_jobs_init(DeskJobs *jobs, const DeskJobsOptions *options)
{
    *jobs = (DeskJobs){.options = *options};
    mutex_init(&jobs->mutex, RANK_SCHEDULER);
    condition_init(&jobs->changed);
    map_init(&jobs->under_way);
    turns_init(&jobs->turns, options->config->render_cpu_time);
}

void desk_jobs_destroy(DeskJobs *jobs)
{
    size_t place = 0;
    DeskJob *job = NULL;
    while ((job = map_next(&jobs->under_way, &place)) != NULL) {
        free(job);
    }
    map_destroy(&jobs->under_way);
    turns_destroy(&jobs->turns);
    condition_destroy(&jobs->changed);
    mutex_destroy(&jobs->mutex);
}
