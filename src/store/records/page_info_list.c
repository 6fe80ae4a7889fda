#include "store/records/page_info_list.h"

#include <stdlib.h>

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
