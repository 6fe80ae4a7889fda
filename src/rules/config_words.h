/* Words of options: the rows of config.h, and what every part compares with.
 *
 * What: the lists that no other header owns, each with its enum (base/core/words.h). A part that
 * has an enum of its own for a choice (StayKind, WarcCompression) has the list beside it.
 * Invariants: the value of an option is the constant of its word. */
#pragma once

#include "base/core/words.h"

/* clang-format off */
#define HTML_PARSER_WORDS(WORD) \
    WORD(HTML_PARSER_SKIM, "skim") \
    WORD(HTML_PARSER_LIBXML2, "libxml2")
typedef enum HtmlParserWord { WORDS_ENUM(HTML_PARSER_WORDS) } HtmlParserWord;

#define CONTENT_HASH_WORDS(WORD) \
    WORD(CONTENT_HASH_AUTO, "auto") \
    WORD(CONTENT_HASH_BODY, "body") \
    WORD(CONTENT_HASH_TEXT, "text") \
    WORD(CONTENT_HASH_LINKS, "links")
typedef enum ContentHashWord { WORDS_ENUM(CONTENT_HASH_WORDS) } ContentHashWord;

#define DUPLICATES_WORDS(WORD) \
    WORD(DUPLICATES_BODY, "body") \
    WORD(DUPLICATES_CONTENT, "content")
typedef enum DuplicatesWord { WORDS_ENUM(DUPLICATES_WORDS) } DuplicatesWord;

#define NEAR_DUPLICATES_WORDS(WORD) \
    WORD(NEAR_DUPLICATES_OFF, "off") \
    WORD(NEAR_DUPLICATES_FLAG, "flag")
typedef enum NearDuplicatesWord { WORDS_ENUM(NEAR_DUPLICATES_WORDS) } NearDuplicatesWord;

#define SKIPPED_WORDS(WORD) \
    WORD(SKIPPED_OFF, "off") \
    WORD(SKIPPED_SAMPLE, "sample") \
    WORD(SKIPPED_ALL, "all")
typedef enum SkippedMode { WORDS_ENUM(SKIPPED_WORDS) } SkippedMode;

#define SCORER_WORDS(WORD) \
    WORD(SCORER_NONE, "none") \
    WORD(SCORER_CONTENT, "content") \
    WORD(SCORER_PAGERANK, "pagerank") \
    WORD(SCORER_HITS, "hits") \
    WORD(SCORER_COMMAND, "command") \
    WORD(SCORER_FASTTEXT, "fasttext")
typedef enum ScorerWord { WORDS_ENUM(SCORER_WORDS) } ScorerWord;

#define RENDER_MODE_WORDS(WORD) \
    WORD(RENDER_MODE_OFF, "off") \
    WORD(RENDER_MODE_AUTO, "auto") \
    WORD(RENDER_MODE_ALWAYS, "always")
typedef enum RenderModeWord { WORDS_ENUM(RENDER_MODE_WORDS) } RenderModeWord;

#define RENDER_SCOPE_WORDS(WORD) \
    WORD(RENDER_SCOPE_ANY, "any") \
    WORD(RENDER_SCOPE_DOMAIN, "domain") \
    WORD(RENDER_SCOPE_HOST, "host")
typedef enum RenderScopeWord { WORDS_ENUM(RENDER_SCOPE_WORDS) } RenderScopeWord;

#define RENDER_SCREENSHOT_WORDS(WORD) \
    WORD(RENDER_SCREENSHOT_NO, "no") \
    WORD(RENDER_SCREENSHOT_JPEG, "jpeg")
typedef enum RenderScreenshotWord { WORDS_ENUM(RENDER_SCREENSHOT_WORDS) } RenderScreenshotWord;

#define SCHEDULE_MODE_WORDS(WORD) \
    WORD(SCHEDULE_ONCE, "once") \
    WORD(SCHEDULE_CONTINUOUS, "continuous")
typedef enum ScheduleModeWord { WORDS_ENUM(SCHEDULE_MODE_WORDS) } ScheduleModeWord;

#define REVISIT_WORDS(WORD) \
    WORD(REVISIT_POWER, "power") \
    WORD(REVISIT_OPTIMAL, "optimal")
typedef enum RevisitWord { WORDS_ENUM(REVISIT_WORDS) } RevisitWord;

#define ORDER_WORDS(WORD) \
    WORD(ORDER_BEST_FIRST, "best-first") \
    WORD(ORDER_BREADTH_FIRST, "breadth-first") \
    WORD(ORDER_DEPTH_FIRST, "depth-first")
typedef enum ScheduleOrder { WORDS_ENUM(ORDER_WORDS) } ScheduleOrder;
/* clang-format on */
