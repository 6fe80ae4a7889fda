/* The link graph beside a matrix of links; streams that fail, and memory that is short. */
#include <stdio.h>
#include <string.h>

#include "alloc_fixture.h"
#include "dice.h"
#include "store/rank/link_graph.h"
#include "unit.h"

#define SEED   20261128u
#define ROUNDS 200u
#define PAGES  60u
#define LINKS  400u

typedef struct Stream {
    Link links[LINKS];
    size_t n;
    size_t at;
    size_t fails_at; /* above n: never */
} Stream;

static StreamState stream_next(void *state, Link *link)
{
    Stream *s = state;
    if (s->at == s->fails_at) {
        return stream_state_error;
    }
    if (s->at == s->n) {
        return stream_state_end;
    }
    *link = s->links[s->at++];
    return stream_state_next;
}

static StreamState stream_reset(void *state)
{
    ((Stream *)state)->at = 0;
    return stream_state_init;
}

static Stream stream;

static Result build(LinkGraph **graph, size_t n_pages)
{
    return link_graph_build(graph, n_pages, &stream, stream_next, stream_reset, NULL);
}

static void draw_links(Dice *dice)
{
    stream = (Stream){.n = dice_below(dice, LINKS), .fails_at = LINKS + 1};
    for (size_t i = 0; i < stream.n; i++) {
        bool goes_on = i > 0 && dice_below(dice, 3) > 0;
        stream.links[i] =
            (Link){.from = goes_on ? stream.links[i - 1].from : (int64_t)dice_below(dice, PAGES),
                   .to = dice_below(dice, 3) == 0 ? 7 : (int64_t)dice_below(dice, PAGES)};
    }
}

/* links[from][to] of the graph, by its slices; each position and slice is looked at once. */
static void read_back(const LinkGraph *g, unsigned links[PAGES][PAGES])
{
    uint64_t link = 0;
    uint32_t position = 0;
    uint32_t last = 0;
    memset(links, 0, sizeof(unsigned[PAGES][PAGES]));
    for (size_t s = 0; s < g->n_slices; s++) {
        const LinkSlice *slice = &g->slices[s];
        CU_ASSERT_TRUE(slice->first == position && slice->first_link == link);
        CU_ASSERT_TRUE(slice->degree >= last);
        last = slice->degree;
        for (uint32_t p = 0; p < slice->n; p++, position++) {
            for (uint32_t k = 0; k < slice->degree; k++, link++) {
                links[g->source_page[g->in[link]]][g->page_at[position]]++;
            }
        }
    }
    CU_ASSERT_TRUE(position == g->n_pages && link == g->n_links);
}

static void the_graph_has_every_link_as_often_as_the_stream(void)
{
    static unsigned expected[PAGES][PAGES];
    static unsigned found[PAGES][PAGES];
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS; round++) {
        LinkGraph *g = NULL;
        size_t n_pages = dice_below(&dice, PAGES + 1);
        int64_t most = (int64_t)n_pages - 1;
        draw_links(&dice);
        memset(expected, 0, sizeof expected);
        for (size_t i = 0; i < stream.n; i++) {
            const Link *l = &stream.links[i];
            expected[l->from][l->to]++;
            most = l->from > most ? l->from : most;
            most = l->to > most ? l->to : most;
        }
        CU_ASSERT_EQUAL_FATAL(build(&g, n_pages), RESULT_OK);
        CU_ASSERT_TRUE(g->n_pages == (uint64_t)(most + 1) && g->n_links == stream.n);
        read_back(g, found);
        if (memcmp(expected, found, sizeof found) != 0) {
            (void)fprintf(stderr, "seed %u round %u\n", SEED, round);
            CU_FAIL("other links");
        }
        for (uint32_t s = 0; s < g->n_sources; s++) {
            uint32_t page = g->source_page[s];
            unsigned degree = 0;
            for (size_t to = 0; to < PAGES; to++) {
                degree += expected[page][to];
            }
            CU_ASSERT_TRUE(degree > 0 && g->source_degree[s] == degree);
            CU_ASSERT_EQUAL(g->page_at[g->source_position[s]], page);
        }
        link_graph_delete(g);
    }
}

static void a_wrong_stream_makes_no_graph(void)
{
    static const int64_t wrong[] = {-1, INT64_MIN, UINT32_MAX, INT64_MAX};
    LinkGraph *g = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        stream = (Stream){
            .links = {{.from = 1, .to = 2}, {.from = wrong[i], .to = 1}}, .n = 2, .fails_at = 9};
        CU_ASSERT_EQUAL(build(&g, 3), RESULT_LIMIT);
        CU_ASSERT_PTR_NULL(g);
        stream.links[1] = (Link){.from = 1, .to = wrong[i]};
        CU_ASSERT_EQUAL(build(&g, 3), RESULT_LIMIT);
        CU_ASSERT_PTR_NULL(g);
    }
    stream = (Stream){.links = {{.from = 1, .to = 2}}, .n = 1, .fails_at = 1};
    CU_ASSERT_EQUAL(build(&g, 3), RESULT_IO);
    CU_ASSERT_PTR_NULL(g);
    CU_ASSERT_EQUAL(build(&g, SIZE_MAX), RESULT_LIMIT);
    link_graph_delete(NULL);
}

static void a_sum_is_of_all_sources(void)
{
    double value[64];
    uint32_t in[64];
    for (uint32_t i = 0; i < 64; i++) {
        value[i] = (double)(1 + i);
        in[i] = 63 - i;
    }
    double sum = 0;
    for (uint32_t n = 0; n < 64; n++) {
        CU_ASSERT_EQUAL(link_graph_gather(value, in, n), sum); /* whole numbers: exact */
        sum += value[in[n]];
    }
}

static void without_memory_there_is_no_graph(void)
{
#ifdef ALLOC_CAN_FAIL
    Dice dice = {SEED};
    Result rc = RESULT_MEMORY;
    draw_links(&dice);
    for (long n = 1; rc == RESULT_MEMORY; n++) {
        LinkGraph *g = NULL;
        alloc_fail_at = n;
        rc = build(&g, PAGES);
        CU_ASSERT_TRUE(rc == RESULT_OK || rc == RESULT_MEMORY);
        CU_ASSERT_EQUAL(g == NULL, rc != RESULT_OK);
        alloc_fail_at = 0;
        link_graph_delete(g);
        CU_ASSERT_TRUE_FATAL(n < 1000);
    }
#endif
}

UNIT_MAIN("link_graph",
          {"the graph has every link as often as the stream",
           the_graph_has_every_link_as_often_as_the_stream},
          {"a wrong stream makes no graph", a_wrong_stream_makes_no_graph},
          {"a sum is of all sources", a_sum_is_of_all_sources},
          {"without memory there is no graph", without_memory_there_is_no_graph})
