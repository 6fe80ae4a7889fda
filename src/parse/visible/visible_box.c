#include "parse/visible/visible_box.h"

#define BLOCK                                                                                      \
    {                                                                                              \
        VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE                                     \
    }
#define FORMATTING                                                                                 \
    {                                                                                              \
        VISIBLE_BOX_INLINE, VISIBLE_FORMATTING                                                     \
    }
#define HEADING                                                                                    \
    {                                                                                              \
        VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_HEADING                   \
    }
#define OBJECT                                                                                     \
    {                                                                                              \
        VISIBLE_BOX_OBJECT, 0                                                                      \
    }
#define NONE                                                                                       \
    {                                                                                              \
        VISIBLE_BOX_NONE, 0                                                                        \
    }

const VisibleTraits visible_traits[HTML_TAGS] = {
    [HTML_A] = FORMATTING,
    [HTML_ADDRESS] = BLOCK,
    [HTML_APPLET] = {VISIBLE_BOX_INLINE_BLOCK, VISIBLE_IN_SCOPE},
    [HTML_AREA] = NONE,
    [HTML_ARTICLE] = BLOCK,
    [HTML_ASIDE] = BLOCK,
    [HTML_AUDIO] = NONE,
    [HTML_B] = FORMATTING,
    [HTML_BASE] = NONE,
    [HTML_BIG] = FORMATTING,
    [HTML_BLOCKQUOTE] = BLOCK,
    [HTML_BUTTON] = {VISIBLE_BOX_INLINE_BLOCK, VISIBLE_IN_SCOPE},
    [HTML_CANVAS] = NONE,
    [HTML_CAPTION] = {VISIBLE_BOX_BLOCK, 0},
    [HTML_CENTER] = BLOCK,
    [HTML_CODE] = FORMATTING,
    [HTML_DATALIST] = NONE,
    [HTML_DD] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_DETAILS] = {VISIBLE_BOX_BLOCK,
                      VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_CLOSED_DETAILS},
    [HTML_DIALOG] = {VISIBLE_BOX_NONE, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE},
    [HTML_DIR] = BLOCK,
    [HTML_DIV] = BLOCK,
    [HTML_DL] = BLOCK,
    [HTML_DT] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_EM] = FORMATTING,
    [HTML_EMBED] = OBJECT,
    [HTML_FIELDSET] = BLOCK,
    [HTML_FIGCAPTION] = BLOCK,
    [HTML_FIGURE] = BLOCK,
    [HTML_FONT] = FORMATTING,
    [HTML_FOOTER] = BLOCK,
    [HTML_FORM] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE},
    [HTML_H1] = HEADING,
    [HTML_H2] = HEADING,
    [HTML_H3] = HEADING,
    [HTML_H4] = HEADING,
    [HTML_H5] = HEADING,
    [HTML_H6] = HEADING,
    [HTML_HEADER] = BLOCK,
    [HTML_HGROUP] = BLOCK,
    [HTML_HR] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P},
    [HTML_I] = FORMATTING,
    [HTML_IFRAME] = OBJECT,
    [HTML_IMAGE] = OBJECT,
    [HTML_IMG] = OBJECT,
    [HTML_INPUT] = OBJECT,
    [HTML_LEGEND] = {VISIBLE_BOX_BLOCK, 0},
    [HTML_LI] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_LINK] = NONE,
    [HTML_LISTING] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_KEEPS_WHITE},
    [HTML_MAIN] = BLOCK,
    [HTML_MARQUEE] = {VISIBLE_BOX_INLINE_BLOCK, VISIBLE_IN_SCOPE},
    [HTML_MENU] = BLOCK,
    [HTML_META] = NONE,
    [HTML_METER] = NONE,
    [HTML_NAV] = BLOCK,
    [HTML_NOBR] = FORMATTING,
    [HTML_NOEMBED] = NONE,
    [HTML_NOFRAMES] = NONE,
    [HTML_NOSCRIPT] = NONE,
    [HTML_OBJECT] = {VISIBLE_BOX_INLINE, VISIBLE_IN_SCOPE},
    [HTML_OL] = BLOCK,
    [HTML_OPTGROUP] = {VISIBLE_BOX_BLOCK, VISIBLE_IMPLIED_END},
    [HTML_OPTION] = {VISIBLE_BOX_BLOCK, VISIBLE_IMPLIED_END},
    [HTML_P] = {VISIBLE_BOX_PARAGRAPH, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_PARAM] = NONE,
    [HTML_PLAINTEXT] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_KEEPS_WHITE},
    [HTML_PRE] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_KEEPS_WHITE},
    [HTML_PROGRESS] = NONE,
    [HTML_RB] = {VISIBLE_BOX_INLINE, VISIBLE_IMPLIED_END},
    [HTML_RP] = {VISIBLE_BOX_NONE, VISIBLE_IMPLIED_END},
    [HTML_RT] = {VISIBLE_BOX_INLINE, VISIBLE_IMPLIED_END},
    [HTML_RTC] = {VISIBLE_BOX_INLINE, VISIBLE_IMPLIED_END},
    [HTML_S] = FORMATTING,
    [HTML_SCRIPT] = NONE,
    [HTML_SEARCH] = BLOCK,
    [HTML_SECTION] = BLOCK,
    [HTML_SELECT] = {VISIBLE_BOX_INLINE_BLOCK, VISIBLE_IN_SCOPE},
    [HTML_SMALL] = FORMATTING,
    [HTML_SOURCE] = NONE,
    [HTML_STRIKE] = FORMATTING,
    [HTML_STRONG] = FORMATTING,
    [HTML_STYLE] = NONE,
    [HTML_SUMMARY] = BLOCK,
    [HTML_TABLE] = {VISIBLE_BOX_TABLE, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE},
    [HTML_TBODY] = {VISIBLE_BOX_ROWS, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_TD] = {VISIBLE_BOX_CELL, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_TEMPLATE] = {VISIBLE_BOX_NONE, VISIBLE_IN_SCOPE},
    [HTML_TEXTAREA] = OBJECT,
    [HTML_TFOOT] = {VISIBLE_BOX_ROWS, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_TH] = {VISIBLE_BOX_CELL, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_THEAD] = {VISIBLE_BOX_ROWS, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_TITLE] = NONE,
    [HTML_TR] = {VISIBLE_BOX_ROW, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END},
    [HTML_TRACK] = NONE,
    [HTML_TT] = FORMATTING,
    [HTML_U] = FORMATTING,
    [HTML_UL] = BLOCK,
    [HTML_VIDEO] = NONE,
    [HTML_XMP] = {VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_KEEPS_WHITE},
};
