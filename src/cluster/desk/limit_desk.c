#include "cluster/desk/limit_desk.h"

#include <string.h>

#include "base/thread/log.h"

#define NAMED_MOST 10 /* agents in a line of the log */
#define LOOK_MS    10000
#define SOON_MS    200           /* while something is wanted */
#define HEARD_MS   (3 * LOOK_MS) /* then all have seen what is in the pool */

void limit_desk_init(LimitDesk *desk, NodeLink *link, const uint64_t limits[LEDGER_UNITS],
                     const uint64_t used[LEDGER_UNITS])
{
    *desk = (LimitDesk){.awaited = 0};
    key_init(&desk->key, link, NODE_PART_LIMITS, LEDGER_KEY, LOOK_MS);
    memcpy(desk->limits, limits, sizeof desk->limits);
    memcpy(desk->granted, used, sizeof desk->granted);
    memcpy(desk->proposed, used, sizeof desk->proposed);
}

void limit_desk_destroy(LimitDesk *desk)
{
    ledger_destroy(&desk->ledger);
}

static bool has_limits(const LimitDesk *desk)
{
    return desk->limits[LEDGER_PAGES] > 0 || desk->limits[LEDGER_BYTES] > 0 ||
           desk->limits[LEDGER_RATE] > 0;
}

void limit_desk_up(LimitDesk *desk, MonoTime settled, MonoTime now)
{
    desk->settled = settled;
    desk->holds = has_limits(desk); /* perhaps, until the ledger was seen */
    if (desk->holds) {
        key_up(&desk->key, now);
    }
}

static bool limit_desk_is_low(const LimitDesk *desk, const LedgerAccount accounts[LEDGER_UNITS])
{
    bool low = false;
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        LedgerAccount account = accounts[unit];
        account.granted = desk->granted[unit];
        bool counts = unit == LEDGER_RATE
                          ? !desk->waits_for_rate && ledger_is_low(&account)
                          : !desk->spent && ledger_is_due(&desk->ledger, (LedgerUnit)unit,
                                                          desk->limits[unit], &account);
        low = low || (desk->limits[unit] > 0 && counts);
    }
    return low;
}

void limit_desk_work(LimitDesk *desk, const LedgerAccount accounts[LEDGER_UNITS], MonoTime now)
{
    if (!key_is_busy(&desk->key) && limit_desk_is_low(desk, accounts)) {
        key_changed(&desk->key, now);
    }
}

/* What is given back must not be in use: the allowance is lowered first, and the row when nothing
 * that was begun before exceeds it any more. */
static void limit_desk_give_back(LimitDesk *desk, LedgerUnit unit, LedgerRow *row, uint64_t before,
                                 const LedgerAccount *account)
{
    bool is_used = unit != LEDGER_RATE && account->used > row->granted[unit];
    if (desk->granted[unit] > row->granted[unit] || is_used) {
        if (desk->granted[unit] > row->granted[unit]) {
            desk->granted[unit] = row->granted[unit];
        }
        desk->proposed[unit] = desk->granted[unit];
        row->granted[unit] = before;
        desk->gives = true;
    }
}

/* Whether somebody may draw yet. What was given back, those who want it hear of at their next look
 * at the latest. While a row is missing, nobody knows what there is to draw. */
static bool may_be_drawn(LimitDesk *desk, LedgerUnit unit, const LedgerAccount *account,
                         MonoTime now)
{
    uint64_t pool = ledger_pool(&desk->ledger, unit, desk->limits[unit]);
    if (pool != desk->pool[unit]) {
        desk->pool[unit] = pool;
        desk->pool_end[unit] = mono_add_ms(now, HEARD_MS);
    }
    return !ledger_is_complete(&desk->ledger) ||
           (pool > 0 && pool >= account->least && mono_before(now, desk->pool_end[unit]));
}

static void settle_unit(LimitDesk *desk, LedgerUnit unit, const LedgerAccount *account,
                        MonoTime now)
{
    LedgerAccount ours = *account;
    uint16_t self = desk->key.link->head.from;
    LedgerRow *row = &desk->ledger.rows[self];
    uint64_t before = row->granted[unit];
    ours.granted = desk->granted[unit];
    ledger_settle(&desk->ledger, self, unit, desk->limits[unit], &ours);
    desk->waits_for_rate = row->wants[LEDGER_RATE];
    desk->proposed[unit] = row->granted[unit];
    if (row->granted[unit] < before) {
        limit_desk_give_back(desk, unit, row, before, account);
    }
    if (desk->limits[unit] > 0 && unit != LEDGER_RATE) {
        desk->spent = desk->spent || row->wants[unit];
        desk->holds = desk->holds || row->granted[unit] > account->used ||
                      may_be_drawn(desk, unit, account, now);
    }
}

/* Before others have put back what a server has forgotten, a row is only put back itself. */
static void settle_nothing(LimitDesk *desk, LedgerUnit unit)
{
    LedgerRow *row = &desk->ledger.rows[desk->key.link->head.from];
    row->known = true;
    if (row->granted[unit] < desk->granted[unit]) {
        row->granted[unit] = desk->granted[unit];
    }
    desk->proposed[unit] = desk->granted[unit];
    desk->holds = true;
}

/* Our row, as it should be; true: it has changed. */
static bool limit_desk_settle(LimitDesk *desk, const LedgerAccount accounts[LEDGER_UNITS],
                              MonoTime now)
{
    const LedgerRow *row = &desk->ledger.rows[desk->key.link->head.from];
    LedgerRow before = *row;
    desk->spent = desk->holds = desk->gives = false;
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        if (mono_before(now, desk->settled)) {
            settle_nothing(desk, (LedgerUnit)unit);
        } else {
            settle_unit(desk, (LedgerUnit)unit, &accounts[unit], now);
        }
    }
    return !ledger_rows_equal(&before, row);
}

/* What is stored may be used. True: that is another amount than before. */
static bool take_proposed(LimitDesk *desk)
{
    bool changed = memcmp(desk->granted, desk->proposed, sizeof desk->granted) != 0;
    memcpy(desk->granted, desk->proposed, sizeof desk->granted);
    return changed;
}

/* Rows are missing, and nothing is drawn: whom an operator has to start. */
static void tell_awaited(const LimitDesk *desk)
{
    Buffer agents = {.limit = BUFFER_NO_LIMIT};
    uint32_t told = 0;
    for (uint32_t i = 0; i < desk->ledger.n && told < NAMED_MOST; i++) {
        if (!desk->ledger.rows[i].known) {
            (void)buffer_printf(&agents, "%s%u", told++ == 0 ? "" : ",", i);
        }
    }
    LOG_WARN("cluster",
             "nothing more is given out of the limits before these agents have said what they have "
             "used",
             "agents=%s n=%u next=\"start them\"", buffer_string(&agents), desk->awaited);
    buffer_destroy(&agents);
}

/* Whose rows are missing, once others had the time to put back what a server has forgotten. */
static void look_for_rows(LimitDesk *desk, MonoTime now)
{
    uint32_t missing = 0;
    bool counts = desk->limits[LEDGER_PAGES] > 0 || desk->limits[LEDGER_BYTES] > 0;
    for (uint32_t i = 0; i < desk->ledger.n; i++) {
        LedgerRow *row = &desk->ledger.rows[i];
        row->known = row->known || cluster_table_is_free(desk->key.link->table, i);
        missing += !row->known && i != desk->key.link->head.from;
    }
    if (mono_before(now, desk->settled)) {
        return;
    }
    bool tells = counts && missing > 0 && missing != desk->awaited;
    desk->awaited = counts ? missing : 0;
    if (tells) {
        tell_awaited(desk);
    }
}

static bool limit_desk_take_value(LimitDesk *desk, const TransportEvent *event,
                                  const LedgerAccount accounts[LEDGER_UNITS], MonoTime now)
{
    uint64_t before[LEDGER_UNITS];
    memcpy(before, desk->granted, sizeof before);
    Result rc = event->revision == 0 ? RESULT_DAMAGED
                                     : ledger_read(&desk->ledger, event->bytes, event->length);
    if (rc == RESULT_DAMAGED) { /* it was lost: all write their rows anew */
        ledger_destroy(&desk->ledger);
        rc = RESULT_OK;
    }
    if (rc != RESULT_OK ||
        ledger_resize(&desk->ledger, desk->key.link->table->n_agents) != RESULT_OK) {
        return false;
    }
    look_for_rows(desk, now);
    if (!limit_desk_settle(desk, accounts, now)) {
        (void)take_proposed(desk);
    } else if (ledger_write(&desk->ledger, node_link_blank(desk->key.link)) == RESULT_OK) {
        (void)key_put(&desk->key, now);
    }
    return memcmp(before, desk->granted, sizeof before) != 0;
}

bool limit_desk_take(LimitDesk *desk, const TransportEvent *event,
                     const LedgerAccount accounts[LEDGER_UNITS], MonoTime now)
{
    bool changed = false;
    KeyNews news = key_take(&desk->key, event, now);
    if (news == KEY_VALUE) {
        changed = limit_desk_take_value(desk, event, accounts, now);
    } else if (news == KEY_STORED) {
        changed = take_proposed(desk);
    }
    bool soon = desk->gives || mono_before(now, desk->settled);
    if (news == KEY_VALUE || news == KEY_STORED) {
        desk->key.next = mono_add_ms(now, soon ? SOON_MS : LOOK_MS);
    }
    return changed;
}
