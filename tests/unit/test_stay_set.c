/* Which URLs lie in the places of the seeds. */
#include "rules/scope/stay_set.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "rules/scope/scope.h"
#include "unit.h"

static StaySet *set_of(StayKind kind, const char *const *seeds)
{
    StaySet *set = NULL;
    CU_ASSERT_EQUAL_FATAL(stay_set_new(&set, kind), RESULT_OK);
    for (; *seeds != NULL; seeds++) {
        CU_ASSERT_EQUAL(stay_set_add(set, *seeds, strlen(*seeds)), RESULT_OK);
    }
    return set;
}

static bool has(const StaySet *set, const char *url)
{
    return stay_set_has(set, url, strlen(url));
}

static void hosts(void)
{
    static const char *const seeds[] = {"http://www.a.test/x/y.html", "https://b.test:8080/", NULL};
    StaySet *set = set_of(STAY_HOST, seeds);
    CU_ASSERT_TRUE(has(set, "https://www.a.test/other?q=1"));
    CU_ASSERT_TRUE(has(set, "http://b.test/"));
    CU_ASSERT_TRUE(has(set, "http://user:word@b.test:81/x"));
    CU_ASSERT_FALSE(has(set, "http://a.test/"));
    CU_ASSERT_FALSE(has(set, "http://sub.b.test/"));
    CU_ASSERT_FALSE(has(set, "http://c.test/b.test/"));
    stay_set_delete(set);
}

static void domains(void)
{
    static const char *const seeds[] = {"http://www.example.co.uk/x", "http://127.0.0.1/", NULL};
    StaySet *set = set_of(STAY_DOMAIN, seeds);
    CU_ASSERT_TRUE(has(set, "https://other.example.co.uk/"));
    CU_ASSERT_TRUE(has(set, "https://example.co.uk/"));
    CU_ASSERT_TRUE(has(set, "http://127.0.0.1:81/x"));
    CU_ASSERT_FALSE(has(set, "http://other.co.uk/"));
    CU_ASSERT_FALSE(has(set, "http://127.0.0.2/"));
    stay_set_delete(set);
}

static void directories(void)
{
    static const char *const seeds[] = {"http://a.test/docs/index.html?x=/no/", "http://b.test",
                                        "http://c.test/~me/", NULL};
    StaySet *set = set_of(STAY_DIRECTORY, seeds);
    CU_ASSERT_TRUE(has(set, "http://a.test/docs/"));
    CU_ASSERT_TRUE(has(set, "https://a.test/docs/deep/er.html"));
    CU_ASSERT_FALSE(has(set, "http://a.test/docs"));
    CU_ASSERT_FALSE(has(set, "http://a.test/"));
    CU_ASSERT_FALSE(has(set, "http://a.test/docs2/x"));
    CU_ASSERT_FALSE(has(set, "http://a.test/x?/docs/"));
    CU_ASSERT_TRUE(has(set, "http://b.test/anything/at/all"));
    CU_ASSERT_TRUE(has(set, "http://b.test"));
    CU_ASSERT_TRUE(has(set, "http://c.test/~me/x"));
    CU_ASSERT_FALSE(has(set, "http://c.test/~you/x"));
    stay_set_delete(set);
}

static void what_seeds_redirect_to(void)
{
    static const char *const seeds[] = {"http://a.test/", NULL};
    static const char to[] = "https://www.b.test/start/";
    StaySet *set = set_of(STAY_HOST, seeds);
    CU_ASSERT_FALSE(has(set, to));
    CU_ASSERT_FALSE(stay_set_stands_for_seed(set, to, strlen(to)));
    CU_ASSERT_EQUAL(stay_set_follow(set, to, strlen(to)), RESULT_OK);
    CU_ASSERT_TRUE(stay_set_stands_for_seed(set, to, strlen(to)));
    CU_ASSERT_TRUE(has(set, "http://www.b.test/elsewhere"));
    CU_ASSERT_FALSE(stay_set_stands_for_seed(set, "http://a.test/", 14));
    stay_set_delete(set);
}

static void in_a_scope_it_binds_links_only(void)
{
    static const char *const seeds[] = {"http://a.test/", NULL};
    StaySet *set = set_of(STAY_HOST, seeds);
    ScopeOptions options = {.domains = "",
                            .exclude_domains = "",
                            .accept_regex = "",
                            .reject_regex = "",
                            .ports = "",
                            .max_url_length = 100,
                            .stay = set};
    Scope *scope = NULL;
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL_FATAL(scope_new(&scope, &options, &error), RESULT_OK);
    CU_ASSERT_EQUAL(scope_rule(scope, "http://a.test/x", 15), SCOPE_IN);
    CU_ASSERT_EQUAL(scope_rule(scope, "http://b.test/x", 15), SCOPE_STAY);
    CU_ASSERT_EQUAL(scope_rule_of(scope, "http://b.test/x", 15, 'E'), SCOPE_IN);
    CU_ASSERT_EQUAL(scope_rule_of(scope, "http://b.test/x", 15, 'M'), SCOPE_IN);
    CU_ASSERT_EQUAL(stay_set_add(set, "http://b.test/", 14), RESULT_OK);
    CU_ASSERT_EQUAL(scope_rule(scope, "http://b.test/x", 15),
                    SCOPE_IN); /* a seed that came later */
    scope_delete(scope);
    stay_set_delete(set);
    buffer_destroy(&error);
}

enum { MANY = 20000 };

static void *add_many(void *argument)
{
    StaySet *set = argument;
    char url[64];
    for (int i = 0; i < MANY; i++) {
        int n = snprintf(url, sizeof url, "http://h%d.test/", i);
        (void)stay_set_add(set, url, (size_t)n);
    }
    return NULL;
}

static void it_grows_while_others_ask(void)
{
    StaySet *set = NULL;
    pthread_t threads[2];
    char url[64];
    int n_missing = 0;
    CU_ASSERT_EQUAL_FATAL(stay_set_new(&set, STAY_HOST), RESULT_OK);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, add_many, set), 0);
    }
    for (int i = 0; i < MANY; i++) {
        int n = snprintf(url, sizeof url, "http://x%d.test/", i);
        n_missing += stay_set_has(set, url, (size_t)n); /* none of these is ever added */
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < MANY; i++) {
        int n = snprintf(url, sizeof url, "http://h%d.test/p", i);
        n_missing += !stay_set_has(set, url, (size_t)n);
    }
    CU_ASSERT_EQUAL(n_missing, 0);
    stay_set_delete(set);
}

UNIT_MAIN("stay_set", {"hosts", hosts}, {"domains", domains}, {"directories", directories},
          {"what seeds redirect to", what_seeds_redirect_to},
          {"in a scope it binds links only", in_a_scope_it_binds_links_only},
          {"it grows while others ask", it_grows_while_others_ask})
