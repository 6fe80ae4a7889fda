#include "command/export/page_export.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "base/core/clock.h"
#include "command/export/export_view.h"
#include "page/parsed_page.h"
#include "parse/usage/usage.h"
#include "command/export/page_answer.h"
#include "parse/html/html.h"
#include "command/cluster/cluster_pages.h"
#include "store/pages/page_db_open.h"
#include "cluster/link/via_table.h"
#include "cluster/message/membership.h"
#include "crawl/crawl_view.h"

/* Foreign parents: the URLs of pages of other agents of a cluster on which pages of this one were
 * found (cluster/link/via_table.h).
 *
 * What: reads the directories of other agents that are given, and asks those that are not. Looks
 * ahead FOREIGN_PARENTS_AHEAD pages, and asks each agent for up to
 * CLUSTER_PAGES_URLS of them with one question. An agent that does not answer is not asked again.
 * Owns: the connection, and the URLs of the pages that come next.
 * Threads: main.
 * Errors: what is not known is RESULT_NOT_FOUND, and counted. */

#define FOREIGN_PARENTS_AHEAD 4096u

typedef struct ForeignParent {
    uint64_t index; /* of the page here */
    uint16_t agent;
    uint64_t parent; /* index there */
    size_t url;      /* its place in ForeignParents.urls, plus 1; 0: not known */
} ForeignParent;

/* A directory of another agent. */
typedef struct OtherAgent {
    PageDB *db;
    uint16_t agent;
} OtherAgent;

typedef struct ForeignParents {
    ClusterPages pages;
    OtherAgent others[PAGE_EXPORT_AGENTS];
    size_t n_others;
    bool *away;   /* by agent; owned */
    uint64_t end; /* pages below were looked at */
    ForeignParent ahead[CLUSTER_PAGES_URLS];
    size_t n;
    size_t next;      /* of them */
    Buffer urls;      /* each with a NUL behind it */
    uint64_t unknown; /* pages whose parent is not known */
} ForeignParents;

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

/* Opens the directories of options. Of a crawl that is no agent's nothing is known, which is no
 * error. RESULT_NOT_FOUND: one of options->agents is no other agent of this crawl: told on standard
 * error. */
static Result foreign_parents_open(ForeignParents *parents, const PageExportOptions *options,
                                   PageDB *db)
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

/* Says on standard error what is missing. */
static void foreign_parents_close(ForeignParents *parents)
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
static Result urls_of(ForeignParents *parents, uint16_t agent, const uint64_t *indices, size_t n)
{
    for (size_t i = 0; i < parents->n_others; i++) {
        if (parents->others[i].agent == agent) {
            return foreign_parents_read_urls(parents->others[i].db, indices, n, &parents->urls);
        }
    }
    return cluster_pages_urls(&parents->pages, agent, indices, n, &parents->urls);
}

/* Those of one agent that are not known yet, from place `from` on. */
static Result foreign_parents_ask(ForeignParents *parents, uint16_t agent, size_t from)
{
    uint64_t indices[CLUSTER_PAGES_URLS];
    size_t places[CLUSTER_PAGES_URLS];
    size_t n = 0;
    size_t start = parents->urls.length;
    for (size_t i = from; i < parents->n; i++) {
        if (parents->ahead[i].agent == agent) {
            places[n] = i;
            indices[n++] = parents->ahead[i].parent;
        }
    }
    Result rc = urls_of(parents, agent, indices, n);
    parents->away[agent] = rc != RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        size_t length = strlen(parents->urls.data + start);
        parents->ahead[places[i]].url = length > 0 ? start + 1 : 0;
        start += length + 1;
    }
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
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

/* Of a page; pages are asked for in ascending order. Replaces *url. RESULT_NOT_FOUND: it was not
 * found by another agent, or its parent is not known. */
static Result foreign_parents_get(ForeignParents *parents, MDB_txn *txn, uint64_t index,
                                  Buffer *url)
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

#define MIME_BYTES 128u /* longer types are cut */

static void page_export_put_time(ExportRows *rows, const char *name, double seconds)
{
    char text[CLOCK_TEXT_BYTES];
    if (!(seconds > 0 && seconds < 1e11)) {
        export_nothing(rows, name);
        return;
    }
    (void)wall_format_iso((WallTime){(int64_t)llround(seconds * 1e6)}, text);
    export_text(rows, name, text, strlen(text));
}

/* What its site denies: "train-ai+tdm"; empty when it denies nothing. */
static void put_usage(ExportRows *rows, const PageRef *page)
{
    Buffer text;
    unsigned denied = page->n_crawls > 0 ? usage_of_flags(page->flags) : 0;
    buffer_init(&text, 256);
    if (denied != 0 && usage_print(denied, &text) == RESULT_OK) {
        export_text(rows, "usage_denied", buffer_string(&text), text.length);
    } else {
        export_nothing(rows, "usage_denied");
    }
    buffer_destroy(&text);
}

/* The page that it was found on, which may be another agent's. */
static Result put_linked_from(ExportView *view, ForeignParents *parents, const PageRef *page)
{
    PageRef other;
    Result rc = RESULT_OK;
    if (page->linked_from == PAGE_DB_NO_INDEX) {
        rc = view->options->ids ? RESULT_NOT_FOUND
                                : foreign_parents_get(parents, view->txn, page->index, &view->to);
        if (rc == RESULT_OK) {
            export_view_put_page(view, "linked_from", 0, &view->to);
        } else {
            export_nothing(&view->rows, "linked_from");
        }
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (!view->options->ids) {
        rc = export_view_page(view, page->linked_from, &other, &view->to);
    }
    if (rc == RESULT_OK) {
        export_view_put_page(view, "linked_from", page->linked_from, &view->to);
    }
    return rc;
}

/* The same for a page, whose URL is in from. */
static Result page_passes(ExportView *view, const PageRef *page, bool *wanted)
{
    bool has_source = view->where_source && page->linked_from != PAGE_DB_NO_INDEX;
    Result rc = RESULT_OK;
    if (has_source) {
        PageRef other;
        rc = export_view_page(view, page->linked_from, &other, &view->to);
    }
    *wanted = rc == RESULT_OK &&
              export_view_passes(view, &view->from, page, has_source ? &view->to : NULL);
    return rc;
}

/* ---- what the archive says ---- */

typedef struct Archive {
    PagePlaces *places; /* NULL: nothing of it is wanted */
    PageAnswers *answers;
} Archive;

/* What is told of a page beside its record. */
typedef struct Beside {
    Archive archive;
    ForeignParents parents;
} Beside;

static void put_word(ExportRows *rows, const char *name, const char *word)
{
    if (word == NULL || *word == '\0') {
        export_nothing(rows, name);
    } else {
        export_text(rows, name, word, strlen(word));
    }
}

/* The link of a redirect, as the graph has it, into view->to; empty: there is none. */
static Result find_redirect(ExportView *view, const PageRef *page)
{
    uint64_t *to = NULL;
    uint8_t *link_kinds = NULL;
    size_t n = 0;
    size_t n_cross = 0;
    PageRef target;
    buffer_reset(&view->to);
    if (page->status < 300 || page->status >= 400) {
        return RESULT_OK;
    }
    Result rc = export_view_result(
        view, page_db_get_links(view->db, view->txn, page->index, &to, &n, &n_cross));
    if (rc == RESULT_OK && n > 0) {
        rc = export_view_result(
            view, page_db_get_link_kinds(view->db, view->txn, page->index, n, &link_kinds));
    }
    for (size_t i = 0; rc == RESULT_OK && link_kinds != NULL && i < n; i++) {
        if (link_kind_of_byte(link_kinds[i]) == LINK_REDIRECT) {
            rc = export_view_page(view, to[i], &target, &view->to);
            break;
        }
    }
    free(to);
    free(link_kinds);
    return rc;
}

static Result put_archive(ExportView *view, Archive *archive, const PageRef *page)
{
    ExportRows *rows = &view->rows;
    PagePlace place;
    PageAnswer answer = {.is_read = false};
    bool stored = page_places_get(archive->places, page->index, &place);
    Result rc = find_redirect(view, page);
    if (rc == RESULT_OK && stored) {
        rc = page_answers_read(archive->answers, buffer_string(&view->from), view->from.length,
                               &place, &answer);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    char mime[MIME_BYTES];
    size_t mime_length = answer.mime_length < sizeof mime ? answer.mime_length : sizeof mime;
    for (size_t i = 0; i < mime_length; i++) {
        mime[i] = (char)tolower((unsigned char)answer.mime[i]);
    }
    export_text(rows, "mime", mime, mime_length);
    if (answer.is_read) {
        export_number(rows, "bytes", answer.bytes);
    } else {
        export_nothing(rows, "bytes");
    }
    put_word(rows, "title", answer.title);
    put_word(rows, "language", answer.language);
    put_word(rows, "redirect",
             answer.redirect != NULL ? answer.redirect : buffer_string(&view->to));
    if (stored) {
        put_word(rows, "warc_file", page_places_name(archive->places, place.file));
        export_number(rows, "warc_offset", place.offset);
    } else {
        export_nothing(rows, "warc_file");
        export_nothing(rows, "warc_offset");
    }
    return RESULT_OK;
}

static Result page_export_archive_open(Archive *archive, PageDB *db, const char *directory)
{
    *archive = (Archive){.places = NULL};
    if (directory == NULL) {
        return RESULT_OK;
    }
    Result rc = page_places_new(&archive->places, db, directory);
    return rc == RESULT_OK ? page_answers_new(&archive->answers, directory, archive->places) : rc;
}

static void page_export_archive_close(Archive *archive)
{
    uint64_t damaged = archive->answers == NULL ? 0 : page_answers_damaged(archive->answers);
    if (damaged > 0) {
        (void)fprintf(stderr,
                      "ragno export: the stored answers of %" PRIu64
                      " pages could not be read; ragno verify says why\n",
                      damaged);
    }
    page_answers_delete(archive->answers);
    page_places_delete(archive->places);
}

/* ---- pages ---- */

static Result export_page(ExportView *view, Beside *beside, uint64_t index)
{
    Archive *archive = &beside->archive;
    ExportRows *rows = &view->rows;
    PageRef page;
    char text[24];
    Result rc = export_view_page(view, index, &page, &view->from);
    bool wanted = true;
    rc = rc == RESULT_OK ? page_passes(view, &page, &wanted) : rc;
    if (rc != RESULT_OK || !wanted) {
        return rc;
    }
    export_text(rows, "url", buffer_string(&view->from), view->from.length);
    export_number(rows, "index", index);
    (void)snprintf(text, sizeof text, "%016" PRIx64, page.hash);
    export_text(rows, "hash", text, 16);
    rc = export_view_put_origin(view, "host", page.host, &view->to);
    if (rc != RESULT_OK) {
        return rc;
    }
    export_signed(rows, "status", page.status);
    export_number(rows, "depth", page.depth);
    if (page.hop >= 'A' && page.hop <= 'Z') {
        text[0] = (char)page.hop;
        export_text(rows, "found", text, 1);
    } else {
        export_nothing(rows, "found");
    }
    export_real(rows, "score", (double)page.score);
    if (page.level == PAGE_DB_NO_LEVEL) {
        export_nothing(rows, "level");
    } else {
        export_number(rows, "level", page.level);
    }
    export_number(rows, "n_crawls", page.n_crawls);
    export_number(rows, "n_changes", page.n_changes);
    page_export_put_time(rows, "first_crawl", page.first_crawl);
    page_export_put_time(rows, "last_crawl", page.last_crawl);
    rc = put_linked_from(view, &beside->parents, &page);
    if (rc == RESULT_OK) {
        (void)snprintf(text, sizeof text, "%016" PRIx64, page.content_hash64);
        export_text(rows, "content_hash", text, page.content_hash64 == 0 ? 0 : 16);
        put_usage(rows, &page);
        rc = archive->places == NULL ? RESULT_OK : put_archive(view, archive, &page);
    }
    if (rc == RESULT_OK) {
        export_row_end(rows);
    }
    return rc;
}

Result page_export_pages(PageDB *db, const PageExportOptions *options)
{
    ExportView view;
    Beside beside;
    Result opened =
        page_export_archive_open(&beside.archive, db, options->archive); /* has transactions */
    Result known = foreign_parents_open(&beside.parents, options, db);
    opened = opened == RESULT_OK ? known : opened;
    Result rc = export_view_begin(&view, db, options);
    rc = rc == RESULT_OK ? opened : rc;
    for (uint64_t i = 0; i < view.n_pages && rc == RESULT_OK; i++) {
        rc = export_page(&view, &beside, i);
        rc = rc == RESULT_OK ? export_view_step(&view) : rc;
    }
    page_export_archive_close(&beside.archive);
    foreign_parents_close(&beside.parents);
    return export_view_end(&view, rc);
}
