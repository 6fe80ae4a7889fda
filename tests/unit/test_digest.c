#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/memory/buffer.h"
#include "parse/html/html.h"
#include "parse/text/digest.h"
#include "unit.h"

static Page digest_of(HtmlParser *parser, const char *html, const char *url)
{
    HtmlInput input = {.body = html,
                       .length = strlen(html),
                       .content_type = "text/html; charset=utf-8",
                       .url = url,
                       .url_length = strlen(url)};
    Page page;
    CU_ASSERT_EQUAL(html_parse(parser, &input, &page), RESULT_OK);
    return page;
}

static bool same(const Page *a, const Page *b)
{
    return a->text_digest[0] == b->text_digest[0] && a->text_digest[1] == b->text_digest[1];
}

typedef struct Pair {
    const char *a;
    const char *b;
    bool same;
} Pair;

static void the_digest_sees_text_and_tags_but_not_layout(void)
{
    static const Pair pairs[] = {
        {"dog cat", "dog \n\t cat", true},
        {"dog cat", "dog 12 345 cat", true},
        {"dog cat", "dog1cat", true},
        {"dog cat", "dogcat", false},
        {"dog cat", " dog cat", false},
        {"dog cat", "Dog cat", false},
        {"dog 1a2 cat", "dog   a cat", true},
        {"<b>x</b>", "<i>x</i>", false},
        {"<b class=y>x</B >", "<B>x</b>", true},
        {"<x-one>", "<x-two>", true},
        {"<x-one>", "</x-one>", false},
        {"<img src=a>", "<img src=b>", true},
        {"<frame src=a>", "<frame src=b>", false},
        {"<iframe src=a></iframe>", "<iframe src=b></iframe>", false},
        {"a<!-- x -->b", "a<!-- y -->b", true},
        {"<script>a</script>z", "<script>b</script>z", true},
        {"<style>a</style>z", "<style>b</style>z", true},
        {"<script>a</script>y", "<script>a</script>z", false},
        {"<script>never ended", "<script>cut short", false},
        {"<textarea>a</textarea>", "<textarea>b</textarea>", false},
        {"&lt;&eacute;&#33;", "<\xC3\xA9!", true},
        {"a &amp; b", "a & b", true},
    };
    HtmlParser *skim = NULL;
    HtmlParser *libxml2 = NULL;
    HtmlOptions options = {.forms = true};
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&skim, &options), RESULT_OK);
    options.use_libxml2 = true;
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&libxml2, &options), RESULT_OK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Page a = digest_of(skim, pairs[i].a, "http://h/a");
        Page b = digest_of(skim, pairs[i].b, "http://h/b");
        CU_ASSERT_EQUAL(same(&a, &b), pairs[i].same);
        if (same(&a, &b) != pairs[i].same) {
            (void)fprintf(stderr, "\n%s | %s\n", pairs[i].a, pairs[i].b);
        }
        /* The front end that finds the links makes no difference to the digest. */
        b = digest_of(libxml2, pairs[i].a, "http://h/a");
        CU_ASSERT(same(&a, &b));
    }
    html_parser_delete(skim);
    html_parser_delete(libxml2);
}

static void the_host_counts(void)
{
    HtmlParser *parser = NULL;
    HtmlOptions options = {.forms = false};
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    Page a = digest_of(parser, "x", "http://a.test/");
    Page b = digest_of(parser, "x", "https://a.test:81/y");
    Page c = digest_of(parser, "x", "http://b.test/");
    CU_ASSERT(same(&a, &b));
    CU_ASSERT_FALSE(same(&a, &c));
    Page empty = digest_of(parser, "<!-- -->", "http://a.test/");
    CU_ASSERT_EQUAL(empty.text_digest[0] | empty.text_digest[1], 0);
    html_parser_delete(parser);
}

/* Blocks of 16 and single bytes must write the same stream: one blank more or less at any place. */
static void blanks_are_runs_wherever_they_stand(void)
{
    HtmlParser *parser = NULL;
    HtmlOptions options = {.forms = false};
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    for (size_t at = 1; at < 70; at++) {
        char one[128];
        char two[128];
        memset(one, 'x', sizeof one);
        memset(two, 'x', sizeof two);
        one[at] = ' ';
        two[at] = '\t';
        two[at + 1] = '7';
        one[at + 20] = '\n';
        two[at + 21] = ' ';
        one[100] = '\0';
        two[101] = '\0';
        Page a = digest_of(parser, one, "http://h/");
        Page b = digest_of(parser, two, "http://h/");
        CU_ASSERT(same(&a, &b));
        two[at + 1] = 'x';
        b = digest_of(parser, two, "http://h/");
        CU_ASSERT_FALSE(same(&a, &b));
        CU_ASSERT_EQUAL(a.text_bytes, 98);
    }
    html_parser_delete(parser);
}

static void write_text(Buffer *out, unsigned seed, unsigned n_words, unsigned changed)
{
    buffer_reset(out);
    for (unsigned i = 0; i < n_words; i++) {
        unsigned x = (i + 1) * 2654435761u ^ seed * 40503u;
        if (i == changed) {
            x = 12345;
        }
        for (unsigned k = 0; k < 3 + x % 9; k++) {
            x = x * 1103515245u + 12345u;
            (void)buffer_append_char(out, (char)('a' + (x >> 16) % 26));
        }
        (void)buffer_append_string(out, i % 13 == 5 ? "</p><p>" : " ");
    }
}

static void the_counter_is_the_majority_of_each_bit(void)
{
    uint64_t seed = 1;
    for (unsigned n = 1; n < 400; n += 13) {
        SimhashCounter counter;
        memset(&counter, 0, sizeof counter);
        unsigned votes[64] = {0};
        for (unsigned i = 0; i < n; i++) {
            seed = hash_mix(seed + i + 1);
            simhash_add(&counter, seed);
            for (unsigned b = 0; b < 64; b++) {
                votes[b] += (unsigned)(seed >> b & 1);
            }
        }
        uint64_t want = 0;
        for (unsigned b = 0; b < 64; b++) {
            want |= (uint64_t)(votes[b] > n / 2 ? 1 : 0) << b;
        }
        CU_ASSERT_EQUAL(simhash_of_counter(&counter), want);
    }
    SimhashCounter empty;
    memset(&empty, 0, sizeof empty);
    CU_ASSERT_EQUAL(simhash_of_counter(&empty), 0);
}

static unsigned distance(uint64_t a, uint64_t b)
{
    return (unsigned)__builtin_popcountll(a ^ b);
}

static void near_texts_have_near_simhashes(void)
{
    HtmlParser *parser = NULL;
    HtmlOptions options = {.forms = false};
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    unsigned far = 64;
    unsigned near = 0;
    for (unsigned seed = 1; seed <= 20; seed++) {
        write_text(&text, seed, 1000, 1000);
        Page a = digest_of(parser, buffer_string(&text), "http://h/");
        write_text(&text, seed, 1000, 500);
        Page b = digest_of(parser, buffer_string(&text), "http://h/");
        write_text(&text, seed + 100, 1000, 1000);
        Page c = digest_of(parser, buffer_string(&text), "http://h/");
        CU_ASSERT_FALSE(same(&a, &b));
        unsigned d = distance(a.simhash, b.simhash);
        near += d <= 3 ? 1 : 0;
        d = distance(a.simhash, c.simhash);
        far = d < far ? d : far;
    }
    CU_ASSERT(near >= 18); /* one word of a thousand changed */
    CU_ASSERT(far > 12);
    Page few = digest_of(parser, "too few words to tell", "http://h/");
    CU_ASSERT_EQUAL(few.simhash, 0);
    buffer_destroy(&text);
    html_parser_delete(parser);
}

UNIT_MAIN("digest",
          {"the digest sees text and tags but not layout",
           the_digest_sees_text_and_tags_but_not_layout},
          {"the host counts", the_host_counts},
          {"blanks are runs wherever they stand", blanks_are_runs_wherever_they_stand},
          {"the counter is the majority of each bit", the_counter_is_the_majority_of_each_bit},
          {"near texts have near simhashes", near_texts_have_near_simhashes})
