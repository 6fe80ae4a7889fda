#include "command/cluster/cluster_pages.h"

#include <string.h>

#include "base/memory/file.h"
#include "store/pages/page_db_read.h"
#include "cluster/message/membership.h"
#include "crawl/exit_status.h"

Result cluster_pages_open(ClusterPages *pages, const char *directory, PageDB *db)
{
    *pages = (ClusterPages){.directory = directory};
    cluster_table_init(&pages->table);
    buffer_init(&pages->problem, BUFFER_NO_LIMIT);
    Result rc = node_place_of(db, &pages->self, &pages->table);
    pages->is_agent = rc == RESULT_OK;
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

void cluster_pages_close(ClusterPages *pages)
{
    if (pages->opened) {
        cluster_client_close(&pages->client);
        config_destroy(&pages->config);
    }
    cluster_table_destroy(&pages->table);
    buffer_destroy(&pages->problem);
}

const char *cluster_pages_problem(const ClusterPages *pages)
{
    return buffer_string(&pages->problem);
}

bool cluster_pages_is_foreign(const ClusterPages *pages, const char *url, uint16_t *owner)
{
    if (!pages->is_agent) {
        return false;
    }
    *owner = cluster_table_owner_of_url(&pages->table, url, strlen(url));
    return *owner != pages->self;
}

/* ---- the connection ---- */

static Result cluster_pages_load_config(ClusterPages *pages)
{
    Path path;
    return options_load(&pages->config.options, file_path(&path, "%s/config.ini", pages->directory),
                        &pages->problem);
}

/* Once: what could not be connected to is not tried again. */
static Result cluster_pages_connect_to(ClusterPages *pages)
{
    if (pages->opened) {
        return pages->up ? RESULT_OK : RESULT_CLOSED;
    }
    Result rc = config_init(&pages->config);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = cluster_pages_load_config(pages);
    if (rc != RESULT_OK) {
        config_destroy(&pages->config);
        return rc;
    }
    pages->opened = true;
    rc = cluster_client_open(&pages->client, &pages->config, &pages->problem);
    pages->up = rc == RESULT_OK;
    memcpy(pages->client.link.head.uuid, pages->table.uuid, sizeof pages->table.uuid);
    pages->client.link.head.from = CLUSTER_NOBODY;
    pages->client.link.head.epoch = pages->table.epoch;
    return rc;
}

static void cluster_pages_complain(ClusterPages *pages, uint16_t agent, Result rc,
                                   const Buffer *said)
{
    if (rc != RESULT_OK) {
        (void)buffer_printf(&pages->problem, "%sagent %u %s%s",
                            pages->problem.length > 0 ? "; " : "", (unsigned)agent,
                            rc == RESULT_NOT_FOUND ? "does not run, or is not connected"
                            : rc == RESULT_LIMIT   ? "refuses: "
                                                   : "did not answer",
                            rc == RESULT_LIMIT ? buffer_string(said) : "");
    }
}

static Result send_to(ClusterPages *pages, uint16_t agent, const WireWriter *question,
                      Buffer *answer)
{
    Result rc = question->rc == RESULT_OK
                    ? cluster_client_send(&pages->client, agent, question->out, answer)
                    : question->rc;
    cluster_pages_complain(pages, agent, rc, answer);
    return rc == RESULT_NOT_FOUND ? RESULT_CLOSED : rc;
}

/* ---- questions ---- */

/* A question of NODE_ASK_PAGE and its answer. */
typedef struct Exchange {
    Buffer bytes;
    Buffer answer;
    WireWriter question; /* of bytes, once it has begun */
} Exchange;

static Result begin_question(ClusterPages *pages, NodePageQuestion what, Exchange *exchange)
{
    buffer_init(&exchange->bytes, BUFFER_NO_LIMIT);
    buffer_init(&exchange->answer, BUFFER_NO_LIMIT);
    Result rc = cluster_pages_connect_to(pages);
    if (rc == RESULT_OK) {
        exchange->question = cluster_client_begin(&pages->client, NODE_ASK_PAGE, &exchange->bytes);
        wire_put_8(&exchange->question, (uint8_t)what);
    }
    return rc;
}

static void end_question(Exchange *exchange)
{
    buffer_destroy(&exchange->bytes);
    buffer_destroy(&exchange->answer);
}

Result cluster_pages_why(ClusterPages *pages, uint16_t agent, const char *url, bool json,
                         Buffer *text, int *status)
{
    char *words[] = {(char *)(uintptr_t) "why", (char *)(uintptr_t)url,
                     (char *)(uintptr_t) "--here", (char *)(uintptr_t) "--json"};
    ClusterRun run = {.agent = agent, .ticket = cluster_luck() | 1};
    Result rc = cluster_pages_connect_to(pages);
    if (rc == RESULT_OK) {
        rc = cluster_client_run_whole(&pages->client, &run, words, json ? 4 : 3, text);
        rc = rc == RESULT_OK && run.status > EXIT_NEGATIVE ? RESULT_LIMIT : rc;
        cluster_pages_complain(pages, agent, rc, text);
    }
    *status = run.status;
    return rc == RESULT_NOT_FOUND ? RESULT_CLOSED : rc;
}

static Result take_urls(WireReader *reader, size_t n, Buffer *urls, size_t *answered)
{
    Result rc = RESULT_OK;
    *answered = (size_t)wire_get_varint(reader);
    for (size_t i = 0; rc == RESULT_OK && i < *answered && *answered <= n; i++) {
        size_t length = 0;
        const uint8_t *url = wire_get_string(reader, &length);
        rc = url == NULL || memchr(url, 0, length) == NULL ? buffer_append(urls, url, length)
                                                           : RESULT_INVALID;
        rc = rc == RESULT_OK ? buffer_append(urls, "", 1) : rc;
    }
    bool good = *answered > 0 && *answered <= n && wire_reader_ended(reader);
    return rc != RESULT_OK || good ? rc : RESULT_INVALID;
}

Result cluster_pages_urls(ClusterPages *pages, uint16_t agent, const uint64_t *indices, size_t n,
                          Buffer *urls, size_t *answered)
{
    Exchange exchange;
    Result rc = begin_question(pages, NODE_PAGE_URLS, &exchange);
    if (rc == RESULT_OK) {
        wire_put_varint(&exchange.question, n);
        for (size_t i = 0; i < n; i++) {
            wire_put_varint(&exchange.question, indices[i]);
        }
        rc = send_to(pages, agent, &exchange.question, &exchange.answer);
    }
    if (rc == RESULT_OK) {
        WireReader reader = wire_reader(exchange.answer.data, exchange.answer.length);
        rc = take_urls(&reader, n, urls, answered);
        if (rc == RESULT_INVALID) {
            (void)buffer_printf(&pages->problem, "the answer of agent %u cannot be read",
                                (unsigned)agent);
        }
    }
    end_question(&exchange);
    return rc;
}

/* url NULL: of the page with that index. */
static Result ask_trail(ClusterPages *pages, uint16_t agent, const char *url, uint64_t index,
                        PageTrail *trail)
{
    Exchange exchange;
    Result rc =
        begin_question(pages, url == NULL ? NODE_PAGE_TRAIL : NODE_PAGE_TRAIL_OF_URL, &exchange);
    if (rc == RESULT_OK && url == NULL) {
        wire_put_64(&exchange.question, index);
    } else if (rc == RESULT_OK) {
        wire_put_string(&exchange.question, url, strlen(url));
    }
    if (rc == RESULT_OK) {
        rc = send_to(pages, agent, &exchange.question, &exchange.answer);
    }
    if (rc == RESULT_OK) {
        WireReader reader = wire_reader(exchange.answer.data, exchange.answer.length);
        rc = page_trail_get(&reader, trail);
    }
    end_question(&exchange);
    return rc;
}

Result cluster_pages_trail_of(ClusterPages *pages, uint16_t agent, const char *url,
                              PageTrail *trail)
{
    return ask_trail(pages, agent, url, 0, trail);
}

Result cluster_pages_follow(ClusterPages *pages, PageTrail *trail)
{
    Result rc = RESULT_OK;
    uint16_t at = trail->agent;
    for (unsigned turns = 0; rc == RESULT_OK && trail->end != TRAIL_SEED; turns++) {
        at = trail->end == TRAIL_AGENT ? trail->agent : at;
        if (turns == CLUSTER_PAGES_TURNS) {
            (void)buffer_printf(&pages->problem, "it leads through more than %u agents",
                                CLUSTER_PAGES_TURNS);
            return RESULT_LIMIT;
        }
        rc = ask_trail(pages, at, NULL, trail->index, trail);
        if (rc == RESULT_NOT_FOUND) {
            (void)buffer_printf(&pages->problem, "agent %u does not know the page any more",
                                (unsigned)at);
        }
    }
    return rc;
}

/* Depth falls on the way, so it bounds the length. */
static uint64_t longest_trail(PageDB *db, MDB_txn *txn, uint64_t index)
{
    PageRef page;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    bool found = page_db_get(db, txn, index, &page, &url) == page_db_error_ok;
    buffer_destroy(&url);
    return found ? page.depth + 1 : 0;
}

Result cluster_pages_trail(const ClusterPages *pages, PageDB *db, MDB_txn *txn, uint64_t index,
                           PageTrail *trail)
{
    MDB_dbi vias = 0;
    bool has_vias = pages->is_agent && via_table_open(&vias, txn) == RESULT_OK;
    Result rc = RESULT_OK;
    uint64_t next = index;
    uint64_t longest = longest_trail(db, txn, index);
    do {
        rc = page_trail_read(trail, db, txn, has_vias ? &vias : NULL, next);
        next = trail->index;
    } while (rc == RESULT_OK && trail->end == TRAIL_MORE && trail->n < longest);
    return rc == RESULT_OK && trail->end == TRAIL_MORE ? RESULT_DAMAGED : rc;
}
