#include "rules/config_check.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/message/node_link.h"
#include "cluster/table/cluster_table.h"
#include "cluster/transport/transport_login.h"
#include "parse/host/ip_address.h"
#include "parse/url/url.h"

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

static const char *wrong(const Config *config, const char **name)
{
    *name = "cluster.url";
    if (has_secret(config->cluster_url)) {
        return "secrets do not belong into a URL; put them into the file of cluster.credentials";
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

/* ---- contact --------------------------------------------------------------------------------- */

static bool is_mail_address(const char *text)
{
    const char *at = strchr(text, '@');
    return at != NULL && at > text && strchr(at, '.') != NULL && at[1] != '.' &&
           strpbrk(text, " \t<>()/") == NULL;
}

Result config_texts_contact(const char *text, Buffer *error)
{
    Url url;
    url_init(&url);
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

/* ---- product token --------------------------------------------------------------------------- */

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

/* ---- name servers ---------------------------------------------------------------------------- */

static bool is_port(const char *text, size_t length)
{
    unsigned long port = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]) || i > 4) {
            return false;
        }
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    return port > 0 && port < 65536;
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
               (bracket + 1 == end ||
                (bracket[1] == ':' && is_port(bracket + 2, (size_t)(end - bracket) - 2)));
    }
    if (ip_address_parse(text, length, &address) == RESULT_OK) {
        return true;
    }
    const char *colon = memchr(text, ':', length);
    return colon != NULL && ip_address_parse(text, (size_t)(colon - text), &address) == RESULT_OK &&
           is_port(colon + 1, (size_t)(end - colon) - 1);
}

Result config_texts_servers(const char *text, Buffer *error)
{
    while (*(text += strspn(text, ", \t")) != '\0') {
        size_t length = strcspn(text, ", \t");
        if (!is_server(text, length)) {
            (void)buffer_printf(error,
                                "'%.*s' is no address; expected addresses such as 127.0.0.1:5353, "
                                "[2001:db8::1]:53 (a name server cannot be given by name)",
                                (int)length, text);
            return RESULT_INVALID;
        }
        text += length;
    }
    return RESULT_OK;
}
