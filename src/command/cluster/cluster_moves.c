#include "command/cluster/cluster_moves.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/desk/table_keeper.h"
#include "command/cluster/cluster_client.h"
#include "crawl/exit_status.h"
#include "parse/url/url.h"

#define TRIES 5u /* others may change the table at the same time */

typedef struct Move {
    ClusterClient client;
    ClusterTable table;
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
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)buffer_append_string(move->error, text);
    return RESULT_INVALID;
}

/* ---- what is there ---- */

/* Who runs; and whether the server's table is the newest that agents know. */
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

/* An agent that is to give slots away must be there to do it. */
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

static void warn_of_away(const Move *move, bool takers)
{
    for (uint32_t i = 0; i < move->table.n_agents; i++) {
        unsigned leaving = 0;
        unsigned coming = 0;
        cluster_table_count_moves(&move->table, (uint16_t)i, &leaving, &coming);
        if (!move->runs[i] && (takers ? coming : leaving) > 0) {
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

static Result drain(Move *move)
{
    unsigned leaving = 0;
    unsigned coming = 0;
    Result rc = read_agent(move, move->words->what, &move->agent);
    if (rc != RESULT_OK) {
        return rc;
    }
    unsigned agent = move->agent;
    cluster_table_count_moves(&move->table, move->agent, &leaving, &coming);
    if (coming > 0) {
        return cluster_moves_refuse(
            move,
            "a move is under way: %u slots are on their way to agent %u; try again when "
            "they are there (`ragno cluster status`)",
            coming, agent);
    }
    if (cluster_table_count(&move->table, move->agent) == 0) {
        return leaving > 0
                   ? cluster_moves_refuse(
                         move, "a move is under way: agent %u is being drained already", agent)
                   : cluster_moves_refuse(move, "nothing to move: agent %u has no slots", agent);
    }
    rc = check_giver(move, move->agent);
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
    unsigned slot = slot_of_host(move->host, strlen(move->host));
    unsigned owner = cluster_table_owner(&move->table, slot);
    move->agent = (uint16_t)owner;
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
    Result rc = read_agent(move, move->words->what, &move->agent);
    if (rc != RESULT_OK) {
        return rc;
    }
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

/* Arbitration alone: its hosts stay with it. */
static Result change_seat(Move *move, bool seated)
{
    Result rc = read_agent(move, move->words->what, &move->agent);
    if (rc == RESULT_OK && !seated && move->runs[move->agent]) {
        return cluster_moves_refuse(move, "agent %u runs; only one that is away is unseated",
                                    (unsigned)move->agent);
    }
    if (rc == RESULT_OK) {
        rc = cluster_table_seat(&move->table, move->agent, seated);
    }
    return rc == RESULT_NOT_FOUND
               ? cluster_moves_refuse(move, "agent %u %s already", (unsigned)move->agent,
                                      seated ? "is seated" : "has no seat")
               : rc;
}

static Result cluster_moves_seat(Move *move)
{
    return change_seat(move, true);
}

static Result cluster_moves_unseat(Move *move)
{
    return change_seat(move, false);
}

static const struct {
    const char *name;
    Result (*change)(Move *move);
} commands[] = {{"add", cluster_moves_add},        {"drain", drain},
                {"move", cluster_moves_move_some}, {"restore", restore},
                {"seat", cluster_moves_seat},      {"unseat", cluster_moves_unseat}};

bool cluster_moves_has(const char *command)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(command, commands[i].name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the table ---- */

static Result change_once(Move *move, Result (*change)(Move *move))
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    uint64_t revision = 0;
    Result rc = cluster_client_table(&move->client, &move->table, &revision, move->error);
    if (rc == RESULT_OK) {
        rc = look_at_agents(move);
    }
    if (rc == RESULT_OK) {
        rc = change(move);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = cluster_table_write(&move->table, &bytes);
    if (rc == RESULT_OK) {
        rc = cluster_client_put(&move->client, TABLE_KEY, &bytes, revision, move->error);
    }
    buffer_destroy(&bytes);
    return rc;
}

static void cluster_moves_tell(const Move *move, const char *command)
{
    unsigned agent = move->agent;
    unsigned leaving = 0;
    unsigned coming = 0;
    cluster_table_count_moves(&move->table, move->agent, &leaving, &coming);
    if (strcmp(command, "add") == 0) {
        (void)printf("agent %u gets %u slots: start it with an empty directory and the same "
                     "[cluster] section; they move while the crawl runs\n",
                     agent, coming);
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
                     leaving, agent);
    }
    warn_of_away(move, false);
    if (strcmp(command, "drain") == 0) {
        warn_of_away(move, true);
    }
}

static int cluster_moves_change(Move *move, const Config *config, const char *command)
{
    size_t i = 0;
    while (strcmp(command, commands[i].name) != 0) {
        i++;
    }
    Result rc = cluster_client_open(&move->client, config, move->error);
    unsigned tries = 0;
    bool network = rc != RESULT_OK;
    while (rc == RESULT_OK) {
        rc = change_once(move, commands[i].change);
        network = rc == RESULT_TIMEOUT || rc == RESULT_CLOSED;
        if (rc == RESULT_OK) {
            cluster_moves_tell(move, command);
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
    }
    return rc == RESULT_OK ? EXIT_FINISHED : network ? EXIT_NETWORK : EXIT_NEGATIVE;
}

/* ---- words ---- */

/* "200" or "www.example.org" or "https://www.example.org/". */
static bool read_what(Move *move, const char *what)
{
    char *end = NULL;
    unsigned long number = strtoul(what, &end, 10);
    if (*what >= '0' && *what <= '9' && *end == '\0') {
        move->slots = number > SLOT_COUNT ? SLOT_COUNT : (uint32_t)number;
        return number > 0 && move->words->from != NULL;
    }
    Url url;
    char text[300];
    bool has_scheme = strstr(what, "://") != NULL;
    int length = snprintf(text, sizeof text, "%s%s", has_scheme ? "" : "http://", what);
    url_init(&url);
    bool good = length > 0 && (size_t)length < sizeof text &&
                url_parse(&url, NULL, text, (size_t)length) == RESULT_OK &&
                move->words->from == NULL;
    if (good) {
        (void)snprintf(move->host, sizeof move->host, "%.*s", (int)(url.host_end - url.host_start),
                       url.href + url.host_start);
    }
    url_destroy(&url);
    return good && *move->host != '\0';
}

static bool cluster_moves_read_words(Move *move, const char *command)
{
    const ClusterWords *words = move->words;
    bool has_what = words->what != NULL;
    bool ends = words->from != NULL || words->to != NULL;
    if (words->agents != NULL || words->directory != NULL) {
        return false;
    }
    if (strcmp(command, "add") == 0) {
        return !has_what && !ends;
    }
    if (strcmp(command, "move") == 0) {
        return has_what && words->to != NULL && read_what(move, words->what);
    }
    return has_what && !ends;
}

int cluster_moves_main(const Config *config, const char *command, const ClusterWords *words)
{
    Buffer error;
    Move move = {.words = words, .error = &error};
    if (!cluster_moves_read_words(&move, command)) {
        return EXIT_USAGE;
    }
    buffer_init(&error, BUFFER_NO_LIMIT);
    cluster_table_init(&move.table);
    int status = cluster_moves_change(&move, config, command);
    cluster_table_destroy(&move.table);
    free(move.runs);
    buffer_destroy(&error);
    return status;
}
