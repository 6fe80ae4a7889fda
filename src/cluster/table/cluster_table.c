#include "cluster/table/cluster_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "cluster/wire/wire.h"
#include "parse/host/domain.h"
#include "store/records/url_parts.h"

/* ---- Slots ---- */

unsigned slot_of_host(const char *host, size_t length)
{
    Domain domain = domain_registered(host, length);
    return (unsigned)(hash_xxh64(domain.name, domain.length) >> (64 - SLOT_BITS));
}

/* The host of a URL; "" of one that has none. */
static const char *cluster_table_host(const char *url, size_t length, size_t *host_length)
{
    UrlParts parts;
    bool has_host = url_parts(url, length, &parts);
    *host_length = has_host ? parts.host_end - parts.host_start : 0;
    return has_host ? url + parts.host_start : "";
}

unsigned slot_of_url(const char *url, size_t length)
{
    const char *host = cluster_table_host(url, length, &length);
    return slot_of_host(host, length);
}

void slot_cache_init(SlotCache *cache, uint64_t seed)
{
    memset(cache, 0, sizeof *cache);
    cache->seed = seed;
}

unsigned slot_cache_of_url(SlotCache *cache, const char *url, size_t length)
{
    const char *host = cluster_table_host(url, length, &length);
    uint64_t hash = hash_64(host, length, cache->seed) | 1;
    size_t place = hash >> 32 & (SLOT_CACHE_PLACES - 1);
    if (cache->places[place].host != hash) {
        cache->places[place].host = hash;
        cache->places[place].slot = (uint16_t)slot_of_host(host, length);
    }
    return cache->places[place].slot;
}

unsigned slot_of_name(const char *name)
{
    if (strstr(name, "://") != NULL) {
        return slot_of_url(name, strlen(name));
    }
    const char *colon = strrchr(name, ':');
    bool has_port = colon != NULL && strchr(colon, ']') == NULL;
    return slot_of_host(name, has_port ? (size_t)(colon - name) : strlen(name));
}

/* ---- Arbiters ---- */

Result owners_of_table(Arbiters *arbiters, const ClusterTable *table)
{
    *arbiters = (Arbiters){.n = 0};
    arbiters->agents = calloc(table->n_agents + 1u, sizeof *arbiters->agents);
    if (arbiters->agents == NULL) {
        return RESULT_MEMORY;
    }
    for (uint32_t i = 0; i < table->n_agents; i++) {
        if (cluster_table_has(table, (uint16_t)i)) {
            arbiters->agents[arbiters->n++] = (uint16_t)i;
        }
    }
    return RESULT_OK;
}

Result arbiters_of_table(Arbiters *arbiters, const ClusterTable *table)
{
    Result rc = owners_of_table(arbiters, table);
    size_t seated = 0;
    for (size_t i = 0; i < arbiters->n; i++) { /* before one whose place was seen */
        uint16_t agent = arbiters->agents[i];
        if (table->agents[agent].seated) {
            arbiters->agents[i] = arbiters->agents[seated];
            arbiters->agents[seated++] = agent;
        }
    }
    arbiters->n = seated > 0 ? seated : arbiters->n;
    return rc;
}

void arbiters_destroy(Arbiters *arbiters)
{
    free(arbiters->agents);
    *arbiters = (Arbiters){.n = 0};
}

bool arbiters_equal(const Arbiters *a, const Arbiters *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->agents, b->agents, a->n * sizeof *a->agents) == 0);
}

bool arbiters_have(const Arbiters *arbiters, uint16_t agent)
{
    for (size_t i = 0; i < arbiters->n; i++) {
        if (arbiters->agents[i] == agent) {
            return true;
        }
    }
    return false;
}

uint16_t arbiters_find(const Arbiters *arbiters, const IpAddress *address)
{
    MapKey key = ip_address_key(address);
    uint64_t place = hash_mix(key.high + hash_mix(key.low));
    uint16_t best = CLUSTER_NOBODY;
    uint64_t highest = 0;
    for (size_t i = 0; i < arbiters->n; i++) {
        uint64_t luck = hash_mix(place + hash_mix(arbiters->agents[i] + UINT64_C(1)));
        if (best == CLUSTER_NOBODY || luck > highest) {
            best = arbiters->agents[i];
            highest = luck;
        }
    }
    return best;
}

/* ---- Cluster table ---- */

#define FORMAT        4u
#define FORMAT_BEFORE 2u /* each agent and slot by itself, also read */

static const char magic[4] = {'R', 'G', 'C', 'T'};

void cluster_table_destroy(ClusterTable *table)
{
    free(table->agents);
    *table = (ClusterTable){.epoch = 0};
}

/* An array of n agents that begins with those of table. */
static ClusterAgent *copy_agents(const ClusterTable *table, uint32_t n)
{
    ClusterAgent *agents = calloc(n == 0 ? 1 : n, sizeof *agents);
    uint32_t kept = table->n_agents < n ? table->n_agents : n;
    if (agents != NULL && kept > 0) {
        memcpy(agents, table->agents, kept * sizeof *agents);
    }
    return agents;
}

Result cluster_table_copy(ClusterTable *to, const ClusterTable *from)
{
    ClusterAgent *agents = copy_agents(from, from->n_agents);
    if (agents == NULL) {
        return RESULT_MEMORY;
    }
    free(to->agents);
    *to = *from;
    to->agents = agents;
    return RESULT_OK;
}

/* Invariant 5. */
static void cluster_table_count(ClusterTable *table)
{
    for (uint32_t i = 0; i < table->n_agents; i++) {
        table->agents[i].share = (ClusterShare){.owned = 0};
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        bool moving = cluster_slot_is_moving(table->slots[slot]);
        table->agents[table->slots[slot].to].share.owned++;
        table->agents[table->slots[slot].to].share.coming += moving;
        table->agents[table->slots[slot].from].share.leaving += moving;
    }
}

Result cluster_table_create(ClusterTable *table, const uint8_t uuid[CLUSTER_UUID_BYTES],
                            const char *psl, uint32_t agents)
{
    ClusterTable fresh = {.epoch = 1, .n_agents = agents};
    if (agents == 0 || agents > SLOT_COUNT || strlen(psl) > CLUSTER_PSL_BYTES) {
        return RESULT_INVALID;
    }
    fresh.agents = calloc(agents, sizeof *fresh.agents);
    if (fresh.agents == NULL) {
        return RESULT_MEMORY;
    }
    memcpy(fresh.uuid, uuid, CLUSTER_UUID_BYTES);
    memcpy(fresh.psl, psl, strlen(psl));
    for (uint32_t i = 0; i < agents; i++) {
        fresh.agents[i] = (ClusterAgent){.life = 1, .seated = true};
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        uint16_t owner = (uint16_t)((uint64_t)slot * agents / SLOT_COUNT);
        fresh.slots[slot] = (ClusterSlot){owner, owner};
    }
    cluster_table_count(&fresh);
    cluster_table_destroy(table);
    *table = fresh;
    return RESULT_OK;
}

/* ---- bytes ---- */

#define ANY_NUMBER UINT64_MAX

static const WireField table_fields[] = {WIRE_FIELD(ClusterTable, epoch, 8, ANY_NUMBER),
                                         WIRE_FIELD(ClusterTable, uuid, WIRE_BYTES, 0),
                                         WIRE_FIELD(ClusterTable, psl, WIRE_TEXT, 0)};
static const WireField agent_fields[] = {WIRE_FIELD(ClusterAgent, life, 2, ANY_NUMBER),
                                         WIRE_FIELD(ClusterAgent, claimed, 2, ANY_NUMBER),
                                         WIRE_FIELD(ClusterAgent, seated, 1, 1)};
static const WireField slot_fields[] = {WIRE_FIELD(ClusterSlot, from, 2, ANY_NUMBER),
                                        WIRE_FIELD(ClusterSlot, to, 2, ANY_NUMBER)};
static const WireRecord cluster_table = WIRE_RECORD(ClusterTable, table_fields);
static const WireRecord cluster_agent = WIRE_RECORD(ClusterAgent, agent_fields);
static const WireRecord cluster_slot = WIRE_RECORD(ClusterSlot, slot_fields);

Result cluster_table_write(const ClusterTable *table, Buffer *out)
{
    WireWriter writer = wire_writer(out);
    wire_put_bytes(&writer, magic, sizeof magic);
    wire_put_number(&writer, FORMAT, 1);
    wire_put(&writer, &cluster_table, table);
    wire_put_varint(&writer, table->n_agents); /* a look at it is most of what agents send */
    wire_put_runs(&writer, &cluster_agent, table->agents, table->n_agents);
    wire_put_runs(&writer, &cluster_slot, table->slots, SLOT_COUNT);
    return wire_seal(&writer);
}

bool cluster_table_equal(const ClusterTable *a, const ClusterTable *b)
{
    bool equal = wire_is_alike(&cluster_table, a, b) && a->n_agents == b->n_agents &&
                 memcmp(a->slots, b->slots, sizeof a->slots) == 0;
    for (uint32_t i = 0; equal && i < a->n_agents; i++) {
        equal = wire_is_alike(&cluster_agent, &a->agents[i], &b->agents[i]);
    }
    return equal;
}

/* Invariant 2. */
static bool cluster_table_is_sound(const ClusterTable *table)
{
    bool sound = table->epoch > 0 && table->n_agents > 0;
    for (uint32_t i = 0; sound && i < table->n_agents; i++) {
        sound = table->agents[i].life > 0;
    }
    for (unsigned slot = 0; sound && slot < SLOT_COUNT; slot++) {
        sound =
            table->slots[slot].from < table->n_agents && table->slots[slot].to < table->n_agents;
    }
    return sound;
}

Result cluster_table_read(ClusterTable *table, const void *bytes, size_t length)
{
    WireReader reader;
    ClusterTable fresh = {.epoch = 0};
    if (length <= sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
        return RESULT_DAMAGED;
    }
    uint8_t format = ((const uint8_t *)bytes)[sizeof magic];
    if (format != FORMAT && format != FORMAT_BEFORE) {
        return RESULT_VERSION;
    }
    if (!wire_open(&reader, bytes, length)) {
        return RESULT_DAMAGED;
    }
    (void)wire_get_bytes(&reader, sizeof magic + 1);
    wire_get(&reader, &cluster_table, &fresh);
    uint64_t n = wire_get_varint(&reader);
    fresh.n_agents = n > CLUSTER_AGENTS_MAX ? 0 : (uint32_t)n;
    fresh.agents = calloc(fresh.n_agents + 1u, sizeof *fresh.agents);
    reader.bad |= fresh.agents == NULL;
    if (format == FORMAT) {
        wire_get_runs(&reader, &cluster_agent, fresh.agents, fresh.n_agents);
        wire_get_runs(&reader, &cluster_slot, fresh.slots, SLOT_COUNT);
    }
    for (uint32_t i = 0; format != FORMAT && i < fresh.n_agents; i++) {
        wire_get(&reader, &cluster_agent, &fresh.agents[i]);
    }
    for (unsigned slot = 0; format != FORMAT && slot < SLOT_COUNT; slot++) {
        wire_get(&reader, &cluster_slot, &fresh.slots[slot]);
    }
    if (!wire_reader_ended(&reader) || !cluster_table_is_sound(&fresh)) {
        cluster_table_destroy(&fresh);
        return RESULT_DAMAGED;
    }
    cluster_table_count(&fresh);
    cluster_table_destroy(table);
    *table = fresh;
    return RESULT_OK;
}

/* ---- questions ---- */

uint16_t cluster_table_owner_of_url(const ClusterTable *table, const char *url, size_t length)
{
    return cluster_table_owner(table, slot_of_url(url, length));
}

/* ---- changes ---- */

/* What is changed is another table. */
static Result cluster_table_step(ClusterTable *table)
{
    cluster_table_count(table);
    table->epoch++;
    return RESULT_OK;
}

/* Moves the first OWNED slot of `from`; false: it has none. */
static bool move_one(ClusterTable *table, uint16_t from, uint16_t to)
{
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        if (table->slots[slot].from == from && table->slots[slot].to == from) {
            table->slots[slot].to = to;
            return true;
        }
    }
    return false;
}

/* Who has most OWNED slots gives one up; false: nobody has any. */
static bool take_from_most(ClusterTable *table, unsigned *owned, uint16_t to)
{
    uint16_t most = 0;
    for (uint32_t i = 1; i < table->n_agents; i++) {
        most = owned[i] > owned[most] ? (uint16_t)i : most;
    }
    bool taken = owned[most] > 0 && move_one(table, most, to);
    owned[most] -= taken;
    return taken;
}

Result cluster_table_add(ClusterTable *table, uint16_t *agent)
{
    if (table->n_agents >= CLUSTER_AGENTS_MAX) {
        return RESULT_LIMIT;
    }
    ClusterTable next = *table;
    next.n_agents = table->n_agents + 1;
    next.agents = copy_agents(table, next.n_agents);
    unsigned *owned = calloc(next.n_agents, sizeof *owned);
    if (next.agents == NULL || owned == NULL) {
        free(next.agents);
        free(owned);
        return RESULT_MEMORY;
    }
    uint16_t fresh = (uint16_t)table->n_agents;
    unsigned owners = 1;
    next.agents[fresh] = (ClusterAgent){.life = 1, .seated = true};
    for (uint32_t i = 0; i < table->n_agents; i++) {
        ClusterShare share = cluster_table_share(table, (uint16_t)i);
        owned[i] = share.owned - share.coming;
        owners += share.owned > 0;
    }
    unsigned share = SLOT_COUNT / owners;
    while (share > 0 && take_from_most(&next, owned, fresh)) {
        share--;
    }
    free(owned);
    free(table->agents);
    *table = next;
    *agent = fresh;
    return cluster_table_step(table);
}

Result cluster_table_move(ClusterTable *table, uint16_t from, uint16_t to, unsigned n)
{
    unsigned moved = 0;
    if (from >= table->n_agents || to >= table->n_agents || from == to) {
        return RESULT_NOT_FOUND;
    }
    while (moved < n && move_one(table, from, to)) {
        moved++;
    }
    return moved > 0 ? cluster_table_step(table) : RESULT_NOT_FOUND;
}

Result cluster_table_move_slot(ClusterTable *table, unsigned slot, uint16_t to)
{
    ClusterSlot *owners = &table->slots[slot];
    if (cluster_slot_is_moving(*owners)) {
        return RESULT_EXISTS;
    }
    if (to >= table->n_agents || owners->from == to) {
        return RESULT_NOT_FOUND;
    }
    owners->to = to;
    return cluster_table_step(table);
}

Result cluster_table_drain(ClusterTable *table, uint16_t agent)
{
    if (agent >= table->n_agents || !cluster_table_has(table, agent)) {
        return RESULT_NOT_FOUND;
    }
    unsigned *counts = calloc(table->n_agents, sizeof *counts);
    if (counts == NULL) {
        return RESULT_MEMORY;
    }
    for (uint32_t i = 0; i < table->n_agents; i++) {
        counts[i] = cluster_table_share(table, (uint16_t)i).owned;
    }
    bool moved = false;
    uint16_t least = agent;
    for (;;) {
        least = agent;
        for (uint32_t i = 0; i < table->n_agents; i++) {
            bool takes = i != agent && counts[i] > 0;
            least = takes && (least == agent || counts[i] < counts[least]) ? (uint16_t)i : least;
        }
        if (least == agent || !move_one(table, agent, least)) {
            break;
        }
        counts[least]++;
        moved = true;
    }
    free(counts);
    if (!moved) {
        return least == agent ? RESULT_INVALID : RESULT_NOT_FOUND;
    }
    return cluster_table_step(table);
}

Result cluster_table_restore(ClusterTable *table, uint16_t agent)
{
    if (agent >= table->n_agents || table->agents[agent].life == UINT16_MAX) {
        return RESULT_NOT_FOUND;
    }
    table->agents[agent].life++;
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        ClusterSlot *owners = &table->slots[slot];
        if (owners->from == agent && owners->to != agent) {
            *owners = (ClusterSlot){.from = owners->to, .to = agent};
        }
    }
    return cluster_table_step(table);
}

Result cluster_table_seat(ClusterTable *table, uint16_t agent, bool seated)
{
    if (agent >= table->n_agents || table->agents[agent].seated == seated) {
        return RESULT_NOT_FOUND;
    }
    table->agents[agent].seated = seated;
    table->epoch++;
    return RESULT_OK;
}

Result cluster_table_claim(ClusterTable *table, uint16_t agent)
{
    if (agent >= table->n_agents) {
        return RESULT_NOT_FOUND;
    }
    ClusterAgent *claimed = &table->agents[agent];
    if (claimed->claimed == claimed->life) {
        return RESULT_EXISTS;
    }
    claimed->claimed = claimed->life;
    table->epoch++;
    return RESULT_OK;
}

Result cluster_table_settle(ClusterTable *table, uint16_t from, uint16_t to)
{
    bool settled = false;
    for (unsigned slot = 0; slot < SLOT_COUNT && from != to; slot++) {
        ClusterSlot *owners = &table->slots[slot];
        if (owners->from == from && owners->to == to) {
            owners->from = to;
            settled = true;
        }
    }
    return settled ? cluster_table_step(table) : RESULT_NOT_FOUND;
}
