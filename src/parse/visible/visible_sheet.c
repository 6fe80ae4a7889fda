#include "parse/visible/visible_sheet.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/ascii.h"
#include "base/core/hash.h"
#include "base/memory/array.h"
#include "parse/css/css.h"

#define NESTING_MAX 16u /* @media in @media, :not in :not, @import in @import */
#define EM_PIXELS   16.0
#define NAME_BYTES  12

/* The text is cut into rules by sheet_find alone, which knows strings and brackets; what stands in
 * between is read once, from front to back:
 *
 *   sheet_read_rules      rule after rule, p from one "}" to the next
 *     |-- sheet_read_at_rule    @media and the like: a reader of its own for what is within
 *     '-- sheet_read_rule       first the declarations: without one that counts, nothing is filed;
 *           |                   then each selector, with `end` at the "{" meanwhile
 *           '-- sheet_read_selector -> sheet_read_compound -> sheet_read_simple
 *                                 ^------ sheet_read_selectors ------'  :is(), :not()
 *
 * Nothing is refused: what cannot be read costs its selector or its declaration, as in a browser.
 * `failed` says that memory is short; then the sheet is thrown away as a whole. */
typedef struct SheetReader {
    VisibleSheet *sheet;
    const char *p;
    const char *end;
    unsigned nesting;
    bool layered;
    bool failed;
} SheetReader;

/* ---- tokens ---- */

/* A backslash counts unless a line feed follows; then it is no escape. */
static bool sheet_is_name(const char *p, const char *end)
{
    return p < end && (ascii_is_letter(*p) || ascii_is_digit(*p) || *p == '-' || *p == '_' ||
                       (unsigned char)*p >= 0x80 || (*p == '\\' && p + 1 < end && p[1] != '\n'));
}

static void sheet_skip_spaces(SheetReader *r)
{
    r->p = skip_class(r->p, r->end, SCAN_SPACE);
}

/* Undoes an escape at *p into out. The result must not be longer than the escape, because names are
 * unescaped in place; one that would be ("\0" means U+FFFD, three bytes) is a question mark. */
static char *sheet_take_escape(const char **p, const char *end, char *out)
{
    Buffer bytes = {.limit = 8};
    const char *from = *p;
    *p = css_unescape(from, end, &bytes);
    bool fits = bytes.length > 0 && bytes.length <= (size_t)(*p - from);
    size_t n = fits ? bytes.length : 1;
    memcpy(out, fits ? bytes.data : "?", n);
    buffer_destroy(&bytes);
    return out + n;
}

/* A name without its escapes; empty: there is none here. */
static HtmlSlice sheet_take_name(SheetReader *r)
{
    HtmlSlice name = {.bytes = r->p, .length = 0};
    char *out = (char *)(uintptr_t)r->p; /* the text is the sheet's own */
    while (sheet_is_name(r->p, r->end)) {
        if (*r->p == '\\') {
            out = sheet_take_escape(&r->p, r->end, out);
        } else {
            *out++ = *r->p++;
        }
    }
    name.length = (size_t)(out - name.bytes);
    return name;
}

/* A string in quotes, or a name. */
static HtmlSlice sheet_take_value(SheetReader *r)
{
    if (r->p == r->end || (*r->p != '"' && *r->p != '\'')) {
        return sheet_take_name(r);
    }
    char quote = *r->p++;
    HtmlSlice value = {.bytes = r->p, .length = 0};
    char *out = (char *)(uintptr_t)r->p; /* the text is the sheet's own */
    /* A string without its second quote goes on to the end of what this reader has, not of the
     * line. */
    while (r->p < r->end && *r->p != quote) {
        if (*r->p == '\\' && r->p + 1 < r->end && r->p[1] != '\n') {
            out = sheet_take_escape(&r->p, r->end, out);
        } else {
            *out++ = *r->p++;
        }
    }
    r->p += r->p < r->end ? 1 : 0;
    value.length = (size_t)(out - value.bytes);
    return value;
}

/* The first of these bytes from p on that stands in no string and no brackets, or end. A closing
 * bracket too many is passed over. A NUL byte stops the search, too (strchr finds it in every
 * list): callers go on behind the place, so it costs a rule at most. */
static const char *sheet_find(const char *p, const char *end, const char *stops)
{
    unsigned depth = 0;
    for (; p < end; p++) {
        if (depth == 0 && strchr(stops, *p) != NULL) {
            return p;
        }
        if (*p == '\\') {
            p += p + 1 < end ? 1 : 0;
        } else if (*p == '"' || *p == '\'') {
            char quote = *p;
            for (p++; p < end && *p != quote; p++) {
                p += *p == '\\' && p + 1 < end ? 1 : 0;
            }
        } else if (*p == '(' || *p == '[' || *p == '{') {
            depth++;
        } else if ((*p == ')' || *p == ']' || *p == '}') && depth > 0) {
            depth--;
        }
        if (p >= end) {
            break;
        }
    }
    return end;
}

/* ---- declarations ---- */

/* Words that mean the same to text share a value. What is not here (`ruby`, `run-in`) is as if it
 * were not declared, and the element keeps what HTML says of it. The values of a property must fit
 * beside VISIBLE_FLEX and VISIBLE_INHERIT in a byte. */
static const struct SheetValue {
    const char *name;
    VisibleProperty property;
    uint8_t value;
} sheet_values[] = {
    {"none", VISIBLE_DISPLAY, VISIBLE_BOX_NONE},
    {"block", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK},
    {"inline", VISIBLE_DISPLAY, VISIBLE_BOX_INLINE},
    {"contents", VISIBLE_DISPLAY, VISIBLE_BOX_INLINE},
    {"inline-block", VISIBLE_DISPLAY, VISIBLE_BOX_INLINE_BLOCK},
    {"inline-flex", VISIBLE_DISPLAY, VISIBLE_BOX_INLINE_BLOCK | VISIBLE_FLEX},
    {"inline-grid", VISIBLE_DISPLAY, VISIBLE_BOX_INLINE_BLOCK | VISIBLE_FLEX},
    {"inline-table", VISIBLE_DISPLAY, VISIBLE_BOX_INLINE_BLOCK},
    {"table-cell", VISIBLE_DISPLAY, VISIBLE_BOX_CELL},
    {"flex", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK | VISIBLE_FLEX},
    {"grid", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK | VISIBLE_FLEX},
    {"flow-root", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK},
    {"list-item", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK},
    {"table", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK},
    {"table-row", VISIBLE_DISPLAY, VISIBLE_BOX_ROW},
    {"table-row-group", VISIBLE_DISPLAY, VISIBLE_BOX_ROWS},
    {"table-header-group", VISIBLE_DISPLAY, VISIBLE_BOX_ROWS},
    {"table-footer-group", VISIBLE_DISPLAY, VISIBLE_BOX_ROWS},
    {"table-caption", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK},
    {"-webkit-box", VISIBLE_DISPLAY, VISIBLE_BOX_BLOCK | VISIBLE_FLEX},
    {"-webkit-inline-box", VISIBLE_DISPLAY, VISIBLE_BOX_INLINE_BLOCK | VISIBLE_FLEX},
    {"visible", VISIBLE_HIDDEN, 0},
    {"hidden", VISIBLE_HIDDEN, 1},
    {"collapse", VISIBLE_HIDDEN, 1},
    {"normal", VISIBLE_WHITE, VISIBLE_WHITE_NORMAL},
    {"nowrap", VISIBLE_WHITE, VISIBLE_WHITE_NORMAL},
    {"pre", VISIBLE_WHITE, VISIBLE_WHITE_PRE},
    {"pre-wrap", VISIBLE_WHITE, VISIBLE_WHITE_PRE},
    {"break-spaces", VISIBLE_WHITE, VISIBLE_WHITE_PRE},
    {"pre-line", VISIBLE_WHITE, VISIBLE_WHITE_PRE_LINE},
    {"none", VISIBLE_FLOAT, 0},
    {"left", VISIBLE_FLOAT, 1},
    {"right", VISIBLE_FLOAT, 1},
    {"inline-start", VISIBLE_FLOAT, 1},
    {"inline-end", VISIBLE_FLOAT, 1},
    {"static", VISIBLE_AWAY, 0},
    {"relative", VISIBLE_AWAY, 0},
    {"sticky", VISIBLE_AWAY, 0},
    {"absolute", VISIBLE_AWAY, 1},
    {"fixed", VISIBLE_AWAY, 1},
    {"none", VISIBLE_CASE, VISIBLE_CASE_KEPT},
    {"uppercase", VISIBLE_CASE, VISIBLE_CASE_UPPER},
    {"lowercase", VISIBLE_CASE, VISIBLE_CASE_LOWER},
    {"capitalize", VISIBLE_CASE, VISIBLE_CASE_TITLE},
};

/* False: it is none of ours, or its value is none that browsers know, and does not count. */
static bool sheet_read_declaration(const char *p, const char *end, SheetDeclaration *declaration)
{
    static const char *const names[VISIBLE_PROPERTIES] = {
        "display", "visibility", "white-space", "float", "position", "text-transform"};
    const char *colon = find_byte(p, end, ':');
    size_t length = (size_t)(colon - p);
    ascii_trim(&p, &length);
    /* One look tells most declarations from those that count. */
    if (colon == end || length == 0 || strchr("dvwfptDVWFPT", *p) == NULL) {
        return false;
    }
    unsigned property = 0;
    while (property < VISIBLE_PROPERTIES && !ascii_is(p, length, names[property])) {
        property++;
    }
    const char *value = colon + 1;
    const char *bang = find_byte(value, end, '!');
    length = (size_t)(bang - value);
    ascii_trim(&value, &length);
    /* "unset" is "inherit" where the property is inherited, else "initial". For display, float and
     * position "inherit" would ask the parent for a box; that is so rare that the declaration does
     * not count. */
    bool inherited =
        property == VISIBLE_HIDDEN || property == VISIBLE_WHITE || property == VISIBLE_CASE;
    bool is_initial = ascii_is(value, length, "initial");
    *declaration = (SheetDeclaration){.property = (uint8_t)property, .important = bang < end};
    if (property < VISIBLE_PROPERTIES && (is_initial || ascii_is(value, length, "unset") ||
                                          (inherited && ascii_is(value, length, "inherit")))) {
        declaration->value = inherited && !is_initial ? VISIBLE_INHERIT : 0;
        return true;
    }
    for (size_t i = 0; i < sizeof sheet_values / sizeof *sheet_values; i++) {
        if (sheet_values[i].property == property && ascii_is(value, length, sheet_values[i].name)) {
            declaration->value = sheet_values[i].value;
            return true;
        }
    }
    return false;
}

bool visible_sheet_next_declaration(const char **p, const char *end, SheetDeclaration *declaration)
{
    while (*p < end) {
        const char *from = *p;
        const char *stop = sheet_find(from, end, ";{");
        *p = stop < end ? stop + 1 : end;
        if (stop < end && *stop == '{') {
            *p = sheet_find(*p, end, "}");
            *p += *p < end ? 1 : 0;
        } else if (sheet_read_declaration(from, stop, declaration)) {
            return true;
        }
    }
    return false;
}

/* ---- selectors, read ---- */

static uint32_t sheet_read_selectors(SheetReader *r, uint32_t *most);

static uint32_t sheet_add_simple(SheetReader *r, const SheetSimple *simple)
{
    VisibleSheet *sheet = r->sheet;
    r->failed |= array_add(&sheet->simples, &sheet->n_simples, sizeof *simple, simple) != RESULT_OK;
    return (uint32_t)sheet->n_simples - 1;
}

uint64_t visible_sheet_hash(HtmlSlice name, char kind)
{
    return hash_64(name.bytes, name.length, (uint64_t)kind);
}

/* [name], [name="value" i]; p is behind the bracket. */
static bool sheet_read_attribute(SheetReader *r, SheetSimple *simple)
{
    simple->kind = SHEET_ATTRIBUTE;
    sheet_skip_spaces(r);
    simple->name = sheet_take_name(r);
    sheet_skip_spaces(r);
    /* What stands behind the value ("i", "s") is passed over with the bracket. */
    if (r->p < r->end && strchr("=~|^$*", *r->p) != NULL) {
        simple->op = *r->p++;
        r->p += simple->op != '=' && r->p < r->end && *r->p == '=' ? 1 : 0;
        sheet_skip_spaces(r);
        simple->value = sheet_take_value(r);
        sheet_skip_spaces(r);
    }
    r->p = find_byte(r->p, r->end, ']');
    r->p += r->p < r->end ? 1 : 0;
    return simple->name.length > 0;
}

/* "2n+1", "odd", "3", up to the bracket. False: none of these. What is longer than NAME_BYTES is
 * cut. */
static bool sheet_read_nth(SheetReader *r, SheetSimple *simple)
{
    char text[NAME_BYTES + 1] = "";
    size_t n = 0;
    for (; r->p < r->end && *r->p != ')'; r->p++) {
        if (!ascii_is_space(*r->p) && n < NAME_BYTES) {
            text[n++] = ascii_lower(*r->p);
        }
    }
    r->p += r->p < r->end ? 1 : 0;
    char *rest = text;
    char *at_n = strchr(text, 'n');
    if (strcmp(text, "odd") == 0 || strcmp(text, "even") == 0) {
        simple->a = 2;
        simple->b = text[0] == 'o' ? 1 : 0;
        return true;
    }
    if (at_n != NULL) {
        *at_n = '\0';
        simple->a = (int32_t)strtol(text, NULL, 10);
        if (*text == '\0' || strcmp(text, "+") == 0 || strcmp(text, "-") == 0) {
            simple->a = *text == '-' ? -1 : 1;
        }
        rest = at_n + 1;
    }
    simple->b = (int32_t)strtol(rest, &rest, 10);
    return *rest == '\0';
}

/* What is not here makes the selector one that never matches: pseudo-elements (::before), and what
 * the header names. */
static const struct SheetPseudo {
    const char *name;
    uint8_t kind;
    char attribute[9]; /* of SHEET_ATTRIBUTE */
} sheet_pseudos[] = {
    {"root", SHEET_ROOT, ""},
    {"link", SHEET_ATTRIBUTE, "href"},
    {"any-link", SHEET_ATTRIBUTE, "href"},
    {"checked", SHEET_ATTRIBUTE, "checked"},
    {"disabled", SHEET_ATTRIBUTE, "disabled"},
    {"hover", SHEET_NEVER, ""},
    {"active", SHEET_NEVER, ""},
    {"focus", SHEET_NEVER, ""},
    {"focus-within", SHEET_NEVER, ""},
    {"focus-visible", SHEET_NEVER, ""},
    {"visited", SHEET_NEVER, ""},
    {"target", SHEET_NEVER, ""},
    {"first-child", SHEET_NTH, ""},
    {"first-of-type", SHEET_NTH_OF_TYPE, ""},
    {"nth-child", SHEET_NTH, ""},
    {"nth-of-type", SHEET_NTH_OF_TYPE, ""},
    {"is", SHEET_ONE_OF, ""},
    {"where", SHEET_ONE_OF, ""},
    {"-webkit-any", SHEET_ONE_OF, ""},
    {"matches", SHEET_ONE_OF, ""},
    {"not", SHEET_NOT, ""},
};

/* Behind the colon. False: a selector with it never matches. Every way out leaves p somewhere
 * within the selector; sheet_read_selectors and sheet_read_rule go on at the next comma from
 * there. */
static bool sheet_read_pseudo(SheetReader *r, SheetSimple *simple, uint32_t *specificity)
{
    HtmlSlice name = sheet_take_name(r);
    bool has_list = r->p < r->end && *r->p == '(';
    size_t i = 0;
    const size_t n = sizeof sheet_pseudos / sizeof *sheet_pseudos;
    while (i < n && !ascii_is(name.bytes, name.length, sheet_pseudos[i].name)) {
        i++;
    }
    if (i == n || r->nesting >= NESTING_MAX) {
        return false;
    }
    r->p += has_list ? 1 : 0;
    simple->kind = sheet_pseudos[i].kind;
    simple->name = (HtmlSlice){.bytes = sheet_pseudos[i].attribute,
                               .length = strlen(sheet_pseudos[i].attribute)};
    /* ":first-child" is ":nth-child(0n+1)". */
    simple->b = 1;
    *specificity += 1u << 8;
    if (simple->kind == SHEET_ONE_OF || simple->kind == SHEET_NOT) {
        uint32_t most = 0;
        r->nesting++;
        simple->list = has_list ? sheet_read_selectors(r, &most) : 0;
        r->nesting--;
        bool closed = r->p < r->end && *r->p == ')';
        r->p += closed ? 1 : 0;
        /* Takes the place of the 1 << 8 of above. :is() and :not() weigh as the heaviest of their
         * list, :where() nothing (Selectors 4, 17). An empty :is() is one that never matches;
         * :not() of nothing that could match would match everything, and is not believed. */
        *specificity += (name.bytes[0] == 'w' ? 0 : most) - (1u << 8);
        return closed && (simple->list != 0 || simple->kind == SHEET_ONE_OF);
    }
    return !has_list || sheet_read_nth(r, simple);
}

/* One condition. False: a selector with it never matches. Specificity is three bytes: ids,
 * classes and the like, tags. 256 classes in one selector count as an id; no page needs that
 * many. */
static bool sheet_read_simple(SheetReader *r, SheetSimple *simple, uint32_t *specificity)
{
    char c = *r->p;
    *simple = (SheetSimple){.kind = SHEET_NAME, .op = c};
    if (c == '.' || c == '#') {
        r->p++;
        simple->name = sheet_take_name(r);
        simple->key = visible_sheet_hash(simple->name, c);
        *specificity += c == '.' ? 1u << 8 : 1u << 16;
        return simple->name.length > 0;
    }
    simple->op = 0;
    if (c == '[') {
        r->p++;
        *specificity += 1u << 8;
        return sheet_read_attribute(r, simple);
    }
    if (c == ':') {
        r->p++;
        return sheet_read_pseudo(r, simple, specificity);
    }
    HtmlSlice name = sheet_take_name(r);
    simple->kind = SHEET_TAG;
    simple->key = html_name_key_of(name.bytes, name.length);
    *specificity += 1;
    return name.length > 0;
}

/* The conditions of one element, up to a combinator. False: as above. Conditions are chained last
 * first, which does not matter: all must hold. */
static bool sheet_read_compound(SheetReader *r, SheetCompound *compound, uint32_t *specificity)
{
    bool any = false;
    while (r->p < r->end && strchr(" \t\r\n\f>+~,)", *r->p) == NULL) {
        SheetSimple simple;
        if (*r->p == '*') {
            r->p++;
            r->p += r->p < r->end && *r->p == '|' ? 1 : 0; /* any namespace */
        } else {
            if (!sheet_read_simple(r, &simple, specificity)) {
                return false;
            }
            simple.next = compound->simples;
            compound->simples = sheet_add_simple(r, &simple);
        }
        any = true;
    }
    return any;
}

/* One selector up to "," or ")": the index of its last compound; 0: it never matches. */
static uint32_t sheet_read_selector(SheetReader *r, uint32_t *specificity)
{
    VisibleSheet *sheet = r->sheet;
    uint32_t left = 0;
    char combinator = ' ';
    for (;;) {
        sheet_skip_spaces(r);
        SheetCompound compound = {.left = left, .combinator = combinator};
        if (!sheet_read_compound(r, &compound, specificity)) {
            return 0;
        }
        r->failed |= array_add(&sheet->compounds, &sheet->n_compounds, sizeof compound,
                               &compound) != RESULT_OK;
        /* Matching goes from the last compound to the left, since the last one is that of the
         * element at hand. */
        left = (uint32_t)sheet->n_compounds - 1;
        sheet_skip_spaces(r);
        if (r->failed || r->p == r->end || *r->p == ',' || *r->p == ')') {
            return r->failed ? 0 : left;
        }
        combinator = *r->p == '>' || *r->p == '+' || *r->p == '~' ? *r->p++ : ' ';
    }
}

/* A list of selectors up to ")": the first of those that may match, chained by next; *most: the
 * highest specificity. */
static uint32_t sheet_read_selectors(SheetReader *r, uint32_t *most)
{
    uint32_t list = 0;
    for (;;) {
        uint32_t specificity = 0;
        uint32_t compound = sheet_read_selector(r, &specificity);
        if (compound != 0) {
            r->sheet->compounds[compound].next = list;
            list = compound;
            *most = specificity > *most ? specificity : *most;
        }
        r->p = sheet_find(r->p, r->end, ",)");
        if (r->p == r->end || *r->p == ')') {
            return list;
        }
        r->p++;
    }
}

/* ---- rules ---- */

MapKey visible_sheet_key(uint64_t hash, char kind)
{
    return (MapKey){.high = (uint64_t)kind, .low = hash};
}

/* Files a rule under the rarest thing that its last compound asks for: an id, else a class, else a
 * tag. An element is compared only with the rules under its own id, classes and tag, and those
 * under none. Indices in the map and in `next` are one too high, so that 0 ends a chain. */
static void sheet_file_rule(SheetReader *r, SheetRule *rule)
{
    VisibleSheet *sheet = r->sheet;
    const SheetSimple *best = NULL;
    for (uint32_t i = sheet->compounds[rule->compound].simples; i != 0;
         i = sheet->simples[i].next) {
        const SheetSimple *simple = &sheet->simples[i];
        if ((simple->kind == SHEET_NAME && (best == NULL || best->op != '#')) ||
            (simple->kind == SHEET_TAG && best == NULL)) {
            best = simple;
        }
    }
    void *number = (void *)(uintptr_t)(sheet->n_rules + 1);
    if (best == NULL) {
        rule->next = sheet->universal;
        sheet->universal = (uint32_t)sheet->n_rules + 1;
    } else {
        MapKey key = visible_sheet_key(best->key, best->op);
        rule->next = (uint32_t)(uintptr_t)map_get(&sheet->by_key, key);
        r->failed |= map_put(&sheet->by_key, key, number) != RESULT_OK;
    }
    r->failed |= array_add(&sheet->rules, &sheet->n_rules, sizeof *rule, rule) != RESULT_OK;
}

/* A block of declarations with its selectors before it. Selectors that share a block share its
 * declarations. The place in the sheet is the lowest part of the weight, 20 bits, and the number
 * of the sheet follows (visible_style.c): beyond 2^20 rules the place begins again at 0. */
static void sheet_read_rule(SheetReader *r, const char *prelude_end, const char *block,
                            const char *block_end)
{
    VisibleSheet *sheet = r->sheet;
    SheetRule rule = {.first = (uint32_t)sheet->n_declarations};
    SheetDeclaration declaration;
    while (visible_sheet_next_declaration(&block, block_end, &declaration)) {
        r->failed |= array_add(&sheet->declarations, &sheet->n_declarations, sizeof declaration,
                               &declaration) != RESULT_OK;
    }
    rule.n = (uint32_t)sheet->n_declarations - rule.first;
    const char *end = r->end;
    r->end = prelude_end;
    while (rule.n > 0 && r->p < r->end && !r->failed) {
        uint32_t specificity = 0;
        rule.compound = sheet_read_selector(r, &specificity);
        if (rule.compound != 0) {
            rule.weight = (r->layered ? 0 : SHEET_WEIGHT_UNLAYERED) | (uint64_t)specificity << 32 |
                          (sheet->n_rules & 0xFFFFF);
            sheet_file_rule(r, &rule);
        }
        r->p = sheet_find(r->p, r->end, ",");
        r->p += r->p < r->end ? 1 : 0;
    }
    r->end = end;
}

/* ---- media ---- */

/* "600px", "40em" in pixels; a ratio or resolution is the number before its unit. */
static double sheet_pixels(const char *p, size_t length)
{
    char text[32];
    size_t n = length < sizeof text - 1 ? length : sizeof text - 1;
    memcpy(text, p, n);
    text[n] = '\0';
    char *unit = text;
    double number = strtod(text, &unit);
    return number *
           (strncasecmp(unit, "em", 2) == 0 || strncasecmp(unit, "rem", 3) == 0 ? EM_PIXELS : 1);
}

/* One feature in its brackets, without its spaces and in lower case. What is neither a size nor one
 * of these is false: a rule for a device that this screen may not be does not hold. "device-width"
 * and the like count as "width", as the window has the size of the screen. */
static bool sheet_has_feature(const char *p, const char *end)
{
    static const char *const true_ones[] = {"orientation:landscape",
                                            "prefers-color-scheme:light",
                                            "hover",
                                            "hover:hover",
                                            "any-hover:hover",
                                            "pointer:fine",
                                            "any-pointer:fine",
                                            "color",
                                            "prefers-reduced-motion:no-preference",
                                            "scripting:none"};
    char text[64];
    size_t n = 0;
    for (; p < end && n < sizeof text - 1; p++) {
        if (!ascii_is_space(*p)) {
            text[n++] = ascii_lower(*p);
        }
    }
    text[n] = '\0';
    for (size_t i = 0; i < sizeof true_ones / sizeof *true_ones; i++) {
        if (strcmp(text, true_ones[i]) == 0) {
            return true;
        }
    }
    const char *colon = strchr(text, ':');
    const char *wide = strstr(text, "width");
    double size = wide != NULL ? VISIBLE_SCREEN_WIDTH : VISIBLE_SCREEN_HEIGHT;
    if (wide == NULL && strstr(text, "height") == NULL) {
        return false;
    }
    if (colon != NULL) {
        double value = sheet_pixels(colon + 1, strlen(colon + 1));
        if (strncmp(text, "min", 3) == 0) {
            return size >= value;
        }
        return strncmp(text, "max", 3) == 0 ? size <= value : size == value;
    }
    /* 400px<=width<=700px */
    const char *name = wide != NULL ? wide : strstr(text, "height");
    const char *after = name + (wide != NULL ? 5 : 6);
    bool good = true;
    if (name > text) {
        const char *sign = strpbrk(text, "<>");
        double value = sheet_pixels(text, strlen(text));
        bool equal = sign != NULL && sign[1] == '=' && size == value;
        good = equal || (sign != NULL && (*sign == '<' ? value < size : value > size));
    }
    if (*after == '<' || *after == '>') {
        double value = sheet_pixels(after + 1 + (after[1] == '='), strlen(after) - 1);
        bool equal = after[1] == '=' && size == value;
        good = good && (equal || (*after == '<' ? size < value : size > value));
    }
    return good;
}

/* One query: "screen and (min-width: 600px)", "not print". Brackets in brackets are calls of this
 * function, and each looks for its end anew: a page of nothing but opening brackets would cost its
 * square, and the stack. Beyond NESTING_MAX what a bracket holds is no feature, so it is false. */
static bool sheet_has_media(const char *p, const char *end, unsigned nesting)
{
    /* `negated` is applied when a part ends, so that "not screen and (x)" denies all of it. "and"
     * is the rule without being said: every part must be true. */
    bool negated = false;
    bool good = true;
    while (p < end) {
        if (*p == '(') {
            const char *close = sheet_find(p + 1, end, ")");
            bool nests = nesting < NESTING_MAX && sheet_find(p + 1, close, "(") < close;
            good = good && (nests ? sheet_has_media(p + 1, close, nesting + 1)
                                  : sheet_has_feature(p + 1, close));
            p = close < end ? close + 1 : end;
            continue;
        }
        const char *word = p;
        p = find_class(p, end, SCAN_SPACE);
        const char *bracket = find_byte(word, p, '(');
        p = bracket;
        size_t n = (size_t)(p - word);
        if (ascii_is(word, n, "not")) {
            negated = !negated;
        } else if (ascii_is(word, n, "or")) {
            if (good != negated) {
                return true;
            }
            good = true; /* what is before the "or" is false: it begins anew */
            negated = false;
        } else if (n > 0) {
            good = good && (ascii_is(word, n, "and") || ascii_is(word, n, "only") ||
                            ascii_is(word, n, "all") || ascii_is(word, n, "screen"));
        }
        p = skip_class(p, end, SCAN_SPACE);
    }
    return good != negated;
}

bool visible_sheet_has_media(const char *p, const char *end)
{
    p = skip_class(p, end, SCAN_SPACE);
    bool good = p == end;
    while (p < end && !good) {
        const char *comma = sheet_find(p, end, ",");
        good = sheet_has_media(p, comma, 0);
        p = comma < end ? skip_class(comma + 1, end, SCAN_SPACE) : end;
    }
    return good;
}

/* ---- sheets ---- */

static void sheet_read_rules(SheetReader *r);

/* url("x") or "x", then media. */
static void sheet_read_import(SheetReader *r, const char *end)
{
    sheet_skip_spaces(r);
    bool is_url = end - r->p > 4 && strncasecmp(r->p, "url(", 4) == 0;
    r->p += is_url ? 4 : 0;
    sheet_skip_spaces(r);
    HtmlSlice reference = {.bytes = r->p};
    if (r->p < end && (*r->p == '"' || *r->p == '\'')) {
        reference = sheet_take_value(r);
    } else {
        reference.length = (size_t)(find_byte(r->p, end, ')') - r->p);
        r->p += reference.length;
        ascii_trim(&reference.bytes, &reference.length);
    }
    sheet_skip_spaces(r);
    r->p += is_url && r->p < end ? 1 : 0;
    VisibleSheet *sheet = r->sheet;
    if (r->p <= end && visible_sheet_has_media(r->p, end)) {
        r->failed |= array_add(&sheet->imports, &sheet->n_imports, sizeof reference, &reference) !=
                     RESULT_OK;
    }
}

/* An at-rule; p is behind the "@". */
static void sheet_read_at_rule(SheetReader *r)
{
    HtmlSlice name = sheet_take_name(r);
    const char *prelude = r->p;
    const char *stop = sheet_find(r->p, r->end, "{;");
    bool has_block = stop < r->end && *stop == '{';
    const char *close = has_block ? sheet_find(stop + 1, r->end, "}") : stop;
    bool layer = ascii_is(name.bytes, name.length, "layer");
    /* An @import behind a rule does not count (Cascade 5, 2). */
    if (ascii_is(name.bytes, name.length, "import") && !has_block && r->sheet->n_rules == 0) {
        sheet_read_import(r, stop);
    }
    sheet_skip_spaces(r);
    /* @supports holds unless it begins with "not": a browser of today knows what a page asks for.
     * @font-face, @keyframes and the like are not entered; their blocks have no rules for
     * elements. */
    bool enters =
        layer ||
        (ascii_is(name.bytes, name.length, "media") && visible_sheet_has_media(prelude, stop)) ||
        (ascii_is(name.bytes, name.length, "supports") && strncasecmp(r->p, "not", 3) != 0);
    if (has_block && enters && r->nesting < NESTING_MAX) {
        /* The reader of the block sees its end as that of the text, so that a bracket too many in
         * it cannot swallow the rest of the sheet. */
        SheetReader inner = *r;
        inner.p = stop + 1;
        inner.end = close;
        inner.nesting++;
        inner.layered |= layer;
        sheet_read_rules(&inner);
        r->failed |= inner.failed;
    }
    r->p = close < r->end ? close + 1 : r->end;
}

static void sheet_read_rules(SheetReader *r)
{
    while (!r->failed) {
        sheet_skip_spaces(r);
        if (r->p == r->end) {
            return;
        }
        if (*r->p == '@') {
            r->p++;
            sheet_read_at_rule(r);
            continue;
        }
        const char *block = sheet_find(r->p, r->end, "{");
        const char *close = block < r->end ? sheet_find(block + 1, r->end, "}") : r->end;
        if (block < r->end) {
            sheet_read_rule(r, block, block + 1, close);
        }
        r->p = close < r->end ? close + 1 : r->end;
    }
}

/* A copy without comments, and without the marks of comments of HTML around it. A comment becomes
 * nothing rather than a space, so a name with a comment in it is one name here and two in a
 * browser. Names are unescaped within the copy; the page's bytes stay as they are. */
static char *sheet_copy(Arena *arena, HtmlSlice text, size_t *length)
{
    char *copy = arena_alloc_bytes(arena, text.length + 1);
    const char *end = text.bytes + text.length;
    char *out = copy;
    for (const char *p = text.bytes; copy != NULL && p < end;) {
        if (skim_starts(p, end, "/*", 2)) {
            const char *close = memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);
            p = close == NULL ? end : close + 2;
        } else if (skim_starts(p, end, "<!--", 4) || skim_starts(p, end, "-->", 3)) {
            p += *p == '<' ? 4 : 3;
        } else {
            *out++ = *p++;
        }
    }
    if (copy == NULL) {
        return NULL;
    }
    *out = '\0'; /* a word that ends with the sheet is looked at up to here */
    *length = (size_t)(out - copy);
    return copy;
}

void visible_sheet_delete(VisibleSheet *sheet)
{
    if (sheet != NULL) {
        arena_destroy(&sheet->arena);
        map_destroy(&sheet->by_key);
        free(sheet->simples);
        free(sheet->compounds);
        free(sheet->declarations);
        free(sheet->rules);
        free(sheet->imports);
        free(sheet);
    }
}

VisibleSheet *visible_sheet_new(HtmlSlice text)
{
    VisibleSheet *sheet = calloc(1, sizeof *sheet);
    if (sheet == NULL) {
        return NULL;
    }
    /* Index 0 means "none" in both arrays, so something that is never asked for stands there.
     */
    static const SheetSimple no_simple = {.kind = SHEET_NEVER};
    static const SheetCompound no_compound = {.combinator = ' '};
    arena_init(&sheet->arena, 4096, SIZE_MAX);
    map_init(&sheet->by_key);
    SheetReader reader = {.sheet = sheet};
    (void)sheet_add_simple(&reader, &no_simple);
    reader.failed |= array_add(&sheet->compounds, &sheet->n_compounds, sizeof no_compound,
                               &no_compound) != RESULT_OK;
    size_t length = 0;
    reader.p = sheet_copy(&sheet->arena, text, &length);
    if (reader.p != NULL && !reader.failed) {
        reader.end = reader.p + length;
        sheet_read_rules(&reader);
    }
    if (reader.p == NULL || reader.failed) {
        visible_sheet_delete(sheet);
        return NULL;
    }
    return sheet;
}
