#include "parsed_page.h"

#include <stdlib.h>

#include "archive.h"

ParsedPage *parsed_page_new(FetchResult *fetch)
{
    ParsedPage *page = calloc(1, sizeof *page);
    if (page != NULL) {
        page->fetch = fetch;
    }
    return page;
}

void parsed_page_delete(ParsedPage *page)
{
    if (page != NULL) {
        fetch_result_delete(page->fetch);
        archive_group_delete(page->group);
        free(page->link_keys);
        free(page->links); /* the other arrays are in the same allocation */
        free(page);
    }
}
