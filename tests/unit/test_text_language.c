/* Languages: by CLD2 where it is installed; nothing is needed where it is not. */
#include <string.h>

#include "base/memory/buffer.h"
#include "page/tool/page_question.h"
#include "page/tool/text_language.h"
#include "unit.h"

static const struct {
    const char *tag;
    const char *iso3;
    const char *text;
} samples[] = {
    {"en", "eng",
     "All human beings are born free and equal in dignity and rights. They are endowed with "
     "reason and conscience and should act towards one another in a spirit of brotherhood."},
    {"de", "deu",
     "Alle Menschen sind frei und gleich an W\xC3\xBCrde und Rechten geboren. Sie sind mit "
     "Vernunft "
     "und Gewissen begabt und sollen einander im Geist der Br\xC3\xBC"
     "derlichkeit begegnen."},
    {"fr", "fra",
     "Tous les \xC3\xAAtres humains naissent libres et \xC3\xA9gaux en dignit\xC3\xA9 et en "
     "droits. "
     "Ils sont dou\xC3\xA9s de raison et de conscience et doivent agir les uns envers les autres."},
    {"ru", "rus",
     "\xD0\x92\xD1\x81\xD0\xB5 \xD0\xBB\xD1\x8E\xD0\xB4\xD0\xB8 "
     "\xD1\x80\xD0\xBE\xD0\xB6\xD0\xB4\xD0"
     "\xB0\xD1\x8E\xD1\x82\xD1\x81\xD1\x8F \xD1\x81\xD0\xB2\xD0\xBE\xD0\xB1\xD0\xBE\xD0\xB4\xD0\xBD"
     "\xD1\x8B\xD0\xBC\xD0\xB8 \xD0\xB8 \xD1\x80\xD0\xB0\xD0\xB2\xD0\xBD\xD1\x8B\xD0\xBC\xD0\xB8 "
     "\xD0\xB2 \xD1\x81\xD0\xB2\xD0\xBE\xD1\x91\xD0\xBC "
     "\xD0\xB4\xD0\xBE\xD1\x81\xD1\x82\xD0\xBE\xD0"
     "\xB8\xD0\xBD\xD1\x81\xD1\x82\xD0\xB2\xD0\xB5 \xD0\xB8 "
     "\xD0\xBF\xD1\x80\xD0\xB0\xD0\xB2\xD0\xB0"
     "\xD1\x85"},
};

static void languages_are_recognized(void)
{
    bool loaded = text_language_load();
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const char *tag = text_language_of(samples[i].text, strlen(samples[i].text));
        if (loaded) {
            CU_ASSERT_PTR_NOT_NULL_FATAL(tag);
            CU_ASSERT_STRING_EQUAL(tag, samples[i].tag);
        } else {
            CU_ASSERT_PTR_NULL(tag);
        }
    }
}

static void too_little_says_nothing(void)
{
    (void)text_language_load();
    CU_ASSERT_PTR_NULL(text_language_of("", 0));
    CU_ASSERT_PTR_NULL(text_language_of("hello", 5));
    CU_ASSERT_PTR_NULL(text_language_of("1 2 3 4 5 6 7 8 9 10 11 12 13 14", 32));
}

static void scripts_tell_where_words_do_not(void)
{
    static const struct {
        const char *tag; /* NULL: nobody can tell */
        const char *text;
    } shorts[] = {
        {"zh", "使用说明书"
               "目录"},
        {"zh", "在 Debian 上安装 PostgreSQL 数据库"},
        {"ja", "Debian GNU/Linux に PostgreSQL をインストールする"},
        {"ja", "LilyPond の使い方"},
        {"ko", "Debian GNU/Linux에 PostgreSQL 서버 설치하기"},
        {NULL, "漢字"},
        {NULL, "The word 漢字 means the Chinese characters that are used in Japanese, too"},
    };
    if (!text_language_load()) {
        return;
    }
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
        const char *tag = text_language_of(shorts[i].text, strlen(shorts[i].text));
        if (shorts[i].tag == NULL) {
            CU_ASSERT(tag == NULL || strncmp(tag, "zh", 2) != 0);
        } else {
            CU_ASSERT(tag != NULL && strncmp(tag, shorts[i].tag, 2) == 0);
        }
    }
}

/* The menu of a page is often in another language than what the page is about. */
static void sentences_count_more_than_menus(void)
{
    if (!text_language_load()) {
        return;
    }
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 200; i++) {
        (void)buffer_append_string(&text, "Home\nAbout us\nContact\nSign in\nNext page\n");
    }
    for (unsigned i = 0; i < 8; i++) {
        (void)buffer_printf(&text, "%s\n", samples[1].text);
    }
    const char *tag = text_language_of(text.data, text.length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tag);
    CU_ASSERT_STRING_EQUAL(tag, "de");
    buffer_destroy(&text);
}

/* Wherever the sample begins and ends in a text of long characters, it is whole characters. */
static void cut_characters_do_no_harm(void)
{
    if (!text_language_load()) {
        return;
    }
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 40; i++) {
        (void)buffer_append_string(&text, samples[3].text);
        (void)buffer_append_char(&text, ' ');
    }
    for (size_t cut = 0; cut < 64; cut++) {
        const char *tag = text_language_of(text.data + cut, text.length - 2 * cut);
        CU_ASSERT(tag != NULL && strcmp(tag, "ru") == 0);
    }
    buffer_destroy(&text);
}

static void tags_have_three_letters_in_wet(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const char *iso3 = text_language_iso3(samples[i].tag);
        CU_ASSERT(iso3 != NULL && strncmp(iso3, samples[i].iso3, 3) == 0);
    }
    CU_ASSERT_EQUAL(strncmp(text_language_iso3("zh-Hant"), "zho", 3), 0);
    CU_ASSERT_EQUAL(strncmp(text_language_iso3("iw"), "heb", 3), 0);
    CU_ASSERT_EQUAL(strncmp(text_language_iso3("ceb"), "ceb", 3), 0);
    CU_ASSERT_PTR_NULL(text_language_iso3("xx"));
    CU_ASSERT_PTR_NULL(text_language_iso3("x"));
}

static void a_classifier_is_told_the_language_of_the_text(void)
{
    static const char german[] = "Der Himmel ist heute wolkenlos, und die Kinder spielen im Garten "
                                 "hinter dem Haus. Am Abend "
                                 "wird es kühler, dann gehen alle hinein und essen miteinander.\n";
    VisiblePage page = {.text = german, .length = sizeof german - 1, .language = "en"};
    Buffer question;
    buffer_init(&question, BUFFER_NO_LIMIT);
    bool loaded = text_language_load();
    CU_ASSERT_EQUAL(page_question(&question, QUESTION_JSON, "http://a/", &page, 4096), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(buffer_string(&question), loaded ? "\"language\": \"de\"" : "\"language\": \"en\""));
    buffer_reset(&question);
    page.text = "1 2 3"; /* shows none: what the page says */
    page.length = 5;
    CU_ASSERT_EQUAL(page_question(&question, QUESTION_JSON, "http://a/", &page, 4096), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&question), "\"language\": \"en\""));
    buffer_destroy(&question);
}

UNIT_MAIN("text_language", {"languages are recognized", languages_are_recognized},
          {"too little says nothing", too_little_says_nothing},
          {"scripts tell where words do not", scripts_tell_where_words_do_not},
          {"sentences count more than menus", sentences_count_more_than_menus},
          {"cut characters do no harm", cut_characters_do_no_harm},
          {"tags have three letters in WET", tags_have_three_letters_in_wet},
          {"a classifier is told the language of the text",
           a_classifier_is_told_the_language_of_the_text})
