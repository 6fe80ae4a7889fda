#include "parse/visible/visible_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "base/memory/json_writer.h"
#include "parse/html/html_words.h"
#include "parse/text/entities.h"

#define DATA_STEPS UINT64_C(20000000)
#define DATA_DEPTH 12u                /* items within items: three levels of JSON each */
#define NAME_BYTES ((size_t)256)      /* of the name of a property; what is longer is cut */
#define ROOM_BYTES ((size_t)64 << 10) /* the writer of JSON asks for the most it may need */
#define KEEP_BYTES ((size_t)1 << 20)

const char *visible_data_name(VisibleDataKind kind)
{
    static const char *const names[VISIBLE_DATA_KINDS] = {"json_ld", "microdata", "opengraph",
                                                          "hreflang"};
    return names[kind];
}

void visible_data_init(VisibleData *data, size_t most)
{
    *data = (VisibleData){.most = most};
    for (size_t i = 0; i < VISIBLE_DATA_KINDS; i++) {
        buffer_init(&data->lists[i], most + ROOM_BYTES);
    }
    buffer_init(&data->text, ENTITY_ROOM(most));
    buffer_init(&data->scratch, ENTITY_ROOM(most));
}

void visible_data_destroy(VisibleData *data)
{
    for (size_t i = 0; i < VISIBLE_DATA_KINDS; i++) {
        buffer_destroy(&data->lists[i]);
    }
    buffer_destroy(&data->text);
    buffer_destroy(&data->scratch);
    free(data->all);
}

void visible_data_begin(VisibleData *data, const char *end)
{
    for (size_t i = 0; i < VISIBLE_DATA_KINDS; i++) {
        buffer_trim(&data->lists[i], KEEP_BYTES);
        buffer_reset(&data->lists[i]);
    }
    buffer_trim(&data->text, KEEP_BYTES);
    buffer_reset(&data->text);
    data->end = end;
    data->is_cut = false;
    data->failed = false;
    data->n = 0;
    data->innermost = 0;
    data->raw = 0;
    data->n_taking = 0;
    data->steps = 0;
}

static void visible_data_keep(VisibleData *data, Result rc)
{
    data->is_cut |= rc == RESULT_LIMIT;
    data->failed |= rc != RESULT_OK && rc != RESULT_LIMIT;
}

/* ---- values ---- */

/* Appends text, decoded. */
static Result data_decode(Buffer *out, HtmlSlice text, bool is_attribute)
{
    Result rc = buffer_reserve(out, ENTITY_ROOM(text.length));
    if (rc == RESULT_OK) {
        out->length +=
            entity_decode(text.bytes, text.length, is_attribute, out->data + out->length);
        out->data[out->length] = '\0';
    }
    return rc;
}

static void data_put(VisibleData *data, JsonWriter *json, const char *name, HtmlSlice value)
{
    buffer_reset(&data->scratch);
    Result rc = data_decode(&data->scratch, value, true);
    if (rc != RESULT_OK) {
        json->result = rc;
        return;
    }
    json_text(json, name, buffer_string(&data->scratch), data->scratch.length);
}

/* ---- entries of the lists ---- */

/* Begins an entry; before is for data_entry_end. */
static JsonWriter data_entry_begin(VisibleData *data, VisibleDataKind kind, size_t *before)
{
    JsonWriter json;
    Buffer *list = &data->lists[kind];
    *before = list->length;
    json_init(&json, list);
    json.result = buffer_append_string(list, list->length == 0 ? "[" : ", ");
    return json;
}

/* An entry that found no room, or behind which the "]" would not, is none. */
static void data_entry_end(VisibleData *data, JsonWriter *json, size_t before)
{
    Buffer *list = json->out;
    (void)buffer_append_char(list, ']');
    Result rc = buffer_end(list, before);
    rc = json->result != RESULT_OK ? json->result : rc;
    rc = rc == RESULT_OK && list->length > data->most ? RESULT_LIMIT : rc;
    list->length = rc == RESULT_OK ? list->length - 1 : before;
    visible_data_keep(data, rc);
}

static void data_pair(VisibleData *data, VisibleDataKind kind, const char *names[2],
                      const HtmlSlice values[2])
{
    size_t before = 0;
    JsonWriter json = data_entry_begin(data, kind, &before);
    json_open(&json, NULL, '{');
    data_put(data, &json, names[0], values[0]);
    data_put(data, &json, names[1], values[1]);
    json_close(&json);
    data_entry_end(data, &json, before);
}

static bool data_begins(HtmlSlice text, const char *word)
{
    size_t n = strlen(word);
    return text.length > n && ascii_is(text.bytes, n, word);
}

static void data_meta(VisibleData *data, const HtmlTag *tag)
{
    static const char *names[2] = {"property", "content"};
    HtmlSlice values[2] = {{.length = 0}};
    bool is_one = skim_value(tag->attributes, data->end, "property", &values[0]) &&
                  memchr(values[0].bytes, ':', values[0].length) != NULL;
    if (!is_one && skim_value(tag->attributes, data->end, "name", &values[0])) {
        is_one = data_begins(values[0], "og:") || data_begins(values[0], "twitter:");
    }
    if (is_one && skim_value(tag->attributes, data->end, "content", &values[1])) {
        data_pair(data, VISIBLE_OPENGRAPH, names, values);
    }
}

static void data_link(VisibleData *data, const HtmlTag *tag)
{
    static const char *names[2] = {"hreflang", "href"};
    HtmlSlice values[2] = {{.length = 0}};
    HtmlSlice rels = {.length = 0};
    bool is_one = skim_value(tag->attributes, data->end, "hreflang", &values[0]) &&
                  skim_value(tag->attributes, data->end, "href", &values[1]) &&
                  skim_value(tag->attributes, data->end, "rel", &rels);
    if (is_one && html_lists(rels, "alternate")) {
        data_pair(data, VISIBLE_HREFLANG, names, values);
    }
}

/* ---- elements ---- */

/* Which attribute has the value of a property; NULL: the text of the element is it. */
static const char *data_value_attribute(HtmlTagId id)
{
    switch ((int)id) {
    case HTML_META:
        return "content";
    case HTML_AUDIO:
    case HTML_EMBED:
    case HTML_IFRAME:
    case HTML_IMG:
    case HTML_SOURCE:
    case HTML_TRACK:
    case HTML_VIDEO:
        return "src";
    case HTML_A:
    case HTML_AREA:
    case HTML_LINK:
        return "href";
    case HTML_OBJECT:
        return "data";
    case HTML_DATA:
    case HTML_METER:
        return "value";
    case HTML_TIME:
        return "datetime";
    default:
        return NULL;
    }
}

static VisibleDatum *data_at(const VisibleData *data, uint32_t number)
{
    return &data->all[number - 1];
}

uint32_t visible_data_open(VisibleData *data, const HtmlTag *tag)
{
    HtmlSlice value;
    VisibleDatum datum = {.id = tag->id,
                          .parent = data->innermost,
                          .is_open = true,
                          .attributes = tag->attributes,
                          .from = data->text.length,
                          .to = data->text.length};
    data->raw = 0;
    datum.is_item = skim_value(tag->attributes, data->end, "itemscope", &value);
    (void)skim_value(tag->attributes, data->end, "itemprop", &datum.names);
    (void)skim_value(tag->attributes, data->end, "id", &datum.name);
    if (!datum.is_item && datum.names.length == 0 && datum.name.length == 0) {
        return 0;
    }
    if (datum.is_item) {
        (void)skim_value(tag->attributes, data->end, "itemref", &datum.refers);
    }
    if ((data->n + 1) * sizeof datum > data->most) {
        data->is_cut = true;
        return 0;
    }
    const char *name = data_value_attribute(tag->id);
    bool has_value = name != NULL &&
                     (tag->id != HTML_TIME || skim_value(tag->attributes, data->end, name, &value));
    datum.takes_text = datum.names.length > 0 && !datum.is_item && !has_value;
    Result rc = array_add(&data->all, &data->n, sizeof datum, &datum);
    if (rc != RESULT_OK) {
        visible_data_keep(data, rc);
        return 0;
    }
    data->n_taking += datum.takes_text ? 1 : 0;
    data->innermost = (uint32_t)data->n;
    return data->innermost;
}

void visible_data_close(VisibleData *data, uint32_t number)
{
    if (number == 0) {
        return;
    }
    VisibleDatum *datum = data_at(data, number);
    datum->is_open = false;
    datum->to = data->text.length;
    data->n_taking -= datum->takes_text ? 1 : 0;
    while (data->innermost > 0 && !data_at(data, data->innermost)->is_open) {
        data->innermost = data_at(data, data->innermost)->parent;
    }
    /* One that only has an id, and nothing in it, is none. */
    if (number == data->n && !datum->is_item && datum->names.length == 0) {
        data->n--;
    }
}

void visible_data_void(VisibleData *data, const HtmlTag *tag)
{
    if (tag->id == HTML_META) {
        data_meta(data, tag);
    } else if (tag->id == HTML_LINK) {
        data_link(data, tag);
    }
    uint32_t number = visible_data_open(data, tag);
    visible_data_close(data, number);
    data->raw = number <= data->n ? number : 0;
}

/* ---- text ---- */

void visible_data_text(VisibleData *data, const char *from, const char *to, bool decode)
{
    HtmlSlice text = {.bytes = from, .length = (size_t)(to - from)};
    if (data->n_taking > 0) {
        visible_data_keep(data, decode ? data_decode(&data->text, text, false)
                                       : buffer_append(&data->text, from, text.length));
    }
}

void visible_data_raw(VisibleData *data, const HtmlTag *tag, HtmlTextMode mode, const char *from,
                      const char *to)
{
    HtmlSlice type = {.length = 0};
    bool takes_text = data->raw > 0 && data_at(data, data->raw)->takes_text;
    if (tag->id == HTML_SCRIPT && skim_value(tag->attributes, data->end, "type", &type)) {
        const char *semicolon = memchr(type.bytes, ';', type.length);
        type.length = semicolon == NULL ? type.length : (size_t)(semicolon - type.bytes);
        html_trim(&type);
        if (ascii_is(type.bytes, type.length, "application/ld+json")) {
            size_t before = 0;
            JsonWriter json = data_entry_begin(data, VISIBLE_JSON_LD, &before);
            json_text(&json, NULL, from, (size_t)(to - from));
            data_entry_end(data, &json, before);
        }
    }
    data->n_taking += takes_text ? 1 : 0;
    visible_data_text(data, from, to, mode == HTML_TEXT_RCDATA);
    if (takes_text) {
        data->n_taking--;
        data_at(data, data->raw)->to = data->text.length;
    }
    data->raw = 0;
}

/* ---- microdata as JSON ---- */

/* Items, the innermost first, that one is a property of. */
typedef struct DataPath {
    uint32_t item;
    unsigned depth;
    const struct DataPath *around;
} DataPath;

/* Whether there are steps left, when some are taken: one, and one for each 16 bytes looked at. */
static bool data_steps(VisibleData *data, size_t bytes)
{
    data->steps += 1 + bytes / 16;
    return data->steps < DATA_STEPS;
}

/* Whether p is a property of the item: in it, or in what it refers to, and in no other item there.
 */
static bool data_is_property(VisibleData *data, uint32_t item, uint32_t p)
{
    HtmlSlice refers = data_at(data, item)->refers;
    if (p == item || data_at(data, p)->names.length == 0) {
        return false;
    }
    for (uint32_t i = p; i > 0 && data_steps(data, refers.length); i = data_at(data, i)->parent) {
        const VisibleDatum *at = data_at(data, i);
        if (i == item || (at->name.length > 0 && refers.length > 0 && (i == p || !at->is_item) &&
                          html_has_word(refers, at->name))) {
            return true;
        }
        if (i != p && at->is_item) {
            return false;
        }
    }
    return false;
}

static void data_put_item(VisibleData *data, JsonWriter *json, const DataPath *path);

static void data_put_value(VisibleData *data, JsonWriter *json, uint32_t p, const DataPath *around)
{
    const VisibleDatum *datum = data_at(data, p);
    HtmlSlice value = {.bytes = "", .length = 0};
    if (datum->is_item) {
        DataPath path = {.item = p, .depth = around->depth + 1, .around = around};
        bool is_error = path.depth == DATA_DEPTH;
        for (const DataPath *at = around; at != NULL; at = at->around) {
            is_error |= at->item == p;
        }
        if (is_error) {
            json_string(json, NULL, "ERROR"); /* as the standard has it for a circle */
        } else {
            data_put_item(data, json, &path);
        }
    } else if (datum->takes_text) {
        json_text(json, NULL, buffer_string(&data->text) + datum->from, datum->to - datum->from);
    } else {
        (void)skim_value(datum->attributes, data->end, data_value_attribute(datum->id), &value);
        data_put(data, json, NULL, value);
    }
}

/* Whether a property before p has this name, or a word before it in p. */
static bool data_had_name(VisibleData *data, uint32_t item, uint32_t p, HtmlSlice name)
{
    HtmlSlice before = data_at(data, p)->names;
    before.length = (size_t)(name.bytes - before.bytes);
    bool had = data_steps(data, before.length) && html_has_word(before, name);
    for (uint32_t i = 1; i < p && !had && data_steps(data, data_at(data, i)->names.length); i++) {
        had = html_has_word(data_at(data, i)->names, name) && data_is_property(data, item, i);
    }
    return had;
}

/* All values of a name, in the order of the page. */
static void data_put_property(VisibleData *data, JsonWriter *json, uint32_t p, HtmlSlice name,
                              const DataPath *path)
{
    char text[ENTITY_ROOM(NAME_BYTES) + 1];
    bool is_long = name.length > NAME_BYTES;
    text[entity_decode(name.bytes, is_long ? NAME_BYTES : name.length, true, text)] = '\0';
    data->is_cut |= is_long;
    json_open(json, text, '[');
    for (uint32_t i = p; i <= data->n && data_steps(data, data_at(data, i)->names.length); i++) {
        if (html_has_word(data_at(data, i)->names, name) && data_is_property(data, path->item, i)) {
            data_put_value(data, json, i, path);
        }
    }
    json_close(json);
}

static void data_put_item(VisibleData *data, JsonWriter *json, const DataPath *path)
{
    const VisibleDatum *item = data_at(data, path->item);
    HtmlSlice value = {.bytes = "", .length = 0};
    HtmlSlice word;
    json_open(json, NULL, '{');
    if (skim_value(item->attributes, data->end, "itemtype", &value) && value.length > 0) {
        json_open(json, "type", '[');
        while (html_next_word(&value, &word)) {
            data_put(data, json, NULL, word);
        }
        json_close(json);
    }
    if (skim_value(item->attributes, data->end, "itemid", &value)) {
        data_put(data, json, "id", value);
    }
    json_open(json, "properties", '{');
    for (uint32_t p = 1; p <= data->n && json->result == RESULT_OK; p++) {
        HtmlSlice names = data_at(data, p)->names;
        bool is_one = data_is_property(data, path->item, p);
        while (is_one && html_next_word(&names, &word) && data_steps(data, 0)) {
            if (!data_had_name(data, path->item, p, word)) {
                data_put_property(data, json, p, word, path);
            }
        }
    }
    json_close(json);
    json_close(json);
}

void visible_data_end(VisibleData *data)
{
    for (uint32_t i = 1; i <= data->n; i++) {
        const VisibleDatum *datum = data_at(data, i);
        if (datum->is_item && datum->names.length == 0) {
            size_t before = 0;
            DataPath path = {.item = i};
            JsonWriter json = data_entry_begin(data, VISIBLE_MICRODATA, &before);
            data_put_item(data, &json, &path);
            data_entry_end(data, &json, before);
        }
    }
    data->is_cut |= data->steps >= DATA_STEPS;
    for (size_t i = 0; i < VISIBLE_DATA_KINDS; i++) {
        Buffer *list = &data->lists[i];
        visible_data_keep(data, buffer_append_string(list, list->length == 0 ? "[]" : "]"));
    }
}
