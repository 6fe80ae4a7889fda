#include "parse/text/numbers.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/ascii.h"

#define SLOT_BYTES  5u  /* place, value, comparisons and changes in four bits each */
#define COUNTS_MOST 15u /* both are halved then: what was long ago weighs less */
#define ENTITY_MOST 10u /* bytes of a character reference, between & and ; */

static bool numbers_has_place(const NumberList *numbers, uint16_t place)
{
    for (unsigned i = 0; i < numbers->n; i++) {
        if (numbers->list[i].place == place) {
            return true;
        }
    }
    return false;
}

/* A word without blanks: from its first digit to its last it is a number, or it has none. */
static void numbers_add_word(NumberList *numbers, const char *word, const char *end)
{
    const char *first = word;
    while (first < end && !ascii_is_digit(*first)) {
        first++;
    }
    if (first == end) {
        numbers->words[0] = numbers->words[1];
        numbers->words[1] = hash_64(word, (size_t)(end - word), 0);
        return;
    }
    while (!ascii_is_digit(end[-1])) {
        end--;
    }
    uint64_t before = numbers->words[0] * 3 + numbers->words[1];
    uint64_t place = hash_64(word, (size_t)(first - word), before);
    while (numbers_has_place(numbers, (uint16_t)place)) {
        place++;
    }
    uint64_t value = hash_64(first, (size_t)(end - first), 0);
    numbers->list[numbers->n++] = (PageNumber){.place = (uint16_t)place, .value = (uint16_t)value};
}

void numbers_add(NumberList *numbers, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end && numbers->n < NUMBERS_MAX) {
        const char *word = text;
        size_t reference = 0;
        while (text < end && (unsigned char)*text > ' ' && reference == 0) {
            /* The length of a character reference at p, or 0. Its digits are no number. */
            size_t most = (size_t)(end - text) < ENTITY_MOST ? (size_t)(end - text) : ENTITY_MOST;
            const char *semicolon = *text == '&' ? memchr(text, ';', most) : NULL;
            reference = semicolon == NULL ? 0 : (size_t)(semicolon - text) + 1;
            text += reference == 0 ? 1 : 0;
        }
        if (text > word) {
            numbers_add_word(numbers, word, text);
        }
        text += reference == 0 ? 1 : reference;
    }
}

/* ---- the history ---- */

typedef struct NumberSlot {
    PageNumber number;
    unsigned compared;
    unsigned changed;
} NumberSlot;

static NumberSlot numbers_slot_read(const uint8_t *at)
{
    return (NumberSlot){.number = {.place = (uint16_t)(at[0] | at[1] << 8),
                                   .value = (uint16_t)(at[2] | at[3] << 8)},
                        .compared = at[4] >> 4,
                        .changed = at[4] & 15u};
}

static void numbers_slot_write(const NumberSlot *slot, uint8_t *to)
{
    to[0] = (uint8_t)slot->number.place;
    to[1] = (uint8_t)(slot->number.place >> 8);
    to[2] = (uint8_t)slot->number.value;
    to[3] = (uint8_t)(slot->number.value >> 8);
    to[4] = (uint8_t)(slot->compared << 4 | slot->changed);
}

/* Enters a comparison. Whether it is a change that counts. */
static bool numbers_slot_compare(NumberSlot *slot, uint16_t value)
{
    bool differs = slot->number.value != value;
    bool counts = differs && 2 * slot->changed < slot->compared;
    if (slot->compared == COUNTS_MOST) {
        slot->compared /= 2;
        slot->changed /= 2;
    }
    slot->compared++;
    slot->changed += differs;
    slot->number.value = value;
    return counts;
}

bool numbers_learn(const NumberList *numbers, uint8_t *history, size_t *length)
{
    uint8_t old[NUMBERS_HISTORY_BYTES];
    size_t n_old = *length % SLOT_BYTES == 1 && *length <= sizeof old ? *length / SLOT_BYTES : 0;
    bool changed = false;
    memcpy(old, history, n_old == 0 ? 0 : *length);
    history[0] = *length > 0 ? history[0] : 0;
    for (unsigned i = 0; i < numbers->n; i++) {
        NumberSlot slot = {.number = numbers->list[i]};
        for (size_t k = 0; k < n_old; k++) {
            NumberSlot before = numbers_slot_read(old + 1 + k * SLOT_BYTES);
            if (before.number.place == slot.number.place) {
                changed = numbers_slot_compare(&before, slot.number.value) || changed;
                slot = before;
                break;
            }
        }
        numbers_slot_write(&slot, history + 1 + (size_t)i * SLOT_BYTES);
    }
    *length = 1 + (size_t)numbers->n * SLOT_BYTES;
    if (changed) {
        history[0] = history[0] == UINT8_MAX ? 1 : history[0] + 1;
    }
    return changed;
}

uint64_t numbers_mix(uint64_t hash, const uint8_t *history, size_t length)
{
    return length == 0 || history[0] == 0 ? hash : hash ^ hash_mix(history[0]);
}
