#include "page/parsing_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "parse/host/authority.h"
#include "parse/trap/trap.h"

/* ---- Parsing links ---- */

#define LOGGED_BYTES ((size_t)8192) /* of a URL that is refused */

/* ---- kinds ---- */

/* A <link> is a page (rel=next) or something that the page loads; only its flags tell. */
static bool is_embed(const PageLink *link)
{
#define LINK_KIND_IS_EMBED(constant, name, what) [constant] = (what) == LINK_EMBEDS,
    static const bool embeds[] = {LINK_KIND_LIST(LINK_KIND_IS_EMBED)};
    return link->kind == LINK_LINK ? (link->flags & LINK_PAGE) == 0 : embeds[link->kind];
}

static uint8_t parsing_links_hop_of(const PageLink *link)
{
    if (link->kind == LINK_REDIRECT || link->kind == LINK_SITEMAP) {
        return link->kind == LINK_REDIRECT ? 'R' : 'S';
    }
    return is_embed(link) ? 'E' : 'L';
}

bool parsing_links_wants_embeds(const Config *config)
{
    return config->scope_embeds || config->render_mode != RENDER_MODE_OFF;
}

/* Whether a browser loads it to show the page, wherever it lives. A redirect is one when it stands
 * in place of one: the hop of the URL that redirects is 'E' then, and stays so. */
static bool is_requisite(const Parser *parser, const ParsedPage *page, const PageLink *link)
{
    if (link->kind == LINK_REDIRECT) {
        return parsing_links_wants_embeds(parser->config) && page->fetch->request.hop == 'E';
    }
    if (!parser->config->scope_embeds && !parser->takes_requisites) {
        return false;
    }
    return link->kind == LINK_LINK ? (link->flags & LINK_REQUISITE) != 0 : is_embed(link);
}

/* The way of a link, and where it ends:
 *
 *   refuse_occurrence     this occurrence: kind, nofollow, a second feed. Another one of the same
 *     |                   URL may pass, so the URL is not noted as seen before this
 *   note_seen             the URL was met before: it ends here, and is counted nowhere
 *     |
 *   refuse_url            every occurrence: scope, traps, filter.schedule; what is out of scope
 *     |                   goes to the external links
 *   is_beyond             parse.max_links
 *     |
 *   kept                  in the arena, until parsing_links_copy
 *
 * The cheap questions come first. Filters may run regular expressions, and the rules that say what
 * a link promises are asked only about links that are kept. */

/* ---- each link once ---- */

/* True when the key was not among those of this page's links. A page may name any number of hosts
 * that are out of scope, so the set is bounded by bytes. */
static bool note_seen(Parser *parser, uint64_t key)
{
    return seen_links_note(&parser->seen, key, (size_t)parser->config->parse_memory / 64);
}

/* parse.max_links counts what could be scheduled. The page itself was, and entries of sitemaps have
 * a limit of their own. */
static bool counts(const Parser *parser, const PageLink *link)
{
    const Url *source = &parser->source;
    bool is_own = source->href != NULL && source->length == link->length &&
                  memcmp(source->href, link->url, link->length) == 0;
    return !is_own && link->kind != LINK_SITEMAP;
}

/* The arena is reset, so nothing that was kept may be used behind this; the arrays keep their
 * room. */
void parsing_links_forget(Parser *parser)
{
    seen_links_forget(&parser->seen);
    parser->n_kept = 0;
    parser->n_dates = 0;
    parser->has_feed = false;
    parser->n_uncounted = 0;
    parser->n_beyond = 0;
    parser->n_long = 0;
    external_links_forget(&parser->external);
    arena_reset(&parser->arena);
}

LinkMark parsing_links_mark(const Parser *parser)
{
    return (LinkMark){.n_kept = parser->n_kept,
                      .n_external = parser->external.n,
                      .external_bytes = parser->external.list.length};
}

/* The URLs of what is kept are still in the arena, and so are those that are given up: a document
 * that is read twice takes their room twice, within parse.memory. The set of seen links and the
 * counters are made anew from what stays (9b01c61f: links out of scope, too). */
void parsing_links_rewind(Parser *parser, const LinkMark *mark)
{
    seen_links_forget(&parser->seen);
    external_links_rewind(&parser->external, mark->n_external, mark->external_bytes);
    parser->n_kept = mark->n_kept;
    parser->has_feed = false;
    parser->n_uncounted = 0;
    parser->n_beyond = 0;
    parser->n_long = 0;
    for (size_t i = 0; i < mark->n_kept; i++) {
        const PageLink *link = parser->kept[i].link;
        (void)note_seen(parser, hash_64(link->url, link->length, 0));
        parser->n_uncounted += !counts(parser, link);
        parser->has_feed = parser->has_feed || link->kind == LINK_FEED;
    }
}

/* ---- refusals ---- */

/* What the URL alone shows of a crawler trap. */
static bool is_trap(const Config *config, const PageLink *link)
{
    const char *end = link->url + link->length;
    const char *path = strstr(link->url, "//");
    /* Repetitions are looked for in the path alone: a query repeats what a form asks. */
    path = path == NULL ? NULL : strchr(path + 2, '/');
    if (path == NULL) {
        return false;
    }
    const char *query = memchr(path, '?', (size_t)(end - path));
    size_t length = (size_t)((query == NULL ? end : query) - path);
    return config->limits_repeated_segments > 1 &&
           trap_repeats(path, length, (unsigned)config->limits_repeated_segments);
}

/* What is asked of parser->target, a URL that the page links to. */
static FilterInput parsing_links_input(const Parser *parser, const ParsedPage *page)
{
    const FetchRequest *request = &page->fetch->request;
    return (FilterInput){.url = &parser->target,
                         .source = parser->source.href == NULL ? NULL : &parser->source,
                         .has_depth = true,
                         .depth = request->depth + (request->has_page ? 1u : 0u)};
}

/* A URL that cannot be parsed is no reason to refuse here: filters are about URLs, and the writer
 * refuses what is none. */
static bool is_filtered(Parser *parser, const ParsedPage *page, const PageLink *link)
{
    const Filters *filters = parser->filters;
    if (filters->of[HOOK_SCHEDULE] == NULL ||
        url_parse(&parser->target, NULL, link->url, link->length) != RESULT_OK) {
        return false;
    }
    FilterInput input = parsing_links_input(parser, page);
    return !filters_pass(filters, HOOK_SCHEDULE, &input, parser->scratch);
}

/* REFUSALS when this occurrence of a link may be followed; another one of the same URL may be. */
static Refusal refuse_occurrence(const Parser *parser, const ParsedPage *page, const PageLink *link)
{
    const Config *config = parser->config;
    unsigned refused = (config->scope_follow_nofollow ? 0u : LINK_NOFOLLOW) |
                       (config->scope_follow_ugc ? 0u : LINK_UGC) |
                       (config->scope_follow_sponsored ? 0u : LINK_SPONSORED);
    if (!parser->config->scope_embeds && !parser->takes_requisites && is_embed(link)) {
        return REFUSED_KIND;
    }
    /* From what lives outside of the scope only what a style sheet needs, and redirects, go on. */
    if (parser->is_guest && link->kind != LINK_STYLE && link->kind != LINK_REDIRECT) {
        return REFUSED_KIND;
    }
    if (parser->config->scope_sitemap_only && link->kind != LINK_SITEMAP &&
        link->kind != LINK_REDIRECT && !is_requisite(parser, page, link)) {
        return REFUSED_KIND;
    }
    /* Two ways to say nofollow: at the link, and of the page as a whole (a header or <meta>). What
     * the page is shown with, what it redirects to, and what stands in headers and sitemaps is not
     * meant by the page's. */
    if ((link->flags & refused) != 0 ||
        ((page->verdict.robots & PAGE_NOFOLLOW) != 0 && !is_requisite(parser, page, link) &&
         link->kind != LINK_REDIRECT && link->kind != LINK_HEADER && link->kind != LINK_SITEMAP)) {
        return REFUSED_NOFOLLOW;
    }
    /* The first one is the feed of the page (HTML, "alternate"); further ones tell the same in
     * another format, or are about its comments. */
    return link->kind == LINK_FEED && parser->has_feed ? REFUSED_FEEDS : REFUSALS;
}

/* What a seed redirects to is a place to stay in as the seed is, and so on along the redirects:
 * "example.org" is mostly a redirect to "www.example.org", and with scope.stay = host the crawl
 * would end there. Asked before the scope, whose answer depends on it. */
static void follow_seed(const Parser *parser, const ParsedPage *page, const PageLink *link)
{
    const FetchRequest *request = &page->fetch->request;
    StaySet *stay = parser->options->stay;
    if (stay == NULL || link->kind != LINK_REDIRECT ||
        (request->hop != 'M' &&
         !stay_set_stands_for_seed(stay, request->url, strlen(request->url)))) {
        return;
    }
    if (stay_set_follow(stay, link->url, link->length) != RESULT_OK) {
        LOG_WARN("parse", "no memory to follow the redirect of a seed", "url=%s", link->url);
    }
}

/* REFUSALS when the URL may be followed from this page; *hop is then how it is found. The cheap
 * questions first: a filter may run expressions. */
static Refusal parsing_links_refuse_url(Parser *parser, const ParsedPage *page,
                                        const PageLink *link, uint8_t *hop)
{
    follow_seed(parser, page, link);
    ScopeRule rule = scope_rule(parser->scope, link->url, link->length);
    *hop = parsing_links_hop_of(link);
    if (rule != SCOPE_IN && is_requisite(parser, page, link)) {
        *hop = 'E'; /* also what a redirect of it leads to */
        rule = scope_rule_of(parser->scope, link->url, link->length, *hop);
    }
    if (rule != SCOPE_IN) {
        return scope_rule_refusal(rule);
    }
    if (is_trap(parser->config, link)) {
        return REFUSED_TRAP;
    }
    return is_filtered(parser, page, link) ? REFUSED_FILTER : REFUSALS;
}

void parsing_links_refuse(Parser *parser, const ParsedPage *page, const char *url, size_t length,
                          Refusal why)
{
    stats_add(&parser->stats->refused[why], 1);
    length = length < LOGGED_BYTES ? length : LOGGED_BYTES;
    /* Kinds that are not followed would be most lines of skipped.log. What was forgotten must not
     * come back to a log. */
    if (why != REFUSED_KIND && why != REFUSED_DENIED) { /* the latter: what was forgotten */
        SkippedLink link = {.url = url,
                            .length = length,
                            .why = why,
                            .depth = page->fetch->request.depth + 1u,
                            .page = page->fetch->request.url};
        parser->skipped(parser->skipped_context, &link);
    }
}

/* How much the rules expect of a link. The text around it is there only while it is being found
 * (copy_link), so this is asked now, and not when the page is scored. */
static float promise(Parser *parser, const ParsedPage *page, const PageLink *link)
{
    const ScoreRules *rules = parser->options->score_rules;
    if (rules == NULL || url_parse(&parser->target, NULL, link->url, link->length) != RESULT_OK) {
        return 1.0f;
    }
    FilterInput input = parsing_links_input(parser, page);
    if (link->text != NULL) {
        input.anchor = link->text->anchor;
        input.anchor_length = link->text->anchor_length;
        input.text = link->text->around;
        input.text_length = link->text->around_length;
        input.title = link->text->title;
    }
    return score_rules_find(rules, &input, parser->scratch);
}

/* ---- user information ---- */

/* The link without "user:password@", which whoever wrote the page wants us to send to somebody
 * else. In the arena when it had any; NULL without memory. */
static const PageLink *without_userinfo(Parser *parser, const PageLink *link)
{
    if (memchr(link->url, '@', link->length) == NULL) {
        return link;
    }
    Authority at = authority_of(link->url, link->length);
    if (at.host == at.start) {
        return link;
    }
    PageLink *bare = arena_alloc(&parser->arena, sizeof *bare);
    char *url = arena_copy(&parser->arena, link->url, link->length);
    if (bare == NULL || url == NULL) {
        return NULL;
    }
    *bare = *link;
    bare->url = url;
    bare->length = (uint32_t)authority_strip(url, link->length);
    return bare;
}

/* ---- what is kept ---- */

/* A copy that lives as long as the page. NULL without memory, which is the arena's bound
 * (parse.memory): the link is counted as beyond the page then. */
static const PageLink *copy_link(Parser *parser, const PageLink *link)
{
    PageLink *copy = arena_alloc(&parser->arena, sizeof *copy);
    char *url = arena_copy(&parser->arena, link->url, link->length);
    if (copy == NULL || url == NULL) {
        return NULL;
    }
    *copy = *link;
    copy->text = NULL; /* which lives no longer than the link */
    copy->url = url;
    return copy;
}

/* Keeps a copy. False: there is no memory for it. */
static bool parsing_links_keep(Parser *parser, const PageLink *link, float score, uint8_t hop,
                               bool in_page)
{
    Result rc = array_reserve(&parser->kept, &parser->kept_capacity, parser->n_kept + 1,
                              sizeof *parser->kept);
    const PageLink *copy = rc == RESULT_OK ? copy_link(parser, link) : NULL;
    if (copy == NULL) {
        return false;
    }
    parser->kept[parser->n_kept++] =
        (KeptLink){.link = copy, .score = score, .hop = hop, .in_page = in_page};
    parser->n_uncounted += !counts(parser, link);
    parser->has_feed = parser->has_feed || link->kind == LINK_FEED;
    return true;
}

/* Links and embeds are counted apart where embeds are followed: a link to an image that is out of
 * scope must not hide the image itself. */
static uint64_t seen_key(const Parser *parser, const ParsedPage *page, const PageLink *link)
{
    bool apart = parsing_links_wants_embeds(parser->config) && !is_requisite(parser, page, link) &&
                 scope_rule(parser->scope, link->url, link->length) != SCOPE_IN;
    return hash_64(link->url, link->length, apart ? 1 : 0);
}

/* False also for a URL that the page has had already, which is no refusal. */
static bool parsing_links_is_wanted(Parser *parser, const ParsedPage *page, const PageLink *link,
                                    uint8_t *hop)
{
    Refusal refusal = refuse_occurrence(parser, page, link);
    if (refusal == REFUSALS) {
        if (!note_seen(parser, seen_key(parser, page, link))) {
            return false;
        }
        refusal = parsing_links_refuse_url(parser, page, link, hop);
    }
    if (refusal != REFUSALS) {
        parser->n_long += refusal == REFUSED_LENGTH;
        if (refusal == REFUSED_SCOPE &&
            parsing_links_hop_of(link) == 'L') { /* part of the graph all the same */
            external_links_add(&parser->external, link_kind_byte(link), link->url, link->length,
                               (size_t)parser->config->parse_external_links);
        }
        parsing_links_refuse(parser, page, link->url, link->length, refusal);
    }
    return refusal == REFUSALS;
}

/* n_uncounted are those among n_kept that do not count. */
static bool parsing_links_is_beyond(const Parser *parser, const PageLink *link)
{
    size_t most = (size_t)parser->config->parse_max_links;
    return most > 0 && counts(parser, link) && parser->n_kept - parser->n_uncounted >= most;
}

static void follow(Parser *parser, const ParsedPage *page, const PageLink *link, float score,
                   bool in_page)
{
    uint8_t hop = 0;
    if (!parsing_links_is_wanted(parser, page, link, &hop)) {
        return;
    }
    if (parsing_links_is_beyond(parser, link) ||
        !parsing_links_keep(parser, link, score * promise(parser, page, link), hop, in_page)) {
        parser->n_beyond++;
        parsing_links_refuse(parser, page, link->url, link->length, REFUSED_MANY);
    }
}

void parsing_links_take(Parser *parser, const ParsedPage *page, const PageLink *link)
{
    link = without_userinfo(parser, link);
    if (link == NULL) {
        return;
    }
    PageLink found = *link;
    if (parser->config->scope_sitemaps && (link->flags & LINK_TO_FEED) != 0) {
        found.kind = LINK_FEED;
    }
    follow(parser, page, &found, 1.0f, true);
}

void parsing_links_add(Parser *parser, const ParsedPage *page, const Url *url, LinkKind kind,
                       float score)
{
    PageLink found = {.length = url->length, .kind = (uint8_t)kind};
    char *text = arena_copy(&parser->arena, url->href, url->length);
    if (text != NULL) {
        /* The same as without_userinfo; here the copy is needed in any case, since url is the
         * caller's. */
        found.length = (uint32_t)authority_strip(text, url->length);
        found.url = text;
        follow(parser, page, &found, score, false);
    }
}

static Result find_keys(Parser *parser, ParsedPage *page)
{
    const DedupSteps *steps = &parser->options->dedup;
    if (!steps->on || page->links.n == 0) {
        return RESULT_OK;
    }
    page->links.keys = calloc(page->links.n, sizeof *page->links.keys);
    if (page->links.keys == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < page->links.n; i++) {
        const char *url = page->links.list[i].url;
        Result rc = dedup_key(steps, &parser->dedup, url, strlen(url), &page->links.keys[i]);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

/* One allocation that travels with the page to the ingest thread, which frees it:
 *
 *   n LinkInfo | n PageLinkKey, or none | n hops | n kinds | URLs, each with its NUL
 *
 * With scope.dedup_key other spellings may take the place of the URLs: then there are no keys. The
 * digest of the links is that of the last part: equal pages have equal links in equal order.
 */
Result parsing_links_copy(Parser *parser, ParsedPage *page)
{
    size_t n = parser->n_kept;
    page->links.external = external_links_copy(&parser->external, &page->links.external_length);
    page->links.n_beyond = parser->n_beyond;
    page->links.n_long = parser->n_long;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += parser->kept[i].link->length + 1u;
    }
    bool has_keys = parser->options->pages != NULL && !parser->options->dedup.on &&
                    page->fetch->kind == FETCHED_PAGE;
    size_t list_bytes = n * (sizeof(LinkInfo) + (has_keys ? sizeof(PageLinkKey) : 0));
    size_t size = list_bytes + 2 * n + bytes;
    char *memory = n == 0 ? NULL : malloc(size);
    if (memory == NULL) {
        return n == 0 ? RESULT_OK : RESULT_MEMORY;
    }
    page->links.size = size;
    page->links.list = (LinkInfo *)(void *)memory;
    page->links.hops = (uint8_t *)memory + list_bytes;
    page->links.kinds = page->links.hops + n;
    page->links.bytes = memory + list_bytes + 2 * n;
    page->links.page_keys = has_keys ? (PageLinkKey *)(void *)(page->links.list + n) : NULL;
    char *next = page->links.bytes;
    PageOrigin origin = {.url = NULL};
    if (has_keys) {
        page_origin_of(page->fetch->request.url, strlen(page->fetch->request.url), &origin);
    }
    for (size_t i = 0; i < n; i++) {
        const KeptLink *kept = &parser->kept[i];
        memcpy(next, kept->link->url, kept->link->length + 1u);
        page->links.list[i] = (LinkInfo){.url = next, .score = kept->score};
        page->links.hops[i] = kept->hop;
        page->links.kinds[i] = link_kind_byte(kept->link);
        if (has_keys) { /* here, where there are several threads, and the URL is at hand */
            page->links.page_keys[i] =
                page_key_of_link(parser->options->pages->store, next, kept->link->length, &origin);
        }
        next += kept->link->length + 1u;
    }
    page->links.n = n;
    /* Few pages have dates, those of a sitemap; without memory for them the links are scheduled
     * without. */
    page->links.dates =
        parser->n_dates == 0 ? NULL : malloc(parser->n_dates * sizeof *page->links.dates);
    for (size_t i = 0; page->links.dates != NULL && i < n; i++) {
        const KeptLink *kept = &parser->kept[i];
        if (kept->lastmod_s > 0 || kept->every_s > 0) {
            page->links.dates[page->links.n_dates++] = (LinkDate){.url = page->links.list[i].url,
                                                                  .lastmod_s = kept->lastmod_s,
                                                                  .every_s = kept->every_s};
        }
    }
    page->hashes.links = hash_64(page->links.bytes, bytes, 0);
    return find_keys(parser, page);
}

/* ---- links that are in the header ---- */

static void parsing_links_add_reference(Parser *parser, const ParsedPage *page,
                                        const char *reference, size_t length, LinkKind kind)
{
    if (length > 0 && parser->source.href != NULL &&
        url_parse(&parser->target, &parser->source, reference, length) == RESULT_OK) {
        parsing_links_add(parser, page, &parser->target, kind, 1.0f);
    }
}

/* Those items of Link that are pages, and feeds when they are followed: styles and hints for
 * loading are not. */
static void add_link_field(Parser *parser, const ParsedPage *page, const HttpField *field)
{
    size_t position = 0;
    HttpLink link;
    while (http_header_next_link(field->value, field->value_length, &position, &link)) {
        const char *type = link.type == NULL ? "" : link.type;
        bool is_of_page = link.rel != NULL && !link.has_anchor;
        unsigned flags =
            is_of_page ? html_link_flags(link.rel, link.rel_length, type, link.type_length) : 0;
        bool is_feed = parser->config->scope_sitemaps && (flags & LINK_TO_FEED) != 0;
        if (is_feed || (flags & LINK_PAGE) != 0) {
            parsing_links_add_reference(parser, page, link.uri, link.uri_length,
                                        is_feed ? LINK_FEED : LINK_HEADER);
        }
    }
}

void parsing_links_of_header(Parser *parser, const ParsedPage *page, const HttpHeader *header)
{
    HttpField field;
    const char *reference = NULL;
    size_t length = 0;
    int64_t seconds = 0;
    size_t position = 0;
    /* Beside another status a Location is no redirect (201: what was made). */
    if (page->fetch->answer.status >= 300 && page->fetch->answer.status < 400 &&
        http_header_find(header, "Location", &field)) {
        parsing_links_add_reference(parser, page, field.value, field.value_length, LINK_REDIRECT);
    }
    if (http_header_find(header, "Refresh", &field) &&
        http_header_refresh(field.value, field.value_length, &seconds, &reference, &length)) {
        parsing_links_add_reference(parser, page, reference, length, LINK_HEADER);
    }
    while (http_header_next_named(header, "Link", &position, &field)) {
        add_link_field(parser, page, &field);
    }
}

/* ---- Parsing HTML ---- */

/* ---- content codings ---- */

HttpField parsing_html_coding(Parser *parser, const HttpHeader *header)
{
    HttpField field = {.value = NULL, .value_length = 0};
    (void)http_header_codings(header, &parser->coding, &field);
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
    /* A bomb counts as a failed fetch, since nothing that came of it can be trusted. */
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
    LinkMark mark; /* of the links that are not the document's */
    bool took_any; /* before the document said nofollow */
} Reading;

/* A link of the document, for its description, while there is memory. */
static void list_link(Parser *parser, const PageLink *link)
{
    if (parser->arena.used_bytes > parser->arena.limit_bytes / 2) {
        return; /* the rest is for the links that are followed */
    }
    if (array_reserve(&parser->listed, &parser->listed_capacity, parser->n_listed + 1,
                      sizeof *parser->listed) != RESULT_OK) {
        return;
    }
    PageLink *copy = &parser->listed[parser->n_listed];
    *copy = *link;
    copy->text = NULL; /* as in copy_link */
    copy->url = arena_copy(&parser->arena, link->url, link->length);
    parser->n_listed += copy->url != NULL;
}

/* Called while the document is being read. `robots` is what it has said so far; a nofollow that
 * comes later is dealt with at its end (parsing_html_document). */
static void take_link(void *context, const PageLink *link, unsigned robots)
{
    Reading *reading = context;
    Parser *parser = reading->parser;
    ParsedPage *page = reading->page;
    parser->n_told++;
    if (parser->describe) {
        list_link(parser, link);
    }
    if ((page->verdict.refused_hooks & 1u << HOOK_FOLLOW) != 0) {
        return;
    }
    page->verdict.robots |= robots;
    bool may_follow = (page->verdict.robots & PAGE_NOFOLLOW) == 0;
    reading->took_any = reading->took_any || may_follow;
    if (may_follow || parser->config->scope_embeds) {
        parsing_links_take(parser, page, link);
    }
}

/* The parser begins again, in another encoding than it took for granted. */
static void restart_links(void *context)
{
    Reading *reading = context;
    reading->parser->n_told = 0;
    reading->parser->n_listed = 0;
    parsing_links_rewind(reading->parser, &reading->mark);
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
    /* Made for the first long page of a thread and kept: most threads never need one. */
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
                           .bounds = {.max_bytes = (size_t)parser->config->parse_max_bytes,
                                      .max_ratio = (unsigned)parser->config->fetch_max_ratio},
                           .decoder = parser->decoder,
                           .html = parser->html,
                           .page = input};
    LongPageResult result;
    *rc = long_page_read(parser->long_page, &whole, &parser->found, &result);
    if (result.bytes_read == 0) {
        return false;
    }
    page->about.bytes_read = result.bytes_read;
    page->about.unread = result.decoded != DECODE_OK || fetch->answer.spool.is_cut;
    /* The digest of all of it, in place of that of the part that is kept. */
    page->hashes.body[0] = result.hash.high;
    page->hashes.body[1] = result.hash.low;
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
    Reading reading = {.parser = parser, .page = page, .mark = parsing_links_mark(parser)};
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

void parsing_html_document(Parser *parser, ParsedPage *page, const HttpHeader *header,
                           const char *content_type)
{
    const Page *found = &parser->found;
    bool follows = (page->verdict.refused_hooks & 1u << HOOK_FOLLOW) == 0;
    bool embeds = parser->config->scope_embeds;
    Reading reading = {.parser = parser, .page = page, .mark = parsing_links_mark(parser)};
    HtmlInput input = parsing_html_input_of(parser, page, content_type, &reading);
    read_document(parser, page, header, &input);
    page->verdict.robots |= found->robots;
    if (found->ends_s > 0 &&
        (page->about.freshness.ends_s == 0 || found->ends_s < page->about.freshness.ends_s)) {
        page->about.freshness.ends_s = found->ends_s;
    }
    if ((page->verdict.robots & PAGE_NOFOLLOW) != 0 && follows) {
        /* A nofollow that stood behind the first links. Either all links of the document are taken
         * back, or, where embeds are followed, it is read a second time: they can be told apart
         * only while they are found. */
        if (!embeds) {
            parsing_links_rewind(parser, &reading.mark);
            stats_add(&parser->stats->refused[REFUSED_NOFOLLOW], parser->n_told);
        } else if (reading.took_any) {
            /* Links were kept that must not be, and may hide embeds: once more, knowing that. */
            parsing_links_rewind(parser, &reading.mark);
            read_document(parser, page, header, &input);
        }
    }
    end_reading(parser);
    /* The lang attribute of <html>, else Content-Language when that names one. */
    HttpField field;
    if (found->language != NULL) {
        memcpy(page->about.language, found->language, strlen(found->language) + 1);
    } else if (http_header_find(header, "Content-Language", &field)) {
        (void)language_tag_read(field.value, field.value_length, page->about.language);
    }
    page->hashes.simhash = found->simhash;
    page->hashes.sketch = found->sketch;
    memcpy(page->hashes.text, found->text_digest, sizeof page->hashes.text);
    if (found->numbers != NULL) {
        page->hashes.numbers = *found->numbers;
    }
}
