#include "ingest/move/moves_chore.h"

#include <stdlib.h>

#include "base/memory/array.h"
#include "ingest/move/page_move.h"

/* Outbox routes: rows of the outbox for an agent that has no slots any more get another address.
 *
 * What: an agent that was drained takes no blocks and may be gone for good. What waits for it here
 * is read again, record by record, and put into the outbox for the agents that own the URLs now.
 * What this agent owns itself by now is dropped: it has a page for each of them.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY, RESULT_DAMAGED: the transaction must be aborted.
 */

#define AT_ONCE ((size_t)256 << 10) /* bytes of rows */

static Result change_links(Batch *batch, const BlockHeader *header, const void *body)
{
    IngestCluster *cluster = batch->cluster;
    LinkBlockReader reader;
    LinkRecord record;
    Result rc = RESULT_OK;
    link_block_reader_init(&reader, header, body);
    while (rc == RESULT_OK && (rc = link_block_next(&reader, &record)) == RESULT_OK) {
        uint16_t owner = ingest_cluster_owner(cluster, record.url, record.length);
        if (owner != cluster->self) {
            rc = outbox_draft_add(&cluster->draft, owner, &record);
        }
    }
    link_block_reader_destroy(&reader);
    if (rc == RESULT_CLOSED) {
        return RESULT_OK;
    }
    return rc == RESULT_INVALID ? RESULT_DAMAGED : rc;
}

static Result outbox_routes_change_host(Batch *batch, const BlockHeader *header, const void *body)
{
    IngestCluster *cluster = batch->cluster;
    HostMove move;
    if (host_block_read(header, body, &move) != RESULT_OK) {
        return RESULT_DAMAGED;
    }
    uint16_t owner = ingest_cluster_owner(cluster, move.origin, move.length);
    return owner == cluster->self ? RESULT_OK : host_move_put(&cluster->draft, &move, owner);
}

static Result change_rows(Batch *batch, const Buffer *rows)
{
    WireReader in = wire_reader(rows->data, rows->length);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && wire_left(&in) > 0) {
        BlockHeader header;
        const void *body = NULL;
        if (block_read(&in, &header, &body) != BLOCK_GOOD) {
            return RESULT_DAMAGED;
        }
        rc = header.kind == BLOCK_HOSTS ? outbox_routes_change_host(batch, &header, body)
                                        : change_links(batch, &header, body);
    }
    return rc;
}

/* Some rows, from agent *from on, which moves on; *more: call it again. */
static Result outbox_routes_change(Batch *batch, uint32_t *from, bool *more)
{
    IngestCluster *cluster = batch->cluster;
    OutboxRange range;
    Buffer rows = {.limit = BUFFER_NO_LIMIT};
    uint16_t to = (uint16_t)*from;
    *more = false;
    if (*from >= cluster->table.n_agents) {
        return RESULT_OK;
    }
    Result rc = outbox_next_agent(&cluster->outbox, batch->txn, &to, NULL);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    *more = true;
    *from = to;
    if (cluster_table_share(&cluster->table, to).owned > 0) {
        *from = to + 1u;
        return RESULT_OK;
    }
    rc = outbox_read(&cluster->outbox, batch->txn, to, 0, AT_ONCE, &rows, &range);
    if (rc == RESULT_OK) {
        rc = change_rows(batch, &rows);
    }
    if (rc == RESULT_OK) {
        rc = outbox_draft_delete(&cluster->draft, to, range.first, range.last, NULL);
    }
    buffer_destroy(&rows);
    return rc;
}

/* ---- Moves chore ---- */

#define PIECE     64u   /* hosts or pages between two looks at the clock */
#define HOSTS     1024u /* host records in one transaction */
#define AGAIN_MS  10000 /* until hosts that have not left are closed again */
#define SETTLE_MS 1000  /* between two proposals */
#define FULL_MS   200   /* until it is looked again whether the outbox has room */

const char *moves_step_name(MovesStep step)
{
    static const char *const names[] = {
        [MOVES_NONE] = "none", [MOVES_ROUTES] = "routes", [MOVES_HOSTS] = "hosts",
        [MOVES_WAIT] = "wait", [MOVES_PAGES] = "pages",   [MOVES_SENT] = "sent"};
    return names[step];
}

void moves_chore_init(MovesChore *chore, IngestCluster *cluster)
{
    *chore = (MovesChore){.cluster = cluster, .again = MONO_NEVER};
    map_init(&chore->waits);
    buffer_init(&chore->text, BUFFER_NO_LIMIT);
    tray_init(&chore->left, sizeof(uint32_t));
    tray_init(&chore->lost, sizeof(MovesRetell));
    mutex_init(&chore->mutex, RANK_TABLE);
}

void moves_chore_destroy(MovesChore *chore)
{
    map_destroy(&chore->waits);
    buffer_destroy(&chore->text);
    free(chore->settled);
    tray_destroy(&chore->left);
    tray_destroy(&chore->lost);
    mutex_destroy(&chore->mutex);
}

/* ---- hosts that leave memory ---- */

bool moves_chore_left(MovesChore *chore, uint32_t host)
{
    return atomic_load(&chore->listens) && tray_put(&chore->left, &host, NULL) == RESULT_OK;
}

static bool awaits(const MovesChore *chore, uint32_t host)
{
    return map_get(&chore->waits, map_key(host + UINT64_C(1))) != NULL;
}

static void *mark_of(uint32_t host)
{
    return (void *)((uintptr_t)host + 1);
}

void moves_chore_figures(MovesChore *chore, MovesFigures *figures)
{
    mutex_lock(&chore->mutex);
    *figures = chore->figures;
    mutex_unlock(&chore->mutex);
}

Result moves_chore_retell(MovesChore *chore, uint16_t agent, uint64_t heard)
{
    MovesRetell lost = {.agent = agent, .heard = heard};
    return tray_put(&chore->lost, &lost, NULL);
}

static void moves_chore_publish(MovesChore *chore)
{
    MovesFigures figures = {.step = chore->place.step, .waits = chore->waits.count};
    figures.done = figures.step == MOVES_PAGES ? chore->place.page : 0;
    figures.all = figures.step == MOVES_PAGES ? chore->pages : 0;
    mutex_lock(&chore->mutex);
    chore->figures = figures;
    mutex_unlock(&chore->mutex);
}

/* ---- the plan ---- */

static bool is_planned(const MovesChore *chore)
{
    return chore->epoch == chore->cluster->table.epoch;
}

/* By the table that decides now. A plan that is the same goes on where it was, but by way of
 * MOVES_ROUTES (place.after leads back): a walk over all pages is not begun again because an agent
 * somewhere else joined. What is in memory only, `waits` and `left`, belongs to one plan. */
static void make_plan(MovesChore *chore)
{
    IngestCluster *cluster = chore->cluster;
    slot_duty_plan(&cluster->duty, &cluster->table, cluster->self, &chore->wanted);
    bool same = chore->epoch > 0 && slot_plan_equal(&chore->plan, &chore->wanted);
    chore->epoch = cluster->table.epoch;
    chore->plan = chore->wanted;
    if (same && chore->place.step > MOVES_ROUTES) {
        chore->place.after = chore->place.step;
    }
    if (same && chore->place.step != MOVES_NONE) {
        chore->place.step = MOVES_ROUTES;
        chore->place.route = 0;
        return;
    }
    chore->place = (MovesPlace){.step = MOVES_ROUTES};
    map_destroy(&chore->waits);
    map_init(&chore->waits);
    tray_drop(&chore->left, SIZE_MAX);
    atomic_store(&chore->listens, chore->plan.leaves > 0);
    if (!slot_plan_is_empty(&chore->plan)) {
        LOG_INFO("cluster", "slots move", "epoch=%llu leave=%u adopt=%u tell=%u",
                 (unsigned long long)chore->epoch, chore->plan.leaves, chore->plan.adopts,
                 chore->plan.tells);
    }
}

static SlotTask moves_chore_task_of(const MovesChore *chore, const char *url, size_t length,
                                    unsigned *slot)
{
    *slot = slot_cache_of_url(&chore->cluster->slots, url, length);
    return (SlotTask)chore->plan.tasks[*slot];
}

static bool moves_chore_leaves(SlotTask task)
{
    return task == SLOT_LEAVE || task == SLOT_LEAVE_ALL;
}

/* ---- the steps ---- */

static Result step_routes(MovesChore *chore, Batch *batch, MovesPlace *place)
{
    bool more = false;
    Result rc = outbox_routes_change(batch, &place->route, &more);
    if (rc == RESULT_OK && !more) {
        MovesStep first = slot_plan_is_empty(&chore->plan) ? MOVES_NONE : MOVES_HOSTS;
        place->step = place->after != MOVES_NONE ? place->after : first;
        place->after = MOVES_NONE;
    }
    return rc;
}

static Result look_at_host(MovesChore *chore, Batch *batch, uint32_t host)
{
    unsigned slot = 0;
    bool known = false;
    Result rc = batch_result_of(
        batch, page_db_host_origin(batch->store->db, batch->txn, host, &chore->text));
    if (rc != RESULT_OK) {
        return rc;
    }
    SlotTask task = moves_chore_task_of(chore, chore->text.data, chore->text.length, &slot);
    if (task == SLOT_ADOPT) {
        return host_move_open(batch, host);
    }
    if (moves_chore_leaves(task)) {
        rc = host_move_close(batch, host, &known);
    }
    return rc == RESULT_OK && known
               ? map_put(&chore->waits, map_key(host + UINT64_C(1)), mark_of(host))
               : rc;
}

static Result step_hosts(MovesChore *chore, Batch *batch, MovesPlace *place)
{
    uint32_t n = page_db_n_hosts(batch->store->db, batch->txn);
    Result rc = RESULT_OK;
    for (unsigned i = 0; rc == RESULT_OK && i < PIECE && place->host < n; i++) {
        rc = look_at_host(chore, batch, place->host);
        place->host++;
    }
    if (rc == RESULT_OK && place->host >= n) {
        place->step = MOVES_WAIT;
    }
    return rc;
}

/* Those that the distributor has not let go are closed again: its notice may have been lost. Of
 * more than HOSTS the others follow when these have left. */
static Result close_again(MovesChore *chore, Batch *batch)
{
    size_t place = 0;
    const void *mark = NULL;
    Result rc = RESULT_OK;
    for (unsigned i = 0; rc == RESULT_OK && i < HOSTS; i++) {
        mark = map_next(&chore->waits, &place);
        if (mark == NULL) {
            break;
        }
        bool known = false;
        rc = host_move_close(batch, (uint32_t)((uintptr_t)mark - 1), &known);
    }
    return rc;
}

static Result step_wait(MovesChore *chore, Batch *batch, MovesPlace *place)
{
    uint32_t host = 0;
    Result rc = RESULT_OK;
    for (;
         rc == RESULT_OK && chore->n_taken < HOSTS && tray_get(&chore->left, chore->n_taken, &host);
         chore->n_taken++) {
        unsigned slot = 0;
        if (!awaits(chore, host)) {
            continue;
        }
        rc = batch_result_of(batch,
                             page_db_host_origin(batch->store->db, batch->txn, host, &chore->text));
        if (rc == RESULT_OK && moves_chore_leaves(moves_chore_task_of(chore, chore->text.data,
                                                                      chore->text.length, &slot))) {
            rc = host_move_send(batch, host, chore->plan.to[slot]);
            place->hosts_left++;
        }
    }
    if (rc == RESULT_OK && !mono_before(mono_now(), chore->again)) {
        rc = close_again(chore, batch);
    }
    return rc;
}

static Result look_at_page(MovesChore *chore, Batch *batch, const PageRef *page, MovesPlace *place)
{
    unsigned slot = 0;
    SlotTask task = moves_chore_task_of(chore, page->url, page->url_length, &slot);
    uint16_t to = chore->plan.to[slot];
    bool is_stub = page_is_stub(page);
    if (task == SLOT_ADOPT && is_stub) {
        place->pages_adopted++;
        return page_move_adopt(batch, page);
    }
    if (task == SLOT_TELL && is_stub) {
        place->pages_told++;
        return page_move_tell(batch, page, to);
    }
    if (task == SLOT_LEAVE_ALL || (task == SLOT_LEAVE && !is_stub)) {
        place->pages_left++;
        return page_move_leave(batch, page, to);
    }
    return RESULT_OK;
}

static Result finish_walk(MovesChore *chore, Batch *batch, MovesPlace *place)
{
    chore->duty = chore->cluster->duty;
    slot_duty_done(&chore->duty, &chore->plan, &chore->cluster->table, chore->cluster->self);
    Result rc = slot_duty_write(&chore->duty, batch->txn, batch->store->crawl);
    chore->duty_changed = rc == RESULT_OK;
    place->step = chore->plan.settles > 0 ? MOVES_SENT : MOVES_NONE;
    return rc;
}

static Result step_pages(MovesChore *chore, Batch *batch, MovesPlace *place)
{
    PageDB *db = batch->store->db;
    uint64_t n = page_db_n_pages(db, batch->txn);
    Result rc = RESULT_OK;
    chore->pages = n;
    for (unsigned i = 0; rc == RESULT_OK && i < PIECE && place->page < n; i++) {
        PageRef page;
        rc = batch_result_of(batch, page_db_get(db, batch->txn, place->page, &page, &chore->text));
        if (rc == RESULT_OK) {
            rc = look_at_page(chore, batch, &page, place);
        }
        page_db_looked_up(db, 1);
        place->page++;
    }
    return rc == RESULT_OK && place->page >= n ? finish_walk(chore, batch, place) : rc;
}

/* Whether everything that the walk has put into the outbox for an agent was committed there. Rows
 * leave the outbox in the order of their sequence, so the oldest that is left says it; sent_below
 * was taken when the last piece of the walk was committed (begin_step). */
static Result has_everything(MovesChore *chore, Batch *batch, uint16_t to, bool *has)
{
    IngestCluster *cluster = chore->cluster;
    uint16_t next = to;
    uint64_t sequence = 0;
    if (cluster_table_share(&cluster->table, cluster->self).owned == 0) {
        *has = cluster->draft.state.blocks == 0;
        return RESULT_OK;
    }
    Result rc = outbox_next_agent(&cluster->outbox, batch->txn, &next, &sequence);
    *has = rc == RESULT_NOT_FOUND ||
           (rc == RESULT_OK && (next != to || sequence >= chore->sent_below));
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static bool is_noted(const MovesChore *chore, uint16_t to)
{
    for (size_t i = 0; i < chore->n_settled; i++) {
        if (chore->settled[i] == to) {
            return true;
        }
    }
    return false;
}

static Result step_sent(MovesChore *chore, Batch *batch)
{
    Result rc = RESULT_OK;
    for (unsigned slot = 0; rc == RESULT_OK && slot < SLOT_COUNT; slot++) {
        uint16_t to = chore->plan.to[slot];
        bool has = false;
        bool ours = chore->cluster->table.slots[slot].from == chore->cluster->self;
        if (!ours || !moves_chore_leaves((SlotTask)chore->plan.tasks[slot]) ||
            is_noted(chore, to)) {
            continue;
        }
        rc = has_everything(chore, batch, to, &has);
        if (rc == RESULT_OK && has) {
            rc = array_add(&chore->settled, &chore->n_settled, sizeof to, &to);
        }
    }
    return rc;
}

/* ---- the chore ---- */

static bool moves_chore_has_room(const MovesChore *chore)
{
    return atomic_load(&chore->cluster->outbox_bytes) < MOVES_OUTBOX_BYTES;
}

static MonoTime moves_chore_due(void *context)
{
    MovesChore *chore = context;
    MonoTime at_once = {0};
    MovesRetell lost;
    if (!is_planned(chore) || tray_get(&chore->lost, 0, &lost)) {
        return at_once;
    }
    switch (chore->place.step) {
    case MOVES_NONE:
        return MONO_NEVER;
    case MOVES_ROUTES:
    case MOVES_HOSTS:
        return at_once;
    case MOVES_WAIT:
        return tray_count(&chore->left) > 0 || chore->waits.count == 0 ? at_once : chore->again;
    case MOVES_PAGES:
        return moves_chore_has_room(chore) ? at_once : mono_add_ms(mono_now(), FULL_MS);
    case MOVES_SENT:
        break;
    }
    bool acked = ingest_cluster_outbox_blocks(chore->cluster) != chore->blocks_seen;
    return acked ? at_once : chore->again;
}

static Result moves_chore_take_step(MovesChore *chore, Batch *batch, MovesPlace *place,
                                    bool *goes_on)
{
    switch (place->step) {
    case MOVES_NONE:
        break;
    case MOVES_ROUTES:
        return step_routes(chore, batch, place);
    case MOVES_HOSTS:
        *goes_on = batch->hosts.count < HOSTS;
        return step_hosts(chore, batch, place);
    case MOVES_WAIT:
        if (chore->waits.count == 0) {
            place->step = MOVES_PAGES;
            return RESULT_OK;
        }
        *goes_on = false;
        return step_wait(chore, batch, place);
    case MOVES_PAGES:
        *goes_on = batch->cluster->draft.state.bytes < MOVES_OUTBOX_BYTES;
        return step_pages(chore, batch, place);
    case MOVES_SENT:
        *goes_on = false;
        return step_sent(chore, batch);
    }
    *goes_on = false;
    return RESULT_OK;
}

/* The duty is committed before the walk that does it is planned. */
static Result moves_chore_note_lost(MovesChore *chore, const Batch *batch, const MovesRetell *lost)
{
    PeerMark mark;
    chore->retells = true;
    chore->duty_changed = true;
    chore->duty = chore->cluster->duty;
    slot_duty_tell_again(&chore->duty, &chore->cluster->table, lost->agent);
    Result rc = slot_duty_write(&chore->duty, batch->txn, batch->store->crawl);
    if (rc == RESULT_OK) {
        rc = peer_mark_read(batch->txn, batch->store->crawl, lost->agent, &mark);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    mark.heard = lost->heard;
    return peer_mark_write(batch->txn, batch->store->crawl, lost->agent, &mark);
}

static Result moves_chore_run(void *context, Batch *batch, MonoTime until)
{
    MovesChore *chore = context;
    MovesRetell lost;
    bool goes_on = true;
    Result rc = RESULT_OK;
    if (!is_planned(chore)) {
        make_plan(chore);
    }
    chore->next = chore->place;
    chore->n_taken = 0;
    chore->n_settled = 0;
    chore->duty_changed = false;
    chore->retells = false;
    if (tray_get(&chore->lost, 0, &lost)) {
        return moves_chore_note_lost(chore, batch, &lost);
    }
    while (rc == RESULT_OK && goes_on) {
        MovesStep step = chore->next.step;
        rc = moves_chore_take_step(chore, batch, &chore->next, &goes_on);
        /* From MOVES_WAIT on, a step acts on what the one before has brought to others: hosts that
         * the distributor heard of, rows with a sequence. So that must be committed first. */
        bool next_begins = step != chore->next.step && chore->next.step >= MOVES_WAIT;
        goes_on = goes_on && !next_begins && mono_before(mono_now(), until);
    }
    return rc;
}

/* Hosts that were sent in this piece are not waited for any more. */
static void forget_taken(MovesChore *chore)
{
    uint32_t host = 0;
    for (size_t i = 0; i < chore->n_taken && tray_get(&chore->left, i, &host); i++) {
        (void)map_remove(&chore->waits, map_key(host + UINT64_C(1)));
    }
    tray_drop(&chore->left, chore->n_taken);
    chore->n_taken = 0;
}

static void begin_step(MovesChore *chore)
{
    const MovesPlace *place = &chore->place;
    if (place->step == MOVES_WAIT) {
        chore->again = mono_add_ms(mono_now(), AGAIN_MS);
    } else if (place->step == MOVES_PAGES) {
        atomic_store(&chore->listens, false);
    } else if (place->step == MOVES_SENT) {
        chore->sent_below = chore->cluster->draft.state.next;
        chore->again = mono_now();
    }
    if (place->step == MOVES_SENT || (place->step == MOVES_NONE && place->page > 0)) {
        LOG_INFO("cluster", "slots were gone over",
                 "hosts_left=%llu left=%llu adopted=%llu told=%llu",
                 (unsigned long long)place->hosts_left, (unsigned long long)place->pages_left,
                 (unsigned long long)place->pages_adopted, (unsigned long long)place->pages_told);
    }
}

static void moves_chore_end_retell(MovesChore *chore)
{
    MovesRetell lost = {.agent = 0};
    (void)tray_get(&chore->lost, 0, &lost);
    tray_drop(&chore->lost, 1);
    chore->cluster->duty = chore->duty;
    chore->epoch = 0; /* no table has it: it is planned anew */
    ingest_cluster_note(chore->cluster, (NodeNote){.kind = NODE_RETOLD, .agent = lost.agent});
}

static void moves_chore_ended(void *context, Result rc)
{
    MovesChore *chore = context;
    if (rc != RESULT_OK) {
        return; /* the piece is done again from `place`; `waits` may name hosts of it already */
    }
    if (chore->retells) {
        moves_chore_end_retell(chore);
        return;
    }
    bool begins = chore->place.step != chore->next.step;
    bool repeats = !mono_before(mono_now(), chore->again);
    chore->place = chore->next;
    if (chore->duty_changed) {
        chore->cluster->duty = chore->duty;
    }
    forget_taken(chore);
    if (begins) {
        begin_step(chore);
    } else if (chore->place.step == MOVES_WAIT && repeats) {
        chore->again = mono_add_ms(mono_now(), AGAIN_MS);
    } else if (chore->place.step == MOVES_SENT) {
        chore->blocks_seen = ingest_cluster_outbox_blocks(chore->cluster);
        chore->again = mono_add_ms(mono_now(), SETTLE_MS);
        for (size_t i = 0; i < chore->n_settled; i++) {
            ingest_cluster_note(chore->cluster,
                                (NodeNote){.kind = NODE_MOVED, .agent = chore->settled[i]});
        }
    }
    moves_chore_publish(chore);
}

/* While a slot is on its way, URLs of it may have to be fetched. */
static bool moves_chore_holds(void *context)
{
    MovesChore *chore = context;
    return !is_planned(chore) || tray_count(&chore->lost) > 0 || chore->place.step != MOVES_NONE ||
           chore->plan.awaits > 0;
}

IngestChore moves_chore(MovesChore *chore)
{
    return (IngestChore){.context = chore,
                         .due = moves_chore_due,
                         .run = moves_chore_run,
                         .ended = moves_chore_ended,
                         .holds = moves_chore_holds,
                         .rides = true};
}
