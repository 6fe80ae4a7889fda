#include "frontier/host/visit_errand.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "frontier/host/visit_birth.h"
#include "frontier/host/visit_home.h"
#include "frontier/visit/visit_turn.h"
#include "parse/url/url.h"

#define ORIGIN_LIMIT ((size_t)1 << 20)
#define RULES_MS     600000 /* old rules that could not be refreshed stay in force so long */
#define AWAY_MS      60000  /* until the owner of another host is asked again */

/* ---- who is to be asked ---- */

/* The visit state of a host, made if need be; *made says so. */
static Result server_of(Distributor *distributor, MDB_txn *txn, const Buffer *origin, MonoTime now,
                        VisitState **server, bool *made)
{
    uint32_t host = 0;
    *made = false;
    *server = visit_guest_find(distributor, origin->data, origin->length);
    if (*server != NULL) {
        return RESULT_OK;
    }
    *made = true;
    int found = page_db_host_find(distributor->db, txn, origin->data, origin->length, &host);
    if (found == page_db_error_no_page) {
        return visit_birth_guest(distributor, origin->data, origin->length, server);
    }
    if (found != 0) {
        return RESULT_IO;
    }
    *server = map_get(&distributor->visit_states, map_key(host));
    if (*server != NULL) {
        *made = false;
        return RESULT_OK;
    }
    HostRecord record;
    Result rc = host_rows_get(distributor->host_rows, txn, host, &record);
    if (rc == RESULT_OK && distributor_wait_ms(distributor, &record) > VISIT_FAR_MS) {
        rc = RESULT_LIMIT;
    }
    return rc == RESULT_OK ? visit_birth_host(distributor, txn, host, &record, now, server) : rc;
}

/* ---- other agents' questions ---- */

void visit_errand_tell(Distributor *distributor, VisitState *asker)
{
    ErrandAnswer *answer = asker->errands.answer;
    asker->errands.answer = NULL;
    (void)map_remove(&distributor->questions, (MapKey){.low = asker->errands.ticket});
    distributor->sinks.peers.tell(distributor->sinks.peers.context, asker->errands.ticket, answer);
    visit_state_delete(asker);
}

/* It could not even be asked for. Without memory nothing is told, and it is asked for again. */
static void tell_failure(Distributor *distributor, VisitState *asker, FetchClass why)
{
    asker->errands.answer = errand_answer_new(why);
    visit_errand_tell(distributor, asker);
}

/* ---- errands ---- */

/* Nothing comes of it: rules that were in force stay so for a while. False: there are none. */
static bool visit_errand_give_up(VisitRobots *robots, MonoTime now)
{
    free(robots->target);
    robots->target = NULL;
    robots->elsewhere = false;
    robots->redirects = 0;
    if (robots->state == ROBOTS_KNOWN) {
        robots->expiry = mono_add_ms(now, RULES_MS);
        return true;
    }
    robots->state = ROBOTS_REFUSING;
    return false;
}

/* No answer: as if robots.txt could not be reached. The asker is at home. Nobody is charged for
 * FETCH_LOCAL. */
static void visit_errand_fail(Distributor *distributor, VisitState *asker, FetchClass why,
                              MonoTime now)
{
    if (asker->robots.files != 0) { /* nobody has failed */
        visit_state_end_file(asker);
        return;
    }
    bool had_rules = visit_errand_give_up(&asker->robots, now);
    FetchEnd end = {.class = why == FETCH_LOCAL ? FETCH_LOCAL : FETCH_ROBOTS_ERROR,
                    .retry_after_ms = -1,
                    .crawl_delay_ms = -1,
                    .host_delay_ms = asker->politeness.delay_ms,
                    .robots = !had_rules};
    PolitenessVerdict verdict = politeness_judge(&distributor->politeness, &end,
                                                 &asker->politeness.health, &asker->robots.tries);
    visit_turn_put_off(asker, now, verdict.host_wait_ms);
    if (verdict.drop_host || verdict.park_host) {
        asker->politeness.dropped = true;
        distributor->sinks.drop(distributor->sinks.context, asker, FETCH_ROBOTS_ERROR);
    } else if (why != FETCH_LOCAL && !had_rules) { /* it waits, and that is told */
        distributor->sinks.unresolved(distributor->sinks.context, asker, FETCH_ROBOTS_ERROR,
                                      verdict.host_wait_ms);
    }
}

bool visit_errand_send(Distributor *distributor, MDB_txn *txn, VisitState *asker, MonoTime now,
                       VisitState **wakes)
{
    *wakes = NULL;
    VisitState *server = NULL;
    bool made = false;
    if (distributor->sinks.peers.ask != NULL && asker->errands.ticket == 0 &&
        !asker->errands.is_ours) {
        asker->place = VISIT_STATE_ASKING;
        asker->errands.is_away = true;
        distributor->n_asking++;
        distributor->sinks.peers.ask(distributor->sinks.peers.context, asker->identity.host,
                                     asker->robots.target);
        return true;
    }
    asker->errands.is_ours = false;
    Url url = {.href = NULL};
    Buffer origin = {.limit = ORIGIN_LIMIT};
    Result rc = txn == NULL
                    ? RESULT_IO
                    : url_parse(&url, NULL, asker->robots.target, strlen(asker->robots.target));
    if (rc == RESULT_OK) {
        rc = url_origin(&url, &origin);
    }
    if (rc == RESULT_OK) {
        rc = server_of(distributor, txn, &origin, now, &server, &made);
    }
    buffer_destroy(&origin);
    url_destroy(&url);
    if (rc != RESULT_OK || server == asker) {
        LOG_INFO("robots", "redirect to another host cannot be followed",
                 "host=%s to=%s reason=\"%s\"", asker->identity.origin, asker->robots.target,
                 result_name(rc));
        if (asker->errands.ticket == 0) {
            visit_errand_fail(distributor, asker, FETCH_ROBOTS_ERROR, now);
        }
        return false;
    }
    asker->place = VISIT_STATE_ASKING;
    asker->errands.next = server->distributor.waiting;
    server->distributor.waiting = asker;
    distributor->n_asking++;
    if (made || server->distributor.idle) {
        *wakes = server;
    } else {
        atomic_store(&server->signals.wanted, true);
    }
    return true;
}

/* The owner of the other host is away: nobody is charged. */
static void put_off(VisitState *asker, MonoTime now)
{
    if (asker->robots.files != 0) {
        visit_state_end_file(asker);
    } else if (!visit_errand_give_up(&asker->robots, now)) {
        visit_turn_put_off(asker, now, AWAY_MS);
    }
}

VisitState *visit_errand_told(Distributor *distributor, uint32_t host, ErrandOutcome outcome,
                              ErrandAnswer *answer, MonoTime now)
{
    VisitState *asker = map_get(&distributor->visit_states, map_key(host));
    if (asker == NULL || !asker->errands.is_away) {
        errand_answer_delete(answer);
        return NULL;
    }
    assert(distributor->n_asking > 0);
    distributor->n_asking--;
    asker->errands.is_away = false;
    asker->errands.is_ours = outcome == ERRAND_OURS;
    asker->errands.answer = answer;
    if (outcome == ERRAND_AWAY) {
        LOG_INFO("robots", "the agent that has the other host does not answer", "host=%s to=%s",
                 asker->identity.origin, asker->robots.target);
        put_off(asker, now);
    }
    return asker;
}

void visit_errand_asked(Distributor *distributor, MDB_txn *txn, VisitState *asker, MonoTime now,
                        VisitState **wakes)
{
    *wakes = NULL;
    Result rc = map_put(&distributor->questions, (MapKey){.low = asker->errands.ticket}, asker);
    if (rc != RESULT_OK || !visit_errand_send(distributor, txn, asker, now, wakes)) {
        tell_failure(distributor, asker, rc == RESULT_OK ? FETCH_ROBOTS_ERROR : FETCH_LOCAL);
    }
}

void visit_errand_take_waiting(VisitState *visit_state)
{
    while (visit_state->distributor.waiting != NULL) {
        VisitState *asker = visit_state->distributor.waiting;
        visit_state->distributor.waiting = asker->errands.next;
        asker->errands.next = visit_state->errands.askers;
        visit_state->errands.askers = asker;
    }
    atomic_store(&visit_state->signals.wanted, false);
}

VisitState *visit_errand_fail_next(Distributor *distributor, VisitState *visit_state, MonoTime now)
{
    VisitState *asker = NULL;
    while ((asker = visit_state->errands.askers) != NULL) {
        visit_state->errands.askers = asker->errands.next;
        asker->errands.next = NULL;
        assert(distributor->n_asking > 0);
        distributor->n_asking--;
        if (asker->errands.ticket == 0) {
            visit_errand_fail(distributor, asker, visit_state->address.class, now);
            break;
        }
        tell_failure(distributor, asker, visit_state->address.class);
    }
    return asker;
}
