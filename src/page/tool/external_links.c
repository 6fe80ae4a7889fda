#include "page/tool/external_links.h"

#include <stdlib.h>
#include <string.h>

void external_links_init(ExternalLinks *links)
{
    buffer_init(&links->list, EXTERNAL_LINKS_BYTES);
    links->n = 0;
}

void external_links_destroy(ExternalLinks *links)
{
    buffer_destroy(&links->list);
}

void external_links_forget(ExternalLinks *links)
{
    buffer_reset(&links->list);
    links->n = 0;
}

void external_links_add(ExternalLinks *links, uint8_t kind, const char *url, size_t length,
                        size_t most)
{
    char byte = (char)kind;
    if (links->n >= most || links->list.length + length + 2 > EXTERNAL_LINKS_BYTES) {
        return;
    }
    size_t before = links->list.length;
    links->n++;
    if (buffer_append(&links->list, &byte, 1) != RESULT_OK ||
        buffer_append(&links->list, url, length) != RESULT_OK ||
        buffer_append(&links->list, "", 1) != RESULT_OK) {
        links->list.length = before;
    }
}

char *external_links_copy(const ExternalLinks *links, size_t *length)
{
    *length = 0;
    char *copy = links->list.length == 0 ? NULL : malloc(links->list.length);
    if (copy != NULL) {
        memcpy(copy, links->list.data, links->list.length);
        *length = links->list.length;
    }
    return copy;
}
