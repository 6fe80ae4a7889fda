#include "command/export/foreign_parents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "cluster/link/via_table.h"
#include "cluster/message/membership.h"
#include "crawl/crawl_view.h"

/* One that cannot be opened is told of by crawl_open. */
static Result open_other(ForeignParents *parents, const char *directory)
{
    OtherAgent *other = &parents->others[parents->n_others];
    ClusterTable table;
    if (crawl_open("export", directory, true, &other->db) != 0) {
        return RESULT_NOT_FOUND;
    }
    parents->n_others++;
    cluster_table_init(&table);
    Result rc = node_place_of(other->db, &other->agent, &table);
    bool is_ours = rc == RESULT_OK && other->agent != parents->pages.self &&
                   parents->pages.is_agent &&
                   memcmp(table.uuid, parents->pages.table.uuid, sizeof table.uuid) == 0;
    cluster_table_destroy(&table);
    if (!is_ours) {
        (void)fprintf(stderr, "ragno export: %s is no other agent of this crawl\n", directory);
        return RESULT_NOT_FOUND;
    }
    return RESULT_OK;
}

Result foreign_parents_open(ForeignParents *parents, const PageExportOptions *options, PageDB *db)
{
    memset(parents, 0, sizeof *parents);
    buffer_init(&parents->urls, BUFFER_NO_LIMIT);
    Result rc = cluster_pages_open(&parents->pages, options->directory, db);
    if (rc == RESULT_OK && parents->pages.is_agent) {
        parents->away = calloc(parents->pages.table.n_agents, sizeof *parents->away);
        rc = parents->away == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    for (size_t i = 0; rc == RESULT_OK && i < options->n_agents; i++) {
        rc = open_other(parents, options->agents[i]);
    }
    return rc;
}

void foreign_parents_close(ForeignParents *parents)
{
    if (parents->unknown > 0) {
        (void)fprintf(stderr,
                      "ragno export: linked_from is empty for %" PRIu64
                      " pages that other agents found: %s\n",
                      parents->unknown, cluster_pages_problem(&parents->pages));
    }
    for (size_t i = 0; i < parents->n_others; i++) {
        (void)page_db_delete(parents->others[i].db);
    }
    cluster_pages_close(&parents->pages);
    free(parents->away);
    buffer_destroy(&parents->urls);
}

/* Appends the URLs of the pages, from an agent's directory. */
static Result foreign_parents_read_urls(PageDB *db, const uint64_t *indices, size_t n, Buffer *urls)
{
    MDB_txn *txn = NULL;
    PageRef page;
    Buffer url;
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    buffer_init(&url, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        bool found = page_db_get(db, txn, indices[i], &page, &url) == page_db_error_ok;
        rc = found ? buffer_append(urls, url.data, url.length) : RESULT_OK;
        rc = rc == RESULT_OK ? buffer_append(urls, "", 1) : rc;
    }
    page_db_txn_abort(db, txn);
    buffer_destroy(&url);
    return rc;
}

/* As cluster_pages_urls. */
static Result urls_of(ForeignParents *parents, uint16_t agent, const uint64_t *indices, size_t n,
                      size_t *answered)
{
    for (size_t i = 0; i < parents->n_others; i++) {
        if (parents->others[i].agent == agent) {
            *answered = n;
            return foreign_parents_read_urls(parents->others[i].db, indices, n, &parents->urls);
        }
    }
    return cluster_pages_urls(&parents->pages, agent, indices, n, &parents->urls, answered);
}

/* Those of one agent that are not known yet, from place `from` on. */
static Result foreign_parents_ask(ForeignParents *parents, uint16_t agent, size_t from)
{
    uint64_t indices[CLUSTER_PAGES_URLS];
    size_t places[CLUSTER_PAGES_URLS];
    size_t n = 0;
    size_t answered = 0;
    size_t start = parents->urls.length;
    for (size_t i = from; i < parents->n; i++) {
        if (parents->ahead[i].agent == agent) {
            places[n] = i;
            indices[n++] = parents->ahead[i].parent;
        }
    }
    for (size_t done = 0; done < n; done += answered) {
        Result rc = urls_of(parents, agent, indices + done, n - done, &answered);
        if (rc != RESULT_OK || answered > n - done) {
            parents->away[agent] = true;
            return rc == RESULT_MEMORY ? rc : RESULT_OK;
        }
        for (size_t i = 0; i < answered; i++) {
            size_t length = strlen(parents->urls.data + start);
            parents->ahead[places[done + i]].url = length > 0 ? start + 1 : 0;
            start += length + 1;
        }
    }
    return RESULT_OK;
}

static Result foreign_parents_look_ahead(ForeignParents *parents, MDB_txn *txn, uint64_t from)
{
    MDB_dbi vias = 0;
    Via via;
    Result rc = via_table_open(&vias, txn);
    buffer_reset(&parents->urls);
    parents->n = parents->next = 0;
    parents->end = from;
    for (; rc == RESULT_OK && parents->n < CLUSTER_PAGES_URLS &&
           parents->end < from + FOREIGN_PARENTS_AHEAD;
         parents->end++) {
        Result found = via_table_get(vias, txn, parents->end, &via);
        if (found == RESULT_OK && via.parent != LINK_NO_PARENT &&
            via.agent < parents->pages.table.n_agents) {
            parents->ahead[parents->n++] =
                (ForeignParent){.index = parents->end, .agent = via.agent, .parent = via.parent};
        } else if (found != RESULT_OK && found != RESULT_NOT_FOUND) {
            rc = found;
        }
    }
    for (size_t i = 0; rc == RESULT_OK && i < parents->n; i++) {
        const ForeignParent *first = &parents->ahead[i];
        bool is_asked = false;
        for (size_t k = 0; k < i; k++) {
            is_asked = is_asked || parents->ahead[k].agent == first->agent;
        }
        if (!is_asked && !parents->away[first->agent]) {
            rc = foreign_parents_ask(parents, first->agent, i);
        }
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result foreign_parents_get(ForeignParents *parents, MDB_txn *txn, uint64_t index, Buffer *url)
{
    Result rc = RESULT_OK;
    buffer_reset(url);
    if (!parents->pages.is_agent) {
        return RESULT_NOT_FOUND;
    }
    if (index >= parents->end) {
        rc = foreign_parents_look_ahead(parents, txn, index);
    }
    while (parents->next < parents->n && parents->ahead[parents->next].index < index) {
        parents->next++;
    }
    if (rc != RESULT_OK || parents->next == parents->n ||
        parents->ahead[parents->next].index != index) {
        return rc == RESULT_OK ? RESULT_NOT_FOUND : rc;
    }
    size_t place = parents->ahead[parents->next].url;
    if (place == 0) {
        parents->unknown++;
        return RESULT_NOT_FOUND;
    }
    return buffer_append_string(url, parents->urls.data + place - 1);
}
