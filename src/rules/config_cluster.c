#include "rules/config_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/message/node_link.h"
#include "cluster/table/cluster_table.h"
#include "cluster/transport/transport_login.h"

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
