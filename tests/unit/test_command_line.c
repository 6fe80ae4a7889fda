#include <string.h>

#include "crawl/command_line.h"
#include "crawl/exit_status.h"
#include "unit.h"

#define WORDS_MOST 12

typedef struct Given {
    bool json;
    const char *output;
    uint64_t top;
    double share;
    const char *taken;
    int colour;
    const char *may;
    CommandSettings settings;
    CommandLine line;
    char text[WORDS_MOST][32]; /* what line.words points to */
    char *argv[WORDS_MOST + 1];
} Given;

static int take_word(void *to, const char *value)
{
    *(const char **)to = value;
    return strcmp(value, "bad") == 0 ? EXIT_USAGE : 0;
}

static int take_may(void *to, const char *value)
{
    *(const char **)to = value == NULL ? "nothing" : value;
    return 0;
}

/* Words separated by blanks, for a command that takes one or two words. */
static int take(Given *given, const char *words)
{
    int argc = 0;
    memset(given, 0, sizeof *given);
    const CommandOption options[] = {
        {"json", 'j', COMMAND_FLAG, .to = &given->json},
        {"output", 'o', COMMAND_TEXT, .to = &given->output},
        {"top", 0, COMMAND_NUMBER, .to = &given->top, .least = 1, .most = 100},
        {"share", 0, COMMAND_REAL, .to = &given->share, .most = 1},
        {"colour", 0, COMMAND_WORD, .to = &given->colour, .words = "red|green|greenish"},
        {"word", 'w', COMMAND_TAKE, .to = &given->taken, .take = take_word},
        {"may", 0, COMMAND_MAY, .to = &given->may, .take = take_may},
        {"set", 's', COMMAND_SETTING, .to = &given->settings},
        {"deep", 0, COMMAND_SETTING, .to = &given->settings, .setting = "a.depth"},
        {"no-b", 0, COMMAND_SETTING, .to = &given->settings, .setting = "a.b", .value = "no"}};
    given->line = (CommandLine){.command = "try",
                                .usage = "usage: try\n",
                                .options = options,
                                .n_options = sizeof options / sizeof *options,
                                .words_least = 1,
                                .words_most = 2};
    while (*words != '\0' && argc < WORDS_MOST) {
        size_t n = strcspn(words, " ");
        memcpy(given->text[argc], words, n);
        given->argv[argc] = given->text[argc];
        argc++;
        words += n + (words[n] == ' ');
    }
    int status = command_line_take(&given->line, argc, given->argv);
    given->line.options = NULL;
    return status;
}

static void options_stand_anywhere(void)
{
    Given given;
    CU_ASSERT_EQUAL(take(&given, "try a --json --output=x b --top 7 --share 0.5 -wyes"), 0);
    CU_ASSERT_TRUE(given.json && given.top == 7 && given.share == 0.5);
    CU_ASSERT_STRING_EQUAL(given.output, "x");
    CU_ASSERT_STRING_EQUAL(given.taken, "yes");
    CU_ASSERT_EQUAL_FATAL(given.line.n_words, 2);
    CU_ASSERT_STRING_EQUAL(given.line.words[0], "a");
    CU_ASSERT_STRING_EQUAL(given.line.words[1], "b");
    CU_ASSERT_EQUAL(take(&given, "try a --colour greenish"), 0);
    CU_ASSERT_EQUAL(given.colour, 2);
    CU_ASSERT_EQUAL(take(&given, "try a --colour green"), 0);
    CU_ASSERT_EQUAL(given.colour, 1);
    CU_ASSERT_EQUAL(take(&given, "try -j -o y -"), 0);
    CU_ASSERT_STRING_EQUAL(given.output, "y");
    CU_ASSERT_STRING_EQUAL(given.line.words[0], "-");
    CU_ASSERT_EQUAL(take(&given, "try a --js --out b"), 0);
    CU_ASSERT_TRUE(given.json);
    CU_ASSERT_STRING_EQUAL(given.output, "b");
    CU_ASSERT_EQUAL(take(&given, "try a -jo b"), 0);
    CU_ASSERT_TRUE(given.json);
    CU_ASSERT_STRING_EQUAL(given.output, "b");
    CU_ASSERT_EQUAL(take(&given, "try -- --json"), 0);
    CU_ASSERT_FALSE(given.json);
    CU_ASSERT_STRING_EQUAL(given.line.words[0], "--json");
}

static void settings_stand_in_the_order_of_the_line(void)
{
    Given given;
    CU_ASSERT_EQUAL(take(&given, "try a -s x.y=1=2 --deep 3 --no-b --may --may=z"), 0);
    CU_ASSERT_EQUAL_FATAL(given.settings.n, 3);
    CU_ASSERT_EQUAL(strncmp(given.settings.all[0].name, "x.y=", 4), 0);
    CU_ASSERT_STRING_EQUAL(given.settings.all[0].value, "1=2");
    CU_ASSERT_STRING_EQUAL(given.settings.all[1].name, "a.depth");
    CU_ASSERT_STRING_EQUAL(given.settings.all[1].value, "3");
    CU_ASSERT_STRING_EQUAL(given.settings.all[2].value, "no");
    CU_ASSERT_STRING_EQUAL(given.may, "z");
    CU_ASSERT_EQUAL(take(&given, "try a b --may"), 0);
    CU_ASSERT_STRING_EQUAL(given.may, "nothing");
}

static void mistakes_are_wrong_usage(void)
{
    static const char *const wrong[] = {"try",
                                        "try a b c",
                                        "try a --nonsense",
                                        "try a --jsonx",
                                        "try a --json=1",
                                        "try a --output",
                                        "try a --output=",
                                        "try a --top 0",
                                        "try a --top 101",
                                        "try a --top 1e1",
                                        "try a --top -1",
                                        "try a --top",
                                        "try a --share 1.5",
                                        "try a --share nan",
                                        "try a --share 1x",
                                        "try a -z",
                                        "try a --word bad",
                                        "try a --colour gree",
                                        "try a --colour red|green",
                                        "try a --colour",
                                        "try a --set x",
                                        "try a --no-b=yes",
                                        "try a --deep"};
    Given given;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CU_ASSERT_EQUAL(take(&given, wrong[i]), EXIT_USAGE);
    }
    CU_ASSERT_EQUAL(take(&given, "try --help"), COMMAND_HELPED);
    CU_ASSERT_EQUAL(take(&given, "try a -h"), COMMAND_HELPED);
}

UNIT_MAIN("command_line", {"options stand anywhere", options_stand_anywhere},
          {"settings stand in the order of the line", settings_stand_in_the_order_of_the_line},
          {"mistakes are wrong usage", mistakes_are_wrong_usage})
