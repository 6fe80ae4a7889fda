#include "frontier/sieve/sieve.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/thread/log.h"
#include "frontier/sieve/sieve_link.h"
#include "frontier/sieve/sieve_merge.h"
#include "frontier/sieve/url_cache.h"

/* Shares of memory_bytes. */
#define CACHE_SHARE  4u
#define ARRAYS_SHARE 4u
#define MERGE_SHARE  2u
/* What a merge holds of one element of the bucket it has in memory: drum.h says 45, the element
 * itself, and what is looked up. */
#define MERGE_ELEMENT_BYTES 90u
#define ELEMENT_BYTES       24u /* key, given value, and what tells them apart */
#define LEAST_ARRAY         ((size_t)1 << 10)
#define MOST_ARRAY          ((size_t)32 << 10)
#define GENERATION_ELEMENTS ((uint64_t)8 << 20)
#define BUCKET_ELEMENTS     ((size_t)16 << 10) /* merged in one piece, whatever the clock says */

struct Sieve {
    SieveOptions options;
    char *directory;
    Drum *drum;
    PageMerge *pages;
    UrlCache *cache;
    uint32_t number; /* of the last page in the generation */
    MonoTime oldest; /* first element of the generation */
    SieveState state;
    SieveState committed;
    bool dirty;  /* something was added since sieve_save */
    bool merged; /* the state changed by a merge since the last commit */
    SieveMerge merge;
    uint64_t recovered_lost;
    uint64_t recovered; /* links of an earlier run */
};

/* ---- birth and death
 * ---------------------------------------------------------------------------------- */

static DrumOptions drum_options(Sieve *sieve)
{
    const SieveOptions *options = &sieve->options;
    size_t array = options->memory_bytes / ARRAYS_SHARE / options->buckets;
    size_t room = options->memory_bytes / MERGE_SHARE / MERGE_ELEMENT_BYTES;
    size_t bucket = (room < BUCKET_ELEMENTS ? room : BUCKET_ELEMENTS) * ELEMENT_BYTES;
    return (DrumOptions){.directory = sieve->directory,
                         .repository = page_merge_repository(sieve->pages, sieve->state.progress),
                         .dispatcher = sieve_merge_dispatcher(&sieve->merge),
                         .keys = DRUM_KEYS_BYTES,
                         .buckets = options->buckets,
                         .array_bytes = array < LEAST_ARRAY  ? LEAST_ARRAY
                                        : array > MOST_ARRAY ? MOST_ARRAY
                                                             : array,
                         .bucket_bytes = bucket,
                         .auxiliary_bytes = SIZE_MAX,
                         .manual_merge = true,
                         .manual_seal = true,
                         .committed = &sieve->state.position,
                         .keep_existing = true,
                         .skip_damaged = true,
                         .whole_blocks = true,
                         .assign = page_merge_assign,
                         .assign_context = sieve->pages,
                         .assign_bytes = PAGE_MERGE_VALUE_BYTES};
}

static void sieve_report(Sieve *sieve, const DrumRecovery *recovery)
{
    if (recovery->generations > 0 || recovery->torn_bytes > 0) {
        LOG_INFO("sieve", "links of an earlier run wait",
                 "generations=%llu links=%llu uncommitted_bytes=%llu",
                 (unsigned long long)recovery->generations, (unsigned long long)recovery->elements,
                 (unsigned long long)recovery->torn_bytes);
    }
    sieve->recovered = recovery->elements;
    if (recovery->damaged_bytes > 0) {
        LOG_ERROR("sieve", "links of an earlier run are lost: ragno verify --repair",
                  "bytes=%llu links_at_least=%llu", (unsigned long long)recovery->damaged_bytes,
                  (unsigned long long)recovery->damaged_elements);
        sieve->recovered_lost = recovery->damaged_elements;
    }
}

Result sieve_open(Sieve **out, const SieveOptions *options, MDB_txn *txn)
{
    *out = NULL;
    Sieve *sieve = calloc(1, sizeof *sieve);
    if (sieve == NULL) {
        return RESULT_MEMORY;
    }
    sieve_edges_init(&sieve->merge.edges, NULL);
    sieve->options = *options;
    sieve->options.buckets = options->buckets == 0 ? SIEVE_BUCKETS : options->buckets;
    sieve->directory = strdup(options->directory);
    sieve->pages = page_merge_new(options->db);
    sieve->merge.pages = sieve->pages;
    sieve->merge.directory = sieve->directory;
    sieve->merge.state = &sieve->state;
    Result rc = sieve->directory == NULL || sieve->pages == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = options->memory_bytes < SIEVE_LEAST_MEMORY
                 ? RESULT_INVALID
                 : sieve_state_read(txn, options->crawl, &sieve->state);
    }
    if (rc == RESULT_OK) {
        rc = url_cache_new(&sieve->cache, options->memory_bytes / CACHE_SHARE);
    }
    if (rc == RESULT_OK) {
        DrumOptions drum = drum_options(sieve);
        DrumRecovery recovery;
        rc = drum_open(&sieve->drum, &drum, &recovery);
        if (rc == RESULT_OK) {
            sieve_report(sieve, &recovery);
        }
    }
    if (rc != RESULT_OK) {
        sieve_close(sieve);
        return rc;
    }
    sieve->committed = sieve->state;
    sieve->merge.drum = sieve->drum;
    *out = sieve;
    return RESULT_OK;
}

void sieve_close(Sieve *sieve)
{
    if (sieve == NULL) {
        return;
    }
    sieve_merge_end(&sieve->merge);
    (void)drum_dispose(sieve->drum);
    url_cache_delete(sieve->cache);
    page_merge_delete(sieve->pages);
    free(sieve->directory);
    free(sieve);
}

/* ---- adding
 * ------------------------------------------------------------------------------------------- */

bool sieve_is_due_for(const Sieve *sieve, uint64_t known_urls, bool hungry)
{
    uint64_t least = sieve->options.least_urls;
    return least == 0 || (!hungry && known_urls >= least);
}

static Result add_link(Sieve *sieve, const SievePage *page, const PageOrigin *origin,
                       const SieveTicket *ticket)
{
    size_t i = ticket->n_links;
    const char *url = page->links[i].url;
    size_t length = strlen(url);
    PageKey key;
    bool cross = true;
    page_key_of_link(sieve->options.db->store, url, length, origin, &key, &cross);
    SieveLink link = {.from = page->index,
                      .from_hash = page->hash,
                      .depth = page->depth + 1,
                      .number = ticket->number,
                      .n_links = (uint32_t)page->n_links,
                      .is_first = i == 0,
                      .page_score = page->score,
                      .kind = page->kinds == NULL ? (uint8_t)0 : page->kinds[i],
                      .score = page->links[i].score,
                      .hop = page->hops == NULL ? (uint8_t)'L' : page->hops[i],
                      .cross = cross};
    uint64_t fingerprint = hash_mix(key.hash) ^ hash_mix(~key.print);
    uint8_t bytes[PAGE_MERGE_KEY_BYTES];
    page_merge_key(&key, bytes);
    DrumKey drum_key = drum_key_bytes(bytes, sizeof bytes);
    if (url_cache_holds(sieve->cache, fingerprint)) {
        /* It is in the sieve, or came through it: it will be known when this one is merged. */
        return drum_check_with(sieve->drum, drum_key, (DrumBytes){&link, sizeof link});
    }
    uint8_t depth = link.depth < PAGE_MAX_DEPTH8 ? (uint8_t)link.depth : (uint8_t)PAGE_MAX_DEPTH8;
    char small[512];
    char *auxiliary = sizeof link + length <= sizeof small ? small : malloc(sizeof link + length);
    if (auxiliary == NULL) {
        return RESULT_MEMORY;
    }
    memcpy(auxiliary, &link, sizeof link);
    memcpy(auxiliary + sizeof link, url, length);
    Result rc = drum_check_update_with(sieve->drum, drum_key, (DrumBytes){&depth, 1},
                                       (DrumBytes){auxiliary, sizeof link + length});
    if (rc == RESULT_OK) {
        url_cache_put(sieve->cache, fingerprint);
    }
    if (auxiliary != small) {
        free(auxiliary);
    }
    return rc;
}

/* A page without links: an element under its own key that says so. */
static Result add_none(Sieve *sieve, const SievePage *page, SieveTicket *ticket)
{
    SieveLink link = {.from = page->index, .number = ticket->number, .is_first = 1};
    uint8_t bytes[PAGE_MERGE_KEY_BYTES];
    PageKey key = page_key_of(sieve->options.db->store, page->url, strlen(page->url));
    page_merge_key(&key, bytes);
    Result rc = drum_check_with(sieve->drum, drum_key_bytes(bytes, sizeof bytes),
                                (DrumBytes){&link, sizeof link});
    ticket->n_links = rc == RESULT_OK ? 1 : 0;
    return rc;
}

Result sieve_add(Sieve *sieve, const SievePage *page, SieveTicket *ticket, MonoTime now)
{
    if (page->n_links > SIEVE_MAX_LINKS) {
        return RESULT_LIMIT;
    }
    if (ticket->number == 0) {
        ticket->number = ++sieve->number;
    }
    if (drum_collected(sieve->drum) == 0) {
        sieve->oldest = now;
    }
    sieve->dirty = true;
    if (page->n_links == 0) {
        return ticket->n_links == 0 ? add_none(sieve, page, ticket) : RESULT_OK;
    }
    PageOrigin origin;
    page_origin_of(page->url, strlen(page->url), &origin);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && ticket->n_links < page->n_links) {
        rc = add_link(sieve, page, &origin, ticket);
        ticket->n_links += rc == RESULT_OK;
    }
    return rc;
}

Result sieve_save(Sieve *sieve, MDB_txn *txn)
{
    Result rc = RESULT_OK;
    if (sieve->dirty) {
        rc = drum_persist(sieve->drum);
        if (rc == RESULT_OK) {
            sieve->state.position = drum_position(sieve->drum);
        }
    }
    return rc == RESULT_OK && (sieve->dirty || sieve->merged)
               ? sieve_state_write(txn, sieve->options.crawl, &sieve->state)
               : rc;
}

void sieve_settle(Sieve *sieve, bool committed)
{
    if (committed) {
        sieve->committed = sieve->state;
        sieve->dirty = false;
    } else {
        sieve->state = sieve->committed;
    }
    bool merged = sieve->merged && sieve->merge.drum_merge != NULL;
    sieve->merged = false;
    if (merged) {
        sieve_merge_settle(&sieve->merge, committed);
    }
}

/* ---- merging
 * ------------------------------------------------------------------------------------------ */

MonoTime sieve_due(const Sieve *sieve, bool hungry)
{
    const MonoTime at_once = {0};
    uint64_t elements = drum_collected(sieve->drum);
    if (sieve->merge.drum_merge != NULL || drum_sealed_count(sieve->drum) > 0) {
        return at_once;
    }
    if (elements == 0) {
        return MONO_NEVER;
    }
    if (hungry || drum_is_full(sieve->drum) || elements >= GENERATION_ELEMENTS ||
        sieve->number >= SIEVE_MAX_NUMBER / 2) {
        return at_once;
    }
    return mono_add_ms(sieve->oldest, sieve->options.max_age_ms);
}

bool sieve_holds(const Sieve *sieve)
{
    return sieve->merge.drum_merge != NULL || drum_sealed_count(sieve->drum) > 0 ||
           drum_collected(sieve->drum) > 0;
}

Result sieve_merge(Sieve *sieve, MDB_txn *txn, const PageSink *sink, MonoTime until)
{
    Result rc = RESULT_OK;
    if (sieve->merge.drum_merge == NULL && drum_sealed_count(sieve->drum) == 0) {
        rc = drum_seal(sieve->drum);
        sieve->number = 0;
    }
    if (sieve->merge.drum_merge == NULL && rc == RESULT_OK) {
        rc = sieve_merge_begin(&sieve->merge);
    }
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    sieve->merged = true;
    rc = page_merge_begin(sieve->pages, txn, false, sink);
    if (rc == RESULT_OK) {
        rc = sieve_merge_step(&sieve->merge, until);
    }
    return page_merge_end(sieve->pages, rc);
}

SieveSource sieve_source(const Sieve *sieve)
{
    return sieve->merge.source;
}

void sieve_stats(const Sieve *sieve, SieveStats *stats)
{
    DrumStats drum;
    UrlCacheStats cache;
    drum_stats(sieve->drum, &drum);
    url_cache_stats(sieve->cache, &cache);
    *stats = (SieveStats){.pending = drum.accepted + sieve->recovered - drum.merged,
                          .merges = drum.merges,
                          .lost = sieve->merge.lost + sieve->recovered_lost + drum.damaged_elements,
                          .cache_hits = cache.hits,
                          .cache_misses = cache.misses};
}
