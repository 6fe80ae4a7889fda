#include <stdio.h>
#include <string.h>

#include "render/page_verdict.h"
#include "unit.h"

static PageVerdict judged(const char *html)
{
    PageVerdict verdict;
    page_verdict_judge(html, strlen(html), &verdict);
    return verdict;
}

static void empty_projects_of_frameworks_need_a_browser(void)
{
    static const char *const pages[] = {
        "<!doctype html><title>React App</title><noscript>You need to enable JavaScript to run "
        "this "
        "app.</noscript><div id=\"root\"></div><script src=/static/js/main.js></script>",
        "<body><div id=app></div><script type=module src=/assets/index.js></script></body>",
        "<body><div id=\"__next\"><div></div></div><script src=a.js></script></body>",
        "<body><app-root></app-root><script src=main.js type=module></script></body>",
        "<div id=\"app\"></div><script>window.$docsify={}</script><script src=docsify.js></script>",
        "<redoc spec-url=\"openapi.json\"></redoc><script src=redoc.standalone.js></script>",
        "<div id='swagger-ui'></div><script src='./swagger-ui-bundle.js'></script>",
        "<body><script src=app.js></script></body>",
        "<html><head><script>window.location.replace('/en/')</script></head></html>",
        "<div id=app><p>Loading...</p></div><script src=a.js></script>",
        "<div id=root><div><div></div></div>",
    };
    for (size_t i = 0; i + 1 < sizeof pages / sizeof *pages; i++) {
        if (!judged(pages[i]).needs_browser) {
            (void)fprintf(stderr, "not judged to need one: %s\n", pages[i]);
            CU_FAIL("a page that needs a browser");
        }
    }
    CU_ASSERT(!judged(pages[sizeof pages / sizeof *pages - 1]).needs_browser);
}

static void pages_with_text_and_links_need_none(void)
{
    char much[8000] = "<div id=root></div><noscript>enable JavaScript</noscript><script></script>";
    size_t length = strlen(much);
    memset(much + length, 'x', 3000);
    much[length + 3000] = '\0';
    CU_ASSERT(!judged(much).needs_browser);
    static const char *const pages[] = {
        "<p>hello",
        "",
        "<div id=root></div>",
        "<p>A short page of a few words that has a counter.</p><a href=/a>a</a><a href=b>b</a>"
        "<script src=counter.js></script>",
        "<div id=app><h1>Rendered on the server, with all that belongs there</h1><a href=/1>1</a>"
        "<a href=/2>2</a></div><script src=hydrate.js></script>",
        "<script type=application/ld+json>{}</script><div id=root></div>",
        "<!-- <div id=root></div><script src=a.js></script> -->",
    };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (judged(pages[i]).needs_browser) {
            (void)fprintf(stderr, "judged to need one: %s\n", pages[i]);
            CU_FAIL("a page that needs no browser");
        }
    }
}

static void text_is_what_a_reader_sees(void)
{
    PageVerdict v = judged("<title>title</title><style>p{}</style> <p> a  b </p>\n\n<script>x"
                           "</script><noscript>n</noscript><template>t</template>c");
    CU_ASSERT_EQUAL(v.text_bytes, 5); /* "a b c" */
    v = judged("<a href=#x>1</a><a href='javascript:void(0)'>2</a><a>3</a><a href=\"/y\">4</a>");
    CU_ASSERT_EQUAL(v.links, 1);
}

static void broken_pages_are_judged(void)
{
    static const char *const pages[] = {
        "<",       "<a",   "<a href", "<a href=", "<a href='x",   "<script>",
        "<script", "<!--", "</",      "</a",      "<div id=root", "<!"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        CU_ASSERT(judged(pages[i]).text_bytes <= strlen(pages[i]));
    }
}

static void the_reasons_are_told(void)
{
    Buffer out;
    buffer_init(&out, 1000);
    PageVerdict v = judged("<div id=root></div><script src=a></script>");
    CU_ASSERT_EQUAL(page_verdict_tell(v.signs, &out), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "empty mount point, no text, few links");
    buffer_reset(&out);
    v = judged("<p>x");
    CU_ASSERT_EQUAL(page_verdict_tell(v.signs, &out), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "no scripts, no text, few links");
    buffer_destroy(&out);
}

UNIT_MAIN("page verdict",
          {"empty projects of frameworks need a browser",
           empty_projects_of_frameworks_need_a_browser},
          {"pages with text and links need none", pages_with_text_and_links_need_none},
          {"text is what a reader sees", text_is_what_a_reader_sees},
          {"broken pages are judged", broken_pages_are_judged},
          {"the reasons are told", the_reasons_are_told})
