/* Parsing threads: what waits for whom. */
#include "page/parsing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/thread/queue.h"
#include "rules/filters.h"
#include "rules/scope/scope.h"
#include "unit.h"

#define LONG_BYTES ((size_t)48 << 20) /* reading it takes far longer than 50 ms */

/* Parsing threads and all that they need; parsed pages come out of a queue. */
typedef struct Fixture {
    Config config;
    Shared scope;
    Shared filters;
    Shared fetch_filter;
    Shared body_filter;
    ByteGate results;
    Stats stats;
    Queue parsed;
    Parsing *parsing;
} Fixture;

static void take_parsed(void *context, ParsedPage *page)
{
    Fixture *fixture = context;
    CU_ASSERT_EQUAL(queue_push(&fixture->parsed, page), RESULT_OK);
}

static void ignore_skipped(void *context, const SkippedLink *link)
{
    (void)context;
    (void)link;
}

static void set_up(Fixture *fixture, int n_threads, size_t results)
{
    Buffer error = {0};
    Scope *scope = NULL;
    *fixture = (Fixture){0};
    shared_init(&fixture->scope, scope_delete);
    shared_init(&fixture->filters, filters_delete);
    shared_init(&fixture->fetch_filter, filters_delete_one);
    shared_init(&fixture->body_filter, filters_delete_one);
    byte_gate_init(&fixture->results, results, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(config_init(&fixture->config), RESULT_OK);
    fixture->config.parse_threads = n_threads;
    fixture->config.parse_external_links = 100;
    ScopeOptions of_scope = config_scope(&fixture->config);
    of_scope.exclude_domains = "other.test";
    CU_ASSERT_EQUAL_FATAL(scope_new(&scope, &of_scope, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(shared_replace(&fixture->scope, scope), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(filters_share(&fixture->filters, &fixture->fetch_filter,
                                        &fixture->body_filter, &fixture->config, &error),
                          RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(queue_init(&fixture->parsed, 100), RESULT_OK);
    ParsingOptions options = {.config = fixture->config,
                              .scope = &fixture->scope,
                              .filters = &fixture->filters,
                              .results = &fixture->results};
    CU_ASSERT_EQUAL_FATAL(parsing_new(&fixture->parsing, &options, NULL, &fixture->stats,
                                      take_parsed, ignore_skipped, fixture),
                          RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(parsing_start(fixture->parsing), RESULT_OK);
    buffer_destroy(&error);
}

static void tear_down(Fixture *fixture)
{
    parsing_stop(fixture->parsing);
    void *page = NULL;
    size_t n = 0;
    while (queue_pop(&fixture->parsed, &page, 1, &n, (MonoTime){0}) == RESULT_OK) {
        parsed_page_delete(page);
    }
    parsing_delete(fixture->parsing);
    queue_destroy(&fixture->parsed);
    byte_gate_destroy(&fixture->results);
    shared_destroy(&fixture->scope);
    shared_destroy(&fixture->filters);
    shared_destroy(&fixture->fetch_filter);
    shared_destroy(&fixture->body_filter);
    config_destroy(&fixture->config);
}

static void push(Fixture *fixture, const char *url, const char *header, const void *body,
                 size_t length)
{
    FetchResult *result = fetch_result_new(FETCHED_PAGE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    result->request.url = strdup(url);
    result->request.has_page = true;
    result->request.max_body = (size_t)fixture->config.fetch_max_body;
    result->answer.status = 200;
    result->final = true;
    CU_ASSERT_EQUAL(buffer_append(&result->answer.header, header, strlen(header)), RESULT_OK);
    CU_ASSERT_EQUAL(buffer_append(&result->answer.body, body, length), RESULT_OK);
    parsing_push(fixture->parsing, result);
}

/* Links without number, gzipped to a hundredth. */
static void make_long_body(Buffer *body)
{
    char block[16384];
    size_t used = 0;
    for (unsigned i = 0; used + 64 < sizeof block; i++) {
        used += (size_t)snprintf(block + used, sizeof block - used, "<a href=/%x>x</a>",
                                 i * 2654435761U);
    }
    z_stream stream = {0};
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
                          Z_OK);
    CU_ASSERT_EQUAL_FATAL(buffer_reserve(body, LONG_BYTES / 8), RESULT_OK);
    stream.next_out = (Bytef *)body->data;
    stream.avail_out = (uInt)(LONG_BYTES / 8);
    for (size_t done = 0; done < LONG_BYTES; done += used) {
        stream.next_in = (Bytef *)block;
        stream.avail_in = (uInt)used;
        CU_ASSERT_EQUAL_FATAL(deflate(&stream, Z_NO_FLUSH), Z_OK);
    }
    CU_ASSERT_EQUAL_FATAL(deflate(&stream, Z_FINISH), Z_STREAM_END);
    body->length = stream.total_out;
    CU_ASSERT_TRUE(body->length >= 64 << 10 && body->length < 2 << 20);
    CU_ASSERT_EQUAL(deflateEnd(&stream), Z_OK);
}

#define HTML "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

static void push_long(Fixture *fixture, const Buffer *body, unsigned n)
{
    char url[64];
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(url, sizeof url, "http://long-%u.example/", i);
        push(fixture, url, HTML "Content-Encoding: gzip\r\n\r\n", body->data, body->length);
    }
    while (parsing_waiting(fixture->parsing) > 0) { /* each thread has begun one */
    }
}

/* The next page that has been read. */
static ParsedPage *next_page(Fixture *fixture)
{
    void *page = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(queue_pop(&fixture->parsed, &page, 1, &n, MONO_NEVER), RESULT_OK);
    return page;
}

static void check_short_page_first(unsigned n_threads)
{
    Fixture fixture;
    Buffer body;
    buffer_init(&body, LONG_BYTES);
    make_long_body(&body);
    set_up(&fixture, (int)n_threads, (size_t)64 << 20);
    push_long(&fixture, &body, n_threads);
    push(&fixture, "http://short.example/", HTML "\r\n", "<a href=a>", 10);
    ParsedPage *page = next_page(&fixture);
    CU_ASSERT_STRING_EQUAL(page->fetch->request.url, "http://short.example/");
    CU_ASSERT_EQUAL(page->links.n, 1);
    parsed_page_delete(page);
    for (unsigned i = 0; i < n_threads; i++) { /* nothing is lost */
        page = next_page(&fixture);
        CU_ASSERT_TRUE(strncmp(page->fetch->request.url, "http://long-", 12) == 0);
        CU_ASSERT_TRUE(page->links.n > 500);
        parsed_page_delete(page);
    }
    tear_down(&fixture);
    buffer_destroy(&body);
}

static void long_pages_do_not_stop_a_short_one(void)
{
    check_short_page_first(1);
    check_short_page_first(2);
}

/* What a document says of itself behind its links counts for all of them, those out of scope too.
 */
static void a_late_nofollow_takes_links_out_of_scope_back(void)
{
    static const char first[] = "<a href=http://other.test/1>x</a><a href=/2>x</a>";
    static const char late[] = "<a href=http://other.test/1>x</a><a href=/2>x</a>"
                               "<meta name=robots content=nofollow>";
    Fixture fixture;
    set_up(&fixture, 1, 1 << 20);
    push(&fixture, "http://a.example/", HTML "Link: <http://other.test/0>; rel=next\r\n\r\n", first,
         sizeof first - 1);
    push(&fixture, "http://a.example/", HTML "Link: <http://other.test/0>; rel=next\r\n\r\n", late,
         sizeof late - 1);
    ParsedPage *page = next_page(&fixture);
    CU_ASSERT_EQUAL(page->links.n, 1);
    CU_ASSERT_EQUAL(page->links.external_length, 2 * sizeof "Lhttp://other.test/0");
    parsed_page_delete(page);
    page = next_page(&fixture);
    CU_ASSERT_EQUAL(page->links.n, 0);
    CU_ASSERT_EQUAL(page->links.external_length, sizeof "Lhttp://other.test/0");
    parsed_page_delete(page);
    tear_down(&fixture);
}

static void a_large_page_waits_for_ingest_and_a_small_one_does_not(void)
{
    Fixture fixture;
    Buffer body;
    ByteShare held = {0};
    buffer_init(&body, 70000);
    CU_ASSERT_EQUAL_FATAL(buffer_reserve(&body, 70000), RESULT_OK);
    memset(body.data, ' ', 70000);
    set_up(&fixture, 2, 1000000);
    byte_gate_move(&held, &fixture.results, 600000); /* more than half of it */
    push(&fixture, "http://large.example/", HTML "\r\n", body.data, 70000);
    while (parsing_waiting(fixture.parsing) > 0) { /* a thread has it */
    }
    push(&fixture, "http://small.example/", HTML "\r\n", "<a href=a>", 10);
    ParsedPage *page = next_page(&fixture);
    CU_ASSERT_STRING_EQUAL(page->fetch->request.url, "http://small.example/");
    parsed_page_delete(page);
    byte_gate_move(&held, NULL, 0); /* it is committed */
    page = next_page(&fixture);
    CU_ASSERT_STRING_EQUAL(page->fetch->request.url, "http://large.example/");
    parsed_page_delete(page);
    tear_down(&fixture);
    buffer_destroy(&body);
}

UNIT_MAIN("parsing",
          {"a late nofollow takes links out of scope back",
           a_late_nofollow_takes_links_out_of_scope_back},
          {"long pages do not stop a short one", long_pages_do_not_stop_a_short_one},
          {"a large page waits for ingest and a small one does not",
           a_large_page_waits_for_ingest_and_a_small_one_does_not})
