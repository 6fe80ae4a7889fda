#include "command/cluster/cluster_command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/core/ascii.h"
#include "base/memory/embed.h"
#include "cluster/desk/table_keeper.h"
#include "command/cluster/cluster_accounts.h"
#include "command/cluster/cluster_client.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"
#include "logs/log_text.h"
#include "parse/host/domain.h"

/* Cluster report: what a cluster does, for people.
 *
 * What: one line for the whole, one for each agent: who it is, and how it does in its own words. An
 * agent that does not run has its last record.
 * Threads: main. */

/* Of the agents' words, what adds up. */
static const char *const summed[] = {"pages", "bytes", "queued", "active", "outbox"};
#define SUMMED (sizeof summed / sizeof *summed)

typedef struct Sums {
    unsigned long long of[SUMMED];
    unsigned running;
    unsigned moving; /* slots */
} Sums;

static void print_agent(ClusterClient *client, const ClusterTable *table, uint16_t agent,
                        Sums *sums, FILE *out)
{
    Buffer text = {.limit = 65536};
    ClusterShare share = cluster_table_share(table, agent);
    sums->moving += share.leaving;
    (void)fprintf(out, "agent=%u slots=%u %s", (unsigned)agent, share.owned,
                  table->agents[agent].seated ? "" : "unseated ");
    if (share.leaving + share.coming > 0) {
        (void)fprintf(out, "leaving=%u coming=%u ", share.leaving, share.coming);
    }
    /* An agent that answers runs, whatever its record says; a record is only what it last wrote. */
    if (cluster_client_ask(client, agent, &text) == RESULT_OK) {
        const char *words = buffer_string(&text);
        sums->running++;
        for (size_t i = 0; i < SUMMED; i++) {
            sums->of[i] +=
                (unsigned long long)status_log_number(words, strlen(words), summed[i], 0);
        }
        (void)fputs("state=running ", out);
        ascii_print(out, words, strlen(words), '?'); /* it may hold anything */
    } else {
        MemberRecord record;
        if (cluster_client_member(client, agent, &record) == RESULT_OK) {
            (void)fprintf(out,
                          "state=%s name=", record.state == MEMBER_STOPPED ? "stopped" : "silent");
            ascii_print(out, record.name, strlen(record.name), '?');
        } else {
            (void)fputs("state=never-started", out);
        }
    }
    (void)fputc('\n', out);
    buffer_destroy(&text);
}

static Result cluster_report_print_all(ClusterClient *client, FILE *out, Buffer *error)
{
    ClusterTable table = {.epoch = 0};
    uint64_t revision = 0;
    Sums sums = {.running = 0};
    Result rc = cluster_client_table(client, &table, &revision, error);
    /* One after the other: an agent that is away costs the time-out of a question, all others
     * nothing. */
    for (uint32_t i = 0; rc == RESULT_OK && i < table.n_agents; i++) {
        print_agent(client, &table, (uint16_t)i, &sums, out);
    }
    if (rc == RESULT_OK) {
        (void)fprintf(out, "cluster=%s epoch=%llu agents=%u running=%u", client->link.crawl,
                      (unsigned long long)table.epoch, table.n_agents, sums.running);
        for (size_t i = 0; i < SUMMED; i++) {
            (void)fprintf(out, " %s=%llu", summed[i], sums.of[i]);
        }
        (void)fprintf(out, " moving=%u\n", sums.moving);
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
    cluster_client_close(&client);
    (void)exit_status_tell(command, rc, &error);
    /* That there is no such cluster is an answer; that nobody answers is not. */
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? EXIT_NEGATIVE : EXIT_NETWORK;
    }
    return EXIT_FINISHED;
}

/* ---- changes of the table ----
 *
 * What: each is one compare-and-set (cluster/table/cluster_table.h); the agents do the rest, and
 * `ragno cluster status` shows how far they are. What cannot be done, or would wait for an agent
 * that is away, is refused with a sentence. */

/* The words of the command line; NULL: not given. */
typedef struct ClusterWords {
    const char *agents;    /* --agents */
    const char *from;      /* --from */
    const char *to;        /* --to */
    const char *directory; /* --write */
    const char *what;      /* the word without an option: an agent, a number of slots, a host */
} ClusterWords;

#define TRIES 5u /* others may change the table at the same time */

/* One change of the table, again and again until it is nobody else's at the same time:
 *
 *   change_once: read the table and its revision; ask all agents; change it here; put it, if the
 *                revision is still that one
 *     RESULT_OK       told to the operator; the agents do the rest
 *     RESULT_EXISTS   somebody else has changed it: begin again, TRIES times at most
 *     others          nothing was changed; `error` has the sentence
 *
 * The table that is put is always one that was read whole, so a change that is lost in a race is
 * never put over another one. */
typedef struct Move {
    ClusterClient client;
    ClusterTable table;
    const char *command;
    const ClusterWords *words;
    bool *runs; /* by agent; owned */
    uint16_t agent;
    uint16_t to;
    uint32_t slots; /* of `move SLOTS` */
    char host[256]; /* of `move HOST`; "": none */
    Buffer *error;
} Move;

/* RESULT_INVALID with a sentence: it cannot be done. */
static Result cluster_moves_refuse(const Move *move, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static Result cluster_moves_refuse(const Move *move, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)buffer_vprintf(move->error, format, arguments);
    va_end(arguments);
    return RESULT_INVALID;
}

/* ---- what is there ---- */

/* Who runs; and whether the server's table is the newest that agents know. A server that was
 * restored from an old copy has an old table: a change of it would have an epoch that agents have
 * seen already with another content, and they would grant nothing any more (TABLE_TWO). */
static Result look_at_agents(Move *move)
{
    Buffer text = {.limit = 65536};
    Result rc = RESULT_OK;
    free(move->runs);
    move->runs = calloc(move->table.n_agents + 1u, sizeof *move->runs);
    if (move->runs == NULL) {
        return RESULT_MEMORY;
    }
    for (uint32_t i = 0; rc == RESULT_OK && i < move->table.n_agents; i++) {
        buffer_reset(&text);
        move->runs[i] = cluster_client_ask(&move->client, (uint16_t)i, &text) == RESULT_OK;
        if (move->runs[i] && move->client.epoch > move->table.epoch) {
            rc = cluster_moves_refuse(
                move,
                "agent %u knows a newer cluster table than the server, and will put it "
                "back; try again in some seconds",
                i);
        }
    }
    buffer_destroy(&text);
    return rc;
}

static Result read_agent(const Move *move, const char *word, uint16_t *agent)
{
    char *end = NULL;
    unsigned long number = strtoul(word, &end, 10);
    /* strtoul takes a sign and white space in front of digits, so the first byte is looked at,
     * too. */
    if (*word < '0' || *word > '9' || *end != '\0') {
        return cluster_moves_refuse(move, "expected the number of an agent, not '%s'", word);
    }
    if (number >= move->table.n_agents) {
        return cluster_moves_refuse(move, "the cluster has no agent %s; its agents are 0 to %u",
                                    word, move->table.n_agents - 1);
    }
    *agent = (uint16_t)number;
    return RESULT_OK;
}

/* An agent that is to give slots away must be there to do it: its pages and queues are on its
 * disk. Those that a drain gives them to may be away (warn_of_away). */
static Result check_giver(const Move *move, uint16_t agent)
{
    return move->runs[agent]
               ? RESULT_OK
               : cluster_moves_refuse(
                     move,
                     "agent %u is away: start it, so that it can hand over what it has (if its "
                     "disk is lost: `ragno cluster restore %u`)",
                     (unsigned)agent, (unsigned)agent);
}

/* Behind the change, which is made all the same: it waits for these agents and needs no one's
 * help. */
static void warn_of_away(const Move *move, bool takers)
{
    for (uint32_t i = 0; i < move->table.n_agents; i++) {
        ClusterShare share = cluster_table_share(&move->table, (uint16_t)i);
        if (!move->runs[i] && (takers ? share.coming : share.leaving) > 0) {
            (void)fprintf(stderr,
                          "ragno cluster: agent %u is away; what %s it waits until it runs\n", i,
                          takers ? "goes to" : "comes from");
        }
    }
}

/* ---- the changes ---- */

static Result cluster_moves_add(Move *move)
{
    Result rc = cluster_table_add(&move->table, &move->agent);
    return rc == RESULT_LIMIT ? cluster_moves_refuse(move, "there can be no more agents") : rc;
}

/* Three refusals that a table cannot tell by a code: slots that are still on their way to the agent
 * would come back to one that is empty, a second drain has nothing to do, and an agent without
 * slots has nothing to give. */
static Result drain(Move *move)
{
    unsigned agent = move->agent;
    ClusterShare share = cluster_table_share(&move->table, move->agent);
    if (share.coming > 0) {
        return cluster_moves_refuse(
            move,
            "a move is under way: %u slots are on their way to agent %u; try again when "
            "they are there (`ragno cluster status`)",
            share.coming, agent);
    }
    if (share.owned == 0) {
        return share.leaving > 0
                   ? cluster_moves_refuse(
                         move, "a move is under way: agent %u is being drained already", agent)
                   : cluster_moves_refuse(move, "nothing to move: agent %u has no slots", agent);
    }
    Result rc = check_giver(move, move->agent);
    if (rc == RESULT_OK) {
        rc = cluster_table_drain(&move->table, move->agent);
    }
    return rc == RESULT_INVALID && move->error->length == 0
               ? cluster_moves_refuse(move, "there is no other agent to take what agent %u has",
                                      agent)
               : rc;
}

static Result move_host(Move *move)
{
    /* A host cannot be moved alone, only with its slot; the operator is told which agent had it. */
    unsigned slot = slot_of_host(move->host, strlen(move->host));
    unsigned owner = cluster_table_owner(&move->table, slot);
    move->agent = (uint16_t)owner;
    /* When the slot is there already the table says so (RESULT_NOT_FOUND), and nobody has to
     * give. */
    if (owner != move->to && check_giver(move, move->agent) != RESULT_OK) {
        return RESULT_INVALID;
    }
    Result rc = cluster_table_move_slot(&move->table, slot, move->to);
    if (rc == RESULT_EXISTS) {
        return cluster_moves_refuse(
            move, "a move is under way: %s (slot %u) is on its way to agent %u already", move->host,
            slot, owner);
    }
    return rc == RESULT_NOT_FOUND
               ? cluster_moves_refuse(move, "nothing to move: %s is agent %u's already", move->host,
                                      owner)
               : rc;
}

static Result move_slots(Move *move)
{
    Result rc = read_agent(move, move->words->from, &move->agent);
    if (rc == RESULT_OK) {
        rc = check_giver(move, move->agent);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = cluster_table_move(&move->table, move->agent, move->to, move->slots);
    return rc == RESULT_NOT_FOUND
               ? cluster_moves_refuse(
                     move, "nothing to move: agent %u has no slots that are not moving already",
                     (unsigned)move->agent)
               : rc;
}

static Result cluster_moves_move_some(Move *move)
{
    Result rc = read_agent(move, move->words->to, &move->to);
    if (rc == RESULT_OK && !move->runs[move->to]) {
        rc = cluster_moves_refuse(move, "agent %u is away: start it first", (unsigned)move->to);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    return *move->host != '\0' ? move_host(move) : move_slots(move);
}

static Result restore(Move *move)
{
    /* A life begins with each restore; `claimed` is the life that a directory has taken. While it
     * is behind, the agent may be started with an empty directory. */
    const ClusterAgent *agent = &move->table.agents[move->agent];
    if (move->runs[move->agent]) {
        return cluster_moves_refuse(move,
                                    "agent %u runs; only one that has lost its disk is restored",
                                    (unsigned)move->agent);
    }
    if (agent->claimed < agent->life) {
        return cluster_moves_refuse(
            move, "agent %u waits for a directory already: start it with an empty one",
            (unsigned)move->agent);
    }
    return cluster_table_restore(&move->table, move->agent);
}

/* Arbitration alone: its hosts stay with it. Only one that is away is unseated: what it has granted
 * runs out by itself then, and nobody grants the same address twice. */
static Result cluster_moves_seat(Move *move)
{
    bool seated = strcmp(move->command, "seat") == 0;
    if (!seated && move->runs[move->agent]) {
        return cluster_moves_refuse(move, "agent %u runs; only one that is away is unseated",
                                    (unsigned)move->agent);
    }
    Result rc = cluster_table_seat(&move->table, move->agent, seated);
    const char *state = seated ? "is seated" : "has no seat";
    return rc == RESULT_NOT_FOUND
               ? cluster_moves_refuse(move, "agent %u %s already", (unsigned)move->agent, state)
               : rc;
}

typedef struct ClusterChange {
    const char *name;
    Result (*change)(Move *move);
    bool of_agent; /* the word without an option is the number of one */
} ClusterChange;

static const ClusterChange changes[] = {
    {"add", cluster_moves_add, false},        {"drain", drain, true},
    {"move", cluster_moves_move_some, false}, {"restore", restore, true},
    {"seat", cluster_moves_seat, true},       {"unseat", cluster_moves_seat, true}};

#define CHANGES (sizeof changes / sizeof *changes)

/* The change that a word of the command line asks for; NULL: none. */
static const ClusterChange *cluster_moves_find(const char *word)
{
    size_t i = 0;
    while (i < CHANGES && strcmp(word, changes[i].name) != 0) {
        i++;
    }
    return i < CHANGES ? &changes[i] : NULL;
}

/* ---- the table ---- */

static Result change_once(Move *move, const ClusterChange *change)
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    uint64_t revision = 0;
    Result rc = cluster_client_table(&move->client, &move->table, &revision, move->error);
    if (rc == RESULT_OK) {
        rc = look_at_agents(move);
    }
    if (rc == RESULT_OK && change->of_agent) {
        rc = read_agent(move, move->words->what, &move->agent);
    }
    if (rc == RESULT_OK) {
        rc = change->change(move);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = cluster_table_write(&move->table, &bytes);
    if (rc == RESULT_OK) {
        /* By the revision that was read: RESULT_EXISTS when the server has a newer one. */
        rc = cluster_client_put(&move->client, TABLE_KEY, &bytes, revision, move->error);
    }
    buffer_destroy(&bytes);
    return rc;
}

static void cluster_moves_tell(const Move *move)
{
    const char *command = move->command;
    unsigned agent = move->agent;
    ClusterShare share = cluster_table_share(&move->table, move->agent);
    if (strcmp(command, "add") == 0) {
        (void)printf("agent %u gets %u slots: start it with an empty directory and the same "
                     "[cluster] section; they move while the crawl runs\n",
                     agent, share.coming);
    } else if (strcmp(command, "restore") == 0) {
        (void)printf("agent %u begins anew: start it with an empty directory, cluster.agent = %u "
                     "and its seeds; the others send it what they know\n",
                     agent, agent);
    } else if (strstr(command, "seat") != NULL) {
        (void)printf("agent %u decides about %s; others begin with its addresses after a rest\n",
                     agent, *command == 's' ? "addresses again" : "no address any more");
    } else {
        (void)printf("%u slots leave agent %u; `ragno cluster status` shows when they have "
                     "arrived\n",
                     share.leaving, agent);
    }
    warn_of_away(move, false);
    if (strcmp(command, "drain") == 0) {
        warn_of_away(move, true);
    }
}

static int cluster_moves_change(Move *move, const Config *config, const ClusterChange *change)
{
    Result rc = cluster_client_open(&move->client, config, move->error);
    unsigned tries = 0;
    /* The exit status tells a script whether to try again: the network or the server, or a change
     * that cannot be made. */
    bool network = rc != RESULT_OK;
    while (rc == RESULT_OK) {
        rc = change_once(move, change);
        network = rc == RESULT_TIMEOUT || rc == RESULT_CLOSED;
        if (rc == RESULT_OK) {
            cluster_moves_tell(move);
            break;
        }
        if (rc == RESULT_EXISTS && ++tries < TRIES) {
            rc = RESULT_OK;
        }
    }
    cluster_client_close(&move->client);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno cluster: %s\n",
                      move->error->length > 0 ? buffer_string(move->error) : result_name(rc));
        return network ? EXIT_NETWORK : EXIT_NEGATIVE;
    }
    return EXIT_FINISHED;
}

/* ---- words ---- */

/* "200" or "www.example.org" or "https://www.example.org/". A number wants --from, a host must
 * not have it: the host says where it is. It is spelled as the crawler spells hosts
 * (url_parse_word), as its slot follows from the spelling. */
static bool read_what(Move *move, const char *what)
{
    char *end = NULL;
    unsigned long number = strtoul(what, &end, 10);
    if (*what >= '0' && *what <= '9' && *end == '\0') {
        move->slots = number > SLOT_COUNT ? SLOT_COUNT : (uint32_t)number;
        return number > 0 && move->words->from != NULL;
    }
    Url url = {.href = NULL};
    bool good = url_parse_word(&url, what) == RESULT_OK && move->words->from == NULL &&
                url.host_end - url.host_start < sizeof move->host;
    if (good) {
        (void)snprintf(move->host, sizeof move->host, "%.*s", (int)(url.host_end - url.host_start),
                       url.href + url.host_start);
    }
    url_destroy(&url);
    return good && *move->host != '\0';
}

/* Words that a change does not know are refused, not passed over: "drain 3 --to 5" would otherwise
 * do something else than it says. */
static bool cluster_moves_read_words(Move *move, const ClusterChange *change)
{
    const ClusterWords *words = move->words;
    bool has_what = words->what != NULL;
    if (words->agents != NULL || words->directory != NULL) {
        return false;
    }
    if (change->change == cluster_moves_move_some) {
        return has_what && words->to != NULL && read_what(move, words->what);
    }
    return has_what == change->of_agent && words->from == NULL && words->to == NULL;
}

static int cluster_moves_main(const Config *config, const ClusterChange *change,
                              const ClusterWords *words)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Move move = {.command = change->name, .words = words, .error = &error};
    if (!cluster_moves_read_words(&move, change)) {
        return EXIT_USAGE;
    }
    int status = cluster_moves_change(&move, config, change);
    cluster_table_destroy(&move.table);
    free(move.runs);
    buffer_destroy(&error);
    return status;
}

/* ---- `ragno cluster` ---- */

EMBED(cluster_usage, "src/command/cluster/cluster_command.txt");

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
    if (*argv[*i] != '-' && words->what == NULL && cluster_moves_find(argv[1]) != NULL) {
        words->what = argv[*i];
        return true;
    }
    return false;
}

/* A table is put only where none is: looked up first, for the sentence, and put with revision 0, so
 * that of two who do it at once one fails. The digest of the list of registered domains goes into
 * it: agents with another list would disagree about whose host a host is. */
static Result init_cluster(const Config *config, uint32_t agents, Buffer *error)
{
    ClusterClient client;
    ClusterTable table = {.epoch = 0};
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    uint8_t uuid[CLUSTER_UUID_BYTES];
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
    /* Each agent has a slot at least. */
    if (agents < 1 || agents > SLOT_COUNT || *end != '\0') {
        (void)fputs(cluster_usage, stderr);
        return EXIT_USAGE;
    }
    /* --write makes keys and a configuration for the server, and needs no server. */
    Result rc = words->directory == NULL
                    ? init_cluster(config, (uint32_t)agents, &error)
                    : cluster_accounts_write(config, (uint32_t)agents, words->directory, &error);
    if (exit_status_tell("cluster", rc, &error) != 0) {
        return rc == RESULT_EXISTS ? EXIT_NEGATIVE : EXIT_NETWORK;
    }
    init_tell(config, agents, words->directory);
    return EXIT_FINISHED;
}

static int cluster_command_run(Config *config, int argc, char **argv)
{
    ClusterWords words = {.agents = NULL};
    const ClusterChange *change = cluster_moves_find(argv[1]);
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
    if (exit_status_tell("cluster", rc, &error) != 0) {
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "init") == 0) {
        return init_main(config, &words);
    }
    int status = change != NULL ? cluster_moves_main(config, change, &words)
                                : cluster_status(config, "cluster");
    if (change != NULL && status == EXIT_USAGE) {
        (void)fputs(cluster_usage, stderr);
    }
    return status;
}

int cluster_main(int argc, char **argv)
{
    Config config;
    const char *word = argc > 1 ? argv[1] : "";
    bool is_help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (is_help || (strcmp(word, "init") != 0 && strcmp(word, "status") != 0 &&
                    cluster_moves_find(word) == NULL)) {
        (void)fputs(cluster_usage, is_help ? stdout : stderr);
        return is_help ? EXIT_FINISHED : EXIT_USAGE;
    }
    if (config_init(&config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    int status = cluster_command_run(&config, argc, argv);
    config_destroy(&config);
    return status;
}
