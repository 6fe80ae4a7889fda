/* Which texts name what is to be forgotten: hosts with their boundaries, URLs whole. */
#include <stdio.h>
#include <string.h>

#include "command/forget/forget_database.h"
#include "unit.h"

#define LONG_URL 40000u

static ForgetTargets targets_of(const char *word)
{
    ForgetTargets targets = {.n = 0};
    Buffer error = {.limit = 4096};
    CU_ASSERT_EQUAL_FATAL(forget_targets_add(&targets, word, &error), RESULT_OK);
    buffer_destroy(&error);
    return targets;
}

static bool names(const ForgetTargets *targets, const char *text)
{
    return forget_is_named(targets, text, strlen(text));
}

static void a_host_is_named_whole_and_whatever_its_letters(void)
{
    ForgetTargets targets = targets_of("bad.test");
    static const char *const named[] = {"bad.test",    "www.bad.test", "http://BAD.test/x",
                                        "(Bad.Test)",  "of bad.test.", "bad.test:80",
                                        "dns:bad.test"};
    static const char *const others[] = {
        "",           "bad.tes",   "notbad.test", "bad.test.example",
        "bad.test-x", "-bad.test", "bad_test",    "bad.tests"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        CU_ASSERT_TRUE(names(&targets, named[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_FALSE(names(&targets, others[i]));
    }
    CU_ASSERT_FALSE(names(&targets, "bad.testbad.test"));
    forget_targets_destroy(&targets);
}

static void a_url_is_named_whole_and_means_itself_whatever_is_in_it(void)
{
    ForgetTargets targets = targets_of("http://a.test/x?q=\\E.*");
    CU_ASSERT_TRUE(names(&targets, "see http://a.test/x?q=\\E.* there"));
    CU_ASSERT_TRUE(names(&targets, "\"http://a.test/x?q=\\E.*\","));
    CU_ASSERT_FALSE(names(&targets, "http://a.test/x?q="));
    CU_ASSERT_FALSE(names(&targets, "http://a.test/x?q=anything"));
    CU_ASSERT_FALSE(names(&targets, "http://a.test/x?q=\\E.*more"));
    forget_targets_destroy(&targets);
}

static void a_url_as_long_as_one_may_be_is_found(void)
{
    static char url[LONG_URL + 32];
    static char text[LONG_URL + 64];
    int n = snprintf(url, sizeof url, "http://a.test/");
    memset(url + n, 'x', LONG_URL);
    ForgetTargets targets = targets_of(url);
    (void)snprintf(text, sizeof text, "- %s -", url);
    CU_ASSERT_TRUE(names(&targets, text));
    text[LONG_URL] = 'y';
    CU_ASSERT_FALSE(names(&targets, text));
    forget_targets_destroy(&targets);
}

UNIT_MAIN("forget_database",
          {"a host is named whole, and whatever its letters",
           a_host_is_named_whole_and_whatever_its_letters},
          {"a URL is named whole, and means itself whatever is in it",
           a_url_is_named_whole_and_means_itself_whatever_is_in_it},
          {"a URL as long as one may be is found", a_url_as_long_as_one_may_be_is_found})
