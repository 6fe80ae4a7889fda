/* Hosts of an audit, the breaches that are kept, and whom a webmaster means by a name. */
#include <string.h>

#include "audit/audit_hosts.h"
#include "unit.h"

static LogText text_of(const char *text)
{
    return (LogText){text, strlen(text)};
}

static IpAddress ip_of(const char *text)
{
    IpAddress ip;
    CU_ASSERT_EQUAL_FATAL(ip_address_parse(text, strlen(text), &ip), RESULT_OK);
    return ip;
}

static void a_host_and_an_address_are_made_once(void)
{
    AuditHosts hosts = {0};
    bool is_new = false;
    AuditHost *a = audit_hosts_find(&hosts, text_of("http://a"), &is_new);
    CU_ASSERT_TRUE_FATAL(a != NULL && is_new);
    CU_ASSERT_STRING_EQUAL(a->origin, "http://a");
    CU_ASSERT_TRUE(a->subject.owes == -1 && a->subject.asks == -1 && a->rules_version == -1);
    CU_ASSERT_EQUAL(a->subject.closest.slack, INT64_MAX);
    AuditHost *b = audit_hosts_find(&hosts, text_of("http://a:81"), &is_new);
    CU_ASSERT_TRUE(b != a && is_new);
    CU_ASSERT_PTR_EQUAL(audit_hosts_find(&hosts, text_of("http://a"), &is_new), a);
    CU_ASSERT_FALSE(is_new);
    IpAddress ip = ip_of("192.0.2.1");
    AuditAddress *one = audit_hosts_find_address(&hosts, &ip, &is_new);
    CU_ASSERT_TRUE(one != NULL && is_new && one->subject.owes == -1);
    CU_ASSERT_PTR_EQUAL(audit_hosts_find_address(&hosts, &ip, &is_new), one);
    CU_ASSERT_FALSE(is_new);
    CU_ASSERT_EQUAL(robots_parse("Disallow: /", 11, "x", &a->rules), RESULT_OK);
    a->rules_version = 7;
    audit_hosts_forget_rules(&hosts);
    CU_ASSERT_PTR_NULL(a->rules);
    CU_ASSERT_EQUAL(a->rules_version, -1);
    audit_hosts_destroy(&hosts);
}

static void breaches_are_all_counted_and_the_first_ones_kept(void)
{
    AuditFindings findings = {.kept = NULL};
    for (unsigned i = 0; i < AUDIT_FINDINGS_KEPT + 2; i++) {
        AuditFinding finding = {.breach = (AuditBreach)(i % AUDIT_BREACHES), .found = i};
        audit_findings_add(&findings, &finding, "http://a.example/", 8,
                           i % 2 == 0 ? NULL : "Disallow: /");
    }
    CU_ASSERT_EQUAL(findings.n_kept, AUDIT_FINDINGS_KEPT);
    CU_ASSERT_EQUAL(audit_findings_total(&findings), AUDIT_FINDINGS_KEPT + 2);
    CU_ASSERT_STRING_EQUAL(findings.kept[0].subject, "http://a");
    CU_ASSERT_PTR_NULL(findings.kept[0].rule);
    CU_ASSERT_STRING_EQUAL(findings.kept[1].rule, "Disallow: /");
    CU_ASSERT_EQUAL(findings.kept[AUDIT_FINDINGS_KEPT - 1].found, AUDIT_FINDINGS_KEPT - 1);
    audit_findings_destroy(&findings);
    CU_ASSERT_EQUAL(audit_findings_total(&findings), 0);
    for (unsigned i = 0; i < AUDIT_BREACHES; i++) {
        const char *name = audit_breach_name((AuditBreach)i);
        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        for (unsigned k = 0; k < i; k++) {
            CU_ASSERT_STRING_NOT_EQUAL(name, audit_breach_name((AuditBreach)k));
        }
    }
}

static void a_webmaster_names_a_host_in_many_ways(void)
{
    static const struct {
        const char *whom;
        const char *origin;
        bool is_it;
    } rows[] = {{"example.org", "http://example.org", true},
                {"example.org", "https://www.example.org:81", true},
                {"Example.ORG.", "http://example.org", true},
                {"example.org", "http://example.org.", true},
                {"example.org", "http://myexample.org", false},
                {"www.example.org", "http://example.org", false},
                {"https://example.org/a?b", "http://example.org", true},
                {"http://example.org:8080/x", "http://example.org", false},
                {"example.org:8080", "http://a.example.org:8080", true},
                {"https://example.org:443", "http://example.org", true},
                {"*.example.org", "http://a.example.org", true},
                {"*.EXAMPLE.org", "http://a.example.org:81", true},
                {"*.example.org", "http://example.org", false},
                {"http*:81", "http://a:81", true},
                {"b\xC3\xBC"
                 "cher.example",
                 "http://xn--bcher-kva.example", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AuditWhom whom;
        CU_ASSERT_EQUAL(audit_whom_parse(&whom, rows[i].whom), RESULT_OK);
        bool is_it = audit_whom_is_host(&whom, rows[i].origin);
        if (is_it != rows[i].is_it) {
            (void)fprintf(stderr, "%s, %s\n", rows[i].whom, rows[i].origin);
            CU_FAIL("another host");
        }
        IpAddress ip = ip_of("192.0.2.1");
        CU_ASSERT_TRUE(audit_whom_is_address(&whom, &ip)); /* whatever its address */
        audit_whom_destroy(&whom);
    }
    static const char *const bad[] = {"", "a b", "http://", "ftp://a/", "a:99999", "http://[::1/"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        AuditWhom whom;
        CU_ASSERT_EQUAL(audit_whom_parse(&whom, bad[i]), RESULT_INVALID);
        audit_whom_destroy(&whom);
    }
    AuditWhom all = {.name = NULL};
    CU_ASSERT_TRUE(audit_whom_is_host(&all, "http://a"));
}

static void an_address_is_meant_whatever_names_it_has(void)
{
    static const char *const same[] = {"192.0.2.1",     "http://192.0.2.1/",
                                       "192.0.2.1:81",  "2001:db8::1",
                                       "[2001:DB8::1]", "http://[2001:db8::1]:80/x"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        AuditWhom whom;
        IpAddress v4 = ip_of("192.0.2.1");
        IpAddress v6 = ip_of("2001:db8::1");
        CU_ASSERT_EQUAL(audit_whom_parse(&whom, same[i]), RESULT_OK);
        CU_ASSERT_TRUE(whom.is_address && audit_whom_is_host(&whom, "http://any"));
        CU_ASSERT_EQUAL(audit_whom_is_address(&whom, &v4), i < 3);
        CU_ASSERT_EQUAL(audit_whom_is_address(&whom, &v6), i >= 3);
        audit_whom_destroy(&whom);
    }
}

static void the_nearest_origin_is_offered_and_a_far_one_is_not(void)
{
    AuditHosts hosts = {0};
    bool is_new = false;
    (void)audit_hosts_find(&hosts, text_of("http://www.example.org"), &is_new);
    (void)audit_hosts_find(&hosts, text_of("https://exmaple.org"), &is_new);
    AuditWhom whom;
    CU_ASSERT_EQUAL(audit_whom_parse(&whom, "wwww.example.org"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(audit_whom_nearest(&whom, &hosts), "http://www.example.org");
    audit_whom_destroy(&whom);
    CU_ASSERT_EQUAL(audit_whom_parse(&whom, "zzz"), RESULT_OK);
    CU_ASSERT_PTR_NULL(audit_whom_nearest(&whom, &hosts));
    audit_whom_destroy(&whom);
    audit_hosts_destroy(&hosts);
}

UNIT_MAIN("audit_hosts",
          {"a host and an address are made once", a_host_and_an_address_are_made_once},
          {"breaches are all counted and the first ones kept",
           breaches_are_all_counted_and_the_first_ones_kept},
          {"a webmaster names a host in many ways", a_webmaster_names_a_host_in_many_ways},
          {"an address is meant whatever names it has", an_address_is_meant_whatever_names_it_has},
          {"the nearest origin is offered and a far one is not",
           the_nearest_origin_is_offered_and_a_far_one_is_not})
