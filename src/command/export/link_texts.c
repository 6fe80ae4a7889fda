#include "command/export/link_texts.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_LINKS ((size_t)1 << 20)

struct LinkTexts {
    PagePlaces *places;
    PageAnswers *answers;
    HtmlParser *parser;
    PageLink *links; /* of the page, by URL, kind and place in the page */
    size_t n;
    size_t capacity;
};

Result link_texts_new(LinkTexts **out, PageDB *db, const char *directory, size_t most)
{
    HtmlOptions options = {
        .max_links = PAGE_LINKS, .forms = true, .no_digests = true, .link_text = most};
    LinkTexts *texts = calloc(1, sizeof *texts);
    Result rc = texts == NULL ? RESULT_MEMORY : page_places_new(&texts->places, db, directory);
    if (rc == RESULT_OK) {
        rc = page_answers_new(&texts->answers, directory, texts->places);
    }
    if (rc == RESULT_OK) {
        rc = html_parser_new(&texts->parser, &options);
    }
    if (rc != RESULT_OK) {
        link_texts_delete(texts);
        return rc;
    }
    *out = texts;
    return RESULT_OK;
}

void link_texts_delete(LinkTexts *texts)
{
    if (texts != NULL) {
        html_parser_delete(texts->parser);
        page_answers_delete(texts->answers);
        page_places_delete(texts->places);
        free(texts->links);
        free(texts);
    }
}

uint64_t link_texts_damaged(const LinkTexts *texts)
{
    return page_answers_damaged(texts->answers);
}

static int link_texts_compare(const PageLink *link, const char *url, size_t length, unsigned kind)
{
    size_t n = link->length < length ? link->length : length;
    int order = memcmp(link->url, url, n);
    if (order == 0) {
        order = (link->length > length) - (link->length < length);
    }
    return order != 0 ? order : (link->kind > kind) - (link->kind < kind);
}

/* Equal ones stay in the order of the page: their URLs are copies, one behind the other. */
static int by_url(const void *a, const void *b)
{
    const PageLink *x = a;
    const PageLink *y = b;
    int order = link_texts_compare(x, y->url, y->length, y->kind);
    return order != 0 ? order
                      : (x->text->around > y->text->around) - (x->text->around < y->text->around);
}

Result link_texts_read(LinkTexts *texts, uint64_t index, const char *url, size_t length)
{
    PagePlace place;
    PageBody body;
    texts->n = 0;
    if (!page_places_get(texts->places, index, &place)) {
        return RESULT_OK;
    }
    Result rc = page_answers_body(texts->answers, url, length, &place, &body);
    if (rc != RESULT_OK || !body.is_html) {
        return rc;
    }
    Page page;
    HtmlInput input = {.body = body.bytes,
                       .length = body.length,
                       .content_type = body.content_type,
                       .url = url,
                       .url_length = length};
    (void)html_parse(texts->parser, &input, &page); /* what was read counts */
    if (page.n_links > texts->capacity) {
        PageLink *links = reallocarray(texts->links, page.n_links, sizeof *links);
        if (links == NULL) {
            return RESULT_MEMORY;
        }
        texts->links = links;
        texts->capacity = page.n_links;
    }
    for (size_t i = 0; i < page.n_links; i++) {
        if (page.links[i].text != NULL) {
            texts->links[texts->n++] = page.links[i];
        }
    }
    qsort(texts->links, texts->n, sizeof *texts->links, by_url);
    return RESULT_OK;
}

const PageLinkText *link_texts_find(const LinkTexts *texts, const char *url, size_t length,
                                    LinkKind kind)
{
    size_t low = 0;
    size_t high = texts->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (link_texts_compare(&texts->links[middle], url, length, (unsigned)kind) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found =
        low < texts->n && link_texts_compare(&texts->links[low], url, length, (unsigned)kind) == 0;
    return found ? texts->links[low].text : NULL;
}
