#include "ingest/chore/readmission.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "store/schedule/schedule_read.h"
#include "ingest/page/held_urls.h"
#include "ingest/page/ingest_host.h"

#define PIECE 128u /* hosts or URLs between two looks at the clock */

typedef enum Step { STEP_WORK, STEP_CLOSED, STEP_HELD, STEP_DONE } Step;

/* Where it is; a piece changes a copy, which counts when the piece is committed. */
typedef struct Place {
    Step step;
    ScheduleHostCursor host;
    uint64_t closed; /* the next of the closed hosts */
    uint64_t held;   /* the next index */
    uint64_t hosts_denied;
    uint64_t hosts_back;
    uint64_t urls_back;
} Place;

struct Readmission {
    _Atomic uint64_t fingerprint; /* of the rules that hold */
    _Atomic uint64_t asked;       /* how often the rules were changed */
    uint64_t done;                /* changes that were applied to everything */
    uint64_t doing;               /* the number of changes at which this round began */
    uint64_t doing_fingerprint;
    uint64_t stored; /* fingerprint of the last rules that were applied, by an earlier run */
    bool has_begun;  /* the main thread's */
    SharedReader filter;
    FilterScratch *scratch;
    Url url;
    Place place;
    Place next;
};

static Result read_fingerprint(const IngestStore *store, uint64_t *fingerprint)
{
    MDB_txn *txn = NULL;
    *fingerprint = 0;
    if (page_db_txn_begin(store->db, true, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = ingest_kept_read(txn, store->crawl, KEPT_RULES, fingerprint);
    page_db_txn_abort(store->db, txn);
    return rc;
}

/* ---- the steps ---- */

/* Hosts with work that are denied now. Closing one changes the list before the cursor only. */
static Result step_work(Batch *batch, Place *place)
{
    uint32_t hosts[PIECE];
    size_t n = 0;
    Result rc =
        schedule_hosts(batch->store->schedule, batch->txn, &place->host, hosts, NULL, PIECE, &n);
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        bool refused = false;
        rc = ingest_host_is_refused(batch, hosts[i], &refused);
        if (rc == RESULT_OK && refused) {
            rc = ingest_host_review(batch, hosts[i], NULL);
            place->hosts_denied++;
        }
    }
    place->step = n < PIECE ? STEP_CLOSED : STEP_WORK;
    return rc;
}

/* Closed hosts that are denied no more. */
static Result step_closed(Batch *batch, Place *place)
{
    uint32_t hosts[PIECE];
    size_t n = 0;
    Result rc =
        schedule_parked_hosts(batch->store->schedule, batch->txn, &place->closed, hosts, PIECE, &n);
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        HostRecord record;
        bool refused = false;
        rc = host_rows_get(batch->store->hosts, batch->txn, hosts[i], &record);
        if (rc == RESULT_OK && record.state == HOST_DENIED) {
            rc = ingest_host_is_refused(batch, hosts[i], &refused);
        }
        if (rc == RESULT_OK && record.state == HOST_DENIED && !refused) {
            rc = ingest_host_review(batch, hosts[i], NULL);
            place->hosts_back++;
        }
    }
    place->step = n < PIECE ? STEP_HELD : STEP_CLOSED;
    return rc;
}

static Result step_held(Readmission *readmission, Batch *batch, Place *place)
{
    HeldUrl held[PIECE];
    size_t n = 0;
    const Filter *filter = shared_get(&readmission->filter);
    Result rc = held_rows_read(batch->store->held, batch->txn, place->held, held, PIECE, &n);
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        bool returned = false;
        rc = held_urls_review(batch, &held[i], filter, &readmission->url, readmission->scratch,
                              &returned);
        place->urls_back += returned;
        place->held = held[i].index + 1;
    }
    place->step = n < PIECE ? STEP_DONE : STEP_HELD;
    return rc;
}

/* ---- the chore ---- */

static MonoTime readmission_chore_due(void *context)
{
    const Readmission *readmission = context;
    bool is_idle = atomic_load(&readmission->asked) == readmission->done;
    return is_idle ? MONO_NEVER : (MonoTime){0};
}

static Result readmission_chore_run(void *context, Batch *batch, MonoTime until)
{
    Readmission *readmission = context;
    uint64_t asked = atomic_load(&readmission->asked);
    if (asked != readmission->doing) { /* the rules have changed again: from the start */
        readmission->doing = asked;
        readmission->doing_fingerprint = atomic_load(&readmission->fingerprint);
        readmission->place = (Place){.step = STEP_WORK};
    }
    Place *place = &readmission->next;
    *place = readmission->place;
    Result rc = RESULT_OK;
    bool goes_on = true;
    while (rc == RESULT_OK && goes_on && place->step != STEP_DONE) {
        if (place->step == STEP_WORK) {
            rc = step_work(batch, place);
        } else if (place->step == STEP_CLOSED) {
            rc = step_closed(batch, place);
        } else {
            rc = step_held(readmission, batch, place);
        }
        goes_on = mono_before(mono_now(), until);
    }
    return rc == RESULT_OK && place->step == STEP_DONE
               ? ingest_kept_write(batch->txn, batch->store->crawl, KEPT_RULES,
                                   &readmission->doing_fingerprint)
               : rc;
}

static void readmission_chore_ended(void *context, Result rc)
{
    Readmission *readmission = context;
    if (rc != RESULT_OK) {
        return; /* the piece is done again */
    }
    readmission->place = readmission->next;
    if (readmission->place.step == STEP_DONE && readmission->done != readmission->doing) {
        const Place *place = &readmission->place;
        readmission->done = readmission->doing;
        LOG_INFO("ingest", "rules applied to what is known",
                 "hosts_denied=%llu hosts_back=%llu urls_back=%llu",
                 (unsigned long long)place->hosts_denied, (unsigned long long)place->hosts_back,
                 (unsigned long long)place->urls_back);
    }
}

IngestChore readmission_chore(Readmission *readmission)
{
    return (IngestChore){.context = readmission,
                         .due = readmission_chore_due,
                         .run = readmission_chore_run,
                         .ended = readmission_chore_ended};
}

/* ---- the outside ---- */

Result readmission_new(Readmission **out, const IngestStore *store, Shared *filter)
{
    Readmission *readmission = calloc(1, sizeof *readmission);
    if (readmission == NULL) {
        return RESULT_MEMORY;
    }
    url_init(&readmission->url);
    shared_reader_open(&readmission->filter, filter);
    Result rc = filter_scratch_new(&readmission->scratch);
    if (rc == RESULT_OK) {
        rc = read_fingerprint(store, &readmission->stored);
    }
    if (rc != RESULT_OK) {
        readmission_delete(readmission);
        return rc;
    }
    readmission->place.step = STEP_DONE;
    *out = readmission;
    return RESULT_OK;
}

void readmission_delete(Readmission *readmission)
{
    if (readmission != NULL) {
        shared_reader_close(&readmission->filter);
        filter_scratch_delete(readmission->scratch);
        url_destroy(&readmission->url);
        free(readmission);
    }
}

void readmission_ask(Readmission *readmission, uint64_t fingerprint)
{
    bool is_start = !readmission->has_begun;
    readmission->has_begun = true;
    if (is_start && fingerprint == readmission->stored) {
        return; /* with the rules of the last run */
    }
    atomic_store(&readmission->fingerprint, fingerprint);
    atomic_fetch_add(&readmission->asked, 1);
}
