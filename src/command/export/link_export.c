#include "command/export/link_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/html/html.h"
#include "store/pages/page_db_read.h"
#include "store/tables/external_rows.h"

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
    Buffer list;
    size_t at = 0;
    buffer_init(&list, BUFFER_NO_LIMIT);
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
            rc = export_view_turn(view);
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
        rc = rc == RESULT_OK ? export_view_turn(view) : rc;
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
        rc = rc == RESULT_OK ? export_view_step(&view) : rc;
    }
    return export_view_end(&view, rc);
}
