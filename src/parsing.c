#include "parsing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/queue.h"
#include "base/thread.h"
#include "parse/decode.h"
#include "parse/html.h"
#include "parse/http_header.h"
#include "parse/robots_meta.h"
#include "parse/url.h"

#define THREADS_MAX  64u
#define BATCH        16u
#define SEEN_SLOTS   4096u /* of the table that finds a page's repeated links, at first */

typedef struct Parser {
    Parsing *parsing;
    Thread thread;
    HtmlParser *html;
    Decoder *decoder;
    ArchiveRecorder *recorder; /* NULL without an archive */
    Buffer body;      /* decoded */
    Url base;
    Url target;
    uint64_t *seen;   /* hashes of the links of this page: open addressing */
    size_t seen_slots;
    size_t seen_count;
    const PageLink **kept;
    size_t kept_capacity;
    PageLink header_links[2];
    char *header_text[2];
} Parser;

struct Parsing {
    ParsingOptions options;
    const Scope *scope;
    Stats *stats;
    void (*sink)(void *context, ParsedPage *page);
    ParsingSkipped skipped;
    void *context;
    Queue queue;
    Parser parsers[THREADS_MAX];
    unsigned n_parsers;
};

/* ---- links --------------------------------------------------------------------------------------- */

static bool is_embed(uint8_t kind)
{
    switch ((LinkKind)kind) {
    case LINK_A:
    case LINK_AREA:
    case LINK_FRAME:
    case LINK_IFRAME:
    case LINK_META:
    case LINK_FORM:
    case LINK_HEADER:
    case LINK_REDIRECT:
    case LINK_SITEMAP:
        return false;
    case LINK_LINK:
    case LINK_IMG:
    case LINK_SCRIPT:
    case LINK_MEDIA:
    case LINK_EMBED:
    case LINK_OBJECT:
    case LINK_INPUT:
    case LINK_BODY:
    case LINK_KINDS:
        break;
    }
    return true;
}

static uint8_t hop_of(const PageLink *link)
{
    if (link->kind == LINK_REDIRECT) {
        return 'R';
    }
    return link->kind == LINK_SITEMAP ? 'S' : is_embed(link->kind) ? 'E' : 'L';
}

/* True when the hash was not in the table of this page's links. */
static bool note_seen(Parser *parser, uint64_t hash)
{
    if ((parser->seen_count + 1) * 2 > parser->seen_slots) {
        size_t slots = parser->seen_slots == 0 ? SEEN_SLOTS : parser->seen_slots * 2;
        uint64_t *table = calloc(slots, sizeof *table);
        if (table == NULL) {
            return true;
        }
        for (size_t i = 0; i < parser->seen_slots; i++) {
            uint64_t h = parser->seen[i];
            size_t k = (size_t)h & (slots - 1);
            while (h != 0 && table[k] != 0) {
                k = (k + 1) & (slots - 1);
            }
            if (h != 0) {
                table[k] = h;
            }
        }
        free(parser->seen);
        parser->seen = table;
        parser->seen_slots = slots;
    }
    hash |= hash == 0;
    size_t i = (size_t)hash & (parser->seen_slots - 1);
    while (parser->seen[i] != 0) {
        if (parser->seen[i] == hash) {
            return false;
        }
        i = (i + 1) & (parser->seen_slots - 1);
    }
    parser->seen[i] = hash;
    parser->seen_count++;
    return true;
}

static void forget_seen(Parser *parser)
{
    if (parser->seen_slots > SEEN_SLOTS) {
        free(parser->seen);
        parser->seen = NULL;
        parser->seen_slots = 0;
    } else if (parser->seen_count > 0) {
        memset(parser->seen, 0, parser->seen_slots * sizeof *parser->seen);
    }
    parser->seen_count = 0;
}

/* REFUSALS when this occurrence of a link is to be followed; another one of the same URL may be. */
static Refusal refuse_occurrence(const Parser *parser, const PageLink *link)
{
    const ParsingOptions *options = &parser->parsing->options;
    if (!options->embeds && is_embed(link->kind)) {
        return REFUSED_KIND;
    }
    if (!options->follow_nofollow && (link->flags & LINK_NOFOLLOW) != 0) {
        return REFUSED_NOFOLLOW;
    }
    return REFUSALS;
}

static Result keep_link(Parser *parser, size_t n_kept, const PageLink *link)
{
    if (n_kept == parser->kept_capacity) {
        size_t capacity = parser->kept_capacity == 0 ? 256 : parser->kept_capacity * 2;
        const PageLink **kept = realloc(parser->kept, capacity * sizeof *kept);
        if (kept == NULL) {
            return RESULT_MEMORY;
        }
        parser->kept = kept;
        parser->kept_capacity = capacity;
    }
    parser->kept[n_kept] = link;
    return RESULT_OK;
}

static void select_links(Parser *parser, const ParsedPage *page, const PageLink *links, size_t n,
                         size_t *n_kept)
{
    Parsing *parsing = parser->parsing;
    for (size_t i = 0; i < n; i++) {
        Refusal refusal = refuse_occurrence(parser, &links[i]);
        if (refusal == REFUSALS) {
            if (!note_seen(parser, hash_64(links[i].url, links[i].length, 0))) {
                continue;
            }
            refusal = scope_refuses(parsing->scope, links[i].url, links[i].length);
        }
        if (refusal != REFUSALS) {
            stats_add(&parsing->stats->refused[refusal], 1);
            if (refusal != REFUSED_KIND) {
                parsing->skipped(parsing->context, links[i].url, links[i].length, refusal,
                                 page->fetch->url);
            }
        } else if (keep_link(parser, *n_kept, &links[i]) == RESULT_OK) {
            (*n_kept)++;
        }
    }
}

/* Copies what was kept into one allocation that travels with the page. */
static Result copy_links(const Parser *parser, ParsedPage *page, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += parser->kept[i]->length + 1u;
    }
    char *memory = n == 0 ? NULL : malloc(n * (sizeof(LinkInfo) + 1) + bytes);
    if (memory == NULL) {
        return n == 0 ? RESULT_OK : RESULT_MEMORY;
    }
    page->links = (LinkInfo *)(void *)memory;
    page->link_hops = (uint8_t *)memory + n * sizeof(LinkInfo);
    page->link_bytes = memory + n * (sizeof(LinkInfo) + 1);
    char *next = page->link_bytes;
    for (size_t i = 0; i < n; i++) {
        const PageLink *link = parser->kept[i];
        memcpy(next, link->url, link->length + 1u);
        page->links[i] = (LinkInfo){.url = next, .score = 1.0f};
        page->link_hops[i] = hop_of(link);
        next += link->length + 1u;
    }
    page->n_links = n;
    return RESULT_OK;
}

/* ---- one page ---------------------------------------------------------------------------------------- */

/* Location and Refresh: links that are in the header. */
static size_t header_links(Parser *parser, const ParsedPage *page, const HttpHeader *header)
{
    HttpField field;
    const char *reference[2] = {NULL, NULL};
    size_t length[2] = {0, 0};
    uint8_t kind[2] = {LINK_REDIRECT, LINK_HEADER};
    int64_t seconds = 0;
    size_t n = 0;
    if (page->fetch->status >= 300 && page->fetch->status < 400 &&
        http_header_find(header, "Location", &field)) {
        reference[0] = field.value;
        length[0] = field.value_length;
    }
    if (!http_header_find(header, "Refresh", &field) ||
        !http_header_refresh(field.value, field.value_length, &seconds, &reference[1],
                             &length[1])) {
        length[1] = 0;
    }
    for (size_t i = 0; i < 2; i++) {
        free(parser->header_text[i]);
        parser->header_text[i] = NULL;
        if (length[i] > 0 &&
            url_parse(&parser->base, NULL, page->fetch->url, strlen(page->fetch->url)) ==
                RESULT_OK &&
            url_parse(&parser->target, &parser->base, reference[i], length[i]) == RESULT_OK) {
            parser->header_text[i] = strndup(parser->target.href, parser->target.length);
            if (parser->header_text[i] != NULL) {
                parser->header_links[n++] = (PageLink){.url = parser->header_text[i],
                                                       .length = parser->target.length,
                                                       .kind = kind[i]};
            }
        }
    }
    return n;
}

static bool looks_like_html(const HttpContentType *type, const Buffer *body)
{
    if (type->type_length > 0) {
        return http_header_is_type(type, "text/html") ||
               http_header_is_type(type, "application/xhtml+xml");
    }
    const char *text = buffer_string(body);
    text += strspn(text, " \t\r\n\f\xef\xbb\xbf");
    return *text == '<';
}

static void undo_coding(Parser *parser, ParsedPage *page, const HttpHeader *header)
{
    FetchResult *fetch = page->fetch;
    HttpField field = {.value = NULL, .value_length = 0};
    (void)http_header_find(header, "Content-Encoding", &field);
    parser->body.limit = parser->parsing->options.max_body_bytes;
    buffer_trim(&parser->body, parser->parsing->options.max_body_bytes);
    DecodeStatus status =
        decode_content(parser->decoder, field.value, field.value_length, fetch->body.data,
                       fetch->body.length, &parser->body, parser->parsing->options.max_ratio);
    switch (status) {
    case DECODE_OK:
        break;
    case DECODE_LIMIT:
        fetch->truncated = TRUNCATED_LENGTH;
        break;
    case DECODE_RATIO:
        fetch->status = STATUS_DECODING;
        break;
    case DECODE_TRUNCATED:
    case DECODE_BROKEN:
        if (fetch->truncated == TRUNCATED_NOT) {
            fetch->truncated = TRUNCATED_DISCONNECT;
        }
        break;
    case DECODE_MEMORY:
        LOG_WARN("parse", "no memory to decode", "url=%s", fetch->url);
        break;
    }
}

static void note_type(ParsedPage *page, const HttpContentType *type)
{
    size_t n = type->type_length < sizeof page->mime - 1 ? type->type_length
                                                          : sizeof page->mime - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)type->type[i];
        page->mime[i] = c <= ' ' || c >= 0x7f ? '?' : c >= 'A' && c <= 'Z' ? (char)(c | 32) : (char)c;
    }
    page->mime[n] = '\0';
}

static void parse_html(Parser *parser, ParsedPage *page, const char *content_type, size_t *n_kept)
{
    HtmlInput input = {.body = buffer_string(&parser->body),
                       .length = parser->body.length,
                       .content_type = content_type,
                       .url = page->fetch->url,
                       .url_length = strlen(page->fetch->url)};
    Page found = {.n_links = 0};
    Result rc = html_parse(parser->html, &input, &found);
    if (rc == RESULT_MEMORY) {
        LOG_INFO("parse", "page larger than parse.memory", "url=%s", page->fetch->url);
    }
    page->robots |= found.robots;
    page->simhash = found.simhash;
    memcpy(page->text_digest, found.text_digest, sizeof page->text_digest);
    if (found.n_links_dropped > 0) {
        stats_add(&parser->parsing->stats->refused[REFUSED_MANY], found.n_links_dropped);
    }
    if ((page->robots & PAGE_NOFOLLOW) != 0) {
        stats_add(&parser->parsing->stats->refused[REFUSED_NOFOLLOW], found.n_links);
    } else {
        select_links(parser, page, found.links, found.n_links, n_kept);
    }
}

/* Every answer becomes records of the archive, whatever it is worth to the crawl. */
static void store_page(Parser *parser, ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    if (parser->recorder == NULL || fetch->kind == FETCHED_NOTHING || fetch->status < 100) {
        return;
    }
    page->group = archive_record(parser->recorder, fetch);
    if (page->group != NULL && page->group->has_payload) {
        (void)warc_digest_format(&page->group->payload, page->sha1);
    }
}

static void parse_page(Parser *parser, ParsedPage *page)
{
    FetchResult *fetch = page->fetch;
    HttpHeader header;
    if (fetch->kind != FETCHED_PAGE || fetch->status < 100 || !fetch->final ||
        http_header_parse(&header, buffer_string(&fetch->header), fetch->header.length) !=
            RESULT_OK) {
        return;
    }
    undo_coding(parser, page, &header);
    HttpField field = {.value = NULL, .value_length = 0};
    char *content_type = NULL;
    HttpContentType type = {.type = NULL};
    if (http_header_find(&header, "Content-Type", &field)) {
        type = http_header_content_type(field.value, field.value_length);
        content_type = strndup(field.value, field.value_length);
        note_type(page, &type);
    }
    size_t position = 0;
    HttpField tag;
    while (http_header_next_named(&header, "X-Robots-Tag", &position, &tag)) {
        page->robots |= robots_meta_header(tag.value, tag.value_length,
                                           parser->parsing->options.robots_agent);
    }
    if (parser->body.length > 0) {
        Hash128 h = hash_128(parser->body.data, parser->body.length);
        page->body_hash[0] = h.high;
        page->body_hash[1] = h.low;
    }
    size_t n_kept = 0;
    size_t n = header_links(parser, page, &header);
    select_links(parser, page, parser->header_links, n, &n_kept);
    if (fetch->status >= 200 && fetch->status < 300 && looks_like_html(&type, &parser->body)) {
        parse_html(parser, page, content_type, &n_kept);
    }
    free(content_type);
    if (copy_links(parser, page, n_kept) != RESULT_OK) {
        LOG_ERROR("parse", "links lost for lack of memory", "url=%s n=%zu", fetch->url, n_kept);
    }
    page->parsed = true;
    forget_seen(parser);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static void *parser_main(void *argument)
{
    Parser *parser = argument;
    Parsing *parsing = parser->parsing;
    void *items[BATCH];
    size_t n = 0;
    thread_step("waiting");
    while (queue_pop(&parsing->queue, items, BATCH, &n, MONO_NEVER) == RESULT_OK) {
        thread_step("parsing");
        MonoTime start = mono_now();
        for (size_t i = 0; i < n; i++) {
            ParsedPage *page = parsed_page_new(items[i]);
            if (page == NULL) {
                LOG_ERROR("parse", "page lost for lack of memory", "url=%s",
                          ((FetchResult *)items[i])->url);
                fetch_result_delete(items[i]); /* it stays scheduled: fetched again after a restart */
                continue;
            }
            store_page(parser, page);
            parse_page(parser, page);
            parsing->sink(parsing->context, page);
        }
        stats_add(&parsing->stats->parser_busy_us,
                  (uint64_t)(mono_now().ns - start.ns) / 1000);
        thread_step("waiting");
    }
    return NULL;
}

static Result parser_init(Parser *parser, Parsing *parsing, Archive *archive)
{
    const ParsingOptions *options = &parsing->options;
    HtmlOptions html = {.max_links = options->max_links,
                        .max_link_bytes = options->max_url_length,
                        .forms = options->forms,
                        .robots_agent = options->robots_agent,
                        .memory_bytes = options->memory_bytes};
    parser->parsing = parsing;
    buffer_init(&parser->body, options->max_body_bytes);
    url_init(&parser->base);
    url_init(&parser->target);
    Result rc = html_parser_new(&parser->html, &html);
    if (rc == RESULT_OK) {
        rc = decoder_new(&parser->decoder);
    }
    return rc == RESULT_OK && archive != NULL ? archive_recorder_new(&parser->recorder, archive)
                                              : rc;
}

static void parser_destroy(Parser *parser)
{
    html_parser_delete(parser->html);
    decoder_delete(parser->decoder);
    archive_recorder_delete(parser->recorder);
    buffer_destroy(&parser->body);
    url_destroy(&parser->base);
    url_destroy(&parser->target);
    free(parser->seen);
    free(parser->kept);
    free(parser->header_text[0]);
    free(parser->header_text[1]);
}

Result parsing_new(Parsing **out, const ParsingOptions *options, const Scope *scope,
                   Archive *archive, Stats *stats,
                   void (*sink)(void *context, ParsedPage *page), ParsingSkipped skipped,
                   void *context)
{
    Parsing *parsing = calloc(1, sizeof *parsing);
    if (parsing == NULL) {
        return RESULT_MEMORY;
    }
    parsing->options = *options;
    parsing->scope = scope;
    parsing->stats = stats;
    parsing->sink = sink;
    parsing->skipped = skipped;
    parsing->context = context;
    Result rc = queue_init(&parsing->queue, options->queue);
    if (rc != RESULT_OK) {
        free(parsing);
        return rc;
    }
    while (rc == RESULT_OK && parsing->n_parsers < options->threads &&
           parsing->n_parsers < THREADS_MAX) {
        rc = parser_init(&parsing->parsers[parsing->n_parsers++], parsing, archive);
    }
    if (rc != RESULT_OK) {
        parsing_delete(parsing);
        return rc;
    }
    *out = parsing;
    return RESULT_OK;
}

Result parsing_start(Parsing *parsing)
{
    Result rc = RESULT_OK;
    for (unsigned i = 0; i < parsing->n_parsers && rc == RESULT_OK; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "parse-%u", i);
        rc = thread_start(&parsing->parsers[i].thread, name, parser_main, &parsing->parsers[i]);
    }
    return rc;
}

void parsing_push(Parsing *parsing, FetchResult *result)
{
    Result rc = queue_try_push(&parsing->queue, result);
    if (rc == RESULT_LIMIT) {
        stats_add(&parsing->stats->fetch_wait_full, 1);
        rc = queue_push(&parsing->queue, result);
    }
    if (rc != RESULT_OK) {
        fetch_result_delete(result);
    }
}

size_t parsing_waiting(Parsing *parsing)
{
    return queue_count(&parsing->queue);
}

void parsing_stop(Parsing *parsing)
{
    queue_close(&parsing->queue);
    for (unsigned i = 0; i < parsing->n_parsers; i++) {
        thread_join(&parsing->parsers[i].thread);
    }
}

void parsing_delete(Parsing *parsing)
{
    if (parsing == NULL) {
        return;
    }
    for (unsigned i = 0; i < parsing->n_parsers; i++) {
        parser_destroy(&parsing->parsers[i]);
    }
    queue_destroy(&parsing->queue);
    free(parsing);
}
