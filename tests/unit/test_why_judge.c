/* What the rules say of a URL: each rule by itself refuses, and names itself. */
#include <string.h>

#include "folder_fixture.h"
#include "unit.h"
#include "why/why_judge.h"

#define URL "http://www.a.example/x/y?z"

static Config config;
static char folder[FOLDER_BYTES];

static void begin(const char *ini)
{
    Buffer error = {.limit = 4096};
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    folder_make(folder);
    folder_put(folder, "config.ini", ini, strlen(ini));
    Result rc = config_load_of(&config, folder, &error);
    CU_ASSERT_EQUAL(rc, RESULT_OK);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "%s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
}

static void end(void)
{
    folder_remove(folder);
    config_destroy(&config);
}

/* by: what refuses; NULL: nothing does. words: a part of the reason. */
static void judges(WhyCase subject, const char *by, const char *words)
{
    WhyJudgements judged;
    subject.config = &config;
    subject.directory = folder;
    subject.url = subject.url == NULL ? URL : subject.url;
    CU_ASSERT_EQUAL_FATAL(why_judge(&judged, &subject), RESULT_OK);
    const WhyJudgement *refusal = why_refusal(&judged);
    const char *got = refusal == NULL ? "nothing" : refusal->by;
    CU_ASSERT_STRING_EQUAL(got, by == NULL ? "nothing" : by);
    if (refusal != NULL && by != NULL) {
        CU_ASSERT_TRUE(refusal->status < 0);
        CU_ASSERT_TRUE(refusal->words != NULL && strstr(refusal->words, words) != NULL);
    }
    for (size_t i = 0; i < judged.n; i++) {
        CU_ASSERT_TRUE(judged.all[i].passes ? judged.all[i].status == 0
                                            : judged.all[i].status != 0);
    }
    why_judgements_destroy(&judged);
}

#define JUDGES(ini, by, words, ...)                                                                \
    do {                                                                                           \
        begin(ini);                                                                                \
        judges((WhyCase){__VA_ARGS__}, by, words);                                                 \
        end();                                                                                     \
    } while (0)

static void scope_refuses_by_its_options(void)
{
    JUDGES("", NULL, "", .hop = 'L');
    JUDGES("[scope]\ndomains = b.example\n", "scope.domains", "b.example", .hop = 'L');
    JUDGES("[scope]\ndomains = b.example\n", NULL, "", .hop = 'M'); /* a seed */
    JUDGES("[scope]\ndomains = b.example\nembeds = yes\n", NULL, "", .hop = 'E');
    JUDGES("[scope]\nexclude_domains = a.example\n", "scope.exclude_domains", "a.example",
           .hop = 'M');
    JUDGES("[scope]\nreject_regex = x/y\n", "scope.reject_regex", "x/y", .hop = 'L');
    JUDGES("[scope]\naccept_regex = nothing\n", "scope.accept_regex", "nothing", .hop = 'L');
    JUDGES("[scope]\nmax_url_length = 25\n", "scope.max_url_length", "26 of 25 bytes", .hop = 'L');
    JUDGES("[scope]\nmax_url_length = 26\n", NULL, "", .hop = 'L');
    JUDGES("[scope]\nports = 81\n", "scope.ports", "81", .hop = 'L');
    JUDGES("", "scope.ports", "built in", .hop = 'M', .url = "http://a.example:25/");
    JUDGES("[scope]\nembeds = no\n", "scope.embeds", "no", .hop = 'E');
}

static void depth_and_redirects_have_bounds(void)
{
    JUDGES("[scope]\ndepth = 3\n", NULL, "", .hop = 'L', .has_depth = true, .depth = 3);
    JUDGES("[scope]\ndepth = 3\n", "scope.depth", "4 of 3 links", .hop = 'L', .has_depth = true,
           .depth = 4);
    JUDGES("[fetch]\nmax_redirects = 2\n", NULL, "", .hop = 'R', .redirects = 2);
    JUDGES("[fetch]\nmax_redirects = 2\n", "fetch.max_redirects", "3 of 2", .hop = 'R',
           .redirects = 3);
    JUDGES("[limits]\nrepeated_segments = 2\n", "limits.repeated_segments", "2 times", .hop = 'L',
           .url = "http://a.example/b/b/b/");
    JUDGES("[limits]\nrepeated_segments = 2\n", NULL, "", .hop = 'M',
           .url = "http://a.example/b/b/b/");
}

static void filters_and_robots_refuse(void)
{
    static const char robots[] = "User-agent: *\nDisallow: /x\nAllow: /x/z\n";
    JUDGES("[filter]\nfetch = HostEquals(b.example)\n", "filter.fetch", "HostEquals", .hop = 'L');
    JUDGES("[filter]\nschedule = SameHost()\n", "filter.schedule", "SameHost", .hop = 'L',
           .referrer = "http://b.example/");
    JUDGES("[filter]\nschedule = SameHost()\n", NULL, "", .hop = 'L',
           .referrer = "http://www.a.example/");
    JUDGES("[filter]\nschedule = SameHost()\n", NULL, "", .hop = 'M');
    JUDGES("", "robots.txt", "line 2: Disallow: /x", .hop = 'L', .robots = robots,
           .robots_length = sizeof robots - 1);
    JUDGES("", NULL, "", .hop = 'L', .robots = robots, .robots_length = sizeof robots - 1,
           .url = "http://a.example/x/z");
}

static void hosts_and_their_groups_refuse(void)
{
    HostRecord dropped = {.state = HOST_DROPPED, .drop_class = FETCH_SERVER};
    HostRecord denied = {.state = HOST_DENIED};
    HostRecord full = {.state = HOST_ACTIVE, .pages = 5};
    GroupRecord group = {.hosts = 3, .queued = 4, .pages = 5};
    JUDGES("", "host", "given up: server-error", .hop = 'L', .host = &dropped);
    JUDGES("", "host", "denied by the operator", .hop = 'L', .host = &denied);
    JUDGES("[limits]\npages_per_host = 5\n", "limits.pages_per_host", "5 of 5 pages", .hop = 'L',
           .host = &full);
    JUDGES("[limits]\npages_per_host = 5\n[site \"*.a.example\"]\nlimits.pages_per_host = 6\n",
           NULL, "", .hop = 'L', .host = &full);
    JUDGES("[limits]\nhosts_per_domain = 3\n", "limits.hosts_per_domain", "3 of 3 hosts",
           .hop = 'L', .domain = &group);
    JUDGES("[limits]\nurls_per_address = 4\n", "limits.urls_per_address", "4 of 4", .hop = 'L',
           .address = &group);
    JUDGES("[limits]\npages_per_domain = 6\n", NULL, "", .hop = 'L', .domain = &group);
}

static void what_is_denied_is_refused_first(void)
{
    begin("[scope]\ndomains = b.example\n");
    folder_put(folder, "denied.txt", "a.example\n", 10);
    judges((WhyCase){.hop = 'L'}, "denied", "a.example");
    end();
    begin("");
    WhyJudgements judged;
    WhyCase subject = {.config = &config, .directory = folder, .url = "no url"};
    CU_ASSERT_EQUAL(why_judge(&judged, &subject), RESULT_INVALID);
    CU_ASSERT_PTR_NULL(why_refusal(&judged));
    why_judgements_destroy(&judged);
    end();
}

UNIT_MAIN("why_judge", {"scope refuses by its options", scope_refuses_by_its_options},
          {"depth and redirects have bounds", depth_and_redirects_have_bounds},
          {"filters and robots refuse", filters_and_robots_refuse},
          {"hosts and their groups refuse", hosts_and_their_groups_refuse},
          {"what is denied is refused first", what_is_denied_is_refused_first})
