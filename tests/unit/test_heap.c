#include <stdlib.h>

#include "base/memory/heap.h"
#include "dice.h"
#include "unit.h"

#define NODES 400u
#define STEPS 60000u

typedef struct Element {
    int before;
    HeapNode node;
} Element;

/* The least element that is in the heap, by looking at all. */
static const HeapNode *least_of(const Element *elements)
{
    const HeapNode *best = NULL;
    for (size_t i = 0; i < NODES; i++) {
        const HeapNode *node = &elements[i].node;
        if (heap_holds(node) && (best == NULL || node->key < best->key ||
                                 (node->key == best->key && node->tie < best->tie))) {
            best = node;
        }
    }
    return best;
}

static void check_top(const Heap *heap, const Element *elements)
{
    const HeapNode *expected = least_of(elements);
    const HeapNode *top = heap_top(heap);
    bool same = expected == NULL
                    ? top == NULL
                    : top != NULL && top->key == expected->key && top->tie == expected->tie;
    CU_ASSERT_TRUE(same);
}

static void random_work_agrees_with_a_plain_list(void)
{
    static Element elements[NODES];
    Heap heap;
    Dice dice = {1};
    size_t inside = 0;
    heap_init(&heap);
    for (size_t i = 0; i < NODES; i++) {
        heap_node_init(&elements[i].node);
    }
    for (size_t step = 0; step < STEPS; step++) {
        HeapNode *node = &elements[dice_below(&dice, NODES)].node;
        if (!heap_holds(node)) {
            int64_t key = (int64_t)dice_below(&dice, 50) - 25;
            CU_ASSERT_EQUAL(heap_push(&heap, node, key, dice_below(&dice, 3)), RESULT_OK);
            inside++;
        } else if (dice_below(&dice, 3) == 0) {
            const HeapNode *expected = least_of(elements);
            int64_t key = expected->key;
            uint64_t tie = expected->tie;
            const HeapNode *popped = heap_pop(&heap);
            CU_ASSERT_TRUE(popped->key == key && popped->tie == tie && !heap_holds(popped));
            inside--;
        } else {
            heap_remove(&heap, node);
            CU_ASSERT_FALSE(heap_holds(node));
            inside--;
        }
        if (step % 50 == 0) {
            check_top(&heap, elements);
            CU_ASSERT_EQUAL(heap.count, inside);
        }
    }
    heap_destroy(&heap);
}

static void everything_comes_out_in_order(void)
{
    static Element elements[NODES];
    Heap heap;
    Dice dice = {2};
    heap_init(&heap);
    CU_ASSERT_PTR_NULL(heap_pop(&heap));
    CU_ASSERT_PTR_NULL(heap_top(&heap));
    for (size_t i = 0; i < NODES; i++) {
        heap_node_init(&elements[i].node);
        CU_ASSERT_EQUAL(heap_push(&heap, &elements[i].node, (int64_t)dice_below(&dice, 100), i),
                        RESULT_OK);
    }
    int64_t key = INT64_MIN;
    uint64_t tie = 0;
    const HeapNode *node = NULL;
    size_t n = 0;
    while ((node = heap_pop(&heap)) != NULL) {
        CU_ASSERT_TRUE(node->key > key || (node->key == key && node->tie > tie));
        key = node->key;
        tie = node->tie;
        n++;
    }
    CU_ASSERT_EQUAL(n, NODES);
    heap_destroy(&heap);
}

static void an_element_is_found_from_its_node(void)
{
    Element element = {.before = 7};
    CU_ASSERT_PTR_EQUAL(HEAP_ELEMENT(&element.node, Element, node), &element);
}

UNIT_MAIN("heap", {"random work agrees with a plain list", random_work_agrees_with_a_plain_list},
          {"everything comes out in order", everything_comes_out_in_order},
          {"an element is found from its node", an_element_is_found_from_its_node})
