#include "command/cluster/cluster_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cluster/desk/table_keeper.h"
#include "command/cluster/cluster_accounts.h"
#include "command/cluster/cluster_client.h"
#include "command/cluster/cluster_moves.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"
#include "parse/host/domain.h"

/* Cluster report: what a cluster does, for people.
 *
 * What: one line for the whole, one for each agent: who it is, and how it does in its own words. An
 * agent that does not run has its last record.
 * Threads: main. */

typedef struct Sums {
    unsigned long long pages;
    unsigned long long bytes;
    unsigned long long queued;
    unsigned long long outbox;
    unsigned long long active;
    unsigned running;
    unsigned moving; /* slots */
} Sums;

/* The number behind "name=" in an agent's words. */
static unsigned long long field(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *word = text; word != NULL; word = strchr(word, ' ')) {
        word += *word == ' ';
        if (strncmp(word, name, length) == 0 && word[length] == '=') {
            return strtoull(word + length + 1, NULL, 10);
        }
    }
    return 0;
}

/* What another process says may hold anything. */
static void print_clean(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        (void)fputc(c < 0x20 || c == 0x7F ? '?' : c, out);
    }
}

static void print_agent(ClusterClient *client, const ClusterTable *table, uint16_t agent,
                        Sums *sums, FILE *out)
{
    Buffer text = {.limit = 65536};
    unsigned leaving = 0;
    unsigned coming = 0;
    cluster_table_count_moves(table, agent, &leaving, &coming);
    sums->moving += leaving;
    (void)fprintf(out, "agent=%u slots=%u %s", (unsigned)agent, cluster_table_count(table, agent),
                  table->agents[agent].seated ? "" : "unseated ");
    if (leaving + coming > 0) {
        (void)fprintf(out, "leaving=%u coming=%u ", leaving, coming);
    }
    if (cluster_client_ask(client, agent, &text) == RESULT_OK) {
        const char *words = buffer_string(&text);
        sums->running++;
        sums->pages += field(words, "pages");
        sums->bytes += field(words, "bytes");
        sums->queued += field(words, "queued");
        sums->outbox += field(words, "outbox");
        sums->active += field(words, "active");
        (void)fputs("state=running ", out);
        print_clean(words, out);
    } else {
        MemberRecord record;
        if (cluster_client_member(client, agent, &record) == RESULT_OK) {
            (void)fprintf(out,
                          "state=%s name=", record.state == MEMBER_STOPPED ? "stopped" : "silent");
            print_clean(record.name, out);
        } else {
            (void)fputs("state=never-started", out);
        }
    }
    (void)fputc('\n', out);
    buffer_destroy(&text);
}

static Result cluster_report_print_all(ClusterClient *client, FILE *out, Buffer *error)
{
    ClusterTable table;
    uint64_t revision = 0;
    Sums sums = {.pages = 0};
    cluster_table_init(&table);
    Result rc = cluster_client_table(client, &table, &revision, error);
    for (uint32_t i = 0; rc == RESULT_OK && i < table.n_agents; i++) {
        print_agent(client, &table, (uint16_t)i, &sums, out);
    }
    if (rc == RESULT_OK) {
        (void)fprintf(out,
                      "cluster=%s epoch=%llu agents=%u running=%u pages=%llu bytes=%llu "
                      "queued=%llu active=%llu outbox=%llu moving=%u\n",
                      client->link.crawl, (unsigned long long)table.epoch, table.n_agents,
                      sums.running, sums.pages, sums.bytes, sums.queued, sums.active, sums.outbox,
                      sums.moving);
    }
    cluster_table_destroy(&table);
    return rc;
}

int cluster_status(const Config *config, const char *command)
{
    ClusterClient client;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = cluster_client_open(&client, config, &error);
    if (rc == RESULT_OK) {
        rc = cluster_report_print_all(&client, stdout, &error);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno %s: %s\n", command,
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    }
    cluster_client_close(&client);
    buffer_destroy(&error);
    return rc == RESULT_OK ? EXIT_FINISHED : rc == RESULT_NOT_FOUND ? EXIT_NEGATIVE : EXIT_NETWORK;
}

/* ---- `ragno cluster` ---- */

static int cluster_command_usage(FILE *out, int status)
{
    (void)fputs(
        "usage: ragno cluster init --agents N [SERVER]   makes a crawl for N agents (1 to 4096)\n"
        "       ragno cluster init --agents N --write DIR [SERVER]\n"
        "               writes a nats-server's configuration and a key for each agent; asks no "
        "server\n"
        "       ragno cluster status [SERVER]            how all agents do, and what moves\n"
        "       ragno cluster add [SERVER]               makes room for one more agent\n"
        "       ragno cluster drain AGENT [SERVER]       its hosts move to the others\n"
        "       ragno cluster move HOST --to AGENT [SERVER]\n"
        "       ragno cluster move SLOTS --from AGENT --to AGENT [SERVER]\n"
        "       ragno cluster restore AGENT [SERVER]     it has lost its disk, and begins anew\n"
        "       ragno cluster unseat AGENT [SERVER]      it is away: others decide about "
        "addresses\n"
        "       ragno cluster seat AGENT [SERVER]        it is back: it decides again\n"
        "SERVER: -c FILE with a [cluster] section, or\n"
        "       --url URL --name NAME [--credentials FILE] [--tls-authority FILE]\n"
        "       [--tls-certificate FILE --tls-key FILE] [--replicas N]\n",
        out);
    return status;
}

/* The words of the command itself. */
static bool cluster_command_take_word(int argc, char **argv, int *i, ClusterWords *words)
{
    const struct {
        const char *name;
        const char **word;
    } options[] = {{"--agents", &words->agents},
                   {"--from", &words->from},
                   {"--to", &words->to},
                   {"--write", &words->directory}};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        const char *value = command_option(options[k].name, argc, argv, i);
        if (value != NULL) {
            *options[k].word = value;
            return true;
        }
    }
    if (*argv[*i] != '-' && words->what == NULL && cluster_moves_has(argv[1])) {
        words->what = argv[*i];
        return true;
    }
    return false;
}

/* A table is put only where none is. */
static Result init_cluster(const Config *config, uint32_t agents, Buffer *error)
{
    ClusterClient client;
    ClusterTable table;
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    uint8_t uuid[CLUSTER_UUID_BYTES];
    cluster_table_init(&table);
    Result rc = getrandom(uuid, sizeof uuid, 0) == (ssize_t)sizeof uuid ? RESULT_OK : RESULT_IO;
    if (rc == RESULT_OK) {
        rc = cluster_table_create(&table, uuid, domain_list_sha1(), agents);
    }
    if (rc == RESULT_OK) {
        rc = cluster_table_write(&table, &bytes);
    }
    cluster_table_destroy(&table);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "the table cannot be made: %s", result_name(rc));
        buffer_destroy(&bytes);
        return rc;
    }
    rc = cluster_client_open(&client, config, error);
    if (rc == RESULT_OK) {
        Buffer value = {.limit = BUFFER_NO_LIMIT};
        uint64_t revision = 0;
        rc = cluster_client_get(&client, TABLE_KEY, &value, &revision, error);
        if (rc == RESULT_OK) {
            rc = revision > 0 ? RESULT_EXISTS
                              : cluster_client_put(&client, TABLE_KEY, &bytes, 0, error);
        }
        buffer_destroy(&value);
    }
    if (rc == RESULT_EXISTS) {
        (void)buffer_printf(error, "there is a cluster \"%s\" at this server already",
                            config->cluster_name);
    }
    cluster_client_close(&client);
    buffer_destroy(&bytes);
    return rc;
}

static void init_tell(const Config *config, unsigned long agents, const char *directory)
{
    if (directory == NULL) {
        (void)printf("cluster \"%s\" of %lu agents is made; give each its own directory and the "
                     "same [cluster] section\n",
                     config->cluster_name, agents);
        return;
    }
    (void)printf(
        "%s/nats.conf is written; start `nats-server -c %s/nats.conf`, then `ragno cluster "
        "init --agents %lu --credentials %s/operator.nkey` with the same server, and give "
        "agent N the file agent-N.nkey as cluster.credentials, and cluster.agent = N\n",
        directory, directory, agents, directory);
}

static int init_main(const Config *config, const ClusterWords *words)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    char *end = NULL;
    const char *word = words->agents;
    unsigned long agents = word == NULL ? 0 : strtoul(word, &end, 10);
    if (agents < 1 || agents > SLOT_COUNT || *end != '\0') {
        return cluster_command_usage(stderr, EXIT_USAGE);
    }
    Result rc = words->directory == NULL
                    ? init_cluster(config, (uint32_t)agents, &error)
                    : cluster_accounts_write(config, (uint32_t)agents, words->directory, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno cluster: %s\n",
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    } else {
        init_tell(config, agents, words->directory);
    }
    buffer_destroy(&error);
    return rc == RESULT_OK ? EXIT_FINISHED : rc == RESULT_EXISTS ? EXIT_NEGATIVE : EXIT_NETWORK;
}

static int cluster_command_run(Config *config, int argc, char **argv)
{
    ClusterWords words = {.agents = NULL};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    /* The server's options of the command line, and the other words. */
    Result rc = RESULT_OK;
    for (int i = 2; i < argc && rc == RESULT_OK; i++) {
        if (!cluster_command_take_word(argc, argv, &i, &words) &&
            !cluster_client_option(config, argc, argv, &i, &rc, &error)) {
            (void)buffer_printf(&error, "unexpected '%s'", argv[i]);
            rc = RESULT_INVALID;
        }
    }
    if (rc == RESULT_OK) {
        rc = cluster_client_check(config, &error);
    }
    int status = EXIT_USAGE;
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno cluster: %s\n",
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    } else if (strcmp(argv[1], "init") == 0) {
        status = init_main(config, &words);
    } else if (cluster_moves_has(argv[1])) {
        status = cluster_moves_main(config, argv[1], &words);
        if (status == EXIT_USAGE) {
            (void)cluster_command_usage(stderr, EXIT_USAGE);
        }
    } else {
        status = cluster_status(config, "cluster");
    }
    buffer_destroy(&error);
    return status;
}

int cluster_main(int argc, char **argv)
{
    Config config;
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return cluster_command_usage(stdout, 0);
    }
    if (strcmp(word, "init") != 0 && strcmp(word, "status") != 0 && !cluster_moves_has(word)) {
        return cluster_command_usage(stderr, EXIT_USAGE);
    }
    if (config_init(&config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    int status = cluster_command_run(&config, argc, argv);
    config_destroy(&config);
    return status;
}
