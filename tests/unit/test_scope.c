#include <string.h>

#include "base/core/clock.h"
#include "rules/scope/scope.h"
#include "unit.h"

static const ScopeOptions everything = {.domains = "",
                                        .exclude_domains = "",
                                        .accept_regex = "",
                                        .reject_regex = "",
                                        .max_url_length = 100};

static Scope *scope_of(const ScopeOptions *options)
{
    Scope *scope = NULL;
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL_FATAL(scope_new(&scope, options, &error), RESULT_OK);
    buffer_destroy(&error);
    return scope;
}

static Refusal ask(const Scope *scope, const char *url)
{
    return scope_rule_refusal(scope_rule(scope, url, strlen(url)));
}

static void domains_cover_what_is_below_them(void)
{
    ScopeOptions options = everything;
    options.domains = " Example.org, .sub.example.net 127.0.0.1";
    options.exclude_domains = "bad.example.org";
    Scope *scope = scope_of(&options);
    static const char *const in[] = {"http://example.org/",
                                     "https://www.example.org:8080/x",
                                     "http://a.b.example.org/",
                                     "http://sub.example.net/",
                                     "http://x.sub.example.net/",
                                     "http://127.0.0.1:80/",
                                     "http://user:pw@example.org/",
                                     "http://badexample.org.example.org/",
                                     "http://example.org?q=http://other.net/"};
    static const char *const out[] = {"http://example.com/",
                                      "http://notexample.org/",
                                      "http://example.net/",
                                      "http://example.org.evil.net/",
                                      "http://bad.example.org/",
                                      "http://x.bad.example.org/",
                                      "http://example.org@evil.net/",
                                      "http://evil.net/example.org",
                                      "http://[::1]/",
                                      "http://evil.net/@example.org/",
                                      "http://org/"};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        if (ask(scope, in[i]) != REFUSALS) {
            CU_FAIL(in[i]);
            (void)fprintf(stderr, "refused: %s\n", in[i]);
        }
    }
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        if (ask(scope, out[i]) != REFUSED_SCOPE) {
            CU_FAIL(out[i]);
            (void)fprintf(stderr, "not refused: %s\n", out[i]);
        }
    }
    scope_delete(scope);
}

static void expressions_are_searched_for(void)
{
    ScopeOptions options = everything;
    options.accept_regex = "\\.html?$|/$";
    options.reject_regex = "(?i)private";
    Scope *scope = scope_of(&options);
    CU_ASSERT_EQUAL(ask(scope, "http://h/a.html"), REFUSALS);
    CU_ASSERT_EQUAL(ask(scope, "http://h/"), REFUSALS);
    CU_ASSERT_EQUAL(ask(scope, "http://h/a.pdf"), REFUSED_SCOPE);
    CU_ASSERT_EQUAL(ask(scope, "http://h/PRIVATE/a.html"), REFUSED_SCOPE);
    scope_delete(scope);
}

static void a_url_has_a_greatest_length(void)
{
    char url[102] = "http://h/";
    memset(url + 9, 'x', 92);
    Scope *scope = scope_of(&everything);
    CU_ASSERT_EQUAL(scope_rule_refusal(scope_rule(scope, url, 100)), REFUSALS);
    CU_ASSERT_EQUAL(scope_rule_refusal(scope_rule(scope, url, 101)), REFUSED_LENGTH);
    scope_delete(scope);
    scope_delete(NULL);
}

static void a_bad_expression_is_named_with_its_column(void)
{
    ScopeOptions options = everything;
    Scope *scope = NULL;
    Buffer error;
    buffer_init(&error, 1000);
    options.reject_regex = "a(b";
    CU_ASSERT_EQUAL(scope_new(&scope, &options, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "scope.reject_regex: column 4:"));
    buffer_destroy(&error);
}

static void an_expression_that_explodes_ends(void)
{
    ScopeOptions options = everything;
    options.reject_regex = "(x+x+)+[0-9]";
    Scope *scope = scope_of(&options);
    char url[100] = "http://h/";
    memset(url + 9, 'x', 80);
    int64_t start_ns = cpu_thread_ns();
    CU_ASSERT_EQUAL(ask(scope, url), REFUSED_SCOPE); /* caution wins */
    CU_ASSERT_TRUE(cpu_thread_ns() - start_ns < 1000000000);
    scope_delete(scope);
    options = everything;
    options.accept_regex = "(x+x+)+[0-9]";
    scope = scope_of(&options);
    CU_ASSERT_EQUAL(ask(scope, url), REFUSED_SCOPE);
    scope_delete(scope);
}

static void bad_ports_and_those_not_listed_are_out(void)
{
    ScopeOptions options = everything;
    Scope *scope = scope_of(&options);
    CU_ASSERT_EQUAL(ask(scope, "http://h:0/"), REFUSED_PORT);
    CU_ASSERT_EQUAL(ask(scope, "http://h:22/"), REFUSED_PORT);
    CU_ASSERT_EQUAL(ask(scope, "http://h:6379/x"), REFUSED_PORT);
    CU_ASSERT_EQUAL(ask(scope, "http://h:8080/:22/"), REFUSALS);
    CU_ASSERT_EQUAL(ask(scope, "https://h/"), REFUSALS);
    scope_delete(scope);
    options.ports = "443,8000-8080";
    scope = scope_of(&options);
    CU_ASSERT_EQUAL(ask(scope, "http://h/"), REFUSED_PORT);
    CU_ASSERT_EQUAL(ask(scope, "http://h:8080/"), REFUSALS);
    CU_ASSERT_EQUAL(ask(scope, "https://h/"), REFUSALS);
    CU_ASSERT_EQUAL(ask(scope, "http://u:443@h:81/"), REFUSED_PORT);
    scope_delete(scope);
    Buffer error;
    buffer_init(&error, 1000);
    options.ports = "80,web";
    CU_ASSERT_EQUAL(scope_new(&scope, &options, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "scope.ports: 'web' is not a port"));
    buffer_destroy(&error);
}

UNIT_MAIN("scope", {"domains cover what is below them", domains_cover_what_is_below_them},
          {"expressions are searched for", expressions_are_searched_for},
          {"a URL has a greatest length", a_url_has_a_greatest_length},
          {"a bad expression is named with its column", a_bad_expression_is_named_with_its_column},
          {"an expression that explodes ends", an_expression_that_explodes_ends},
          {"bad ports and those not listed are out", bad_ports_and_those_not_listed_are_out})
