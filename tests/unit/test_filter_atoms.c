/* Names and arguments of atoms: what is read of them, and where it is said that they are wrong. */
#include <string.h>

#include "parse/filter/filter_atoms.h"
#include "unit.h"

typedef struct Reading {
    Filter filter;
    FilterError error;
    FilterCompiler compiler;
    FilterAtom atom;
} Reading;

/* Reads "( ... )" for an atom of that name; end in any case. */
static Result read_of(Reading *r, const char *name, const char *text, size_t length)
{
    memset(r, 0, sizeof *r);
    arena_init(&r->filter.arena, 512, SIZE_MAX);
    r->compiler =
        (FilterCompiler){.filter = &r->filter, .error = &r->error, .text = text, .length = length};
    r->atom.type = filter_atom_find(name, strlen(name));
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->atom.type);
    return filter_read_arguments(&r->compiler, &r->atom);
}

static void end(Reading *r)
{
    pcre2_code_free(r->atom.regex);
    arena_destroy(&r->filter.arena);
}

/* The items joined by '|', or the message and where. */
static void reads(const char *name, const char *text, const char *want)
{
    Reading r;
    Result rc = read_of(&r, name, text, strlen(text));
    char got[256] = "";
    size_t n = 0;
    for (size_t i = 0; rc == RESULT_OK && i < r.atom.n_items; i++) {
        n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", i == 0 ? "" : "|",
                              r.atom.items[i].text);
        CU_ASSERT_EQUAL(strlen(r.atom.items[i].text), r.atom.items[i].length);
    }
    if (rc == RESULT_OK) {
        CU_ASSERT_EQUAL(text[r.compiler.at - 1], ')');
    } else {
        CU_ASSERT_EQUAL(rc, RESULT_INVALID);
        (void)snprintf(got, sizeof got, "%zu: %s", r.error.column, r.error.message);
    }
    if (strcmp(got, want) != 0) {
        (void)fprintf(stderr, "%s%s: '%s', expected '%s'\n", name, text, got, want);
        CU_FAIL("another reading");
    }
    end(&r);
}

static void arguments_are_read_as_they_are_written(void)
{
    reads("URLContainsOneOf", "( a b , c )x", "a b|c");
    reads("URLContainsOneOf", "('a, b',\"c\\\"d\\\\\", e\\, f)", "a, b|c\"d\\|e|f");
    reads("URLContainsOneOf", "(f(x), 'it''s')",
          "12: expected ')' behind the argument of "
          "URLContainsOneOf");
    reads("URLContainsOneOf", "('')", "");
    reads("URLContainsOneOf", "(1,2,3,4,5,6,7,8,9)", "1|2|3|4|5|6|7|8|9");
    reads("URLMatchesRegex", "([)](a|b),c)", "[)](a|b),c");
    reads("URLMatchesRegex", "([]a)])", "[]a)]");
    reads("SameHost", "( )", "");
}

static void they_are_brought_into_the_form_that_is_compared(void)
{
    reads("HostEquals", "(EXAMPLE.Org.)", "example.org.");
    reads("HostEquals",
          "(b\xC3\xBC"
          "cher.de)",
          "xn--bcher-kva.de");
    reads("HostEndsWith",
          "(.B\xC3\x9C"
          "cher.de)",
          ".xn--bcher-kva.de");
    reads("HostEndsWith", "(.Example.ORG)", ".example.org");
    reads("URLEquals", "(HTTP://A:80/../x)", "http://a/x");
    reads("ExtensionIsOneOf", "(.PDF, Gz)", "pdf|gz");
    reads("DigestEquals", "(sha1:AbC)", "abc");
    reads("PathEndsWithOneOf", "(.\xC3\x84 X)", ".\xC3\x84 x");
    static const struct {
        const char *name;
        const char *text;
        uint64_t low;
        uint64_t high;
    } rows[] = {
        {"PathDepthLessThan", "(007)", 7, 7},
        {"PathDepthLessThan", "(999999999999999999)", 999999999999999999, 999999999999999999},
        {"PortIsOneOf", "(300-399)", 300, 399},
        {"PortIsOneOf", "(80)", 80, 80},
        {"SizeLessThan", "(2Ki)", 2048, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Reading r;
        CU_ASSERT_EQUAL(read_of(&r, rows[i].name, rows[i].text, strlen(rows[i].text)), RESULT_OK);
        CU_ASSERT_EQUAL_FATAL(r.atom.n_items, 1);
        CU_ASSERT_EQUAL(r.atom.items[0].low, rows[i].low);
        CU_ASSERT_EQUAL(r.atom.items[0].high, rows[i].high);
        end(&r);
    }
}

static void what_is_wrong_is_told_with_its_place(void)
{
    reads("HostEquals", "(a/b)", "2: expected a host name");
    reads("HostEquals", "(a:81)", "2: expected a host name");
    reads("HostEqualsOneOf", "(\xC3\xA4, a b)", "5: expected a host name"); /* characters */
    reads("URLEquals", "(ftp://a/)", "2: expected an http or https URL");
    reads("PathDepthLessThan", "(1000000000000000000)", "2: expected a number");
    reads("PathDepthLessThan", "(-1)", "2: expected a number");
    reads("DuplicateSegmentsLessThan", "(1)", "2: expected a number of at least 2");
    reads("PortIsOneOf", "(9-8)", "2: expected a number or a range such as 300-399");
    reads("PortIsOneOf", "(9-)", "2: expected a number or a range such as 300-399");
    reads("SizeLessThan", "(1X)",
          "2: expected a size: a number, then K, Ki, M, Mi, G, Gi or nothing");
    reads("UsageDenied", "(x)", "2: expected a usage (train-ai, ai-input, search, tdm, image-ai)");
    reads("HostInFile", "(f)", "2: files cannot be read here");
    reads("URLMatchesRegex", "('a(')", "5: regular expression: missing closing parenthesis");
    reads("HostEquals", "()", "2: expected a host name");
    reads("HostEqualsOneOf", "(a,)", "4: expected host names");
    reads("SameHost", "(x)", "2: SameHost takes no arguments: expected ')'");
    reads("ParameterIs", "(x)", "3: expected ',' and a value");
    static const char *const open[] = {"(", "(a", "(a\\", "(a(b)", "( "};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        reads("URLContainsOneOf", open[i], "1: this '(' is never closed");
    }
    reads("URLContainsOneOf", "(x, 'a)", "5: this quote is never closed");
    reads("URLContainsOneOf", "(\"a\\\")", "2: this quote is never closed");
}

static void a_name_is_found_and_the_most_similar_one_to_a_wrong_one(void)
{
    CU_ASSERT_PTR_NULL(filter_atom_find("HostEqual", 9));
    CU_ASSERT_PTR_NULL(filter_atom_find("hostequals", 10));
    CU_ASSERT_PTR_NULL(filter_atom_find("", 0));
    CU_ASSERT_STRING_EQUAL(filter_atom_find("HostEqualsX", 10)->help.name, "HostEquals");
    CU_ASSERT_STRING_EQUAL(filter_atom_nearest("HostEqual", 9), "HostEquals");
    CU_ASSERT_STRING_EQUAL(filter_atom_nearest("URLMatchRegexp", 14), "URLMatchesRegex");
    CU_ASSERT_PTR_NULL(filter_atom_nearest("Weather", 7));
    char longest[41];
    memset(longest, 'x', sizeof longest);
    CU_ASSERT_PTR_NULL(filter_atom_nearest(longest, sizeof longest));
    size_t n = 0;
    while (filter_atom_help(n) != NULL) {
        const char *name = filter_atom_help(n++)->name;
        CU_ASSERT_STRING_EQUAL(filter_atom_find(name, strlen(name))->help.name, name);
        CU_ASSERT_STRING_EQUAL(filter_atom_nearest(name, strlen(name)), name);
    }
    CU_ASSERT_PTR_NULL(filter_atom_help(n + 1));
}

UNIT_MAIN("filter_atoms",
          {"arguments are read as they are written", arguments_are_read_as_they_are_written},
          {"they are brought into the form that is compared",
           they_are_brought_into_the_form_that_is_compared},
          {"what is wrong is told with its place", what_is_wrong_is_told_with_its_place},
          {"a name is found and the most similar one to a wrong one",
           a_name_is_found_and_the_most_similar_one_to_a_wrong_one})
