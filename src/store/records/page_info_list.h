/* Page info list: a linked list of PageInfo with their hashes.
 *
 * What: page_db_add returns one, so that schedulers learn which pages are new.
 * Owns: the list owns its infos.
 * Threads: a list belongs to one thread.
 * Source: seeds 000 and 003, "PageInfoList". */
#ifndef STORE_RECORDS_PAGE_INFO_LIST_H
#define STORE_RECORDS_PAGE_INFO_LIST_H

#include <stdint.h>

#include "store/records/page_info.h"

typedef struct PageInfoList {
    uint64_t hash;             /* page hash */
    PageInfo *page_info;       /* owned */
    struct PageInfoList *next; /* or NULL */
} PageInfoList;

/* A list of one; it owns pi from then on. NULL without memory: pi stays the caller's. */
PageInfoList *page_info_list_new(PageInfo *pi, uint64_t hash);
/* A new head in front of pil (which may be NULL). NULL without memory: nothing changed hands. */
PageInfoList *page_info_list_cons(PageInfoList *pil, PageInfo *pi, uint64_t hash);
/* The list and everything in it; NULL is accepted. */
void page_info_list_delete(PageInfoList *pil);

#endif
