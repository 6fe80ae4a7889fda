#include "fetch/transfer/gate_turn.h"

/* A slow server must not keep those who wait behind it: its turn is over when so little came. */
#define TURN_MS    250
#define TURN_BYTES ((size_t)64 << 10)

void gate_turn_init(GateTurn *turn, ByteGate *gate)
{
    *turn = (GateTurn){.gate = gate};
    heap_init(&turn->paused);
}

void gate_turn_destroy(GateTurn *turn)
{
    heap_destroy(&turn->paused);
}

bool gate_turn_is_open(const GateTurn *turn)
{
    return turn->gate == NULL || byte_gate_is_open(turn->gate);
}

static void begin(GateTurn *turn, Transfer *transfer, MonoTime now)
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
        byte_gate_held(turn->gate) < turn->gate->limit + turn->gate->limit / 2) {
        transfer->favoured = false;
        turn->favoured = NULL;
    } else {
        begin(turn, transfer, now);
    }
}

Transfer *gate_turn_next(GateTurn *turn, MonoTime now)
{
    HeapNode *node = heap_top(&turn->paused);
    if (node == NULL) {
        return NULL;
    }
    Transfer *transfer = HEAP_ELEMENT(node, Transfer, by_pause);
    if (!gate_turn_is_open(turn)) {
        if (turn->favoured != NULL || !byte_gate_runs_dry(turn->gate)) {
            return NULL;
        }
        begin(turn, transfer, now);
    }
    return transfer;
}

void gate_turn_forget(GateTurn *turn, const Transfer *transfer)
{
    if (transfer == turn->favoured) {
        turn->favoured = NULL;
    }
}

MonoTime gate_turn_time(const GateTurn *turn)
{
    return turn->favoured != NULL && turn->paused.count > 0 ? turn->end : MONO_NEVER;
}
