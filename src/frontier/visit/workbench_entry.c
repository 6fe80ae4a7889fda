#include "frontier/visit/workbench_entry.h"

#include <stdlib.h>

static VisitState *visit_state_of(HeapNode *node)
{
    return HEAP_ELEMENT(node, VisitState, todo.by_time);
}

WorkbenchEntry *workbench_entry_new(const IpAddress *address, MonoTime floor)
{
    WorkbenchEntry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->address = *address;
    entry->next_fetch = floor;
    heap_init(&entry->waiting);
    heap_node_init(&entry->place);
    for (size_t s = 0; s < STANDINGS; s++) {
        heap_init(&entry->ready[s]);
        heap_node_init(&entry->due[s].node);
    }
    heap_node_init(&entry->news);
    return entry;
}

void workbench_entry_delete(WorkbenchEntry *entry)
{
    heap_destroy(&entry->waiting);
    for (size_t s = 0; s < STANDINGS; s++) {
        heap_destroy(&entry->ready[s]);
    }
    free(entry);
}

Result workbench_entry_enqueue(WorkbenchEntry *entry, VisitState *visit_state)
{
    visit_state->todo.ready = false;
    visit_state->todo.standing =
        standing_of(&visit_state->politeness.standing, &visit_state->politeness.health);
    return heap_push(&entry->waiting, &visit_state->todo.by_time,
                     visit_state->politeness.next_fetch.ns, visit_state->identity.host);
}

void workbench_entry_dequeue(WorkbenchEntry *entry, VisitState *visit_state)
{
    Heap *ready = &entry->ready[visit_state->todo.standing];
    heap_remove(visit_state->todo.ready ? ready : &entry->waiting, &visit_state->todo.by_time);
}

Result workbench_entry_ripen(WorkbenchEntry *entry, MonoTime now)
{
    Result rc = RESULT_OK;
    HeapNode *node = heap_top(&entry->waiting);
    while (rc == RESULT_OK && node != NULL && node->key <= now.ns) {
        VisitState *visit_state = visit_state_of(heap_pop(&entry->waiting));
        rc = heap_push(&entry->ready[visit_state->todo.standing], node,
                       visit_state_level(visit_state),
                       (uint64_t)visit_state->politeness.next_fetch.ns);
        visit_state->todo.ready = rc == RESULT_OK;
        if (rc != RESULT_OK) { /* there is room where it came from */
            (void)heap_push(&entry->waiting, node, visit_state->politeness.next_fetch.ns,
                            visit_state->identity.host);
        }
        node = heap_top(&entry->waiting);
    }
    return rc;
}

bool workbench_entry_has_ready(const WorkbenchEntry *entry)
{
    return entry->ready[STANDING_PROVEN].count + entry->ready[STANDING_NEW].count +
               entry->ready[STANDING_ILL].count >
           0;
}

VisitState *workbench_entry_take(WorkbenchEntry *entry, Standing standing)
{
    return visit_state_of(heap_pop(&entry->ready[standing]));
}

VisitState *workbench_entry_any(const WorkbenchEntry *entry)
{
    HeapNode *first = heap_top(&entry->waiting);
    for (size_t s = 0; s < STANDINGS; s++) {
        first = entry->ready[s].count > 0 ? heap_top(&entry->ready[s]) : first;
    }
    return visit_state_of(first);
}
