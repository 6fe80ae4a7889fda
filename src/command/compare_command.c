#include "command/compare_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/memory/embed.h"
#include "command/export/export_view.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "crawl/input_file.h"

#define TURN_PAGES 64u /* between two looks at the age of the transactions */

#define CHANGE_WORDS(WORD)                                                                         \
    WORD(CHANGE_NONE, "same")                                                                      \
    WORD(CHANGE_NEW, "new")                                                                        \
    WORD(CHANGE_GONE, "gone")                                                                      \
    WORD(CHANGE_CHANGED, "changed")                                                                \
    WORD(CHANGE_MOVED, "moved")                                                                    \
    WORD(CHANGE_UNSEEN, "unseen")
typedef enum Change { WORDS_ENUM(CHANGE_WORDS) CHANGES } Change;

static const char *const change_names[] = {WORDS_NAMES(CHANGE_WORDS)};

/* One of the two crawls. */
typedef struct CompareSide {
    PageDB *db;
    MDB_txn *txn;
    uint64_t n_pages; /* at the start */
    uint32_t n_hosts;
    uint64_t (*hosts)[CHANGES]; /* of each host of this side */
    Buffer url;
} CompareSide;

typedef struct Compare {
    CompareSide before;
    CompareSide after;
    ShortRead read; /* of after */
    ExportRows rows;
    Progress progress;
    bool by_host;
    Map moved; /* contents of gone pages -> index of the page that has them now, plus two; 1: none
                */
    uint64_t sums[CHANGES];
    uint64_t n_steps;
} Compare;

static bool is_page(const PageRef *page)
{
    return page->n_crawls > 0 &&
           ((page->status >= 200 && page->status < 300) || page->status == 304);
}

static bool is_redirect(const PageRef *page)
{
    return page->status >= 300 && page->status < 400 && page->status != 304;
}

/* A page that is not known has status 0 and was never crawled. */
static int compare_find(CompareSide *side, const Buffer *url, PageRef *page)
{
    uint64_t index = 0;
    *page = (PageRef){.index = PAGE_DB_NO_INDEX};
    int code = page_db_find(side->db, side->txn, url->data, url->length, &index);
    if (code == page_db_error_ok) {
        return page_db_get(side->db, side->txn, index, page, &side->url);
    }
    return code == page_db_error_no_page ? page_db_error_ok : code;
}

/* Both transactions begin anew now and then, and rows are written between them. */
static int compare_turn(Compare *compare)
{
    if (++compare->n_steps % TURN_PAGES != 0) {
        return page_db_error_ok;
    }
    page_db_txn_abort(compare->before.db, compare->before.txn);
    compare->before.txn = NULL;
    int code = short_read_turn(&compare->read, page_db_error_ok);
    compare->after.txn = compare->read.txn;
    progress_show(&compare->progress, compare->n_steps,
                  2 * compare->before.n_pages + 2 * compare->after.n_pages, compare->rows.n_rows,
                  mono_now());
    return code != page_db_error_ok
               ? code
               : page_db_txn_begin(compare->before.db, true, &compare->before.txn);
}

/* ---- what has changed ---- */

/* What has become of a page of before. */
static Change compare_fate(const PageRef *before, const PageRef *after)
{
    if (after->index == PAGE_DB_NO_INDEX || after->status == 404 || after->status == 410) {
        return CHANGE_GONE;
    }
    if (is_redirect(after)) {
        return CHANGE_MOVED;
    }
    if (!is_page(after)) {
        return CHANGE_UNSEEN;
    }
    return before->content_hash64 == after->content_hash64 ? CHANGE_NONE : CHANGE_CHANGED;
}

static uintptr_t compare_moved_to(const Compare *compare, const PageRef *page)
{
    return (uintptr_t)map_get(&compare->moved, map_key(page->content_hash64));
}

static int compare_note_gone(Compare *compare, const PageRef *before, const PageRef *after)
{
    if (compare_fate(before, after) != CHANGE_GONE || before->content_hash64 == 0 ||
        compare->moved.count >= COMPARE_MOST) {
        return page_db_error_ok;
    }
    Result rc = map_put(&compare->moved, map_key(before->content_hash64), (void *)(uintptr_t)1);
    return rc == RESULT_OK ? page_db_error_ok : page_db_error_memory;
}

static int compare_note_new(Compare *compare, const PageRef *after, const PageRef *before)
{
    if (is_page(before) || compare_moved_to(compare, after) != 1) {
        return page_db_error_ok;
    }
    return map_put(&compare->moved, map_key(after->content_hash64),
                   (void *)(uintptr_t)(after->index + 2)) == RESULT_OK
               ? page_db_error_ok
               : page_db_error_memory;
}

static void compare_row(Compare *compare, Change change, const Buffer *url, const Buffer *from,
                        const PageRef *before, const PageRef *after)
{
    ExportRows *rows = &compare->rows;
    export_word(rows, "change", change_names[change]);
    export_text(rows, "url", url->data, url->length);
    export_word(rows, "from", from == NULL ? NULL : buffer_string(from));
    export_signed(rows, "before", before->status);
    export_signed(rows, "after", after->status);
    export_row_end(rows);
}

static void compare_count(Compare *compare, Change change, CompareSide *side, const PageRef *page)
{
    compare->sums[change]++;
    if (side->hosts != NULL && page->host < side->n_hosts) {
        side->hosts[page->host][change]++;
    }
}

/* Where a page of before is now; its URL goes into after.url. PAGE_DB_NO_INDEX: not known. */
static int compare_target(Compare *compare, const PageRef *before, PageRef *after, bool redirects)
{
    CompareSide *side = &compare->after;
    uint64_t *to = NULL;
    size_t n = 0;
    size_t n_cross = 0;
    uint64_t target = PAGE_DB_NO_INDEX;
    int code = page_db_error_ok;
    if (redirects) {
        code = page_db_get_links(side->db, side->txn, after->index, &to, &n, &n_cross);
        target = code == page_db_error_ok && n > 0 ? to[0] : PAGE_DB_NO_INDEX;
        free(to);
    } else {
        uintptr_t moved = compare_moved_to(compare, before);
        target = moved >= 2 ? moved - 2 : PAGE_DB_NO_INDEX;
    }
    int32_t status = after->status;
    *after = (PageRef){.index = PAGE_DB_NO_INDEX, .status = status};
    if (code != page_db_error_ok || target == PAGE_DB_NO_INDEX) {
        return code;
    }
    code = page_db_get(side->db, side->txn, target, after, &side->url);
    after->status = redirects ? status : after->status;
    return code;
}

static int compare_tell_before(Compare *compare, const PageRef *before, const PageRef *found)
{
    PageRef after = *found;
    Change change = compare_fate(before, found);
    int code = page_db_error_ok;
    if (change == CHANGE_GONE || change == CHANGE_MOVED) {
        code = compare_target(compare, before, &after, change == CHANGE_MOVED);
        change = after.index != PAGE_DB_NO_INDEX ? CHANGE_MOVED : change;
    }
    if (code != page_db_error_ok) {
        return code;
    }
    compare_count(compare, change, &compare->before, before);
    if (compare->by_host || change == CHANGE_NONE || change == CHANGE_UNSEEN) {
        return code;
    }
    bool has_target = change == CHANGE_MOVED && after.index != PAGE_DB_NO_INDEX;
    compare_row(compare, change, has_target ? &compare->after.url : &compare->before.url,
                has_target ? &compare->before.url : NULL, before, &after);
    return code;
}

static int compare_tell_new(Compare *compare, const PageRef *after, const PageRef *before)
{
    if (is_page(before) || compare_moved_to(compare, after) == after->index + 2) {
        return page_db_error_ok;
    }
    compare_count(compare, CHANGE_NEW, &compare->after, after);
    if (!compare->by_host) {
        compare_row(compare, CHANGE_NEW, &compare->after.url, NULL, before, after);
    }
    return page_db_error_ok;
}

/* ---- walks ---- */

typedef int (*CompareVisit)(Compare *compare, const PageRef *page, const PageRef *other);

/* Calls visit for each page of one side, with what the other knows of its URL. */
static int compare_walk(Compare *compare, CompareSide *side, CompareSide *other, CompareVisit visit)
{
    int code = page_db_error_ok;
    for (uint64_t i = 0; code == page_db_error_ok && i < side->n_pages; i++) {
        PageRef page;
        PageRef there;
        code = page_db_get(side->db, side->txn, i, &page, &side->url);
        if (code == page_db_error_ok && is_page(&page)) {
            code = compare_find(other, &side->url, &there);
            if (code == page_db_error_ok) {
                code = visit(compare, &page, &there);
            }
        } else if (code == page_db_error_no_page) { /* forgotten */
            code = page_db_error_ok;
        }
        if (code == page_db_error_ok) {
            code = compare_turn(compare);
        }
    }
    return code;
}

static int compare_put_host(Compare *compare, const Buffer *origin, const uint64_t *before,
                            const uint64_t *after)
{
    uint64_t any = 0;
    for (unsigned c = 0; c < CHANGES; c++) {
        any += before[c] + after[c];
    }
    if (any == 0) {
        return page_db_error_ok;
    }
    export_text(&compare->rows, "host", origin->data, origin->length);
    for (unsigned c = 0; c < CHANGES; c++) {
        export_number(&compare->rows, change_names[c], before[c] + after[c]);
    }
    export_row_end(&compare->rows);
    return compare_turn(compare);
}

/* Hosts of before with what they have in after, then those that only after has. */
static int compare_hosts(Compare *compare)
{
    CompareSide *before = &compare->before;
    CompareSide *after = &compare->after;
    static const uint64_t none[CHANGES];
    int code = page_db_error_ok;
    for (uint32_t i = 0; code == page_db_error_ok && i < before->n_hosts + after->n_hosts; i++) {
        bool first = i < before->n_hosts;
        CompareSide *side = first ? before : after;
        CompareSide *other = first ? after : before;
        uint32_t host = first ? i : i - before->n_hosts;
        uint32_t there = 0;
        code = page_db_host_origin(side->db, side->txn, host, &side->url);
        if (code != page_db_error_ok) {
            break;
        }
        int found =
            page_db_host_find(other->db, other->txn, side->url.data, side->url.length, &there);
        bool known = found == page_db_error_ok && there < other->n_hosts;
        if (first) {
            code = compare_put_host(compare, &side->url, before->hosts[host],
                                    known ? after->hosts[there] : none);
        } else if (!known) {
            code = compare_put_host(compare, &side->url, none, after->hosts[host]);
        }
    }
    return code;
}

static int compare_all(Compare *compare)
{
    CompareSide *before = &compare->before;
    CompareSide *after = &compare->after;
    const struct {
        CompareSide *side;
        CompareSide *other;
        CompareVisit visit;
    } walks[] = {{before, after, compare_note_gone},
                 {after, before, compare_note_new},
                 {before, after, compare_tell_before},
                 {after, before, compare_tell_new}};
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        int code = compare_walk(compare, walks[i].side, walks[i].other, walks[i].visit);
        if (code != page_db_error_ok) {
            return code;
        }
    }
    return compare->by_host ? compare_hosts(compare) : page_db_error_ok;
}

/* ---- the command ---- */

static int compare_side_begin(CompareSide *side, bool by_host)
{
    side->n_pages = page_db_n_pages(side->db, side->txn);
    side->n_hosts = page_db_n_hosts(side->db, side->txn);
    if (by_host) {
        side->hosts = calloc((size_t)side->n_hosts + 1, sizeof *side->hosts);
    }
    return by_host && side->hosts == NULL ? page_db_error_memory : page_db_error_ok;
}

static int compare_begin(Compare *compare, FILE *out)
{
    int code = page_db_txn_begin(compare->before.db, true, &compare->before.txn);
    if (code == page_db_error_ok) {
        code = short_read_begin(&compare->read, compare->after.db, out);
        compare->after.txn = compare->read.txn;
    }
    if (code == page_db_error_ok) {
        code = compare_side_begin(&compare->before, compare->by_host);
    }
    return code == page_db_error_ok ? compare_side_begin(&compare->after, compare->by_host) : code;
}

static int compare_run(Compare *compare, OutputFile *output, ExportFormat format, bool quiet)
{
    export_rows_begin(&compare->rows, output->file, format, format == EXPORT_CSV);
    progress_begin(&compare->progress, "compare", "rows", progress_is_wanted(output->path), stderr,
                   mono_now());
    int code = compare_begin(compare, output->file);
    if (code == page_db_error_ok) {
        code = compare_all(compare);
    }
    short_read_pause(&compare->read);
    page_db_txn_abort(compare->before.db, compare->before.txn);
    Result rc = export_rows_end(&compare->rows);
    if (code == SHORT_READ_OVER) {
        rc = compare->read.error == 0 ? RESULT_CLOSED : result_of_errno(compare->read.error);
    }
    progress_end(&compare->progress);
    if (code != SHORT_READ_OVER && code != page_db_error_ok) {
        (void)fprintf(stderr, "ragno compare: a database cannot be read: ragno verify\n");
        (void)output_file_close(output, rc);
        return crawl_exit_status(code);
    }
    if (rc != RESULT_OK && rc != RESULT_CLOSED) {
        (void)fprintf(stderr, "ragno compare: %s cannot be written: %s\n",
                      output->path == NULL ? "standard output" : output->path,
                      rc == RESULT_FULL ? "no space is left" : result_name(rc));
    }
    rc = output_file_close(output, rc);
    if (rc == RESULT_OK && !quiet && !output->is_gone) {
        const uint64_t *sums = compare->sums;
        (void)fprintf(stderr,
                      "ragno compare: %" PRIu64 " pages are the same, %" PRIu64 " changed, %" PRIu64
                      " moved, %" PRIu64 " gone, %" PRIu64 " new; %" PRIu64
                      " of the first were not seen in the second\n",
                      sums[CHANGE_NONE], sums[CHANGE_CHANGED], sums[CHANGE_MOVED],
                      sums[CHANGE_GONE], sums[CHANGE_NEW], sums[CHANGE_UNSEEN]);
    }
    return short_read_signal() != 0 ? 128 + short_read_signal() : exit_status_of(rc);
}

EMBED(compare_usage, "src/command/compare_command.txt");

static int compare_open(Compare *compare, char *const *directories)
{
    struct stat one;
    struct stat other;
    if (stat(directories[0], &one) == 0 && stat(directories[1], &other) == 0 &&
        one.st_dev == other.st_dev && one.st_ino == other.st_ino) { /* LMDB opens a file once */
        (void)fprintf(stderr,
                      "ragno compare: %s and %s are the same crawl; compare it with a "
                      "backup of it (ragno backup DIR TO)\n",
                      directories[0], directories[1]);
        return EXIT_USAGE;
    }
    int status = crawl_open("compare", directories[0], true, &compare->before.db);
    return status == 0 ? crawl_open("compare", directories[1], true, &compare->after.db) : status;
}

int compare_main(int argc, char **argv)
{
    Compare *compare = calloc(1, sizeof *compare);
    OutputFile output = {.file = NULL};
    ExportFormat format = EXPORT_TSV;
    const char *path = NULL;
    bool quiet = false;
    if (compare == NULL) {
        return EXIT_INTERNAL;
    }
    const CommandOption options[] = {
        {"hosts", 0, COMMAND_FLAG, .to = &compare->by_host},
        {"format", 0, COMMAND_WORD, .to = &format, .words = EXPORT_WORDS},
        {"output", 'o', COMMAND_TEXT, .to = &path},
        {"quiet", 'q', COMMAND_FLAG, .to = &quiet}};
    CommandLine line = {"compare", compare_usage, COMMAND_ROWS(options), .words_least = 2,
                        .words_most = 2};
    buffer_init(&compare->before.url, BUFFER_NO_LIMIT);
    buffer_init(&compare->after.url, BUFFER_NO_LIMIT);
    int status = command_line_take(&line, argc, argv);
    if (status == 0) {
        status = compare_open(compare, line.words);
    }
    if (status == 0 && output_file_open(&output, "compare", path) != RESULT_OK) {
        status = EXIT_IO;
    }
    if (status == 0) {
        status = compare_run(compare, &output, format, quiet);
    }
    (void)page_db_delete(compare->before.db);
    (void)page_db_delete(compare->after.db);
    map_destroy(&compare->moved);
    buffer_destroy(&compare->before.url);
    buffer_destroy(&compare->after.url);
    free(compare->before.hosts);
    free(compare->after.hosts);
    free(compare);
    return status == COMMAND_HELPED ? 0 : status;
}
