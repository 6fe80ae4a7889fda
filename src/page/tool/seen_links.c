#include "page/tool/seen_links.h"

#include <stdlib.h>
#include <string.h>

/* ---- External links ---- */

void external_links_init(ExternalLinks *links)
{
    buffer_init(&links->list, EXTERNAL_LINKS_BYTES);
    links->n = 0;
}

void external_links_forget(ExternalLinks *links)
{
    buffer_reset(&links->list);
    links->n = 0;
}

void external_links_rewind(ExternalLinks *links, size_t n, size_t length)
{
    links->n = n;
    links->list.length = length;
}

void external_links_add(ExternalLinks *links, uint8_t kind, const char *url, size_t length,
                        size_t most)
{
    char byte = (char)kind;
    if (links->n >= most || links->list.length + length + 2 > EXTERNAL_LINKS_BYTES) {
        return;
    }
    size_t before = links->list.length;
    links->n++;
    if (buffer_append(&links->list, &byte, 1) != RESULT_OK ||
        buffer_append(&links->list, url, length) != RESULT_OK ||
        buffer_append(&links->list, "", 1) != RESULT_OK) {
        links->list.length = before;
    }
}

char *external_links_copy(const ExternalLinks *links, size_t *length)
{
    *length = 0;
    char *copy = links->list.length == 0 ? NULL : malloc(links->list.length);
    if (copy != NULL) {
        memcpy(copy, links->list.data, links->list.length);
        *length = links->list.length;
    }
    return copy;
}

/* ---- Seen links ---- */

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
