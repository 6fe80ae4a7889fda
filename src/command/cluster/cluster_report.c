#include "command/cluster/cluster_report.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/desk/members.h"
#include "crawl/exit_status.h"

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

static void print_stopped(ClusterClient *client, uint16_t agent, FILE *out)
{
    char key[32];
    uint64_t revision = 0;
    MemberRecord record;
    Buffer value, error;
    buffer_init(&value, BUFFER_NO_LIMIT);
    buffer_init(&error, 4096);
    member_key(agent, key);
    if (cluster_client_get(client, key, &value, &revision, &error) == RESULT_OK && revision > 0 &&
        member_record_read(&record, value.data, value.length) == RESULT_OK) {
        (void)fprintf(out, "state=%s name=", record.state == MEMBER_STOPPED ? "stopped" : "silent");
        print_clean(record.name, out);
    } else {
        (void)fputs("state=never-started", out);
    }
    buffer_destroy(&value);
    buffer_destroy(&error);
}

static void print_agent(ClusterClient *client, const ClusterTable *table, uint16_t agent,
                        Sums *sums, FILE *out)
{
    Buffer text;
    buffer_init(&text, 65536);
    unsigned leaving = 0;
    unsigned coming = 0;
    cluster_table_count_moves(table, agent, &leaving, &coming);
    sums->moving += leaving;
    (void)fprintf(out, "agent=%u slots=%u ", (unsigned)agent, cluster_table_count(table, agent));
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
        print_stopped(client, agent, out);
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

int cluster_report_print(const Config *config, const char *command, FILE *out)
{
    ClusterClient client;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = cluster_client_open(&client, config, &error);
    if (rc == RESULT_OK) {
        rc = cluster_report_print_all(&client, out, &error);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno %s: %s\n", command,
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    }
    cluster_client_close(&client);
    buffer_destroy(&error);
    return rc == RESULT_OK ? EXIT_FINISHED : rc == RESULT_NOT_FOUND ? EXIT_NEGATIVE : EXIT_NETWORK;
}
