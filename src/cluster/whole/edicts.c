#include "cluster/whole/edicts.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/wire/wire.h"

#define FORMAT 1u

/* What a verb is about: edicts of one kind and one name replace each other. */
static const struct {
    const char *name;
    unsigned kind;
    bool passes; /* it may go first when there is no room */
} verbs[EDICT_VERBS] = {
    [EDICT_DENY] = {"deny", 0, false},    [EDICT_ALLOW] = {"allow", 0, true},
    [EDICT_PAUSE] = {"pause", 1, false},  [EDICT_RESUME] = {"resume", 1, true},
    [EDICT_SET] = {"set", 2, false},      [EDICT_UNSET] = {"unset", 2, true},
    [EDICT_REVIVE] = {"revive", 3, true}, [EDICT_DROP] = {"drop", 3, true},
    [EDICT_VISIT] = {"visit", 3, true},   [EDICT_FORGET] = {"forget", 4, false}};

const char *edict_verb_name(EdictVerb verb)
{
    return verbs[verb].name;
}

static void edict_release(Edict *edict)
{
    free(edict->name);
    free(edict->pattern);
    free(edict->value);
    free(edict->who);
}

void edicts_destroy(Edicts *edicts)
{
    for (size_t i = 0; i < edicts->n; i++) {
        edict_release(&edicts->list[i]);
    }
    free(edicts->list);
    *edicts = (Edicts){.n = 0};
}

static size_t edict_bytes(const Edict *edict)
{
    return strlen(edict->name) + strlen(edict->pattern) + strlen(edict->value) +
           strlen(edict->who) + 24;
}

static void edicts_remove(Edicts *edicts, size_t i)
{
    edicts->bytes -= edict_bytes(&edicts->list[i]);
    edict_release(&edicts->list[i]);
    edicts->n--;
    memmove(&edicts->list[i], &edicts->list[i + 1], (edicts->n - i) * sizeof *edicts->list);
}

/* Copies it behind the others, with its number. */
static Result edicts_append(Edicts *edicts, const Edict *edict)
{
    Edict *more = reallocarray(edicts->list, edicts->n + 1, sizeof *more);
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    edicts->list = more;
    Edict copy = {.number = edict->number,
                  .verb = edict->verb,
                  .name = strdup(edict->name),
                  .pattern = strdup(edict->pattern),
                  .value = strdup(edict->value),
                  .who = strdup(edict->who),
                  .elsewhere = edict->elsewhere};
    if (copy.name == NULL || copy.pattern == NULL || copy.value == NULL || copy.who == NULL) {
        edict_release(&copy);
        return RESULT_MEMORY;
    }
    more[edicts->n++] = copy;
    edicts->bytes += edict_bytes(&copy);
    return RESULT_OK;
}

Result edicts_copy(Edicts *to, const Edicts *from)
{
    Edicts copy = {.last = from->last};
    memcpy(copy.uuid, from->uuid, sizeof copy.uuid);
    for (size_t i = 0; i < from->n; i++) {
        if (edicts_append(&copy, &from->list[i]) != RESULT_OK) {
            edicts_destroy(&copy);
            return RESULT_MEMORY;
        }
    }
    edicts_destroy(to);
    *to = copy;
    return RESULT_OK;
}

/* What the list says of the same thing, or NULL. */
static const Edict *edicts_find(const Edicts *edicts, const Edict *edict)
{
    for (size_t i = 0; i < edicts->n; i++) {
        const Edict *other = &edicts->list[i];
        if (verbs[edict->verb].kind == verbs[other->verb].kind &&
            strcmp(edict->name, other->name) == 0 && strcmp(edict->pattern, other->pattern) == 0) {
            return other;
        }
    }
    return NULL;
}

/* Whether there is room for one more, when what may pass has gone. */
static bool edicts_make_room(Edicts *edicts, size_t bytes)
{
    for (size_t i = 0;
         i < edicts->n && (edicts->n >= EDICTS_MOST || edicts->bytes + bytes > EDICTS_BYTES);) {
        if (verbs[edicts->list[i].verb].passes) {
            edicts_remove(edicts, i);
        } else {
            i++;
        }
    }
    return edicts->n < EDICTS_MOST && edicts->bytes + bytes <= EDICTS_BYTES;
}

Result edicts_add(Edicts *edicts, const Edict *edict)
{
    Edict fresh = *edict;
    fresh.number = edict->number > edicts->last ? edict->number : edicts->last + 1;
    if (strlen(edict->name) > EDICT_TEXT_BYTES || strlen(edict->pattern) > EDICT_TEXT_BYTES ||
        strlen(edict->value) > EDICT_TEXT_BYTES || strlen(edict->who) > EDICT_TEXT_BYTES) {
        return RESULT_INVALID;
    }
    const Edict *same = edicts_find(edicts, edict);
    if (same != NULL) {
        edicts_remove(edicts, (size_t)(same - edicts->list));
    }
    if (!edicts_make_room(edicts, edict_bytes(edict))) {
        return RESULT_LIMIT;
    }
    Result rc = edicts_append(edicts, &fresh);
    edicts->last = rc == RESULT_OK ? fresh.number : edicts->last;
    return rc;
}

Result edicts_merge(Edicts *edicts, const Edicts *other)
{
    for (size_t i = 0; i < other->n; i++) {
        const Edict *edict = &other->list[i];
        const Edict *same = edicts_find(edicts, edict);
        bool lacks = same == NULL ? !verbs[edict->verb].passes : same->number < edict->number;
        Result rc = lacks ? edicts_add(edicts, edict) : RESULT_OK;
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

const Edict *edicts_find_option(const Edicts *edicts, const char *pattern, const char *name)
{
    Edict set = {
        .verb = EDICT_SET, .name = (char *)(uintptr_t)name, .pattern = (char *)(uintptr_t)pattern};
    return edicts_find(edicts, &set);
}

/* ---- bytes ---- */

static const WireField edict_fields[] = {WIRE_FIELD(Edict, number, 8, UINT64_MAX),
                                         WIRE_FIELD(Edict, verb, 1, EDICT_VERBS - 1),
                                         WIRE_FIELD(Edict, name, WIRE_STRING, EDICT_TEXT_BYTES),
                                         WIRE_FIELD(Edict, pattern, WIRE_STRING, EDICT_TEXT_BYTES),
                                         WIRE_FIELD(Edict, value, WIRE_STRING, EDICT_TEXT_BYTES),
                                         WIRE_FIELD(Edict, who, WIRE_STRING, EDICT_TEXT_BYTES)};
static const WireRecord edict_record = WIRE_RECORD(Edict, edict_fields);

Result edicts_write(const Edicts *edicts, Buffer *out)
{
    WireWriter writer = wire_writer(out);
    wire_put_number(&writer, FORMAT, 1);
    wire_put_bytes(&writer, edicts->uuid, sizeof edicts->uuid);
    wire_put_number(&writer, edicts->last, 8);
    wire_put_list(&writer, &edict_record, edicts->list, edicts->n);
    return wire_seal(&writer);
}

Result edicts_read(Edicts *edicts, const void *bytes, size_t length)
{
    WireReader reader;
    Edicts fresh = {.n = 0};
    bool good = wire_open(&reader, bytes, length) && wire_get_number(&reader, 1) == FORMAT;
    const uint8_t *uuid = wire_get_bytes(&reader, sizeof fresh.uuid);
    fresh.last = wire_get_number(&reader, 8);
    fresh.list = wire_get_new_list(&reader, &edict_record, EDICTS_MOST, &fresh.n);
    good = good && uuid != NULL && fresh.last < INT64_MAX && wire_reader_ended(&reader);
    for (size_t i = 0; good && i < fresh.n; i++) {
        uint64_t number = fresh.list[i].number;
        good = number > (i == 0 ? 0 : fresh.list[i - 1].number) && number <= fresh.last;
        fresh.bytes += edict_bytes(&fresh.list[i]);
    }
    if (!good || fresh.bytes > EDICTS_BYTES) {
        edicts_destroy(&fresh);
        return RESULT_DAMAGED;
    }
    memcpy(fresh.uuid, uuid, sizeof fresh.uuid);
    edicts_destroy(edicts);
    *edicts = fresh;
    return RESULT_OK;
}
