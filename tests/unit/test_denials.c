#include <stdio.h>
#include <string.h>

#include "rules/scope/admission.h"
#include "rules/scope/denials.h"
#include "unit.h"

static const ScopeOptions everything = {.domains = "",
                                        .exclude_domains = "",
                                        .accept_regex = "",
                                        .reject_regex = "",
                                        .ports = "",
                                        .max_url_length = 2048};

static void rules_get_a_normal_form(void)
{
    static const struct {
        const char *rule;
        const char *normal;
    } rows[] = {
        {"Example.ORG", "example.org"},
        {".example.org.", "example.org"},
        {"b\xc3\xbc"
         "cher.example",
         "xn--bcher-kva.example"},
        {"*.Shop.example", "*.shop.example"},
        {"192.0.2.7", "192.0.2.7"},
        {"192.0.2.0/24", "192.0.2.0/24"},
        {"2001:DB8::/32", "2001:db8::/32"},
        {"HTTP://Example.org:80/a", "http://example.org/a"},
        {"https://example.org", "https://example.org/"},
        {"https://example.org./a/b", "https://example.org/a/b"},
        {"https://./", "https://./"},
        {"https://example.org/a*.pdf", "https://example.org/a*.pdf"},
        {"https://[2001:DB8::0:1]/A", "https://[2001:db8::1]/A"},
        {"https://[ab].example/A", "https://[ab].example/A"},
        {"regex:[?&]Session=", "regex:[?&]Session="},
    };
    Buffer out;
    Buffer error;
    buffer_init(&out, 4096);
    buffer_init(&error, 4096);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buffer_reset(&out);
        CU_ASSERT_EQUAL(denials_normalise(rows[i].rule, &out, &error), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&out), rows[i].normal);
    }
    buffer_destroy(&out);
    buffer_destroy(&error);
}

static void what_is_no_rule_is_refused_with_a_sentence(void)
{
    static const char *const bad[] = {"",
                                      "a b",
                                      "ftp://example.org/x",
                                      "regex:",
                                      "regex:(",
                                      "example.org/x",
                                      "exa mple.org",
                                      "*/x y",
                                      "user@h.example",
                                      "h.example:81"};
    Buffer out;
    Buffer error;
    buffer_init(&out, 4096);
    buffer_init(&error, 4096);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buffer_reset(&error);
        if (denials_normalise(bad[i], &out, &error) != RESULT_INVALID || error.length < 10) {
            (void)fprintf(stderr, "'%s': '%s'\n", bad[i], buffer_string(&error));
            CU_FAIL("a rule that is none");
        }
    }
    buffer_destroy(&out);
    buffer_destroy(&error);
}

static Admission *admission_of(const ScopeOptions *scope, const char *const *rules, size_t n)
{
    Admission *admission = NULL;
    Buffer error;
    buffer_init(&error, 4096);
    CU_ASSERT_EQUAL_FATAL(admission_new(&admission, scope, rules, n, &error), RESULT_OK);
    buffer_destroy(&error);
    return admission;
}

static AdmissionAnswer ask(const Admission *admission, const char *url, const char *address,
                           bool is_seed)
{
    IpAddress ip;
    AdmissionQuestion q = {.url = url, .length = strlen(url), .hop = is_seed ? 'M' : 'L'};
    if (address != NULL) {
        CU_ASSERT_EQUAL(ip_address_parse(address, strlen(address), &ip), RESULT_OK);
        q.address = &ip;
    }
    return admission_judge(admission, &q);
}

static AdmissionAnswer ask_host(const Admission *admission, const char *name)
{
    AdmissionQuestion q = {.host = name, .host_length = strlen(name)};
    return admission_judge(admission, &q);
}

static void each_kind_of_rule_denies_what_it_says(void)
{
    static const char *const rules[] = {"example.org",
                                        "*.shop.test",
                                        "192.0.2.0/24",
                                        "https://one.test/private",
                                        "https://two.test/a*.pdf",
                                        "regex:[?&]sid=",
                                        "http://[2001:db8::1]/private",
                                        "http://[hij].test/"};
    static const struct {
        const char *url;
        const char *address;
        int rule; /* -1: admitted */
        bool whole;
    } rows[] = {
        {"http://example.org/", NULL, 0, true},
        {"https://www.example.org:444/x", NULL, 0, true},
        {"http://notexample.org/", NULL, -1, false},
        {"http://a.shop.test/", NULL, 1, true},
        {"http://a.b.shop.test/", NULL, 1, true},
        {"http://shop.test/", NULL, -1, false},
        {"http://three.test/", "192.0.2.200", 2, true},
        {"http://three.test/", "192.0.3.200", -1, false},
        {"https://one.test/private", NULL, 3, false},
        {"https://one.test/private/x", NULL, 3, false},
        {"https://one.test/private?x", NULL, 3, false},
        {"https://one.test/privately", NULL, -1, false},
        {"http://one.test/private", NULL, -1, false},
        {"https://two.test/a/b.pdf", NULL, 4, false},
        {"https://two.test/a/b.pdf?x", NULL, -1, false},
        {"https://two.test/x?y=1&sid=2", NULL, 5, false},
        {"https://two.test/x?y=1&msid=2", NULL, -1, false},
        {"http://[2001:db8::1]/private", NULL, 6, false},
        {"http://[2001:db8::1]/private/x", NULL, 6, false},
        {"http://[2001:db8::1]/privately", NULL, -1, false},
        {"http://[2001:db8::2]/private", NULL, -1, false},
        {"http://i.test/", NULL, 7, false},
        {"http://k.test/", NULL, -1, false},
        /* The dot of the root says the same host: no link with it gets around a rule. */
        {"http://example.org./", NULL, 0, true},
        {"https://www.example.org.:444/x", NULL, 0, true},
        {"http://a.shop.test./", NULL, 1, true},
        {"https://one.test./private/x", NULL, 3, false},
        {"https://one.test./privately", NULL, -1, false},
        {"https://two.test./a/b.pdf", NULL, 4, false},
        {"http://i.test./", NULL, 7, false},
        {"http://a./", NULL, -1, false},
    };
    Admission *admission = admission_of(&everything, rules, sizeof rules / sizeof *rules);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AdmissionAnswer answer = ask(admission, rows[i].url, rows[i].address, false);
        const char *rule = rows[i].rule < 0 ? NULL : rules[rows[i].rule];
        bool same = rule == NULL ? answer.rule == NULL
                                 : answer.rule != NULL && strcmp(answer.rule, rule) == 0;
        if (!same || answer.whole_host != rows[i].whole ||
            answer.refusal != (rule == NULL ? REFUSALS : REFUSED_DENIED)) {
            (void)fprintf(stderr, "%s: %s\n", rows[i].url,
                          answer.rule == NULL ? "admitted" : answer.rule);
            CU_FAIL("a rule that denies something else");
        }
    }
    CU_ASSERT_STRING_EQUAL(ask_host(admission, "www.example.org").rule, "example.org");
    CU_ASSERT_PTR_NULL(ask_host(admission, "one.test").rule); /* not all of it */
    admission_delete(admission);
}

static void scope_is_asked_again_and_names_its_option(void)
{
    ScopeOptions scope = everything;
    scope.domains = "in.test";
    scope.exclude_domains = "bad.in.test";
    scope.reject_regex = "secret";
    scope.accept_regex = "page";
    Admission *admission = admission_of(&scope, NULL, 0);
    static const struct {
        const char *url;
        const char *rule; /* NULL: admitted */
        bool holds_for_seeds;
    } rows[] = {{"http://in.test/page", NULL, false},
                {"http://out.test/page", "scope.domains", false},
                {"http://bad.in.test/page", "scope.exclude_domains", true},
                {"http://in.test/secret/page", "scope.reject_regex", true},
                {"http://in.test/other", "scope.accept_regex", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AdmissionAnswer link = ask(admission, rows[i].url, NULL, false);
        AdmissionAnswer seed = ask(admission, rows[i].url, NULL, true);
        CU_ASSERT_EQUAL(link.refusal, rows[i].rule == NULL ? REFUSALS : REFUSED_SCOPE);
        CU_ASSERT_STRING_EQUAL(link.rule == NULL ? "" : link.rule,
                               rows[i].rule == NULL ? "" : rows[i].rule);
        CU_ASSERT_EQUAL(seed.refusal == REFUSALS, !rows[i].holds_for_seeds);
    }
    CU_ASSERT_TRUE(ask_host(admission, "www.bad.in.test").whole_host);
    CU_ASSERT_PTR_NULL(ask_host(admission, "out.test").rule); /* seeds may be there */
    admission_delete(admission);
}

static AdmissionAnswer ask_hop(const Admission *admission, const char *url, uint8_t hop)
{
    AdmissionQuestion q = {.url = url, .length = strlen(url), .hop = hop};
    return admission_judge(admission, &q);
}

static void seeds_and_embeds_live_anywhere_but_where_the_operator_says_no(void)
{
    ScopeOptions scope = {.domains = "in.test",
                          .exclude_domains = "out.test",
                          .accept_regex = "page",
                          .reject_regex = "/ads/",
                          .ports = "80",
                          .max_url_length = 60};
    Admission *admission = admission_of(&scope, NULL, 0);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://in.test/page", 'L').refusal, REFUSALS);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://cdn.test/x.png", 'L').refusal, REFUSED_SCOPE);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://cdn.test/x.png", 'E').refusal, REFUSALS);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://cdn.test/x.png", 'M').refusal, REFUSALS);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://cdn.test/ads/x.png", 'E').refusal, REFUSED_SCOPE);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://cdn.test/ads/x.png", 'M').refusal, REFUSED_SCOPE);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://out.test/x.png", 'E').refusal, REFUSED_SCOPE);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://out.test/x.png", 'M').refusal, REFUSED_SCOPE);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://cdn.test:81/x.png", 'E').refusal, REFUSED_PORT);
    CU_ASSERT_EQUAL(ask_hop(admission, "http://cdn.test:81/x.png", 'M').refusal, REFUSALS);
    admission_delete(admission);
}

static void what_was_forgotten_is_known_by_its_hash(void)
{
    Buffer rules[3];
    Buffer error;
    const char *texts[3];
    Denials *denials = NULL;
    buffer_init(&error, 4096);
    for (size_t i = 0; i < 3; i++) {
        buffer_init(&rules[i], 4096);
    }
    CU_ASSERT_EQUAL(denials_tomb(true, "b.example", 9, &rules[0]), RESULT_OK);
    CU_ASSERT_EQUAL(denials_tomb(false, "http://c.example/x", 18, &rules[1]), RESULT_OK);
    (void)buffer_append_string(&rules[2], "forgotten:regex:[?]id=");
    for (size_t i = 0; i < 3; i++) {
        Buffer normal;
        texts[i] = buffer_string(&rules[i]);
        buffer_init(&normal, 4096);
        CU_ASSERT_TRUE(denials_is_tomb(texts[i]));
        CU_ASSERT_EQUAL(denials_normalise(texts[i], &normal, &error), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&normal), texts[i]);
        buffer_destroy(&normal);
    }
    CU_ASSERT_PTR_NULL(strstr(texts[0], "example"));
    CU_ASSERT_EQUAL(denials_new(&denials, texts, 3, &error), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(denials_host(denials, "b.example", 9));
    CU_ASSERT_PTR_NOT_NULL(denials_host(denials, "www.b.example", 13));
    CU_ASSERT_PTR_NOT_NULL(denials_host(denials, "b.example.", 10));
    CU_ASSERT_PTR_NOT_NULL(denials_url(denials, "http://c.example./x", 19));
    CU_ASSERT_PTR_NULL(denials_host(denials, "ab.example", 10));
    CU_ASSERT_PTR_NULL(denials_host(denials, "example", 7));
    CU_ASSERT_PTR_NOT_NULL(denials_url(denials, "http://c.example/x", 18));
    CU_ASSERT_PTR_NULL(denials_url(denials, "http://c.example/xy", 19));
    CU_ASSERT_PTR_NOT_NULL(denials_url(denials, "http://d.example/?id=1", 22));
    ScopeOptions scope_options = everything;
    Scope *scope = NULL;
    scope_options.denied = texts;
    scope_options.n_denied = 3;
    CU_ASSERT_EQUAL(scope_new(&scope, &scope_options, &error), RESULT_OK);
    CU_ASSERT_EQUAL(scope_rule_of(scope, "http://a.b.example/", 19, 'M'), SCOPE_FORGOTTEN);
    CU_ASSERT_EQUAL(scope_rule_of(scope, "http://c.example/", 17, 'L'), SCOPE_IN);
    scope_delete(scope);
    denials_delete(denials);
    for (size_t i = 0; i < 3; i++) {
        buffer_destroy(&rules[i]);
    }
    CU_ASSERT_EQUAL(denials_normalise("forgotten:host:12", &error, &error), RESULT_INVALID);
    buffer_destroy(&error);
}

UNIT_MAIN("denials", {"rules get a normal form", rules_get_a_normal_form},
          {"what is no rule is refused with a sentence",
           what_is_no_rule_is_refused_with_a_sentence},
          {"each kind of rule denies what it says", each_kind_of_rule_denies_what_it_says},
          {"scope is asked again and names its option", scope_is_asked_again_and_names_its_option},
          {"seeds and embeds live anywhere but where the operator says no",
           seeds_and_embeds_live_anywhere_but_where_the_operator_says_no},
          {"what was forgotten is known by its hash", what_was_forgotten_is_known_by_its_hash})
