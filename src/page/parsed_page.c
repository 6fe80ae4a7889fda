#include "page/parsed_page.h"

#include <stdlib.h>
#include <string.h>

#include "page/archive.h"
#include "store/tables/revisit_rows.h"

/* ---- What of a page counts as its content ---- */

ContentKind content_hash_wanted(const Config *config)
{
    switch ((ContentHashWord)config->parse_content_hash) {
    case CONTENT_HASH_BODY:
        return CONTENT_BODY;
    case CONTENT_HASH_TEXT:
        return CONTENT_TEXT;
    case CONTENT_HASH_LINKS:
        return CONTENT_LINKS;
    case CONTENT_HASH_AUTO:
        break;
    }
    return config_is_continuous(config) ? CONTENT_TEXT : CONTENT_BODY;
}

void content_hash_of(const ParsedPage *page, ContentKind kind, uint64_t hash[2])
{
    bool has_text = (page->hashes.text[0] | page->hashes.text[1]) != 0;
    if (kind == CONTENT_TEXT && has_text) {
        hash[0] = page->hashes.text[0];
        hash[1] = page->hashes.text[1];
    } else if (kind == CONTENT_LINKS && page->links.n > 0) {
        hash[0] = page->hashes.links;
        hash[1] = hash_mix(page->hashes.links + UINT64_C(1));
    } else {
        hash[0] = page->hashes.body[0];
        hash[1] = page->hashes.body[1];
    }
}

/* ---- Parsed page ---- */

ParsedPage *parsed_page_new(FetchResult *fetch)
{
    ParsedPage *page = calloc(1, sizeof *page);
    if (page != NULL) {
        page->fetch = fetch;
        page->verdict.wall = HTTP_WALLS;
    }
    return page;
}

void parsed_page_move_link(ParsedPage *page, size_t to, size_t from)
{
    page->links.list[to] = page->links.list[from];
    page->links.hops[to] = page->links.hops[from];
    if (page->links.page_keys != NULL) {
        page->links.page_keys[to] = page->links.page_keys[from];
    }
    if (page->links.kinds != NULL) {
        page->links.kinds[to] = page->links.kinds[from];
    }
    if (page->links.keys != NULL) {
        page->links.keys[to] = page->links.keys[from];
    }
}

static char *validator_of(const HttpHeader *header, const char *name, size_t most)
{
    HttpField field;
    if (!http_header_find(header, name, &field) || field.value_length == 0 ||
        field.value_length > most) {
        return NULL;
    }
    for (size_t i = 0; i < field.value_length; i++) {
        unsigned char c = (unsigned char)field.value[i];
        if (c < ' ' || c == 0x7f) {
            return NULL;
        }
    }
    return strndup(field.value, field.value_length); /* without memory: none, that is all */
}

void parsed_page_take_validators(ParsedPage *page, const HttpHeader *header)
{
    char *etag = validator_of(header, "ETag", REVISIT_ETAG_BYTES);
    char *date = validator_of(header, "Last-Modified", REVISIT_DATE_BYTES);
    int64_t unix_s = 0;
    if (etag != NULL && strcmp(etag, "*") != 0) { /* which means "anything at all" */
        page->about.etag = etag;
        etag = NULL;
    }
    if (date != NULL && http_header_date(date, strlen(date), &unix_s)) {
        page->about.last_modified = date;
        date = NULL;
    }
    free(etag);
    free(date);
}

void parsed_page_settle(ParsedPage *page, ByteGate *gate)
{
    FetchResult *fetch = page->fetch;
    fetch_result_strip(fetch, fetch->kind == FETCHED_ROBOTS);
    size_t bytes = sizeof *page + sizeof *fetch + fetch->answer.body.capacity +
                   fetch->answer.decoded.capacity + page->links.size +
                   page->verdict.question_length + page->links.external_length;
    if (page->archive.group != NULL) {
        bytes += sizeof *page->archive.group + page->archive.group->members.capacity +
                 page->archive.group->index.capacity;
    }
    byte_gate_move(&fetch->cost.share, gate, bytes);
}

void parsed_page_delete(ParsedPage *page)
{
    if (page != NULL) {
        fetch_result_delete(page->fetch);
        archive_group_delete(page->archive.group);
        archive_group_delete(page->archive.picture);
        free(page->verdict.question);
        free(page->links.external);
        free(page->about.etag);
        free(page->about.last_modified);
        free(page->links.keys);
        free(page->links.dates);
        free(page->links.list); /* the other arrays are in the same allocation */
        free(page);
    }
}
