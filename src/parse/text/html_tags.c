#include "parse/text/html_tags.h"

#include "base/core/hash.h"

/* What the list says of an element. */
enum {
    VOID = HTML_TAG_VOID,
    BREAKOUT = HTML_TAG_BREAKOUT,
    HEAD = HTML_TAG_HEAD,
    NO_FRAMESET = HTML_TAG_NO_FRAMESET,
    SPECIAL = HTML_TAG_SPECIAL,
    SCOPE = HTML_TAG_SCOPE,
};

#define ATTRIBUTE_BIT(word, name, slot) word = 1 << HTML_ATTR_##word,
enum { HTML_ATTRIBUTE_LIST(ATTRIBUTE_BIT) };

#define TRAITS(word, name, slot, attributes, flags, seen) [HTML_##word] = {attributes, flags},
const HtmlTagTraits html_tag_traits[HTML_TAGS] = {HTML_TAG_LIST(TRAITS)};

/* What html_name_key_16 makes of a name that is a literal of at most 16 bytes in lower case. */
#define BYTE(name, i)                                                                              \
    ((uint64_t)(sizeof(name) > (i) + 1 ? (name)[(i) % sizeof(name)] : 0) << (i) % 8 * 8)
#define WORD(name, i)                                                                              \
    (BYTE(name, i) | BYTE(name, i + 1) | BYTE(name, i + 2) | BYTE(name, i + 3) |                   \
     BYTE(name, i + 4) | BYTE(name, i + 5) | BYTE(name, i + 6) | BYTE(name, i + 7))
#define KEY(name) (WORD(name, 0) ^ WORD(name, 8) * HTML_NAME_MULTIPLIER)

#define TAG_KEY(word, name, slot, attributes, flags, seen) KEY(name),
const uint64_t html_tag_keys[HTML_TAGS] = {1 /* of no name */, HTML_TAG_LIST(TAG_KEY)};

#define TAG_SLOT(word, name, slot, attributes, flags, seen) [slot] = HTML_##word,
const uint8_t html_tag_slots[2048] = {HTML_TAG_LIST(TAG_SLOT)};

#define ATTRIBUTE_KEY(word, name, slot) KEY(name),
const uint64_t html_attribute_keys[HTML_ATTRS] = {HTML_ATTRIBUTE_LIST(ATTRIBUTE_KEY)};

#define ATTRIBUTE_SLOT(word, name, slot) [slot] = HTML_ATTR_##word,
const uint8_t html_attribute_slots[128] = {HTML_ATTRIBUTE_LIST(ATTRIBUTE_SLOT)};

uint64_t html_name_key_of(const char *name, size_t length)
{
    char start[16] = {0};
    memcpy(start, name, length < sizeof start ? length : sizeof start);
    if (length <= sizeof start) {
        return html_name_key_16(start, length);
    }
    return html_name_key_16(start, sizeof start) ^ (hash_64(name + 16, length - 16, length) | 1);
}
