#include "rules/config_check.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/ascii.h"
#include "cluster/message/node_link.h"
#include "cluster/transport/transport_login.h"
#include "fetch/connect/port_map.h"
#include "fetch/identity/message_signature.h"
#include "fetch/site/fetch_site.h"
#include "fetch/tls/tls_context.h"
#include "parse/host/port_set.h"
#include "rules/dedup.h"
#include "rules/filters.h"
#include "rules/listen_address.h"
#include "rules/revisit_policy.h"
#include "rules/score_rules.h"
#include "store/schedule/schedule.h"
#include "store/warc/warc_head.h"

/* ---- Config cluster ---- */

/* A password would be in config.ini and in the list of processes. */
static bool has_secret(const char *url)
{
    return strchr(url, '@') != NULL;
}

static bool is_number(const char *text)
{
    return *text != '\0' && strspn(text, "0123456789") == strlen(text) && strlen(text) < 6 &&
           strtoul(text, NULL, 10) < CLUSTER_AGENTS_MAX;
}

/* One of cluster.url, up to its comma. */
static bool is_on_this_machine(const char *url)
{
    const char *colon = strstr(url, "://");
    const char *host = colon == NULL || colon > url + strcspn(url, ",") ? url : colon + 3;
    size_t length = strcspn(host, ":,/");
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
           (length == 9 && strncmp(host, "localhost", 9) == 0);
}

/* What goes to another machine is encrypted, and who may say something there is known. */
static bool is_guarded(const Config *config)
{
    bool guarded = true;
    for (const char *url = config->cluster_url; guarded && *url != '\0';) {
        url += strspn(url, ", ");
        bool encrypted = strncmp(url, "tls://", 6) == 0 || *config->cluster_tls_authority != '\0' ||
                         *config->cluster_tls_certificate != '\0';
        bool known = *config->cluster_credentials != '\0' || *config->cluster_tls_key != '\0';
        guarded = is_on_this_machine(url) || (encrypted && known);
        url += strcspn(url, ",");
    }
    return guarded;
}

static const char *wrong(const Config *config, const char **name)
{
    *name = "cluster.url";
    if (has_secret(config->cluster_url)) {
        return "secrets do not belong into a URL; put them into the file of cluster.credentials";
    }
    if (!config->cluster_open_server && !is_guarded(config)) {
        return "a server on another machine without a login (cluster.credentials) or without TLS "
               "(tls://): whoever reaches it can read every URL and end the crawl; "
               "cluster.open_server = yes says that this is meant";
    }
    if (config->scope_stay != STAY_ANYWHERE) {
        return "an agent knows its own seeds alone, so scope.stay cannot be used in a cluster; use "
               "scope.domains";
    }
    *name = "cluster.name";
    if (!node_link_is_name(config->cluster_name)) {
        return "the crawl needs a name: letters, digits, '-' and '_', at most 63";
    }
    *name = "cluster.agent";
    if (*config->cluster_agent != '\0' && !is_number(config->cluster_agent)) {
        return "expected a number, 0 to 65534, or nothing";
    }
    *name = "cluster.tls_certificate";
    if ((*config->cluster_tls_certificate == '\0') != (*config->cluster_tls_key == '\0')) {
        return "a certificate needs its key (cluster.tls_key), and the key its certificate";
    }
    return NULL;
}

Result config_cluster_check(const Config *config, const char **name, Buffer *error)
{
    Login login;
    if (*config->cluster_url == '\0') {
        return RESULT_OK;
    }
    const char *what = wrong(config, name);
    if (what != NULL) {
        (void)buffer_append_string(error, what);
        return RESULT_INVALID;
    }
    *name = "cluster.credentials";
    Result rc = login_read(&login, config->cluster_credentials, error);
    login_destroy(&login);
    return rc == RESULT_OK ? RESULT_OK : RESULT_INVALID;
}

/* ---- Config texts ---- */

/* ---- contact ---- */

static bool is_mail_address(const char *text)
{
    const char *at = strchr(text, '@');
    return at != NULL && at > text && strchr(at, '.') != NULL && at[1] != '.' &&
           strpbrk(text, " \t<>()/") == NULL;
}

Result config_texts_contact(const char *text, Buffer *error)
{
    Url url = {.href = NULL};
    bool is_url = url_parse(&url, NULL, text, strlen(text)) == RESULT_OK;
    url_destroy(&url);
    const char *mail = strncmp(text, "mailto:", 7) == 0 ? text + 7 : text;
    if (*text == '\0' || is_url || is_mail_address(mail)) {
        return RESULT_OK;
    }
    (void)buffer_printf(error,
                        "'%s' is neither a URL nor an e-mail address; expected something like "
                        "https://example.org/bot or bot@example.org",
                        text);
    return RESULT_INVALID;
}

/* ---- product token ---- */

Result config_texts_agent(const char *text, Buffer *error)
{
    if (*text == '\0') {
        (void)buffer_append_string(error, "must not be empty");
        return RESULT_INVALID;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') {
            (void)buffer_printf(error,
                                "'%s' can stand in no robots.txt: a product token has letters, "
                                "digits, - and _, such as ragno or my-bot",
                                text);
            return RESULT_INVALID;
        }
    }
    return RESULT_OK;
}

/* ---- name servers ---- */

/* Whether the text ends with a port, from there. */
static bool is_port(const char *text, const char *end)
{
    return port_read(&text) > 0 && text == end;
}

/* "[::1]:53", "::1", "127.0.0.1:53" */
static bool is_server(const char *text, size_t length)
{
    IpAddress address;
    const char *end = text + length;
    const char *bracket = *text == '[' ? memchr(text, ']', length) : NULL;
    if (*text == '[' && bracket == NULL) {
        return false;
    }
    if (bracket != NULL) {
        return ip_address_parse(text + 1, (size_t)(bracket - text) - 1, &address) == RESULT_OK &&
               (bracket + 1 == end || (bracket[1] == ':' && is_port(bracket + 2, end)));
    }
    if (ip_address_parse(text, length, &address) == RESULT_OK) {
        return true;
    }
    const char *colon = memchr(text, ':', length);
    return colon != NULL && ip_address_parse(text, (size_t)(colon - text), &address) == RESULT_OK &&
           is_port(colon + 1, end);
}

Result config_texts_servers(const char *text, Buffer *error)
{
    return option_check_words(text, ", \t", is_server,
                              "is no address; expected addresses such as 127.0.0.1:5353, "
                              "[2001:db8::1]:53 (a name server cannot be given by name)",
                              error);
}

/* "FILE:LINE: politeness.retry: ..." */
static void config_complain(const Config *config, const char *name, const char *what, Buffer *error)
{
    const OptionSpec *spec = options_find(&config->options, name);
    size_t row = (size_t)(spec - config->options.specs);
    (void)buffer_printf(error, "%s: %s: %s\n", config->options.origins[row], name, what);
}

/* Texts that are right or wrong by themselves, wherever they stand. */
typedef Result TextCheck(const char *text, Buffer *error);

/* Checks an option, and what [site] sections say of it. */
static void check_text(const Config *config, const char *name, TextCheck *check, Buffer *what,
                       Buffer *error)
{
    const Options *options = &config->options;
    const OptionSpec *spec = options_find(options, name);
    const char *const *text =
        (const char *const *)(const void *)((const char *)config + spec->offset);
    buffer_reset(what);
    if (check(*text, what) != RESULT_OK) {
        config_complain(config, name, buffer_string(what), error);
    }
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        buffer_reset(what);
        if (&options->specs[site->spec] == spec && check(site->text, what) != RESULT_OK) {
            (void)buffer_printf(error, "%s: %s: %s\n", site->origin, name, buffer_string(what));
        }
    }
}

static Result check_ranges(const char *text, Buffer *error)
{
    IpRanges ranges;
    Result rc = ip_ranges_parse(&ranges, text, error);
    if (rc == RESULT_OK) {
        ip_ranges_destroy(&ranges);
    }
    return rc;
}

/* Lines are separated by |; each is "Name: value". */
static Result check_headers(const char *text, Buffer *error)
{
    while (*text != '\0') {
        text += strspn(text, " ");
        size_t length = strcspn(text, "|");
        size_t name = strcspn(text, ": |");
        if (length > 0 && (name == 0 || text[name] != ':')) {
            (void)buffer_printf(error, "'%.*s' is not a header field: expected 'Name: value'",
                                (int)length, text);
            return RESULT_INVALID;
        }
        text += length + (text[length] == '|');
    }
    return RESULT_OK;
}

/* Says which file cannot be used, and why. why is destroyed. */
static Result check_file(Result rc, const char *path, Buffer *why, Buffer *error)
{
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: %s", path,
                            why->length > 0 ? buffer_string(why) : result_name(rc));
    }
    buffer_destroy(why);
    return rc;
}

static Result check_credentials(const char *path, Buffer *error)
{
    Credentials *credentials = NULL;
    Buffer why = {.limit = BUFFER_NO_LIMIT};
    Result rc = *path == '\0' ? RESULT_OK : credentials_read(&credentials, path, &why);
    credentials_delete(credentials);
    return check_file(rc, path, &why, error);
}

/* fetch.tls_verify, for all or for a site, needs certificates to trust. */
static void check_trust(const Config *config, Buffer *what, Buffer *error)
{
    const Options *options = &config->options;
    bool verifies = config->fetch_tls_verify;
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        verifies |= &options->specs[site->spec] == options_find(options, "fetch.tls_verify") &&
                    site->value.flag;
    }
    buffer_reset(what);
    TlsTrust trust = {.store = NULL};
    if (verifies && *config->fetch_ca_file == '\0' &&
        tls_trust_init(&trust, "", what) != RESULT_OK) {
        config_complain(config, "fetch.tls_verify", buffer_string(what), error);
    }
    tls_trust_destroy(&trust);
}

static Result check_usages(const char *text, Buffer *error)
{
    unsigned bits = 0;
    return usage_list_parse(text, &bits, error);
}

static Result check_usage(const char *text, Buffer *error)
{
    UsageRules rules;
    return usage_rules_parse(text, &rules, error);
}

/* Patterns of paths with blanks between them. */
static Result check_paths(const char *text, Buffer *error)
{
    for (size_t length = 0; ascii_next_word(&text, &length, " \t");) {
        if (*text != '/' && *text != '*') {
            (void)buffer_append_string(error, "a pattern of paths begins with / or *");
            return RESULT_INVALID;
        }
    }
    return RESULT_OK;
}

static Result check_hours(const char *text, Buffer *error)
{
    HoursBook book = {.list = NULL};
    const Hours *hours = NULL;
    const char *why = "";
    Result rc = hours_book_get(&book, text, &hours, &why);
    if (rc == RESULT_INVALID) {
        (void)buffer_append_string(error, why);
    }
    hours_book_destroy(&book);
    return rc;
}

static Result check_key(const char *path, Buffer *error)
{
    SigningKey *key = NULL;
    Buffer why = {.limit = BUFFER_NO_LIMIT};
    Result rc = *path == '\0' ? RESULT_OK : signing_key_read(&key, path, &why);
    signing_key_delete(key);
    return check_file(rc, path, &why, error);
}

static Result check_port_map(const char *text, Buffer *error)
{
    PortMap ports;
    return port_map_parse(&ports, text, error);
}

static Result check_retry(const char *text, Buffer *error)
{
    RetryRule rules[FETCH_CLASSES];
    politeness_default_rules(rules);
    return politeness_parse_rules(rules, text, error);
}

static Result check_authorities(const char *path, Buffer *error)
{
    TlsTrust trust = {.store = NULL};
    Result rc = *path == '\0' ? RESULT_OK : tls_trust_init(&trust, path, error);
    tls_trust_destroy(&trust);
    return rc;
}

static Result check_score_rules(const char *path, Buffer *error)
{
    ScoreRules *rules = NULL;
    Result rc = *path == '\0' ? RESULT_OK : score_rules_read(&rules, path, error);
    score_rules_delete(rules);
    return rc;
}

static Result check_revisit_rules(const char *path, Buffer *error)
{
    FreqRules *rules = NULL;
    Result rc = revisit_policy_load_rules(path, &rules, error);
    freq_rules_delete(rules);
    return rc;
}

static Result check_dedup_key(const char *text, Buffer *error)
{
    DedupSteps steps;
    return dedup_parse_steps(text, &steps, error);
}

/* A number that is wrong above most, or up to it, for all hosts or in a [site] section whose
 * pattern counts; why says so. */
typedef struct NumberCheck {
    const char *name;
    int64_t least; /* wrong from here on */
    int64_t most;
    bool by_name; /* right in a section that names one host: [site "HOST"] */
    const char *why;
} NumberCheck;

static void check_number(const Config *config, const NumberCheck *check, int64_t value,
                         Buffer *error)
{
    const Options *options = &config->options;
    const OptionSpec *spec = options_find(options, check->name);
    if (value >= check->least && value <= check->most) {
        config_complain(config, check->name, check->why, error);
    }
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        bool counts = !check->by_name || strpbrk(site->pattern, "*?") != NULL;
        int64_t own = spec->type == OPTION_BOOL ? site->value.flag : site->value.number;
        if (&options->specs[site->spec] == spec && counts && own >= check->least &&
            own <= check->most) {
            (void)buffer_printf(error, "%s: %s: %s\n", site->origin, check->name, check->why);
        }
    }
}

static void check_numbers(const Config *config, Buffer *error)
{
    const NumberCheck at_once = {
        "politeness.connections", CONFIG_FEW_AT_ONCE + 1, INT64_MAX, true,
        "more than 2 at once are for hosts that are yours: name each in a section, [site "
        "\"HOST\"]"};
    const NumberCheck freshness = {
        "revisit.ignore_freshness", 1, 1, true,
        "only for hosts that are yours: name each in a section, [site \"HOST\"]"};
    const NumberCheck rate = {"fetch.host_rate", 1, config->fetch_slow_rate, false,
                              "must be greater than fetch.slow_rate"};
    check_number(config, &at_once, config->politeness_connections, error);
    check_number(config, &freshness, config->revisit_ignore_freshness, error);
    check_number(config, &rate, config->fetch_host_rate, error);
}

/* Texts, wherever they stand, and what concerns single hosts: in [site] sections, or for all. */
static void check_sites(const Config *config, Buffer *what, Buffer *error)
{
    static const struct {
        const char *name;
        TextCheck *check;
    } texts[] = {{"crawl.usages", check_usages},
                 {"crawl.signature_key", check_key},
                 {"crawl.signature_agent", message_signature_check_agent},
                 {"fetch.allow_addresses", check_ranges},
                 {"fetch.deny_addresses", check_ranges},
                 {"fetch.proxy", proxy_check},
                 {"fetch.no_proxy", proxy_check_exceptions},
                 {"fetch.headers", check_headers},
                 {"politeness.usage", check_usage},
                 {"render.always", check_paths},
                 {"render.never", check_paths},
                 {"politeness.hours", check_hours},
                 {"fetch.credentials", check_credentials},
                 {"robots.agent", config_texts_agent},
                 {"crawl.contact", config_texts_contact},
                 {"dns.servers", config_texts_servers},
                 {"fetch.port_map", check_port_map},
                 {"politeness.retry", check_retry},
                 {"fetch.ca_file", check_authorities},
                 {"score.rules", check_score_rules},
                 {"schedule.rules", check_revisit_rules},
                 {"scope.dedup_key", check_dedup_key}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_text(config, texts[i].name, texts[i].check, what, error);
    }
    if (*config->crawl_signature_agent != '\0' && *config->crawl_signature_key == '\0') {
        config_complain(config, "crawl.signature_agent", "needs crawl.signature_key", error);
    }
    check_trust(config, what, error);
    if (!config->robots_obey) {
        config_complain(config, "robots.obey",
                        "robots.txt is obeyed; only a [site \"HOST\"] section can except a host",
                        error);
    }
    check_numbers(config, error);
}

/* "scope.accept_regex: column 3: ..." gets the place where it stands. */
static void complain_scope(const Config *config, Buffer *what, Buffer *error)
{
    char *text = what->length == 0 ? NULL : what->data;
    char *colon = text == NULL ? NULL : strstr(text, ": ");
    if (colon == NULL) {
        (void)buffer_append_string(error, "scope: no memory\n");
        return;
    }
    *colon = '\0';
    text[what->length - 1] = '\0'; /* the line end */
    config_complain(config, text, colon + 2, error);
}

Result config_check_identity(const Config *config, Buffer *error)
{
    if (*config->crawl_contact != '\0' || *config->crawl_user_agent != '\0' ||
        *config->fetch_allow_addresses != '\0') {
        return RESULT_OK;
    }
    (void)buffer_append_string(
        error, "a contact address is missing: webmasters must be able to find out who crawls "
               "them. Give --contact URL (or crawl.contact = URL). Only crawls of loopback "
               "(fetch.allow_addresses = 127.0.0.0/8) need none");
    return RESULT_INVALID;
}

/* Options that must agree with each other. */
static void check_pairs(const Config *config, Buffer *error)
{
    WarcName name;
    bool misnamed = *config->warc_name != '\0' &&
                    warc_name_make(config->warc_name, (WallTime){0}, UINT32_MAX, NULL,
                                   (WarcCompression)config->warc_compression, &name) != RESULT_OK;
    const struct {
        bool is_wrong;
        const char *name;
        const char *why;
    } pairs[] = {{config->score_scorer == SCORER_CONTENT && *config->score_rules == '\0',
                  "score.scorer",
                  "content goes by score.rules, and there are none: name the file of rules"},
                 {config->score_scorer == SCORER_COMMAND && *config->score_command == '\0',
                  "score.scorer", "command: there is none: set score.command"},
                 {config->score_scorer == SCORER_FASTTEXT && access(config->score_model, R_OK) != 0,
                  "score.model", "is no file that can be read"},
                 {config->warc_compression == WARC_GZIP && config->warc_level > WARC_GZIP_LEVELS,
                  "warc.level", "gzip has levels up to 12"},
                 {config->render_mode != RENDER_MODE_OFF && !config->warc_enabled, "render.mode",
                  "pages are rendered from the WARC files: it needs warc.enabled = yes"},
                 {*config->warc_dedup_against != '\0' && !config->warc_enabled,
                  "warc.dedup_against", "it needs warc.enabled = yes"},
                 {config->warc_dedup_fresh > 0 && *config->warc_dedup_against == '\0',
                  "warc.dedup_fresh", "it needs warc.dedup_against"},
                 {misnamed, "warc.name",
                  "expected a name with {serial}, without a slash, that ends in .warc, .warc.gz or "
                  ".warc.zst"},
                 {config->schedule_revisit_min > config->schedule_revisit_max,
                  "schedule.revisit_min", "is greater than schedule.revisit_max"},
                 {config_is_continuous(config) && config->schedule_levels >= SCHEDULE_MAX_LEVELS,
                  "schedule.levels", "one less, please: revisits need a level"},
                 {config->control_web_write && *config->control_listen == '\0', "control.web_write",
                  "there is no status page without control.listen"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].is_wrong) {
            config_complain(config, pairs[i].name, pairs[i].why, error);
        }
    }
}

Result config_check(const Config *config, Buffer *error)
{
    Buffer what = {.limit = BUFFER_NO_LIMIT};
    size_t before = error->length;
    check_sites(config, &what, error);
    Scope *scope = NULL;
    ScopeOptions bounds = config_scope(config);
    buffer_reset(&what);
    if (scope_new(&scope, &bounds, &what) == RESULT_OK) {
        scope_delete(scope);
    } else {
        complain_scope(config, &what, error);
    }
    Filters filters;
    (void)filters_compile(&filters, config, error);
    filters_destroy(&filters);
    check_pairs(config, error);
    ListenAddress address;
    buffer_reset(&what);
    if (*config->control_listen != '\0' &&
        listen_address_parse(&address, config->control_listen, &what) != RESULT_OK) {
        config_complain(config, "control.listen", buffer_string(&what), error);
    }
    const char *name = NULL;
    buffer_reset(&what);
    if (config_cluster_check(config, &name, &what) != RESULT_OK) {
        config_complain(config, name, buffer_string(&what), error);
    }
    buffer_destroy(&what);
    return error->length == before ? RESULT_OK : RESULT_INVALID;
}
