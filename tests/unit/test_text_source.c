#include "command/text/text_source.h"

#include <string.h>

#include "unit.h"

static bool admits(const TextChoice *choice, const char *url)
{
    return text_choice_admits(choice, warc_bytes(url, strlen(url)));
}

static void without_words_everything_is_wanted(void)
{
    TextChoice choice = {.all = NULL};
    CU_ASSERT_TRUE(admits(&choice, "http://a.test/"));
    CU_ASSERT_TRUE(admits(&choice, "dns:a.test"));
}

static void urls_are_named_whole_or_by_their_beginning(void)
{
    TextChoice choice = {.all = NULL};
    CU_ASSERT_EQUAL(text_choice_add_url(&choice, "HTTP://A.test:80/x"), RESULT_OK);
    CU_ASSERT_EQUAL(text_choice_add_url(&choice, "http://b.test/dir/*"), RESULT_OK);
    CU_ASSERT_EQUAL(text_choice_add_url(&choice, "no url"), RESULT_INVALID);
    CU_ASSERT_TRUE(admits(&choice, "http://a.test/x"));
    CU_ASSERT_FALSE(admits(&choice, "http://a.test/xy"));
    CU_ASSERT_FALSE(admits(&choice, "http://a.test/"));
    CU_ASSERT_TRUE(admits(&choice, "http://b.test/dir/"));
    CU_ASSERT_TRUE(admits(&choice, "http://b.test/dir/more?x=1"));
    CU_ASSERT_FALSE(admits(&choice, "http://b.test/"));
    CU_ASSERT_FALSE(admits(&choice, "dns:b.test"));
    text_choice_destroy(&choice);
}

static void hosts_are_named_alone_or_with_all_below(void)
{
    TextChoice choice = {.all = NULL};
    CU_ASSERT_EQUAL(text_choice_add_host(&choice, "A.test"), RESULT_OK);
    CU_ASSERT_EQUAL(text_choice_add_host(&choice, ".b.test"), RESULT_OK);
    CU_ASSERT_EQUAL(text_choice_add_host(&choice, ""), RESULT_INVALID);
    CU_ASSERT_TRUE(admits(&choice, "https://a.test:8443/x"));
    CU_ASSERT_TRUE(admits(&choice, "dns:a.test"));
    CU_ASSERT_FALSE(admits(&choice, "http://www.a.test/"));
    CU_ASSERT_TRUE(admits(&choice, "http://b.test/"));
    CU_ASSERT_TRUE(admits(&choice, "http://x.y.b.test/"));
    CU_ASSERT_FALSE(admits(&choice, "http://ab.test/"));
    CU_ASSERT_FALSE(admits(&choice, "urn:x"));
    text_choice_destroy(&choice);
}

UNIT_MAIN("text_source", {"without words everything is wanted", without_words_everything_is_wanted},
          {"URLs are named whole or by their beginning",
           urls_are_named_whole_or_by_their_beginning},
          {"hosts are named alone or with all below", hosts_are_named_alone_or_with_all_below})
