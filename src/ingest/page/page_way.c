#include "ingest/page/page_way.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/page/held_urls.h"
#include "ingest/page/host_groups.h"
#include "ingest/page/ingest_host.h"
#include "ingest/page/ingest_new_url.h"
#include "ingest/revisit/revisits.h"

/* Linked feeds: how many of the feeds that pages link are followed.
 *
 * What: with scope.sitemaps a parsing thread keeps the first feed of each page (LINK_FEED). Where
 * each page has a feed of its own, of its comments for example, those are as many as the pages, and
 * say little that the feed of the site does not. So the pages of a host bring
 * limits.feeds_per_host feeds into the crawl, those that are found first, on whichever host the
 * feeds are; links to further ones are dropped. A feed at a host that is out of scope never comes
 * here: it was refused as any link is.
 * Owns: nothing.
 * Threads: ingest, inside the batch's transaction. */
static Result linked_feeds_is_admitted(Batch *batch, const ParsedPage *page, const char *url,
                                       bool *admitted)
{
    uint64_t feed = hash_64(url, strlen(url), 0);
    return feed_rows_admit(batch->store->feeds, batch->txn, page->fetch->host.id, feed,
                           (size_t)batch->limits.feeds_per_host, admitted);
}

static bool linked_feeds_drop(Batch *batch, ParsedPage *page)
{
    size_t kept = 0;
    if (batch->store->feeds == 0 || page->links.kinds == NULL) {
        return true;
    }
    for (size_t i = 0; i < page->links.n; i++) {
        bool admitted = true;
        const char *url = page->links.list[i].url;
        if (batch->result == RESULT_OK && link_kind_of_byte(page->links.kinds[i]) == LINK_FEED) {
            (void)batch_note(batch, linked_feeds_is_admitted(batch, page, url, &admitted));
        }
        if (!admitted) {
            batch->totals.refused[REFUSED_FEEDS]++;
            crawl_log_skipped(batch->log, url, strlen(url), refusal_status(REFUSED_FEEDS),
                              "limits.feeds_per_host", -1, page->fetch->request.url);
            continue;
        }
        if (kept < i) {
            parsed_page_move_link(page, kept, i);
        }
        kept++;
    }
    page->links.n = kept;
    return batch->result == RESULT_OK;
}

/* ---- Spelling ---- */

Result ingest_spell_links(Batch *batch, const ParsedPage *page, LinkInfo **links)
{
    const char *from = page->fetch->request.has_page ? page->fetch->request.url : NULL;
    *links = page->links.list;
    if (!batch->options->dedup.on || page->links.n == 0 || page->links.keys == NULL) {
        return RESULT_OK;
    }
    LinkInfo *copy = arena_alloc(&batch->memory, page->links.n * sizeof *copy);
    Result rc = copy == NULL ? RESULT_MEMORY : RESULT_OK;
    for (size_t i = 0; i < page->links.n && rc == RESULT_OK; i++) {
        const char *first = NULL;
        rc = dedup_first(batch->txn, batch->store->keys, &page->links.keys[i],
                         page->links.list[i].url, page->links.hops[i] == 'R' ? from : NULL,
                         &batch->memory, &first);
        copy[i] = (LinkInfo){.url = (char *)(uintptr_t)first, .score = page->links.list[i].score};
    }
    *links = copy;
    return rc;
}

/* The same of seeds. */
static Result ingest_spell_seeds(Batch *batch, const LinkInfo *seeds, size_t n, LinkInfo **links)
{
    LinkInfo *copy = arena_alloc(&batch->memory, n * sizeof *copy);
    Result rc = copy == NULL ? RESULT_MEMORY : RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        const char *first = seeds[i].url;
        rc = batch_spell(batch, seeds[i].url, &first);
        copy[i] = (LinkInfo){.url = (char *)(uintptr_t)first, .score = seeds[i].score};
    }
    *links = copy;
    return rc;
}

Result ingest_spell_records(Batch *batch, LinkRecord *records, size_t n)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; batch->options->dedup.on && rc == RESULT_OK && i < n; i++) {
        const char *url = arena_copy(&batch->memory, records[i].url, records[i].length);
        const char *first = url;
        rc = url == NULL ? RESULT_MEMORY : batch_spell(batch, url, &first);
        if (rc == RESULT_OK) {
            records[i].url = first;
            records[i].length = strlen(first);
        }
    }
    return rc;
}

/* When a URL may not be fetched: lets the next spelling of its key take its place. */
static bool ingest_release_key(Batch *batch, const FetchResult *fetch)
{
    int32_t status = fetch->answer.status;
    bool forbidden = status == STATUS_ROBOTS || status == STATUS_BLOCKED || status == STATUS_TRAP ||
                     status == STATUS_SCOPE || status == STATUS_DENIED;
    const char *url = fetch->request.url;
    Hash128 key;
    return !batch->options->dedup.on || !forbidden ||
           (batch_note(batch,
                       dedup_key(&batch->options->dedup, &batch->dedup, url, strlen(url), &key)) &&
            batch_note(batch, dedup_release(batch->txn, batch->store->keys, &key, url)));
}

/* ---- A page's way ---- */

/* Duplicates: pages whose body, or nearly the same text, is stored already.
 *
 * What: a page is a duplicate when a page of the same host has the same body, byte for byte. A page
 * is a near duplicate when a page of any host has nearly the same text (store/tables/near_rows.h).
 * Threads: ingest, inside the batch's transaction. */

/* What makes two pages of a host duplicates. */
static const uint64_t *ingest_duplicates_fingerprint(const Batch *batch, const ParsedPage *page)
{
    return batch->options->config.parse_duplicates == DUPLICATES_CONTENT ? page->hashes.content
                                                                         : page->hashes.body;
}

/* The host stands in front: what a host's next page is compared with is in pages of the tree that
 * its last ones were entered into. */
static void body_print(const FetchResult *fetch, const uint64_t hash[2], uint64_t print[2])
{
    print[0] = htobe64((uint64_t)fetch->host.id << 32 | (uint32_t)hash[0]);
    print[1] = hash[1];
}

/* A page's record knows its content, which may be another hash than that of its body. Such a page
 * has a second entry, page -> fingerprint of the first. */
static bool has_own_key(const Batch *batch, ContentKind kind)
{
    return kind == CONTENT_DOCUMENT ||
           (batch->options->config.parse_duplicates != DUPLICATES_CONTENT && kind != CONTENT_BODY);
}

static bool forget_own_key(Batch *batch, const ParsedPage *page)
{
    BodyRows *bodies = batch->store->bodies;
    uint64_t index = page->fetch->request.index;
    uint64_t now[2];
    uint64_t old[2];
    body_print(page->fetch, ingest_duplicates_fingerprint(batch, page), now);
    Result rc = body_rows_get_own(bodies, batch->txn, index, old);
    if (rc != RESULT_OK || memcmp(old, now, sizeof old) == 0) {
        return batch_note(batch, rc == RESULT_NOT_FOUND ? RESULT_OK : rc);
    }
    return batch_note(batch, body_rows_remove_own(bodies, batch->txn, index)) &&
           batch_note(batch, body_rows_forget(bodies, batch->txn, old, index));
}

/* When the body of a page has changed: removes the entry that names this page as the original of
 * its old body. stored: the page before this visit; n_crawls is 0 when there was none. */
static bool ingest_forget_body(Batch *batch, const ParsedPage *page, const PageRef *stored)
{
    if (stored->n_crawls == 0) {
        return true;
    }
    if (has_own_key(batch, content_hash_kind(stored->flags))) {
        return forget_own_key(batch, page);
    }
    if (stored->content_hash64 == ingest_duplicates_fingerprint(batch, page)[0]) {
        return true;
    }
    /* The record has the first word only. */
    const uint64_t hash[2] = {stored->content_hash64, 0};
    uint64_t print[2];
    body_print(page->fetch, hash, print);
    return batch_note(batch, body_rows_forget_word(batch->store->bodies, batch->txn, print[0],
                                                   page->fetch->request.index));
}

/* Finds the page of this host that has the same body; when there is none, enters this page as the
 * original. *same_links: both pages have the same links, too. (A copy in another folder has the
 * same bytes, but its relative links lead elsewhere, and dropping it would lose pages that only it
 * leads to.) */
static bool ingest_find_duplicate(Batch *batch, const ParsedPage *page, ContentKind kind,
                                  uint64_t *original, bool *same_links)
{
    const FetchResult *fetch = page->fetch;
    BodyRows *bodies = batch->store->bodies;
    const uint64_t *hash = ingest_duplicates_fingerprint(batch, page);
    BodyOwner owner = {.page = fetch->request.index, .links_hash = page->hashes.links};
    uint64_t print[2];
    bool found = false;
    *original = PAGE_DB_NO_INDEX;
    *same_links = false;
    if (fetch->answer.status != 200 || (hash[0] | hash[1]) == 0) {
        return true;
    }
    body_print(fetch, hash, print);
    if (!batch_note(batch, body_rows_enter(bodies, batch->txn, print, &owner, &found))) {
        return false;
    }
    if (found) {
        *original = owner.page == fetch->request.index ? PAGE_DB_NO_INDEX : owner.page;
        *same_links = owner.links_hash == page->hashes.links;
    }
    return found || !has_own_key(batch, kind) ||
           batch_note(batch, body_rows_put_own(bodies, batch->txn, fetch->request.index, print));
}

Result page_way_find_near(Batch *batch, const ParsedPage *page, bool duplicate, uint64_t *near)
{
    const FetchResult *fetch = page->fetch;
    const TextSketch *sketch = &page->hashes.sketch;
    bool enters = fetch->answer.status == 200 && !duplicate && sketch->exists;
    if (batch->options->config.parse_near_duplicates != NEAR_DUPLICATES_FLAG ||
        (!enters && !fetch->request.again)) {
        return RESULT_OK;
    }
    NearRows rows = batch->store->near;
    TextSketch old = {.exists = false};
    NearMatch match = {.page = PAGE_DB_NO_INDEX};
    rows.txn = batch->txn;
    Result rc = fetch->request.again ? near_rows_get(&rows, fetch->request.index, &old) : RESULT_OK;
    bool stays = enters && old.exists && memcmp(old.bytes, sketch->bytes, sizeof old.bytes) == 0;
    if (rc == RESULT_OK && old.exists && !stays) { /* what it was must not be found */
        rc = near_rows_remove(&rows, fetch->request.index, &old);
    }
    if (rc != RESULT_OK || !enters) {
        return rc;
    }
    rc = near_rows_find(&rows, sketch, fetch->request.index, &match);
    *near = rc == RESULT_OK ? match.page : *near;
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc =
            stays ? RESULT_OK : near_rows_enter(&rows, fetch->request.index, sketch, match.is_twin);
    }
    return rc;
}

/* ---- Ingest sink ---- */

static int ingest_sink_on_crawled(void *context, const PageRef *before, const PageRef *after,
                                  uint8_t *level)
{
    Batch *batch = context;
    size_t write = batch->n_begun++;
    batch->begun = before->index;
    batch->visits.changed += after->n_changes > before->n_changes;
    *level = SCHEDULE_NO_LEVEL;
    bool is_done = batch_schedule(batch, before, before->level, SCHEDULE_NO_LEVEL) &&
                   (!batch->writes[write].links_later ||
                    batch_note(batch, ingest_sieve_add(batch, write, after)));
    return is_done ? 0 : -1;
}

PageSink ingest_sink(Batch *batch)
{
    return (PageSink){.context = batch,
                      .discovered = ingest_new_url,
                      .crawled = ingest_sink_on_crawled,
                      .improved = batch->cluster == NULL ? NULL : hand_over_improved};
}

/* ---- A page's way ---- */

/* What holds between the stations:
 *
 * 1. Until write_down, idx2info has every page as it was before the batch. So batch_stored tells
 *    what the answer is compared with, even in page_way_store of the last page.
 * 2. page_db_write tells of its pages in the order of Batch.writes: the sink knows the write that
 *    it is told of by counting them (Batch.n_begun).
 * 3. A station may run again on the same ParsedPage, after an abort. What it writes into the page
 *    is made anew each time from what parsing left (content_hash_of, page_way_judge), or does no
 *    harm twice: links that were dropped stay dropped, records that were appended are gone from it.
 * 4. Host records change in memory (batch_host) and are written once, by batch_finish. */

#define RESULT_LOOK_UPS 6u /* host, schedule, bodies, near, payloads, captures */

/* ---- archive: its WARC records ---- */

/* Appends the records of a page, once: a batch that is tried again finds them there. */
static bool archive(Batch *batch, ParsedPage *page)
{
    Archive *files = batch->store->archive;
    return files == NULL || page->archive.group == NULL ||
           (batch_note(batch, archive_append(files, page->archive.group)) &&
            batch_note(batch, archive_append(files, page->archive.picture)) &&
            batch_note(batch,
                       archive_remember(files, batch->txn, page->archive.group, page->fetch)));
}

/* ---- discover: the sitemaps that a robots.txt names ---- */

/* The sitemaps that robots.txt names become pages of their own, found by nobody's link. */
static bool page_way_discover(Batch *batch, const ParsedPage *page)
{
    PageSink sink = ingest_sink(batch);
    LinkInfo *links = NULL;
    return page->links.n == 0 ||
           (batch_note(batch, ingest_spell_links(batch, page, &links)) &&
            batch_note_db(batch,
                          page_db_discover(batch->store->db, batch->txn, links, page->links.hops,
                                           page->links.n, PAGE_DB_NO_INDEX, 0, &sink)));
}

/* ---- give up: no answer, or a refusal ---- */

/* Takes a page out of the schedule. */
static bool page_way_unschedule(Batch *batch, const PageRef *page, int32_t status, uint8_t tries)
{
    return batch_schedule(batch, page, page->level, SCHEDULE_NO_LEVEL) &&
           batch_note_db(batch, page_db_set_state(batch->store->db, batch->txn, page->index, status,
                                                  SCHEDULE_NO_LEVEL, tries));
}

/* A URL that is given up without an answer, or was refused: its entry leaves, its reason stays. */
static bool page_way_give_up(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    PageRef page;
    int32_t status = fetch->answer.status;
    /* A page that was crawled before keeps the status of what is stored of it: the visit failed,
     * not it. */
    if (!batch_note(batch, batch_stored(batch, fetch->request.index, &page)) ||
        !page_way_unschedule(batch, &page, page.n_crawls > 0 ? page.status : status,
                             fetch->request.tries)) {
        return false;
    }
    if (status == STATUS_ROBOTS) {
        batch->totals.refused[REFUSED_ROBOTS]++;
        host->record.robots_denied++;
    } else if (status == STATUS_TRAP) {
        batch->totals.refused[REFUSED_TRAP]++;
    } else if (!batch_note(batch, held_urls_hold(batch, fetch))) {
        return false;
    }
    return ingest_release_key(batch, fetch);
}

/* ---- confirm: the answer replaces nothing ---- */

/* A visit that brings nothing to replace what is stored: not modified, or an error. */
static bool page_way_is_confirmation(const FetchResult *fetch)
{
    return fetch->request.again && (fetch->answer.status == 304 || fetch->answer.status >= 400);
}

/* The status of a page is that of what is stored of it. */
static bool confirm(Batch *batch, const FetchResult *fetch)
{
    PageRef page;
    uint64_t index = fetch->request.index;
    double time = (double)fetch->cost.wall_start.us / 1e6;
    batch->totals.pages++;
    return batch_note(batch, batch_stored(batch, index, &page)) &&
           page_way_unschedule(batch, &page, page.status, 0) &&
           batch_note_db(batch, page_db_confirm(batch->store->db, batch->txn, index, time));
}

/* ---- store: the answer is kept ---- */

/* Whether the answer counts among the pages of its host: once, when it is good. */
static bool is_first_good(Batch *batch, const FetchResult *fetch)
{
    PageRef stored = {.status = 0};
    if (fetch->answer.status < 200 || fetch->answer.status >= 300) {
        return false;
    }
    if (fetch->request.again && batch_stored(batch, fetch->request.index, &stored) != RESULT_OK) {
        return false;
    }
    return stored.status < 200 || stored.status >= 300;
}

/* The links of a page as they are stored: none of one whose body is that of another page,
 * *original, unless that is wanted or they differ; spelled as the pages they lead to. */
static bool find_links(Batch *batch, ParsedPage *page, ContentKind kind, uint64_t *original,
                       PageLinks *links)
{
    bool same_links = false;
    LinkInfo *spelled = NULL;
    if (!ingest_find_duplicate(batch, page, kind, original, &same_links)) {
        return false;
    }
    bool duplicate = *original != PAGE_DB_NO_INDEX;
    /* When the commit before this one failed while the sieve took the links, the sieve counts on
     * from a place in this list. What fills up meanwhile must not make the list shorter. */
    bool begun = page->links.ticket.number != 0;
    bool follow =
        begun || !duplicate || !same_links || batch->options->config.parse_follow_duplicates;
    if (follow && !begun &&
        !(batch_note(batch, host_groups_drop_links(batch, page)) &&
          linked_feeds_drop(batch, page))) {
        return false;
    }
    bool is_spelled = batch_note(batch, ingest_spell_links(batch, page, &spelled));
    *links = (PageLinks){.link_info = spelled, .n_links = follow ? page->links.n : 0};
    return is_spelled;
}

/* What its content hash is of: when it is to be rendered, of a document. */
static bool page_way_judge(Batch *batch, ParsedPage *page, ContentKind *kind)
{
    const IngestRendering *rendering = batch->options->rendering;
    page->verdict.is_rendered = false;
    *kind = page->hashes.kind;
    if (page->verdict.need == PAGE_NEEDS_NOTHING || rendering == NULL) {
        return true;
    }
    bool is_judged = batch_note(
        batch, rendering->judge(rendering->context, batch, page, &page->verdict.is_rendered));
    *kind = page->verdict.is_rendered ? CONTENT_DOCUMENT : *kind;
    return is_judged;
}

static void count_stored(Batch *batch, BatchHost *host, const FetchResult *fetch, bool duplicate)
{
    bool counts = is_first_good(batch, fetch);
    batch->totals.pages++;
    batch->totals.duplicates += duplicate;
    host->record.duplicates += duplicate && counts;
    host->record.pages += !duplicate && counts;
    if (!duplicate && counts) {
        host_groups_stored(batch, host);
    }
}

/* The order of the steps: the body that the page had is forgotten before its new one is entered,
 * which replaces the page's own key, from which the old body is known (forget_own_key). Links are
 * dropped before it is decided whether the sieve takes them, because their number decides. Nothing
 * is added to Batch.writes before all steps are done: a write without its page would shift what the
 * sink counts. */
static bool page_way_store(Batch *batch, size_t place, BatchHost *host)
{
    ParsedPage *page = batch->pages[place];
    FetchResult *fetch = page->fetch;
    uint64_t index = fetch->request.index;
    uint64_t *original = &batch->duplicate_of[place];
    PageLinks links = {.n_links = 0};
    bool later = false;
    PageRef stored = {.n_crawls = 0};
    content_hash_of(page, page->hashes.kind, page->hashes.content);
    ContentKind kind = page->hashes.kind;
    if ((fetch->request.again && !batch_note(batch, batch_stored(batch, index, &stored))) ||
        !page_way_judge(batch, page, &kind)) {
        return false;
    }
    bool other_hash = stored.n_crawls > 0 && content_hash_kind(stored.flags) != kind;
    bool learns = kind == CONTENT_TEXT && batch->revisits != NULL;
    if ((learns && !batch_note(batch, revisits_learn_numbers(batch->revisits, batch, page))) ||
        !ingest_forget_body(batch, page, &stored) ||
        !find_links(batch, page, kind, original, &links)) {
        return false;
    }
    bool duplicate = *original != PAGE_DB_NO_INDEX;
    if (!batch_note(batch, page_way_find_near(batch, page, duplicate || kind == CONTENT_DOCUMENT,
                                              &batch->near_of[place])) ||
        !batch_note(batch, ingest_sieve_takes_later(batch, page, links.n_links, &later))) {
        return false;
    }
    if (batch->store->external != 0 &&
        !batch_note(batch, external_rows_put(batch->store->external, batch->txn, index,
                                             page->links.external, page->links.external_length))) {
        return false;
    }
    if (kind == CONTENT_DOCUMENT) { /* that of the last document, until there is another one */
        page->hashes.content[0] = other_hash ? 0 : stored.content_hash64;
    }
    size_t i = batch->n_writes++;
    batch->written[i] = page;
    batch->links[i] = links;
    batch->crawled[i] = (CrawledPage){.url = fetch->request.url,
                                      .links = &batch->links[i],
                                      .time = (double)fetch->cost.wall_start.us / 1e6,
                                      .score = page->verdict.score,
                                      .content_hash = (char *)&page->hashes.content[0],
                                      .content_hash_length = sizeof page->hashes.content[0]};
    batch->writes[i] =
        (PageWrite){.page = &batch->crawled[i],
                    .link_hops = page->links.hops,
                    .link_kinds = page->links.kinds,
                    .link_keys = links.link_info == page->links.list ? page->links.page_keys : NULL,
                    .status = fetch->answer.status,
                    .flags = content_hash_flags(kind) | usage_flags(fetch->answer.usage.denied),
                    .other_hash = other_hash,
                    .links_later = later};
    count_stored(batch, host, fetch, duplicate);
    return true;
}

/* ---- the way ---- */

/* It stays scheduled, and how often it has failed is kept; of a host that is set aside it begins
 * anew. */
static bool keep_for_later(Batch *batch, const FetchResult *fetch)
{
    PageRef page;
    uint8_t tries = fetch->host.drop || fetch->host.park ? 0 : fetch->request.tries;
    batch->totals.retries++;
    return batch_note(batch, batch_stored(batch, fetch->request.index, &page)) &&
           (page.tries == tries ||
            batch_note_db(batch, page_db_set_state(batch->store->db, batch->txn, page.index,
                                                   page.status, page.level, tries)));
}

/* The result of a scheduled URL. */
static bool page_way_settle(Batch *batch, size_t place, BatchHost *host)
{
    const FetchResult *fetch = batch->pages[place]->fetch;
    unsigned class = stats_status_class(fetch->answer.status);
    batch->totals.by_status[class] += fetch->kind == FETCHED_PAGE;
    if (fetch->request.check) {
        return true;
    }
    if (!fetch->final) {
        return keep_for_later(batch, fetch);
    }
    host_groups_left(batch, host, fetch->request.again ? 0 : 1);
    if (fetch->answer.status < 100) {
        return page_way_give_up(batch, host, fetch);
    }
    return page_way_is_confirmation(fetch) ? confirm(batch, fetch)
                                           : page_way_store(batch, place, host);
}

/* The stations that a result meets alone. */
static bool page_way_take(Batch *batch, size_t place)
{
    ParsedPage *page = batch->pages[place];
    const FetchResult *fetch = page->fetch;
    batch->duplicate_of[place] = PAGE_DB_NO_INDEX;
    batch->near_of[place] = PAGE_DB_NO_INDEX;
    if (fetch->kind == FETCHED_DNS) {
        return archive(batch, page);
    }
    if (fetch->kind == FETCHED_RENDERED) {
        const IngestRendering *rendering = batch->options->rendering;
        return archive(batch, page) &&
               batch_note(batch, rendering->take(rendering->context, batch, page,
                                                 &batch->duplicate_of[place]));
    }
    if (fetch->host.has_places) {
        return true; /* it only brought the batch */
    }
    if (fetch->host.id == FETCH_NO_HOST) {
        ingest_host_note_for_others(batch, fetch);
        return archive(batch, page);
    }
    BatchHost *host = batch_host(batch, fetch->host.id);
    if (host == NULL) {
        return false;
    }
    page_db_looked_up(batch->store->db, RESULT_LOOK_UPS);
    if (!archive(batch, page)) {
        return false;
    }
    ingest_host_note(batch, host, fetch);
    ingest_host_note_wall(batch, host, page->verdict.wall);
    UsagePlace file = fetch->request.file;
    if (fetch->kind == FETCHED_ROBOTS && (file == USAGE_IN_TDM || usage_is_licence(file))) {
        return batch_note(batch, ingest_host_note_usage_file(batch, host, fetch));
    }
    if (fetch->kind == FETCHED_ROBOTS) {
        batch->totals.by_status[0] += fetch->answer.status < 0;
        return batch_note(batch, ingest_host_note_robots(batch, host, fetch)) &&
               page_way_discover(batch, page);
    }
    if (!fetch->request.has_page) {
        batch->totals.by_status[0] +=
            !fetch->host.deny && !fetch->host.closed; /* a name that could not be resolved */
        return true;
    }
    return page_way_settle(batch, place, host);
}

/* Pages, links and new URLs of all results in one sweep over the hashes. */
static bool write_down(Batch *batch)
{
    PageSink sink = ingest_sink(batch);
    return batch->n_writes == 0 ||
           batch_note_db(batch, page_db_write(batch->store->db, batch->txn, batch->writes,
                                              batch->n_writes, &sink));
}

/* ---- give back: pages that a wall has answered for ---- */

static bool give_back_page(Batch *batch, uint64_t index)
{
    static char yes;
    bool under_way = false;
    return batch_note(batch, held_urls_return(batch, index, &under_way)) &&
           (!under_way || batch->walled == NULL ||
            batch_note(batch, map_put(batch->walled, map_key(index), &yes)));
}

/* Results of one host may overtake each other at the parsing threads: a page whose own result comes
 * behind that of its wall is given back with it. With revisits each page is asked again anyhow. */
static bool give_back(Batch *batch)
{
    for (size_t i = 0; i < batch->n_pages && batch->revisits == NULL; i++) {
        const FetchResult *fetch = batch->pages[i]->fetch;
        for (size_t j = 0; j < fetch->host.n_walled_pages; j++) {
            if (!give_back_page(batch, fetch->host.walled_pages[j])) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < batch->n_pages && batch->walled != NULL; i++) {
        const FetchRequest *request = &batch->pages[i]->fetch->request;
        if (fetch_result_settles(batch->pages[i]->fetch) &&
            map_remove(batch->walled, map_key(request->index)) != NULL &&
            !give_back_page(batch, request->index)) {
            return false;
        }
    }
    return true;
}

/* When each page is due again; schedule.mode = continuous. */
static bool revisit(Batch *batch)
{
    Revisits *revisits = batch->revisits;
    for (size_t i = 0; i < batch->n_pages && revisits != NULL; i++) {
        const ParsedPage *page = batch->pages[i];
        if (!fetch_result_settles(page->fetch)) {
            continue;
        }
        if (!batch_note(batch, revisits_note(revisits, batch, page)) ||
            (page->links.n_dates > 0 &&
             !batch_note(batch, revisits_take_signals(revisits, batch, page)))) {
            return false;
        }
    }
    return true;
}

Result page_way_apply(Batch *batch)
{
    batch->holds = true;
    for (size_t i = 0; i < batch->n_pages; i++) {
        if (!page_way_take(batch, i)) {
            return batch->result;
        }
    }
    /* The records of the hosts come last: the steps before count what is queued and crawled. */
    if (write_down(batch) && batch_let_go(batch) && give_back(batch) && revisit(batch) &&
        ingest_host_close(batch) && batch->revisits != NULL) {
        (void)batch_note(batch, revisits_end(batch->revisits, batch));
    }
    return batch->result;
}

/* ---- short cuts ---- */

/* A seed that names a host which was set aside brings it back. */
static bool revive_host_of(Batch *batch, const char *url)
{
    uint32_t id = 0;
    uint64_t urls = 0;
    if (!batch_find_host(batch, url, &id)) {
        return true;
    }
    BatchHost *host = batch_host(batch, id);
    if (host == NULL) {
        return false;
    }
    bool was_aside = host_is_aside(&host->record);
    if (!batch_note(batch, ingest_host_revive(batch, host, &urls))) {
        return false;
    }
    if (was_aside) {
        LOG_INFO("ingest", "a seed brings its host back", "id=%u urls=%llu url=%s", id,
                 (unsigned long long)urls, url);
    }
    return true;
}

static bool revive_hosts(Batch *batch, const LinkInfo *seeds, size_t n)
{
    uint64_t entries = 0;
    uint64_t hosts = 0;
    bool goes_on = batch_note(
        batch, schedule_parked_counts(batch->store->schedule, batch->txn, &entries, &hosts));
    for (size_t i = 0; goes_on && hosts > 0 && i < n; i++) {
        goes_on = revive_host_of(batch, seeds[i].url);
    }
    return goes_on;
}

/* That they are seeds, and their tags. Those of other agents of a cluster are not here. */
static bool note_seeds(Batch *batch, const LinkInfo *seeds, const char *const *tags, size_t n)
{
    StaySet *stay = batch->options->stay;
    for (size_t i = 0; i < n && batch->store->seeds != 0; i++) {
        uint64_t index = 0;
        const char *url = seeds[i].url;
        if (stay != NULL && stay_set_add(stay, url, strlen(url)) == RESULT_MEMORY) {
            return batch_note(batch, RESULT_MEMORY);
        }
        int code = page_db_find(batch->store->db, batch->txn, url, strlen(url), &index);
        if (code == page_db_error_no_page) {
            continue;
        }
        if (!batch_note_db(batch, code) ||
            !batch_note(batch, seed_rows_put(batch->store->seeds, batch->txn, index,
                                             tags == NULL ? NULL : tags[i]))) {
            return false;
        }
    }
    return true;
}

Result page_way_seed(Batch *batch, const LinkInfo *seeds, const char *const *tags, size_t n,
                     uint64_t *added)
{
    PageSink sink = ingest_sink(batch);
    uint64_t before = page_db_n_pages(batch->store->db, batch->txn);
    LinkInfo *spelled = NULL;
    if (batch->options->dedup.on && n > 0) {
        if (!batch_note(batch, ingest_spell_seeds(batch, seeds, n, &spelled))) {
            return batch->result;
        }
        seeds = spelled;
    }
    uint8_t *hops = arena_alloc(&batch->memory, n + 1);
    if (hops == NULL) {
        return RESULT_MEMORY;
    }
    /* 'M' of crawl.log's hop paths: a seed. */
    memset(hops, 'M', n);
    bool is_found = batch_note_db(batch, page_db_discover(batch->store->db, batch->txn, seeds, hops,
                                                          n, PAGE_DB_NO_INDEX, 0, &sink));
    *added = page_db_n_pages(batch->store->db, batch->txn) - before;
    if (is_found && note_seeds(batch, seeds, tags, n)) {
        (void)revive_hosts(batch, seeds, n);
    }
    return batch->result;
}
