#include "cluster/whole/edicts.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/wire/wire.h"

#define FORMAT 1u

/* What a verb is about: edicts of one kind and one name replace each other. */
static const struct {
    const char *name;
    unsigned kind;
    bool passes; /* it may go first when there is no room */
} verbs[EDICT_VERBS] = {[EDICT_DENY] = {"deny", 0, false},    [EDICT_ALLOW] = {"allow", 0, true},
                        [EDICT_PAUSE] = {"pause", 1, false},  [EDICT_RESUME] = {"resume", 1, true},
                        [EDICT_SET] = {"set", 2, false},      [EDICT_UNSET] = {"unset", 2, true},
                        [EDICT_REVIVE] = {"revive", 3, true}, [EDICT_DROP] = {"drop", 3, true},
                        [EDICT_VISIT] = {"visit", 3, true}};

const char *edict_verb_name(EdictVerb verb)
{
    return verbs[verb].name;
}

void edicts_init(Edicts *edicts)
{
    *edicts = (Edicts){.last = 0};
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
    edicts_init(edicts);
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

static bool is_about_the_same(const Edict *a, const Edict *b)
{
    return verbs[a->verb].kind == verbs[b->verb].kind && strcmp(a->name, b->name) == 0 &&
           strcmp(a->pattern, b->pattern) == 0;
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
    fresh.number = edicts->last + 1;
    if (strlen(edict->name) > EDICT_TEXT_BYTES || strlen(edict->pattern) > EDICT_TEXT_BYTES ||
        strlen(edict->value) > EDICT_TEXT_BYTES || strlen(edict->who) > EDICT_TEXT_BYTES) {
        return RESULT_INVALID;
    }
    for (size_t i = 0; i < edicts->n; i++) {
        if (is_about_the_same(&edicts->list[i], edict)) {
            edicts_remove(edicts, i);
            break;
        }
    }
    if (!edicts_make_room(edicts, edict_bytes(edict))) {
        return RESULT_LIMIT;
    }
    Result rc = edicts_append(edicts, &fresh);
    edicts->last += rc == RESULT_OK;
    return rc;
}

const Edict *edicts_find_option(const Edicts *edicts, const char *pattern, const char *name)
{
    for (size_t i = 0; i < edicts->n; i++) {
        const Edict *edict = &edicts->list[i];
        if (verbs[edict->verb].kind == verbs[EDICT_SET].kind && strcmp(edict->name, name) == 0 &&
            strcmp(edict->pattern, pattern) == 0) {
            return edict;
        }
    }
    return NULL;
}

/* ---- bytes ---- */

static void edict_put_text(WireWriter *writer, const char *text)
{
    wire_put_string(writer, text, strlen(text));
}

Result edicts_write(const Edicts *edicts, Buffer *out)
{
    size_t start = out->length;
    WireWriter writer = wire_writer(out);
    wire_put_8(&writer, FORMAT);
    wire_put_bytes(&writer, edicts->uuid, sizeof edicts->uuid);
    wire_put_64(&writer, edicts->last);
    wire_put_varint(&writer, edicts->n);
    for (size_t i = 0; i < edicts->n; i++) {
        const Edict *edict = &edicts->list[i];
        wire_put_64(&writer, edict->number);
        wire_put_8(&writer, (uint8_t)edict->verb);
        edict_put_text(&writer, edict->name);
        edict_put_text(&writer, edict->pattern);
        edict_put_text(&writer, edict->value);
        edict_put_text(&writer, edict->who);
    }
    if (writer.rc == RESULT_OK) {
        wire_put_32(&writer, libdeflate_crc32(0, out->data + start, out->length - start));
    }
    return writer.rc;
}

/* Owned; NULL: it is none, or there is no memory. */
static char *edict_get_text(WireReader *reader)
{
    size_t length = 0;
    const uint8_t *bytes = wire_get_string(reader, &length);
    bool good = !reader->bad && length <= EDICT_TEXT_BYTES &&
                (length == 0 || memchr(bytes, '\0', length) == NULL);
    char *text = good ? calloc(1, length + 1) : NULL;
    if (text != NULL && length > 0) {
        memcpy(text, bytes, length);
    }
    reader->bad |= text == NULL;
    return text;
}

static Result edict_get(WireReader *reader, Edicts *edicts, uint64_t above)
{
    Edict edict = {.number = wire_get_64(reader)};
    uint8_t verb = wire_get_8(reader);
    edict.verb = (EdictVerb)verb;
    edict.name = edict_get_text(reader);
    edict.pattern = edict_get_text(reader);
    edict.value = edict_get_text(reader);
    edict.who = edict_get_text(reader);
    reader->bad |= verb >= EDICT_VERBS || edict.number <= above || edict.number > edicts->last;
    Result rc = reader->bad ? RESULT_DAMAGED : edicts_append(edicts, &edict);
    edict_release(&edict);
    return rc;
}

Result edicts_read(Edicts *edicts, const void *bytes, size_t length)
{
    uint32_t crc = 0;
    Edicts fresh;
    if (length < sizeof crc) {
        return RESULT_DAMAGED;
    }
    WireReader tail = wire_reader((const uint8_t *)bytes + length - sizeof crc, sizeof crc);
    WireReader reader = wire_reader(bytes, length - sizeof crc);
    crc = wire_get_32(&tail);
    edicts_init(&fresh);
    uint8_t format = wire_get_8(&reader);
    const uint8_t *uuid = wire_get_bytes(&reader, sizeof fresh.uuid);
    fresh.last = wire_get_64(&reader);
    uint64_t n = wire_get_varint(&reader);
    if (libdeflate_crc32(0, bytes, length - sizeof crc) != crc || format != FORMAT ||
        uuid == NULL || reader.bad || n > EDICTS_MOST) {
        return RESULT_DAMAGED;
    }
    memcpy(fresh.uuid, uuid, sizeof fresh.uuid);
    Result rc = RESULT_OK;
    for (uint64_t i = 0; rc == RESULT_OK && i < n; i++) {
        rc = edict_get(&reader, &fresh, fresh.n == 0 ? 0 : fresh.list[fresh.n - 1].number);
    }
    if (rc == RESULT_OK && (!wire_reader_ended(&reader) || fresh.bytes > EDICTS_BYTES)) {
        rc = RESULT_DAMAGED;
    }
    if (rc != RESULT_OK) {
        edicts_destroy(&fresh);
        return rc;
    }
    edicts_destroy(edicts);
    *edicts = fresh;
    return RESULT_OK;
}
