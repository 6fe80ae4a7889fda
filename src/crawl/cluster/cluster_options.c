#include "crawl/cluster/cluster_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/memory/file.h"

#define FETCH_SLACK_MS   2000 /* from the decision to fetch until the clock of the fetch begins */
#define CONFIRM_MOST_MS  10000
#define CONFIRM_LEAST_MS 3000
#define STALE_MS                                                                                   \
    20000 /* a leader of NATS that was cut off notices it within 10 s, at a look                   \
             that it takes each 10 s (docs/cluster.md) */
#define MESSAGE_BYTES  16384u
#define MESSAGE_AGE_MS 10000
#define REST_MOST_MS   2000 /* between two messages with links to one agent */
#define PACE_LEAST_MS  20   /* between two about leases */
#define PACE_SHARE     8    /* and such a part of the other one besides */
#define LEAD_SHARE     8    /* of a lease: so long before an address is free it is granted */
#define ANSWER_MS      10000
#define AGAIN_MS       1000 /* until blocks are sent again that nobody took */
#define ADDRESSES_MOST 1000000u

uint64_t cluster_luck(void)
{
    uint64_t luck = 0;
    if (getrandom(&luck, sizeof luck, 0) != (ssize_t)sizeof luck) {
        luck = hash_mix((uint64_t)wall_now().us ^ (uint64_t)getpid());
    }
    return luck;
}

void cluster_names_of(const char *directory, ClusterNames *names)
{
    struct stat status = {.st_ino = 0};
    Buffer machine = {.limit = 4096};
    char host[64] = "";
    char *path = realpath(directory, NULL);
    /* The number that the kernel has given itself when it began. Machines that were cloned have one
     * /etc/machine-id, but each its own boot; and a process of a former boot cannot be proved to
     * have ended, since it may have run on the machine that this one was cloned from. */
    Result rc = file_read("/proc/sys/kernel/random/boot_id", &machine);
    int length = rc == RESULT_OK ? (int)strspn(buffer_string(&machine), "0123456789abcdef-") : 0;
    (void)gethostname(host, sizeof host - 1);
    (void)stat(directory, &status);
    /* Without a number of the boot nothing proves that another process has ended. */
    unsigned long long luck = length == 0 ? cluster_luck() : 0;
    (void)snprintf(names->machine, sizeof names->machine, "%.*s/%llx:%llx/%llx",
                   length == 0 ? 7 : length, length == 0 ? "unknown" : buffer_string(&machine),
                   (unsigned long long)status.st_dev, (unsigned long long)status.st_ino, luck);
    (void)snprintf(names->name, sizeof names->name, "%s:%s", host, path == NULL ? directory : path);
    free(path);
    buffer_destroy(&machine);
}

/* Of any host. An arbiter does not know which hosts a holder that has died had asked, so it lets
 * each address rest for the longest of the delays. */
static int64_t longest_ip_delay(const Config *config)
{
    int64_t longest = config->politeness_ip_delay;
    for (size_t i = 0; i < config->options.n_sites; i++) {
        const OptionSite *site = &config->options.sites[i];
        bool is_delay =
            config->options.specs[site->spec].offset == offsetof(Config, politeness_ip_delay);
        if (is_delay && site->value.number > longest) {
            longest = site->value.number;
        }
    }
    return longest;
}

/* Messages are gathered for a part of the time that passes between two requests to a host in any
 * case. */
static int64_t cluster_rest(const Config *config)
{
    int64_t rest = config->politeness_host_delay / 2;
    return rest < REST_MOST_MS ? rest : REST_MOST_MS;
}

NodeOptions cluster_node_options(const Config *config, const ClusterNames *names)
{
    int64_t term = config->cluster_lease;
    int64_t confirm = term < CONFIRM_MOST_MS ? term : CONFIRM_MOST_MS;
    NodeOptions options = {
        .crawl = config->cluster_name,
        .machine = names->machine,
        .name = names->name,
        .version = RAGNO_VERSION,
        .luck = cluster_luck(),
        .lease = {.term_ms = term,
                  .fetch_ms = config->fetch_total_timeout + FETCH_SLACK_MS,
                  .delay_ms = longest_ip_delay(config),
                  .confirm_ms = confirm < CONFIRM_LEAST_MS ? CONFIRM_LEAST_MS : confirm,
                  .stale_ms = config->cluster_replicas > 1 ? STALE_MS : 0,
                  .pace_ms = PACE_LEAST_MS + cluster_rest(config) / PACE_SHARE,
                  .lead_ms = term / LEAD_SHARE},
        .lease_addresses = ADDRESSES_MOST,
        .courier = {.message_bytes = MESSAGE_BYTES,
                    .age_ms = MESSAGE_AGE_MS,
                    .rest_ms = cluster_rest(config),
                    .window_bytes = (size_t)config->cluster_window,
                    .answer_ms = ANSWER_MS,
                    .again_ms = AGAIN_MS}};
    options.limits[LEDGER_PAGES] = (uint64_t)config->crawl_max_pages;
    options.limits[LEDGER_BYTES] = (uint64_t)config->crawl_max_bytes;
    options.limits[LEDGER_RATE] = (uint64_t)config->fetch_rate;
    return options;
}

TransportNatsOptions cluster_nats_options(const Config *config, const char *name)
{
    return (TransportNatsOptions){.url = config->cluster_url,
                                  .crawl = config->cluster_name,
                                  .name = name,
                                  .credentials = config->cluster_credentials,
                                  .authority = config->cluster_tls_authority,
                                  .certificate = config->cluster_tls_certificate,
                                  .key = config->cluster_tls_key,
                                  .replicas = (unsigned)config->cluster_replicas};
}
