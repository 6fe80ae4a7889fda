#include "frontier/distributor/purge.h"

#include "frontier/distributor/host_walk.h"
#include "frontier/host/visit_dispatch.h"
#include "frontier/host/visit_home.h"

#define PAUSE_MS          1000 /* until it is looked again at what could not be forgotten */
#define RULES_PATIENCE_MS 10000
#define CLOCKS_DIFFER_MS  100 /* what rounding may make between the two clocks */

/* Whether the host's committed record makes it wait as long as its visit state does. */
static bool is_on_disk(Distributor *distributor, MDB_txn *txn, const VisitState *visit_state,
                       MonoTime now)
{
    HostRecord record;
    return txn != NULL &&
           host_table_get(distributor->host_table, txn, visit_state->identity.host, &record) ==
               RESULT_OK &&
           distributor_wait_ms(distributor, &record) + CLOCKS_DIFFER_MS >=
               mono_ms_between(now, visit_state->politeness.next_fetch);
}

/* Rules that were just fetched are read again from the disk: not before they are there. What
 * a commit has not brought in this time it will not bring. */
static bool awaits_rules(Distributor *distributor, MDB_txn *txn, const VisitState *visit_state,
                         MonoTime now)
{
    HostRecord record;
    return visit_state->distributor.leaving && txn != NULL &&
           mono_ms_between(visit_state->politeness.last_end, now) < RULES_PATIENCE_MS &&
           host_table_get(distributor->host_table, txn, visit_state->identity.host, &record) ==
               RESULT_OK &&
           record.robots_version != visit_state->robots.version;
}

void purge_visit_states(Distributor *distributor, MDB_txn *txn, MonoTime now)
{
    HeapNode *node = heap_top(&distributor->purge);
    while (node != NULL && node->key <= now.ns) {
        VisitState *visit_state = HEAP_ELEMENT(node, VisitState, distributor.by_purge);
        heap_remove(&distributor->purge, node);
        if (visit_state->distributor.parked && !visit_state->distributor.retired &&
            mono_before(now, visit_state->politeness.next_fetch)) {
            if (visit_state->distributor.uncommitted == 0 && !visit_state->distributor.recalled &&
                is_on_disk(distributor, txn, visit_state, now)) {
                visit_home_forget(distributor, visit_state);
            } else {
                visit_home_rest(distributor, visit_state, now);
            }
        } else if (visit_state->distributor.retired || visit_state->politeness.dropped ||
                   visit_state->distributor.leaving || !visit_state->distributor.more) {
            if (visit_state->distributor.recalled ||
                (visit_state->distributor.uncommitted > 0 &&
                 (!visit_state->distributor.retired || visit_state->distributor.awaited)) ||
                awaits_rules(distributor, txn, visit_state, now)) {
                /* Looked at again soon: its last results are about to be committed. */
                (void)heap_push(&distributor->purge, node, mono_add_ms(now, PAUSE_MS).ns, 0);
            } else {
                if (visit_state->distributor.leaving) {
                    host_walk_left_out(distributor, visit_state->identity.host,
                                       visit_state->distributor.leaving_level, now);
                    distributor->steering.next = now; /* its room has been waited for */
                }
                if (visit_state->distributor.revived) {
                    host_walk_left_out(distributor, visit_state->identity.host,
                                       visit_state->distributor.revived_level, now);
                }
                visit_home_forget(distributor, visit_state);
            }
        } else if (txn != NULL) {
            visit_dispatch(distributor, txn, visit_state, now);
        }
        node = heap_top(&distributor->purge);
    }
}
