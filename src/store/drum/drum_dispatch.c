#include "store/drum/drum_dispatch.h"

#include <assert.h>

bool drum_dispatch_is_wanted(const DrumOptions *options)
{
    const DrumDispatcher *d = &options->dispatcher;
    return d->unique_key_check != NULL || d->duplicate_key_check != NULL ||
           d->unique_key_update != NULL || d->duplicate_key_update != NULL || d->update != NULL;
}

Result drum_dispatch_element(const DrumOptions *options, const DrumElement *element,
                             const DrumOutcome *outcome, DrumBytes auxiliary)
{
    const DrumDispatcher *dispatcher = &options->dispatcher;
    DrumEvent event = {.key = element->key,
                       .value = element->value,
                       .previous = outcome->previous,
                       .auxiliary = auxiliary,
                       .existed = outcome->existed};
    DrumCallback callback = dispatcher->update;
    switch (element->operation) {
    case DRUM_CHECK:
        event.value = outcome->previous;
        callback =
            outcome->existed ? dispatcher->duplicate_key_check : dispatcher->unique_key_check;
        break;
    case DRUM_UPDATE:
        break;
    case DRUM_CHECK_UPDATE:
        if (outcome->was_assigned) {
            event.value = outcome->assigned;
        } else if (outcome->existed && options->keep_existing) {
            event.value = outcome->previous;
        }
        callback =
            outcome->existed ? dispatcher->duplicate_key_update : dispatcher->unique_key_update;
        break;
    }
    return callback != NULL ? callback(dispatcher->context, &event) : RESULT_OK;
}

Result drum_dispatch_bucket(DrumBucket *bucket, uint32_t number)
{
    const DrumFile *file = bucket->file;
    const uint8_t *at = bucket->raw;
    const uint8_t *end = at + bucket->raw_bytes;
    size_t element_number = 0;
    for (uint32_t i = bucket->starts[number]; i < bucket->starts[number + 1]; i++) {
        if (bucket->order[i] == DRUM_BLOCK_SKIPPED) {
            continue;
        }
        const DrumBlock *block = &file->blocks[bucket->order[i]];
        Result rc = drum_file_read_auxiliaries(file, block, bucket->auxiliaries);
        if (rc == RESULT_DAMAGED && bucket->options->skip_damaged) {
            /* The keys are good and counted already: their auxiliaries are given as missing. */
            bucket->damaged_elements += block->elements;
        } else if (rc != RESULT_OK) {
            return rc;
        }
        const uint8_t *auxiliary = bucket->auxiliaries + block->auxiliary_bytes;
        for (uint32_t k = 0; k < block->elements; k++) {
            DrumElement element;
            DrumOutcome outcome;
            at = drum_element_decode(at, end, file->keys, &element);
            assert(at != NULL);
            auxiliary -= element.auxiliary_length;
            drum_bucket_outcome(bucket, element_number++, &outcome);
            DrumBytes given = {element.has_auxiliary && rc == RESULT_OK ? auxiliary : NULL,
                               rc == RESULT_OK ? element.auxiliary_length : 0};
            Result called = drum_dispatch_element(bucket->options, &element, &outcome, given);
            if (called != RESULT_OK) {
                return called;
            }
        }
    }
    return RESULT_OK;
}
