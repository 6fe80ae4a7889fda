#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/option/option_changes.h"
#include "base/option/options.h"
#include "alloc_fixture.h"
#include "folder_fixture.h"
#include "unit.h"

typedef struct Values {
    bool crawl_polite;
    int64_t crawl_pages;
    int64_t fetch_timeout;
    int64_t fetch_body;
    double score_factor;
    char *crawl_contact;
    int log_level;
} Values;

/* clang-format off */
static const OptionSpec specs[] = {
    {"crawl", "polite", OPTION_BOOL, offsetof(Values, crawl_polite), "yes", 0, 0, NULL, false, false,
     "whether it waits", false, false, false},
    {"crawl", "pages", OPTION_COUNT, offsetof(Values, crawl_pages), "10", 1, 1000, NULL, true, true,
     "how many", false, false, false},
    {"crawl", "contact", OPTION_TEXT, offsetof(Values, crawl_contact), "", 0, 0, NULL, false, false,
     "who answers", false, false, true},
    {"fetch", "timeout", OPTION_TIME, offsetof(Values, fetch_timeout), "5s", 10, 86400e3, NULL, false,
     true, "how long", false, false, false},
    {"fetch", "body", OPTION_SIZE, offsetof(Values, fetch_body), "2Mi", 1024, 1e12, NULL, false,
     false, "how large", false, false, false},
    {"score", "factor", OPTION_REAL, offsetof(Values, score_factor), "0.5", 0, 1, NULL, false, false,
     "how steep", false, false, false},
    {"log", "level", OPTION_WORD, offsetof(Values, log_level), "info", 0, 0, "error|info|debug", true,
     false, "how much", false, false, false},
};
/* clang-format on */

typedef struct Fixture {
    Options options;
    Values values;
    Buffer error;
} Fixture;

static void set_up(Fixture *f)
{
    memset(&f->values, 0, sizeof f->values);
    buffer_init(&f->error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(
        options_init(&f->options, specs, sizeof specs / sizeof *specs, &f->values), RESULT_OK);
}

static void tear_down(Fixture *f)
{
    options_destroy(&f->options);
    buffer_destroy(&f->error);
}

static Result set(Fixture *f, const char *name, const char *text)
{
    buffer_reset(&f->error);
    return options_set(&f->options, name, text, "command line", &f->error);
}

static bool complained(const Fixture *f, const char *words)
{
    bool found = strstr(buffer_string(&f->error), words) != NULL;
    if (!found) {
        (void)fprintf(stderr, "\nexpected: %s\nfound:    %s\n", words, buffer_string(&f->error));
    }
    return found;
}

/* Writes DIR/name; the directory is made once. */
static const char *directory(void)
{
    static char path[FOLDER_BYTES];
    static bool made;
    if (!made) {
        folder_make(path);
        made = true;
    }
    return path;
}

static void file_path(const char *name, char path[256])
{
    (void)snprintf(path, 256, "%s/%s", directory(), name);
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    file_path(name, path);
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static Result load(Fixture *f, const char *text)
{
    char path[256];
    write_file("a.ini", text);
    file_path("a.ini", path);
    buffer_reset(&f->error);
    Result rc = options_load(&f->options, path, &f->error);
    (void)unlink(path);
    return rc;
}

static void defaults_come_from_the_table(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_TRUE(f.values.crawl_polite);
    CU_ASSERT_EQUAL(f.values.crawl_pages, 10);
    CU_ASSERT_EQUAL(f.values.fetch_timeout, 5000);
    CU_ASSERT_EQUAL(f.values.fetch_body, 2 * 1024 * 1024);
    CU_ASSERT_EQUAL(f.values.score_factor, 0.5);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "");
    CU_ASSERT_EQUAL(f.values.log_level, 1);
    CU_ASSERT_STRING_EQUAL(f.options.origins[0], "default");
    tear_down(&f);
}

static void units_are_understood(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } times[] = {{"0", 0},        {"1", 1000},       {"250ms", 250},
                 {"1.5s", 1500},  {" 2 m ", 120000}, {"2min", 120000},
                 {"1h", 3600000}, {"1d", 86400000},  {".5s", 500}};
    static const struct {
        const char *text;
        int64_t bytes;
    } sizes[] = {{"7", 7},
                 {"7B", 7},
                 {"1K", 1000},
                 {"1k", 1000},
                 {"1Ki", 1024},
                 {"1KiB", 1024},
                 {"3M", 3000000},
                 {"3Mi", 3145728},
                 {"1G", 1000000000},
                 {"1Gi", 1073741824},
                 {"2T", INT64_C(2000000000000)},
                 {"1Ti", INT64_C(1099511627776)},
                 {"0.5Ki", 512}};
    static const char *const bad[] = {"",     "s",    "1x",  "1 m s", "inf", "nan",
                                      "0x10", "1e99", "1ss", "+-1",   "--1", "1e400"};
    int64_t value = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        CU_ASSERT_EQUAL(option_parse_time(times[i].text, &value), RESULT_OK);
        CU_ASSERT_EQUAL(value, times[i].ms);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CU_ASSERT_EQUAL(option_parse_size(sizes[i].text, &value), RESULT_OK);
        CU_ASSERT_EQUAL(value, sizes[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(option_parse_time(bad[i], &value), RESULT_INVALID);
        CU_ASSERT_EQUAL(option_parse_size(bad[i], &value), RESULT_INVALID);
    }
}

static void words_and_truths_are_understood(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(set(&f, "crawl.polite", "Off"), RESULT_OK);
    CU_ASSERT_FALSE(f.values.crawl_polite);
    CU_ASSERT_EQUAL(set(&f, "crawl.polite", "1"), RESULT_OK);
    CU_ASSERT_TRUE(f.values.crawl_polite);
    CU_ASSERT_EQUAL(set(&f, "crawl.polite", "maybe"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "crawl.polite: 'maybe' is not yes or no"));
    CU_ASSERT_EQUAL(set(&f, "log.level", "DEBUG"), RESULT_OK);
    CU_ASSERT_EQUAL(f.values.log_level, 2);
    CU_ASSERT_EQUAL(set(&f, "log.level", "info|debug"), RESULT_INVALID);
    CU_ASSERT_EQUAL(set(&f, "log.level", "inf"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "error|info|debug"));
    CU_ASSERT_EQUAL(f.values.log_level, 2);
    CU_ASSERT_EQUAL(set(&f, "crawl.contact", "a b; c # d"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "a b; c # d");
    tear_down(&f);
}

static void ranges_hold_and_what_is_wrong_changes_nothing(void)
{
    static const struct {
        const char *name;
        const char *text;
        const char *words;
    } cases[] = {{"crawl.pages", "0", "out of range, expected 1 to 1000"},
                 {"crawl.pages", "1001", "out of range"},
                 {"crawl.pages", "1.5", "is not a whole number"},
                 {"crawl.pages", "1e300", "out of range"},
                 {"crawl.pages", "5 pages", "is not a whole number"},
                 {"fetch.timeout", "9ms", "expected 10ms to 1d"},
                 {"fetch.timeout", "-5s", "out of range"},
                 {"fetch.timeout", "25h", "out of range"},
                 {"fetch.timeout", "5 parsecs", "a time such as"},
                 {"fetch.body", "1023", "expected 1Ki to "},
                 {"fetch.body", "big", "a size such as"},
                 {"score.factor", "1.01", "expected 0 to 1"},
                 {"score.factor", "nan", "is not a number"}};
    Fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(set(&f, cases[i].name, cases[i].text), RESULT_INVALID);
        CU_ASSERT_TRUE(complained(&f, cases[i].words));
        CU_ASSERT_TRUE(complained(&f, cases[i].text));
    }
    CU_ASSERT_EQUAL(f.values.crawl_pages, 10);
    CU_ASSERT_EQUAL(f.values.fetch_timeout, 5000);
    CU_ASSERT_STRING_EQUAL(f.options.origins[1], "default");
    CU_ASSERT_EQUAL(set(&f, "crawl.pages", "1000"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.options.origins[1], "command line");
    tear_down(&f);
}

static void an_unknown_name_gets_the_nearest_one(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(set(&f, "fetch.timeuot", "1s"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "did you mean 'fetch.timeout'?"));
    CU_ASSERT_EQUAL(set(&f, "fetch.pages", "1"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "did you mean 'crawl.pages'?"));
    CU_ASSERT_EQUAL(set(&f, "pages", "1"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "did you mean 'crawl.pages'?"));
    CU_ASSERT_EQUAL(set(&f, "fetch.nonsense", "1"), RESULT_INVALID); /* the section alone is none */
    CU_ASSERT_TRUE(complained(&f, "--help-config"));
    CU_ASSERT_EQUAL(set(&f, "zzzzzz.qqqqqqqqq", "1"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "--help-config"));
    CU_ASSERT_EQUAL(set(&f, "", "1"), RESULT_INVALID);
    CU_ASSERT_EQUAL(option_distance("kitten", "sitting"), 3);
    CU_ASSERT_EQUAL(option_distance("", "abc"), 3);
    CU_ASSERT_EQUAL(option_distance("abc", ""), 3);
    CU_ASSERT_EQUAL(option_distance("same", "same"), 0);
    tear_down(&f);
}

static void a_file_sets_values_and_says_where_from(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(load(&f, "; a comment\n# another\n\n[crawl]\npages = 77\r\n"
                             "contact = https://example.org/#us\n[fetch]\ntimeout=2m\n"),
                    RESULT_OK);
    CU_ASSERT_EQUAL(f.values.crawl_pages, 77);
    CU_ASSERT_EQUAL(f.values.fetch_timeout, 120000);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "https://example.org/#us");
    const char *origin = f.options.origins[1];
    CU_ASSERT_PTR_NOT_NULL(strstr(origin, "a.ini:5"));
    CU_ASSERT_EQUAL(load(&f, "\xef\xbb\xbf[crawl]\npages = 78\n"), RESULT_OK);
    CU_ASSERT_EQUAL(f.values.crawl_pages, 78);
    tear_down(&f);
}

static void every_mistake_in_a_file_has_its_line(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(load(&f,
                         "[crawl]\npages = 0\ncontact = x\npagse = 5\n\n[fetch]\ntimeout = 1 x\n"
                         "body = 4Ki\n"),
                    RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "a.ini:2: crawl.pages: '0' is out of range"));
    CU_ASSERT_TRUE(complained(&f, "a.ini:4: unknown option 'crawl.pagse', did you mean "
                                  "'crawl.pages'?"));
    CU_ASSERT_TRUE(complained(&f, "a.ini:7: fetch.timeout"));
    CU_ASSERT_EQUAL(f.values.fetch_body, 4096); /* the rest goes on */
    CU_ASSERT_EQUAL(load(&f, "[crawl]\npages = 5\nnonsense\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "a.ini:3: expected 'key = value'"));
    CU_ASSERT_EQUAL(load(&f, "[crawl\npages = 5\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "a.ini:1:"));
    CU_ASSERT_EQUAL(options_load(&f.options, "/nonexistent/x.ini", &f.error), RESULT_NOT_FOUND);
    tear_down(&f);
}

static void indented_lines_continue_a_value_and_nothing_else(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(load(&f, "[crawl]\ncontact = a\n  b\n\tc\npages = 5\n"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "a b c");
    /* An indented key at the start of a section is a key. */
    CU_ASSERT_EQUAL(load(&f, "[crawl]\ncontact = mine\n[fetch]\n  timeout = 7s\n"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "mine");
    CU_ASSERT_EQUAL(f.values.fetch_timeout, 7000);
    /* So is an indented comment a comment. */
    CU_ASSERT_EQUAL(load(&f, "[log]\nlevel = error\n   ; loud\n[crawl]\ncontact = me\n  # you\n"),
                    RESULT_OK);
    CU_ASSERT_EQUAL(f.values.log_level, 0);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "me");
    tear_down(&f);
}

static void long_lines_are_whole(void)
{
    Fixture f;
    Buffer text;
    Buffer value;
    set_up(&f);
    buffer_init(&text, BUFFER_NO_LIMIT);
    buffer_init(&value, BUFFER_NO_LIMIT);
    for (int i = 0; i < 500; i++) { /* with everything in it that could begin something else */
        (void)buffer_printf(&value, "%s%d",
                            i % 3 == 0   ? "word;"
                            : i % 3 == 1 ? "#x[y]="
                                         : ":z,",
                            i);
    }
    (void)buffer_printf(&text, "[crawl]\ncontact = %s\npages = 0\n", buffer_string(&value));
    CU_ASSERT_EQUAL(load(&f, buffer_string(&text)), RESULT_INVALID);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, buffer_string(&value));
    CU_ASSERT_TRUE(complained(&f, "a.ini:3: crawl.pages"));
    buffer_destroy(&text);
    buffer_destroy(&value);
    tear_down(&f);
}

/* A line for which there is no memory is not the end of the file. */
static void without_memory_no_file_is_read_in_part(void)
{
#ifdef ALLOC_CAN_FAIL
    char text[1000] = "; ";
    char path[256];
    memset(text + 2, 'x', 900);
    (void)snprintf(text + 902, sizeof text - 902, "\n[crawl]\npages = 60\n");
    write_file("a.ini", text);
    file_path("a.ini", path);
    bool is_used = true;
    for (long n = 1; is_used && n < 1000; n++) {
        Fixture f;
        set_up(&f);
        errno = ENOMEM; /* the fixture's malloc does not say so */
        alloc_fail_at = n;
        Result rc = options_load(&f.options, path, &f.error);
        is_used = alloc_fail_at == 0;
        alloc_fail_at = 0;
        CU_ASSERT(rc != RESULT_OK || f.values.crawl_pages == 60);
        tear_down(&f);
    }
#endif
}

static void a_value_is_as_a_file_can_hold_it(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(set(&f, "crawl.contact", "  a b\t "), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "a b");
    CU_ASSERT_STRING_EQUAL(f.options.texts[2], "a b");
    CU_ASSERT_EQUAL(set(&f, "crawl.pages", " 12 "), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.options.texts[1], "12");
    static const char *const impossible[] = {"a ;b", ";a", "a\t;", "a\nb", "a\x1B", "a\x7F"};
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        CU_ASSERT_EQUAL(set(&f, "crawl.contact", impossible[i]), RESULT_INVALID);
        CU_ASSERT_TRUE(complained(&f, "crawl.contact: '"));
    }
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "a b");
    CU_ASSERT_EQUAL(load(&f, "[crawl]\ncontact =\n  x\n"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "x");
    tear_down(&f);
}

static void a_line_is_cut_where_nothing_is_lost(void)
{
    /* No two letters side by side, every kind of character at the cuts, remarks on long lines. */
    static const char *const fillers[] = {"a ", "1 # ", "\xD0\xB6\t", "x;#", "[ ", "= : ", "ab  c"};
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++) {
        Fixture f;
        Buffer value;
        Buffer file;
        set_up(&f);
        buffer_init(&value, BUFFER_NO_LIMIT);
        buffer_init(&file, BUFFER_NO_LIMIT);
        for (int n = 0; n < 300; n++) {
            (void)buffer_append_string(&value, fillers[i]);
        }
        (void)buffer_append_string(&value, ".");
        (void)buffer_printf(&file, "[crawl]\npages = 9\n; %s\ncontact = %s ; %s\n# %s\n",
                            value.data, value.data, value.data, value.data);
        CU_ASSERT_EQUAL(load(&f, file.data), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, value.data);
        CU_ASSERT_EQUAL(f.values.crawl_pages, 9);
        buffer_destroy(&value);
        buffer_destroy(&file);
        tear_down(&f);
    }
}

static void an_included_file_comes_first(void)
{
    Fixture f;
    char path[256];
    set_up(&f);
    write_file("b.ini", "[crawl]\npages = 50\ncontact = base\n");
    CU_ASSERT_EQUAL(load(&f, "include = b.ini\n[crawl]\npages = 60\n"), RESULT_OK);
    CU_ASSERT_EQUAL(f.values.crawl_pages, 60);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "base");
    write_file("b.ini", "[crawl]\n\npages = none\n");
    CU_ASSERT_EQUAL(load(&f, "include = b.ini\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "b.ini:3: crawl.pages: 'none'"));
    CU_ASSERT_EQUAL(load(&f, "include = missing.ini\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "a.ini:1: include = missing.ini"));
    write_file("b.ini", "include = b.ini\n");
    CU_ASSERT_EQUAL(load(&f, "include = b.ini\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "levels deep"));
    file_path("b.ini", path);
    (void)unlink(path);
    tear_down(&f);
}

static void sites_override_what_may_differ(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(load(&f, "[site \"*.example.org\"]\ntimeout = 9s\npages = 3\n"
                             "[site \"slow.example.org\"]\ntimeout = 1m\n"),
                    RESULT_OK);
    Values values = f.values;
    options_site_values(&f.options, "www.Example.org", &values);
    CU_ASSERT_TRUE(values.fetch_timeout == 9000 && values.crawl_pages == 3);
    options_site_values(&f.options, "slow.example.org.", &values); /* the dot says nothing */
    CU_ASSERT_TRUE(values.fetch_timeout == 60000 && values.crawl_pages == 3);
#define LONG_NAME "a-host-whose-name-alone-is-longer.than-fifty-letters-are.example.net"
    CU_ASSERT_EQUAL(load(&f, "[site \"" LONG_NAME "\"]\npages = 7\n"), RESULT_OK);
    options_site_values(&f.options, LONG_NAME, &values);
    CU_ASSERT_EQUAL(values.crawl_pages, 7);
    values = f.values;
    options_site_values(&f.options, "example.com", &values);
    CU_ASSERT_EQUAL(values.fetch_timeout, f.values.fetch_timeout);
    CU_ASSERT_EQUAL(load(&f, "[site \"*\"]\nbody = 9Ki\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "a.ini:2: 'body' cannot be set for a site; these can: pages "
                                  "timeout"));
    CU_ASSERT_EQUAL(load(&f, "[site \"*\"]\npages = 0\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "a.ini:2: crawl.pages: '0' is out of range"));
    tear_down(&f);
}

static void the_environment_is_read(void)
{
    Fixture f;
    set_up(&f);
    (void)setenv("RTEST_CRAWL_PAGES", "33", 1);
    (void)setenv("RTEST_FETCH_TIMEOUT", "1 century", 1);
    CU_ASSERT_EQUAL(options_load_environment(&f.options, "RTEST_", &f.error), RESULT_INVALID);
    CU_ASSERT_EQUAL(f.values.crawl_pages, 33);
    CU_ASSERT_STRING_EQUAL(f.options.origins[1], "environment");
    CU_ASSERT_TRUE(complained(&f, "fetch.timeout: '1 century'"));
    CU_ASSERT_TRUE(complained(&f, "from the environment"));
    (void)unsetenv("RTEST_CRAWL_PAGES");
    (void)unsetenv("RTEST_FETCH_TIMEOUT");
    tear_down(&f);
}

static void options_that_are_gone_do_not_hold_an_old_directory_up(void)
{
    static const OptionGone gone[] = {{"crawl.speed", "crawl.pages does it"}, {NULL, NULL}};
    Fixture f;
    set_up(&f);
    f.options.gone = gone;
    /* What a program wrote that had it: its default is no matter, what somebody set is. */
    char path[256];
    file_path("a.ini", path);
    write_file("a.ini", "[crawl]\n; default\nspeed = 3\n; default\nother = 4\n");
    CU_ASSERT_EQUAL(options_load_printed(&f.options, path, &f.error), RESULT_OK);
    write_file("a.ini", "[crawl]\n; command line\nspeed = 4\n");
    CU_ASSERT_EQUAL(options_load_printed(&f.options, path, &f.error), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "option 'crawl.speed' is gone: crawl.pages does it"));
    CU_ASSERT_EQUAL(load(&f, "[crawl]\n; default\nspeed = 3\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "option 'crawl.speed' is gone"));
    tear_down(&f);
}

static void what_is_printed_loads_again(void)
{
    Fixture f;
    Fixture g;
    char *text = NULL;
    size_t length = 0;
    set_up(&f);
    set_up(&g);
    CU_ASSERT_EQUAL(load(&f,
                         "[crawl]\npages = 44\npolite = no\ncontact = x; y\n[score]\nfactor=.25\n"
                         "[log]\nlevel = error\n[site \"a*\"]\npages = 2\n"
                         "[identity \"b\"]\ncontact = z\n"),
                    RESULT_OK);
    FILE *out = open_memstream(&text, &length);
    options_print(&f.options, out);
    (void)fclose(out);
    CU_ASSERT_EQUAL(load(&g, text), RESULT_OK);
    CU_ASSERT_EQUAL(g.values.crawl_pages, 44);
    CU_ASSERT_FALSE(g.values.crawl_polite);
    CU_ASSERT_EQUAL(g.values.score_factor, 0.25);
    CU_ASSERT_EQUAL(g.values.log_level, 0);
    CU_ASSERT_STRING_EQUAL(g.values.crawl_contact, "x; y");
    CU_ASSERT_EQUAL(g.options.n_sites, 1);
    CU_ASSERT_EQUAL(g.options.n_identities, 1);
    free(text);
    out = open_memstream(&text, &length);
    options_help(&f.options, "timeout", out);
    (void)fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "fetch.timeout = 5s\n    how long (10ms to 1d; per site)"));
    CU_ASSERT_PTR_NULL(strstr(text, "crawl.pages"));
    free(text);
    out = open_memstream(&text, &length);
    options_print_sample(&f.options, out);
    (void)fclose(out);
    CU_ASSERT_EQUAL(load(&g, text), RESULT_OK); /* all of it is comments */
    CU_ASSERT_EQUAL(g.values.crawl_pages, 44);
    free(text);
    tear_down(&f);
    tear_down(&g);
    folder_remove(directory());
}

static void one_identity_is_picked(void)
{
    Fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(load(&f, "[crawl]\ncontact = x\n[identity \"a\"]\ncontact = y\n"
                             "[identity \"b\"]\ncrawl.contact = z\n"),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "x");
    CU_ASSERT_EQUAL(options_pick_identity(&f.options, "b", &f.error), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "z");
    CU_ASSERT_PTR_NOT_NULL(strstr(f.options.origins[2], ":6"));
    CU_ASSERT_EQUAL(options_pick_identity(&f.options, "c", &f.error), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "there is no section [identity \"c\"]"));
    CU_ASSERT_EQUAL(set(&f, "crawl.contact", "y"), RESULT_OK);
    CU_ASSERT_EQUAL(options_pick_identity(&f.options, "a", &f.error), RESULT_OK); /* it agrees */
    CU_ASSERT_EQUAL(set(&f, "crawl.contact", "w"), RESULT_OK);
    CU_ASSERT_EQUAL(options_pick_identity(&f.options, "a", &f.error), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "crawl.contact of the command line is not that of identity 'a'"));
    CU_ASSERT_STRING_EQUAL(f.values.crawl_contact, "w");
    CU_ASSERT_EQUAL(load(&f, "[identity \"a\"]\npages = 2\n"), RESULT_INVALID);
    CU_ASSERT_TRUE(complained(&f, "'pages' cannot be set for an identity; these can: contact"));
    tear_down(&f);
}

typedef struct Told {
    Buffer text;
} Told;

static void tell(void *context, const OptionChange *change)
{
    Told *told = context;
    (void)buffer_printf(&told->text, "%s %s: '%s' '%s';", change->site, change->spec->key,
                        change->from, change->to);
}

/* What is told of the change from one list of sections to another, "moved" if they moved. */
static bool site_changes_are(const char *before, const char *after, const char *expected)
{
    Fixture a;
    Fixture b;
    Told told;
    set_up(&a);
    set_up(&b);
    buffer_init(&told.text, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(load(&a, before), RESULT_OK);
    CU_ASSERT_EQUAL(load(&b, after), RESULT_OK);
    option_changes_tell_sites(&a.options, &b.options, tell, &told);
    if (option_changes_has_moved_sites(&a.options, &b.options)) {
        (void)buffer_append_string(&told.text, "moved");
    }
    bool same = strcmp(buffer_string(&told.text), expected) == 0;
    buffer_destroy(&told.text);
    tear_down(&a);
    tear_down(&b);
    return same;
}

static void changes_of_sites_are_told_one_by_one(void)
{
#define SITE(pattern, text) "[site \"" pattern "\"]\n" text "\n"
    CU_ASSERT_TRUE(site_changes_are("", "", ""));
    CU_ASSERT_TRUE(site_changes_are("", SITE("a", "pages = 2"), "a pages: '' '2';"));
    CU_ASSERT_TRUE(site_changes_are(SITE("a", "pages = 2"), "", "a pages: '2' '';"));
    CU_ASSERT_TRUE(site_changes_are(SITE("a", "pages = 2"), SITE("a", "pages = 3\ntimeout = 1s"),
                                    "a pages: '2' '3';a timeout: '' '1s';"));
    CU_ASSERT_TRUE(site_changes_are(SITE("a", "pages = 2") SITE("b", "pages = 2"),
                                    SITE("b", "pages = 2") SITE("a", "pages = 2"), ""));
    CU_ASSERT_TRUE(site_changes_are(SITE("a*", "pages = 2") SITE("ab", "pages = 3"),
                                    SITE("ab", "pages = 3") SITE("a*", "pages = 2"), "moved"));
    CU_ASSERT_TRUE(site_changes_are(SITE("a*", "pages = 2"),
                                    SITE("a*", "pages = 2") SITE("ab", "pages = 3"),
                                    "ab pages: '' '3';"));
#undef SITE
}

UNIT_MAIN("options", {"defaults come from the table", defaults_come_from_the_table},
          {"units are understood", units_are_understood},
          {"words and truths are understood", words_and_truths_are_understood},
          {"ranges hold, and what is wrong changes nothing",
           ranges_hold_and_what_is_wrong_changes_nothing},
          {"an unknown name gets the nearest one", an_unknown_name_gets_the_nearest_one},
          {"a file sets values and says where from", a_file_sets_values_and_says_where_from},
          {"every mistake in a file has its line", every_mistake_in_a_file_has_its_line},
          {"indented lines continue a value and nothing else",
           indented_lines_continue_a_value_and_nothing_else},
          {"long lines are whole", long_lines_are_whole},
          {"without memory no file is read in part", without_memory_no_file_is_read_in_part},
          {"a value is as a file can hold it", a_value_is_as_a_file_can_hold_it},
          {"a line is cut where nothing is lost", a_line_is_cut_where_nothing_is_lost},
          {"an included file comes first", an_included_file_comes_first},
          {"sites override what may differ", sites_override_what_may_differ},
          {"changes of sites are told one by one", changes_of_sites_are_told_one_by_one},
          {"the environment is read", the_environment_is_read},
          {"one identity is picked", one_identity_is_picked},
          {"options that are gone do not hold an old directory up",
           options_that_are_gone_do_not_hold_an_old_directory_up},
          {"what is printed loads again", what_is_printed_loads_again})
