/* Crawl source: answers pages that are rendered from what this crawl has fetched.
 *
 * What: a URL is looked up in PageDB first, which knows what the archive cannot say:
 *
 *   scheduled, and never answered         lacking: it may come
 *   answered                              the archive has it; else it was not to be stored: gone
 *   refused (robots.txt, scope, filters)  denied
 *   failed for good                       gone
 *   another agent's                       denied: the URL was handed over, its answer stays there
 *   not known                             the archive's answer to a URL that is near
 *                                         (archive_source.h), else lacking
 *
 * Of hosts that render.scope shuts out everything is denied, and what is not known yet of hosts
 * outside of the page's registered domain is denied when its round is beyond render.hops.
 * Owns: its ArchiveSource. The database is borrowed.
 * Threads: one.
 * Errors: what cannot be read is gone. */
#pragma once

#include "parse/url/url.h"
#include "render/archive_source.h"
#include "rules/config_words.h"
#include "store/pages/page_db_read.h"

typedef struct CrawlSource {
    PageDB *db;
    ArchiveSource *archive;
    RenderScopeWord scope;
    Url page;    /* that is rendered */
    bool is_far; /* nothing new of other domains is taken for its sake */
    Url url;
    Buffer text;
} CrawlSource;

/* directory: of the WARC files. memory_bytes: of answers that are kept. RESULT_MEMORY; it is to be
 * destroyed all the same. */
Result crawl_source_init(CrawlSource *source, PageDB *db, const char *directory,
                         size_t memory_bytes, RenderScopeWord scope);
void crawl_source_destroy(CrawlSource *source);
/* The page that asks from now on. is_far: this round is beyond render.hops. RESULT_INVALID: it has
 * no URL. */
Result crawl_source_serve(CrawlSource *source, const char *url, bool is_far);
/* RenderSource.ask; context is the CrawlSource. */
RenderVerdict crawl_source_ask(void *context, const char *url, RenderAnswer *answer);

/* What the archive is asked for a page by. */
ArchiveVisit crawl_source_visit(const PageRef *page);
/* Whether something may still come of a page of the crawl: it is scheduled here, and was not
 * answered yet. */
bool crawl_source_may_come(const PageRef *page);
