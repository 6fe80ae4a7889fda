#include "audit/audit_window.h"

#include <stdlib.h>

typedef struct Slot {
    int64_t end; /* us */
    uint32_t boot;
    uint32_t fetch; /* index in AuditWindow.fetches */
} Slot;

struct AuditWindow {
    AuditFetch *fetches; /* AUDIT_WINDOW + 1 */
    Slot *heap;          /* of those in use, least first */
    uint32_t *unused;    /* a stack of the others */
    size_t n;
    size_t n_unused;
};

Result audit_window_new(AuditWindow **out)
{
    AuditWindow *window = calloc(1, sizeof *window);
    if (window != NULL) {
        window->fetches = malloc((AUDIT_WINDOW + 1) * sizeof *window->fetches);
        window->heap = malloc((AUDIT_WINDOW + 1) * sizeof *window->heap);
        window->unused = malloc((AUDIT_WINDOW + 1) * sizeof *window->unused);
    }
    if (window == NULL || window->fetches == NULL || window->heap == NULL ||
        window->unused == NULL) {
        audit_window_delete(window);
        return RESULT_MEMORY;
    }
    for (uint32_t i = 0; i < AUDIT_WINDOW + 1; i++) {
        window->unused[window->n_unused++] = (uint32_t)AUDIT_WINDOW - i;
    }
    *out = window;
    return RESULT_OK;
}

void audit_window_delete(AuditWindow *window)
{
    if (window == NULL) {
        return;
    }
    for (size_t i = 0; i < window->n; i++) {
        free(window->fetches[window->heap[i].fetch].text);
    }
    free(window->fetches);
    free(window->heap);
    free(window->unused);
    free(window);
}

/* Boots are numbered as they come. Of requests that ended at once the one that was read first goes
 * first as far as the heap can tell, which no check depends on. */
static bool is_before(const Slot *a, const Slot *b)
{
    return a->boot != b->boot ? a->boot < b->boot : a->end < b->end;
}

static void audit_window_sift_up(Slot *heap, size_t at)
{
    Slot slot = heap[at];
    while (at > 0 && is_before(&slot, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = slot;
}

static void audit_window_sift_down(Slot *heap, size_t n)
{
    Slot slot = heap[0];
    size_t at = 0;
    size_t child = 1;
    while (child < n) {
        child += child + 1 < n && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &slot)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
        child = 2 * at + 1;
    }
    heap[at] = slot;
}

bool audit_window_push(AuditWindow *window, const AuditFetch *fetch, AuditFetch *out)
{
    uint32_t place = window->unused[--window->n_unused];
    window->fetches[place] = *fetch;
    window->heap[window->n] = (Slot){.end = fetch->mono_end, .boot = fetch->boot, .fetch = place};
    audit_window_sift_up(window->heap, window->n++);
    return window->n > AUDIT_WINDOW && audit_window_pop(window, out);
}

bool audit_window_pop(AuditWindow *window, AuditFetch *out)
{
    if (window->n == 0) {
        return false;
    }
    uint32_t place = window->heap[0].fetch;
    *out = window->fetches[place];
    window->unused[window->n_unused++] = place;
    window->heap[0] = window->heap[--window->n];
    if (window->n > 0) {
        audit_window_sift_down(window->heap, window->n);
    }
    return true;
}
