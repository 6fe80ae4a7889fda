#include "store/records/page_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"

PageRequest *page_request_new(size_t n_urls)
{
    PageRequest *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return NULL;
    }
    request->m_urls = n_urls == 0 ? 1 : n_urls;
    request->urls = calloc(request->m_urls, sizeof *request->urls);
    if (request->urls == NULL) {
        free(request);
        return NULL;
    }
    return request;
}

void page_request_delete(PageRequest *request)
{
    if (request == NULL) {
        return;
    }
    for (size_t i = 0; i < request->n_urls; i++) {
        free(request->urls[i]);
    }
    free(request->urls);
    free(request);
}

int page_request_add_url(PageRequest *request, const char *url)
{
    char *copy = strdup(url);
    if (copy == NULL) {
        return -1;
    }
    if (page_request_take_url(request, copy) != 0) {
        free(copy);
        return -1;
    }
    return 0;
}

int page_request_take_url(PageRequest *request, char *url)
{
    if (array_reserve(&request->urls, &request->m_urls, request->n_urls + 1, sizeof url) !=
        RESULT_OK) {
        return -1;
    }
    request->urls[request->n_urls++] = url;
    return 0;
}
