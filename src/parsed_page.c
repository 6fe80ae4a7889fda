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

void parsed_page_settle(ParsedPage *page, ByteGate *gate)
{
    FetchResult *fetch = page->fetch;
    fetch_result_strip(fetch, fetch->kind == FETCHED_ROBOTS);
    size_t bytes = sizeof *page + sizeof *fetch + fetch->body.capacity + page->links_size;
    if (page->group != NULL) {
        bytes += sizeof *page->group + page->group->members.capacity + page->group->index.capacity;
    }
    byte_gate_move(&fetch->share, gate, bytes);
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
