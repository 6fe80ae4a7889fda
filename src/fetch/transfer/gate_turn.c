#include "fetch/transfer/gate_turn.h"

/* A slow server must not keep those who wait behind it: its turn is over when so little came. */
#define TURN_MS    250
#define TURN_BYTES ((size_t)64 << 10)

void gate_turn_init(GateTurn *turn, ByteGate *gate, RateGate *rate, ByteQuota *quota)
{
    *turn = (GateTurn){.gate = gate, .rate = rate, .quota = quota};
    heap_init(&turn->paused);
}

void gate_turn_destroy(GateTurn *turn)
{
    heap_destroy(&turn->paused);
}

static bool gate_turn_has_room(const GateTurn *turn)
{
    return turn->gate == NULL || byte_gate_is_open(turn->gate);
}

static bool has_rate(const GateTurn *turn, MonoTime now)
{
    return turn->rate == NULL || rate_gate_is_open(turn->rate, now);
}

bool gate_turn_is_open(const GateTurn *turn, MonoTime now)
{
    return gate_turn_has_room(turn) && has_rate(turn, now) &&
           (turn->quota == NULL || byte_quota_is_open(turn->quota));
}

static void gate_turn_begin(GateTurn *turn, Transfer *transfer, MonoTime now)
{
    turn->favoured = transfer;
    transfer->favoured = true;
    turn->end = mono_add_ms(now, TURN_MS);
    turn->length = transfer->result->answer.body.length;
}

/* A slow one keeps its turn while the gate is so far beyond its limit that the next one could not
 * grow either. */
void gate_turn_review(GateTurn *turn, MonoTime now)
{
    Transfer *transfer = turn->favoured;
    if (transfer == NULL || mono_before(now, turn->end)) {
        return;
    }
    if (transfer->result->answer.body.length < turn->length + TURN_BYTES &&
        byte_gate_held(turn->gate) <
            byte_gate_limit(turn->gate) + byte_gate_limit(turn->gate) / 2) {
        transfer->favoured = false;
        turn->favoured = NULL;
    } else {
        gate_turn_begin(turn, transfer, now);
    }
}

Transfer *gate_turn_next(GateTurn *turn, MonoTime now)
{
    HeapNode *node = heap_top(&turn->paused);
    if (node == NULL || !has_rate(turn, now)) {
        return NULL;
    }
    Transfer *transfer = HEAP_ELEMENT(node, Transfer, by_pause);
    if (!gate_turn_has_room(turn) && transfer != turn->favoured) {
        if (turn->favoured != NULL || !byte_gate_runs_dry(turn->gate)) {
            return NULL;
        }
        gate_turn_begin(turn, transfer, now);
    }
    return transfer;
}

void gate_turn_forget(GateTurn *turn, const Transfer *transfer)
{
    if (transfer == turn->favoured) {
        turn->favoured = NULL;
    }
}

MonoTime gate_turn_time(const GateTurn *turn, bool waits)
{
    bool has_paused = turn->paused.count > 0;
    MonoTime next = turn->favoured != NULL && has_paused ? turn->end : MONO_NEVER;
    MonoTime open = {0};
    if (turn->rate != NULL) {
        open = rate_gate_time(turn->rate);
    }
    return open.ns > 0 && (has_paused || waits) && mono_before(open, next) ? open : next;
}
