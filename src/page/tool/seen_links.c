#include "page/tool/seen_links.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096u

static size_t slot_of(const uint64_t *keys, size_t slots, uint64_t key)
{
    size_t i = (size_t)key & (slots - 1);
    while (keys[i] != 0 && keys[i] != key) {
        i = (i + 1) & (slots - 1);
    }
    return i;
}

static bool grow(SeenLinks *seen)
{
    size_t slots = seen->slots == 0 ? FIRST_SLOTS : seen->slots * 2;
    uint64_t *keys = calloc(slots, sizeof *keys);
    if (keys == NULL) {
        return false;
    }
    for (size_t i = 0; i < seen->slots; i++) {
        if (seen->keys[i] != 0) {
            keys[slot_of(keys, slots, seen->keys[i])] = seen->keys[i];
        }
    }
    free(seen->keys);
    seen->keys = keys;
    seen->slots = slots;
    return true;
}

bool seen_links_note(SeenLinks *seen, uint64_t key, size_t most)
{
    bool is_full = seen->count >= (most > FIRST_SLOTS ? most : FIRST_SLOTS);
    if (!is_full && (seen->count + 1) * 2 > seen->slots && !grow(seen)) {
        return true;
    }
    key |= key == 0;
    size_t i = slot_of(seen->keys, seen->slots, key);
    if (seen->keys[i] == key) {
        return false;
    }
    if (!is_full) {
        seen->keys[i] = key;
        seen->count++;
    }
    return true;
}

void seen_links_forget(SeenLinks *seen)
{
    if (seen->slots > FIRST_SLOTS) {
        seen_links_destroy(seen);
    } else if (seen->count > 0) {
        memset(seen->keys, 0, seen->slots * sizeof *seen->keys);
    }
    seen->count = 0;
}

void seen_links_destroy(SeenLinks *seen)
{
    free(seen->keys);
    *seen = (SeenLinks){.keys = NULL};
}
