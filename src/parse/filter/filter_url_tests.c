/* What atoms test of a URL and of the page that links to it. */
#include "parse/filter/filter_tests.h"

#include "parse/filter/filter_part.h"
#include "parse/filter/filter_regex.h"
#include "parse/trap/trap.h"
#include "parse/host/domain.h"

FILTER_TEST(host_equals)
{
    return filter_part_any(atom, filter_part_host(input->url), filter_part_equals);
}

FILTER_TEST(host_ends_with)
{
    return filter_part_any(atom, filter_part_host(input->url), filter_part_ends_with);
}

static bool is_domain_of(FilterPart host, const FilterItem *item)
{
    return domain_contains(item->text, item->length, host.text, host.length);
}

FILTER_TEST(host_in_domain)
{
    return filter_part_any(atom, filter_part_host(input->url), is_domain_of);
}

FILTER_TEST(host_in_file)
{
    FilterPart host = filter_part_host(input->url);
    return filter_set_contains(atom->set, host.text, host.length);
}

FILTER_TEST(domain_in_file)
{
    FilterPart host = filter_part_host(input->url);
    return filter_set_contains_domain(atom->set, host.text, host.length);
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

FILTER_TEST(scheme_equals)
{
    FilterPart scheme = {input->url->href, input->url->https ? 5 : 4};
    return filter_part_any(atom, scheme, filter_part_equals);
}

FILTER_TEST(port_is)
{
    return filter_any_range(atom, input->url->port);
}

FILTER_TEST(url_equals)
{
    return filter_part_any(atom, (FilterPart){input->url->href, input->url->length},
                           filter_part_equals);
}

FILTER_TEST(url_contains)
{
    return filter_part_any(atom, (FilterPart){input->url->href, input->url->length},
                           filter_part_contains);
}

FILTER_TEST(url_matches)
{
    return filter_regex_matches(atom, input->url->href, input->url->length, scratch);
}

FILTER_TEST(url_shorter)
{
    return input->url->length < atom->items[0].low;
}

FILTER_TEST(path_starts)
{
    return filter_part_any(atom, filter_part_path(input->url), filter_part_starts_with);
}

FILTER_TEST(path_ends)
{
    return filter_part_any(atom, filter_part_path(input->url), filter_part_ends_with_without_case);
}

FILTER_TEST(path_depth_below)
{
    FilterPart path = filter_part_path(input->url);
    return trap_path_depth(path.text, path.length) < atom->items[0].low;
}

FILTER_TEST(duplicate_segments_below)
{
    FilterPart path = filter_part_path(input->url);
    uint64_t times = atom->items[0].low;
    return times >= TRAP_MAX_SEGMENTS || !trap_repeats(path.text, path.length, (unsigned)times);
}

FILTER_TEST(extension_is)
{
    return filter_part_any(atom, filter_part_extension(input->url),
                           filter_part_equals_without_case);
}

FILTER_TEST(has_query)
{
    return filter_part_query(input->url).length > 0;
}

FILTER_TEST(query_contains)
{
    return filter_part_any(atom, filter_part_query(input->url), filter_part_contains);
}

/* Whether part is text once "+" and %XX are decoded. */
static bool decodes_to(FilterPart part, const FilterItem *item)
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
