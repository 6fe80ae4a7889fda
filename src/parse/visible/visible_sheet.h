/* A style sheet, read once: its rules as far as they say whether and how text is seen.
 *
 * What: the selectors of rules that declare display, visibility, white-space, float, position or
 * text-transform, and these values. @media, @supports and @layer are entered where they hold,
 * @import is noted. Media are those of a screen of VISIBLE_SCREEN_WIDTH by VISIBLE_SCREEN_HEIGHT
 * CSS pixels with a mouse, without scripts, in light colours.
 *
 * Departures: a selector that asks what follows (:last-child, :nth-last-child, :empty, :only-child,
 * :has), or that this does not know, never matches; all layers are one; rules within rules,
 * @container and @scope are passed over.
 *
 * Owns: a copy of the text, whose names are unescaped in place.
 * Threads: a sheet that was read is constant.
 * Errors: RESULT_MEMORY as NULL. Text of any kind is a style sheet.
 * Source: CSS Syntax 3, Selectors 4, Cascade 5, Media Queries 4. */
#pragma once

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "parse/text/skim_token.h"

#define VISIBLE_SCREEN_WIDTH  1280
#define VISIBLE_SCREEN_HEIGHT 800

/* The property display, as far as text goes. */
typedef enum VisibleBox {
    VISIBLE_BOX_INLINE,       /* also whatever is unknown */
    VISIBLE_BOX_BLOCK,        /* on lines of its own */
    VISIBLE_BOX_PARAGRAPH,    /* the same, with an empty line before and after */
    VISIBLE_BOX_INLINE_BLOCK, /* in the line, with lines of its own within */
    VISIBLE_BOX_OBJECT,       /* in the line, without text */
    VISIBLE_BOX_TABLE,
    VISIBLE_BOX_ROWS, /* thead, tbody, tfoot */
    VISIBLE_BOX_ROW,
    VISIBLE_BOX_CELL,
    VISIBLE_BOX_NONE /* not there, nor what is in it */
} VisibleBox;

/* The property white-space. */
typedef enum VisibleWhite {
    VISIBLE_WHITE_NORMAL,  /* runs of white space are one space */
    VISIBLE_WHITE_PRE,     /* all is kept */
    VISIBLE_WHITE_PRE_LINE /* the same as normal, but line feeds are kept */
} VisibleWhite;

/* The property text-transform. */
typedef enum VisibleCase {
    VISIBLE_CASE_KEPT,
    VISIBLE_CASE_UPPER,
    VISIBLE_CASE_LOWER,
    VISIBLE_CASE_TITLE
} VisibleCase;

typedef enum VisibleProperty {
    VISIBLE_DISPLAY, /* VisibleBox, and VISIBLE_FLEX */
    VISIBLE_HIDDEN,  /* visibility: 1, hidden */
    VISIBLE_WHITE,   /* VisibleWhite */
    VISIBLE_FLOAT,   /* 1: to a side */
    VISIBLE_AWAY,    /* position: 1, absolute or fixed */
    VISIBLE_CASE,    /* VisibleCase */
    VISIBLE_PROPERTIES
} VisibleProperty;

#define VISIBLE_FLEX    0x80u /* what is in the box is blocks */
#define VISIBLE_INHERIT 0x40u /* the value of what is around */

/* What a declaration weighs: these, then specificity, then the place. */
#define SHEET_WEIGHT_IMPORTANT (UINT64_C(1) << 63)
#define SHEET_WEIGHT_ATTRIBUTE (UINT64_C(1) << 62)
#define SHEET_WEIGHT_UNLAYERED (UINT64_C(1) << 61)

typedef enum SheetSimpleKind {
    SHEET_TAG,
    SHEET_NAME, /* a class or an id */
    SHEET_ATTRIBUTE,
    SHEET_ROOT,
    SHEET_NTH,         /* of the children of its parent */
    SHEET_NTH_OF_TYPE, /* of those with its name */
    SHEET_ONE_OF,      /* :is, :where */
    SHEET_NOT,
    SHEET_NEVER /* :hover, :visited and what else is of a user who does something */
} SheetSimpleKind;

/* One condition. Indices are those of the sheet's arrays; 0 is none. */
typedef struct SheetSimple {
    uint8_t kind;
    char op; /* of an attribute: '=', '~', '|', '^', '$', '*'; 0: it is there. Else '.' or '#' */
    uint32_t next; /* of the same compound */
    uint32_t list; /* the first compound of the list in :is() and :not() */
    int32_t a;     /* of a*n + b */
    int32_t b;
    uint64_t key; /* a tag's key, a name's hash */
    HtmlSlice name;
    HtmlSlice value;
} SheetSimple;

/* What must be true of one element, and where the one to the left of it stands. */
typedef struct SheetCompound {
    uint32_t simples;
    uint32_t left;
    uint32_t next;   /* in a list: the next selector's last compound */
    char combinator; /* between left and this: ' ', '>', '+', '~' */
} SheetCompound;

typedef struct SheetDeclaration {
    uint8_t property;
    uint8_t value;
    bool important;
} SheetDeclaration;

typedef struct SheetRule {
    uint32_t compound; /* the last one of its selector */
    uint32_t next;     /* with the same key */
    uint32_t first;    /* of declarations */
    uint32_t n;
    uint64_t weight; /* layer, specificity and place in the sheet */
} SheetRule;

typedef struct VisibleSheet {
    Arena arena; /* the text without comments, whose names are unescaped in place */
    SheetSimple *simples;
    size_t n_simples;
    SheetCompound *compounds;
    size_t n_compounds;
    SheetDeclaration *declarations;
    size_t n_declarations;
    SheetRule *rules;
    size_t n_rules;
    Map by_key;         /* the first rule with the key of its last compound, plus 1 */
    uint32_t universal; /* the first rule that has none, plus 1 */
    HtmlSlice *imports; /* URLs as they stand there */
    size_t n_imports;
} VisibleSheet;

/* NULL: there is no memory. */
VisibleSheet *visible_sheet_new(HtmlSlice text);
void visible_sheet_delete(VisibleSheet *sheet);

/* The next declaration from *p on that counts; a rule within a rule is passed over. False: there is
 * none. */
bool visible_sheet_next_declaration(const char **p, const char *end, SheetDeclaration *declaration);
/* Whether one of the media queries in a list holds; an empty list does. */
bool visible_sheet_has_media(const char *p, const char *end);
/* What a class (kind '.') or an id ('#') is known by, and where rules are filed (kind 0: a tag). */
uint64_t visible_sheet_hash(HtmlSlice name, char kind);
MapKey visible_sheet_key(uint64_t hash, char kind);
