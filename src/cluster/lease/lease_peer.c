#include "cluster/lease/lease_peer.h"

#include <stdlib.h>

#include "cluster/lease/lease_holder.h"

void lease_peers_init(LeasePeers *peers)
{
    map_init(&peers->peers);
    heap_init(&peers->due);
}

static void peer_delete(LeasePeer *peer)
{
    if (peer != NULL) {
        free(peer->items);
        free(peer->claims);
        free(peer);
    }
}

void lease_peers_destroy(LeasePeers *peers)
{
    size_t place = 0;
    LeasePeer *peer = NULL;
    while ((peer = map_next(&peers->peers, &place)) != NULL) {
        peer_delete(peer);
    }
    map_destroy(&peers->peers);
    heap_destroy(&peers->due);
}

static LeasePeer *lease_peer_find_or_add(LeasePeers *peers, uint16_t agent)
{
    MapKey key = map_key(agent + UINT64_C(1));
    LeasePeer *peer = map_get(&peers->peers, key);
    if (peer != NULL) {
        return peer;
    }
    peer = calloc(1, sizeof *peer);
    if (peer != NULL) {
        peer->agent = agent;
        heap_node_init(&peer->due);
        peer->items = calloc(LEASE_ITEMS_MOST, sizeof *peer->items);
        peer->claims = calloc(LEASE_ITEMS_MOST, sizeof *peer->claims);
    }
    if (peer == NULL || peer->items == NULL || peer->claims == NULL ||
        map_put(&peers->peers, key, peer) != RESULT_OK) {
        peer_delete(peer);
        return NULL;
    }
    return peer;
}

LeasePeer *lease_peers_with(LeasePeers *peers, uint16_t agent, uint64_t number)
{
    LeasePeer *peer = map_get(&peers->peers, map_key(agent + UINT64_C(1)));
    return peer != NULL && peer->number == number && number > 0 ? peer : NULL;
}

/* Without memory a peer is met again when it is placed next. */
void lease_peers_place(LeasePeers *peers, LeasePeer *peer)
{
    if (heap_holds(&peer->due)) {
        heap_remove(&peers->due, &peer->due);
    }
    if (peer->number > 0) {
        (void)heap_push(&peers->due, &peer->due, mono_add_ms(peer->sent, LEASE_ANSWER_MS).ns, 0);
    } else if (peer->first != NULL) {
        (void)heap_push(&peers->due, &peer->due, peer->not_before.ns, 0);
    }
}

void lease_peers_queue(LeasePeers *peers, LeaseClaim *claim)
{
    bool nowhere = claim->queued || claim->arbiter == CLUSTER_NOBODY;
    LeasePeer *peer = nowhere ? NULL : lease_peer_find_or_add(peers, claim->arbiter);
    if (peer == NULL) {
        return;
    }
    claim->queued = true;
    claim->next_queued = NULL;
    if (peer->last == NULL) {
        peer->first = claim;
    } else {
        peer->last->next_queued = claim;
    }
    peer->last = claim;
    lease_peers_place(peers, peer);
}

static LeaseItem *next_item(LeasePeer *peer, LeaseClaim *claim, LeaseAsk ask)
{
    LeaseItem *item = &peer->items[peer->n];
    *item = (LeaseItem){.ask = ask, .address = claim->address};
    peer->claims[peer->n++] = claim;
    return item;
}

static void write_items(LeasePeer *peer, LeaseClaim *claim, MonoTime now)
{
    claim->messages += claim->leaves || claim->ask;
    if (claim->leaves) {
        LeaseItem *item = next_item(peer, claim, LEASE_RELEASE);
        int64_t rest = mono_ms_between(now, claim->rest_end) + 1;
        item->rest_ms = rest > 0 ? rest : 0;
    }
    if (claim->ask) {
        LeaseItem *item = next_item(peer, claim, LEASE_WANT);
        item->number = claim->held ? claim->number : 0;
        claim->ask = false;
    }
}

void lease_peers_fill(LeasePeers *peers, LeasePeer *peer, MonoTime now)
{
    peer->n = 0;
    while (peer->first != NULL && peer->n + 2 <= LEASE_ITEMS_MOST) {
        LeaseClaim *claim = peer->first;
        peer->first = claim->next_queued;
        peer->last = peer->first == NULL ? NULL : peer->last;
        claim->queued = false;
        if (claim->arbiter == peer->agent) {
            write_items(peer, claim, now);
        } else {
            lease_peers_queue(peers, claim);
        }
    }
}
