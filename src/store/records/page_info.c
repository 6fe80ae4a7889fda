#include "store/records/page_info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Page info list ---- */

PageInfoList *page_info_list_cons(PageInfoList *pil, PageInfo *pi, uint64_t hash)
{
    PageInfoList *head = malloc(sizeof *head);
    if (head != NULL) {
        *head = (PageInfoList){.hash = hash, .page_info = pi, .next = pil};
    }
    return head;
}

PageInfoList *page_info_list_new(PageInfo *pi, uint64_t hash)
{
    return page_info_list_cons(NULL, pi, hash);
}

void page_info_list_delete(PageInfoList *pil)
{
    while (pil != NULL) {
        PageInfoList *next = pil->next;
        page_info_delete(pil->page_info);
        free(pil);
        pil = next;
    }
}

/* ---- All that PageDB knows about a page ---- */

#define CTIME_BYTES     26
#define CTIME_SHOWN     24
#define URL_SHOWN_BYTES 511

PageInfo *page_info_allocate(size_t url_length, size_t hash_length)
{
    PageInfo *pi = malloc(sizeof *pi + url_length + 1 + hash_length);
    if (pi != NULL) {
        memset(pi, 0, sizeof *pi);
        pi->url = (char *)(pi + 1);
        pi->url[url_length] = '\0';
        pi->content_hash = hash_length == 0 ? NULL : pi->url + url_length + 1;
        pi->content_hash_length = hash_length;
    }
    return pi;
}

void page_info_delete(PageInfo *pi)
{
    if (pi == NULL) {
        return;
    }
    /* What a user has put in place of ours is on the heap by itself. */
    if (pi->url != (char *)(pi + 1)) {
        free(pi->url);
        free(pi->content_hash);
    }
    free(pi);
}

/* Years beyond four digits do not fit the fixed width. */
static int page_info_print_time(double seconds, char text[CTIME_BYTES])
{
    if (!(seconds > -6.0e10 && seconds < 2.5e11)) {
        return -1;
    }
    time_t t = (time_t)seconds;
    return ctime_r(&t, text) == NULL ? -1 : 0;
}

int page_info_print(const PageInfo *pi, char *out)
{
    char first[CTIME_BYTES], last[CTIME_BYTES];
    if (page_info_print_time(pi->first_crawl, first) != 0 ||
        page_info_print_time(pi->last_crawl, last) != 0) {
        return -1;
    }
    int n = snprintf(out, PAGE_INFO_PRINT_BYTES, "%.*s %.*s %.2e %.2e %.*s", CTIME_SHOWN, first,
                     CTIME_SHOWN, last, (double)pi->n_crawls, (double)pi->n_changes,
                     URL_SHOWN_BYTES, pi->url);
    return n < 0 || n >= PAGE_INFO_PRINT_BYTES ? -1 : n;
}

float page_info_rate(const PageInfo *pi)
{
    double delta = pi->last_crawl - pi->first_crawl;
    if (pi->n_crawls == 0 || !(delta > 0) || isinf(delta)) {
        return -1.0F;
    }
    return (float)(((double)pi->n_changes + 1) / delta);
}

int page_info_is_seed(const PageInfo *pi)
{
    return strncmp(pi->url, "_seed_", 6) == 0;
}
