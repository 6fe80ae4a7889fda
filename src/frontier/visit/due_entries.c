#include "frontier/visit/due_entries.h"

void due_entries_init(DueEntries *due)
{
    *due = (DueEntries){.bias = {.kind = LEVEL_BIAS_STRICT}};
    for (size_t s = 0; s < STANDINGS; s++) {
        for (size_t i = 0; i < SCHEDULE_MAX_LEVELS; i++) {
            heap_init(&due->at[s][i]);
        }
    }
}

void due_entries_destroy(DueEntries *due)
{
    for (size_t s = 0; s < STANDINGS; s++) {
        for (size_t i = 0; i < SCHEDULE_MAX_LEVELS; i++) {
            heap_destroy(&due->at[s][i]);
        }
    }
}

static void note_level(DueEntries *due, Standing standing, unsigned level)
{
    uint64_t bit = UINT64_C(1) << level;
    uint64_t levels = due->levels[standing];
    due->levels[standing] = due->at[standing][level].count > 0 ? levels | bit : levels & ~bit;
}

Result due_entries_add(DueEntries *due, Standing standing, DuePlace *place, unsigned level,
                       MonoTime time)
{
    place->level = (uint8_t)(level < SCHEDULE_MAX_LEVELS ? level : SCHEDULE_MAX_LEVELS - 1);
    Result rc = heap_push(&due->at[standing][place->level], &place->node, time.ns, 0);
    if (rc == RESULT_OK) {
        due->count[standing]++;
        note_level(due, standing, place->level);
    }
    return rc;
}

void due_entries_remove(DueEntries *due, Standing standing, DuePlace *place)
{
    heap_remove(&due->at[standing][place->level], &place->node);
    due->count[standing]--;
    note_level(due, standing, place->level);
}

DuePlace *due_entries_next(const DueEntries *due, const bool open[STANDINGS], Standing *standing)
{
    uint64_t levels = 0;
    for (size_t s = 0; s < STANDINGS; s++) {
        levels |= open[s] ? due->levels[s] : 0;
    }
    unsigned level = level_bias_choose(&due->bias, levels, due->ticket);
    HeapNode *first = NULL;
    for (size_t s = 0; s < STANDINGS && level != SCHEDULE_NO_LEVEL; s++) {
        HeapNode *node = open[s] ? heap_top(&due->at[s][level]) : NULL;
        if (node != NULL && (first == NULL || node->key < first->key)) {
            first = node;
            *standing = (Standing)s;
        }
    }
    return first == NULL ? NULL : HEAP_ELEMENT(first, DuePlace, node);
}

DuePlace *due_entries_any(const DueEntries *due, Standing *standing)
{
    static const bool all[STANDINGS] = {true, true, true};
    return due_entries_next(due, all, standing);
}
