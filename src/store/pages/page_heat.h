/* How often the hottest domains are crawled: PageDB's domain temperatures.
 *
 * What: page_db_set_domain_temp and page_db_get_domain_crawl_rate of page_db.h, and how they learn
 * of pages that are added.
 * Threads: any; PageDBStore.mutex guards the temperatures. */
#ifndef STORE_PAGES_PAGE_HEAT_H
#define STORE_PAGES_PAGE_HEAT_H

#include "store/pages/page_db.h"

/* Tells the domain temperatures of pages that were added. Schedulers, which write pages in
 * transactions of their own, call it after their commit. */
void page_db_heat(PageDB *db, const CrawledPage *const *pages, size_t n);

#endif
