#include "page/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"
#include "page/parsing_links.h"
#include "parse/robots/robots_line.h"
#include "parse/sitemap/sitemap_xml.h"
#include "parse/trap/trap.h"
#include "parse/trap/trap_content.h"

#define QUESTION_BYTES ((size_t)4096) /* of a page's main text, shown to a classifier */
#define SITEMAP_DEPTH  3u /* levels of indexes, the one that robots.txt names included */

/* Parsing sitemaps: entries of sitemaps and feeds become links of the page.
 *
 * What: a page may be a sitemap when it was found as one (hop S), or a redirect led to it. With
 * scope.sitemaps any answer may be one that is XML by its type, or is called HTML and begins as a
 * feed does (WHATWG MIME sniffing): pages link to their feeds. Sitemaps below the allowed depth are
 * refused.
 * Threads: the parser's. */

typedef struct Reading {
    Parser *parser;
    const ParsedPage *page;
    bool may_nest; /* sitemaps below this one are wanted */
} Reading;

/* Adds the Sitemap lines of a robots.txt as links: who read the file has noted them. */
static void parsing_sitemap_robots(Parser *parser, ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    const Buffer *lines = &fetch->answer.sitemaps;
    if (!parser->config->scope_sitemaps || lines->length == 0 ||
        url_parse(&parser->source, NULL, fetch->request.url, strlen(fetch->request.url)) !=
            RESULT_OK) {
        return;
    }
    const char *end = lines->data + lines->length;
    for (const char *line = lines->data; line < end; line += strlen(line) + 1) {
        if (url_parse(&parser->target, &parser->source, line, strlen(line)) == RESULT_OK) {
            parsing_links_add(parser, page, &parser->target, LINK_SITEMAP, 1.0f);
        }
    }
}

/* Adds the ai.txt and llms.txt that a robots.txt names as links: they are kept as pages are, and
 * not asked for where nobody names them. */
static void parsing_robots_files(Parser *parser, ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    RobotsReader reader;
    RobotsLine line;
    size_t length = 0;
    const char *text = fetch_result_text(fetch, &length);
    bool is_robots = parser->config->scope_depth != 0 && fetch->request.file == USAGE_IN_ROBOTS &&
                     fetch->answer.status >= 200 && fetch->answer.status < 300;
    if (!is_robots || url_parse(&parser->source, NULL, fetch->request.url,
                                strlen(fetch->request.url)) != RESULT_OK) {
        return;
    }
    robots_reader_init(&reader, text, length);
    /* Counted when they are found, not by lines: a robots.txt of 500 KiB may name thousands of
     * them. */
    for (unsigned n = 0; n < ROBOTS_FILES_MOST && robots_reader_next(&reader, &line);) {
        if (line.kind == ROBOTS_LINE_FILE && url_parse(&parser->target, &parser->source, line.value,
                                                       line.value_length) == RESULT_OK) {
            parsing_links_add(parser, page, &parser->target, LINK_A, 1.0f);
            n++;
        }
    }
}

/* Whether an answer that was found as a page is a feed, or a sitemap, by its type and beginning. */
static bool looks_like_feed(const HttpContentType *type, const Buffer *body)
{
    static const char *const types[] = {"application/rss+xml",
                                        "application/atom+xml",
                                        "application/rdf+xml",
                                        "application/xml",
                                        "text/xml",
                                        "text/html"};
    bool may_be = false;
    for (size_t i = 0; i < sizeof types / sizeof *types && !may_be; i++) {
        may_be = http_header_is_type(type, types[i]);
    }
    /* The type alone says too little: HTML and XML are most of the web, and servers name feeds
     * wrongly. */
    const char *text = buffer_string(body);
    text += strspn(text, " \t\r\n\f\xef\xbb\xbf");
    size_t before = (size_t)(text - buffer_string(body));
    return may_be && *text == '<' && sitemap_xml_may_be(text, body->length - before);
}

/* Whether this page may be a sitemap or a feed. */
static bool parsing_sitemap_expected(const Parser *parser, const ParsedPage *page,
                                     const HttpContentType *type)
{
    const FetchRequest *request = &page->fetch->request;
    /* A seed may be a sitemap, or redirect to one. */
    bool may_lead_to_it =
        parser->config->scope_sitemaps || request->depth <= 1; /* a seed's redirect */
    return page->fetch->answer.status >= 200 && page->fetch->answer.status < 300 &&
           (request->hop == 'S' || request->hop == 'M' || (request->hop == 'R' && may_lead_to_it) ||
            (parser->config->scope_sitemaps && looks_like_feed(type, parser->body)));
}

/* An entry without hints is worth as much as a link. */
static float parsing_sitemap_score_of(const Reading *reading, const SitemapEntry *entry)
{
    int64_t now_s = reading->page->fetch->cost.wall_start.us / 1000000;
    return reading->parser->config->score_sitemap_hints ? (float)sitemap_hint_factor(entry, now_s)
                                                        : 1.0f;
}

static bool on_entry(void *context, const SitemapEntry *entry)
{
    const Reading *reading = context;
    if (entry->is_sitemap && !reading->may_nest) {
        parsing_links_refuse(reading->parser, reading->page, entry->url->href, entry->url->length,
                             REFUSED_DEPTH);
    } else {
        /* The link may be refused, or be known from this page: only a new one gets the entry's
         * hints. */
        size_t before = reading->parser->n_kept;
        parsing_links_add(reading->parser, reading->page, entry->url, LINK_SITEMAP,
                          parsing_sitemap_score_of(reading, entry));
        if (reading->parser->n_kept > before) {
            KeptLink *kept = &reading->parser->kept[before];
            kept->lastmod_s = entry->lastmod_s > 0 ? entry->lastmod_s : 0;
            kept->every_s = reading->parser->config->score_sitemap_hints
                                ? sitemap_frequency_s(entry->changefreq)
                                : 0;
            reading->parser->n_dates += kept->lastmod_s > 0 || kept->every_s > 0;
        }
    }
    return true;
}

/* Adds the entries of a sitemap or feed as links. False when the page is neither. */
static bool parsing_sitemap_read(Parser *parser, const ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    Reading reading = {
        .parser = parser, .page = page, .may_nest = fetch->request.depth + 1u < SITEMAP_DEPTH};
    SitemapInput input = {.body = buffer_string(parser->body),
                          .length = parser->body->length,
                          .is_truncated = fetch->answer.truncated != TRUNCATED_NOT,
                          .url = fetch->request.url,
                          .url_length = strlen(fetch->request.url)};
    SitemapReport report = {.kind = SITEMAP_UNKNOWN};
    Result rc = sitemap_parse(parser->sitemap, &input, on_entry, &reading, &report);
    /* Found as a sitemap, and a page all the same: then it is read as a page. */
    if (report.kind == SITEMAP_UNKNOWN) {
        return false;
    }
    if (rc != RESULT_OK || report.is_broken) {
        LOG_INFO("parse", "sitemap read in part", "url=%s entries=%llu reason=\"%s\"",
                 fetch->request.url, (unsigned long long)report.n_entries,
                 rc != RESULT_OK ? result_name(rc) : "broken");
    }
    return true;
}

/* ---- Parser ---- */

#define ARENA_BLOCK_BYTES 65536u
#define DIGEST_BYTES      33u
#define SITEMAP_MAX_BYTES ((size_t)50 << 20) /* sitemaps.org */

static DecodeStatus undo_coding(Parser *parser, const FetchResult *fetch, const HttpHeader *header)
{
    HttpField field = parsing_html_coding(parser, header);
    const Buffer *raw = &fetch->answer.body;
    /* One huge page must not keep its memory for the rest of the crawl. */
    buffer_trim(&parser->unpacked, (size_t)parser->config->fetch_max_body);
    parser->unpacked.limit = fetch->request.max_body;
    if (parser->unpacked.limit == 0) { /* what was fetched by nobody, such as an imported answer */
        parser->unpacked.limit =
            (size_t)(fetch->request.hop == 'S' ? parser->config->fetch_max_sitemap
                                               : parser->config->fetch_max_body);
    }
    /* A plain body is used where it lies. */
    if (raw->length <= parser->unpacked.limit && decode_is_plain(field.value, field.value_length)) {
        parser->body = raw;
        return DECODE_OK;
    }
    parser->body = &parser->unpacked;
    return decode_content(parser->decoder, field.value, field.value_length, raw->data, raw->length,
                          &parser->unpacked, (unsigned)parser->config->fetch_max_ratio);
}

static bool looks_like_sheet(const Parser *parser, const ParsedPage *page,
                             const HttpContentType *type)
{
    size_t length = strlen(page->fetch->request.url);
    /* A type that is given counts; without one the name does, of what was found as embedded. */
    return parser->config->scope_embeds &&
           (http_header_is_type(type, "text/css") ||
            (type->type_length == 0 && page->fetch->request.hop == 'E' && length > 4 &&
             memcmp(page->fetch->request.url + length - 4, ".css", 4) == 0));
}

/* What the stations of a page rely on, in parser_take_page:
 *
 *   load_spool, undo_coding   parser->body is the decoded body, or the answer's own when it is
 *                             plain; valid until the next page
 *   hashes, wall, usage       of these bytes; refused_hooks may get HOOK_STORE
 *   parser_ask_filters        refused_hooks is complete: parse, follow, store
 *   store_page                the answer's bytes as they came; archive.group, or NULL
 *   parse_answer              for a final result only: links go to parser->kept
 *                             (parsing_links.h) and parser->found
 *   score_page                the rules may ask for all of that
 *   describe_page             beside the records: needs parser->found, so it comes last
 *
 * Everything in the arena, `kept` and `found` included, ends with parsing_links_forget: what a page
 * takes along has been copied by then (parsing_links_copy). */

/* Every answer becomes records of the archive, whatever it is worth to the crawl, unless
 * store.filter says no; so does a request that got none, by itself. */
static void store_page(Parser *parser, ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    bool has_left = fetch->answer.status >= 100 || fetch->request.has_left;
    if (parser->recorder == NULL || fetch->kind == FETCHED_NOTHING || !has_left ||
        fetch->request.by_agent || (page->verdict.refused_hooks & 1u << HOOK_STORE) != 0) {
        return;
    }
    page->archive.group = archive_record(parser->recorder, fetch);
    if (page->archive.group != NULL && page->archive.group->has_payload) {
        (void)warc_digest_format(&page->archive.group->payload, page->archive.sha1);
    }
}

/* Now that it is parsed: what it links to, and the rest, beside its records. */
static void describe_page(Parser *parser, ParsedPage *page)
{
    const PageLink **more = NULL;
    size_t n_more = 0;
    if (page->archive.group == NULL || page->archive.group->type == WARC_REQUEST ||
        !parser->describe) {
        return;
    }
    const Page *found = parser->has_found ? &parser->found : NULL;
    more = parser->n_kept == 0 ? NULL : arena_alloc(&parser->arena, parser->n_kept * sizeof *more);
    /* Links of the header, and of what is no page, are not in `found`: they are told beside it. */
    for (size_t i = 0; i < parser->n_kept && more != NULL; i++) {
        if (!parser->kept[i].in_page) {
            more[n_more++] = parser->kept[i].link;
        }
    }
    archive_describe(parser->recorder, page->archive.group, page->fetch, found, more, n_more);
}

/* What filters and rules are asked about an answer. */
static FilterInput answer_input(Parser *parser, const ParsedPage *page, const char *content_type,
                                char digest[DIGEST_BYTES])
{
    (void)snprintf(digest, DIGEST_BYTES, "%016llx%016llx", (unsigned long long)page->hashes.body[0],
                   (unsigned long long)page->hashes.body[1]);
    return (FilterInput){.url = &parser->source,
                         .usage_denied = page->fetch->answer.usage.denied,
                         .has_depth = true,
                         .depth = page->fetch->request.depth,
                         .status = page->fetch->answer.status,
                         .content_type = content_type,
                         .has_body = true,
                         .body = buffer_string(parser->body),
                         .body_length = parser->body->length,
                         .digest = digest};
}

/* The score of a page by the rules, and the question to the classifier. */
static void score_page(Parser *parser, ParsedPage *page, const char *content_type)
{
    char digest[DIGEST_BYTES];
    const ScoreRules *rules = parser->options->score_rules;
    if (rules != NULL && parser->source.href != NULL) {
        FilterInput input = answer_input(parser, page, content_type, digest);
        if (parser->has_text) {
            input.text = parser->text.text;
            input.text_length = parser->text.length;
            input.title = parser->text.title;
        }
        page->verdict.score = score_rules_find(rules, &input, parser->scratch);
    }
    /* The question leaves the thread with the page; without memory nobody is asked about it. */
    if (parser->has_text && page_question_wanted(parser->config) != QUESTION_NONE) {
        buffer_reset(&parser->question);
        Result rc = page_question(&parser->question, page_question_wanted(parser->config),
                                  page->fetch->request.url, &parser->text, QUESTION_BYTES);
        page->verdict.question = rc == RESULT_OK ? malloc(parser->question.length) : NULL;
        if (page->verdict.question != NULL) {
            page->verdict.question_length = parser->question.length;
            memcpy(page->verdict.question, parser->question.data, page->verdict.question_length);
        }
    }
}

/* Asks the filters about an answer; page->refused_hooks says which said no. */
static void parser_ask_filters(Parser *parser, ParsedPage *page, const char *content_type)
{
    static const FilterHook hooks[] = {HOOK_PARSE, HOOK_FOLLOW, HOOK_STORE};
    const Filters *filters = parser->filters;
    /* The digest and the rest cost more than this look, and as a rule there are no filters. */
    bool asked = false;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        asked = asked || filters->of[hooks[i]] != NULL;
    }
    if (!asked || parser->source.href == NULL) {
        return;
    }
    char digest[DIGEST_BYTES];
    FilterInput input = answer_input(parser, page, content_type, digest);
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        if (!filters_pass(filters, hooks[i], &input, parser->scratch)) {
            page->verdict.refused_hooks |= 1u << hooks[i];
        }
    }
}

/* Whether the page needs a browser; what another page embeds is no page to be rendered. */
static void parser_judge(const Parser *parser, ParsedPage *page)
{
    PageVerdict verdict;
    if (parser->config->render_mode == RENDER_MODE_OFF || page->fetch->kind != FETCHED_PAGE ||
        page->fetch->request.hop == 'E') {
        return;
    }
    page_verdict_judge(buffer_string(parser->body), parser->body->length, &verdict);
    page->verdict.need = page_verdict_need(&verdict);
    page->verdict.need_weight = verdict.weight;
    page->verdict.need_signs = verdict.signs;
}

static void read_content(Parser *parser, ParsedPage *page, const HttpHeader *header,
                         const HttpContentType *type, const char *content_type)
{
    int status = page->fetch->answer.status;
    bool is_sitemap = parsing_sitemap_expected(parser, page, type) &&
                      (page->verdict.refused_hooks & 1u << HOOK_FOLLOW) == 0 &&
                      parsing_sitemap_read(parser, page);
    /* An error page leads nowhere: its links are those of the site's frame. */
    if (is_sitemap || status < 200 || status >= 300) {
        return;
    }
    if (looks_like_sheet(parser, page, type)) {
        parsing_html_sheet(parser, page, content_type);
    } else if (http_header_is_page(type, buffer_string(parser->body), parser->body->length)) {
        parsing_html_document(parser, page, header, content_type);
        parser_judge(parser, page);
        if (parser->visible != NULL) {
            /* What a reader sees of a document, for rules and for the classifier. */
            const char *url = page->fetch->request.url;
            VisibleInput input = {.body = buffer_string(parser->body),
                                  .length = parser->body->length,
                                  .content_type = content_type,
                                  .url = url,
                                  .url_length = strlen(url)};
            /* Whatever is wrong with the page, there is some text of it; without memory there is
             * none. */
            parser->has_text =
                visible_read(parser->visible, &input, &parser->text) != RESULT_MEMORY;
        }
    }
}

/* What there is to know about the answer to a scheduled URL, once it is final. */
static void parse_answer(Parser *parser, ParsedPage *page, const HttpHeader *header,
                         const HttpContentType *type, const char *content_type)
{
    size_t n = type->type_length < sizeof page->about.mime - 1 ? type->type_length
                                                               : sizeof page->about.mime - 1;
    for (size_t i = 0; i < n; i++) {
        char c = type->type[i];
        /* It goes into crawl.log and statistics, whose columns blanks and controls would break. */
        page->about.mime[i] = c > ' ' && c < 0x7f ? ascii_lower(c) : '?';
    }
    page->about.mime[n] = '\0';
    /* As of the answer's end, when its age began to count here, not of the request. */
    const FetchResult *fetch = page->fetch;
    int64_t took_s = mono_ms_between(fetch->cost.start, fetch->cost.end) / 1000;
    page->about.freshness = http_freshness_of(header, wall_seconds(fetch->cost.wall_start) + took_s,
                                              parser->config->revisit_heuristic);
    if (fetch->request.ignores_freshness) {
        page->about.freshness.fresh_s = 0;
    }
    size_t position = 0;
    HttpField tag;
    while (http_header_next_named(header, "X-Robots-Tag", &position, &tag)) {
        page->verdict.robots |=
            robots_meta_header(tag.value, tag.value_length, parser->config->robots_agent);
        /* Until when the page is there: the earliest that is said. */
        int64_t unix_s =
            robots_meta_header_end(tag.value, tag.value_length, parser->config->robots_agent);
        int64_t *ends_s = &page->about.freshness.ends_s;
        *ends_s = unix_s > 0 && (*ends_s == 0 || unix_s < *ends_s) ? unix_s : *ends_s;
    }
    if ((page->verdict.refused_hooks & 1u << HOOK_FOLLOW) == 0) {
        parsing_links_of_header(parser, page, header);
    }
    if ((page->verdict.refused_hooks & 1u << HOOK_PARSE) == 0) {
        read_content(parser, page, header, type, content_type);
    }
    page->parsed = true;
}

/* What is counted of the pattern of its URL (trap_yield.h): here, where there are many threads. */
static void note_trap(Parser *parser, ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    if (parser->config->limits_trap_fetches == 0 || fetch->request.again ||
        fetch->answer.status != 200 ||
        trap_pattern_key(&parser->source, &parser->pattern, &page->hashes.pattern) != RESULT_OK) {
        return;
    }
    if (fetch->kind != FETCHED_RENDERED && fetch->final && parser->body->length > 0 &&
        trap_content_is_due(&parser->source)) {
        page->hashes.trap =
            trap_content_hash(&parser->source, parser->body->data, parser->body->length);
    }
}

/* What is kept of a long page comes back from its file into memory. */
static void load_spool(const Parser *parser, FetchResult *fetch)
{
    FetchAnswer *answer = &fetch->answer;
    size_t size = fetch->request.max_body > 0 ? fetch->request.max_body
                                              : (size_t)parser->config->fetch_max_body;
    size = answer->spool.length < size ? (size_t)answer->spool.length : size;
    size_t n = 0;
    if (!answer->spool.is_open || buffer_reserve(&answer->body, size) != RESULT_OK) {
        return;
    }
    (void)body_spool_read(&answer->spool, 0, answer->body.data, size, &n);
    answer->body.length = n;
    answer->body.data[n] = '\0';
    /* The gate counts this memory from now on, and holds the fetchers back when it is too much. */
    ByteShare *share = &fetch->cost.share;
    if (share->gate != NULL) {
        byte_gate_move(share, share->gate, share->bytes + answer->body.capacity);
        byte_gate_hand_on(share);
    }
}

/* What the page may be used for, and whether it is stored for all that. */
static void note_usage(Parser *parser, ParsedPage *page, const HttpHeader *header,
                       const HttpContentType *type)
{
    const FetchRequest *request = &page->fetch->request;
    Usage usage = usage_join(request->usage, usage_of_header(header, NULL));
    const Buffer *body = parser->body;
    if (body->length > 0 && http_header_is_page(type, body->data, body->length)) {
        usage = usage_join(usage, usage_of_html(body->data, body->length, NULL));
    }
    /* Only behind all joins: a licence that one place names may be one that another has read. */
    usage = usage_settle(usage);
    FetchAnswer *answer = &page->fetch->answer;
    HttpField price;
    answer->usage = usage;
    if (http_header_find(header, "crawler-price", &price)) {
        (void)snprintf(answer->price, sizeof answer->price, "%.*s", (int)price.value_length,
                       price.value);
    }
    if ((usage.denied & request->usage_no_store) != 0) {
        page->verdict.refused_hooks |= 1u << HOOK_STORE;
    }
}

/* Whether a page is not in scope itself, but needed by one that is. */
static bool is_guest(const Parser *parser, const FetchResult *fetch)
{
    const char *url = fetch->request.url;
    return parsing_links_wants_embeds(parser->config) && fetch->request.hop == 'E' &&
           scope_rule(parser->scope, url, strlen(url)) != SCOPE_IN;
}

/* An answer to a scheduled URL. Decoding and the filters come before storing, what they say about
 * the fetch after it: the archive holds what was received, as it was received. */
static void parser_take_page(Parser *parser, ParsedPage *page)
{
    FetchResult *fetch = page->fetch;
    HttpHeader header;
    /* No answer, or one that cannot be taken apart: the archive gets it as it is, and nothing
     * more. */
    if (fetch->answer.status < 100 ||
        http_header_parse(&header, buffer_string(&fetch->answer.header),
                          fetch->answer.header.length) != RESULT_OK) {
        store_page(parser, page);
        return;
    }
    load_spool(parser, fetch);
    parser->decoded = undo_coding(parser, fetch, &header);
    HttpField field = {.value = NULL, .value_length = 0};
    const char *content_type = NULL;
    HttpContentType type = {.type = NULL};
    if (http_header_find(&header, "Content-Type", &field)) {
        type = http_header_content_type(field.value, field.value_length);
        content_type = arena_copy(&parser->arena, field.value, field.value_length);
    }
    if (parser->body->length > 0) {
        Hash128 h = hash_128(parser->body->data, parser->body->length);
        page->hashes.body[0] = h.high;
        page->hashes.body[1] = h.low;
    }
    parser->is_guest = is_guest(parser, fetch);
    if (url_parse(&parser->source, NULL, fetch->request.url, strlen(fetch->request.url)) ==
        RESULT_OK) {
        note_trap(parser, page);
    }
    page->verdict.wall =
        fetch->answer.has_wall
            ? fetch->answer.wall
            : http_wall_of(fetch->answer.status, &header, parser->body->data, parser->body->length);
    note_usage(parser, page, &header, &type);
    parser_ask_filters(parser, page, content_type);
    store_page(parser, page);
    if (fetch_result_settles(fetch)) {
        parsed_page_take_validators(page, &header);
        /* A body beyond the limit is told of last: long_page.h may read it to its end all the
         * same. */
        if (parser->decoded != DECODE_LIMIT) {
            parsing_html_note_decoding(fetch, parser->decoded);
        }
        parse_answer(parser, page, &header, &type, content_type);
        if (parser->decoded == DECODE_LIMIT && page->about.bytes_read == 0) {
            parsing_html_note_decoding(fetch, DECODE_LIMIT); /* nobody has read it to its end */
        }
    }
    score_page(parser, page, content_type);
}

/* Each URL of a list becomes a link. */
static void parser_take_list(Parser *parser, const ParsedPage *page, const char *list,
                             LinkKind kind)
{
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, "\n");
        if (url_parse(&parser->target, &parser->source, list, length) == RESULT_OK) {
            parsing_links_add(parser, page, &parser->target, kind, 1.0f);
        }
        list += length + (list[length] == '\n');
    }
}

/* What a browser made of a page. What it lacks are links of the page, as far as they are in scope;
 * while there are any it is worth waiting for them, and nothing else of it counts. */
static void parser_take_rendered(Parser *parser, ParsedPage *page)
{
    static const char type_text[] = "text/html; charset=utf-8";
    FetchResult *fetch = page->fetch;
    HttpHeader header;
    HttpContentType type = http_header_content_type(type_text, sizeof type_text - 1);
    if (url_parse(&parser->source, NULL, fetch->request.url, strlen(fetch->request.url)) !=
            RESULT_OK ||
        http_header_parse(&header, buffer_string(&fetch->answer.header),
                          fetch->answer.header.length) != RESULT_OK) {
        return;
    }
    if (!fetch->rendering->is_last) {
        /* Scripts and data are taken for the browser's sake, whatever scope.embeds says. */
        parser->takes_requisites = true;
        parser_take_list(parser, page, fetch->rendering->lacks, LINK_SCRIPT);
        parser->takes_requisites = false;
        fetch->rendering->waits = parser->n_kept > 0;
    }
    if (fetch->rendering->waits || !fetch->rendering->has_document) {
        return;
    }
    parser->body = &fetch->answer.body;
    note_trap(parser, page);
    Hash128 hash = hash_128(parser->body->data, parser->body->length);
    page->hashes.body[0] = hash.high;
    page->hashes.body[1] = hash.low;
    parser_ask_filters(parser, page, type_text);
    parser_take_list(parser, page, fetch->rendering->onward, LINK_META);
    parse_answer(parser, page, &header, &type, type_text);
    score_page(parser, page, type_text);
    if (parser->recorder != NULL && (page->verdict.refused_hooks & 1u << HOOK_STORE) == 0) {
        page->archive.group = archive_record_rendered(parser->recorder, fetch,
                                                      parser->has_found ? &parser->found : NULL);
        page->archive.picture = archive_record_picture(parser->recorder, fetch);
    }
}

static void parse_page(Parser *parser, ParsedPage *page)
{
    parser->is_guest = false;
    parser->has_found = false;
    parser->has_text = false;
    buffer_reset(&parser->unpacked);
    parser->body = &parser->unpacked;
    switch (page->fetch->kind) {
    case FETCHED_PAGE:
        parser_take_page(parser, page);
        describe_page(parser, page);
        break;
    case FETCHED_RENDERED:
        parser_take_rendered(parser, page);
        break;
    case FETCHED_ROBOTS:
        store_page(parser, page);
        parsing_sitemap_robots(parser, page);
        parsing_robots_files(parser, page);
        break;
    case FETCHED_DNS:
        page->archive.group =
            parser->recorder == NULL ? NULL : archive_record_dns(parser->recorder, page->fetch);
        return;
    case FETCHED_NOTHING:
        return;
    }
    /* The page goes on without its links rather than not at all: its result must leave the
     * schedule. */
    if (parsing_links_copy(parser, page) != RESULT_OK) {
        LOG_ERROR("parse", "links lost for lack of memory", "url=%s n=%zu",
                  page->fetch->request.url, parser->n_kept);
    }
    page->hashes.kind = content_hash_wanted(parser->config);
    parsing_links_forget(parser);
}

/* What the answers of this crawl are like. */
static void note_figures(Stats *stats, const ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    if (fetch->kind != FETCHED_PAGE || fetch->answer.status < 200) {
        return;
    }
    int64_t ns = fetch->cost.end.ns - fetch->cost.start.ns;
    distribution_add(&stats->lengths, fetch->cost.bytes);
    distribution_add(&stats->speeds,
                     (uint64_t)((double)fetch->cost.bytes * 1e9 / (double)(ns > 0 ? ns : 1)));
    if (page->parsed && fetch->answer.status < 300) {
        distribution_add(&stats->links, page->links.n);
        stats_add(&stats->types[stats_type(page->about.mime)], 1);
    }
}

/* Whether score.rules ask about what is written. */
static bool wants_text(const ParsingOptions *options)
{
    return options->score_rules != NULL &&
           (score_rules_need(options->score_rules) & FILTER_HAS_TEXT) != 0;
}

static Result make_visible(Parser *parser)
{
    bool has_question = page_question_wanted(parser->config) != QUESTION_NONE;
    VisibleOptions visible = {.memory_bytes = (size_t)parser->config->parse_memory,
                              .main_text = has_question};
    bool is_wanted = has_question || wants_text(parser->options);
    return is_wanted && parser->visible == NULL ? visible_reader_new(&parser->visible, &visible)
                                                : RESULT_OK;
}

ParsedPage *parser_read(Parser *parser, FetchResult *result)
{
    ParsedPage *page = parsed_page_new(result);
    if (page != NULL) {
        /* As they are now, once for each page: what shared_get returned for the page before may be
         * freed by this call. Rules that are new may ask for more than those before. */
        parser->options = shared_get(&parser->options_reader);
        parser->config = &parser->options->config;
        html_parser_set_link_text(parser->html, wants_text(parser->options)
                                                    ? (size_t)parser->config->parse_link_text
                                                    : 0);
        if (make_visible(parser) != RESULT_OK) {
            LOG_WARN("parse", "no memory for the text of pages", "missing=score.rules");
        }
        parser->filters = shared_get(&parser->filters_reader);
        parser->scope = shared_get(&parser->scope_reader);
        parse_page(parser, page);
        note_figures(parser->stats, page);
        parsed_page_settle(page, parser->options->results);
    }
    return page;
}

Result parser_init(Parser *parser, Archive *archive)
{
    shared_reader_open(&parser->options_reader, parser->all_options);
    const ParsingOptions *options = shared_get(&parser->options_reader);
    const Config *config = &options->config;
    bool has_near = config->parse_near_duplicates == NEAR_DUPLICATES_FLAG;
    bool by_text = content_hash_wanted(config) == CONTENT_TEXT;
    parser->options = options;
    parser->config = config;
    HtmlOptions html = {.no_digests = !has_near && !config->warc_metadata && !by_text,
                        .sketch = has_near,
                        .numbers = by_text && config_is_continuous(config),
                        .use_libxml2 = config->parse_html_parser == HTML_PARSER_LIBXML2,
                        .forms = config->parse_forms,
                        .styles = config->scope_embeds,
                        .robots_agent = config->robots_agent,
                        .link_text = wants_text(options) ? (size_t)config->parse_link_text : 0,
                        .memory_bytes = (size_t)config->parse_memory};
    buffer_init(&parser->unpacked, (size_t)config->fetch_max_body);
    buffer_init(&parser->pattern, 2 * URL_MAX_BYTES);
    buffer_init(&parser->coding, 4096);
    external_links_init(&parser->external);
    url_init(&parser->source);
    url_init(&parser->target);
    dedup_scratch_init(&parser->dedup);
    shared_reader_open(&parser->filters_reader, options->filters);
    shared_reader_open(&parser->scope_reader, options->scope);
    arena_init(&parser->arena, ARENA_BLOCK_BYTES, (size_t)config->parse_memory);
    Result rc = html_parser_new(&parser->html, &html);
    if (rc == RESULT_OK) {
        rc = decoder_new(&parser->decoder);
    }
    if (rc == RESULT_OK) {
        rc = filter_scratch_new(&parser->scratch);
    }
    buffer_init(&parser->question, BUFFER_NO_LIMIT);
    if (rc == RESULT_OK) {
        rc = make_visible(parser);
    }
    if (rc == RESULT_OK) {
        SitemapOptions sitemap = {.max_bytes = SITEMAP_MAX_BYTES,
                                  .max_entries = (size_t)config->scope_sitemap_entries,
                                  .max_url_bytes = (size_t)config->scope_max_url_length,
                                  .max_ratio = (unsigned)config->fetch_max_ratio};
        rc = sitemap_parser_new(&parser->sitemap, &sitemap);
    }
    return rc == RESULT_OK && archive != NULL ? archive_recorder_new(&parser->recorder, archive)
                                              : rc;
}

void parser_destroy(Parser *parser)
{
    html_parser_delete(parser->html);
    decoder_delete(parser->decoder);
    archive_recorder_delete(parser->recorder);
    buffer_destroy(&parser->unpacked);
    buffer_destroy(&parser->pattern);
    buffer_destroy(&parser->coding);
    buffer_destroy(&parser->external.list);
    url_destroy(&parser->source);
    url_destroy(&parser->target);
    dedup_scratch_destroy(&parser->dedup);
    shared_reader_close(&parser->options_reader);
    shared_reader_close(&parser->filters_reader);
    shared_reader_close(&parser->scope_reader);
    seen_links_destroy(&parser->seen);
    free(parser->kept);
    free(parser->listed);
    long_page_delete(parser->long_page);
    filter_scratch_delete(parser->scratch);
    visible_reader_delete(parser->visible);
    buffer_destroy(&parser->question);
    sitemap_parser_delete(parser->sitemap);
    arena_destroy(&parser->arena);
}
