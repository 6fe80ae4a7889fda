#include "parse/filter/filter_tests.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory/base64.h"
#include "parse/host/domain.h"
#include "parse/trap/trap.h"

/* The parts of a URL or answer that atoms look at, and how a part is compared with an argument.
 *
 * What: everything the tests (filter_tests.h) have in common.
 * Owns: nothing; a part points into what is asked about.
 * Threads: pure functions, inline since a filter runs for every link. */

typedef struct FilterPart {
    const char *text;
    size_t length;
} FilterPart;

static inline FilterPart filter_part_url(const Url *url)
{
    return (FilterPart){url->href, url->length};
}

static inline FilterPart filter_part_host(const Url *url)
{
    return (FilterPart){url->href + url->host_start, url->host_end - url->host_start};
}

static inline FilterPart filter_part_path(const Url *url)
{
    return (FilterPart){url->href + url->path_start, url->query_start - url->path_start};
}

/* Without the "?". */
static inline FilterPart filter_part_query(const Url *url)
{
    uint32_t start = url->query_start < url->length ? url->query_start + 1 : url->length;
    return (FilterPart){url->href + start, url->length - start};
}

/* What follows the last dot of the last segment; empty when there is none. A segment that ends with
 * a dot has the empty extension, as one without. */
static inline FilterPart filter_part_extension(const Url *url)
{
    FilterPart path = filter_part_path(url);
    size_t n = 0;
    while (n < path.length && path.text[path.length - 1 - n] != '/') {
        if (path.text[path.length - 1 - n] == '.') {
            return (FilterPart){path.text + path.length - n, n};
        }
        n++;
    }
    return (FilterPart){path.text, 0};
}

/* "text/html" of "text/html; charset=utf-8". A comma ends it, too: some servers send the field
 * twice, and it arrives as one. */
static inline FilterPart filter_part_mime(const char *content_type)
{
    content_type += strspn(content_type, " \t");
    return (FilterPart){content_type, strcspn(content_type, "; \t,")};
}

/* Arguments were normalised when the filter was compiled (FilterAtomType.arguments: lower case, a
 * host as URLs have it), so a comparison of bytes is enough wherever the part is normal as well. */
static inline bool filter_part_equals(FilterPart part, const FilterItem *item)
{
    return part.length == item->length && memcmp(part.text, item->text, part.length) == 0;
}

static inline bool filter_part_equals_without_case(FilterPart part, const FilterItem *item)
{
    return part.length == item->length && strncasecmp(part.text, item->text, part.length) == 0;
}

static inline bool filter_part_starts_with(FilterPart part, const FilterItem *item)
{
    return part.length >= item->length && memcmp(part.text, item->text, item->length) == 0;
}

static inline bool filter_part_ends_with(FilterPart part, const FilterItem *item)
{
    return part.length >= item->length &&
           memcmp(part.text + part.length - item->length, item->text, item->length) == 0;
}

static inline bool filter_part_ends_with_without_case(FilterPart part, const FilterItem *item)
{
    return part.length >= item->length &&
           strncasecmp(part.text + part.length - item->length, item->text, item->length) == 0;
}

static inline bool filter_part_contains(FilterPart part, const FilterItem *item)
{
    return memmem(part.text, part.length, item->text, item->length) != NULL;
}

/* Whether a part passes the test with one of the arguments. */
static inline bool filter_part_any(const FilterAtom *atom, FilterPart part,
                                   bool (*test)(FilterPart part, const FilterItem *item))
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if (test(part, &atom->items[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a number lies in one of the ranges. */
static inline bool filter_any_range(const FilterAtom *atom, uint64_t value)
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if (value >= atom->items[i].low && value <= atom->items[i].high) {
            return true;
        }
    }
    return false;
}

/* ---- Regular expressions of filters ---- */

/* Bounds of one match: a step of the matcher takes some nanoseconds, a frame some hundred bytes. */
#define MATCH_LIMIT     1000000u
#define HEAP_LIMIT_KIB  (32u * 1024u)
#define JIT_STACK_FIRST ((size_t)32 * 1024)
#define JIT_STACK_MOST  ((size_t)1024 * 1024)

struct FilterScratch {
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    uint64_t given_up;
};

Result filter_scratch_new(FilterScratch **scratch)
{
    *scratch = NULL;
    FilterScratch *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return RESULT_MEMORY;
    }
    made->match = pcre2_match_data_create(1, NULL);
    made->context = pcre2_match_context_create(NULL);
    /* Expressions are the operator's, but texts are the web's: one page can make a harmless looking
     * one backtrack for hours. The limits hold for each match, the stack of JIT code for its
     * depth. */
    made->stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MOST, NULL);
    if (made->match == NULL || made->context == NULL) {
        filter_scratch_delete(made);
        return RESULT_MEMORY;
    }
    (void)pcre2_set_match_limit(made->context, MATCH_LIMIT);
    (void)pcre2_set_heap_limit(made->context, HEAP_LIMIT_KIB);
    if (made->stack != NULL) { /* NULL: PCRE2 was built without JIT */
        pcre2_jit_stack_assign(made->context, NULL, made->stack);
    }
    *scratch = made;
    return RESULT_OK;
}

void filter_scratch_delete(FilterScratch *scratch)
{
    if (scratch == NULL) {
        return;
    }
    pcre2_match_data_free(scratch->match);
    pcre2_match_context_free(scratch->context);
    pcre2_jit_stack_free(scratch->stack);
    free(scratch);
}

uint64_t filter_scratch_given_up(const FilterScratch *scratch)
{
    return scratch->given_up;
}

Result filter_regex_compile(FilterAtom *atom, char message[FILTER_REGEX_MESSAGE_BYTES],
                            size_t *offset)
{
    const FilterItem *item = &atom->items[0];
    /* Bytes, never UTF: pages are in any encoding, and an invalid sequence would fail the match. */
    uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C;
    /* "All of it matches" is BUbiNG's meaning; the other kind of atom searches. */
    if (atom->type->arguments == FILTER_REGEX) {
        options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
    }
    int code = 0;
    PCRE2_SIZE at = 0;
    atom->regex = pcre2_compile((PCRE2_SPTR)item->text, item->length, options, &code, &at, NULL);
    if (atom->regex == NULL) {
        if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED) {
            return RESULT_MEMORY;
        }
        (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)message, FILTER_REGEX_MESSAGE_BYTES);
        *offset = at;
        return RESULT_INVALID;
    }
    /* Without JIT (not built in, or memory may not be executable) the interpreter matches. */
    (void)pcre2_jit_compile(atom->regex, PCRE2_JIT_COMPLETE);
    return RESULT_OK;
}

/* Whether the regular expression of an atom matches. A match that was given up is no match; whoever
 * runs the filters tells how many there were (filter_scratch_given_up). */
static bool filter_regex_matches(const FilterAtom *atom, const char *text, size_t length,
                                 FilterScratch *scratch)
{
    int rc =
        pcre2_match(atom->regex, (PCRE2_SPTR)text, length, 0, 0, scratch->match, scratch->context);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
        scratch->given_up++;
    }
    return rc >= 0;
}

/* Not every test needs every parameter. What may be missing of the input:
 *
 *   source                   a seed: no page links to it
 *   status, type, body       the fetch has not been made, or has failed
 *   digest, text, title      they are asked for too early
 *
 * A test of something that is missing is false. "not SameHost" is therefore true of a seed. The
 * flags in the table of atoms (needs) refuse at the start what a hook can never have. */
#define FILTER_TEST(name)                                                                          \
    static bool filter_test_##name(const FilterAtom *atom __attribute__((unused)),                 \
                                   const FilterInput *input __attribute__((unused)),               \
                                   FilterScratch *scratch __attribute__((unused)))

/* What atoms test of a URL and of the page that links to it. */

static bool is_domain_of(FilterPart host, const FilterItem *item)
{
    return domain_contains(item->text, item->length, host.text, host.length);
}

/* A part of the URL, compared with each argument. The end of a path without regard to case, as
 * ".JPG" is meant by ".jpg"; its beginning is a name, where case counts. */
#define PART_TEST(name, part, compare)                                                             \
    FILTER_TEST(name)                                                                              \
    {                                                                                              \
        return filter_part_any(atom, part(input->url), compare);                                   \
    }

/* clang-format off */
PART_TEST(host_equals, filter_part_host, filter_part_equals)
PART_TEST(host_ends_with, filter_part_host, filter_part_ends_with)
PART_TEST(host_in_domain, filter_part_host, is_domain_of)
PART_TEST(url_equals, filter_part_url, filter_part_equals)
PART_TEST(url_contains, filter_part_url, filter_part_contains)
PART_TEST(path_starts, filter_part_path, filter_part_starts_with)
PART_TEST(path_ends, filter_part_path, filter_part_ends_with_without_case)
PART_TEST(extension_is, filter_part_extension, filter_part_equals_without_case)
PART_TEST(query_contains, filter_part_query, filter_part_contains)
/* clang-format on */

FILTER_TEST(host_in_file)
{
    FilterPart host = filter_part_host(input->url);
    return filter_set_contains(&atom->set, host.text, host.length);
}

FILTER_TEST(domain_in_file)
{
    FilterPart host = filter_part_host(input->url);
    return filter_set_contains_domain(&atom->set, host.text, host.length);
}

FILTER_TEST(host_is_address)
{
    FilterPart host = filter_part_host(input->url);
    return domain_is_address(host.text, host.length);
}

FILTER_TEST(registered_domain_is)
{
    Domain domain = domain_of_url(input->url);
    return filter_part_any(atom, (FilterPart){domain.name, domain.length}, filter_part_equals);
}

FILTER_TEST(same_host)
{
    if (input->source == NULL) {
        return false;
    }
    FilterPart a = filter_part_host(input->url);
    FilterPart b = filter_part_host(input->source);
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

FILTER_TEST(same_registered_domain)
{
    if (input->source == NULL) {
        return false;
    }
    Domain a = domain_of_url(input->url);
    Domain b = domain_of_url(input->source);
    return a.length == b.length && memcmp(a.name, b.name, a.length) == 0;
}

/* The scheme stands at the front of href; URLs have one of two. */
FILTER_TEST(scheme_equals)
{
    FilterPart scheme = {input->url->href, input->url->https ? 5 : 4};
    return filter_part_any(atom, scheme, filter_part_equals);
}

/* The port in force, also when the URL does not name it. */
FILTER_TEST(port_is)
{
    return filter_any_range(atom, input->url->port);
}

FILTER_TEST(url_matches)
{
    return filter_regex_matches(atom, input->url->href, input->url->length, scratch);
}

FILTER_TEST(url_shorter)
{
    return input->url->length < atom->items[0].low;
}

FILTER_TEST(path_depth_below)
{
    FilterPart path = filter_part_path(input->url);
    return trap_path_depth(path.text, path.length) < atom->items[0].low;
}

/* A path has TRAP_MAX_SEGMENTS segments that are looked at, and so no more repetitions. */
FILTER_TEST(duplicate_segments_below)
{
    FilterPart path = filter_part_path(input->url);
    uint64_t times = atom->items[0].low;
    return times >= TRAP_MAX_SEGMENTS || !trap_repeats(path.text, path.length, (unsigned)times);
}

FILTER_TEST(has_query)
{
    return filter_part_query(input->url).length > 0;
}

/* Whether part is text once "+" and %XX are decoded. Byte by byte against the argument, so nothing
 * is copied. A "%" without two digits stands for itself. */
static bool decodes_to(FilterPart part, const FilterItem *item)
{
    size_t n = 0;
    for (size_t i = 0; i < part.length; i++, n++) {
        char c = part.text[i];
        int high = c == '%' && part.length - i > 2 ? hex_value(part.text[i + 1]) : -1;
        int low = high >= 0 ? hex_value(part.text[i + 2]) : -1;
        if (low >= 0) {
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        if (n >= item->length || c != item->text[n]) {
            return false;
        }
    }
    return n == item->length;
}

/* The next "name=value" of a query; false at its end. "a" without "=" has an empty value; nothing
 * between two "&" is passed over. */
static bool next_parameter(FilterPart *query, FilterPart *name, FilterPart *value)
{
    while (query->length > 0) {
        const char *amp = memchr(query->text, '&', query->length);
        size_t n = amp != NULL ? (size_t)(amp - query->text) : query->length;
        const char *equals_sign = memchr(query->text, '=', n);
        size_t n_name = equals_sign != NULL ? (size_t)(equals_sign - query->text) : n;
        *name = (FilterPart){query->text, n_name};
        *value = (FilterPart){query->text + (n_name < n ? n_name + 1 : n),
                              n_name < n ? n - n_name - 1 : 0};
        size_t used = amp != NULL ? n + 1 : n;
        *query = (FilterPart){query->text + used, query->length - used};
        if (n > 0) {
            return true;
        }
    }
    return false;
}

FILTER_TEST(has_parameter)
{
    FilterPart query = filter_part_query(input->url);
    FilterPart name;
    FilterPart value;
    while (next_parameter(&query, &name, &value)) {
        if (filter_part_any(atom, name, decodes_to)) {
            return true;
        }
    }
    return false;
}

/* The first argument is the name, the others are values. */
FILTER_TEST(parameter_is)
{
    FilterPart query = filter_part_query(input->url);
    FilterPart name;
    FilterPart value;
    while (next_parameter(&query, &name, &value)) {
        /* One parameter of that name with one of the values is enough, also when another one has
         * another value. */
        for (size_t i = 1; i < atom->n_items && decodes_to(name, &atom->items[0]); i++) {
            if (decodes_to(value, &atom->items[i])) {
                return true;
            }
        }
    }
    return false;
}

FILTER_TEST(parameters_below)
{
    FilterPart query = filter_part_query(input->url);
    return trap_parameters(query.text, query.length) < atom->items[0].low;
}

FILTER_TEST(depth_at_most)
{
    return input->has_depth && input->depth <= atom->items[0].low;
}

/* What atoms test of an answer. */

FILTER_TEST(is_http_response)
{
    return input->status != 0;
}

FILTER_TEST(status_is)
{
    return input->status > 0 && filter_any_range(atom, (uint64_t)input->status);
}

FILTER_TEST(status_category)
{
    return input->status > 0 && filter_any_range(atom, (uint64_t)input->status / 100);
}

FILTER_TEST(content_type_starts)
{
    if (input->content_type == NULL) {
        return false;
    }
    for (size_t i = 0; i < atom->n_items; i++) {
        if (strncasecmp(input->content_type, atom->items[i].text, atom->items[i].length) == 0) {
            return true;
        }
    }
    return false;
}

/* "image/" followed by "*" is every type of that family. */
static bool is_mime(FilterPart mime, const FilterItem *item)
{
    size_t n = item->length;
    if (n >= 2 && item->text[n - 1] == '*' && item->text[n - 2] == '/') {
        return mime.length >= n - 1 && strncasecmp(mime.text, item->text, n - 1) == 0;
    }
    return filter_part_equals_without_case(mime, item);
}

FILTER_TEST(mime_is)
{
    return input->content_type != NULL &&
           filter_part_any(atom, filter_part_mime(input->content_type), is_mime);
}

FILTER_TEST(size_below)
{
    return input->has_body && input->body_length < atom->items[0].low;
}

/* A text of any single-byte or UTF-8 encoding has no zero byte; two may be an accident. */
FILTER_TEST(is_probably_binary)
{
    const size_t looked_at = 1000;
    const unsigned least = 3;
    unsigned zeros = 0;
    for (size_t i = 0; input->has_body && i < input->body_length && i < looked_at; i++) {
        zeros += input->body[i] == '\0';
    }
    return zeros >= least;
}

FILTER_TEST(response_matches)
{
    return input->has_body && filter_regex_matches(atom, input->body_length > 0 ? input->body : "",
                                                   input->body_length, scratch);
}

FILTER_TEST(anchor_matches)
{
    return input->anchor != NULL &&
           filter_regex_matches(atom, input->anchor, input->anchor_length, scratch);
}

FILTER_TEST(text_matches)
{
    return input->text != NULL &&
           filter_regex_matches(atom, input->text, input->text_length, scratch);
}

FILTER_TEST(title_matches)
{
    return input->title != NULL &&
           filter_regex_matches(atom, input->title, strlen(input->title), scratch);
}

/* "sha1:..." as a WARC record has it; the argument is the digits alone. */
FILTER_TEST(digest_equals)
{
    if (input->digest == NULL) {
        return false;
    }
    const char *colon = strrchr(input->digest, ':');
    const char *digest = colon == NULL ? input->digest : colon + 1;
    return filter_part_any(atom, (FilterPart){digest, strlen(digest)},
                           filter_part_equals_without_case);
}

FILTER_TEST(usage_denied)
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if (((unsigned)atom->items[i].low & input->usage_denied) != 0) {
            return true;
        }
    }
    return false;
}

/* What was not read may deny everything, so a page that was not fetched is refused (5288a3c7). */
FILTER_TEST(usage)
{
    return !input->is_unread && !filter_test_usage_denied(atom, input, scratch);
}

/* ---- The table of atoms ---- */

/* Short names for the rows below alone: `words` is what the help calls the argument, `needs` what
 * the hook must have. */
#define NOTHING  0
#define SOURCE   FILTER_HAS_SOURCE
#define RESPONSE FILTER_HAS_RESPONSE
#define STATUS   FILTER_HAS_STATUS
#define HOSTS    "host names"
#define STRINGS  "strings"
#define NUMBER   "a number"
#define REGEX    "a regular expression"
#define ONE      false
#define LIST     true
#define ATOM(name, words, help, arguments, is_list, needs, test)                                   \
    {                                                                                              \
        {name, words, help}, arguments, is_list, needs, filter_test_##test                         \
    }

/* In the order of the help; BUbiNG's atoms keep their names and meaning. */
static const FilterAtomType types[] = {
    /* The URL alone, which every hook has. */
    ATOM("SchemeEquals", "http or https", "the scheme", FILTER_LOWER, ONE, NOTHING, scheme_equals),
    ATOM("HostEquals", "a host name", "the host is this", FILTER_HOST, ONE, NOTHING, host_equals),
    ATOM("HostEqualsOneOf", HOSTS, "the host is one of these", FILTER_HOST, LIST, NOTHING,
         host_equals),
    ATOM("HostEndsWith", "a suffix", "the host ends with it, also inside a label", FILTER_HOST_END,
         ONE, NOTHING, host_ends_with),
    ATOM("HostEndsWithOneOf", "suffixes", "the host ends with one of them, also inside a label",
         FILTER_HOST_END, LIST, NOTHING, host_ends_with),
    ATOM("HostInDomain", HOSTS, "the host is one of these or below it", FILTER_HOST, LIST, NOTHING,
         host_in_domain),
    ATOM("HostInFile", "a file", "the host is in the file, one a line", FILTER_FILE, ONE, NOTHING,
         host_in_file),
    ATOM("DomainInFile", "a file", "the host or a domain above it is in the file", FILTER_FILE, ONE,
         NOTHING, domain_in_file),
    ATOM("HostIsAddress", "", "the host is an IP address", FILTER_NO_ARGUMENTS, ONE, NOTHING,
         host_is_address),
    ATOM("RegisteredDomainIs", HOSTS, "the registered domain (public suffix list) is one of these",
         FILTER_HOST, LIST, NOTHING, registered_domain_is),
    /* The page that links to it; there is none for a seed. */
    ATOM("SameHost", "", "the linking page has the same host", FILTER_NO_ARGUMENTS, ONE, SOURCE,
         same_host),
    ATOM("SameRegisteredDomain", "", "the linking page has the same registered domain",
         FILTER_NO_ARGUMENTS, ONE, SOURCE, same_registered_domain),
    /* The URL again. The order is that of the help, where these stand together. */
    ATOM("PortIsOneOf", "numbers or ranges", "the port, also the scheme's own", FILTER_NUMBER_RANGE,
         LIST, NOTHING, port_is),
    ATOM("URLEquals", "a URL", "the URL is this, once both are normalised", FILTER_URL, ONE,
         NOTHING, url_equals),
    ATOM("URLContainsOneOf", STRINGS, "one of them is in the URL", FILTER_TEXT, LIST, NOTHING,
         url_contains),
    ATOM("URLMatchesRegex", REGEX, "all of the URL matches", FILTER_REGEX, ONE, NOTHING,
         url_matches),
    ATOM("URLContainsRegex", REGEX, "it matches somewhere in the URL", FILTER_REGEX_SEARCH, ONE,
         NOTHING, url_matches),
    ATOM("URLShorterThan", NUMBER, "the URL has fewer bytes", FILTER_NUMBER, ONE, NOTHING,
         url_shorter),
    ATOM("PathStartsWithOneOf", STRINGS, "the path begins with one of them", FILTER_TEXT, LIST,
         NOTHING, path_starts),
    ATOM("PathEndsWithOneOf", STRINGS, "the path ends with one of them; case is ignored",
         FILTER_LOWER, LIST, NOTHING, path_ends),
    ATOM("PathDepthLessThan", NUMBER, "the path has fewer segments", FILTER_NUMBER, ONE, NOTHING,
         path_depth_below),
    ATOM("DuplicateSegmentsLessThan", NUMBER,
         "no sequence of segments stands there that often in a row", FILTER_TIMES, ONE, NOTHING,
         duplicate_segments_below),
    ATOM("ExtensionIsOneOf", "extensions", "what follows the last dot of the last segment",
         FILTER_EXTENSION, LIST, NOTHING, extension_is),
    /* Parameters are compared decoded, the query as it stands. */
    ATOM("HasQuery", "", "the query is not empty", FILTER_NO_ARGUMENTS, ONE, NOTHING, has_query),
    ATOM("QueryContainsOneOf", STRINGS, "one of them is in the query", FILTER_TEXT, LIST, NOTHING,
         query_contains),
    ATOM("HasParameter", "names", "the query has a parameter of one of these names", FILTER_TEXT,
         LIST, NOTHING, has_parameter),
    ATOM("ParameterIs", "a name and values", "the parameter has one of the values",
         FILTER_NAME_VALUES, LIST, NOTHING, parameter_is),
    ATOM("ParametersLessThan", NUMBER, "the query has fewer parameters", FILTER_NUMBER, ONE,
         NOTHING, parameters_below),
    /* What a crawl knows of the way to it. */
    ATOM("DepthAtMost", NUMBER, "at most that many links from a seed", FILTER_NUMBER, ONE,
         FILTER_HAS_DEPTH, depth_at_most),
    /* The answer: its status and type are known with its header, the rest with its body. */
    ATOM("IsHttpResponse", "", "there is a response", FILTER_NO_ARGUMENTS, ONE, STATUS,
         is_http_response),
    ATOM("StatusIsOneOf", "numbers or ranges", "the status", FILTER_NUMBER_RANGE, LIST, STATUS,
         status_is),
    ATOM("StatusCategory", "a digit", "the first digit of the status", FILTER_NUMBER, ONE, STATUS,
         status_category),
    ATOM("ContentTypeStartsWith", "a prefix", "the Content-Type begins so; case is ignored",
         FILTER_LOWER, ONE, FILTER_HAS_TYPE, content_type_starts),
    ATOM("MIMEIsOneOf", "types", "the type without parameters; \"image/*\" is all of a family",
         FILTER_LOWER, LIST, FILTER_HAS_TYPE, mime_is),
    ATOM("SizeLessThan", "a size", "the body has fewer bytes", FILTER_SIZE, ONE, RESPONSE,
         size_below),
    ATOM("IsProbablyBinary", "", "three zero bytes among the first thousand", FILTER_NO_ARGUMENTS,
         ONE, RESPONSE, is_probably_binary),
    ATOM("ResponseMatches", REGEX, "all of the body matches", FILTER_REGEX, ONE, RESPONSE,
         response_matches),
    ATOM("ResponseContainsRegex", REGEX, "it matches somewhere in the body", FILTER_REGEX_SEARCH,
         ONE, RESPONSE, response_matches),
    /* What is written around a link; score.rules alone has it. */
    ATOM("AnchorContainsRegex", REGEX, "score.rules: it matches somewhere in the text of the link",
         FILTER_REGEX_SEARCH, ONE, FILTER_HAS_TEXT, anchor_matches),
    ATOM("TextContainsRegex", REGEX,
         "score.rules: the same of the text around the link, or of the visible text of the page",
         FILTER_REGEX_SEARCH, ONE, FILTER_HAS_TEXT, text_matches),
    ATOM("TitleContainsRegex", REGEX,
         "score.rules: the same of the title of the page, for a link of the page that it is on",
         FILTER_REGEX_SEARCH, ONE, FILTER_HAS_TEXT, title_matches),
    /* What the site says of the use of the page. */
    ATOM("UsageDenied", "usages",
         "the site denies one of them: train-ai, ai-input, search, tdm, image-ai", FILTER_USAGE,
         LIST, FILTER_HAS_USAGE, usage_denied),
    ATOM("usage", "usages", "a page that was fetched, and of whose usages the site denies none",
         FILTER_USAGE, LIST, FILTER_HAS_USAGE, usage),
    ATOM("DigestEquals", "hexadecimal digits", "the digest of the payload", FILTER_HEX, ONE,
         RESPONSE, digest_equals),
};

const FilterAtomType *filter_atom_type(size_t i)
{
    return i < sizeof types / sizeof *types ? &types[i] : NULL;
}
