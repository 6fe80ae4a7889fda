#include "frontier/sieve/sieve_merge.h"

#include <stdlib.h>

#include "base/thread/log.h"
#include "frontier/sieve/sieve_link.h"

#define TIME_STEP 64u /* lists between two looks at the clock */

/* ---- events: what the look-up of a link came to ---------------------------------------------- */

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
        merge->lost++;
        return RESULT_OK;
    }
    if (!sieve_merge_read_link(event, &link, &given) || given.length == 0) {
        return RESULT_DAMAGED;
    }
    PageKey key = page_merge_read_key(event->key.bytes.bytes);
    PageMergeValue value = page_merge_read_value(event->value);
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

DrumDispatcher sieve_merge_dispatcher(SieveMerge *merge)
{
    return (DrumDispatcher){.context = merge,
                            .unique_key_update = on_new,
                            .duplicate_key_update = on_known,
                            .duplicate_key_check = on_known,
                            .unique_key_check = on_lost};
}

/* ---- one generation -------------------------------------------------------------------------- */

Result sieve_merge_begin(SieveMerge *merge)
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

/* Buckets that are merged and whose edges were lost with the process. */
static Result replay_buckets(SieveMerge *merge, MonoTime until)
{
    Result rc = RESULT_OK;
    merge->replaying = true;
    do {
        rc = drum_merge_replay(merge->drum_merge, merge->edge_buckets);
        merge->edge_buckets += rc == RESULT_OK;
    } while (rc == RESULT_OK && mono_before(mono_now(), until));
    merge->replaying = false;
    return rc;
}

/* RESULT_NOT_FOUND: all are done. */
static Result merge_buckets(SieveMerge *merge, MonoTime until)
{
    Result rc = RESULT_OK;
    do {
        rc = drum_merge_step(merge->drum_merge);
        if (rc == RESULT_OK) {
            rc = page_merge_flush(merge->pages);
            merge->edge_buckets++;
        }
    } while (rc == RESULT_OK && mono_before(mono_now(), until));
    return rc;
}

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
        if (++n % TIME_STEP == 0 && !mono_before(mono_now(), until)) {
            return RESULT_OK;
        }
    }
    merge->finished = true;
    return RESULT_OK;
}

Result sieve_merge_step(SieveMerge *merge, MonoTime until)
{
    DrumProgress progress = drum_merge_progress(merge->drum_merge);
    Result rc = RESULT_OK;
    if (merge->edge_buckets < progress.bucket) {
        rc = replay_buckets(merge, until);
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (!merge->sorted) {
        rc = merge_buckets(merge, until);
        if (rc == RESULT_NOT_FOUND && merge->edges.n == merge->n_edges) {
            rc = sort_edges(merge, until); /* all are committed */
        }
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
        merge->state->progress = drum_merge_progress(merge->drum_merge);
        return rc;
    }
    rc = write_lists(merge, until);
    if (merge->finished) {
        merge->state->progress = (DrumProgress){.generation = progress.generation + 1};
        merge->state->lists = 0;
    }
    return rc;
}

void sieve_merge_settle(SieveMerge *merge, bool committed)
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
    if (committed && merge->finished) {
        drum_merge_finish(merge->drum_merge);
        sieve_merge_end(merge);
    }
    merge->finished = false;
}

void sieve_merge_end(SieveMerge *merge)
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
