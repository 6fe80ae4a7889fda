/* A naive DRUM for the tests: every operation is done at once on an array of keys, and what each
 * callback must be told is queued, so that the real one's callbacks are compared one by one. */
#ifndef TESTS_UNIT_DRUM_MODEL_H
#define TESTS_UNIT_DRUM_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "store/drum/drum.h"
#include "store/drum/drum_file.h"

#define MODEL_KEYS      400u
#define MODEL_MAX_BYTES 96u
#define MODEL_QUEUES    64u

typedef struct ModelValue {
    bool exists;
    size_t length;
    uint8_t bytes[MODEL_MAX_BYTES];
} ModelValue;

typedef struct Expected {
    struct Expected *next;
    DrumOperation operation;
    unsigned key;
    ModelValue previous;
    ModelValue value;
    bool has_auxiliary;
    size_t auxiliary_length;
    uint8_t auxiliary[MODEL_MAX_BYTES];
} Expected;

typedef struct Queue {
    Expected *head;
    Expected *tail;
} Queue;

typedef struct Model {
    DrumKeys keys;
    unsigned buckets;
    bool keep_existing;
    bool assigns;
    uint64_t random;
    ModelValue values[MODEL_KEYS];
    Queue queues[MODEL_QUEUES]; /* per bucket, or the first for all */
    uint64_t operations;
    uint64_t called;
    uint64_t wrong;          /* calls that differ from what is expected */
    uint64_t unique_updates; /* callbacks of that kind */
} Model;

static inline uint64_t model_random(Model *model, uint64_t below)
{
    model->random += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(model->random) % below;
}

/* Some keys are equal in their first bytes, some are prefixes of others. */
static inline DrumKey model_key(const Model *model, unsigned number, char *room)
{
    if (model->keys == DRUM_KEYS_NUMBERS) {
        uint64_t key = hash_mix(number + 1);
        return drum_key_number(number % 5 == 0 ? key >> 40 : key);
    }
    size_t length = 1 + number % 40;
    memset(room, 'a' + (int)(number % 3), length);
    int n = snprintf(room + length, 16, "%x", number);
    return drum_key_bytes(room, length + (size_t)n);
}

static inline unsigned model_bucket(const Model *model, const DrumKey *key)
{
    unsigned bits = (unsigned)__builtin_ctz(model->buckets);
    return bits == 0 ? 0 : (unsigned)(key->number >> (64 - bits));
}

static inline void model_set(ModelValue *value, const void *bytes, size_t length)
{
    value->exists = true;
    value->length = length;
    if (length > 0) {
        memcpy(value->bytes, bytes, length);
    }
}

static inline bool model_same(const ModelValue *expected, DrumBytes bytes)
{
    size_t length = expected->exists ? expected->length : 0;
    return length == bytes.length &&
           (length == 0 || memcmp(expected->bytes, bytes.bytes, length) == 0);
}

/* The value that the tests' assign gives: a function of the key, so that order does not matter. */
static inline Result model_assign(void *context, const DrumKey *key, DrumBytes given, void *value)
{
    (void)context;
    (void)given;
    uint64_t number = ~key->number;
    memcpy(value, &number, sizeof number);
    return RESULT_OK;
}

static inline void model_apply(Model *model, Expected *expected, const DrumKey *key)
{
    ModelValue *value = &model->values[expected->key];
    ModelValue given = expected->value;
    expected->previous = *value;
    switch (expected->operation) {
    case DRUM_CHECK:
        expected->value = *value;
        return;
    case DRUM_UPDATE:
        break;
    case DRUM_CHECK_UPDATE:
        if (!value->exists && model->assigns) {
            (void)model_assign(NULL, key, (DrumBytes){NULL, 0}, given.bytes);
            given.length = 8;
        } else if (value->exists && model->keep_existing) {
            given = *value;
        }
        break;
    }
    expected->value = given;
    *value = given;
}

/* One random operation on both; the result of the real one. The model follows only if accepted. */
static inline Result model_step(Model *model, Drum *drum)
{
    char room[96];
    Expected *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return RESULT_MEMORY;
    }
    e->operation = (DrumOperation)model_random(model, 3);
    e->key = (unsigned)model_random(model, MODEL_KEYS);
    e->has_auxiliary = model_random(model, 4) != 0;
    uint8_t fill = (uint8_t)model_random(model, 256);
    if (e->operation != DRUM_CHECK) {
        size_t length = (size_t)model_random(model, model_random(model, 8) == 0 ? 90 : 9);
        memset(e->value.bytes, fill, sizeof e->value.bytes);
        e->value.exists = true;
        e->value.length = length;
    }
    if (e->has_auxiliary) {
        e->auxiliary_length = (size_t)model_random(model, 70);
        memset(e->auxiliary, ~fill, sizeof e->auxiliary);
        if (e->auxiliary_length >= sizeof model->operations) {
            memcpy(e->auxiliary, &model->operations, sizeof model->operations);
        }
    }
    DrumKey key = model_key(model, e->key, room);
    DrumBytes value = {e->value.bytes, e->value.length};
    DrumBytes auxiliary = {e->auxiliary, e->auxiliary_length};
    /* Callbacks may come inside the call, this element's own included: it must be queued before. */
    Queue *queue = &model->queues[model_bucket(model, &key)];
    ModelValue given = e->value;
    model_apply(model, e, &key);
    model->operations++;
    DrumOperation operation = e->operation;
    bool has_auxiliary = e->has_auxiliary;
    uint8_t value_room[MODEL_MAX_BYTES], auxiliary_room[MODEL_MAX_BYTES];
    memcpy(value_room, given.bytes, sizeof value_room);
    memcpy(auxiliary_room, e->auxiliary, sizeof auxiliary_room);
    value.bytes = value_room;
    auxiliary.bytes = auxiliary_room;
    if (queue->tail != NULL) {
        queue->tail->next = e;
    } else {
        queue->head = e;
    }
    queue->tail = e;
    switch (operation) {
    case DRUM_CHECK:
        return has_auxiliary ? drum_check_with(drum, key, auxiliary) : drum_check(drum, key);
    case DRUM_UPDATE:
        return has_auxiliary ? drum_update_with(drum, key, value, auxiliary)
                             : drum_update(drum, key, value);
    case DRUM_CHECK_UPDATE:
        break;
    }
    return has_auxiliary ? drum_check_update_with(drum, key, value, auxiliary)
                         : drum_check_update(drum, key, value);
}

static inline bool model_key_is(const Model *model, unsigned number, const DrumKey *key)
{
    char room[96];
    DrumKey expected = model_key(model, number, room);
    return expected.number == key->number && expected.bytes.length == key->bytes.length &&
           (key->bytes.length == 0 ||
            memcmp(expected.bytes.bytes, key->bytes.bytes, key->bytes.length) == 0);
}

static inline Result model_called(Model *model, const DrumEvent *event, DrumOperation operation,
                                  int existed)
{
    Queue *queue = &model->queues[model_bucket(model, &event->key)];
    Expected *e = queue->head;
    model->called++;
    if (e == NULL) {
        model->wrong++;
        return RESULT_OK;
    }
    queue->head = e->next;
    queue->tail = e->next != NULL ? queue->tail : NULL;
    bool right = e->operation == operation && model_key_is(model, e->key, &event->key) &&
                 (existed < 0 || (existed > 0) == e->previous.exists) &&
                 event->existed == e->previous.exists && model_same(&e->value, event->value) &&
                 model_same(&e->previous, event->previous) &&
                 (event->auxiliary.bytes != NULL) == e->has_auxiliary &&
                 event->auxiliary.length == e->auxiliary_length &&
                 (e->auxiliary_length == 0 ||
                  memcmp(event->auxiliary.bytes, e->auxiliary, e->auxiliary_length) == 0);
    model->wrong += !right;
    free(e);
    return RESULT_OK;
}

static inline Result model_unique_check(void *context, const DrumEvent *event)
{
    return model_called(context, event, DRUM_CHECK, 0);
}

static inline Result model_duplicate_check(void *context, const DrumEvent *event)
{
    return model_called(context, event, DRUM_CHECK, 1);
}

static inline Result model_unique_update(void *context, const DrumEvent *event)
{
    ((Model *)context)->unique_updates++;
    return model_called(context, event, DRUM_CHECK_UPDATE, 0);
}

static inline Result model_duplicate_update(void *context, const DrumEvent *event)
{
    return model_called(context, event, DRUM_CHECK_UPDATE, 1);
}

static inline Result model_update(void *context, const DrumEvent *event)
{
    return model_called(context, event, DRUM_UPDATE, -1);
}

static inline DrumDispatcher model_dispatcher(Model *model)
{
    return (DrumDispatcher){.context = model,
                            .unique_key_check = model_unique_check,
                            .duplicate_key_check = model_duplicate_check,
                            .unique_key_update = model_unique_update,
                            .duplicate_key_update = model_duplicate_update,
                            .update = model_update};
}

static inline void model_forget_queues(Model *model)
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        for (Expected *e = model->queues[q].head, *next; e != NULL; e = next) {
            next = e->next;
            free(e);
        }
        model->queues[q] = (Queue){NULL, NULL};
    }
}

static inline size_t model_waiting(const Model *model)
{
    size_t n = 0;
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        for (const Expected *e = model->queues[q].head; e != NULL; e = e->next) {
            n++;
        }
    }
    return n;
}

#endif
