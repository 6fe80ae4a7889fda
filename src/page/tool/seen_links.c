#include "page/tool/seen_links.h"

#include <stdlib.h>

#define FIRST_SLOTS 4096u

static size_t seen_links_slot_of(const uint64_t *keys, size_t slots, uint64_t key)
{
    size_t i = (size_t)key & (slots - 1);
    while (keys[i] != 0 && keys[i] != key) {
        i = (i + 1) & (slots - 1);
    }
    return i;
}

static bool seen_links_grow(SeenLinks *seen)
{
    size_t slots = seen->slots == 0 ? FIRST_SLOTS : seen->slots * 2;
    uint64_t *keys = calloc(slots, sizeof *keys);
    uint32_t *used = keys == NULL ? NULL : realloc(seen->used, slots / 2 * sizeof *used);
    if (used == NULL) {
        free(keys);
        return false;
    }
    for (size_t i = 0; i < seen->count; i++) {
        uint64_t key = seen->keys[used[i]];
        used[i] = (uint32_t)seen_links_slot_of(keys, slots, key);
        keys[used[i]] = key;
    }
    free(seen->keys);
    seen->keys = keys;
    seen->used = used;
    seen->slots = slots;
    return true;
}

bool seen_links_note(SeenLinks *seen, uint64_t key, size_t most)
{
    bool is_full = seen->count >= (most > FIRST_SLOTS ? most : FIRST_SLOTS);
    if (!is_full && (seen->count + 1) * 2 > seen->slots && !seen_links_grow(seen)) {
        return true;
    }
    key |= key == 0;
    size_t i = seen_links_slot_of(seen->keys, seen->slots, key);
    if (seen->keys[i] == key) {
        return false;
    }
    if (!is_full) {
        seen->keys[i] = key;
        seen->used[seen->count++] = (uint32_t)i;
    }
    return true;
}

void seen_links_forget(SeenLinks *seen)
{
    if (seen->slots > FIRST_SLOTS) {
        seen_links_destroy(seen);
        return;
    }
    for (size_t i = 0; i < seen->count; i++) {
        seen->keys[seen->used[i]] = 0;
    }
    seen->count = 0;
}

void seen_links_destroy(SeenLinks *seen)
{
    free(seen->keys);
    free(seen->used);
    *seen = (SeenLinks){.keys = NULL};
}
