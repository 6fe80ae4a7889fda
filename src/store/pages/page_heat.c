#include "store/pages/page_heat.h"

#include "store/page_tables/page_store.h"
#include "store/pages/page_error.h"

PageDBError page_db_set_domain_temp(PageDB *db, size_t n_domains, float window)
{
    int rc = page_db_check(db, true, "page_db_set_domain_temp");
    if (rc != page_db_error_ok) {
        return (PageDBError)rc;
    }
    if (n_domains == 0 || !(window > 0.0f)) {
        return (PageDBError)page_db_fail(
            db, page_db_error_invalid,
            n_domains == 0 ? "page_db_set_domain_temp: n_domains is 0, expected 1 or more"
                           : "page_db_set_domain_temp: window is not above 0 seconds");
    }
    DomainTemp *fresh = domain_temp_new(n_domains, window);
    if (fresh == NULL) {
        return (PageDBError)page_db_fail(db, page_db_error_memory,
                                         "page_db_set_domain_temp: no memory for so many domains");
    }
    mutex_lock(&db->store->mutex);
    DomainTemp *old = db->domain_temp;
    db->domain_temp = fresh;
    mutex_unlock(&db->store->mutex);
    domain_temp_delete(old);
    return page_db_error_ok;
}

float page_db_get_domain_crawl_rate(PageDB *db, uint32_t domain_hash)
{
    if (db == NULL) {
        return 0;
    }
    mutex_lock(&db->store->mutex);
    float temp = db->domain_temp == NULL ? 0 : domain_temp_get(db->domain_temp, domain_hash);
    mutex_unlock(&db->store->mutex);
    return temp;
}

void page_db_heat(PageDB *db, const CrawledPage *const *pages, size_t n)
{
    mutex_lock(&db->store->mutex);
    for (size_t i = 0; db->domain_temp != NULL && i < n; i++) {
        domain_temp_update(db->domain_temp, pages[i]->time);
        domain_temp_heat(db->domain_temp, page_db_hash_get_domain(page_db_hash(pages[i]->url)));
    }
    mutex_unlock(&db->store->mutex);
}
