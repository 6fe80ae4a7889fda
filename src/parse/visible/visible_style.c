#include "parse/visible/visible_style.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/memory/array.h"
#include "parse/html/html_words.h"

#define IMPORTS_DEEP 16u /* @import in @import */

static void style_apply(VisibleStyle *style, const SheetDeclaration *declaration, uint64_t weight)
{
    weight |= declaration->important ? SHEET_WEIGHT_IMPORTANT : 0;
    if (weight >= style->weight[declaration->property]) {
        style->weight[declaration->property] = weight;
        style->value[declaration->property] = declaration->value;
    }
}

/* ---- selectors, matched ---- */

/* What a failure means for the search that goes on further left. */
typedef enum StyleMatch {
    STYLE_MATCHES,
    STYLE_FAILS,          /* here */
    STYLE_FAILS_SIBLINGS, /* for all siblings before this one, too */
    STYLE_FAILS_WHOLLY    /* for all ancestors, too */
} StyleMatch;

static StyleMatch style_matches(VisibleStyles *styles, const VisibleSheet *sheet, uint32_t compound,
                                uint32_t element);

static bool style_matches_one_of(VisibleStyles *styles, const VisibleSheet *sheet, uint32_t list,
                                 uint32_t element)
{
    for (; list != 0; list = sheet->compounds[list].next) {
        if (style_matches(styles, sheet, list, element) == STYLE_MATCHES) {
            return true;
        }
    }
    return false;
}

/* The sibling before; 0: there is none. */
static uint32_t style_before(const VisibleStyles *styles, uint32_t element)
{
    uint32_t parent = styles->elements[element].parent;
    for (uint32_t i = element - 1; element > 0 && i > parent; i--) {
        if (styles->elements[i].parent == parent) {
            return i;
        }
    }
    return 0;
}

static bool style_matches_nth(VisibleStyles *styles, const SheetSimple *simple, uint32_t element)
{
    int64_t place = 1;
    uint64_t tag = styles->elements[element].tag;
    for (uint32_t i = style_before(styles, element); i != 0; i = style_before(styles, i)) {
        place += simple->kind == SHEET_NTH || styles->elements[i].tag == tag ? 1 : 0;
        styles->steps -= styles->steps > 0 ? 1 : 0;
        if (simple->a == 0 && place > simple->b) {
            return false;
        }
    }
    int64_t over = place - simple->b;
    return simple->a == 0 ? over == 0 : over % simple->a == 0 && over / simple->a >= 0;
}

static bool style_matches_value(const SheetSimple *simple, HtmlSlice value)
{
    HtmlSlice want = simple->value;
    size_t more = value.length - want.length;
    bool begins = value.length >= want.length &&
                  (want.length == 0 || memcmp(value.bytes, want.bytes, want.length) == 0);
    switch (simple->op) {
    case 0:
        return true;
    case '=':
        return begins && more == 0;
    case '~':
        return html_has_word(value, want);
    case '|':
        return begins && (more == 0 || value.bytes[want.length] == '-');
    case '^':
        return begins && want.length > 0;
    case '$':
        return value.length >= want.length && want.length > 0 &&
               memcmp(value.bytes + more, want.bytes, want.length) == 0;
    default:
        return want.length > 0 &&
               memmem(value.bytes, value.length, want.bytes, want.length) != NULL;
    }
}

static bool style_matches_simple(VisibleStyles *styles, const VisibleSheet *sheet,
                                 const SheetSimple *simple, uint32_t element)
{
    const VisibleElement *e = &styles->elements[element];
    HtmlSlice value;
    switch ((SheetSimpleKind)simple->kind) {
    case SHEET_TAG:
        return e->tag == simple->key;
    case SHEET_NAME:
        return (e->names >> (simple->key & 63) & 1) != 0 &&
               (simple->op == '.' ? html_has_word(e->classes, simple->name)
                                  : e->id.length == simple->name.length &&
                                        memcmp(e->id.bytes, simple->name.bytes, e->id.length) == 0);
    case SHEET_ATTRIBUTE:
        return e->attributes != NULL &&
               skim_find_attribute(e->attributes, styles->end, simple->name, &value) &&
               style_matches_value(simple, value);
    case SHEET_ROOT:
        return element == 0;
    case SHEET_NTH:
    case SHEET_NTH_OF_TYPE:
        return style_matches_nth(styles, simple, element);
    case SHEET_ONE_OF:
        return style_matches_one_of(styles, sheet, simple->list, element);
    case SHEET_NOT:
        return !style_matches_one_of(styles, sheet, simple->list, element);
    case SHEET_NEVER:
        break;
    }
    return false;
}

static StyleMatch style_matches_left(VisibleStyles *styles, const VisibleSheet *sheet,
                                     const SheetCompound *compound, uint32_t element)
{
    StyleMatch match = STYLE_FAILS_WHOLLY;
    bool sibling = compound->combinator == '+' || compound->combinator == '~';
    bool once = compound->combinator == '+' || compound->combinator == '>';
    uint32_t at = element;
    for (;;) {
        uint32_t from = at;
        at = sibling ? style_before(styles, from) : styles->elements[from].parent;
        if (sibling ? at == 0 : from == 0) {
            return sibling ? STYLE_FAILS_SIBLINGS : STYLE_FAILS_WHOLLY;
        }
        match = style_matches(styles, sheet, compound->left, at);
        if (once || match == STYLE_MATCHES || match == STYLE_FAILS_WHOLLY ||
            (sibling && match == STYLE_FAILS_SIBLINGS)) {
            return match;
        }
    }
}

/* Whether the selector that ends with this compound ends at this element. */
static StyleMatch style_matches(VisibleStyles *styles, const VisibleSheet *sheet, uint32_t compound,
                                uint32_t element)
{
    const SheetCompound *c = &sheet->compounds[compound];
    for (uint32_t i = c->simples; i != 0; i = sheet->simples[i].next) {
        if (styles->steps == 0) {
            return STYLE_FAILS_WHOLLY;
        }
        styles->steps--;
        if (!style_matches_simple(styles, sheet, &sheet->simples[i], element)) {
            return STYLE_FAILS;
        }
    }
    return c->left == 0 ? STYLE_MATCHES : style_matches_left(styles, sheet, c, element);
}

/* ---- styles of a page ---- */

void visible_styles_init(VisibleStyles *styles)
{
    memset(styles, 0, sizeof *styles);
    map_init(&styles->kept);
}

static void style_forget_sheets(VisibleStyles *styles)
{
    size_t place = 0;
    for (VisibleSheet *sheet = map_next(&styles->kept, &place); sheet != NULL;
         sheet = map_next(&styles->kept, &place)) {
        visible_sheet_delete(sheet);
    }
    map_destroy(&styles->kept);
    map_init(&styles->kept);
    styles->kept_bytes = 0;
}

void visible_styles_destroy(VisibleStyles *styles)
{
    style_forget_sheets(styles);
    free(styles->elements);
    visible_styles_init(styles);
}

static VisibleElement *style_add_element(VisibleStyles *styles, uint32_t parent, uint64_t tag)
{
    if (styles->n == UINT32_MAX ||
        array_reserve(&styles->elements, &styles->capacity, styles->n + 1,
                      sizeof *styles->elements) != RESULT_OK) {
        styles->failed = true;
        return NULL;
    }
    VisibleElement *e = &styles->elements[styles->n++];
    *e = (VisibleElement){.tag = tag, .parent = parent};
    return e;
}

void visible_styles_begin(VisibleStyles *styles, const char *end, size_t length)
{
    if (styles->kept_bytes > VISIBLE_SHEETS_BYTES) {
        style_forget_sheets(styles);
    }
    styles->end = end;
    styles->n = 0;
    styles->n_sheets = 0;
    styles->is_over = false;
    styles->failed = false;
    styles->steps = (uint64_t)VISIBLE_STYLE_STEPS * (length + 4096);
    (void)style_add_element(styles, 0, html_tag_keys[HTML_HTML]);
    (void)style_add_element(styles, 0, html_tag_keys[HTML_BODY]);
}

static void style_use(VisibleStyles *styles, HtmlSlice text, HtmlSlice base, unsigned nesting)
{
    Hash128 hash = hash_128(text.bytes, text.length);
    MapKey key = {.high = hash.high, .low = hash.low};
    VisibleSheet *sheet = map_get(&styles->kept, key);
    if (sheet == NULL) {
        sheet = visible_sheet_new(text);
        if (sheet == NULL || map_put(&styles->kept, key, sheet) != RESULT_OK) {
            visible_sheet_delete(sheet);
            styles->failed = true;
            return;
        }
        styles->kept_bytes += text.length;
    }
    for (size_t i = 0; i < sheet->n_imports && styles->load != NULL && nesting < IMPORTS_DEEP;
         i++) {
        HtmlSlice imported;
        HtmlSlice url;
        if (styles->load(styles->context, base, sheet->imports[i], &imported, &url)) {
            style_use(styles, imported, url, nesting + 1);
        }
    }
    if (sheet->n_rules > 0 && styles->n_sheets < VISIBLE_SHEETS_MAX) {
        styles->sheets[styles->n_sheets++] = sheet;
    }
}

void visible_styles_add(VisibleStyles *styles, HtmlSlice text, HtmlSlice base, HtmlSlice media)
{
    if (visible_sheet_has_media(media.bytes, media.bytes + media.length)) {
        style_use(styles, text, base, 0);
    }
}

void visible_styles_link(VisibleStyles *styles, HtmlSlice url, HtmlSlice media)
{
    HtmlSlice text;
    HtmlSlice found;
    if (styles->load != NULL && visible_sheet_has_media(media.bytes, media.bytes + media.length) &&
        styles->load(styles->context, (HtmlSlice){.bytes = ""}, url, &text, &found)) {
        style_use(styles, text, found, 0);
    }
}

/* ---- elements ---- */

static void style_set_element(VisibleElement *e, const HtmlTag *tag)
{
    HtmlSlice name;
    e->attributes = tag->attributes;
    if (html_tag_has(tag, HTML_ATTR_ID)) {
        e->id = tag->values[HTML_ATTR_ID];
        e->names |= UINT64_C(1) << (visible_sheet_hash(e->id, '#') & 63);
    }
    if (html_tag_has(tag, HTML_ATTR_CLASS)) {
        e->classes = tag->values[HTML_ATTR_CLASS];
        HtmlSlice classes = e->classes;
        while (html_next_word(&classes, &name)) {
            e->names |= UINT64_C(1) << (visible_sheet_hash(name, '.') & 63);
        }
    }
}

uint32_t visible_styles_open(VisibleStyles *styles, uint32_t parent, const HtmlTag *tag)
{
    VisibleElement *e = styles->n_sheets == 0 ? NULL : style_add_element(styles, parent, tag->key);
    if (e == NULL) {
        return parent;
    }
    style_set_element(e, tag);
    return (uint32_t)styles->n - 1;
}

void visible_styles_close(VisibleStyles *styles, uint32_t element)
{
    styles->n = element < styles->n ? element + 1 : styles->n;
}

void visible_styles_root(VisibleStyles *styles, uint32_t element, const HtmlTag *tag)
{
    if (element < styles->n) {
        style_set_element(&styles->elements[element], tag);
    }
}

static void style_take_rules(VisibleStyles *styles, size_t sheet_number, uint32_t rule,
                             uint32_t element, VisibleStyle *style)
{
    const VisibleSheet *sheet = styles->sheets[sheet_number];
    for (; rule != 0; rule = sheet->rules[rule - 1].next) {
        const SheetRule *one = &sheet->rules[rule - 1];
        if (style_matches(styles, sheet, one->compound, element) == STYLE_MATCHES) {
            for (uint32_t i = one->first; i < one->first + one->n; i++) {
                style_apply(style, &sheet->declarations[i],
                            one->weight + ((uint64_t)sheet_number << 20) + 1);
            }
        }
    }
}

static uint32_t style_rules_of(const VisibleSheet *sheet, uint64_t hash, char kind)
{
    return (uint32_t)(uintptr_t)map_get(&sheet->by_key, visible_sheet_key(hash, kind));
}

static void style_of_sheets(VisibleStyles *styles, uint32_t element, VisibleStyle *style)
{
    const VisibleElement *e = &styles->elements[element];
    for (size_t i = 0; i < styles->n_sheets; i++) {
        const VisibleSheet *sheet = styles->sheets[i];
        HtmlSlice name;
        HtmlSlice classes = e->classes;
        style_take_rules(styles, i, sheet->universal, element, style);
        style_take_rules(styles, i, style_rules_of(sheet, e->tag, 0), element, style);
        if (e->id.length > 0) {
            style_take_rules(styles, i, style_rules_of(sheet, visible_sheet_hash(e->id, '#'), '#'),
                             element, style);
        }
        while (classes.length > 0 && html_next_word(&classes, &name)) {
            style_take_rules(styles, i, style_rules_of(sheet, visible_sheet_hash(name, '.'), '.'),
                             element, style);
        }
    }
    styles->is_over |= styles->steps == 0;
}

void visible_styles_of(VisibleStyles *styles, uint32_t element, const HtmlTag *tag,
                       VisibleStyle *style)
{
    *style = (VisibleStyle){.weight = {0}};
    if (styles->n_sheets > 0 && element < styles->n) {
        style_of_sheets(styles, element, style);
    }
    if (tag != NULL && html_tag_has(tag, HTML_ATTR_STYLE)) {
        SheetDeclaration declaration;
        const char *p = tag->values[HTML_ATTR_STYLE].bytes;
        const char *end = p + tag->values[HTML_ATTR_STYLE].length;
        while (visible_sheet_next_declaration(&p, end, &declaration)) {
            style_apply(style, &declaration, SHEET_WEIGHT_ATTRIBUTE);
        }
    }
}
