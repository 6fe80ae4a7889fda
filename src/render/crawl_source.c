#include "render/crawl_source.h"

#include <math.h>
#include <string.h>

#include "cluster/link/stub.h"
#include "fetch/transfer/fetch_result.h"
#include "parse/host/domain.h"

Result crawl_source_init(CrawlSource *source, PageDB *db, const char *directory,
                         size_t memory_bytes, RenderScopeWord scope)
{
    *source = (CrawlSource){.db = db, .scope = scope};
    url_init(&source->page);
    url_init(&source->url);
    buffer_init(&source->text, BUFFER_NO_LIMIT);
    return archive_source_new(&source->archive, directory, memory_bytes);
}

void crawl_source_destroy(CrawlSource *source)
{
    archive_source_delete(source->archive);
    buffer_destroy(&source->text);
    url_destroy(&source->page);
    url_destroy(&source->url);
}

Result crawl_source_serve(CrawlSource *source, const char *url, bool is_far)
{
    source->is_far = is_far;
    return url_parse(&source->page, NULL, url, strlen(url));
}

static bool crawl_source_is_same_host(const CrawlSource *source)
{
    const Url *page = &source->page;
    const Url *url = &source->url;
    size_t length = page->host_end - page->host_start;
    return url->host_end - url->host_start == length &&
           memcmp(page->href + page->host_start, url->href + url->host_start, length) == 0;
}

static bool crawl_source_is_same_domain(const CrawlSource *source)
{
    Domain page = domain_of_url(&source->page);
    Domain url = domain_of_url(&source->url);
    return page.length == url.length && memcmp(page.name, url.name, page.length) == 0;
}

/* Whether a requisite may live where this URL does. */
static bool crawl_source_is_in_scope(const CrawlSource *source)
{
    switch (source->scope) {
    case RENDER_SCOPE_ANY:
        return true;
    case RENDER_SCOPE_DOMAIN:
        return crawl_source_is_same_domain(source);
    case RENDER_SCOPE_HOST:
        return crawl_source_is_same_host(source);
    }
    return false;
}

ArchiveVisit crawl_source_visit(const PageRef *page)
{
    return (ArchiveVisit){.status = page->status,
                          .time = (WallTime){llround(page->last_crawl * 1e6)}};
}

bool crawl_source_may_come(const PageRef *page)
{
    return page->level != PAGE_DB_NO_LEVEL && page->n_crawls == 0 && !page_is_stub(page);
}

/* What the database says; *known: it has the URL, and visited it last like this. */
static RenderVerdict crawl_source_judge(CrawlSource *source, const char *url, size_t length,
                                        bool *known, ArchiveVisit *visit)
{
    MDB_txn *txn = NULL;
    uint64_t index = 0;
    PageRef page = {.n_crawls = 0};
    *known = false;
    if (page_db_txn_begin(source->db, true, &txn) != page_db_error_ok) {
        return RENDER_GONE;
    }
    *known = page_db_find(source->db, txn, url, length, &index) == page_db_error_ok &&
             page_db_get(source->db, txn, index, &page, &source->text) == page_db_error_ok;
    page_db_txn_abort(source->db, txn);
    *visit = crawl_source_visit(&page); /* without a page the newest */
    if (!*known || crawl_source_may_come(&page)) {
        return RENDER_LACKING;
    }
    if (page_is_stub(&page)) {
        return RENDER_DENIED; /* its answer is in that agent's archive */
    }
    if (page.n_crawls > 0) {
        return RENDER_ANSWERED;
    }
    switch (page.status) {
    case 0: /* refused when it was found: depth, quota */
    case STATUS_ROBOTS:
    case STATUS_SCOPE:
    case STATUS_BLOCKED:
    case STATUS_DENIED:
    case STATUS_QUOTA:
    case STATUS_TRAP:
    case STATUS_PRIVATE:
        return RENDER_DENIED;
    default:
        return RENDER_GONE;
    }
}

RenderVerdict crawl_source_ask(void *context, const char *url, RenderAnswer *answer)
{
    CrawlSource *source = context;
    ArchiveVisit visit = {.status = 0};
    bool known = false;
    if (url_parse(&source->url, NULL, url, strlen(url)) != RESULT_OK) {
        return RENDER_GONE;
    }
    if (!crawl_source_is_in_scope(source)) {
        return RENDER_DENIED;
    }
    RenderVerdict verdict =
        crawl_source_judge(source, source->url.href, source->url.length, &known, &visit);
    if (known && verdict != RENDER_ANSWERED) {
        return verdict;
    }
    verdict = archive_source_answer(source->archive, url, visit, answer);
    if (verdict != RENDER_LACKING) {
        return verdict;
    }
    bool is_too_far = source->is_far && !crawl_source_is_same_domain(source);
    RenderVerdict unknown = is_too_far ? RENDER_DENIED : RENDER_LACKING;
    return known ? RENDER_GONE : unknown;
}
