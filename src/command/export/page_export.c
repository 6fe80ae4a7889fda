#include "command/export/page_export.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/thread/log.h"
#include "parse/html/html.h"
#include "command/export/export_pairs.h"

#define COMPONENT      "export"
#define PAGES_PER_TXN  2048u
#define DEFAULT_MEMORY ((size_t)64 << 20)

typedef struct Export {
    PageDB *db;
    const PageExportOptions *options;
    MDB_txn *txn;
    uint64_t n_pages; /* at the start */
    uint64_t n_steps; /* of the current transaction */
    ExportRows rows;
    Buffer from;
    Buffer to;
} Export;

static Result translate(Export *export, int code)
{
    switch (code) {
    case page_db_error_ok:
        return RESULT_OK;
    case page_db_error_memory:
        return RESULT_MEMORY;
    case page_db_error_no_page:
        return RESULT_NOT_FOUND;
    case page_db_error_locked:
        return RESULT_LOCKED;
    default:
        LOG_ERROR(COMPONENT, "database cannot be read", "error=\"%s\"",
                  export->db->error == NULL ? "" : export->db->error->message);
        return RESULT_DAMAGED;
    }
}

static Result export_start(Export *export, PageDB *db, const PageExportOptions *options)
{
    *export = (Export){.db = db, .options = options};
    buffer_init(&export->from, BUFFER_NO_LIMIT);
    buffer_init(&export->to, BUFFER_NO_LIMIT);
    export_rows_begin(&export->rows, options->file, options->arcs ? EXPORT_TSV : options->format,
                      options->header && !options->arcs);
    Result rc = translate(export, page_db_txn_begin(db, true, &export->txn));
    if (rc == RESULT_OK) {
        export->n_pages = page_db_n_pages(db, export->txn);
    }
    return rc;
}

/* Ends it; rc is what happened until now. */
static Result export_stop(Export *export, Result rc)
{
    if (export->txn != NULL) {
        page_db_txn_abort(export->db, export->txn);
    }
    Result written = export_rows_end(&export->rows);
    buffer_destroy(&export->from);
    buffer_destroy(&export->to);
    return rc == RESULT_OK ? written : rc;
}

/* Called between pages: nothing of the old transaction may be in use. */
static Result renew(Export *export)
{
    if (++export->n_steps % PAGES_PER_TXN != 0) {
        return export->rows.result;
    }
    page_db_txn_abort(export->db, export->txn);
    export->txn = NULL;
    Result rc = translate(export, page_db_txn_begin(export->db, true, &export->txn));
    return rc == RESULT_OK ? export->rows.result : rc;
}

static Result get_page(Export *export, uint64_t index, PageRef *page, Buffer *url)
{
    return translate(export, page_db_get(export->db, export->txn, index, page, url));
}

static void put_page(Export *export, const char *name, uint64_t index, const Buffer *url)
{
    if (export->options->ids || export->options->arcs) {
        export_number(&export->rows, name, index);
    } else {
        export_text(&export->rows, name, buffer_string(url), url->length);
    }
}

/* --- pages ------------------------------------------------------------------------------------ */

static void put_time(ExportRows *rows, const char *name, double seconds)
{
    char text[CLOCK_TEXT_BYTES];
    if (!(seconds > 0 && seconds < 1e11)) {
        export_nothing(rows, name);
        return;
    }
    (void)wall_format_iso((WallTime){(int64_t)llround(seconds * 1e6)}, text);
    export_text(rows, name, text, strlen(text));
}

/* The page that it was found on. */
static Result put_linked_from(Export *export, const PageRef *page)
{
    PageRef other;
    if (page->linked_from == PAGE_DB_NO_INDEX) {
        export_nothing(&export->rows, "linked_from");
        return RESULT_OK;
    }
    Result rc = RESULT_OK;
    if (!export->options->ids) {
        rc = get_page(export, page->linked_from, &other, &export->to);
    }
    if (rc == RESULT_OK) {
        put_page(export, "linked_from", page->linked_from, &export->to);
    }
    return rc;
}

static Result put_origin(Export *export, const char *name, uint32_t host, Buffer *origin)
{
    if (export->options->ids || export->options->arcs) {
        export_number(&export->rows, name, host);
        return RESULT_OK;
    }
    Result rc = translate(export, page_db_host_origin(export->db, export->txn, host, origin));
    if (rc == RESULT_OK) {
        export_text(&export->rows, name, buffer_string(origin), origin->length);
    }
    return rc;
}

static Result export_page(Export *export, uint64_t index)
{
    ExportRows *rows = &export->rows;
    PageRef page;
    char text[24];
    Result rc = get_page(export, index, &page, &export->from);
    if (rc != RESULT_OK) {
        return rc;
    }
    export_text(rows, "url", buffer_string(&export->from), export->from.length);
    export_number(rows, "index", index);
    (void)snprintf(text, sizeof text, "%016" PRIx64, page.hash);
    export_text(rows, "hash", text, 16);
    rc = put_origin(export, "host", page.host, &export->to);
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
    put_time(rows, "first_crawl", page.first_crawl);
    put_time(rows, "last_crawl", page.last_crawl);
    rc = put_linked_from(export, &page);
    if (rc == RESULT_OK) {
        (void)snprintf(text, sizeof text, "%016" PRIx64, page.content_hash64);
        export_text(rows, "content_hash", text, page.content_hash64 == 0 ? 0 : 16);
        export_row_end(rows);
    }
    return rc;
}

Result page_export_pages(PageDB *db, const PageExportOptions *options)
{
    Export export;
    Result rc = export_start(&export, db, options);
    for (uint64_t i = 0; i < export.n_pages && rc == RESULT_OK; i++) {
        rc = export_page(&export, i);
        rc = rc == RESULT_OK ? renew(&export) : rc;
    }
    return export_stop(&export, rc);
}

/* --- links ------------------------------------------------------------------------------------ */

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

static Result get_links(Export *export, uint64_t index, bool kinds, LinkList *list)
{
    *list = (LinkList){.to = NULL};
    Result rc = translate(export, page_db_get_links(export->db, export->txn, index, &list->to,
                                                    &list->n, &list->n_cross));
    if (rc == RESULT_OK && kinds && list->n > 0) {
        rc = translate(
            export, page_db_get_link_kinds(export->db, export->txn, index, list->n, &list->kinds));
    }
    list->i_same = list->n_cross;
    return rc;
}

static void forget_links(LinkList *list)
{
    free(list->to);
    free(list->kinds);
}

static bool is_wanted(const Export *export, uint64_t from, const WeightedLink *link)
{
    return link->to < export->n_pages && !(export->options->no_self && link->to == from) &&
           !(export->options->only_cross && !link->cross);
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

static Result put_link(Export *export, uint64_t from, const WeightedLink *link)
{
    PageRef target;
    const PageExportOptions *options = export->options;
    Result rc = options->arcs ? RESULT_OK : get_page(export, link->to, &target, &export->to);
    if (rc != RESULT_OK) {
        return rc;
    }
    put_page(export, "from", from, &export->from);
    put_page(export, "to", link->to, &export->to);
    if (!options->arcs) {
        export_number(&export->rows, "weight", link->weight);
        export_number(&export->rows, "cross", link->cross ? 1 : 0);
        export_real(&export->rows, "score", (double)target.score);
        put_kind(&export->rows, link->kind);
    }
    export_row_end(&export->rows);
    return RESULT_OK;
}

static Result export_links_of(Export *export, uint64_t index)
{
    LinkList list;
    WeightedLink link;
    PageRef page;
    Result rc = get_links(export, index, !export->options->arcs, &list);
    if (rc == RESULT_OK && list.n > 0 && !export->options->arcs && !export->options->ids) {
        rc = get_page(export, index, &page, &export->from);
    }
    while (rc == RESULT_OK && next_link(&list, &link)) {
        rc = is_wanted(export, index, &link) ? put_link(export, index, &link) : RESULT_OK;
    }
    forget_links(&list);
    return rc;
}

Result page_export_links(PageDB *db, const PageExportOptions *options)
{
    Export export;
    Result rc = export_start(&export, db, options);
    for (uint64_t i = 0; i < export.n_pages && rc == RESULT_OK; i++) {
        rc = export_links_of(&export, i);
        rc = rc == RESULT_OK ? renew(&export) : rc;
    }
    return export_stop(&export, rc);
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* The host of every page, in an unnamed temporary file. */
typedef struct HostColumn {
    FILE *file;
    uint32_t *hosts;
    size_t bytes;
} HostColumn;

static Result column_open(HostColumn *column, uint64_t n_pages)
{
    *column = (HostColumn){.bytes = (size_t)(n_pages + 1) * sizeof(uint32_t)};
    column->file = tmpfile();
    if (column->file == NULL || ftruncate(fileno(column->file), (off_t)column->bytes) != 0) {
        return result_of_errno(errno);
    }
    void *map =
        mmap(NULL, column->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(column->file), 0);
    if (map == MAP_FAILED) {
        return result_of_errno(errno);
    }
    column->hosts = map;
    return RESULT_OK;
}

static void column_close(HostColumn *column)
{
    if (column->hosts != NULL) {
        (void)munmap(column->hosts, column->bytes);
    }
    if (column->file != NULL) {
        (void)fclose(column->file);
    }
}

static Result fill_column(Export *export, HostColumn *column)
{
    Result rc = column_open(column, export->n_pages);
    if (rc == RESULT_OK && column->hosts == NULL) {
        rc = RESULT_INTERNAL;
    }
    for (uint64_t i = 0; i < export->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        rc = get_page(export, i, &page, &export->from);
        if (rc == RESULT_OK) {
            column->hosts[i] = page.host;
            rc = renew(export);
        }
    }
    return rc;
}

static Result collect_arcs(Export *export, const HostColumn *column, ExportPairs *pairs)
{
    Result rc = RESULT_OK;
    for (uint64_t i = 0; i < export->n_pages && rc == RESULT_OK; i++) {
        LinkList list;
        rc = get_links(export, i, false, &list);
        for (size_t k = 0; k < list.n && rc == RESULT_OK; k++) {
            if (list.to[k] < export->n_pages) {
                rc = export_pairs_add(pairs, column->hosts[i], column->hosts[list.to[k]], 1);
            }
        }
        forget_links(&list);
        rc = rc == RESULT_OK ? renew(export) : rc;
    }
    return rc;
}

static Result put_arc(void *context, const PairCount *arc)
{
    Export *export = context;
    if (export->options->no_self && arc->from == arc->to) {
        return RESULT_OK;
    }
    Result rc = put_origin(export, "from", arc->from, &export->from);
    if (rc == RESULT_OK) {
        rc = put_origin(export, "to", arc->to, &export->to);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (!export->options->arcs) {
        export_number(&export->rows, "weight", arc->count);
    }
    export_row_end(&export->rows);
    return renew(export);
}

Result page_export_hosts(PageDB *db, const PageExportOptions *options)
{
    Export export;
    HostColumn column = {.file = NULL};
    ExportPairs *pairs = NULL;
    Result rc = export_start(&export, db, options);
    if (rc == RESULT_OK) {
        rc = fill_column(&export, &column);
    }
    if (rc == RESULT_OK) {
        rc = export_pairs_new(&pairs,
                              options->memory_bytes == 0 ? DEFAULT_MEMORY : options->memory_bytes);
    }
    if (rc == RESULT_OK) {
        rc = collect_arcs(&export, &column, pairs);
    }
    if (rc == RESULT_OK) {
        rc = export_pairs_each(pairs, put_arc, &export);
    }
    export_pairs_delete(pairs);
    column_close(&column);
    return export_stop(&export, rc);
}
