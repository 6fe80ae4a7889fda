#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "parse/url/url.h"
#include "parse/url/url_encode.h"
#include "unit.h"

/* Resolves and compares; expect NULL: must be refused. */
static void check_encoded(const char *base_text, const char *input, const char *encoding,
                          const char *expect)
{
    Url base;
    Url url;
    url_init(&base);
    url_init(&url);
    if (base_text != NULL) {
        CU_ASSERT_EQUAL_FATAL(url_parse(&base, NULL, base_text, strlen(base_text)), RESULT_OK);
    }
    Result rc = url_parse_in_document(&url, base_text == NULL ? NULL : &base, input, strlen(input),
                                      encoding);
    bool right = expect == NULL ? rc == RESULT_INVALID && url.length == 0
                                : rc == RESULT_OK && strcmp(url.href, expect) == 0;
    if (!right) {
        (void)fprintf(stderr, "<%s> on <%s>: %s, expected %s\n", input,
                      base_text == NULL ? "" : base_text, rc == RESULT_OK ? url.href : "refused",
                      expect == NULL ? "refused" : expect);
    }
    CU_ASSERT(right);
    url_destroy(&base);
    url_destroy(&url);
}

static void check(const char *base, const char *input, const char *expect)
{
    check_encoded(base, input, NULL, expect);
}

typedef struct Pair {
    const char *input;
    const char *expect;
} Pair;

static void check_pairs(const char *base, const Pair *pairs)
{
    for (; pairs->input != NULL; pairs++) {
        check(base, pairs->input, pairs->expect);
    }
}

static void relative_references_resolve(void)
{
    static const Pair pairs[] = {{"", "http://u:p@h.test:81/a/b/c?q"},
                                 {"#top", "http://u:p@h.test:81/a/b/c?q"},
                                 {"?", "http://u:p@h.test:81/a/b/c?"},
                                 {"?x", "http://u:p@h.test:81/a/b/c?x"},
                                 {"d", "http://u:p@h.test:81/a/b/d"},
                                 {"./d", "http://u:p@h.test:81/a/b/d"},
                                 {"../d?e#f", "http://u:p@h.test:81/a/d?e"},
                                 {"..", "http://u:p@h.test:81/a/"},
                                 {"../../../../d", "http://u:p@h.test:81/d"},
                                 {"d/./e/../f/.", "http://u:p@h.test:81/a/b/d/f/"},
                                 {"d/%2E%2e/e", "http://u:p@h.test:81/a/b/e"},
                                 {"d/.%2e", "http://u:p@h.test:81/a/b/"},
                                 {"d/...", "http://u:p@h.test:81/a/b/d/..."},
                                 {"d/..e", "http://u:p@h.test:81/a/b/d/..e"},
                                 {"//other/x", "http://other/x"},
                                 {"/\\other\\x", "http://other/x"},
                                 {"\\x", "http://u:p@h.test:81/x"},
                                 {"/x//y", "http://u:p@h.test:81/x//y"},
                                 {"..//y", "http://u:p@h.test:81/a//y"},
                                 {"http:d", "http://u:p@h.test:81/a/b/d"},
                                 {"http:/d", "http://u:p@h.test:81/d"},
                                 {"https:d", "https://d/"},
                                 {"d:e", NULL},
                                 {"./d:e", "http://u:p@h.test:81/a/b/d:e"},
                                 {" \t d\n ", "http://u:p@h.test:81/a/b/d"},
                                 {"h\nt\ttp:\r//x", "http://x/"},
                                 {"mailto:x@y", NULL},
                                 {"javascript:void(0)", NULL},
                                 {NULL, NULL}};
    check_pairs("http://u:p@h.test:81/a/b/c?q#f", pairs);
    check(NULL, "/x", NULL);
    check(NULL, "", NULL);
    check("http://h/a//c", "../x", "http://h/a/x");
}

static void bytes_are_escaped_by_component(void)
{
    static const Pair pairs[] = {
        {"http://h/a b\"<>`{}^|[]\\c'", "http://h/a%20b%22%3C%3E%60%7B%7D%5E|[]/c'"},
        {"http://h/?a b\"<>`{}^|[]\\c'", "http://h/?a%20b%22%3C%3E`{}^|[]\\c%27"},
        {"http://h/\xC3\xA9?\xC3\xA9", "http://h/%C3%A9?%C3%A9"},
        {"http://h/\xE9x", "http://h/%EF%BF%BDx"},
        {"http://h/\xF0\x90\x80 \xED\xA0\x80", "http://h/%EF%BF%BD%20%EF%BF%BD%EF%BF%BD%EF%BF%BD"},
        {"http://h/%zz%4", "http://h/%zz%4"},
        {"http://h/\x7F\x01", "http://h/%7F"},
        {"http://a:b:c@d@h/", "http://a:b%3Ac%40d@h/"},
        {"http://@h/", "http://h/"},
        {"http://:@h/", "http://h/"},
        {"http://:p@h/", "http://:p@h/"},
        {"http://a:@h/", "http://a@h/"},
        {"http://a|b;c=d@h/", "http://a%7Cb%3Bc%3Dd@h/"},
        {"http://a@/", NULL},
        {NULL, NULL}};
    check_pairs(NULL, pairs);
}

static void hosts_are_domains_or_addresses(void)
{
    static const Pair pairs[] = {{"HTTP://Ex%41mple.COM", "http://example.com/"},
                                 {"http://1", "http://0.0.0.1/"},
                                 {"http://0x7F.1", "http://127.0.0.1/"},
                                 {"http://0300.0250.1.", "http://192.168.0.1/"},
                                 {"http://4294967295", "http://255.255.255.255/"},
                                 {"http://4294967296", NULL},
                                 {"http://1.2.3.256", NULL},
                                 {"http://1.2.3.4.5", NULL},
                                 {"http://256.1", NULL},
                                 {"http://1.65536.1", NULL},
                                 {"http://09", NULL},
                                 {"http://a.0x", NULL},
                                 {"http://a.0xg", "http://a.0xg/"},
                                 {"http://1.a", "http://1.a/"},
                                 {"http://1..2", NULL},
                                 {"http://1.2..", "http://1.2../"},
                                 {"http://0x", "http://0.0.0.0/"},
                                 {"http://\xEF\xBC\x91.1", "http://1.0.0.1/"},
                                 {"http://a..b.", "http://a..b./"},
                                 {"http://a_b~!$&'()*+,;=", "http://a_b~!$&'()*+,;=/"},
                                 {"http://", NULL},
                                 {"http:///", NULL},
                                 {"http://:80", NULL},
                                 {"http://a b", NULL},
                                 {"http://a%20b", NULL},
                                 {"http://a%2", NULL},
                                 {"http://a%00b", NULL},
                                 {"http://a^b", NULL},
                                 {"http://a|b", NULL},
                                 {"http://a<b", NULL},
                                 {"http://\xFF", NULL},
                                 {"http://a%C2%AD%0Ab", NULL},
                                 {"http://\xC2\xAD", NULL},
                                 {NULL, NULL}};
    check_pairs(NULL, pairs);
}

static void ipv6_addresses_are_compressed(void)
{
    static const Pair pairs[] = {{"http://[::]", "http://[::]/"},
                                 {"http://[::1]:81", "http://[::1]:81/"},
                                 {"http://[1:0:0:2:0:0:0:3]", "http://[1:0:0:2::3]/"},
                                 {"http://[1:0:0:2:3:0:0:4]", "http://[1::2:3:0:0:4]/"},
                                 {"http://[0:1:2:3:4:5:6:7]", "http://[0:1:2:3:4:5:6:7]/"},
                                 {"http://[1:2:3:4:5:6:7::]", "http://[1:2:3:4:5:6:7:0]/"},
                                 {"http://[ABCD:00ef::]", "http://[abcd:ef::]/"},
                                 {"http://[::1.2.3.4]", "http://[::102:304]/"},
                                 {"http://[1:2:3:4:5:6:1.2.3.4]", "http://[1:2:3:4:5:6:102:304]/"},
                                 {"http://[1:2:3:4:5::1.2.3.4]", "http://[1:2:3:4:5:0:102:304]/"},
                                 {"http://[1:2:3:4:5:6::1.2.3.4]", NULL},
                                 {"http://[::1.2.3.04]", NULL},
                                 {"http://[::1.2.3]", NULL},
                                 {"http://[::1.2.3.4.]", NULL},
                                 {"http://[::.1.2.3]", NULL},
                                 {"http://[1:2:3:4:5:6:7:8:9]", NULL},
                                 {"http://[1:2:3:4:5:6:7::8]", NULL},
                                 {"http://[::1::2]", NULL},
                                 {"http://[:1]", NULL},
                                 {"http://[1:]", NULL},
                                 {"http://[12345::]", NULL},
                                 {"http://[g::]", NULL},
                                 {"http://[::1%25eth0]", NULL},
                                 {"http://[::1", NULL},
                                 {"http://[]", NULL},
                                 {"http://[", NULL},
                                 {"http://[::1]x", NULL},
                                 {NULL, NULL}};
    check_pairs(NULL, pairs);
}

static void ports_are_checked_and_the_default_dropped(void)
{
    static const Pair pairs[] = {{"http://h:80/", "http://h/"},
                                 {"https://h:443/", "https://h/"},
                                 {"https://h:80/", "https://h:80/"},
                                 {"http://h:/", "http://h/"},
                                 {"http://h:0", "http://h:0/"},
                                 {"http://h:00081", "http://h:81/"},
                                 {"http://h:65535", "http://h:65535/"},
                                 {"http://h:65536", NULL},
                                 {"http://h:8a", NULL},
                                 {"http://h:-1", NULL},
                                 {"http://h:8\t1", "http://h:81/"},
                                 {"http://h:81?x", "http://h:81/?x"},
                                 {"http://h:81\\x", "http://h:81/x"},
                                 {NULL, NULL}};
    check_pairs(NULL, pairs);
}

static void offsets_name_the_parts(void)
{
    Url url;
    url_init(&url);
    const char *text = "https://us:pw@Host.test:8443/p/q?r#s";
    CU_ASSERT_EQUAL(url_parse(&url, NULL, text, strlen(text)), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(url.href, "https://us:pw@host.test:8443/p/q?r");
    CU_ASSERT_EQUAL(url.length, strlen(url.href));
    CU_ASSERT_EQUAL(url.host_start, 14);
    CU_ASSERT_EQUAL(url.host_end, 23);
    CU_ASSERT_EQUAL(url.path_start, 28);
    CU_ASSERT_EQUAL(url.query_start, 32);
    CU_ASSERT_EQUAL(url.port, 8443);
    CU_ASSERT_TRUE(url.https);
    Buffer origin;
    buffer_init(&origin, 100);
    CU_ASSERT_EQUAL(url_origin(&url, &origin), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&origin), "https://host.test:8443");
    buffer_destroy(&origin);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, "http://[::2]?", 13), RESULT_OK);
    CU_ASSERT_EQUAL(url.host_start, 7);
    CU_ASSERT_EQUAL(url.host_end, 12);
    CU_ASSERT_EQUAL(url.path_start, 12);
    CU_ASSERT_EQUAL(url.query_start, 13);
    CU_ASSERT_EQUAL(url.length, 14);
    CU_ASSERT_EQUAL(url.port, 80);
    url_destroy(&url);
    CU_ASSERT_PTR_NULL(url.href);
}

static void legacy_documents_encode_the_query_only(void)
{
    static const struct {
        const char *encoding;
        const char *query;
        const char *expect;
    } cases[] = {
        {"windows-1251", "\xD0\xB6", "%E6"},
        {"Windows-1252", "\xE2\x82\xAC\xC2\x81", "%80%81"},
        {"windows-1252", "\xD0\xB6", "%26%231078%3B"},
        {"windows-1255", "\xD6\xBA", "%CA"}, /* which glibc lacks */
        {"windows-1258", "\xE1\xBA\xA5", "%26%237845%3B"},
        {"utf-8", "\xD0\xB6", "%D0%B6"},
        {"utf-16le", "\xD0\xB6", "%D0%B6"},
        {"replacement", "\xD0\xB6", "%D0%B6"},
        {"no-such-thing", "\xD0\xB6", "%D0%B6"},
        {"koi8-u", "\xD1\x9E\xE2\x95\x9D", "%AE%26%239565%3B"},
        {"x-mac-cyrillic", "\xE2\x82\xAC\xC2\xA4", "%FF%26%23164%3B"},
        {"macintosh", "\xE2\x88\x86\xCE\x94", "%C6%26%23916%3B"},
        {"big5", "\xCB\x8D", "%A1%C5"},
        {"shift_jis", "\xE2\x80\x94\xEE\x80\x80", "%26%238212%3B%26%2357344%3B"},
        {"euc-jp", "\xE2\x85\xB0\xE3\x80\x80", "%FC%F1%A1%A1"},
        {"shift_jis", "\xE2\x85\xB0", "%FA@"},
        {"big5", "\xE2\x80\xA0\xE2\x95\x90", "%26%238224%3B%F9%F9"},
        {"big5", "\xC3\x8A", "%26%23202%3B"},
        {"euc-kr", "\xEA\xB0\x82", "%81A"},
        {"gbk", "\xE2\x82\xAC\xC3\xBF", "%80%26%23255%3B"},
        {"gb18030", "\xE2\x82\xAC\xC3\xBF", "%A2%E3%810%8B7"},
        {"gb18030", "\xEE\x97\xA5", "%26%2358853%3B"},
        {"euc-jp", "\xC2\xA5\xEF\xBD\xB1\xE2\x88\x92\xE6\xBC\xA2", "\\%8E%B1%A1%DD%B4%C1"},
        {"shift_jis", "\xE2\x80\xBE\xEF\xBD\xB1\xE2\x88\x92\xE6\xBC\xA2", "~%B1%81|%8A%BF"},
        {"iso-2022-jp", "a\xE2\x80\xBE\\", "a%1B(J~%1B(B\\"},
        {"iso-2022-jp",
         "\xE6\xBC\xA2\xEF\xBD\xB1"
         "b",
         "%1B$B4A%%22%1B(Bb"},
        {"iso-2022-jp", "\xE6\xBC\xA2", "%1B$B4A%1B(B"},
        {"iso-2022-jp", "\xE6\xBC\xA2\xC3\xA9", "%1B$B4A%1B(B%26%23233%3B"},
        {"iso-2022-jp",
         "\x0E"
         "A",
         "%26%2365533%3BA"},
        {"x-user-defined", "\xEF\x9E\x85\xC3\xA9", "%85%26%23233%3B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char input[100];
        char expect[100];
        (void)snprintf(input, sizeof input, "/\xC3\xA9?%s#x", cases[i].query);
        (void)snprintf(expect, sizeof expect, "http://h/%%C3%%A9?%s", cases[i].expect);
        check_encoded("http://h/", input, cases[i].encoding, expect);
    }
}

/* The sets of the standard, written as it writes them. */
static void the_table_is_the_standard(void)
{
    for (int b = 0; b < 256; b++) {
        bool c0 = b <= 0x1F || b > 0x7E;
        bool alnum = (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z');
        bool query = c0 || (b != 0 && strchr(" \"#<>", b) != NULL);
        bool path = query || strchr("?^`{}", b) != NULL;
        bool userinfo = path || strchr("/:;=@[\\]^|", b) != NULL;
        bool end = b != 0 && strchr("/\\?#", b) != NULL;
        bool forbidden = b <= 0x20 || b == 0x7F || strchr("#/:<>?@[\\]^|%", b) != NULL;
        unsigned want = 0;
        want |= !path && !end ? URL_PATH_SAFE : 0u;
        want |= !query && b != '\'' ? URL_QUERY_SAFE : 0u;
        want |= !userinfo ? URL_USERINFO_SAFE : 0u;
        want |= (alnum && (b < 'A' || b > 'Z')) || (b != 0 && strchr("-._", b) != NULL)
                    ? URL_HOST_PLAIN
                    : 0u;
        want |= forbidden ? URL_HOST_FORBIDDEN : 0u;
        want |= alnum || (b != 0 && strchr("+-.", b) != NULL) ? URL_SCHEME : 0u;
        want |= end ? URL_AUTHORITY_END : 0u;
        want |= b >= 0x80 || (b != 0 && strchr("\t\r\n", b) != NULL) ? URL_UNCLEAN : 0u;
        CU_ASSERT_EQUAL(url_class[b], want);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Text built from the pieces that decide what a parser does. */
static size_t random_text(uint64_t *state, char *text, size_t capacity)
{
    static const char *const pieces[] = {
        "http://", "https://", "http:", "//",       "/",     "/", "/",   "..",  ".",   "%2e",
        "%2E",     "a",        "b.c",   "X",        "?",     "#", ":",   ":80", ":81", ":443",
        "@",       "\\",       "\t",    "\n",       " ",     "1", "0x1", "%41", "%",   "\"",
        "'",       "<",        "^",     "|",        "[::1]", "[", "_",   "-",   "~",   "=",
        "&",       "index",    "html",  "\xC3\xA9", "\xFF",  "{", "+",   ";",   "../", "./",
        "h.t",     "/a/",      "\x7F",  "",         "com"};
    size_t n = 0;
    size_t count = next_random(state) % 9;
    for (size_t i = 0; i < count; i++) {
        const char *piece = pieces[next_random(state) % (sizeof pieces / sizeof *pieces)];
        size_t length = strlen(piece);
        if (n + length < capacity) {
            memcpy(text + n, piece, length);
            n += length;
        }
    }
    text[n] = '\0';
    return n;
}

static bool same_url(const Url *a, const Url *b)
{
    return a->length == b->length && strcmp(a->href, b->href) == 0 &&
           a->host_start == b->host_start && a->host_end == b->host_end &&
           a->path_start == b->path_start && a->query_start == b->query_start &&
           a->port == b->port && a->https == b->https;
}

static void the_fast_path_equals_the_standard(void)
{
    static const char *const bases[] = {NULL, "http://h.test/", "https://h.test:81/a/b/c?d=e",
                                        "http://u@h.test/a//b/", "http://h.test?q"};
    uint64_t state = 42;
    Url base;
    Url fast;
    Url slow;
    url_init(&base);
    url_init(&fast);
    url_init(&slow);
    size_t n_fast = 0;
    for (size_t round = 0; round < 300000; round++) {
        const char *base_text = bases[round % (sizeof bases / sizeof *bases)];
        if (base_text != NULL) {
            CU_ASSERT_EQUAL_FATAL(
                url_parse_standard(&base, NULL, base_text, strlen(base_text), NULL), RESULT_OK);
        }
        const Url *against = base_text == NULL ? NULL : &base;
        char text[128];
        size_t n = random_text(&state, text, sizeof text);
        if (!url_fast_parse(&fast, against, text, n)) {
            continue;
        }
        n_fast++;
        Result rc = url_parse_standard(&slow, against, text, n, NULL);
        if (rc != RESULT_OK || !same_url(&fast, &slow)) {
            (void)fprintf(stderr, "<%s>: fast %s, standard %s\n", text, fast.href,
                          rc == RESULT_OK ? slow.href : "refused");
            CU_FAIL("fast path differs");
            break;
        }
    }
    CU_ASSERT(n_fast > 30000);
    url_destroy(&base);
    url_destroy(&fast);
    url_destroy(&slow);
}

static void parsing_again_changes_nothing(void)
{
    uint64_t state = 7;
    Url base;
    Url once;
    Url twice;
    url_init(&base);
    url_init(&once);
    url_init(&twice);
    CU_ASSERT_EQUAL(url_parse(&base, NULL, "http://b.test/x/y?z", 19), RESULT_OK);
    size_t n_ok = 0;
    for (size_t round = 0; round < 100000; round++) {
        char text[128];
        size_t n = random_text(&state, text, sizeof text);
        if (url_parse(&once, &base, text, n) != RESULT_OK) {
            continue;
        }
        n_ok++;
        Result rc = url_parse(&twice, NULL, once.href, once.length);
        if (rc != RESULT_OK || !same_url(&once, &twice)) {
            (void)fprintf(stderr, "<%s>: %s\n", text, once.href);
            CU_FAIL("not stable");
            break;
        }
    }
    CU_ASSERT(n_ok > 20000);
    url_destroy(&base);
    url_destroy(&once);
    url_destroy(&twice);
}

/* Repeats unit up to n bytes behind prefix; the caller frees. */
static char *repeat(const char *prefix, const char *unit, size_t n)
{
    char *text = malloc(n + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    size_t n_prefix = strlen(prefix);
    size_t n_unit = strlen(unit);
    for (size_t i = 0; i < n; i++) {
        text[i] = i < n_prefix ? prefix[i] : unit[(i - n_prefix) % n_unit];
    }
    text[n] = '\0';
    return text;
}

/* CPU time of 84 texts of n bytes. */
static int64_t hostile_ns(size_t n)
{
    static const char *const units[] = {
        "/../", "a/../", "%2e%2e/",  "/",    "\\",           "@", ":",
        ".",    "1.",    "\xC3\xA9", "\xFF", "\xE4\xBD\xA0", "?", "a/b/c/../"};
    static const char *const prefixes[] = {"http://", "http://h/", "", "http://[", "//a", "\t"};
    Url base;
    Url url;
    url_init(&base);
    url_init(&url);
    CU_ASSERT_EQUAL(url_parse(&base, NULL, "http://b.test/x/y?z", 19), RESULT_OK);
    int64_t start = cpu_thread_ns();
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
            char *text = repeat(prefixes[k], units[i], n);
            Result rc = url_parse_in_document(&url, &base, text, n, "windows-1251");
            CU_ASSERT(rc == RESULT_OK || rc == RESULT_LIMIT || rc == RESULT_INVALID);
            CU_ASSERT(url.length <= URL_MAX_BYTES);
            free(text);
        }
    }
    url_destroy(&base);
    url_destroy(&url);
    return cpu_thread_ns() - start;
}

static void hostile_megabytes_take_linear_time(void)
{
    Url url;
    url_init(&url);
    /* Four times as long; what is quadratic takes sixteen times as long. */
    CU_ASSERT(hostile_ns(URL_MAX_BYTES) < 10 * hostile_ns(URL_MAX_BYTES / 4));
    char *text = repeat("http://h/", "x", URL_MAX_BYTES + 1);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, text, URL_MAX_BYTES + 1), RESULT_LIMIT);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, text, URL_MAX_BYTES), RESULT_OK);
    free(text);
    url_destroy(&url);
}

UNIT_MAIN("url", {"relative references resolve", relative_references_resolve},
          {"bytes are escaped by component", bytes_are_escaped_by_component},
          {"hosts are domains or addresses", hosts_are_domains_or_addresses},
          {"IPv6 addresses are compressed", ipv6_addresses_are_compressed},
          {"ports are checked and the default dropped", ports_are_checked_and_the_default_dropped},
          {"offsets name the parts", offsets_name_the_parts},
          {"legacy documents encode the query only", legacy_documents_encode_the_query_only},
          {"the table is the standard", the_table_is_the_standard},
          {"the fast path equals the standard", the_fast_path_equals_the_standard},
          {"parsing again changes nothing", parsing_again_changes_nothing},
          {"hostile megabytes take linear time", hostile_megabytes_take_linear_time})
