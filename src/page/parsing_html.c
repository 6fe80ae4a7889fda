#include "page/parsing_html.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "page/parsing_links.h"

/* ---- content codings ---- */

HttpField parsing_html_coding(Parser *parser, const HttpHeader *header)
{
    HttpField field = {.value = NULL, .value_length = 0};
    (void)http_header_find_list(header, "Content-Encoding", &parser->coding, &field);
    return field;
}

void parsing_html_note_decoding(FetchResult *fetch, DecodeStatus status)
{
    switch (status) {
    case DECODE_OK:
        break;
    case DECODE_LIMIT:
        fetch->answer.truncated = TRUNCATED_LENGTH;
        break;
    case DECODE_RATIO:
        fetch->answer.status = STATUS_DECODING;
        break;
    case DECODE_TRUNCATED:
    case DECODE_BROKEN:
        if (fetch->answer.truncated == TRUNCATED_NOT) {
            fetch->answer.truncated = TRUNCATED_DISCONNECT;
        }
        break;
    case DECODE_MEMORY:
        LOG_WARN("parse", "no memory to decode", "url=%s", fetch->request.url);
        break;
    }
}

/* ---- links ---- */

typedef struct Reading {
    Parser *parser;
    ParsedPage *page;
    size_t n_header_links; /* kept before the document was read */
    bool took_any;         /* before the document said nofollow */
} Reading;

/* A link of the document, for its description, while there is memory. */
static void list_link(Parser *parser, const PageLink *link)
{
    if (parser->arena.used_bytes > parser->arena.limit_bytes / 2) {
        return; /* the rest is for the links that are followed */
    }
    if (parser->n_listed == parser->listed_capacity) {
        size_t capacity = parser->listed_capacity == 0 ? 256 : parser->listed_capacity * 2;
        PageLink *listed = realloc(parser->listed, capacity * sizeof *listed);
        if (listed == NULL) {
            return;
        }
        parser->listed = listed;
        parser->listed_capacity = capacity;
    }
    PageLink *copy = &parser->listed[parser->n_listed];
    *copy = *link;
    copy->url = arena_copy(&parser->arena, link->url, link->length);
    parser->n_listed += copy->url != NULL;
}

static void take_link(void *context, const PageLink *link, unsigned robots)
{
    Reading *reading = context;
    Parser *parser = reading->parser;
    ParsedPage *page = reading->page;
    parser->n_told++;
    if (parser->describe) {
        list_link(parser, link);
    }
    if ((page->refused_hooks & 1u << HOOK_FOLLOW) != 0) {
        return;
    }
    page->robots |= robots;
    bool may_follow = (page->robots & PAGE_NOFOLLOW) == 0;
    reading->took_any = reading->took_any || may_follow;
    if (may_follow || parser->options->embeds) {
        parsing_links_take(parser, page, link);
    }
}

static void restart_links(void *context)
{
    Reading *reading = context;
    reading->parser->n_told = 0;
    reading->parser->n_listed = 0;
    parsing_links_rewind(reading->parser, reading->n_header_links);
}

/* The whole of a page of which less is kept. False: only what is kept can be read. */
static bool read_long_page(Parser *parser, ParsedPage *page, const HttpHeader *header,
                           const HtmlInput *input, Result *rc)
{
    FetchResult *fetch = page->fetch;
    const Buffer *body = parser->body;
    const Buffer *raw = &fetch->answer.body;
    if (!fetch->answer.spool.is_open && parser->decoded != DECODE_LIMIT) {
        return false;
    }
    parser->long_page = parser->long_page == NULL ? long_page_new() : parser->long_page;
    if (parser->long_page == NULL) {
        return false;
    }
    HttpField coding = parsing_html_coding(parser, header);
    /* What was taken as plain whatever its header says is plain to the end. */
    bool is_plain = raw->length == body->length && body->length > 0 &&
                    memcmp(raw->data, body->data, body->length) == 0;
    LongPageInput whole = {.answer = &fetch->answer,
                           .encoding = is_plain ? NULL : coding.value,
                           .encoding_length = is_plain ? 0 : coding.value_length,
                           .bounds = {.max_bytes = parser->options->max_page_bytes,
                                      .max_ratio = parser->options->max_ratio},
                           .decoder = parser->decoder,
                           .html = parser->html,
                           .page = input};
    LongPageResult result;
    *rc = long_page_read(parser->long_page, &whole, &parser->found, &result);
    if (result.bytes_read == 0) {
        return false;
    }
    page->bytes_read = result.bytes_read;
    page->unread = result.decoded != DECODE_OK || fetch->answer.spool.is_cut;
    page->body_hash[0] = result.hash.high;
    page->body_hash[1] = result.hash.low;
    parsing_html_note_decoding(fetch, result.decoded);
    return true;
}

static void parsing_html_begin_reading(Parser *parser)
{
    parser->found = (Page){.n_links = 0};
    parser->has_found = true;
    parser->n_told = 0;
    parser->n_listed = 0;
}

static void end_reading(Parser *parser)
{
    parser->found.links = parser->listed;
    parser->found.n_links = parser->n_listed;
    parser->n_beyond += parser->found.n_links_dropped;
}

static HtmlInput parsing_html_input_of(const Parser *parser, const ParsedPage *page,
                                       const char *content_type, Reading *reading)
{
    const char *url = page->fetch->request.url;
    return (HtmlInput){.body = buffer_string(parser->body),
                       .length = parser->body->length,
                       .content_type = content_type,
                       .url = url,
                       .url_length = strlen(url),
                       .taker = {.take = take_link, .restart = restart_links, .context = reading}};
}

void parsing_html_sheet(Parser *parser, ParsedPage *page, const char *content_type)
{
    Reading reading = {.parser = parser, .page = page, .n_header_links = parser->n_kept};
    HtmlInput input = parsing_html_input_of(parser, page, content_type, &reading);
    parsing_html_begin_reading(parser);
    if (html_parse_sheet(parser->html, &input, &parser->found) == RESULT_MEMORY) {
        LOG_INFO("parse", "style sheet larger than parse.memory", "url=%s",
                 page->fetch->request.url);
    }
    end_reading(parser);
}

static void read_document(Parser *parser, ParsedPage *page, const HttpHeader *header,
                          const HtmlInput *input)
{
    Result rc = RESULT_OK;
    parsing_html_begin_reading(parser);
    if (!read_long_page(parser, page, header, input, &rc)) {
        rc = html_parse(parser->html, input, &parser->found);
    }
    if (rc == RESULT_MEMORY) {
        LOG_INFO("parse", "page larger than parse.memory", "url=%s", page->fetch->request.url);
    }
}

/* The lang attribute of <html>, else Content-Language when that names one. */
static void take_language(ParsedPage *page, const Page *found, const HttpHeader *header)
{
    HttpField field;
    if (found->language != NULL) {
        memcpy(page->language, found->language, strlen(found->language) + 1);
    } else if (http_header_find(header, "Content-Language", &field)) {
        (void)language_tag_read(field.value, field.value_length, page->language);
    }
}

void parsing_html_document(Parser *parser, ParsedPage *page, const HttpHeader *header,
                           const char *content_type)
{
    const Page *found = &parser->found;
    bool follows = (page->refused_hooks & 1u << HOOK_FOLLOW) == 0;
    bool embeds = parser->options->embeds;
    Reading reading = {.parser = parser, .page = page, .n_header_links = parser->n_kept};
    HtmlInput input = parsing_html_input_of(parser, page, content_type, &reading);
    read_document(parser, page, header, &input);
    page->robots |= found->robots;
    if ((page->robots & PAGE_NOFOLLOW) != 0 && follows) {
        if (!embeds) {
            parsing_links_rewind(parser, reading.n_header_links);
            stats_add(&parser->stats->refused[REFUSED_NOFOLLOW], parser->n_told);
        } else if (reading.took_any) {
            /* Links were kept that must not be, and may hide embeds: once more, knowing that. */
            parsing_links_rewind(parser, reading.n_header_links);
            read_document(parser, page, header, &input);
        }
    }
    end_reading(parser);
    take_language(page, found, header);
    page->simhash = found->simhash;
    memcpy(page->text_digest, found->text_digest, sizeof page->text_digest);
}
