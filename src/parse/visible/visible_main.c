#include "parse/visible/visible_main.h"

#include <stdlib.h>

#define SHARE_PERCENT  80u  /* of the sure content: what the main part holds at least */
#define LINKS_PERCENT  75u  /* of its text: more in links, and an element is navigation */
#define LEAST_WORDS    20u  /* of sure content; a page with less has none */
#define HEADLINE_LEVEL 2u   /* h1 and h2 may be one */
#define HEADLINE_WORDS 200u /* between the headline and the main part at most */
#define TRUSTED_WORDS  10u  /* of an element that says it is the main part */

typedef VisibleBlockFacts Facts;

void visible_main_init(VisibleMain *main)
{
    *main = (VisibleMain){.text = {.limit = BUFFER_NO_LIMIT}};
}

void visible_main_destroy(VisibleMain *main)
{
    visible_main_begin(main, 0);
    buffer_destroy(&main->text);
}

void visible_main_begin(VisibleMain *main, size_t keep_bytes)
{
    free(main->facts);
    main->facts = NULL;
    buffer_trim(&main->text, keep_bytes);
    buffer_reset(&main->text);
}

/* ---- words ---- */

static void visible_main_measure(Facts *facts, const char *text, const VisibleBlock *block)
{
    uint32_t start = block->start;
    uint32_t end = block->end;
    visible_marks_trim(text, &start, &end);
    facts->bytes = end - start;
    facts->link_bytes = block->link_bytes < facts->bytes ? block->link_bytes : facts->bytes;
    /* Words between blanks; where a script has none between words, two characters are one. */
    uint32_t words = 0;
    uint32_t halves = 0;
    bool inside = false;
    for (uint32_t i = start; i < end; i++) {
        unsigned char c = (unsigned char)text[i];
        bool blank = c <= ' ';
        words += !blank && !inside ? 1u : 0u;
        inside = !blank;
        halves += c >= 0xE3 && c <= 0xE9 ? 1u : 0u; /* Han, Kana */
    }
    facts->words = words + halves / 2;
}

/* ---- sure content ---- */

static double link_density(const Facts *facts)
{
    return facts->bytes == 0 ? 0 : (double)facts->link_bytes / (double)facts->bytes;
}

/* The rules of Kohlschuetter et al. over a block and its neighbours (NULL: none). */
static bool is_content(const Facts *before, const Facts *block, const Facts *after)
{
    uint32_t words_before = before == NULL ? 0 : before->words;
    uint32_t words_after = after == NULL ? 0 : after->words;
    if (link_density(block) > 0.333333) {
        return false;
    }
    if (before == NULL || link_density(before) <= 0.555556) {
        return block->words > 16 || words_after > 15 || words_before > 4;
    }
    return block->words > 40 || words_after > 17;
}

/* ---- areas ---- */

static bool visible_main_is_aside(const VisibleMarks *marks, uint32_t area)
{
    /* A header or footer of an article, or of the main part, is a part of it. */
    const VisibleArea *a = &marks->areas[area];
    if (a->role != VISIBLE_ROLE_ASIDE) {
        return false;
    }
    for (uint32_t up = a->parent; a->is_header && up != VISIBLE_NO_MARK;
         up = marks->areas[up].parent) {
        if (marks->areas[up].role == VISIBLE_ROLE_MAIN ||
            marks->areas[up].role == VISIBLE_ROLE_ARTICLE) {
            return false;
        }
    }
    return true;
}

static void mark_asides(VisibleMain *main, const VisibleMarks *marks)
{
    for (uint32_t i = 0; i < marks->n_areas; i++) {
        const VisibleArea *area = &marks->areas[i];
        if (area->role == VISIBLE_ROLE_ASIDE && visible_main_is_aside(marks, i)) {
            for (uint32_t b = area->first_block; b < area->end_block; b++) {
                main->facts[b].aside = true;
            }
        }
    }
}

/* Sums over the blocks from first up to end; facts has one more at its end. */
static uint64_t sure_words(const Facts *facts, uint32_t first, uint32_t end)
{
    return facts[end].sure_before - facts[first].sure_before;
}

static void add_up(VisibleMain *main, size_t n)
{
    uint64_t sure = 0;
    uint64_t bytes = 0;
    uint64_t links = 0;
    for (size_t i = 0; i <= n; i++) {
        Facts *facts = &main->facts[i];
        facts->sure_before = sure;
        facts->bytes_before = bytes;
        facts->links_before = links;
        if (i < n) {
            sure += facts->sure && !facts->aside ? facts->words : 0;
            bytes += facts->bytes;
            links += facts->link_bytes;
        }
    }
}

/* The main part as the page itself names it, if there is text in it. */
static bool visible_main_find_named(const VisibleMain *main, const VisibleMarks *marks,
                                    uint32_t *first, uint32_t *end)
{
    bool found = false;
    for (size_t i = 0; i < marks->n_areas && !found; i++) {
        const VisibleArea *area = &marks->areas[i];
        uint32_t words = 0;
        for (uint32_t b = area->first_block; area->role == VISIBLE_ROLE_MAIN && b < area->end_block;
             b++) {
            words += main->facts[b].words;
        }
        if (words >= TRUSTED_WORDS) {
            *first = area->first_block;
            *end = area->end_block;
            found = true;
        }
    }
    return found;
}

/* Whether an element may be the main part: one that holds others, not a paragraph or a list. */
static bool holds_others(unsigned id)
{
    switch ((int)id) {
    case HTML_DIV:
    case HTML_SECTION:
    case HTML_ARTICLE:
    case HTML_TD:
    case HTML_FORM:
    case HTML_CENTER:
    case HTML_FIELDSET:
        return true;
    default:
        return false;
    }
}

/* The innermost area with nearly all of the sure content. False: there is none, and all blocks are
 * taken. */
static bool find_densest(const VisibleMain *main, const VisibleMarks *marks, uint32_t *first,
                         uint32_t *end)
{
    uint32_t n = (uint32_t)marks->n_blocks;
    uint64_t all = sure_words(main->facts, 0, n);
    *first = 0;
    *end = n;
    /* Areas are in the order in which they begin: of those that hold enough, the last is innermost.
     */
    for (size_t i = 0; i < marks->n_areas && all >= LEAST_WORDS; i++) {
        const VisibleArea *area = &marks->areas[i];
        if (holds_others(area->id) &&
            sure_words(main->facts, area->first_block, area->end_block) * 100 >=
                all * SHARE_PERCENT) {
            *first = area->first_block;
            *end = area->end_block;
        }
    }
    return all >= LEAST_WORDS;
}

/* The headline often stands before the element of the text: the main part begins at the last
 * heading of the highest level that is there, if that is not far. */
static void add_headline(const VisibleMain *main, const VisibleMarks *marks, uint32_t *first)
{
    uint32_t best = VISIBLE_NO_MARK;
    unsigned level = HEADLINE_LEVEL + 1;
    uint32_t block = 0;
    for (size_t i = 0; i < marks->n_headings; i++) {
        while (block < *first && marks->blocks[block].end <= marks->headings[i].start) {
            block++;
        }
        if (block >= *first) {
            break;
        }
        if (marks->headings[i].value <= level && !main->facts[block].aside) {
            best = block;
            level = marks->headings[i].value;
        }
    }
    uint32_t words = 0;
    for (uint32_t b = best; b != VISIBLE_NO_MARK && b < *first; b++) {
        words += main->facts[b].words;
    }
    if (best != VISIBLE_NO_MARK && level <= HEADLINE_LEVEL && words <= HEADLINE_WORDS) {
        *first = best;
    }
}

/* Drops what is navigation within the main part: elements of links without sure content. */
static void drop_links(VisibleMain *main, const VisibleMarks *marks, uint32_t first, uint32_t end)
{
    const Facts *facts = main->facts;
    for (size_t i = 0; i < marks->n_areas; i++) {
        const VisibleArea *area = &marks->areas[i];
        uint32_t a = area->first_block;
        uint32_t b = area->end_block;
        if (a < first || b > end || (a == first && b == end) || a == b) {
            continue;
        }
        uint64_t bytes = facts[b].bytes_before - facts[a].bytes_before;
        uint64_t links = facts[b].links_before - facts[a].links_before;
        if (links * 100 > bytes * LINKS_PERCENT && sure_words(facts, a, b) == 0) {
            for (uint32_t k = a; k < b; k++) {
                main->facts[k].keep = false;
            }
        }
    }
}

/* ---- text ---- */

static void copy_kept(VisibleMain *main, const char *text, const VisibleMarks *marks)
{
    Buffer *out = &main->text;
    bool after_kept = false;
    for (size_t i = 0; i < marks->n_blocks; i++) {
        uint32_t start = marks->blocks[i].start;
        uint32_t end = marks->blocks[i].end;
        if (!main->facts[i].keep) {
            after_kept = false;
            continue;
        }
        if (!after_kept) {
            visible_marks_trim(text, &start, &end);
            end = marks->blocks[i].end;
            if (out->length > 0 && start < end) {
                (void)buffer_append_char(out, '\n');
            }
        }
        (void)buffer_append(out, text + start, end - start);
        after_kept = true;
    }
}

Result visible_main_find(VisibleMain *main, const char *text, const VisibleMarks *marks)
{
    size_t n = marks->n_blocks;
    main->facts = calloc(n + 1, sizeof *main->facts);
    if (main->facts == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        visible_main_measure(&main->facts[i], text, &marks->blocks[i]);
    }
    for (size_t i = 0; i < n; i++) {
        main->facts[i].sure = is_content(i == 0 ? NULL : &main->facts[i - 1], &main->facts[i],
                                         i + 1 == n ? NULL : &main->facts[i + 1]);
    }
    mark_asides(main, marks);
    add_up(main, n);
    uint32_t first = 0;
    uint32_t end = 0;
    bool named = visible_main_find_named(main, marks, &first, &end);
    bool dense = !named && find_densest(main, marks, &first, &end);
    if (dense) {
        add_headline(main, marks, &first);
    }
    for (uint32_t i = first; i < end; i++) {
        main->facts[i].keep = !main->facts[i].aside;
    }
    if (dense) {
        drop_links(main, marks, first, end);
    }
    copy_kept(main, text, marks);
    return main->text.failed; /* an error sticks */
}
