/* The elements and attributes that HTML knows, and what the tree rules need to know about them.
 *
 * What: a name is reduced to a 64-bit key (its letters lower-cased). The known names are found by a
 * perfect hash, so that telling one tag from another costs a multiplication. Names longer than 16
 * bytes are told apart by a hash of their bytes.
 * Threads: pure functions.
 * Source: html.spec.whatwg.org 13.2. */
#ifndef PARSE_TEXT_HTML_TAGS_H
#define PARSE_TEXT_HTML_TAGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum HtmlTagId {
    HTML_UNKNOWN, /* no element of HTML */
    HTML_A,
    HTML_ABBR,
    HTML_ACRONYM,
    HTML_ADDRESS,
    HTML_APPLET,
    HTML_AREA,
    HTML_ARTICLE,
    HTML_ASIDE,
    HTML_AUDIO,
    HTML_B,
    HTML_BASE,
    HTML_BASEFONT,
    HTML_BDI,
    HTML_BDO,
    HTML_BGSOUND,
    HTML_BIG,
    HTML_BLINK,
    HTML_BLOCKQUOTE,
    HTML_BODY,
    HTML_BR,
    HTML_BUTTON,
    HTML_CANVAS,
    HTML_CAPTION,
    HTML_CENTER,
    HTML_CITE,
    HTML_CODE,
    HTML_COL,
    HTML_COLGROUP,
    HTML_DATA,
    HTML_DATALIST,
    HTML_DD,
    HTML_DEL,
    HTML_DETAILS,
    HTML_DFN,
    HTML_DIALOG,
    HTML_DIR,
    HTML_DIV,
    HTML_DL,
    HTML_DT,
    HTML_EM,
    HTML_EMBED,
    HTML_FIELDSET,
    HTML_FIGCAPTION,
    HTML_FIGURE,
    HTML_FONT,
    HTML_FOOTER,
    HTML_FORM,
    HTML_FRAME,
    HTML_FRAMESET,
    HTML_H1,
    HTML_H2,
    HTML_H3,
    HTML_H4,
    HTML_H5,
    HTML_H6,
    HTML_HEAD,
    HTML_HEADER,
    HTML_HGROUP,
    HTML_HR,
    HTML_HTML,
    HTML_I,
    HTML_IFRAME,
    HTML_IMAGE,
    HTML_IMG,
    HTML_INPUT,
    HTML_INS,
    HTML_ISINDEX,
    HTML_KBD,
    HTML_KEYGEN,
    HTML_LABEL,
    HTML_LEGEND,
    HTML_LI,
    HTML_LINK,
    HTML_LISTING,
    HTML_MAIN,
    HTML_MAP,
    HTML_MARK,
    HTML_MARQUEE,
    HTML_MATH,
    HTML_MENU,
    HTML_MENUITEM,
    HTML_META,
    HTML_METER,
    HTML_MULTICOL,
    HTML_NAV,
    HTML_NEXTID,
    HTML_NOBR,
    HTML_NOEMBED,
    HTML_NOFRAMES,
    HTML_NOSCRIPT,
    HTML_OBJECT,
    HTML_OL,
    HTML_OPTGROUP,
    HTML_OPTION,
    HTML_OUTPUT,
    HTML_P,
    HTML_PARAM,
    HTML_PICTURE,
    HTML_PLAINTEXT,
    HTML_PRE,
    HTML_PROGRESS,
    HTML_Q,
    HTML_RB,
    HTML_RBC,
    HTML_RP,
    HTML_RT,
    HTML_RTC,
    HTML_RUBY,
    HTML_S,
    HTML_SAMP,
    HTML_SCRIPT,
    HTML_SEARCH,
    HTML_SECTION,
    HTML_SELECT,
    HTML_SLOT,
    HTML_SMALL,
    HTML_SOURCE,
    HTML_SPACER,
    HTML_SPAN,
    HTML_STRIKE,
    HTML_STRONG,
    HTML_STYLE,
    HTML_SUB,
    HTML_SUMMARY,
    HTML_SUP,
    HTML_SVG,
    HTML_TABLE,
    HTML_TBODY,
    HTML_TD,
    HTML_TEMPLATE,
    HTML_TEXTAREA,
    HTML_TFOOT,
    HTML_TH,
    HTML_THEAD,
    HTML_TIME,
    HTML_TITLE,
    HTML_TR,
    HTML_TRACK,
    HTML_TT,
    HTML_U,
    HTML_UL,
    HTML_VAR,
    HTML_VIDEO,
    HTML_WBR,
    HTML_XMP,
    HTML_MI,
    HTML_MO,
    HTML_MN,
    HTML_MS,
    HTML_MTEXT,
    HTML_ANNOTATION_XML,
    HTML_MGLYPH,
    HTML_MALIGNMARK,
    HTML_FOREIGNOBJECT,
    HTML_DESC,
    HTML_USE,
    HTML_TAGS /* how many */
} HtmlTagId;

typedef enum HtmlAttributeId {
    HTML_ATTR_HREF,
    HTML_ATTR_SRC,
    HTML_ATTR_SRCSET,
    HTML_ATTR_IMAGESRCSET,
    HTML_ATTR_REL,
    HTML_ATTR_CONTENT,
    HTML_ATTR_HTTP_EQUIV,
    HTML_ATTR_NAME,
    HTML_ATTR_CHARSET,
    HTML_ATTR_ACTION,
    HTML_ATTR_FORMACTION,
    HTML_ATTR_DATA,
    HTML_ATTR_POSTER,
    HTML_ATTR_BACKGROUND,
    HTML_ATTR_XLINK_HREF,
    HTML_ATTR_TYPE,
    HTML_ATTR_ENCODING,
    HTML_ATTR_COLOR,
    HTML_ATTR_FACE,
    HTML_ATTR_SIZE,
    HTML_ATTR_HIDDEN,
    HTML_ATTR_STYLE,
    HTML_ATTR_OPEN,
    HTML_ATTR_ROLE,
    HTML_ATTR_LANG,
    HTML_ATTR_XML_LANG,
    HTML_ATTR_ALT,
    HTML_ATTR_PROPERTY,
    HTML_ATTR_POPOVER,
    HTML_ATTRS /* how many; at most 32 */
} HtmlAttributeId;

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
           ((words[1] | lower_case) & keep[length - 8]) * UINT64_C(0x9E3779B97F4A7C15);
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
#define HTML_ATTR_MULTIPLIER UINT64_C(7399589116837456607)
#define HTML_ATTR_SHIFT      57

extern const uint8_t html_tag_slots[2048];
extern const uint8_t html_attribute_slots[128];
extern const uint64_t html_tag_keys[HTML_TAGS];
extern const uint64_t html_attribute_keys[HTML_ATTRS + 1];

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

#endif
