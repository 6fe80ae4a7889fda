#include "cluster/whole/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/wire/wire.h"

#define FORMAT    3u
#define ROWS_MOST 65535u
#define DRAW_MOST (UINT64_C(1) << 20) /* of pages at once; of bytes a thousand times that */

void ledger_destroy(Ledger *ledger)
{
    free(ledger->rows);
    *ledger = (Ledger){.n = 0};
}

Result ledger_resize(Ledger *ledger, uint32_t n)
{
    if (n <= ledger->n) {
        return RESULT_OK;
    }
    LedgerRow *rows = reallocarray(ledger->rows, n, sizeof *rows);
    if (rows == NULL) {
        return RESULT_MEMORY;
    }
    memset(rows + ledger->n, 0, (n - ledger->n) * sizeof *rows);
    ledger->rows = rows;
    ledger->n = n;
    return RESULT_OK;
}

/* ---- bytes ---- */

static const WireField row_fields[] = {
    WIRE_FIELD(LedgerRow, known, 1, 1),
    WIRE_FIELD(LedgerRow, wants[LEDGER_PAGES], 1, 1),
    WIRE_FIELD(LedgerRow, wants[LEDGER_BYTES], 1, 1),
    WIRE_FIELD(LedgerRow, wants[LEDGER_RATE], 1, 1),
    WIRE_FIELD(LedgerRow, granted[LEDGER_PAGES], WIRE_VARINT, UINT64_MAX),
    WIRE_FIELD(LedgerRow, granted[LEDGER_BYTES], WIRE_VARINT, UINT64_MAX),
    WIRE_FIELD(LedgerRow, granted[LEDGER_RATE], WIRE_VARINT, UINT64_MAX)};
static const WireRecord ledger_row = WIRE_RECORD(LedgerRow, row_fields);

Result ledger_write(const Ledger *ledger, Buffer *out)
{
    WireWriter writer = wire_writer(out);
    wire_put_number(&writer, FORMAT, 1);
    wire_put_list(&writer, &ledger_row, ledger->rows, ledger->n);
    return wire_seal(&writer);
}

Result ledger_read(Ledger *ledger, const void *bytes, size_t length)
{
    WireReader reader;
    bool good = wire_open(&reader, bytes, length) && wire_get_number(&reader, 1) == FORMAT;
    size_t n = 0;
    Ledger fresh = {.rows = wire_get_new_list(&reader, &ledger_row, ROWS_MOST, &n)};
    fresh.n = (uint32_t)n;
    if (!good || !wire_reader_ended(&reader)) {
        ledger_destroy(&fresh);
        return RESULT_DAMAGED;
    }
    ledger_destroy(ledger);
    *ledger = fresh;
    return RESULT_OK;
}

/* ---- books ---- */

uint64_t ledger_pool(const Ledger *ledger, LedgerUnit unit, uint64_t limit)
{
    uint64_t left = limit;
    for (uint32_t i = 0; i < ledger->n; i++) {
        uint64_t granted = ledger->rows[i].granted[unit];
        left = granted < left ? left - granted : 0;
    }
    return left;
}

bool ledger_is_wanted(const Ledger *ledger, LedgerUnit unit)
{
    for (uint32_t i = 0; i < ledger->n; i++) {
        if (ledger->rows[i].wants[unit]) {
            return true;
        }
    }
    return false;
}

bool ledger_is_complete(const Ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->n; i++) {
        if (!ledger->rows[i].known) {
            return false;
        }
    }
    return true;
}

static uint64_t ledger_lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t left_of(const LedgerAccount *account)
{
    return account->granted > account->used ? account->granted - account->used : 0;
}

bool ledger_is_low(const LedgerAccount *account)
{
    return !account->idle && left_of(account) < account->needed;
}

/* With less an agent begins nothing. */
static uint64_t least_of(const LedgerAccount *account)
{
    return account->least > 0 ? account->least : 1;
}

/* A part of the pool: a half divided by all agents, so that all get some and the last ones little,
 * but not less than one can use. 0: all of the pool would be too little. */
static uint64_t part_of(const Ledger *ledger, LedgerUnit unit, uint64_t pool,
                        const LedgerAccount *account)
{
    uint64_t most = unit == LEDGER_BYTES ? DRAW_MOST << 10 : DRAW_MOST;
    uint64_t goal = account->used + least_of(account);
    uint64_t needs = goal > account->granted ? goal - account->granted : least_of(account);
    uint64_t part = ledger_lesser(pool / 2 / ledger->n, most);
    if (account->granted + pool < goal) {
        return 0;
    }
    return ledger_lesser(pool, part > needs ? part : needs);
}

/* It begins nothing more, or has less than half of what it would draw: who looks often must not
 * have all before others have work. */
bool ledger_is_due(const Ledger *ledger, LedgerUnit unit, uint64_t limit,
                   const LedgerAccount *account)
{
    uint64_t left = left_of(account);
    uint64_t pool = ledger_pool(ledger, unit, limit);
    return ledger_is_low(account) && (left < least_of(account) || ledger->n == 0 ||
                                      left < part_of(ledger, unit, pool, account) / 2);
}

/* Others want what this one cannot use at once. */
static bool is_to_give(const Ledger *ledger, uint32_t agent, LedgerUnit unit, uint64_t pool,
                       uint64_t least)
{
    return pool < least && !ledger->rows[agent].wants[unit] && ledger_is_wanted(ledger, unit);
}

/* What it has is too little for anything, and nothing that it has begun uses it. */
static bool is_remainder(const LedgerAccount *account)
{
    return !account->busy && left_of(account) > 0 && left_of(account) < least_of(account);
}

bool ledger_rows_equal(const LedgerRow *a, const LedgerRow *b)
{
    return wire_is_alike(&ledger_row, a, b);
}

static void ledger_divide(Ledger *ledger, uint32_t agent, LedgerUnit unit, uint64_t limit,
                          LedgerAccount *account)
{
    LedgerRow *row = &ledger->rows[agent];
    bool complete = ledger_is_complete(ledger);
    uint64_t pool = complete ? ledger_pool(ledger, unit, limit) : 0;
    if (pool > 0 && ledger_is_due(ledger, unit, limit, account)) {
        row->granted[unit] += part_of(ledger, unit, pool, account);
        pool -= row->granted[unit] - account->granted;
        account->granted = row->granted[unit];
    }
    bool has_none = left_of(account) == 0 || is_remainder(account);
    row->wants[unit] =
        !account->idle && has_none && account->granted + pool < account->used + least_of(account);
    uint64_t kept = account->idle || is_remainder(account) ? 0 : account->needed;
    bool gives = is_to_give(ledger, agent, unit, pool, least_of(account)) ||
                 (row->wants[unit] && is_remainder(account));
    if (complete && gives && left_of(account) > kept) {
        account->granted = account->used + kept;
        row->granted[unit] = account->granted;
    }
}

/* ---- a rate ---- */

static uint64_t fair_share(const Ledger *ledger, uint64_t limit)
{
    return limit / ledger->n > 0 ? limit / ledger->n : 1;
}

static uint64_t free_rate(const Ledger *ledger, uint64_t limit)
{
    uint64_t left = limit;
    for (uint32_t i = 0; i < ledger->n; i++) {
        const LedgerRow *row = &ledger->rows[i];
        uint64_t share = row->known ? row->granted[LEDGER_RATE] : fair_share(ledger, limit);
        left = share < left ? left - share : 0;
    }
    return left;
}

/* Whether another agent wants some that has less than `most`. */
static bool is_short(const Ledger *ledger, uint32_t agent, uint64_t most)
{
    for (uint32_t i = 0; i < ledger->n; i++) {
        const LedgerRow *row = &ledger->rows[i];
        if (i != agent && row->wants[LEDGER_RATE] && row->granted[LEDGER_RATE] < most) {
            return true;
        }
    }
    return false;
}

/* What is free; of what others want, too, a half, but up to the fair share at once. */
static uint64_t ledger_draw_rate(uint64_t granted, uint64_t fair, uint64_t left, bool is_wanted)
{
    uint64_t missing = granted < fair ? fair - granted : 0;
    uint64_t half = is_wanted && left > fair / 16 ? left / 2 : left;
    return ledger_lesser(left, missing > half ? missing : half);
}

static void ledger_share_rate(Ledger *ledger, uint32_t agent, uint64_t limit,
                              LedgerAccount *account)
{
    LedgerRow *row = &ledger->rows[agent];
    uint64_t *granted = &row->granted[LEDGER_RATE];
    row->wants[LEDGER_RATE] = false;
    uint64_t fair = fair_share(ledger, limit);
    uint64_t left = free_rate(ledger, limit);
    bool low = ledger_is_low(account);
    if (account->idle) {
        *granted = 0;
    } else if (low && *granted > fair && is_short(ledger, agent, fair)) {
        *granted = fair;
    } else if (low) {
        *granted += ledger_draw_rate(*granted, fair, left, is_short(ledger, agent, limit));
        row->wants[LEDGER_RATE] = true;
    } else if (is_short(ledger, agent, limit)) {
        *granted = ledger_lesser(*granted, account->used + account->needed);
    }
    account->granted = *granted;
}

void ledger_settle(Ledger *ledger, uint32_t agent, LedgerUnit unit, uint64_t limit,
                   LedgerAccount *account)
{
    LedgerRow *row = &ledger->rows[agent];
    row->known = true;
    if (limit == 0) {
        row->wants[unit] = false;
        return;
    }
    /* A ledger that was lost, or is an older one, has forgotten what this agent was granted. */
    if (row->granted[unit] < account->granted) {
        row->granted[unit] = account->granted;
    }
    account->granted = row->granted[unit];
    if (unit == LEDGER_RATE) {
        ledger_share_rate(ledger, agent, limit, account);
    } else {
        ledger_divide(ledger, agent, unit, limit, account);
    }
}
