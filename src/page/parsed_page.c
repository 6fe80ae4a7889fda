#include "page/parsed_page.h"

#include <stdlib.h>
#include <string.h>

#include "page/archive.h"
#include "store/tables/revisit_table.h"

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
    bool has_text = (page->text_digest[0] | page->text_digest[1]) != 0;
    if (kind == CONTENT_TEXT && has_text) {
        hash[0] = page->text_digest[0];
        hash[1] = page->text_digest[1];
    } else if (kind == CONTENT_LINKS && page->n_links > 0) {
        hash[0] = page->links_hash;
        hash[1] = hash_mix(page->links_hash + UINT64_C(1));
    } else {
        hash[0] = page->body_hash[0];
        hash[1] = page->body_hash[1];
    }
}

/* ---- Parsed page ---- */

ParsedPage *parsed_page_new(FetchResult *fetch)
{
    ParsedPage *page = calloc(1, sizeof *page);
    if (page != NULL) {
        page->fetch = fetch;
        page->wall = HTTP_WALLS;
    }
    return page;
}

void parsed_page_move_link(ParsedPage *page, size_t to, size_t from)
{
    page->links[to] = page->links[from];
    page->link_hops[to] = page->link_hops[from];
    if (page->link_kinds != NULL) {
        page->link_kinds[to] = page->link_kinds[from];
    }
    if (page->link_keys != NULL) {
        page->link_keys[to] = page->link_keys[from];
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

/* "*" is no entity tag: as a condition it means "anything at all". */
static bool is_any(const char *etag)
{
    return strcmp(etag, "*") == 0;
}

static bool is_date(const char *text)
{
    int64_t unix_s = 0;
    return http_header_date(text, strlen(text), &unix_s);
}

void parsed_page_take_validators(ParsedPage *page, const HttpHeader *header)
{
    page->etag = validator_of(header, "ETag", REVISIT_ETAG_BYTES);
    if (page->etag != NULL && is_any(page->etag)) {
        free(page->etag);
        page->etag = NULL;
    }
    page->last_modified = validator_of(header, "Last-Modified", REVISIT_DATE_BYTES);
    if (page->last_modified != NULL && !is_date(page->last_modified)) {
        free(page->last_modified);
        page->last_modified = NULL;
    }
}

void parsed_page_settle(ParsedPage *page, ByteGate *gate)
{
    FetchResult *fetch = page->fetch;
    fetch_result_strip(fetch, fetch->kind == FETCHED_ROBOTS);
    size_t bytes = sizeof *page + sizeof *fetch + fetch->answer.body.capacity +
                   fetch->answer.decoded.capacity + page->links_size + page->question_length +
                   page->external_length;
    if (page->group != NULL) {
        bytes += sizeof *page->group + page->group->members.capacity + page->group->index.capacity;
    }
    byte_gate_move(&fetch->cost.share, gate, bytes);
}

void parsed_page_delete(ParsedPage *page)
{
    if (page != NULL) {
        fetch_result_delete(page->fetch);
        archive_group_delete(page->group);
        free(page->question);
        free(page->external);
        free(page->etag);
        free(page->last_modified);
        free(page->link_keys);
        free(page->dates);
        free(page->links); /* the other arrays are in the same allocation */
        free(page);
    }
}
