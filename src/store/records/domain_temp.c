#include "store/records/domain_temp.h"

#include <math.h>
#include <stdlib.h>

#include "base/core/hash.h"

#define HEAP_WAYS  4u
#define MAX_LENGTH ((size_t)1 << 30)
#define NO_PLACE   SIZE_MAX

DomainTemp *domain_temp_new(size_t length, float window)
{
    if (length == 0 || length >= MAX_LENGTH || !(window > 0) || isinf(window)) {
        return NULL;
    }
    size_t n_slots = 4;
    while (n_slots < 2 * length) {
        n_slots *= 2;
    }
    DomainTemp *dh = calloc(1, sizeof *dh);
    DomainTempEntry *table = calloc(length, sizeof *table);
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (dh == NULL || table == NULL || slots == NULL) {
        free(slots);
        free(table);
        free(dh);
        return NULL;
    }
    dh->table = table;
    dh->length = length;
    dh->window = window;
    dh->slots = slots;
    dh->slot_mask = n_slots - 1;
    mutex_init(&dh->mutex, RANK_TABLE);
    return dh;
}

void domain_temp_delete(DomainTemp *dh)
{
    if (dh == NULL) {
        return;
    }
    mutex_destroy(&dh->mutex);
    free(dh->slots);
    free(dh->table);
    free(dh);
}

static size_t domain_temp_home(const DomainTemp *dh, uint32_t hash)
{
    return (size_t)hash_mix(hash) & dh->slot_mask;
}

/* The slot of hash: the one that points to it, or the free one where it belongs. */
static size_t domain_temp_find_slot(const DomainTemp *dh, uint32_t hash)
{
    size_t slot = domain_temp_home(dh, hash);
    while (dh->slots[slot] != 0 && dh->table[dh->slots[slot] - 1].hash != hash) {
        slot = (slot + 1) & dh->slot_mask;
    }
    return slot;
}

/* Frees a slot and moves later entries of its run back, so that runs never have holes. */
static void free_slot(DomainTemp *dh, size_t hole)
{
    size_t slot = hole;
    for (;;) {
        slot = (slot + 1) & dh->slot_mask;
        if (dh->slots[slot] == 0) {
            break;
        }
        DomainTempEntry *entry = &dh->table[dh->slots[slot] - 1];
        size_t wanted = domain_temp_home(dh, entry->hash);
        if (((slot - wanted) & dh->slot_mask) >= ((slot - hole) & dh->slot_mask)) {
            dh->slots[hole] = dh->slots[slot];
            entry->slot = (uint32_t)hole;
            hole = slot;
        }
    }
    dh->slots[hole] = 0;
}

static void domain_temp_place(DomainTemp *dh, size_t at, DomainTempEntry entry)
{
    dh->table[at] = entry;
    dh->slots[entry.slot] = (uint32_t)at + 1;
}

/* Lets the entry at `at` sink below entries that are cooler. */
static void sink(DomainTemp *dh, size_t at)
{
    DomainTempEntry entry = dh->table[at];
    for (;;) {
        size_t first = at * HEAP_WAYS + 1;
        size_t coolest = NO_PLACE;
        double least = entry.heat_log;
        for (size_t child = first; child < first + HEAP_WAYS && child < dh->n_used; child++) {
            if (dh->table[child].heat_log < least) {
                least = dh->table[child].heat_log;
                coolest = child;
            }
        }
        if (coolest == NO_PLACE) {
            break;
        }
        domain_temp_place(dh, at, dh->table[coolest]);
        at = coolest;
    }
    domain_temp_place(dh, at, entry);
}

static double temp_now(const DomainTemp *dh, const DomainTempEntry *entry)
{
    return (double)entry->temp * exp(-(dh->time - entry->time) / (double)dh->window);
}

void domain_temp_update(DomainTemp *dh, double t)
{
    mutex_lock(&dh->mutex);
    if (t > dh->time && isfinite(t)) {
        dh->time = t;
    }
    mutex_unlock(&dh->mutex);
}

static void set_temp(const DomainTemp *dh, DomainTempEntry *entry, double temp)
{
    entry->temp = (float)temp;
    entry->time = dh->time;
    entry->heat_log = log(temp) + dh->time / (double)dh->window;
}

static void heat_locked(DomainTemp *dh, uint32_t hash)
{
    size_t slot = domain_temp_find_slot(dh, hash);
    if (dh->slots[slot] != 0) {
        size_t at = dh->slots[slot] - 1;
        set_temp(dh, &dh->table[at], temp_now(dh, &dh->table[at]) + 1);
        sink(dh, at);
        return;
    }
    DomainTempEntry fresh = {.hash = hash};
    set_temp(dh, &fresh, 1);
    if (dh->n_used < dh->length) {
        fresh.slot = (uint32_t)slot;
        size_t at = dh->n_used++;
        domain_temp_place(dh, at, fresh);
        /* Lets the entry at `at` rise above entries that are hotter. */
        DomainTempEntry entry = dh->table[at];
        while (at > 0) {
            size_t parent = (at - 1) / HEAP_WAYS;
            if (dh->table[parent].heat_log <= entry.heat_log) {
                break;
            }
            domain_temp_place(dh, at, dh->table[parent]);
            at = parent;
        }
        domain_temp_place(dh, at, entry);
    } else if (temp_now(dh, &dh->table[0]) < 1) {
        free_slot(dh, dh->table[0].slot);
        fresh.slot = (uint32_t)domain_temp_find_slot(dh, hash);
        domain_temp_place(dh, 0, fresh);
        sink(dh, 0);
    }
}

void domain_temp_heat(DomainTemp *dh, uint32_t hash)
{
    mutex_lock(&dh->mutex);
    heat_locked(dh, hash);
    mutex_unlock(&dh->mutex);
}

float domain_temp_get(DomainTemp *dh, uint32_t hash)
{
    mutex_lock(&dh->mutex);
    size_t slot = domain_temp_find_slot(dh, hash);
    float temp = dh->slots[slot] == 0 ? 0 : (float)temp_now(dh, &dh->table[dh->slots[slot] - 1]);
    mutex_unlock(&dh->mutex);
    return temp;
}
