#include "store/records/crawled_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"

CrawledPage *crawled_page_new(const char *url)
{
    CrawledPage *cp = calloc(1, sizeof *cp);
    PageLinks *links = calloc(1, sizeof *links);
    LinkInfo *link_info = calloc(PAGE_LINKS_MIN_LINKS, sizeof *link_info);
    char *copy = url == NULL ? NULL : strdup(url);
    if (cp == NULL || links == NULL || link_info == NULL || copy == NULL) {
        free(copy);
        free(link_info);
        free(links);
        free(cp);
        return NULL;
    }
    links->link_info = link_info;
    links->m_links = PAGE_LINKS_MIN_LINKS;
    cp->url = copy;
    cp->links = links;
    cp->time = (double)wall_seconds(wall_now());
    return cp;
}

void crawled_page_delete(CrawledPage *cp)
{
    if (cp == NULL) {
        return;
    }
    for (size_t i = 0; i < cp->links->n_links; i++) {
        free(cp->links->link_info[i].url);
    }
    free(cp->links->link_info);
    free(cp->links);
    free(cp->content_hash);
    free(cp->url);
    free(cp);
}

int crawled_page_add_link(CrawledPage *cp, const char *url, float score)
{
    if (cp == NULL || url == NULL) {
        return -1;
    }
    PageLinks *links = cp->links;
    if (links->n_links == links->m_links) {
        LinkInfo *more = reallocarray(links->link_info, links->m_links, 2 * sizeof *more);
        if (more == NULL) {
            return -1;
        }
        links->link_info = more;
        links->m_links *= 2;
    }
    char *copy = strdup(url);
    if (copy == NULL) {
        return -1;
    }
    links->link_info[links->n_links++] = (LinkInfo){.url = copy, .score = score};
    return 0;
}

const LinkInfo *crawled_page_get_link(const CrawledPage *cp, size_t i)
{
    return cp == NULL || i >= cp->links->n_links ? NULL : &cp->links->link_info[i];
}

size_t crawled_page_n_links(const CrawledPage *cp)
{
    return cp == NULL ? 0 : cp->links->n_links;
}

int crawled_page_set_hash(CrawledPage *cp, const char *hash, size_t hash_length)
{
    char *copy = NULL;
    if (cp == NULL || (hash == NULL && hash_length > 0)) {
        return -1;
    }
    if (hash_length > 0) {
        copy = malloc(hash_length);
        if (copy == NULL) {
            return -1;
        }
        memcpy(copy, hash, hash_length);
    }
    free(cp->content_hash);
    cp->content_hash = copy;
    cp->content_hash_length = hash_length;
    return 0;
}

int crawled_page_set_hash128(CrawledPage *cp, char *hash)
{
    return crawled_page_set_hash(cp, hash, 16);
}

int crawled_page_set_hash64(CrawledPage *cp, uint64_t hash)
{
    return crawled_page_set_hash(cp, (const char *)&hash, sizeof hash);
}

int crawled_page_set_hash32(CrawledPage *cp, uint32_t hash)
{
    return crawled_page_set_hash(cp, (const char *)&hash, sizeof hash);
}
