#include "frontier/sieve/sieve.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "base/core/hash.h"
#include "base/memory/bits.h"
#include "base/memory/map.h"
#include "base/thread/log.h"
#include "frontier/sieve/url_cache.h"

/* Sieve link: what the bucket files hold of a link, behind its key.
 *
 * What: the auxiliary value of a DRUM element, written when a link is added, read by
 * a merge and by sieve_walk. It is in the machine's byte order: bucket files do not travel. */

/* The URL follows, unless the cache knew it. */
typedef struct SieveLink {
    uint64_t from;
    uint64_t from_hash;
    uint64_t depth;   /* of what it links to */
    uint32_t number;  /* of the page's crawl in the generation */
    uint32_t n_links; /* of the page; 0: none, only that matters */
    float score;
    float page_score;
    uint8_t hop;
    uint8_t cross;    /* leaves the domain */
    uint8_t is_first; /* of the page */
    uint8_t kind;
    uint8_t padding[4];
} SieveLink;

/* Reads the auxiliary value of an element. False when it is too short. */
static inline bool sieve_link_read(DrumBytes auxiliary, SieveLink *link)
{
    if (auxiliary.bytes == NULL || auxiliary.length < sizeof *link) {
        return false;
    }
    memcpy(link, auxiliary.bytes, sizeof *link);
    return true;
}

/* ---- Sieve merge ---- */

#define TIME_STEP 64u /* lists between two looks at the clock */

/* What a step does follows from where the merge stands, so that a step may end anywhere, and a
 * process that was killed in the middle is followed by one that finds its place:
 *
 *   edge_buckets < progress.bucket   replay   a bucket that an earlier process merged: look-ups
 *     |                                       only, to gather its edges again
 *   edge_buckets = progress.bucket   merge    the next bucket, until none is left
 *     | all edges are committed
 *   sorting                          sort     the edges, into the order of their pages
 *     |
 *   sorted                           lists    page after page, from state->lists on
 *     | no list is left
 *   finished                         its commit ends the generation (sieve_merge_settle)
 *
 * An abort takes back progress, edges and position together. It shortens the edges to the n that
 * were committed, which is possible only while they are in order of arrival: this is why the sort
 * waits until all are. Sorted edges are never added to, so an abort moves `position` alone. */

/* ---- events: what the look-up of a link came to ---- */

/* The link of an element; false: its auxiliary is not one. */
static bool sieve_merge_read_link(const DrumEvent *event, SieveLink *link, PageMergeLink *out)
{
    if (!sieve_link_read(event->auxiliary, link)) {
        return false;
    }
    const char *url = event->auxiliary.bytes;
    *out = (PageMergeLink){
        .from = {.index = link->from, .hash = link->from_hash, .depth = link->depth},
        .score = link->score,
        .hop = link->hop,
        .url = url + sizeof *link,
        .length = event->auxiliary.length - sizeof *link};
    return true;
}

/* What a page's list will be made of: how many links its crawl had, told once by the first of them,
 * and an edge for each. sieve_edges_next compares the two, so that a page of which a link was lost
 * is not whole. */
static Result sieve_merge_gather(SieveMerge *merge, const SieveLink *link, uint64_t target)
{
    Result rc = RESULT_OK;
    if (link->is_first != 0) {
        rc = sieve_edges_add_count(&merge->edges, link->from, link->number, link->n_links);
    }
    if (rc == RESULT_OK && link->n_links > 0) {
        rc = sieve_edges_add(&merge->edges, link->from, link->number, link->cross != 0, target,
                             link->kind);
    }
    return rc;
}

static Result on_new(void *context, const DrumEvent *event)
{
    SieveMerge *merge = context;
    SieveLink link;
    PageMergeLink given;
    if (merge->replaying) {
        /* The commit that merged this bucket gave each of its URLs an index, so the database has
         * lost this one. Its page lacks an edge then, and gets no list. */
        merge->lost++;
        return RESULT_OK;
    }
    if (!sieve_merge_read_link(event, &link, &given) || given.length == 0) {
        return RESULT_DAMAGED;
    }
    PageKey key = page_merge_read_key(event->key.bytes.bytes);
    /* The index was given by page_merge_assign, when the drum found the key unknown; the page is
     * made here. */
    PageMergeValue value = page_merge_read_value(event->value);
    /* Read by the sink within the next call (sieve_source), which wants to know whose link it
     * was. */
    merge->source = (SieveSource){.n_links = link.n_links, .score = link.page_score};
    Result rc = page_merge_new_page(merge->pages, &key, value, &given);
    return rc == RESULT_OK ? sieve_merge_gather(merge, &link, value.index) : rc;
}

static Result on_known(void *context, const DrumEvent *event)
{
    SieveMerge *merge = context;
    SieveLink link;
    PageMergeLink given;
    if (!sieve_merge_read_link(event, &link, &given)) {
        return RESULT_DAMAGED;
    }
    PageMergeValue value = page_merge_read_value(event->previous);
    Result rc = RESULT_OK;
    /* The element of a page without links stands under the key of the page itself (add_none). No
     * link leads to it, so its path is not improved. */
    if (!merge->replaying && link.n_links > 0) {
        PageKey key = page_merge_read_key(event->key.bytes.bytes);
        rc = page_merge_seen(merge->pages, &key, value, &given);
    }
    return rc == RESULT_OK ? sieve_merge_gather(merge, &link, value.index) : rc;
}

/* A link that the cache knew, to a page whose own element was in a damaged block. */
static Result on_lost(void *context, const DrumEvent *event)
{
    SieveMerge *merge = context;
    (void)event;
    merge->lost++;
    return RESULT_OK;
}

/* The functions that the drum calls during this merge. The merge must not be moved in memory. */
static DrumDispatcher sieve_merge_dispatcher(SieveMerge *merge)
{
    return (DrumDispatcher){.context = merge,
                            .unique_key_update = on_new,
                            .duplicate_key_update = on_known,
                            .duplicate_key_check = on_known,
                            .unique_key_check = on_lost};
}

/* ---- one generation ---- */

/* Begins with the oldest sealed generation. RESULT_NOT_FOUND: there is none. If the committed state
 * is about this generation an earlier process was in the middle of it, and progress and lists go on
 * from there; the edges of its buckets are gathered by replays. */
static Result sieve_merge_begin(SieveMerge *merge)
{
    Result rc = drum_merge_begin(merge->drum, &merge->drum_merge);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t generation = drum_merge_progress(merge->drum_merge).generation;
    if (merge->state->progress.generation != generation) {
        merge->state->progress = (DrumProgress){.generation = generation};
        merge->state->lists = 0;
    }
    merge->n_edges = 0;
    merge->edge_buckets = 0;
    merge->edge_buckets_committed = 0;
    merge->position = 0;
    merge->position_committed = 0;
    merge->sorting = false;
    merge->sorted = false;
    merge->finished = false;
    sieve_edges_init(&merge->edges, merge->directory);
    return RESULT_OK;
}

/* Room for the longest list is known only behind the sort. */
static Result sort_edges(SieveMerge *merge, MonoTime until)
{
    if (!merge->sorting) {
        Result rc = sieve_sort_begin(&merge->sort, &merge->edges);
        if (rc != RESULT_OK) {
            return rc;
        }
        merge->sorting = true;
    }
    if (!sieve_sort_step(&merge->sort, &merge->edges, until)) {
        return RESULT_OK;
    }
    merge->targets = malloc((merge->sort.longest + 1) * sizeof *merge->targets);
    merge->sorting = false; /* sorting what is sorted is cheap */
    merge->sorted = merge->targets != NULL;
    return merge->sorted ? RESULT_OK : RESULT_MEMORY;
}

static Result write_lists(SieveMerge *merge, MonoTime until)
{
    SieveList list = {.targets = merge->targets};
    unsigned n = 0;
    while (sieve_edges_next(&merge->edges, &merge->position, &list)) {
        /* Written before, by an earlier process: pages come in the order of their indices. */
        if (list.page < merge->state->lists) {
            continue;
        }
        if (!list.whole) {
            LOG_ERROR("sieve", "links of a page are lost: ragno verify --repair", "index=%llu",
                      (unsigned long long)list.page);
        } else {
            Result rc = page_merge_put_links(merge->pages, list.page, list.targets, list.n_diff,
                                             list.n, list.kinds);
            if (rc != RESULT_OK) {
                return rc;
            }
        }
        merge->state->lists = list.page + 1;
        /* `state->lists` and `position` agree here, so the step may end: what is written so far is
         * a commit of its own. */
        if (++n % TIME_STEP == 0 && !mono_before(mono_now(), until)) {
            return RESULT_OK;
        }
    }
    merge->finished = true;
    return RESULT_OK;
}

/* Does the next piece, until soon after `until`. */
static Result sieve_merge_step(SieveMerge *merge, MonoTime until)
{
    DrumProgress progress = drum_merge_progress(merge->drum_merge);
    Result rc = RESULT_OK;
    if (merge->edge_buckets < progress.bucket) {
        /* Buckets that are merged and whose edges were lost with the process. */
        merge->replaying = true;
        do {
            rc = drum_merge_replay(merge->drum_merge, merge->edge_buckets);
            merge->edge_buckets += rc == RESULT_OK;
        } while (rc == RESULT_OK && mono_before(mono_now(), until));
        merge->replaying = false;
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (!merge->sorted) {
        /* RESULT_NOT_FOUND: all are done. */
        do {
            rc = drum_merge_step(merge->drum_merge);
            if (rc == RESULT_OK) {
                /* A bucket is written as a whole before the next one: its progress counts only with
                 * all of its rows. */
                rc = page_merge_flush(merge->pages);
                merge->edge_buckets++;
            }
        } while (rc == RESULT_OK && mono_before(mono_now(), until));
        if (rc == RESULT_NOT_FOUND && merge->edges.n == merge->n_edges) {
            rc = sort_edges(merge, until); /* all are committed */
        }
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
        merge->state->progress = drum_merge_progress(merge->drum_merge);
        return rc;
    }
    rc = write_lists(merge, until);
    /* The state of a generation that was never begun: a crash behind this commit finds nothing of
     * the old one to repeat. */
    if (merge->finished) {
        merge->state->progress = (DrumProgress){.generation = progress.generation + 1};
        merge->state->lists = 0;
    }
    return rc;
}

/* Frees what the merge holds. The next merge continues where this one was last committed. */
static void sieve_merge_end(SieveMerge *merge)
{
    if (merge->drum_merge != NULL) {
        (void)drum_merge_end(merge->drum,
                             merge->drum_merge); /* a file that stays is dropped later */
        merge->drum_merge = NULL;
    }
    sieve_sort_end(&merge->sort);
    sieve_edges_destroy(&merge->edges);
    free(merge->targets);
    merge->targets = NULL;
}

/* Says whether the transaction of the last step was committed or aborted. */
static void sieve_merge_settle(SieveMerge *merge, bool committed)
{
    drum_merge_settle(merge->drum_merge, committed);
    if (committed) {
        merge->n_edges = merge->edges.n;
        merge->edge_buckets_committed = merge->edge_buckets;
        merge->position_committed = merge->position;
    } else {
        merge->edges.n = merge->n_edges;
        merge->edge_buckets = merge->edge_buckets_committed;
        merge->position = merge->position_committed;
    }
    /* Only now may the bucket files go: the commit that made them useless is durable. */
    if (committed && merge->finished) {
        drum_merge_finish(merge->drum_merge);
        sieve_merge_end(merge);
    }
    merge->finished = false;
}

/* ---- Sieve state ---- */

#define STATE_VERSION UINT64_C(1)
#define STATE_WORDS   6

Result sieve_state_read(MDB_txn *txn, MDB_dbi crawl, SieveState *state)
{
    uint64_t words[STATE_WORDS];
    MDB_val key = lmdb_bytes(SIEVE_STATE_KEY, sizeof SIEVE_STATE_KEY - 1);
    *state = (SieveState){.lists = 0};
    Result rc = lmdb_get_struct(txn, crawl, key, words, sizeof words, "get the sieve's state");
    if (rc == RESULT_VERSION) { /* it has another size */
        return RESULT_DAMAGED;
    }
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (le64toh(words[0]) != STATE_VERSION) {
        return RESULT_VERSION;
    }
    state->position.generation = le64toh(words[1]);
    state->position.bytes = le64toh(words[2]);
    state->progress.generation = le64toh(words[3]);
    state->progress.bucket = (uint32_t)le64toh(words[4]);
    state->lists = le64toh(words[5]);
    return RESULT_OK;
}

static Result sieve_state_write(MDB_txn *txn, MDB_dbi crawl, const SieveState *state)
{
    uint64_t words[STATE_WORDS] = {htole64(STATE_VERSION),
                                   htole64(state->position.generation),
                                   htole64(state->position.bytes),
                                   htole64(state->progress.generation),
                                   htole64((uint64_t)state->progress.bucket),
                                   htole64(state->lists)};
    return lmdb_put(txn, crawl, lmdb_bytes(SIEVE_STATE_KEY, sizeof SIEVE_STATE_KEY - 1),
                    lmdb_bytes(words, sizeof words), "put the sieve's state");
}

/* ---- Sieve walk ---- */

/* One crawl of a page. */
typedef struct Seen {
    uint64_t page;
    uint32_t n_links;
    uint32_t found;
} Seen;

static Result on_element(void *context, uint64_t generation, const DrumKey *key,
                         DrumBytes auxiliary)
{
    Map *crawls = context;
    SieveLink link;
    (void)key;
    if (!sieve_link_read(auxiliary, &link)) {
        return RESULT_OK; /* counts as missing */
    }
    /* A page that was crawled twice in a generation has two numbers, and each crawl is whole or not
     * by itself. */
    MapKey name = {.low = link.from, .high = generation << 32 | link.number};
    size_t before = crawls->count;
    Seen *seen = map_get_or_new(crawls, name, sizeof *seen);
    if (seen == NULL) {
        return RESULT_MEMORY;
    }
    if (crawls->count > before) {
        *seen = (Seen){.page = link.from, .n_links = link.n_links};
    }
    seen->found++;
    return RESULT_OK;
}

Result sieve_walk(const char *directory, const SieveState *state, uint8_t *pages, uint64_t n_pages,
                  DrumRecovery *recovery)
{
    Map crawls;
    map_init(&crawls);
    Result rc =
        drum_walk(directory, state->progress, state->position, on_element, &crawls, recovery);
    size_t place = 0;
    Seen *seen = NULL;
    while ((seen = map_next(&crawls, &place)) != NULL) {
        uint32_t elements = seen->n_links == 0 ? 1 : seen->n_links;
        if (seen->found == elements && seen->page < n_pages) {
            bits_set(pages, seen->page);
        }
        free(seen);
    }
    map_destroy(&crawls);
    return rc;
}

/* What sieve_walk_urls shows to whom. */
typedef struct UrlWalk {
    SieveUrlVisit visit;
    void *context;
} UrlWalk;

static Result sieve_walk_show(void *context, uint64_t generation, const DrumKey *key,
                              DrumBytes auxiliary)
{
    const UrlWalk *walk = context;
    SieveLink link;
    (void)generation;
    (void)key;
    if (sieve_link_read(auxiliary, &link) && auxiliary.length > sizeof link) {
        walk->visit(walk->context, (const char *)auxiliary.bytes + sizeof link,
                    auxiliary.length - sizeof link);
    }
    return RESULT_OK;
}

Result sieve_walk_urls(const char *directory, const SieveState *state, SieveUrlVisit visit,
                       void *context)
{
    UrlWalk walk = {.visit = visit, .context = context};
    DrumRecovery recovery = {.generations = 0};
    return drum_walk(directory, state->progress, state->position, sieve_walk_show, &walk,
                     &recovery);
}

/* ---- Sieve ---- */

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

/* ---- birth and death ---- */

/* Merges and seals are ordered by sieve_merge alone, at moments that fit the transactions. Damaged
 * blocks are skipped: a crawl goes on without some links rather than not at all. `assign` gives a
 * new key its index before its event is told. */
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
                         .array_bytes = bounds_size(array, LEAST_ARRAY, MOST_ARRAY),
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

/* ---- adding ---- */

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
    PageLinkKey key = page->keys == NULL
                          ? page_key_of_link(sieve->options.db->store, url, strlen(url), origin)
                          : page->keys[i];
    size_t length = key.length;
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
                      .cross = key.cross};
    uint64_t fingerprint = hash_mix(key.key.hash) ^ hash_mix(~key.key.print);
    uint8_t bytes[PAGE_MERGE_KEY_BYTES];
    page_merge_key(&key.key, bytes);
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
    /* Only now: a cache that knew the URL of an element that was not accepted would turn every
     * later link to it into a mere check, and the URL would never be found. */
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
    /* Position before state: the state may name only what is durable. */
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

/* An aborted transaction leaves `dirty` set: the bytes are in the bucket files, and the next
 * sieve_save says so again. The merge is settled last, since it may free itself. */
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

/* ---- merging ---- */

MonoTime sieve_due(const Sieve *sieve, bool hungry)
{
    /* A merge that began goes on with every commit, hungry or not: until it ends, no other
     * generation can be sealed. */
    const MonoTime at_once = {0};
    uint64_t elements = drum_collected(sieve->drum);
    if (sieve->merge.drum_merge != NULL || drum_sealed_count(sieve->drum) > 0) {
        return at_once;
    }
    if (elements == 0) {
        return MONO_NEVER;
    }
    /* Half of the numbers are left for the pages that are added before the merge begins. */
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
    /* The links of a page are all in one generation, although a seal is not undone by an abort and
     * a page whose sieve_add failed is added to once more: a chore runs behind all pages of its
     * batch, so while a page has only some of its links here nothing seals. Numbers begin anew,
     * because they tell apart the crawls of one generation only. */
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
