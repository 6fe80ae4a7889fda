#include "command/export/page_export.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "base/core/clock.h"
#include "page/parsed_page.h"
#include "parse/usage/usage.h"
#include "command/export/page_answer.h"
#include "cluster/link/via_table.h"
#include "cluster/wire/link_block.h"

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

/* "train-ai+tdm"; empty for none. */
static void put_usages(ExportRows *rows, const char *name, unsigned bits)
{
    Buffer text = {.limit = 256};
    if (bits != 0 && usage_print(bits, &text) == RESULT_OK) {
        export_text(rows, name, buffer_string(&text), text.length);
    } else {
        export_nothing(rows, name);
    }
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

typedef struct Archive {
    PagePlaces *places; /* NULL: nothing of it is wanted */
    PageAnswers *answers;
} Archive;

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
    put_usages(rows, "usage_allowed", answer.allowed);
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

/* ---- pages ---- */

static Result export_page(ExportView *view, Archive *archive, uint64_t index)
{
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
    rc = put_linked_from(view, &page);
    if (rc == RESULT_OK) {
        (void)snprintf(text, sizeof text, "%016" PRIx64, page.content_hash64);
        export_text(rows, "content_hash", text, page.content_hash64 == 0 ? 0 : 16);
        put_usages(rows, "usage_denied", page.n_crawls > 0 ? usage_of_flags(page.flags) : 0);
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
    Archive archive;
    Result opened = page_export_archive_open(&archive, db, options->archive); /* has transactions */
    Result rc = export_view_begin(&view, db, options);
    rc = rc == RESULT_OK ? opened : rc;
    for (uint64_t i = 0; i < view.n_pages && rc == RESULT_OK; i++) {
        rc = export_page(&view, &archive, i);
        rc = rc == RESULT_OK ? export_view_step(&view) : rc;
    }
    uint64_t damaged = archive.answers == NULL ? 0 : page_answers_damaged(archive.answers);
    if (damaged > 0) {
        (void)fprintf(stderr,
                      "ragno export: the stored answers of %" PRIu64
                      " pages could not be read; ragno verify says why\n",
                      damaged);
    }
    page_answers_delete(archive.answers);
    page_places_delete(archive.places);
    return export_view_end(&view, rc);
}
