#include "rules/site/site_book.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/array.h"

#define NAME_BYTES    256u /* longer host names are compared with each pattern */
#define MATCHES_FIRST 32u

/* The lines of one pattern, a run of Options.sites; several runs may have the same one. */
typedef struct Section {
    const char *pattern;
    size_t first;
    size_t n;
    struct Section *next; /* of the same kind and hash, or of those tried one by one */
} Section;

struct SiteBook {
    Config config;
    PolitenessOptions politeness;
    Credentials *credentials; /* NULL: none */
    HoursBook hours;          /* all that options say */
    Section *sections;
    size_t n_sections;
    Map names;    /* hash of a name -> its sections */
    Map suffixes; /* hash of ".example.org" -> the sections of "*.example.org" */
    Section *others;
};

static MapKey site_book_key_of(const char *text, size_t length)
{
    char lower[NAME_BYTES];
    length = length < sizeof lower ? length : sizeof lower;
    for (size_t i = 0; i < length; i++) {
        lower[i] = ascii_lower(text[i]);
    }
    return map_key_of(lower, length);
}

static Result index_section(SiteBook *book, Section *section)
{
    const char *pattern = section->pattern;
    assert(pattern != NULL);
    size_t length = strlen(pattern);
    bool is_suffix = pattern[0] == '*' && pattern[1] == '.';
    const char *rest = is_suffix ? pattern + 1 : pattern;
    if (length >= NAME_BYTES || strpbrk(rest, "*?[\\") != NULL) {
        section->next = book->others;
        book->others = section;
        return RESULT_OK;
    }
    Map *map = is_suffix ? &book->suffixes : &book->names;
    MapKey key = site_book_key_of(rest, strlen(rest));
    section->next = map_get(map, key);
    return map_put(map, key, section);
}

static Result index_sections(SiteBook *book)
{
    const Options *options = &book->config.options;
    book->sections = calloc(options->n_sites + 1, sizeof *book->sections);
    if (book->sections == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < options->n_sites; i++) {
        const char *pattern = options->sites[i].pattern;
        if (i == 0 || strcmp(pattern, options->sites[i - 1].pattern) != 0) {
            book->sections[book->n_sections++] = (Section){.pattern = pattern, .first = i};
        }
        book->sections[book->n_sections - 1].n++;
    }
    for (size_t i = 0; i < book->n_sections; i++) {
        Result rc = index_section(book, &book->sections[i]);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static Result site_book_read_hours(SiteBook *book)
{
    const Options *options = &book->config.options;
    const Hours *hours = NULL;
    const char *why = NULL;
    Result rc = hours_book_get(&book->hours, book->config.politeness_hours, &hours, &why);
    for (size_t i = 0; i < options->n_sites && rc == RESULT_OK; i++) {
        const OptionSite *site = &options->sites[i];
        if (options->specs[site->spec].offset == offsetof(Config, politeness_hours)) {
            rc = hours_book_get(&book->hours, site->text, &hours, &why);
        }
    }
    return rc;
}

Result site_book_new(SiteBook **out, const Config *config, Buffer *error)
{
    SiteBook *book = calloc(1, sizeof *book);
    if (book == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = config_init(&book->config);
    if (rc == RESULT_OK) {
        rc = options_copy(&book->config.options, &config->options);
    }
    if (rc == RESULT_OK) {
        rc = index_sections(book);
    }
    politeness_default_rules(book->politeness.rules);
    if (rc == RESULT_OK) {
        rc = politeness_parse_rules(book->politeness.rules, book->config.politeness_retry, error);
    }
    if (rc == RESULT_OK) {
        rc = site_book_read_hours(book);
    }
    if (rc == RESULT_OK && *book->config.fetch_credentials != '\0') {
        Buffer why = {.limit = BUFFER_NO_LIMIT};
        rc = credentials_read(&book->credentials, book->config.fetch_credentials, &why);
        if (rc != RESULT_OK) {
            (void)buffer_printf(error, "fetch.credentials: %s: %s", book->config.fetch_credentials,
                                why.length > 0 ? buffer_string(&why) : result_name(rc));
        }
        buffer_destroy(&why);
    }
    if (rc != RESULT_OK) {
        site_book_delete(book);
        return rc;
    }
    *out = book;
    return RESULT_OK;
}

void site_book_delete(void *object)
{
    SiteBook *book = object;
    if (book != NULL) {
        map_destroy(&book->names);
        map_destroy(&book->suffixes);
        free(book->sections);
        credentials_delete(book->credentials);
        hours_book_destroy(&book->hours);
        config_destroy(&book->config);
        free(book);
    }
}

/* ---- a host ---- */

/* Sections that match, as places in SiteBook.sections. */
typedef struct Matches {
    size_t some[MATCHES_FIRST];
    size_t n;
    bool all; /* some does not hold them, or the name is none of an index: all sections are tried */
} Matches;

/* Those of a list that match; name NULL: all do. */
static void site_book_note(Matches *matches, const SiteBook *book, const Section *section,
                           const char *name)
{
    for (; section != NULL; section = section->next) {
        if (name != NULL && fnmatch(section->pattern, name, FNM_CASEFOLD) != 0) {
            continue;
        }
        if (matches->n == MATCHES_FIRST) {
            matches->all = true;
            return;
        }
        matches->some[matches->n++] = (size_t)(section - book->sections);
    }
}

static void find_matches(const SiteBook *book, const char *hostname, Matches *matches)
{
    size_t length = strlen(hostname);
    matches->n = 0;
    matches->all = length >= NAME_BYTES || (length > 0 && hostname[length - 1] == '.');
    site_book_note(matches, book, map_get(&book->names, site_book_key_of(hostname, length)), NULL);
    const char *dot = book->suffixes.count == 0 ? NULL : strchr(hostname, '.');
    for (; dot != NULL; dot = strchr(dot + 1, '.')) {
        site_book_note(matches, book, map_get(&book->suffixes, site_book_key_of(dot, strlen(dot))),
                       NULL);
    }
    site_book_note(matches, book, book->others, hostname);
    array_sort(matches->some, matches->n, sizeof *matches->some, ARRAY_OF_NUMBERS, ARRAY_NO_KEY);
}

static void site_book_apply(const SiteBook *book, const Section *section, Config *config)
{
    const Options *options = &book->config.options;
    for (size_t i = section->first; i < section->first + section->n; i++) {
        options_site_apply(options, &options->sites[i], config);
    }
}

void site_book_config(const SiteBook *book, const char *hostname, Config *config)
{
    *config = book->config;
    if (book->n_sections == 0) {
        return;
    }
    Matches matches;
    find_matches(book, hostname, &matches);
    if (matches.all) {
        options_site_values(&book->config.options, hostname, config);
        return;
    }
    for (size_t i = 0; i < matches.n; i++) {
        site_book_apply(book, &book->sections[matches.some[i]], config);
    }
}

bool site_book_has_limits(const SiteBook *book)
{
    static const size_t offsets[] = {
        offsetof(Config, limits_pages_per_host),    offsetof(Config, limits_hosts_per_domain),
        offsetof(Config, limits_pages_per_domain),  offsetof(Config, limits_urls_per_domain),
        offsetof(Config, limits_hosts_per_address), offsetof(Config, limits_pages_per_address),
        offsetof(Config, limits_urls_per_address)};
    const Options *options = &book->config.options;
    for (size_t i = 0; i < options->n_sites; i++) {
        for (size_t j = 0; j < sizeof offsets / sizeof *offsets; j++) {
            if (options->specs[options->sites[i].spec].offset == offsets[j]) {
                return true;
            }
        }
    }
    return false;
}

/* ---- a fetch ---- */

void site_book_politeness(const Config *config, PolitenessOptions *politeness)
{
    politeness->host_delay_ms = config->politeness_host_delay;
    politeness->ip_delay_ms = config->politeness_ip_delay;
    politeness->crawl_delay_max_ms = config->politeness_crawl_delay_max;
    politeness->adaptive_factor = config->politeness_adaptive_factor;
    politeness->learns = config->politeness_learned;
    politeness->least_ms = config->politeness_least;
    politeness->keep_alive_ms = config->politeness_keep_alive_time;
    politeness->retry_after_max_ms = config->politeness_retry_after_max;
    politeness->wall_answers = (unsigned)config->politeness_wall_answers;
    politeness->rest_max_ms = config->politeness_rest_max;
    politeness->park_after_ms = config->politeness_park_after;
    politeness->tries_max = (unsigned)config->politeness_tries;
}

void site_book_fetch_site(const void *object, const char *hostname, FetchSite *site)
{
    const SiteBook *book = object;
    Config config;
    site_book_config(book, hostname, &config);
    *site = (FetchSite){.politeness = book->politeness,
                        .hours = hours_book_find(&book->hours, config.politeness_hours),
                        .times = {.connect_ms = config.fetch_connect_timeout,
                                  .first_byte_ms = config.fetch_first_byte_timeout,
                                  .total_ms = config.fetch_total_timeout,
                                  .slow_bytes_s = config.fetch_slow_rate,
                                  .slow_time_ms = config.fetch_slow_time},
                        .connections = (unsigned)config.politeness_connections,
                        .ignores_robots = !config.robots_obey,
                        .ignores_freshness = config.revisit_ignore_freshness,
                        .robots_expiry_ms = config.robots_expiry,
                        .max_header_bytes = config.fetch_max_header,
                        .asks_tdm = config.robots_tdm_file,
                        .licence_user = (RslUser)config.robots_licence_user,
                        .max_body_bytes = config.fetch_max_body,
                        .max_page_bytes = (uint64_t)config.parse_max_bytes,
                        .max_sitemap_bytes = config.fetch_max_sitemap,
                        .most_bytes_s = config.fetch_host_rate,
                        .keeps_cookies = config.fetch_cookies,
                        .max_length = config.fetch_max_length,
                        .http2 = config.fetch_http2,
                        .tls_verify = config.fetch_tls_verify,
                        .headers = config.fetch_headers,
                        .accept_language = config.fetch_accept_language,
                        .proxy = config.fetch_proxy,
                        .no_proxy = config.fetch_no_proxy,
                        .credentials = book->credentials};
    Buffer error = {.limit = 1024};
    (void)usage_rules_parse(config.politeness_usage, &site->usage, &error); /* it was checked */
    site->usage.no_fetch |= (uint8_t)config_usages(&config);
    buffer_destroy(&error);
    site_book_politeness(&config, &site->politeness);
}
