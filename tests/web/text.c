#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

#define BLOCK_BYTES    ((size_t)1 << 20)
#define SENTENCE_BYTES 256 /* no sentence is longer */

static const char *const words[256] = {
    "amber",    "anchor",   "apple",    "arch",    "arrow",   "aspen",      "autumn",   "badger",
    "bamboo",   "barley",   "basin",    "beacon",  "bell",    "birch",      "bishop",   "blossom",
    "border",   "bottle",   "boulder",  "branch",  "brass",   "bread",      "breeze",   "brick",
    "bridge",   "brook",    "bucket",   "butter",  "cabin",   "cable",      "camel",    "canal",
    "candle",   "canyon",   "carbon",   "cargo",   "carpet",  "castle",     "cavern",   "cedar",
    "cellar",   "chalk",    "chapel",   "cherry",  "chimney", "cider",      "circle",   "citrus",
    "cliff",    "clover",   "coast",    "cobalt",  "comet",   "copper",     "coral",    "corner",
    "cotton",   "cradle",   "crane",    "crater",  "cricket", "crystal",    "current",  "cypress",
    "dawn",     "delta",    "desert",   "diamond", "dolphin", "dragon",     "drum",     "dune",
    "eagle",    "early",    "earth",    "ebony",   "echo",    "elder",      "ember",    "engine",
    "estate",   "evening",  "fabric",   "falcon",  "farm",    "feather",    "fence",    "fern",
    "ferry",    "field",    "fiddle",   "finch",   "flame",   "flint",      "flower",   "forest",
    "forge",    "fossil",   "fountain", "fox",     "frost",   "galley",     "garden",   "garnet",
    "gate",     "ginger",   "glacier",  "glass",   "globe",   "granite",    "grape",    "grass",
    "gravel",   "grove",    "gulf",     "hamlet",  "hammer",  "harbor",     "harvest",  "hazel",
    "heather",  "hedge",    "heron",    "hill",    "hollow",  "honey",      "horizon",  "horse",
    "island",   "ivory",    "ivy",      "jade",    "jasmine", "jungle",     "juniper",  "kernel",
    "kettle",   "kingdom",  "kite",     "ladder",  "lagoon",  "lake",       "lamp",     "lantern",
    "laurel",   "lavender", "leaf",     "ledge",   "lemon",   "lighthouse", "lilac",    "lily",
    "linen",    "lion",     "lizard",   "lobster", "locust",  "lotus",      "lunar",    "magnet",
    "maple",    "marble",   "market",   "marsh",   "meadow",  "melon",      "mercury",  "mill",
    "mineral",  "mirror",   "mist",     "mitten",  "monsoon", "moon",       "morning",  "moss",
    "mountain", "mulberry", "museum",   "nectar",  "needle",  "nettle",     "night",    "north",
    "oak",      "oasis",    "ocean",    "olive",   "onyx",    "opal",       "orange",   "orbit",
    "orchard",  "orchid",   "otter",    "owl",     "oyster",  "palace",     "palm",     "panther",
    "paper",    "parrot",   "path",     "pearl",   "pebble",  "pepper",     "pilot",    "pine",
    "planet",   "plum",     "pocket",   "pond",    "poplar",  "poppy",      "prairie",  "prism",
    "pyramid",  "quarry",   "quartz",   "quill",   "rabbit",  "rain",       "raven",    "reef",
    "ribbon",   "ridge",    "river",    "robin",   "rocket",  "rope",       "rose",     "ruby",
    "saddle",   "saffron",  "sage",     "sail",    "salmon",  "sand",       "sapphire", "satin",
    "scarlet",  "season",   "shadow",   "shell",   "shore",   "silk",       "silver",   "sky",
    "slate",    "snow",     "sparrow",  "spice",   "spring",  "star",       "stone",    "storm",
};

static const char *const small[8] = {"the", "of", "and", "in", "a", "to", "under", "with"};

/* One sentence of 6 to 17 words into to, which has SENTENCE_BYTES; returns its length. */
static size_t make_sentence(Random *random, char *to)
{
    size_t length = 0;
    uint32_t n_words = 6 + random_below(random, 12);
    for (uint32_t i = 0; i < n_words; i++) {
        uint64_t r = random_next(random);
        const char *word = (r & 3) == 0 ? small[(r >> 8) & 7] : words[(r >> 8) & 255];
        size_t n = strlen(word);
        memcpy(to + length, word, n);
        if (i == 0) {
            to[0] = (char)(to[0] - 'a' + 'A');
        }
        length += n;
        to[length++] = ' ';
    }
    to[length - 1] = '.';
    to[length++] = '\n';
    return length;
}

Result text_init(Text *text, uint64_t seed)
{
    text->length = 0;
    text->block = malloc(BLOCK_BYTES);
    if (text->block == NULL) {
        return RESULT_MEMORY;
    }
    Random random = {seed};
    while (text->length + SENTENCE_BYTES < BLOCK_BYTES) {
        text->length += make_sentence(&random, text->block + text->length);
    }
    return RESULT_OK;
}

void text_destroy(Text *text)
{
    free(text->block);
    text->block = NULL;
}

TextSlice text_slice(const Text *text, uint64_t random, size_t bytes)
{
    size_t most = text->length / 5;
    bytes = bytes < most ? bytes : most;
    size_t room = text->length - bytes - 2 * SENTENCE_BYTES;
    const char *from = text->block + random % room;
    /* Forward to the next start of a sentence, at both ends. */
    const char *begin = (const char *)memchr(from, '\n', SENTENCE_BYTES) + 1;
    const char *end = (const char *)memchr(begin + bytes, '\n', SENTENCE_BYTES) + 1;
    return (TextSlice){begin, (size_t)(end - begin)};
}

size_t text_name(uint64_t number, char name[TEXT_NAME_BYTES])
{
    size_t length = 0;
    do {
        const char *word = words[number & 255];
        size_t n = strlen(word);
        memcpy(name + length, word, n);
        length += n;
        name[length++] = ' ';
        number >>= 8;
    } while (number != 0);
    name[--length] = '\0';
    return length;
}
