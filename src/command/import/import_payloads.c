#include "command/import/import_payloads.h"

#include <stdlib.h>
#include <string.h>

static void import_payloads_drop(ImportPayloads *payloads, ImportPayload *slot)
{
    payloads->bytes -= slot->length;
    free(slot->body);
    *slot = (ImportPayload){.body = NULL};
}

void import_payloads_destroy(ImportPayloads *payloads)
{
    for (size_t i = 0; i < IMPORT_PAYLOADS; i++) {
        import_payloads_drop(payloads, &payloads->slots[i]);
    }
}

static ImportPayload *import_payloads_find(ImportPayloads *payloads, const WarcDigest *digest)
{
    for (size_t i = 0; i < IMPORT_PAYLOADS; i++) {
        ImportPayload *slot = &payloads->slots[i];
        if (slot->body != NULL && memcmp(&slot->digest, digest, sizeof *digest) == 0) {
            slot->used = ++payloads->clock;
            return slot;
        }
    }
    return NULL;
}

bool import_payloads_get(ImportPayloads *payloads, const WarcDigest *digest, WarcBytes *body)
{
    const ImportPayload *slot = import_payloads_find(payloads, digest);
    if (slot != NULL) {
        *body = warc_bytes(slot->body, slot->length);
    }
    return slot != NULL;
}

/* A free slot, or the one that was asked for least lately. */
static ImportPayload *oldest(ImportPayloads *payloads)
{
    ImportPayload *found = &payloads->slots[0];
    for (size_t i = 1; i < IMPORT_PAYLOADS && found->body != NULL; i++) {
        ImportPayload *slot = &payloads->slots[i];
        if (slot->body == NULL || slot->used < found->used) {
            found = slot;
        }
    }
    return found;
}

/* The one of those that hold a body; NULL: none does. */
static ImportPayload *oldest_held(ImportPayloads *payloads)
{
    ImportPayload *found = NULL;
    for (size_t i = 0; i < IMPORT_PAYLOADS; i++) {
        ImportPayload *slot = &payloads->slots[i];
        if (slot->body != NULL && (found == NULL || slot->used < found->used)) {
            found = slot;
        }
    }
    return found;
}

Result import_payloads_put(ImportPayloads *payloads, const WarcDigest *digest, WarcBytes body)
{
    if (body.length == 0 || body.length > IMPORT_PAYLOAD_BYTES / 4 ||
        import_payloads_find(payloads, digest) != NULL) {
        return RESULT_OK;
    }
    ImportPayload *slot = oldest(payloads);
    import_payloads_drop(payloads, slot);
    while (payloads->bytes + body.length > IMPORT_PAYLOAD_BYTES) {
        import_payloads_drop(payloads, oldest_held(payloads));
    }
    slot->body = malloc(body.length);
    if (slot->body == NULL) {
        return RESULT_MEMORY;
    }
    memcpy(slot->body, body.bytes, body.length);
    slot->digest = *digest;
    slot->length = body.length;
    slot->used = ++payloads->clock;
    payloads->bytes += body.length;
    return RESULT_OK;
}
