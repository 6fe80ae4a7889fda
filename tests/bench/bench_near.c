/* Near duplicates on pages of packages in many languages: near.precision, near.recall (of pages
 * that share at least nine tenths of their shingles with an earlier one), near.us_per_page (reading
 * the page left out).
 *
 * The pages are those below /usr/share/doc (or the folder named): PAGES of them at SCALE=1, of each
 * package and language as many as there are, in turn. Each gets its sketch as in a crawl, is looked
 * for among those before it, and is entered. The judge counts shingles himself: what five words in
 * a row of the visible text, digits being blanks, two pages share exactly. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/core/hash.h"
#include "base/memory/array.h"
#include "base/memory/buffer.h"
#include "base/memory/file.h"
#include "crawl/input_file.h"
#include "parse/html/html.h"
#include "parse/visible/visible.h"
#include "store/tables/near_rows.h"

#define PAGES   3000
#define WORDS   3   /* of a shingle, as in digest.h */
#define SHARED  0.9 /* what near pages have in common */
#define EXAMPLE "http://near.test/"

typedef struct BenchPage {
    char *path;
    uint64_t order; /* of its folder, and within it */
    uint64_t *shingles;
    size_t n;
    TextSketch sketch;
} BenchPage;

static BenchPage *pages;
static size_t n_pages;

static int take_file(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)place;
    const char *dot = strrchr(path, '.');
    if (type == FTW_F && info->st_size > 0 && dot != NULL &&
        (strcmp(dot, ".html") == 0 || strcmp(dot, ".htm") == 0)) {
        BenchPage page = {.path = strdup(path)};
        if (page.path == NULL || array_add(&pages, &n_pages, sizeof page, &page) != RESULT_OK) {
            exit(2);
        }
    }
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const BenchPage *)a)->path, ((const BenchPage *)b)->path);
}

static int compare_orders(const void *a, const void *b)
{
    uint64_t x = ((const BenchPage *)a)->order;
    uint64_t y = ((const BenchPage *)b)->order;
    return (x > y) - (x < y);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The pages of a folder come in turn with those of the others. */
static void mix_pages(void)
{
    qsort(pages, n_pages, sizeof *pages, compare_paths);
    uint64_t in_folder = 0;
    for (size_t i = 0; i < n_pages; i++) {
        size_t folder = (size_t)(strrchr(pages[i].path, '/') - pages[i].path);
        bool same = i > 0 && strncmp(pages[i].path, pages[i - 1].path, folder + 1) == 0;
        in_folder = same ? in_folder + 1 : 0;
        pages[i].order = in_folder << 32 | i;
    }
    qsort(pages, n_pages, sizeof *pages, compare_orders);
}

static void count_shingles(BenchPage *page, const char *text, size_t length)
{
    uint64_t words[WORDS] = {0};
    size_t n = 0;
    const char *end = text + length;
    for (const char *p = text; p < end;) {
        const char *word = p;
        while (p < end && (unsigned char)*p > ' ' && (*p < '0' || *p > '9')) {
            p++;
        }
        if (p > word) {
            memmove(words, words + 1, sizeof words - sizeof *words);
            words[WORDS - 1] = hash_64(word, (size_t)(p - word), 1);
            uint64_t shingle = hash_64(words, sizeof words, 2);
            if (++n >= WORDS &&
                array_add(&page->shingles, &page->n, sizeof shingle, &shingle) != RESULT_OK) {
                exit(2);
            }
        }
        p += p < end && p == word ? 1 : 0;
    }
    if (page->n == 0) {
        return;
    }
    qsort(page->shingles, page->n, sizeof *page->shingles, compare_numbers);
    size_t kept = 1;
    for (size_t i = 1; i < page->n; i++) {
        if (page->shingles[i] != page->shingles[kept - 1]) {
            page->shingles[kept++] = page->shingles[i];
        }
    }
    page->n = kept;
}

static double jaccard(const BenchPage *a, const BenchPage *b)
{
    size_t both = 0;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        bool same = a->shingles[i] == b->shingles[k];
        both += same ? 1 : 0;
        size_t step = same || a->shingles[i] < b->shingles[k] ? 1 : 0;
        k += same || step == 0 ? 1 : 0;
        i += step;
    }
    return both == 0 ? 0 : (double)both / (double)(a->n + b->n - both);
}

static void read_page(BenchPage *page, HtmlParser *parser, VisibleReader *reader)
{
    Buffer body;
    VisiblePage seen;
    Page found;
    if (input_file_read(page->path, &body) != 0) {
        exit(2);
    }
    HtmlInput input = {.body = buffer_string(&body),
                       .length = body.length,
                       .content_type = "text/html",
                       .url = EXAMPLE,
                       .url_length = sizeof EXAMPLE - 1};
    VisibleInput visible = {
        .body = input.body, .length = input.length, .content_type = "text/html"};
    if (html_parse(parser, &input, &found) == RESULT_OK &&
        visible_read(reader, &visible, &seen) == RESULT_OK) {
        page->sketch = found.sketch;
        count_shingles(page, seen.text, seen.length);
    }
    buffer_destroy(&body);
}

/* The page before `end` that has most in common with pages[end]. */
static double nearest(size_t end)
{
    double most = 0;
    const BenchPage *page = &pages[end];
    for (size_t i = 0; i < end; i++) {
        size_t few = page->n < pages[i].n ? page->n : pages[i].n;
        size_t many = page->n < pages[i].n ? pages[i].n : page->n;
        if ((double)few < SHARED * (double)many) {
            continue; /* it cannot be near */
        }
        double common = jaccard(page, &pages[i]);
        most = common > most ? common : most;
    }
    return most;
}

static void judge(NearRows *rows)
{
    unsigned told = 0;
    unsigned right = 0;
    unsigned all = 0;
    unsigned found = 0;
    unsigned sketched = 0;
    clock_t spent = 0;
    for (size_t i = 0; i < n_pages; i++) {
        NearMatch match = {.page = 0};
        if (!pages[i].sketch.exists) {
            continue; /* too short to say anything */
        }
        sketched++;
        clock_t before = clock();
        Result rc = near_rows_find(rows, &pages[i].sketch, i, &match);
        Result entered = near_rows_enter(rows, i, &pages[i].sketch, match.is_twin);
        spent += clock() - before;
        if (entered != RESULT_OK) {
            exit(2);
        }
        bool is_near = nearest(i) >= SHARED;
        told += rc == RESULT_OK;
        right += rc == RESULT_OK && jaccard(&pages[i], &pages[match.page]) >= SHARED;
        all += is_near;
        found += is_near && rc == RESULT_OK;
    }
    (void)fprintf(stderr, "%zu pages, %u with a sketch; told %u, right %u; near %u, found %u\n",
                  n_pages, sketched, told, right, all, found);
    (void)printf("near.precision = %.3f\n", told == 0 ? 1 : (double)right / told);
    (void)printf("near.recall = %.3f\n", all == 0 ? 1 : (double)found / all);
    (void)printf("near.us_per_page = %.1f us\n",
                 1e6 * (double)spent / CLOCKS_PER_SEC / (sketched == 0 ? 1 : sketched));
}

int main(int argc, char **argv)
{
    const char *scale_text = getenv("SCALE");
    double scale = scale_text == NULL ? 1 : strtod(scale_text, NULL);
    size_t most = (size_t)(scale * PAGES) + 1;
    HtmlParser *parser = NULL;
    VisibleReader *reader = NULL;
    MDB_env *env = NULL;
    NearRows rows = {.txn = NULL};
    char folder[] = "/tmp/bench_near.XXXXXX";
    const HtmlOptions html = {.sketch = true};
    const VisibleOptions visible = {.memory_bytes = 0};
    if (nftw(argc > 1 ? argv[1] : "/usr/share/doc", take_file, 32, FTW_PHYS) != 0 || n_pages == 0) {
        (void)fprintf(stderr, "bench_near: no pages of packages: make deps-bench\n");
        return 2;
    }
    mix_pages();
    n_pages = n_pages < most ? n_pages : most;
    if (html_parser_new(&parser, &html) != RESULT_OK ||
        visible_reader_new(&reader, &visible) != RESULT_OK || mkdtemp(folder) == NULL ||
        mdb_env_create(&env) != 0 || mdb_env_set_maxdbs(env, 2) != 0 ||
        mdb_env_set_mapsize(env, (size_t)256 << 20) != 0 ||
        mdb_env_open(env, folder, MDB_NOSYNC, 0600) != 0 ||
        mdb_txn_begin(env, NULL, 0, &rows.txn) != 0 ||
        near_rows_open(rows.txn, &rows) != RESULT_OK) {
        return 2;
    }
    for (size_t i = 0; i < n_pages; i++) {
        read_page(&pages[i], parser, reader);
    }
    judge(&rows);
    mdb_txn_abort(rows.txn);
    mdb_env_close(env);
    file_remove(folder);
    visible_reader_delete(reader);
    html_parser_delete(parser);
    return 0;
}
