#include "parse/filter/filter_internal.h"

#include <string.h>
#include <strings.h>

#include "parse/url/domain.h"
#include "parse/trap/trap.h"

/* Parts of what is asked about. */
typedef struct Part {
    const char *text;
    size_t length;
} Part;

static Part host_of(const Url *url)
{
    return (Part){url->href + url->host_start, url->host_end - url->host_start};
}

static Part path_of(const Url *url)
{
    return (Part){url->href + url->path_start, url->query_start - url->path_start};
}

/* Without the "?". */
static Part query_of(const Url *url)
{
    uint32_t start = url->query_start < url->length ? url->query_start + 1 : url->length;
    return (Part){url->href + start, url->length - start};
}

/* What follows the last dot of the last segment; empty when there is none. */
static Part extension_of(const Url *url)
{
    Part path = path_of(url);
    size_t n = 0;
    while (n < path.length && path.text[path.length - 1 - n] != '/') {
        if (path.text[path.length - 1 - n] == '.') {
            return (Part){path.text + path.length - n, n};
        }
        n++;
    }
    return (Part){path.text, 0};
}

/* "text/html" of "text/html; charset=utf-8". */
static Part mime_of(const char *content_type)
{
    content_type += strspn(content_type, " \t");
    return (Part){content_type, strcspn(content_type, "; \t,")};
}

static bool equals(Part part, const FilterItem *item)
{
    return part.length == item->length && memcmp(part.text, item->text, part.length) == 0;
}

static bool equals_without_case(Part part, const FilterItem *item)
{
    return part.length == item->length && strncasecmp(part.text, item->text, part.length) == 0;
}

static bool starts_with(Part part, const FilterItem *item)
{
    return part.length >= item->length && memcmp(part.text, item->text, item->length) == 0;
}

static bool ends_with(Part part, const FilterItem *item)
{
    return part.length >= item->length &&
           memcmp(part.text + part.length - item->length, item->text, item->length) == 0;
}

static bool ends_with_without_case(Part part, const FilterItem *item)
{
    return part.length >= item->length &&
           strncasecmp(part.text + part.length - item->length, item->text, item->length) == 0;
}

static bool contains(Part part, const FilterItem *item)
{
    return memmem(part.text, part.length, item->text, item->length) != NULL;
}

static bool any(const FilterAtom *atom, Part part, bool (*test)(Part part, const FilterItem *item))
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if (test(part, &atom->items[i])) {
            return true;
        }
    }
    return false;
}

static bool any_range(const FilterAtom *atom, uint64_t value)
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if (value >= atom->items[i].low && value <= atom->items[i].high) {
            return true;
        }
    }
    return false;
}

/* In each of these: unused parameters are part of the common signature. */
#define TEST(name)                                                                                 \
    static bool name(const FilterAtom *atom __attribute__((unused)),                               \
                     const FilterInput *input __attribute__((unused)),                             \
                     FilterScratch *scratch __attribute__((unused)))

TEST(host_equals)
{
    return any(atom, host_of(input->url), equals);
}

TEST(host_ends_with)
{
    return any(atom, host_of(input->url), ends_with);
}

static bool is_domain_of(Part host, const FilterItem *item)
{
    return domain_contains(item->text, item->length, host.text, host.length);
}

TEST(host_in_domain)
{
    return any(atom, host_of(input->url), is_domain_of);
}

TEST(host_in_file)
{
    Part host = host_of(input->url);
    return filter_set_contains(atom->set, host.text, host.length);
}

TEST(domain_in_file)
{
    Part host = host_of(input->url);
    return filter_set_contains_domain(atom->set, host.text, host.length);
}

TEST(host_is_address)
{
    Part host = host_of(input->url);
    return domain_is_address(host.text, host.length);
}

TEST(registered_domain_is)
{
    Domain domain = domain_of_url(input->url);
    return any(atom, (Part){domain.name, domain.length}, equals);
}

TEST(same_host)
{
    if (input->source == NULL) {
        return false;
    }
    Part a = host_of(input->url);
    Part b = host_of(input->source);
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

TEST(same_registered_domain)
{
    if (input->source == NULL) {
        return false;
    }
    Domain a = domain_of_url(input->url);
    Domain b = domain_of_url(input->source);
    return a.length == b.length && memcmp(a.name, b.name, a.length) == 0;
}

TEST(scheme_equals)
{
    Part scheme = {input->url->href, input->url->https ? 5 : 4};
    return any(atom, scheme, equals);
}

TEST(port_is)
{
    return any_range(atom, input->url->port);
}

TEST(url_equals)
{
    return any(atom, (Part){input->url->href, input->url->length}, equals);
}

TEST(url_contains)
{
    return any(atom, (Part){input->url->href, input->url->length}, contains);
}

TEST(url_matches)
{
    return filter_regex_matches(atom, input->url->href, input->url->length, scratch);
}

TEST(url_shorter)
{
    return input->url->length < atom->items[0].low;
}

TEST(path_starts)
{
    return any(atom, path_of(input->url), starts_with);
}

TEST(path_ends)
{
    return any(atom, path_of(input->url), ends_with_without_case);
}

TEST(path_depth_below)
{
    Part path = path_of(input->url);
    return trap_path_depth(path.text, path.length) < atom->items[0].low;
}

TEST(duplicate_segments_below)
{
    Part path = path_of(input->url);
    uint64_t times = atom->items[0].low;
    return times >= TRAP_MAX_SEGMENTS || !trap_repeats(path.text, path.length, (unsigned)times);
}

TEST(extension_is)
{
    return any(atom, extension_of(input->url), equals_without_case);
}

TEST(has_query)
{
    return query_of(input->url).length > 0;
}

TEST(query_contains)
{
    return any(atom, query_of(input->url), contains);
}

/* Whether part is text once "+" and %XX are decoded. */
static bool decodes_to(Part part, const FilterItem *item)
{
    size_t n = 0;
    for (size_t i = 0; i < part.length; i++, n++) {
        unsigned char c = (unsigned char)part.text[i];
        unsigned value = 0;
        bool escaped = c == '%' && part.length - i > 2;
        for (size_t k = 1; escaped && k <= 2; k++) {
            char digit = part.text[i + k];
            char lower = (char)(digit | 0x20);
            bool decimal = digit >= '0' && digit <= '9';
            escaped = decimal || (lower >= 'a' && lower <= 'f');
            value = value * 16 + (unsigned)(decimal ? digit - '0' : lower - 'a' + 10);
        }
        i += escaped ? 2 : 0;
        c = (unsigned char)(escaped ? value : c == '+' ? ' ' : c);
        if (n >= item->length || c != (unsigned char)item->text[n]) {
            return false;
        }
    }
    return n == item->length;
}

/* The next "name=value" of a query; false at its end. */
static bool next_parameter(Part *query, Part *name, Part *value)
{
    while (query->length > 0) {
        const char *amp = memchr(query->text, '&', query->length);
        size_t n = amp != NULL ? (size_t)(amp - query->text) : query->length;
        const char *equals_sign = memchr(query->text, '=', n);
        size_t n_name = equals_sign != NULL ? (size_t)(equals_sign - query->text) : n;
        *name = (Part){query->text, n_name};
        *value =
            (Part){query->text + (n_name < n ? n_name + 1 : n), n_name < n ? n - n_name - 1 : 0};
        size_t used = amp != NULL ? n + 1 : n;
        *query = (Part){query->text + used, query->length - used};
        if (n > 0) {
            return true;
        }
    }
    return false;
}

TEST(has_parameter)
{
    Part query = query_of(input->url);
    Part name;
    Part value;
    while (next_parameter(&query, &name, &value)) {
        if (any(atom, name, decodes_to)) {
            return true;
        }
    }
    return false;
}

/* The first argument is the name, the others are values. */
TEST(parameter_is)
{
    Part query = query_of(input->url);
    Part name;
    Part value;
    while (next_parameter(&query, &name, &value)) {
        for (size_t i = 1; i < atom->n_items && decodes_to(name, &atom->items[0]); i++) {
            if (decodes_to(value, &atom->items[i])) {
                return true;
            }
        }
    }
    return false;
}

TEST(parameters_below)
{
    Part query = query_of(input->url);
    return trap_parameters(query.text, query.length) < atom->items[0].low;
}

TEST(depth_at_most)
{
    return input->has_depth && input->depth <= atom->items[0].low;
}

TEST(is_http_response)
{
    return input->status != 0;
}

TEST(status_is)
{
    return input->status > 0 && any_range(atom, (uint64_t)input->status);
}

TEST(status_category)
{
    return input->status > 0 && any_range(atom, (uint64_t)input->status / 100);
}

TEST(content_type_starts)
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
static bool is_mime(Part mime, const FilterItem *item)
{
    size_t n = item->length;
    if (n >= 2 && item->text[n - 1] == '*' && item->text[n - 2] == '/') {
        return mime.length >= n - 1 && strncasecmp(mime.text, item->text, n - 1) == 0;
    }
    return equals_without_case(mime, item);
}

TEST(mime_is)
{
    return input->content_type != NULL && any(atom, mime_of(input->content_type), is_mime);
}

TEST(size_below)
{
    return input->has_body && input->body_length < atom->items[0].low;
}

TEST(is_probably_binary)
{
    const size_t looked_at = 1000;
    const unsigned least = 3;
    unsigned zeros = 0;
    for (size_t i = 0; input->has_body && i < input->body_length && i < looked_at; i++) {
        zeros += input->body[i] == '\0';
    }
    return zeros >= least;
}

TEST(response_matches)
{
    return input->has_body && filter_regex_matches(atom, input->body_length > 0 ? input->body : "",
                                                   input->body_length, scratch);
}

TEST(digest_equals)
{
    if (input->digest == NULL) {
        return false;
    }
    const char *colon = strrchr(input->digest, ':');
    const char *digest = colon == NULL ? input->digest : colon + 1;
    return any(atom, (Part){digest, strlen(digest)}, equals_without_case);
}

#undef TEST

#define SOURCE   FILTER_HAS_SOURCE
#define RESPONSE FILTER_HAS_RESPONSE
#define HOSTS    "host names"
#define STRINGS  "strings"
#define NUMBER   "a number"
#define REGEX    "a regular expression"

/* In the order of the help; BUbiNG's atoms keep their names and meaning. */
static const FilterAtomType types[] = {
    {{"SchemeEquals", "http or https", "the scheme"}, FILTER_LOWER, false, 0, scheme_equals},
    {{"HostEquals", "a host name", "the host is this"}, FILTER_HOST, false, 0, host_equals},
    {{"HostEqualsOneOf", HOSTS, "the host is one of these"}, FILTER_HOST, true, 0, host_equals},
    {{"HostEndsWith", "a suffix", "the host ends with it, also inside a label"},
     FILTER_HOST_END,
     false,
     0,
     host_ends_with},
    {{"HostEndsWithOneOf", "suffixes", "the host ends with one of them, also inside a label"},
     FILTER_HOST_END,
     true,
     0,
     host_ends_with},
    {{"HostInDomain", HOSTS, "the host is one of these or below it"},
     FILTER_HOST,
     true,
     0,
     host_in_domain},
    {{"HostInFile", "a file", "the host is in the file, one a line"},
     FILTER_FILE,
     false,
     0,
     host_in_file},
    {{"DomainInFile", "a file", "the host or a domain above it is in the file"},
     FILTER_FILE,
     false,
     0,
     domain_in_file},
    {{"HostIsAddress", "", "the host is an IP address"},
     FILTER_NO_ARGUMENTS,
     false,
     0,
     host_is_address},
    {{"RegisteredDomainIs", HOSTS, "the registered domain (public suffix list) is one of these"},
     FILTER_HOST,
     true,
     0,
     registered_domain_is},
    {{"SameHost", "", "the linking page has the same host"},
     FILTER_NO_ARGUMENTS,
     false,
     SOURCE,
     same_host},
    {{"SameRegisteredDomain", "", "the linking page has the same registered domain"},
     FILTER_NO_ARGUMENTS,
     false,
     SOURCE,
     same_registered_domain},
    {{"PortIsOneOf", "numbers or ranges", "the port, also the scheme's own"},
     FILTER_NUMBER_RANGE,
     true,
     0,
     port_is},
    {{"URLEquals", "a URL", "the URL is this, once both are normalised"},
     FILTER_URL,
     false,
     0,
     url_equals},
    {{"URLContainsOneOf", STRINGS, "one of them is in the URL"},
     FILTER_TEXT,
     true,
     0,
     url_contains},
    {{"URLMatchesRegex", REGEX, "all of the URL matches"}, FILTER_REGEX, false, 0, url_matches},
    {{"URLContainsRegex", REGEX, "it matches somewhere in the URL"},
     FILTER_REGEX_SEARCH,
     false,
     0,
     url_matches},
    {{"URLShorterThan", NUMBER, "the URL has fewer bytes"}, FILTER_NUMBER, false, 0, url_shorter},
    {{"PathStartsWithOneOf", STRINGS, "the path begins with one of them"},
     FILTER_TEXT,
     true,
     0,
     path_starts},
    {{"PathEndsWithOneOf", STRINGS, "the path ends with one of them; case is ignored"},
     FILTER_LOWER,
     true,
     0,
     path_ends},
    {{"PathDepthLessThan", NUMBER, "the path has fewer segments"},
     FILTER_NUMBER,
     false,
     0,
     path_depth_below},
    {{"DuplicateSegmentsLessThan", NUMBER,
      "no sequence of segments is there so many times in a row"},
     FILTER_TIMES,
     false,
     0,
     duplicate_segments_below},
    {{"ExtensionIsOneOf", "extensions", "what follows the last dot of the last segment"},
     FILTER_EXTENSION,
     true,
     0,
     extension_is},
    {{"HasQuery", "", "the query is not empty"}, FILTER_NO_ARGUMENTS, false, 0, has_query},
    {{"QueryContainsOneOf", STRINGS, "one of them is in the query"},
     FILTER_TEXT,
     true,
     0,
     query_contains},
    {{"HasParameter", "names", "the query has a parameter of one of these names"},
     FILTER_TEXT,
     true,
     0,
     has_parameter},
    {{"ParameterIs", "a name and values", "the parameter has one of the values"},
     FILTER_NAME_VALUES,
     true,
     0,
     parameter_is},
    {{"ParametersLessThan", NUMBER, "the query has fewer parameters"},
     FILTER_NUMBER,
     false,
     0,
     parameters_below},
    {{"DepthAtMost", NUMBER, "so many links from a seed, or fewer"},
     FILTER_NUMBER,
     false,
     FILTER_HAS_DEPTH,
     depth_at_most},
    {{"IsHttpResponse", "", "there is a response"},
     FILTER_NO_ARGUMENTS,
     false,
     RESPONSE,
     is_http_response},
    {{"StatusIsOneOf", "numbers or ranges", "the status"},
     FILTER_NUMBER_RANGE,
     true,
     RESPONSE,
     status_is},
    {{"StatusCategory", "a digit", "the first digit of the status"},
     FILTER_NUMBER,
     false,
     RESPONSE,
     status_category},
    {{"ContentTypeStartsWith", "a prefix", "the Content-Type begins so; case is ignored"},
     FILTER_LOWER,
     false,
     RESPONSE,
     content_type_starts},
    {{"MIMEIsOneOf", "types", "the type without parameters; \"image/*\" is all of a family"},
     FILTER_LOWER,
     true,
     RESPONSE,
     mime_is},
    {{"SizeLessThan", "a size", "the body has fewer bytes"},
     FILTER_SIZE,
     false,
     RESPONSE,
     size_below},
    {{"IsProbablyBinary", "", "three zero bytes among the first thousand"},
     FILTER_NO_ARGUMENTS,
     false,
     RESPONSE,
     is_probably_binary},
    {{"ResponseMatches", REGEX, "all of the body matches"},
     FILTER_REGEX,
     false,
     RESPONSE,
     response_matches},
    {{"ResponseContainsRegex", REGEX, "it matches somewhere in the body"},
     FILTER_REGEX_SEARCH,
     false,
     RESPONSE,
     response_matches},
    {{"DigestEquals", "hexadecimal digits", "the digest of the payload"},
     FILTER_HEX,
     false,
     RESPONSE,
     digest_equals},
};

const FilterAtomType *filter_atom_type(size_t i)
{
    return i < sizeof types / sizeof *types ? &types[i] : NULL;
}
