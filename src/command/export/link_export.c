#include "command/export/link_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/export/export_view.h"
#include "command/export/page_answer.h"
#include "parse/html/html.h"
#include "store/pages/page_db_read.h"
#include "store/tables/external_rows.h"

/* Link texts: what is written on the links of a page and around them, out of its stored answer.
 *
 * What: the text of links is in the archive already, so the database does not have it: a page is
 * read from its WARC record and parsed once more.
 * Owns: its parser and, of the page that was read last, the texts.
 * Threads: one.
 * Errors: a page that is not stored, or cannot be read, has no texts. RESULT_MEMORY. */

typedef struct LinkTexts LinkTexts;

static void link_texts_delete(LinkTexts *texts);

#define PAGE_LINKS ((size_t)1 << 20)

struct LinkTexts {
    PagePlaces *places;
    PageAnswers *answers;
    HtmlParser *parser;
    PageLink *links; /* of the page, by URL, kind and place in the page */
    size_t n;
    size_t capacity;
};

/* directory holds the WARC files. most: bytes of an anchor's text, and of the text on either side.
 * RESULT_MEMORY, and errors of page_places_new. */
static Result link_texts_new(LinkTexts **out, PageDB *db, const char *directory, size_t most)
{
    HtmlOptions options = {
        .max_links = PAGE_LINKS, .forms = true, .no_digests = true, .link_text = most};
    LinkTexts *texts = calloc(1, sizeof *texts);
    Result rc = texts == NULL ? RESULT_MEMORY : page_places_new(&texts->places, db, directory);
    if (rc == RESULT_OK) {
        rc = page_answers_new(&texts->answers, directory, texts->places);
    }
    if (rc == RESULT_OK) {
        rc = html_parser_new(&texts->parser, &options);
    }
    if (rc != RESULT_OK) {
        link_texts_delete(texts);
        return rc;
    }
    *out = texts;
    return RESULT_OK;
}

static void link_texts_delete(LinkTexts *texts)
{
    if (texts != NULL) {
        html_parser_delete(texts->parser);
        page_answers_delete(texts->answers);
        page_places_delete(texts->places);
        free(texts->links);
        free(texts);
    }
}

/* Pages whose records could not be read. */
static uint64_t link_texts_damaged(const LinkTexts *texts)
{
    return page_answers_damaged(texts->answers);
}

static int link_texts_compare(const PageLink *link, const char *url, size_t length, unsigned kind)
{
    size_t n = link->length < length ? link->length : length;
    int order = memcmp(link->url, url, n);
    if (order == 0) {
        order = (link->length > length) - (link->length < length);
    }
    return order != 0 ? order : (link->kind > kind) - (link->kind < kind);
}

/* Equal ones stay in the order of the page: their URLs are copies, one behind the other. */
static int by_url(const void *a, const void *b)
{
    const PageLink *x = a;
    const PageLink *y = b;
    int order = link_texts_compare(x, y->url, y->length, y->kind);
    return order != 0 ? order
                      : (x->text->around > y->text->around) - (x->text->around < y->text->around);
}

/* Reads the page with this index and URL. */
static Result link_texts_read(LinkTexts *texts, uint64_t index, const char *url, size_t length)
{
    PagePlace place;
    PageBody body;
    texts->n = 0;
    if (!page_places_get(texts->places, index, &place)) {
        return RESULT_OK;
    }
    Result rc = page_answers_body(texts->answers, url, length, &place, &body);
    if (rc != RESULT_OK || !body.is_html) {
        return rc;
    }
    Page page;
    HtmlInput input = {.body = body.bytes,
                       .length = body.length,
                       .content_type = body.content_type,
                       .url = url,
                       .url_length = length};
    (void)html_parse(texts->parser, &input, &page); /* what was read counts */
    if (page.n_links > texts->capacity) {
        PageLink *links = reallocarray(texts->links, page.n_links, sizeof *links);
        if (links == NULL) {
            return RESULT_MEMORY;
        }
        texts->links = links;
        texts->capacity = page.n_links;
    }
    for (size_t i = 0; i < page.n_links; i++) {
        if (page.links[i].text != NULL) {
            texts->links[texts->n++] = page.links[i];
        }
    }
    qsort(texts->links, texts->n, sizeof *texts->links, by_url);
    return RESULT_OK;
}

/* The text of the first link of that page to url of that kind; NULL: there is none. */
static const PageLinkText *link_texts_find(const LinkTexts *texts, const char *url, size_t length,
                                           LinkKind kind)
{
    size_t low = 0;
    size_t high = texts->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (link_texts_compare(&texts->links[middle], url, length, (unsigned)kind) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found =
        low < texts->n && link_texts_compare(&texts->links[low], url, length, (unsigned)kind) == 0;
    return found ? texts->links[low].text : NULL;
}

/* ---- Export of links ---- */

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

static void forget_links(LinkList *list)
{
    free(list->to);
    free(list->kinds);
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

static void put_texts(ExportView *view, const LinkTexts *texts, const WeightedLink *link)
{
    static const PageLinkText none = {.anchor = "", .around = ""};
    const PageLinkText *text = link_texts_find(texts, buffer_string(&view->to), view->to.length,
                                               link_kind_of_byte(link->kind));
    text = text == NULL ? &none : text;
    export_text(&view->rows, "anchor", text->anchor, text->anchor_length);
    export_text(&view->rows, "text", text->around, text->around_length);
}

static Result put_link(ExportView *view, const LinkTexts *texts, uint64_t from,
                       const WeightedLink *link)
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
        if (texts != NULL) {
            put_texts(view, texts, link);
        }
    }
    export_row_end(&view->rows);
    return RESULT_OK;
}

static void put_external(ExportView *view, bool has_texts, uint64_t from, const char *url,
                         uint8_t kind)
{
    export_view_put_page(view, "from", from, &view->from);
    export_text(&view->rows, "to", url, view->to.length);
    export_number(&view->rows, "weight", 1);
    export_number(&view->rows, "cross", 1);
    export_real(&view->rows, "score", 0);
    put_kind(&view->rows, kind);
    export_number(&view->rows, "external", 1);
    if (has_texts) {
        export_text(&view->rows, "anchor", "", 0);
        export_text(&view->rows, "text", "", 0);
    }
    export_row_end(&view->rows);
}

/* Links out of scope: the last rows of their page, which is view->from. Their targets have no
 * number and no text. */
static Result export_external(ExportView *view, bool has_texts, const PageRef *page)
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
            put_external(view, has_texts, page->index, url, kind);
            rc = export_view_turn(view);
        }
    }
    buffer_destroy(&list);
    return rc;
}

static Result export_links_of(ExportView *view, LinkTexts *texts, uint64_t index)
{
    LinkList list;
    WeightedLink link;
    PageRef page = {.index = index};
    Result rc = get_links(view, index, !view->options->arcs, &list);
    bool by_number = view->options->arcs || view->options->ids;
    if (rc == RESULT_OK && (!by_number || (list.n > 0 && (view->where_source || texts != NULL)))) {
        rc = export_view_page(view, index, &page, &view->from);
    }
    if (rc == RESULT_OK && list.n > 0 && texts != NULL) {
        rc = link_texts_read(texts, index, buffer_string(&view->from), view->from.length);
    }
    while (rc == RESULT_OK && next_link(&list, &link)) {
        rc = link_export_is_wanted(view, index, &link) ? put_link(view, texts, index, &link)
                                                       : RESULT_OK;
        rc = rc == RESULT_OK ? export_view_turn(view) : rc;
    }
    forget_links(&list);
    return rc != RESULT_OK || by_number ? rc : export_external(view, texts != NULL, &page);
}

Result page_export_links(PageDB *db, const PageExportOptions *options)
{
    ExportView view;
    LinkTexts *texts = NULL;
    bool has_texts = options->link_text > 0 && options->archive != NULL && !options->arcs;
    Result rc =
        has_texts ? link_texts_new(&texts, db, options->archive, options->link_text) : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = export_view_begin(&view, db, options);
    for (uint64_t i = 0; i < view.n_pages && rc == RESULT_OK; i++) {
        rc = export_links_of(&view, texts, i);
        rc = rc == RESULT_OK ? export_view_step(&view) : rc;
    }
    if (texts != NULL && link_texts_damaged(texts) > 0) {
        (void)fprintf(stderr,
                      "ragno export: the stored answers of %" PRIu64
                      " pages could not be read; ragno verify says why\n",
                      link_texts_damaged(texts));
    }
    link_texts_delete(texts);
    return export_view_end(&view, rc);
}
