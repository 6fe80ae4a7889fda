/* Each atom of the filter language on what it is true of and what it is not, asked by itself. */
#include <string.h>

#include "parse/filter/filter.h"
#include "parse/filter/filter_tests.h"
#include "parse/usage/usage.h"
#include "unit.h"

#define URL_OF "http://www.example.co.uk:8080/a/b/b/Page.tar.GZ?x=1&y=&x=2"

static Result read_hosts(void *context, const char *path, Buffer *out)
{
    (void)path;
    return buffer_append_string(out, context);
}

/* 1 or 0; -1: it does not compile. */
static int holds(const char *text, const FilterInput *input)
{
    FilterOptions options = {.available = FILTER_HAS_ALL,
                             .read_file = read_hosts,
                             .context = (void *)(uintptr_t) "# hosts\n\nexample.co.uk\n"};
    Filter *filter = NULL;
    FilterScratch *scratch = NULL;
    FilterError error;
    int answer = -1;
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&scratch), RESULT_OK);
    if (filter_compile(&filter, text, strlen(text), &options, &error) == RESULT_OK) {
        answer = filter_matches(filter, input, scratch);
    } else {
        (void)fprintf(stderr, "%s: %s\n", text, error.message);
    }
    filter_delete(filter);
    filter_scratch_delete(scratch);
    return answer;
}

typedef struct Row {
    const char *yes;
    const char *no;
} Row;

static void check(const Row *rows, size_t n, const FilterInput *input)
{
    for (size_t i = 0; i < n; i++) {
        int yes = holds(rows[i].yes, input);
        int no = holds(rows[i].no, input);
        if (yes != 1 || no != 0) {
            (void)fprintf(stderr, "%s: %d, %s: %d\n", rows[i].yes, yes, rows[i].no, no);
            CU_FAIL("another answer");
        }
    }
}

static const Row of_url[] = {
    {"SchemeEquals(HTTP)", "SchemeEquals(https)"},
    {"HostEquals(WWW.Example.co.uk)", "HostEquals(example.co.uk)"},
    {"HostEqualsOneOf(a, www.example.co.uk)", "HostEqualsOneOf(a, b)"},
    {"HostEndsWith(ple.co.uk)", "HostEndsWith(.www.example.co.uk)"},
    {"HostEndsWithOneOf(x, www.example.co.uk)", "HostEndsWithOneOf(x, y)"},
    {"HostInDomain(example.co.uk)", "HostInDomain(ample.co.uk)"},
    {"DomainInFile(f)", "HostInFile(f)"},
    {"not HostIsAddress()", "HostIsAddress()"},
    {"RegisteredDomainIs(example.co.uk)", "RegisteredDomainIs(co.uk, www.example.co.uk)"},
    {"PortIsOneOf(1, 8000-8080)", "PortIsOneOf(80, 8081-9000)"},
    {"URLEquals('HTTP://www.example.co.uk:8080/a/./b/b/Page.tar.GZ?x=1&y=&x=2')",
     "URLEquals('http://www.example.co.uk:8080/')"},
    {"URLContainsOneOf('tar.GZ')", "URLContainsOneOf('tar.gz')"},
    {"URLMatchesRegex(http.*x=2)", "URLMatchesRegex(http)"},
    {"URLContainsRegex(b/b)", "URLContainsRegex(^b/b)"},
    {"URLShorterThan(59)", "URLShorterThan(58)"},
    {"PathStartsWithOneOf(/a/b/)", "PathStartsWithOneOf(a/b/)"},
    {"PathEndsWithOneOf(.TAR.gz)", "PathEndsWithOneOf(x=2)"},
    {"PathDepthLessThan(5)", "PathDepthLessThan(4)"},
    {"DuplicateSegmentsLessThan(3)", "DuplicateSegmentsLessThan(2)"},
    {"ExtensionIsOneOf(.gz)", "ExtensionIsOneOf(tar.gz)"},
    {"HasQuery()", "not HasQuery()"},
    {"QueryContainsOneOf('y=&')", "QueryContainsOneOf('?x')"},
    {"HasParameter(z, y)", "HasParameter(z)"},
    {"ParameterIs(x, 3, 2)", "ParameterIs(y, 1)"},
    {"ParametersLessThan(4)", "ParametersLessThan(3)"},
};

static const Row of_answer[] = {
    {"SameRegisteredDomain()", "SameHost()"},
    {"DepthAtMost(3)", "DepthAtMost(2)"},
    {"IsHttpResponse()", "not IsHttpResponse()"},
    {"StatusIsOneOf(200, 400-404)", "StatusIsOneOf(405-499)"},
    {"StatusCategory(4)", "StatusCategory(2)"},
    {"ContentTypeStartsWith(TEXT/h)", "ContentTypeStartsWith(html)"},
    {"MIMEIsOneOf(text/*)", "MIMEIsOneOf(text/htm, te/*)"},
    {"SizeLessThan(8)", "SizeLessThan(7)"},
    {"IsProbablyBinary()", "not IsProbablyBinary()"},
    {"ResponseMatches(a.*d)", "ResponseMatches(a)"},
    {"ResponseContainsRegex(d$)", "ResponseContainsRegex(e)"},
    {"AnchorContainsRegex(on)", "AnchorContainsRegex(off)"},
    {"TextContainsRegex(round)", "TextContainsRegex(on it)"},
    {"TitleContainsRegex(T)", "TitleContainsRegex(X)"},
    {"UsageDenied(search, tdm)", "UsageDenied(tdm)"},
    {"usage(tdm)", "usage(search)"},
    {"DigestEquals(sha1:00FF)", "DigestEquals(00fe)"},
};

static void an_atom_is_true_of_what_it_says_and_of_nothing_else(void)
{
    Url url = {.href = NULL};
    Url source = {.href = NULL};
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, URL_OF, strlen(URL_OF)), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(url_parse(&source, NULL, "http://example.co.uk/", 21), RESULT_OK);
    FilterInput bare = {.url = &url};
    check(of_url, sizeof of_url / sizeof *of_url, &bare);
    static const char body[] = "a\0b\0\0cd";
    FilterInput full = {.url = &url,
                        .source = &source,
                        .has_depth = true,
                        .depth = 3,
                        .status = 404,
                        .content_type = "Text/HTML; charset=x",
                        .has_body = true,
                        .body = body,
                        .body_length = sizeof body - 1,
                        .usage_denied = USAGE_SEARCH,
                        .anchor = "click on it",
                        .anchor_length = 8,
                        .text = "around",
                        .text_length = 6,
                        .title = "T",
                        .digest = "sha1:00ff"};
    check(of_answer, sizeof of_answer / sizeof *of_answer, &full);
    check(of_url, sizeof of_url / sizeof *of_url, &full);
    url_destroy(&url);
    url_destroy(&source);
}

/* What is not there makes every atom about it false, and none of them reads it. */
static void of_what_is_absent_nothing_is_true(void)
{
    Url url = {.href = NULL};
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, "http://[::1]/", 13), RESULT_OK);
    FilterInput bare = {.url = &url, .is_unread = true};
    for (size_t i = 0; i < sizeof of_answer / sizeof *of_answer; i++) {
        if (strncmp(of_answer[i].yes, "SizeLessThan", 12) != 0) {
            CU_ASSERT_EQUAL(holds(of_answer[i].yes, &bare), 0);
        }
    }
    CU_ASSERT_EQUAL(holds("HostIsAddress()", &bare), 1);
    CU_ASSERT_EQUAL(holds("ExtensionIsOneOf(html)", &bare), 0);
    CU_ASSERT_EQUAL(holds("HasQuery()", &bare), 0);
    CU_ASSERT_EQUAL(holds("ParametersLessThan(1)", &bare), 1);
    url_destroy(&url);
}

static void every_atom_is_tried_here(void)
{
    size_t n = 0;
    for (; filter_atom_type(n) != NULL; n++) {
        const char *name = filter_atom_type(n)->help.name;
        size_t tried = 0;
        for (size_t i = 0; i < sizeof of_url / sizeof *of_url; i++) {
            tried += strstr(of_url[i].yes, name) != NULL || strstr(of_url[i].no, name) != NULL;
        }
        for (size_t i = 0; i < sizeof of_answer / sizeof *of_answer; i++) {
            tried +=
                strstr(of_answer[i].yes, name) != NULL || strstr(of_answer[i].no, name) != NULL;
        }
        CU_ASSERT_NOT_EQUAL(tried, 0);
    }
    CU_ASSERT_PTR_NULL(filter_atom_type(SIZE_MAX));
    CU_ASSERT_TRUE(n > 40);
}

UNIT_MAIN("filter_tests",
          {"an atom is true of what it says and of nothing else",
           an_atom_is_true_of_what_it_says_and_of_nothing_else},
          {"of what is absent nothing is true", of_what_is_absent_nothing_is_true},
          {"every atom is tried here", every_atom_is_tried_here})
