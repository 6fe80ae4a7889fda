#include "parse/usage/usage.h"
#include "base/core/ascii.h"
#include "parse/text/skim_token.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The first name of each set of bits is the one that is printed. */
static const struct {
    const char *name;
    uint8_t bits;
} names[] = {{"train-ai", USAGE_TRAIN_AI}, {"ai-input", USAGE_AI_INPUT},
             {"search", USAGE_SEARCH},     {"tdm", USAGE_TDM | USAGE_TRAIN_AI},
             {"image-ai", USAGE_IMAGE_AI}, {"ai-train", USAGE_TRAIN_AI},
             {"train", USAGE_TRAIN_AI},    {"train-genai", USAGE_TRAIN_AI},
             {"genai", USAGE_TRAIN_AI},    {"ai", USAGE_TRAIN_AI | USAGE_AI_INPUT},
             {"ai-use", USAGE_AI_INPUT},   {"ai-output", USAGE_AI_INPUT},
             {"bots", USAGE_ALL}};

#define PRINTED 5u

static bool usage_is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

unsigned usage_of_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ascii_is(name, length, names[i].name)) {
            return names[i].bits;
        }
    }
    return 0;
}

unsigned usage_asked(const char *name, size_t length)
{
    for (unsigned i = 0; i < PRINTED; i++) {
        if (ascii_is(name, length, names[i].name)) {
            return 1u << i;
        }
    }
    return usage_of_name(name, length);
}

Result usage_list_parse(const char *text, unsigned *bits, Buffer *error)
{
    *bits = 0;
    for (size_t length = 0; ascii_next_word(&text, &length, ", \t");) {
        unsigned of_name = usage_asked(text, length);
        if (of_name == 0) {
            (void)buffer_printf(error, "'%.*s': expected " USAGE_WORDS, (int)length, text);
            return RESULT_INVALID;
        }
        *bits |= of_name;
    }
    return RESULT_OK;
}

Result usage_print(unsigned bits, Buffer *out)
{
    bool any = false;
    for (size_t i = 0; i < PRINTED; i++) {
        if ((bits & 1u << i) != 0) {
            (void)buffer_printf(out, "%s%s", any ? "+" : "", names[i].name);
            any = true;
        }
    }
    return any ? out->failed : buffer_append_char(out, '-'); /* an error sticks */
}

Result usage_print_terms(Usage usage, Buffer *out)
{
    const char *between = "";
    for (size_t i = 0; i < PRINTED; i++) {
        bool denied = (usage.denied & 1u << i) != 0;
        if (denied || (usage.allowed & 1u << i) != 0) {
            (void)buffer_printf(out, "%s%s=%c", between, names[i].name, denied ? 'n' : 'y');
            between = ", ";
        }
    }
    return out->failed;
}

unsigned usage_terms_allowed(const char *terms)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < PRINTED; i++) {
        char term[16];
        (void)snprintf(term, sizeof term, "%s=y", names[i].name); /* none ends with another */
        bits |= strstr(terms, term) == NULL ? 0 : 1u << i;
    }
    return bits;
}

void usage_ledger_add(UsageLedger *ledger, const UsageStatement *statement)
{
    const Usage *usage = &statement->usage;
    if (ledger == NULL || ((usage->denied | usage->allowed) == 0 && !usage->names_licence)) {
        return;
    }
    ledger->is_cut |= ledger->n == ledger->max;
    if (ledger->n < ledger->max) {
        ledger->list[ledger->n++] = *statement;
    }
}

/* ---- dictionaries ---- */

/* Content-Signal's use=: what may be kept of a page once it was read. */
static Usage usage_of_extent(const char *value, size_t length)
{
    if (ascii_is(value, length, "immediate")) { /* nothing is kept, nothing used again */
        return (Usage){.denied = USAGE_TRAIN_AI | USAGE_SEARCH | USAGE_TDM | USAGE_IMAGE_AI};
    }
    if (ascii_is(value, length, "reference")) { /* an index with excerpts that lead back */
        return (Usage){.denied = USAGE_TRAIN_AI | USAGE_IMAGE_AI, .allowed = USAGE_SEARCH};
    }
    return (Usage){.allowed = ascii_is(value, length, "full")
                                  ? USAGE_TRAIN_AI | USAGE_AI_INPUT | USAGE_SEARCH
                                  : 0};
}

/* One member: "train-ai=n;x=1". */
static Usage of_member(const char *text, size_t length)
{
    const char *semicolon = length == 0 ? NULL : memchr(text, ';', length);
    length = semicolon == NULL ? length : (size_t)(semicolon - text);
    const char *equal = length == 0 ? NULL : memchr(text, '=', length);
    if (equal == NULL) {
        return (Usage){0};
    }
    size_t name_length = (size_t)(equal - text);
    const char *value = equal + 1;
    size_t value_length = length - name_length - 1;
    ascii_trim(&text, &name_length);
    ascii_trim(&value, &value_length);
    uint8_t bits = (uint8_t)usage_of_name(text, name_length);
    bool is_no = ascii_is(value, value_length, "n") || ascii_is(value, value_length, "no") ||
                 ascii_is(value, value_length, "?0") || ascii_is(value, value_length, "0");
    bool is_yes = ascii_is(value, value_length, "y") || ascii_is(value, value_length, "yes") ||
                  ascii_is(value, value_length, "?1") || ascii_is(value, value_length, "1");
    if (ascii_is(text, name_length, "use")) {
        return usage_of_extent(value, value_length);
    }
    return (Usage){.denied = is_no ? bits : 0, .allowed = is_yes ? bits : 0};
}

Usage usage_of_dictionary(const char *value, size_t length)
{
    Usage usage = {0};
    size_t start = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i == length || value[i] == ',') {
            if (i > start) {
                usage = usage_join(usage, of_member(value + start, i - start));
            }
            start = i + 1;
        }
    }
    return usage;
}

Usage usage_of_robots_words(const char *value, size_t length)
{
    Usage usage = {0};
    size_t i = 0;
    while (i < length) {
        size_t start = i;
        while (i < length && !ascii_is_space(value[i]) && !usage_is_one_of(value[i], ",;:")) {
            i++;
        }
        if (ascii_is(value + start, i - start, "noai")) {
            usage.denied |= USAGE_TRAIN_AI | USAGE_AI_INPUT;
        } else if (ascii_is(value + start, i - start, "noimageai")) {
            usage.denied |= USAGE_IMAGE_AI;
        }
        i++;
    }
    return usage;
}

/* "1": reserved. */
static Usage of_reservation(const char *value, size_t length)
{
    ascii_trim(&value, &length);
    if (ascii_is(value, length, "1")) {
        return (Usage){.denied = USAGE_TDM | USAGE_TRAIN_AI};
    }
    return (Usage){.allowed = ascii_is(value, length, "0") ? USAGE_TDM : 0};
}

#define RSL_TYPE "application/rsl+xml"

static Usage usage_of_field(const HttpField *field)
{
    const char *value = field->value;
    if (ascii_is(field->name, field->name_length, "Content-Usage") ||
        ascii_is(field->name, field->name_length, "Content-Signal")) {
        return usage_of_dictionary(value, field->value_length);
    }
    if (ascii_is(field->name, field->name_length, "X-Robots-Tag")) {
        return usage_of_robots_words(value, field->value_length);
    }
    if (ascii_is(field->name, field->name_length, "TDM-Reservation")) {
        return of_reservation(value, field->value_length);
    }
    if (ascii_is(field->name, field->name_length, "Link")) {
        /* <https://l.example/x.xml>; rel="license"; type="application/rsl+xml": the words, wherever
         * they stand in the field. */
        static const char relation[] = "license";
        bool is_named = memmem(value, field->value_length, RSL_TYPE, sizeof RSL_TYPE - 1) != NULL &&
                        memmem(value, field->value_length, relation, sizeof relation - 1) != NULL;
        return (Usage){.names_licence = is_named};
    }
    bool is_offer = ascii_is(field->name, field->name_length, "crawler-price");
    if (ascii_is(field->name, field->name_length, "WWW-Authenticate")) {
        is_offer = field->value_length >= 7 && strncasecmp(value, "License", 7) == 0 &&
                   (field->value_length == 7 || ascii_is_space(value[7]));
    }
    return (Usage){.denied = is_offer ? USAGE_ALL : 0};
}

Usage usage_of_header(const HttpHeader *header, UsageLedger *ledger)
{
    Usage usage = {0};
    size_t position = 0;
    HttpField field;
    while (http_header_next(header, &position, &field)) {
        UsageStatement statement = {.place = USAGE_IN_HEADER,
                                    .text = field.name,
                                    .length =
                                        (size_t)(field.value + field.value_length - field.name),
                                    .usage = usage_of_field(&field)};
        usage = usage_join(usage, statement.usage);
        usage_ledger_add(ledger, &statement);
    }
    return usage;
}

/* ---- HTML ---- */

static HtmlSlice usage_value(const HtmlTag *tag, HtmlAttributeId id)
{
    HtmlSlice value = html_tag_has(tag, id) ? tag->values[id] : (HtmlSlice){.bytes = ""};
    ascii_trim(&value.bytes, &value.length);
    return value;
}

static Usage usage_of_meta(const HtmlTag *tag)
{
    HtmlAttributeId id = html_tag_has(tag, HTML_ATTR_NAME) ? HTML_ATTR_NAME : HTML_ATTR_HTTP_EQUIV;
    HtmlSlice name = usage_value(tag, id);
    HtmlSlice content = usage_value(tag, HTML_ATTR_CONTENT);
    if (ascii_is(name.bytes, name.length, "robots")) {
        return usage_of_robots_words(content.bytes, content.length);
    }
    if (ascii_is(name.bytes, name.length, "tdm-reservation")) {
        return of_reservation(content.bytes, content.length);
    }
    return ascii_is(name.bytes, name.length, "content-usage") ||
                   ascii_is(name.bytes, name.length, "content-signal")
               ? usage_of_dictionary(content.bytes, content.length)
               : (Usage){0};
}

/* <link rel="license" type="application/rsl+xml" href="..."> */
static Usage usage_of_link(const HtmlTag *tag)
{
    HtmlSlice rel = usage_value(tag, HTML_ATTR_REL);
    HtmlSlice type = usage_value(tag, HTML_ATTR_TYPE);
    return (Usage){.names_licence = ascii_is(rel.bytes, rel.length, "license") &&
                                    ascii_is(type.bytes, type.length, RSL_TYPE)};
}

/* All elements of a name ("meta", "link"). */
static Usage usage_of_elements(const char *bytes, size_t length, const char *name,
                               Usage (*read)(const HtmlTag *tag), UsageLedger *ledger)
{
    const uint32_t wanted = 1u << HTML_ATTR_NAME | 1u << HTML_ATTR_HTTP_EQUIV |
                            1u << HTML_ATTR_CONTENT | 1u << HTML_ATTR_REL | 1u << HTML_ATTR_TYPE;
    Usage usage = {0};
    const char *end = bytes + length;
    const char *p = bytes;
    while (p != NULL && (p = find_pair(p, end, '<', *name)) < end) {
        const char *start = p++;
        if (end - p > 5 && strncasecmp(p, name, 4) == 0 && (ascii_is_space(p[4]) || p[4] == '/')) {
            HtmlTag tag = {.present = 0};
            p = skim_attributes(p + 4, end, wanted, &tag);
            UsageStatement statement = {.place = USAGE_IN_PAGE,
                                        .text = start,
                                        .length = (size_t)((p == NULL ? end : p) - start),
                                        .usage = read(&tag)};
            usage = usage_join(usage, statement.usage);
            usage_ledger_add(ledger, &statement);
        }
    }
    return usage;
}

/* Whether the type of a licence stands anywhere: pages have many links, and hardly one has "+". */
static bool usage_has_licence_type(const char *bytes, size_t length)
{
    static const size_t before = sizeof "application/rsl" - 1;
    const char *end = bytes + length;
    const char *plus = length == 0 ? NULL : memchr(bytes, '+', length);
    while (plus != NULL) {
        if ((size_t)(plus - bytes) >= before && (size_t)(end - plus) >= sizeof "+xml" - 1 &&
            strncasecmp(plus - before, RSL_TYPE, sizeof RSL_TYPE - 1) == 0) {
            return true;
        }
        plus = memchr(plus + 1, '+', (size_t)(end - plus - 1));
    }
    return false;
}

Usage usage_of_html(const char *bytes, size_t length, UsageLedger *ledger)
{
    length = length < USAGE_HTML_BYTES ? length : USAGE_HTML_BYTES;
    Usage usage = usage_of_elements(bytes, length, "meta", usage_of_meta, ledger);
    return usage_has_licence_type(bytes, length)
               ? usage_join(usage, usage_of_elements(bytes, length, "link", usage_of_link, ledger))
               : usage;
}

/* ---- what is done about it ---- */

Result usage_rules_parse(const char *text, UsageRules *rules, Buffer *error)
{
    *rules = (UsageRules){0};
    for (text += strspn(text, ", \t"); *text != '\0'; text += strspn(text, ", \t")) {
        size_t item = strcspn(text, ",");
        size_t name = strcspn(text, ", \t");
        const char *action = text + name;
        size_t action_length = item - name;
        ascii_trim(&action, &action_length);
        uint8_t bits = (uint8_t)usage_asked(text, name);
        bool is_known = ascii_is(action, action_length, "no-fetch") ||
                        ascii_is(action, action_length, "no-store") ||
                        ascii_is(action, action_length, "label");
        if (bits == 0 || !is_known) {
            (void)buffer_printf(error,
                                "'%.*s': expected " USAGE_WORDS " and no-fetch, no-store or label",
                                (int)item, text);
            return RESULT_INVALID;
        }
        rules->no_fetch |= ascii_is(action, action_length, "no-fetch") ? bits : 0;
        rules->no_store |= ascii_is(action, action_length, "no-store") ? bits : 0;
        text += item;
    }
    return RESULT_OK;
}
