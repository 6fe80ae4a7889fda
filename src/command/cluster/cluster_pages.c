#include "command/cluster/cluster_pages.h"

#include <stdlib.h>
#include <string.h>

#include "crawl/exit_status.h"

Result cluster_pages_open(ClusterPages *pages, const char *directory, PageDB *db)
{
    *pages = (ClusterPages){.directory = directory};
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
    rc = config_load_of(&pages->config, pages->directory, &pages->problem);
    if (rc != RESULT_OK) {
        (void)buffer_printf(&pages->problem, "%s/config.ini: %s", pages->directory,
                            result_name(rc));
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

/* Has an agent run a command; what it prints is appended. RESULT_CLOSED, with the problem told: it
 * does not answer, or with an exit status above `most`. */
static Result cluster_pages_run(ClusterPages *pages, uint16_t agent, char *const *words, size_t n,
                                int most, Buffer *out, int *status)
{
    ClusterRun run = {.agent = agent, .ticket = cluster_luck() | 1};
    Result rc = cluster_pages_connect_to(pages);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = cluster_client_run_whole(&pages->client, &run, words, n, out);
    *status = run.status;
    if (rc == RESULT_OK && run.status <= most) {
        return RESULT_OK;
    }
    bool said = rc == RESULT_OK || rc == RESULT_LIMIT;
    const char *why = said ? "says: " : "did not answer";
    if (rc == RESULT_NOT_FOUND) {
        why = "does not run, or is not connected";
    }
    (void)buffer_printf(&pages->problem, "%sagent %u %s%s", pages->problem.length > 0 ? "; " : "",
                        (unsigned)agent, why, said ? buffer_string(out) : "");
    return RESULT_CLOSED;
}

/* ---- questions ---- */

Result cluster_pages_why(ClusterPages *pages, uint16_t agent, const char *url, bool json,
                         Buffer *text, int *status)
{
    char *words[] = {(char *)(uintptr_t) "why", (char *)(uintptr_t)url,
                     (char *)(uintptr_t) "--here", (char *)(uintptr_t) "--json"};
    return cluster_pages_run(pages, agent, words, json ? 4 : 3, EXIT_NEGATIVE, text, status);
}

/* ---- trails ---- */

void page_trail_destroy(PageTrail *trail)
{
    buffer_destroy(&trail->urls);
}

static Result page_trail_add(PageTrail *trail, const char *url, size_t length)
{
    Result rc = buffer_append(&trail->urls, url, length);
    trail->n += rc == RESULT_OK;
    return rc == RESULT_OK ? buffer_append_char(&trail->urls, '\0') : rc;
}

/* Depth falls on the way, so it bounds the length. */
Result cluster_pages_trail(const ClusterPages *pages, PageDB *db, MDB_txn *txn, uint64_t index,
                           PageTrail *trail)
{
    MDB_dbi vias = 0;
    Via via;
    PageRef page;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    uint64_t left = UINT64_MAX;
    Result rc = RESULT_OK;
    for (bool more = true; rc == RESULT_OK && more;) {
        int code = page_db_get(db, txn, index, &page, &url);
        rc = code == page_db_error_no_page ? RESULT_NOT_FOUND : RESULT_DAMAGED;
        if (code == page_db_error_ok) {
            rc = page_trail_add(trail, page.url, page.url_length);
        }
        more = rc == RESULT_OK && page.linked_from != PAGE_DB_NO_INDEX;
        if (more) {
            index = page.linked_from;
            left = left < page.depth ? left : page.depth;
            rc = left-- == 0 ? RESULT_DAMAGED : RESULT_OK;
        }
    }
    buffer_destroy(&url);
    if (rc == RESULT_OK && pages->is_agent && via_table_open(&vias, txn) == RESULT_OK &&
        via_table_get(vias, txn, index, &via) == RESULT_OK && via.parent != LINK_NO_PARENT) {
        trail->is_cut = true;
        trail->agent = via.agent;
        trail->index = via.parent;
    }
    return rc;
}

void page_trail_print(const PageTrail *trail, FILE *out)
{
    const char *const start = trail->urls.data;
    const char *end = start + trail->urls.length;
    if (trail->is_cut) {
        (void)fprintf(out, PAGE_TRAIL_CUT "\n", (unsigned)trail->agent,
                      (unsigned long long)trail->index);
    }
    for (size_t i = 0; i < trail->n; i++) {
        const char *url = end - 1; /* at its NUL */
        while (url > start && url[-1] != '\0') {
            url--;
        }
        (void)fprintf(out, "%s\n", url);
        end = url;
    }
}

/* Whether the text begins with PAGE_TRAIL_CUT. */
static bool page_trail_read_cut(PageTrail *trail, const char *text)
{
    static const char before[] = "agent ";
    static const char between[] = " page ";
    char *end = NULL;
    if (strncmp(text, before, sizeof before - 1) != 0) {
        return false;
    }
    unsigned long agent = strtoul(text + sizeof before - 1, &end, 10);
    if (strncmp(end, between, sizeof between - 1) != 0 || agent >= CLUSTER_NOBODY) {
        return false;
    }
    trail->agent = (uint16_t)agent;
    trail->index = strtoull(end + sizeof between - 1, NULL, 10);
    return true;
}

/* What page_trail_print prints, back: the last line first. */
static Result page_trail_read(PageTrail *trail, char *text)
{
    Result rc = RESULT_OK;
    char *line = NULL;
    trail->is_cut = page_trail_read_cut(trail, text);
    text += trail->is_cut ? strcspn(text, "\n") + 1 : 0;
    size_t length = strlen(text);
    while (rc == RESULT_OK && length > 0 && text[length - 1] == '\n') {
        text[length - 1] = '\0';
        line = strrchr(text, '\n');
        line = line == NULL ? text : line + 1;
        rc = page_trail_add(trail, line, strlen(line));
        length = (size_t)(line - text);
    }
    return rc == RESULT_OK && (line == NULL || length > 0) ? RESULT_INVALID : rc;
}

Result cluster_pages_trail_of(ClusterPages *pages, uint16_t agent, const char *what,
                              PageTrail *trail)
{
    char *words[] = {(char *)(uintptr_t) "db", (char *)(uintptr_t) "path", (char *)(uintptr_t)what,
                     (char *)(uintptr_t) "--here"};
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    char nothing[] = "";
    int status = 0;
    Result rc = cluster_pages_run(pages, agent, words, 4, 0, &text, &status);
    if (rc == RESULT_OK) {
        rc = page_trail_read(trail, text.data == NULL ? nothing : text.data);
    }
    buffer_destroy(&text);
    return rc;
}

Result cluster_pages_follow(ClusterPages *pages, PageTrail *trail)
{
    Result rc = RESULT_OK;
    char number[24];
    for (unsigned turns = 0; rc == RESULT_OK && trail->is_cut; turns++) {
        if (turns == CLUSTER_PAGES_TURNS) {
            (void)buffer_printf(&pages->problem, "it leads through more than %u agents",
                                CLUSTER_PAGES_TURNS);
            return RESULT_LIMIT;
        }
        (void)snprintf(number, sizeof number, "#%llu", (unsigned long long)trail->index);
        rc = cluster_pages_trail_of(pages, trail->agent, number, trail);
    }
    return rc;
}
