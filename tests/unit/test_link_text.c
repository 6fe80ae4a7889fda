/* Words of links and around them, beside one string of all words; cut where no word or character
 * is, whatever pieces the text comes in. */
#include <stdio.h>
#include <string.h>

#include "dice.h"
#include "parse/text/link_text.h"
#include "unit.h"

#define SEED      20261128u
#define ROUNDS    400u
#define LINKS     40u
#define ALL_BYTES 20000u
#define WORD_MOST 64u /* a longer one may be cut */

static const char *const some[] = {"a",
                                   "of",
                                   "word",
                                   "links",
                                   "\xc3\xbc",
                                   "\xe2\x82\xac\xe2\x82\xac",
                                   "\xf0\x9f\x98\x80",
                                   "x<y",
                                   "and-a-rather-long-word-of-46-bytes-it-is-said"};

typedef struct Model {
    char all[ALL_BYTES]; /* words, one blank between them */
    size_t length;
    uint32_t from[LINKS]; /* positions of each link */
    uint32_t to[LINKS];
    size_t n;
} Model;

static void add_word(Model *model, const char *word)
{
    if (model->length > 0) {
        model->all[model->length++] = ' ';
    }
    memcpy(model->all + model->length, word, strlen(word));
    model->length += strlen(word);
}

/* Words with white space of all kinds in between; some links begin and end there. */
static void draw(Dice *dice, LinkText *words, Model *model)
{
    static const char *const space[] = {" ", "\n", "\t  \r\n", " \f", "&#32;", "&Tab;"};
    bool is_open = false;
    *model = (Model){.length = 0};
    link_text_begin(words);
    link_text_add(words, "\n ", dice_below(dice, 3), false);
    unsigned count = (unsigned)dice_below(dice, 400);
    for (unsigned i = 0; i < count; i++) {
        const char *word = some[dice_below(dice, sizeof some / sizeof *some)];
        size_t first =
            dice_below(dice, strlen(word)) + 1; /* in two pieces, within a character too */
        if (!is_open && model->n < LINKS && dice_below(dice, 4) == 0) {
            model->from[model->n] = link_text_position(words);
            is_open = true;
        }
        link_text_add(words, word, first, false);
        link_text_add(words, word + first, strlen(word) - first, dice_below(dice, 2) == 0);
        add_word(model, word);
        if (is_open && dice_below(dice, 3) == 0) {
            model->to[model->n++] = link_text_position(words);
            is_open = false;
        }
        if (dice_below(dice, 3) == 0) {
            link_text_break(words);
        } else {
            const char *blank = space[dice_below(dice, sizeof space / sizeof *space)];
            link_text_add(words, blank, strlen(blank), true);
        }
    }
}

static bool is_in(const LinkTextSlice *slice, const char *from, const char *to)
{
    return slice->length == 0 || (slice->bytes >= from && slice->bytes + slice->length <= to);
}

/* Where a slice begins and ends no word goes on. */
static bool is_of_words(const LinkTextSlice *slice, const Buffer *text)
{
    const char *end = slice->bytes + slice->length;
    bool begins = slice->bytes == text->data || slice->bytes[-1] == ' ';
    return slice->length == 0 || (begins && (end == text->data + text->length || *end == ' '));
}

static void texts_are_those_between_and_around_the_places_of_a_link(void)
{
    static Model model;
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS; round++) {
        LinkText words;
        size_t most = WORD_MOST + dice_below(&dice, 300);
        link_text_init(&words, most);
        draw(&dice, &words, &model);
        const char *all = words.text.data;
        CU_ASSERT_EQUAL_FATAL(words.text.length, model.length);
        CU_ASSERT_EQUAL(memcmp(model.length == 0 ? "" : all, model.all, model.length), 0);
        for (size_t i = 0; i < model.n; i++) {
            LinkTextSlice anchor = link_text_anchor(&words, model.from[i], model.to[i]);
            LinkTextSlice around = link_text_around(&words, model.from[i], model.to[i]);
            size_t whole = model.to[i] - model.from[i];
            CU_ASSERT_TRUE(is_in(&anchor, all + model.from[i], all + model.to[i]));
            CU_ASSERT_TRUE(is_of_words(&anchor, &words.text) && is_of_words(&around, &words.text));
            CU_ASSERT_TRUE(anchor.length <= most && around.length <= 3 * most);
            if (whole <= most) {
                size_t blank = all[model.from[i]] == ' ' ? 1 : 0;
                CU_ASSERT_TRUE(anchor.length == whole - blank);
                CU_ASSERT_TRUE(is_in(&anchor, around.bytes, around.bytes + around.length));
            } else {
                CU_ASSERT_TRUE(anchor.length + WORD_MOST > most);
            }
            /* All in front of it and behind it, or nearly `most`. */
            const char *end = around.bytes + around.length;
            size_t front = (size_t)(all + model.from[i] - around.bytes);
            CU_ASSERT_TRUE(around.bytes == all || front + WORD_MOST > most);
            CU_ASSERT_TRUE(front <= most);
            CU_ASSERT_TRUE(end == all + model.length ||
                           end + WORD_MOST >
                               all + model.from[i] + (whole < most ? whole : most) + most);
        }
        link_text_destroy(&words);
    }
}

static void a_bound_cuts_no_character(void)
{
    for (size_t most = 4; most < 24; most++) { /* a character has at most 4 bytes */
        LinkText words;
        link_text_init(&words, most);
        link_text_begin(&words);
        for (unsigned i = 0; i < 200; i++) {
            link_text_add(&words, some[4 + i % 3], strlen(some[4 + i % 3]), false);
        }
        uint32_t end = link_text_position(&words);
        for (uint32_t from = 0; from < end; from++) {
            if ((words.text.data[from] & 0xC0) == 0x80) {
                continue; /* links begin with characters */
            }
            LinkTextSlice slices[] = {link_text_anchor(&words, from, end),
                                      link_text_around(&words, from, from),
                                      link_text_around(&words, from, end)};
            for (size_t k = 0; k < 3; k++) {
                const char *behind = slices[k].bytes + slices[k].length;
                CU_ASSERT_TRUE(slices[k].length == 0 || (slices[k].bytes[0] & 0xC0) != 0x80);
                CU_ASSERT_TRUE(slices[k].length == 0 || (*behind & 0xC0) != 0x80);
            }
        }
        link_text_destroy(&words);
    }
}

static void references_are_decoded_wherever_a_piece_ends(void)
{
    char text[3 * 4096 + 64];
    for (size_t before = 4000; before < 4200; before++) {
        LinkText words;
        link_text_init(&words, 100);
        link_text_begin(&words);
        memset(text, 'x', before);
        (void)snprintf(text + before, sizeof text - before,
                       "&amp;&CounterClockwiseContourIntegral;&#65;");
        size_t length = strlen(text);
        memset(text + length, 'y', 4096);
        link_text_add(&words, text, length + 4096, true);
        CU_ASSERT_EQUAL(words.text.length, before +
                                               strlen("&\xe2\x88\xb3"
                                                      "A") +
                                               4096);
        CU_ASSERT_EQUAL(memcmp(words.text.data + before,
                               "&\xe2\x88\xb3"
                               "Ay",
                               6),
                        0);
        link_text_destroy(&words);
    }
    LinkText words;
    link_text_init(&words, 100);
    link_text_add(&words, "&amp; a&#32;b", 13, false);
    CU_ASSERT_STRING_EQUAL(buffer_string(&words.text), "&amp; a&#32;b");
    link_text_destroy(&words);
}

static void what_is_forgotten_is_not_around_the_next_link(void)
{
    LinkText words;
    LinkText whole;
    Dice dice = {SEED};
    link_text_init(&words, 80);
    link_text_init(&whole, 80);
    for (unsigned i = 0; i < 3000; i++) {
        const char *word = some[dice_below(&dice, sizeof some / sizeof *some)];
        uint32_t from[] = {link_text_position(&words), link_text_position(&whole)};
        link_text_add(&words, word, strlen(word), false);
        link_text_add(&whole, word, strlen(word), false);
        LinkTextSlice a = link_text_around(&words, from[0], link_text_position(&words));
        LinkTextSlice b = link_text_around(&whole, from[1], link_text_position(&whole));
        CU_ASSERT_TRUE(a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0);
        link_text_break(&words);
        link_text_break(&whole);
        link_text_forget(&words);
        CU_ASSERT_TRUE(words.text.length <= 2 * 80 + WORD_MOST);
    }
    LinkTextSlice none = link_text_anchor(&words, 500, 600);
    CU_ASSERT_EQUAL(none.length, 0);
    none = link_text_around(&words, UINT32_MAX, UINT32_MAX);
    CU_ASSERT_TRUE(none.length <= 80);
    link_text_begin(&words);
    CU_ASSERT_EQUAL(link_text_around(&words, 0, 0).length, 0);
    CU_ASSERT_EQUAL(link_text_anchor(&words, 0, 0).length, 0);
    link_text_destroy(&words);
    link_text_destroy(&whole);
}

UNIT_MAIN("link_text",
          {"texts are those between and around the places of a link",
           texts_are_those_between_and_around_the_places_of_a_link},
          {"a bound cuts no character", a_bound_cuts_no_character},
          {"references are decoded wherever a piece ends",
           references_are_decoded_wherever_a_piece_ends},
          {"what is forgotten is not around the next link",
           what_is_forgotten_is_not_around_the_next_link})
