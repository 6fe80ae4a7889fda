#include "command/export/page_export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/link/stub.h"
#include "cluster/wire/link_block.h"
#include "command/export/page_answer.h"
#include "page/parsed_page.h"
#include "store/tables/page_rows.h"

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

/* "train-ai+tdm"; empty for none. */
static void put_usages(ExportRows *rows, const char *name, unsigned bits)
{
    Buffer text = {.limit = 256};
    if (bits != 0) {
        (void)usage_print(bits, &text);
    }
    export_word(rows, name, buffer_string(&text));
    buffer_destroy(&text);
}

/* The page of another agent that it was found on: its index in that agent's database, since its URL
 * is only there. */
static Result put_via(ExportView *view, const PageRef *page)
{
    MDB_dbi vias = 0;
    Via via = {.parent = LINK_NO_PARENT};
    char text[64];
    Result rc = via_table_open(&vias, view->txn);
    if (rc == RESULT_OK) {
        rc = via_table_get(vias, view->txn, page->index, &via);
    }
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        return rc;
    }
    if (view->options->ids || via.parent == LINK_NO_PARENT) {
        export_nothing(&view->rows, "linked_from");
        return RESULT_OK;
    }
    int n = snprintf(text, sizeof text, "agent %u page %" PRIu64, via.agent, via.parent);
    export_text(&view->rows, "linked_from", text, (size_t)n);
    return RESULT_OK;
}

/* The page that it was found on. */
static Result put_linked_from(ExportView *view, const PageRef *page)
{
    PageRef other;
    Result rc = RESULT_OK;
    if (page->linked_from == PAGE_DB_NO_INDEX) {
        return put_via(view, page);
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

static Result put_archive(ExportView *view, PageAnswers *answers, const PageRef *page)
{
    ExportRows *rows = &view->rows;
    PageAnswer answer = {.is_read = false};
    Result rc = find_redirect(view, page);
    if (rc == RESULT_OK) {
        rc = page_answers_read(answers, page->index, buffer_string(&view->from), view->from.length,
                               &answer);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    export_type(rows, "mime", answer.mime, answer.mime_length);
    export_number_if(rows, "bytes", answer.is_read, answer.bytes);
    export_word(rows, "title", answer.title);
    export_word(rows, "language", answer.language);
    export_word(rows, "redirect",
                answer.redirect != NULL ? answer.redirect : buffer_string(&view->to));
    put_usages(rows, "usage_allowed", answer.allowed);
    export_word(rows, "warc_file", answer.file);
    export_number_if(rows, "warc_offset", answer.file != NULL, answer.offset);
    if (view->options->data_bytes > 0) {
        export_word(rows, "canonical", answer.canonical);
        for (unsigned kind = 0; kind < VISIBLE_DATA_KINDS; kind++) {
            HtmlSlice list = {.length = 0};
            if (answer.data != NULL) {
                list = answer.data[kind];
            }
            export_json(rows, visible_data_name(kind), list.bytes, list.length);
        }
    }
    return RESULT_OK;
}

/* ---- pages ---- */

/* answers: NULL: nothing of the archive is wanted. */
static Result export_page(ExportView *view, PageAnswers *answers, uint64_t index)
{
    ExportRows *rows = &view->rows;
    PageRef page;
    char text[24];
    Result rc = export_view_page(view, index, &page, &view->from);
    bool wanted = true;
    if (rc == RESULT_OK) {
        rc = page_passes(view, &page, &wanted);
    }
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
    const char found[2] = {page.hop >= 'A' && page.hop <= 'Z' ? (char)page.hop : '\0', '\0'};
    export_word(rows, "found", found);
    export_real(rows, "score", (double)page.score);
    export_number_if(rows, "level", page.level != PAGE_DB_NO_LEVEL, page.level);
    export_number(rows, "n_crawls", page.n_crawls);
    export_number(rows, "n_changes", page.n_changes);
    page_export_put_time(rows, "first_crawl", page.first_crawl);
    page_export_put_time(rows, "last_crawl", page.last_crawl);
    rc = put_linked_from(view, &page);
    if (rc == RESULT_OK) {
        (void)snprintf(text, sizeof text, "%016" PRIx64, page.content_hash64);
        export_text(rows, "content_hash", text, page.content_hash64 == 0 ? 0 : 16);
        put_usages(rows, "usage_denied", page.n_crawls > 0 ? usage_of_flags(page.flags) : 0);
        rc = answers == NULL ? RESULT_OK : put_archive(view, answers, &page);
    }
    if (rc == RESULT_OK) {
        export_row_end(rows);
    }
    return rc;
}

Result page_export_pages(PageDB *db, const PageExportOptions *options)
{
    ExportView view;
    PageAnswers *answers = NULL;
    Result opened = options->archive == NULL /* it has transactions */
                        ? RESULT_OK
                        : page_answers_new(&answers, db, options->archive, options->data_bytes);
    Result rc = export_view_begin(&view, db, options);
    rc = result_first(rc, opened);
    for (uint64_t i = 0; i < view.n_pages && rc == RESULT_OK; i++) {
        rc = export_page(&view, answers, i);
        rc = export_view_step(&view, rc);
    }
    if (answers != NULL) {
        page_answers_tell(answers);
    }
    page_answers_delete(answers);
    return export_view_end(&view, rc);
}

/* ---- Links ---- */

/* A page's links: first those that leave its domain, then the others, both ascending. */
typedef struct LinkList {
    uint64_t *to;
    uint8_t *kinds; /* NULL: all are 0, or do not matter */
    size_t n;
    size_t n_cross;
    size_t i_cross; /* next of the first group */
    size_t i_same;  /* next of the second */
} LinkList;

typedef struct WeightedLink {
    uint64_t to;
    uint64_t weight;
    uint8_t kind;
    bool cross;
} WeightedLink;

static uint8_t kind_at(const LinkList *list, size_t i)
{
    return list->kinds == NULL ? 0 : list->kinds[i];
}

/* Merges the two groups and counts repetitions of a kind; false at the end. */
static bool next_link(LinkList *list, WeightedLink *link)
{
    bool has_cross = list->i_cross < list->n_cross;
    bool has_same = list->i_same < list->n;
    if (!has_cross && !has_same) {
        return false;
    }
    link->cross = has_cross && (!has_same || list->to[list->i_cross] <= list->to[list->i_same]);
    size_t *i = link->cross ? &list->i_cross : &list->i_same;
    size_t end = link->cross ? list->n_cross : list->n;
    link->to = list->to[*i];
    link->kind = kind_at(list, *i);
    link->weight = 0;
    while (*i < end && list->to[*i] == link->to && kind_at(list, *i) == link->kind) {
        link->weight++;
        (*i)++;
    }
    return true;
}

static Result get_links(ExportView *view, uint64_t index, bool kinds, LinkList *list)
{
    *list = (LinkList){.to = NULL};
    Result rc = export_view_result(
        view, page_db_get_links(view->db, view->txn, index, &list->to, &list->n, &list->n_cross));
    if (rc == RESULT_OK && kinds && list->n > 0) {
        rc = export_view_result(
            view, page_db_get_link_kinds(view->db, view->txn, index, list->n, &list->kinds));
    }
    list->i_same = list->n_cross;
    return rc;
}

static bool link_export_is_wanted(const ExportView *view, uint64_t from, const WeightedLink *link)
{
    return link->to < view->n_pages && !(view->options->no_self && link->to == from) &&
           !(view->options->only_cross && !link->cross);
}

static void put_kind(ExportRows *rows, uint8_t byte)
{
    static const char *const words[] = {
        "",          "nofollow",           "ugc",           "nofollow ugc",
        "sponsored", "nofollow sponsored", "ugc sponsored", "nofollow ugc sponsored"};
    LinkKind kind = link_kind_of_byte(byte);
    const char *name = kind < LINK_KINDS ? link_kind_name(kind) : "";
    const char *rel = words[link_flags_of_byte(byte)];
    export_text(rows, "kind", name, strlen(name));
    export_text(rows, "rel", rel, strlen(rel));
}

static Result put_link(ExportView *view, uint64_t from, const WeightedLink *link)
{
    PageRef target;
    const PageExportOptions *options = view->options;
    bool by_number = options->arcs && options->where == NULL;
    Result rc = by_number ? RESULT_OK : export_view_page(view, link->to, &target, &view->to);
    if (rc != RESULT_OK ||
        (!by_number && !export_view_passes(view, &view->to, &target, &view->from))) {
        return rc;
    }
    export_view_put_page(view, "from", from, &view->from);
    export_view_put_page(view, "to", link->to, &view->to);
    if (!options->arcs) {
        export_number(&view->rows, "weight", link->weight);
        export_number(&view->rows, "cross", link->cross ? 1 : 0);
        export_real(&view->rows, "score", (double)target.score);
        put_kind(&view->rows, link->kind);
        export_number(&view->rows, "external", 0);
    }
    export_row_end(&view->rows);
    return RESULT_OK;
}

/* Links out of scope: the last rows of their page, which is view->from. Their targets have no
 * number. */
static Result export_external(ExportView *view, const PageRef *page)
{
    Buffer list = {.limit = BUFFER_NO_LIMIT};
    size_t at = 0;
    Result rc = external_rows_read(view->txn, page->index, &list);
    while (rc == RESULT_OK && at < list.length) {
        uint8_t kind = (uint8_t)list.data[at];
        const char *url = list.data + at + 1;
        at += strlen(url) + 2;
        buffer_reset(&view->to);
        rc = buffer_append_string(&view->to, url);
        if (rc == RESULT_OK && export_view_passes(view, &view->to, NULL, &view->from)) {
            export_view_put_page(view, "from", page->index, &view->from);
            export_text(&view->rows, "to", url, view->to.length);
            export_number(&view->rows, "weight", 1);
            export_number(&view->rows, "cross", 1);
            export_real(&view->rows, "score", 0);
            put_kind(&view->rows, kind);
            export_number(&view->rows, "external", 1);
            export_row_end(&view->rows);
            rc = export_view_turn(view, rc);
        }
    }
    buffer_destroy(&list);
    return rc;
}

static Result export_links_of(ExportView *view, uint64_t index)
{
    LinkList list;
    WeightedLink link;
    PageRef page = {.index = index};
    Result rc = get_links(view, index, !view->options->arcs, &list);
    bool by_number = view->options->arcs || view->options->ids;
    if (rc == RESULT_OK && (!by_number || (list.n > 0 && view->where_source))) {
        rc = export_view_page(view, index, &page, &view->from);
    }
    while (rc == RESULT_OK && next_link(&list, &link)) {
        rc = link_export_is_wanted(view, index, &link) ? put_link(view, index, &link) : RESULT_OK;
        rc = export_view_turn(view, rc);
    }
    free(list.to);
    free(list.kinds);
    return rc != RESULT_OK || by_number ? rc : export_external(view, &page);
}

Result page_export_links(PageDB *db, const PageExportOptions *options)
{
    ExportView view;
    Result rc = export_view_begin(&view, db, options);
    for (uint64_t i = 0; i < view.n_pages && rc == RESULT_OK; i++) {
        rc = export_links_of(&view, i);
        rc = export_view_step(&view, rc);
    }
    return export_view_end(&view, rc);
}
