/* A repository of DRUM in memory, for keys of either kind. What a sweep puts counts when it is
 * committed; a copy of `committed` is what a process that is killed leaves behind. Callbacks count
 * themselves in `sweep.calls`, inside the same transaction. */
#ifndef TESTS_UNIT_DRUM_MEMORY_H
#define TESTS_UNIT_DRUM_MEMORY_H

#include <string.h>

#include "drum_model.h"
#include "store/drum/drum.h"

#define MEMORY_KEY_BYTES 511u

typedef struct MemoryEntry {
    uint64_t number;
    size_t key_length;
    char key[MEMORY_KEY_BYTES];
    ModelValue value;
} MemoryEntry;

typedef struct MemoryState {
    DrumProgress progress;
    uint64_t calls;
    size_t n;
    MemoryEntry entries[MODEL_KEYS];
} MemoryState;

typedef struct MemoryRepository {
    DrumRepository interface; /* first */
    MemoryState committed;
    MemoryState sweep;
} MemoryRepository;

static inline MemoryEntry *memory_entry(MemoryState *state, const DrumKey *key)
{
    for (size_t i = 0; i < state->n; i++) {
        MemoryEntry *entry = &state->entries[i];
        if (entry->number == key->number && entry->key_length == key->bytes.length &&
            (entry->key_length == 0 ||
             memcmp(entry->key, key->bytes.bytes, entry->key_length) == 0)) {
            return entry;
        }
    }
    return NULL;
}

static inline Result memory_progress(DrumRepository *interface, DrumProgress *progress)
{
    *progress = ((MemoryRepository *)interface)->committed.progress;
    return RESULT_OK;
}

static inline Result memory_begin(DrumRepository *interface)
{
    MemoryRepository *memory = (MemoryRepository *)interface;
    memory->sweep = memory->committed;
    return RESULT_OK;
}

static inline Result memory_find(DrumRepository *interface, const DrumKey *key, DrumBytes *value)
{
    const MemoryEntry *entry = memory_entry(&((MemoryRepository *)interface)->sweep, key);
    if (entry == NULL) {
        return RESULT_NOT_FOUND;
    }
    *value = (DrumBytes){entry->value.bytes, entry->value.length};
    return RESULT_OK;
}

static inline Result memory_put(DrumRepository *interface, const DrumKey *key, DrumBytes value,
                                bool is_new)
{
    MemoryState *state = &((MemoryRepository *)interface)->sweep;
    MemoryEntry *entry = memory_entry(state, key);
    if ((entry == NULL) != is_new || (is_new && state->n == MODEL_KEYS)) {
        return RESULT_INTERNAL;
    }
    if (is_new) {
        entry = &state->entries[state->n++];
        entry->number = key->number;
        entry->key_length = key->bytes.length;
        if (entry->key_length > 0) {
            memcpy(entry->key, key->bytes.bytes, entry->key_length);
        }
    }
    model_set(&entry->value, value.bytes, value.length);
    return RESULT_OK;
}

static inline Result memory_commit(DrumRepository *interface, DrumProgress progress)
{
    MemoryRepository *memory = (MemoryRepository *)interface;
    memory->sweep.progress = progress;
    memory->committed = memory->sweep;
    return RESULT_OK;
}

static inline void memory_abort(DrumRepository *interface)
{
    (void)interface; /* begin copies what is committed */
}

static inline void memory_init(MemoryRepository *memory, DrumKeys keys)
{
    memory->interface = (DrumRepository){.keys = keys,
                                         .key_limit = MEMORY_KEY_BYTES,
                                         .progress = memory_progress,
                                         .begin = memory_begin,
                                         .find = memory_find,
                                         .put = memory_put,
                                         .commit = memory_commit,
                                         .abort = memory_abort};
}

#endif
