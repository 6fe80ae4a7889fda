/* The elements and attributes that HTML knows, and what the tree rules need to know about them.
 *
 * What: a name is reduced to a 64-bit key (its letters lower-cased). The known names are found by a
 * perfect hash, so that telling one tag from another costs a multiplication. Names longer than 16
 * bytes are told apart by a hash of their bytes.
 * Threads: pure functions.
 * Source: html.spec.whatwg.org 13.2. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The names: the word of the constant, the name, its slot of the perfect hash below; of an element
 * also which attributes matter on it and its flags, in words of html_tags.c, and how it is seen,
 * in those of visible_stack.c.
 * A new name's slot is what the hash makes of its key; test_html says when another name has it. */
/* clang-format off */
#define HTML_TAG_LIST(TAG) \
    TAG(A, "a", 1924, HREF | REL | XLINK_HREF, 0, FORMATTING) \
    TAG(ABBR, "abbr", 966, 0, 0, INLINE) \
    TAG(ACRONYM, "acronym", 906, 0, 0, INLINE) \
    TAG(ADDRESS, "address", 204, 0, SPECIAL, BLOCK) \
    TAG(APPLET, "applet", 344, 0, NO_FRAMESET | SPECIAL | SCOPE, WIDGET) \
    TAG(AREA, "area", 1073, HREF | REL, VOID | NO_FRAMESET | SPECIAL, NONE) \
    TAG(ARTICLE, "article", 2047, 0, SPECIAL, BLOCK) \
    TAG(ASIDE, "aside", 20, 0, SPECIAL, BLOCK) \
    TAG(AUDIO, "audio", 1756, SRC, 0, NONE) \
    TAG(B, "b", 804, 0, BREAKOUT, FORMATTING) \
    TAG(BASE, "base", 152, HREF, VOID | HEAD | SPECIAL, NONE) \
    TAG(BASEFONT, "basefont", 1355, 0, VOID | HEAD | SPECIAL, INLINE) \
    TAG(BDI, "bdi", 1761, 0, 0, INLINE) \
    TAG(BDO, "bdo", 476, 0, 0, INLINE) \
    TAG(BGSOUND, "bgsound", 863, 0, VOID | HEAD | SPECIAL, INLINE) \
    TAG(BIG, "big", 1825, 0, BREAKOUT, FORMATTING) \
    TAG(BLINK, "blink", 867, 0, 0, INLINE) \
    TAG(BLOCKQUOTE, "blockquote", 736, 0, BREAKOUT | SPECIAL, BLOCK) \
    TAG(BODY, "body", 1899, BACKGROUND, BREAKOUT | NO_FRAMESET | SPECIAL, INLINE) \
    TAG(BR, "br", 692, 0, VOID | BREAKOUT | NO_FRAMESET | SPECIAL, INLINE) \
    TAG(BUTTON, "button", 368, FORMACTION, NO_FRAMESET | SPECIAL, WIDGET) \
    TAG(CANVAS, "canvas", 3, 0, 0, NONE) \
    TAG(CAPTION, "caption", 71, 0, SPECIAL | SCOPE, CAPTION) \
    TAG(CENTER, "center", 1914, 0, BREAKOUT | SPECIAL, BLOCK) \
    TAG(CITE, "cite", 283, 0, 0, INLINE) \
    TAG(CODE, "code", 1224, 0, BREAKOUT, FORMATTING) \
    TAG(COL, "col", 1245, 0, VOID | SPECIAL, INLINE) \
    TAG(COLGROUP, "colgroup", 1106, 0, SPECIAL, INLINE) \
    TAG(DATA, "data", 1883, 0, 0, INLINE) \
    TAG(DATALIST, "datalist", 1523, 0, 0, NONE) \
    TAG(DD, "dd", 1519, 0, BREAKOUT | NO_FRAMESET | SPECIAL, ITEM) \
    TAG(DEL, "del", 853, 0, 0, INLINE) \
    TAG(DETAILS, "details", 574, 0, SPECIAL, DETAILS) \
    TAG(DFN, "dfn", 352, 0, 0, INLINE) \
    TAG(DIALOG, "dialog", 615, 0, 0, DIALOG) \
    TAG(DIR, "dir", 1325, 0, SPECIAL, BLOCK) \
    TAG(DIV, "div", 469, 0, BREAKOUT | SPECIAL, BLOCK) \
    TAG(DL, "dl", 937, 0, BREAKOUT | SPECIAL, BLOCK) \
    TAG(DT, "dt", 354, 0, BREAKOUT | NO_FRAMESET | SPECIAL, ITEM) \
    TAG(EM, "em", 1792, 0, BREAKOUT, FORMATTING) \
    TAG(EMBED, "embed", 1610, SRC, VOID | BREAKOUT | NO_FRAMESET | SPECIAL, OBJECT) \
    TAG(FIELDSET, "fieldset", 33, 0, SPECIAL, BLOCK) \
    TAG(FIGCAPTION, "figcaption", 714, 0, SPECIAL, BLOCK) \
    TAG(FIGURE, "figure", 1512, 0, SPECIAL, BLOCK) \
    TAG(FONT, "font", 1020, COLOR | FACE | SIZE, 0, FORMATTING) \
    TAG(FOOTER, "footer", 1707, 0, SPECIAL, BLOCK) \
    TAG(FORM, "form", 832, ACTION, SPECIAL, BLOCK) \
    TAG(FRAME, "frame", 612, SRC, VOID | SPECIAL, INLINE) \
    TAG(FRAMESET, "frameset", 1174, 0, SPECIAL, INLINE) \
    TAG(H1, "h1", 753, 0, BREAKOUT | SPECIAL, HEADING) \
    TAG(H2, "h2", 680, 0, BREAKOUT | SPECIAL, HEADING) \
    TAG(H3, "h3", 607, 0, BREAKOUT | SPECIAL, HEADING) \
    TAG(H4, "h4", 534, 0, BREAKOUT | SPECIAL, HEADING) \
    TAG(H5, "h5", 462, 0, BREAKOUT | SPECIAL, HEADING) \
    TAG(H6, "h6", 389, 0, BREAKOUT | SPECIAL, HEADING) \
    TAG(HEAD, "head", 599, 0, BREAKOUT | HEAD | SPECIAL, INLINE) \
    TAG(HEADER, "header", 1499, 0, SPECIAL, BLOCK) \
    TAG(HGROUP, "hgroup", 782, 0, SPECIAL, BLOCK) \
    TAG(HR, "hr", 115, 0, VOID | BREAKOUT | NO_FRAMESET | SPECIAL, RULE) \
    TAG(HTML, "html", 856, LANG | XML_LANG, HEAD | SPECIAL | SCOPE, INLINE) \
    TAG(I, "i", 1154, 0, BREAKOUT, FORMATTING) \
    TAG(IFRAME, "iframe", 351, SRC, NO_FRAMESET | SPECIAL, OBJECT) \
    TAG(IMAGE, "image", 821, SRC | SRCSET | HREF | XLINK_HREF, VOID | NO_FRAMESET, OBJECT) \
    TAG(IMG, "img", 1884, SRC | SRCSET, VOID | BREAKOUT | NO_FRAMESET | SPECIAL, OBJECT) \
    TAG(INPUT, "input", 913, TYPE | SRC | FORMACTION, VOID | NO_FRAMESET | SPECIAL, OBJECT) \
    TAG(INS, "ins", 1290, 0, 0, INLINE) \
    TAG(ISINDEX, "isindex", 1631, 0, 0, INLINE) \
    TAG(KBD, "kbd", 1086, 0, 0, INLINE) \
    TAG(KEYGEN, "keygen", 2035, 0, VOID | NO_FRAMESET | SPECIAL, INLINE) \
    TAG(LABEL, "label", 295, 0, 0, INLINE) \
    TAG(LEGEND, "legend", 1159, 0, 0, CAPTION) \
    TAG(LI, "li", 385, 0, BREAKOUT | NO_FRAMESET | SPECIAL, ITEM) \
    TAG(LINK, "link", 568, HREF | REL | TYPE | IMAGESRCSET, VOID | HEAD | SPECIAL, NONE) \
    TAG(LISTING, "listing", 330, 0, BREAKOUT | NO_FRAMESET | SPECIAL, PRE) \
    TAG(MAIN, "main", 522, 0, SPECIAL, BLOCK) \
    TAG(MAP, "map", 446, 0, 0, INLINE) \
    TAG(MARK, "mark", 1222, 0, 0, INLINE) \
    TAG(MARQUEE, "marquee", 1715, 0, NO_FRAMESET | SPECIAL | SCOPE, WIDGET) \
    TAG(MATH, "math", 1372, 0, 0, INLINE) \
    TAG(MENU, "menu", 540, 0, BREAKOUT | SPECIAL, BLOCK) \
    TAG(MENUITEM, "menuitem", 613, 0, 0, INLINE) \
    TAG(META, "meta", 1749, CONTENT | HTTP_EQUIV | NAME | CHARSET, \
        VOID | BREAKOUT | HEAD | SPECIAL, NONE) \
    TAG(METER, "meter", 1829, 0, 0, NONE) \
    TAG(MULTICOL, "multicol", 1359, 0, 0, INLINE) \
    TAG(NAV, "nav", 89, 0, SPECIAL, BLOCK) \
    TAG(NEXTID, "nextid", 372, 0, 0, INLINE) \
    TAG(NOBR, "nobr", 1840, 0, BREAKOUT, FORMATTING) \
    TAG(NOEMBED, "noembed", 900, 0, SPECIAL, NONE) \
    TAG(NOFRAMES, "noframes", 1843, 0, HEAD | SPECIAL, NONE) \
    TAG(NOSCRIPT, "noscript", 1952, 0, HEAD | SPECIAL, NONE) \
    TAG(OBJECT, "object", 1067, DATA, NO_FRAMESET | SPECIAL | SCOPE, SCOPED) \
    TAG(OL, "ol", 902, 0, BREAKOUT | SPECIAL, BLOCK) \
    TAG(OPTGROUP, "optgroup", 213, 0, 0, OPTION) \
    TAG(OPTION, "option", 1261, 0, 0, OPTION) \
    TAG(OUTPUT, "output", 800, 0, 0, INLINE) \
    TAG(P, "p", 1504, 0, BREAKOUT | SPECIAL, PARAGRAPH) \
    TAG(PARAM, "param", 1120, 0, VOID | SPECIAL, NONE) \
    TAG(PICTURE, "picture", 904, 0, 0, INLINE) \
    TAG(PLAINTEXT, "plaintext", 1063, 0, SPECIAL, PLAIN) \
    TAG(PRE, "pre", 250, 0, BREAKOUT | NO_FRAMESET | SPECIAL, PRE) \
    TAG(PROGRESS, "progress", 632, 0, 0, NONE) \
    TAG(Q, "q", 383, 0, 0, INLINE) \
    TAG(RB, "rb", 317, 0, 0, RUBY) \
    TAG(RBC, "rbc", 1651, 0, 0, INLINE) \
    TAG(RP, "rp", 1345, 0, 0, RUBY_NONE) \
    TAG(RT, "rt", 1054, 0, 0, RUBY) \
    TAG(RTC, "rtc", 339, 0, 0, RUBY) \
    TAG(RUBY, "ruby", 350, 0, BREAKOUT, INLINE) \
    TAG(S, "s", 191, 0, BREAKOUT, FORMATTING) \
    TAG(SAMP, "samp", 67, 0, 0, INLINE) \
    TAG(SCRIPT, "script", 569, SRC | HREF | XLINK_HREF, HEAD | SPECIAL, NONE) \
    TAG(SEARCH, "search", 734, 0, SPECIAL, BLOCK) \
    TAG(SECTION, "section", 1023, 0, SPECIAL, BLOCK) \
    TAG(SELECT, "select", 35, 0, NO_FRAMESET | SPECIAL, WIDGET) \
    TAG(SLOT, "slot", 797, 0, 0, INLINE) \
    TAG(SMALL, "small", 1365, 0, BREAKOUT, FORMATTING) \
    TAG(SOURCE, "source", 1910, SRC | SRCSET, VOID | SPECIAL, NONE) \
    TAG(SPACER, "spacer", 173, 0, 0, INLINE) \
    TAG(SPAN, "span", 564, 0, BREAKOUT, INLINE) \
    TAG(STRIKE, "strike", 1385, 0, BREAKOUT, FORMATTING) \
    TAG(STRONG, "strong", 868, 0, BREAKOUT, FORMATTING) \
    TAG(STYLE, "style", 755, 0, HEAD | SPECIAL, NONE) \
    TAG(SUB, "sub", 1408, 0, BREAKOUT, INLINE) \
    TAG(SUMMARY, "summary", 1550, 0, SPECIAL, BLOCK) \
    TAG(SUP, "sup", 459, 0, BREAKOUT, INLINE) \
    TAG(SVG, "svg", 265, 0, 0, INLINE) \
    TAG(TABLE, "table", 1847, 0, BREAKOUT | NO_FRAMESET | SPECIAL | SCOPE, TABLE) \
    TAG(TBODY, "tbody", 2037, 0, SPECIAL, ROWS) \
    TAG(TD, "td", 2027, 0, SPECIAL | SCOPE, CELL) \
    TAG(TEMPLATE, "template", 1141, 0, HEAD | SPECIAL | SCOPE, TEMPLATE) \
    TAG(TEXTAREA, "textarea", 1870, 0, NO_FRAMESET | SPECIAL, OBJECT) \
    TAG(TFOOT, "tfoot", 784, 0, SPECIAL, ROWS) \
    TAG(TH, "th", 1736, 0, SPECIAL | SCOPE, CELL) \
    TAG(THEAD, "thead", 1001, 0, SPECIAL, ROWS) \
    TAG(TIME, "time", 1169, 0, 0, INLINE) \
    TAG(TITLE, "title", 1506, 0, HEAD | SPECIAL, NONE) \
    TAG(TR, "tr", 1007, 0, SPECIAL, ROW) \
    TAG(TRACK, "track", 1166, SRC, VOID | SPECIAL, NONE) \
    TAG(TT, "tt", 861, 0, BREAKOUT, FORMATTING) \
    TAG(U, "u", 2046, 0, BREAKOUT, FORMATTING) \
    TAG(UL, "ul", 324, 0, BREAKOUT | SPECIAL, BLOCK) \
    TAG(VAR, "var", 175, 0, BREAKOUT, INLINE) \
    TAG(VIDEO, "video", 1721, SRC | POSTER, 0, NONE) \
    TAG(WBR, "wbr", 1030, 0, VOID | NO_FRAMESET | SPECIAL, INLINE) \
    TAG(XMP, "xmp", 1584, 0, NO_FRAMESET | SPECIAL, PLAIN) \
    TAG(MI, "mi", 1313, 0, 0, INLINE) \
    TAG(MO, "mo", 876, 0, 0, INLINE) \
    TAG(MN, "mn", 948, 0, 0, INLINE) \
    TAG(MS, "ms", 584, 0, 0, INLINE) \
    TAG(MTEXT, "mtext", 1867, 0, 0, INLINE) \
    TAG(ANNOTATION_XML, "annotation-xml", 520, ENCODING, 0, INLINE) \
    TAG(MGLYPH, "mglyph", 1953, 0, 0, INLINE) \
    TAG(MALIGNMARK, "malignmark", 1278, 0, 0, INLINE) \
    TAG(FOREIGNOBJECT, "foreignobject", 1358, 0, 0, INLINE) \
    TAG(DESC, "desc", 737, 0, 0, INLINE) \
    TAG(USE, "use", 719, HREF | XLINK_HREF, 0, INLINE)

#define HTML_ATTRIBUTE_LIST(ATTRIBUTE) \
    ATTRIBUTE(HREF, "href", 120) \
    ATTRIBUTE(SRC, "src", 68) \
    ATTRIBUTE(SRCSET, "srcset", 95) \
    ATTRIBUTE(IMAGESRCSET, "imagesrcset", 27) \
    ATTRIBUTE(REL, "rel", 1) \
    ATTRIBUTE(CONTENT, "content", 6) \
    ATTRIBUTE(HTTP_EQUIV, "http-equiv", 104) \
    ATTRIBUTE(NAME, "name", 10) \
    ATTRIBUTE(CHARSET, "charset", 118) \
    ATTRIBUTE(ACTION, "action", 16) \
    ATTRIBUTE(FORMACTION, "formaction", 79) \
    ATTRIBUTE(DATA, "data", 78) \
    ATTRIBUTE(POSTER, "poster", 17) \
    ATTRIBUTE(BACKGROUND, "background", 23) \
    ATTRIBUTE(XLINK_HREF, "xlink:href", 86) \
    ATTRIBUTE(TYPE, "type", 84) \
    ATTRIBUTE(ENCODING, "encoding", 34) \
    ATTRIBUTE(COLOR, "color", 52) \
    ATTRIBUTE(FACE, "face", 90) \
    ATTRIBUTE(SIZE, "size", 39) \
    ATTRIBUTE(HIDDEN, "hidden", 89) \
    ATTRIBUTE(STYLE, "style", 64) \
    ATTRIBUTE(OPEN, "open", 38) \
    ATTRIBUTE(ROLE, "role", 115) \
    ATTRIBUTE(LANG, "lang", 47) \
    ATTRIBUTE(XML_LANG, "xml:lang", 40) \
    ATTRIBUTE(ALT, "alt", 44) \
    ATTRIBUTE(PROPERTY, "property", 106) \
    ATTRIBUTE(POPOVER, "popover", 124) \
    ATTRIBUTE(CLASS, "class", 55) \
    ATTRIBUTE(ID, "id", 123)
/* clang-format on */

#define HTML_TAG_CONSTANT(word, name, slot, attributes, flags, seen) HTML_##word,
typedef enum HtmlTagId {
    HTML_UNKNOWN,                              /* none of those below */
    HTML_TAG_LIST(HTML_TAG_CONSTANT) HTML_TAGS /* how many */
} HtmlTagId;
#undef HTML_TAG_CONSTANT

#define HTML_ATTRIBUTE_CONSTANT(word, name, slot) HTML_ATTR_##word,
typedef enum HtmlAttributeId {
    HTML_ATTRIBUTE_LIST(HTML_ATTRIBUTE_CONSTANT) HTML_ATTRS /* how many; at most 32 */
} HtmlAttributeId;
#undef HTML_ATTRIBUTE_CONSTANT

enum {                           /* flags of an element */
       HTML_TAG_VOID = 1,        /* has no end tag */
       HTML_TAG_BREAKOUT = 2,    /* ends SVG and MathML */
       HTML_TAG_HEAD = 4,        /* does not begin the body */
       HTML_TAG_NO_FRAMESET = 8, /* a frameset after it is ignored */
       HTML_TAG_SPECIAL = 16,    /* an end tag of another name does not close it */
       HTML_TAG_SCOPE = 32,      /* no end tag reaches through it */
};

typedef struct HtmlTagTraits {
    uint32_t attributes; /* bit set of the HtmlAttributeId that matter on it */
    uint8_t flags;       /* HTML_TAG_VOID ... */
} HtmlTagTraits;

extern const HtmlTagTraits html_tag_traits[HTML_TAGS];

/* The key of a name of any length; name may be short of 16 readable bytes. */
uint64_t html_name_key_of(const char *name, size_t length);

#define HTML_NAME_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15)

/* The key of a name of at most 16 bytes at which 16 bytes can be read. */
static inline uint64_t html_name_key_16(const char *name, size_t length)
{
    static const uint64_t keep[9] = {0,
                                     0xFF,
                                     0xFFFF,
                                     0xFFFFFF,
                                     0xFFFFFFFF,
                                     0xFFFFFFFFFF,
                                     0xFFFFFFFFFFFF,
                                     0xFFFFFFFFFFFFFF,
                                     0xFFFFFFFFFFFFFFFF};
    uint64_t words[2];
    memcpy(words, name, sizeof words);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    words[0] = __builtin_bswap64(words[0]);
    words[1] = __builtin_bswap64(words[1]);
#endif
    const uint64_t lower_case = UINT64_C(0x2020202020202020);
    if (length <= 8) {
        return (words[0] | lower_case) & keep[length];
    }
    return (words[0] | lower_case) ^
           ((words[1] | lower_case) & keep[length - 8]) * HTML_NAME_MULTIPLIER;
}

/* The same, whichever way is right: at_least bytes (>= length) can be read at name. */
static inline uint64_t html_name_key(const char *name, size_t length, size_t at_least)
{
    return at_least >= 16 && length <= 16 ? html_name_key_16(name, length)
                                          : html_name_key_of(name, length);
}

/* Perfect hashes: the slot (key * MULTIPLIER >> SHIFT) holds the number of the only name it can be.
 * The multipliers were found by trying random ones. */
#define HTML_TAG_MULTIPLIER  UINT64_C(8356118209733301053)
#define HTML_TAG_SHIFT       53
#define HTML_ATTR_MULTIPLIER UINT64_C(8968228559750713649)
#define HTML_ATTR_SHIFT      57

extern const uint8_t html_tag_slots[2048];
extern const uint8_t html_attribute_slots[128];
extern const uint64_t html_tag_keys[HTML_TAGS];
extern const uint64_t html_attribute_keys[HTML_ATTRS];

static inline HtmlTagId html_tag_of_key(uint64_t key)
{
    unsigned slot = html_tag_slots[key * HTML_TAG_MULTIPLIER >> HTML_TAG_SHIFT];
    return html_tag_keys[slot] == key ? (HtmlTagId)slot : HTML_UNKNOWN;
}

/* HTML_ATTRS: none of ours. */
static inline HtmlAttributeId html_attribute_of_key(uint64_t key)
{
    unsigned slot = html_attribute_slots[key * HTML_ATTR_MULTIPLIER >> HTML_ATTR_SHIFT];
    return html_attribute_keys[slot] == key ? (HtmlAttributeId)slot : HTML_ATTRS;
}
