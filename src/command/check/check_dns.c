#include "command/check/check_commands.h"
#include "command/check/check_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/host/ip_address.h"
#include "base/thread/mutex.h"
#include "crawl/parts/network_parts.h"

/* What the resolver's thread hands to the command's. */
typedef struct Answers {
    Mutex mutex;
    Condition changed;
    size_t n_waiting; /* guarded by mutex */
} Answers;

static void on_answered(void *context, VisitState *visit_state)
{
    (void)visit_state;
    Answers *answers = context;
    mutex_lock(&answers->mutex);
    answers->n_waiting--;
    condition_broadcast(&answers->changed);
    mutex_unlock(&answers->mutex);
}

static Result new_question(VisitState **question, const char *host)
{
    Buffer origin;
    buffer_init(&origin, 4096);
    bool bare_v6 = strchr(host, ':') != NULL && *host != '[';
    Result rc = buffer_printf(&origin, bare_v6 ? "http://[%s]" : "http://%s", host);
    if (rc == RESULT_OK) {
        rc = visit_state_new(question, 0, origin.data, origin.length);
    }
    buffer_destroy(&origin);
    return rc;
}

/* "HOST<tab>ADDRESS<tab>SECONDS left<tab>milliseconds it took", or what is wrong instead. */
static bool check_dns_print_answer(const VisitState *answer)
{
    char address[IP_ADDRESS_TEXT_BYTES];
    if (answer->address.class != FETCH_OK) {
        (void)printf("%s\t-\t%s\t%lld ms\n", answer->identity.hostname,
                     fetch_class_name(answer->address.class),
                     (long long)answer->address.resolve_ms);
        return false;
    }
    (void)printf("%s\t%s\t%lld s\t%lld ms\n", answer->identity.hostname,
                 ip_address_format(&answer->address.ip, address),
                 (long long)mono_ms_between(mono_now(), answer->address.expiry) / 1000,
                 (long long)answer->address.resolve_ms);
    return true;
}

static int ask_all(Resolver *resolver, Answers *answers, int n, char **hosts)
{
    VisitState **questions = calloc((size_t)n, sizeof(VisitState *));
    int status = questions == NULL ? 1 : 0;
    for (int i = 0; i < n && questions != NULL; i++) {
        if (new_question(&questions[i], hosts[i]) != RESULT_OK) {
            (void)fprintf(stderr, "ragno check dns: %s: not a host name\n", hosts[i]);
            status = 1;
            continue;
        }
        mutex_lock(&answers->mutex);
        answers->n_waiting++;
        mutex_unlock(&answers->mutex);
        resolver_resolve(resolver, questions[i]);
    }
    mutex_lock(&answers->mutex);
    while (answers->n_waiting > 0) {
        condition_wait(&answers->changed, &answers->mutex);
    }
    mutex_unlock(&answers->mutex);
    for (int i = 0; i < n && questions != NULL; i++) {
        if (questions[i] != NULL && !check_dns_print_answer(questions[i])) {
            status = 1;
        }
        visit_state_delete(questions[i]);
    }
    free(questions);
    return status;
}

static int check_dns_resolve(const Config *config, int n, char **hosts)
{
    IpPolicy policy = {.loopback_only = false};
    Answers answers = {.n_waiting = 0};
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = ip_ranges_parse(&policy.allowed, config->fetch_allow_addresses, &error);
    buffer_destroy(&error);
    mutex_init(&answers.mutex, RANK_TABLE);
    condition_init(&answers.changed);
    ResolverOptions options = network_parts_resolver_options(config, &policy);
    Resolver *resolver = NULL;
    int status = 1;
    if (rc == RESULT_OK) {
        rc = resolver_new(&resolver, &options, on_answered, &answers);
        if (rc == RESULT_OK && resolver_start(resolver) == RESULT_OK) {
            status = ask_all(resolver, &answers, n, hosts);
            resolver_stop(resolver);
        } else {
            (void)fprintf(stderr, "ragno check dns: dns.servers = %s: %s\n", config->dns_servers,
                          result_name(rc));
            status = rc == RESULT_INVALID ? 2 : 1;
        }
    }
    resolver_delete(resolver);
    condition_destroy(&answers.changed);
    mutex_destroy(&answers.mutex);
    ip_ranges_destroy(&policy.allowed);
    return status;
}

int check_dns(int argc, char **argv)
{
    CheckOptions options = {.file = NULL};
    Config config;
    int n = check_options_take(&options, argc, argv);
    if (n < 1) {
        (void)fprintf(stderr,
                      "usage: ragno check dns [-c FILE] [-s SECTION.KEY=VALUE]... HOST...\n");
        return 2;
    }
    if (config_init(&config) != RESULT_OK) {
        config_destroy(&config);
        return 1;
    }
    int status = check_options_load(&options, &config);
    if (status == 0) {
        status = check_dns_resolve(&config, n, argv + 1);
    }
    config_destroy(&config);
    return status;
}
