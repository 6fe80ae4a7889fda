#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/thread/shared.h"
#include "unit.h"

#define READERS 4
#define ROUNDS  20000u

/* An object that knows when it is broken: both halves are equal while it lives. */
typedef struct Pair {
    unsigned a;
    unsigned b;
    unsigned *destroyed; /* counts, NULL: not counted */
} Pair;

static Pair *new_pair(unsigned value, unsigned *destroyed)
{
    Pair *pair = malloc(sizeof *pair);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair);
    *pair = (Pair){value, value, destroyed};
    return pair;
}

static void destroy_pair(void *object)
{
    Pair *pair = object;
    if (pair->destroyed != NULL) {
        (*pair->destroyed)++;
    }
    pair->b = ~pair->a;
    free(pair);
}

static void an_object_lives_while_it_is_held(void)
{
    Shared shared;
    SharedReader one, two;
    unsigned destroyed = 0;
    shared_init(&shared, destroy_pair);
    shared_reader_open(&one, &shared);
    CU_ASSERT_PTR_NULL(shared_get(&one));
    CU_ASSERT_EQUAL(shared_replace(&shared, new_pair(1, &destroyed)), RESULT_OK);
    const Pair *first = shared_get(&one);
    CU_ASSERT_EQUAL(first->a, 1);
    shared_reader_open(&two, &shared);
    CU_ASSERT_PTR_EQUAL(shared_get(&two), first);
    CU_ASSERT_EQUAL(shared_replace(&shared, new_pair(2, &destroyed)), RESULT_OK);
    CU_ASSERT_EQUAL(destroyed, 0);
    CU_ASSERT_EQUAL(((const Pair *)shared_get(&one))->a, 2);
    CU_ASSERT_EQUAL(first->b, 1);
    CU_ASSERT_EQUAL(destroyed, 0); /* two has not looked yet */
    CU_ASSERT_EQUAL(((const Pair *)shared_get(&two))->a, 2);
    CU_ASSERT_EQUAL(destroyed, 1);
    CU_ASSERT_EQUAL(shared_replace(&shared, NULL), RESULT_OK);
    CU_ASSERT_PTR_NULL(shared_get(&one));
    shared_reader_close(&one);
    CU_ASSERT_EQUAL(destroyed, 1);
    shared_reader_close(&two);
    CU_ASSERT_EQUAL(destroyed, 2);
    CU_ASSERT_EQUAL(shared_replace(&shared, new_pair(3, &destroyed)), RESULT_OK);
    shared_destroy(&shared);
    CU_ASSERT_EQUAL(destroyed, 3);
}

typedef struct Watcher {
    Shared *shared;
    unsigned broken;
    unsigned backwards;
    unsigned last;
} Watcher;

static void *watch(void *argument)
{
    Watcher *watcher = argument;
    SharedReader reader;
    shared_reader_open(&reader, watcher->shared);
    while (watcher->last < ROUNDS) {
        const Pair *pair = shared_get(&reader);
        watcher->broken += pair->a != pair->b;
        watcher->backwards += pair->a < watcher->last;
        watcher->last = pair->a;
    }
    shared_reader_close(&reader);
    return NULL;
}

static void readers_see_whole_objects_and_in_order(void)
{
    Shared shared;
    pthread_t threads[READERS];
    Watcher watchers[READERS];
    unsigned destroyed = 0;
    shared_init(&shared, destroy_pair);
    CU_ASSERT_EQUAL(shared_replace(&shared, new_pair(0, NULL)), RESULT_OK);
    for (size_t i = 0; i < READERS; i++) {
        watchers[i] = (Watcher){.shared = &shared};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, watch, &watchers[i]), 0);
    }
    for (unsigned i = 1; i <= ROUNDS; i++) {
        CU_ASSERT_EQUAL(shared_replace(&shared, new_pair(i, NULL)), RESULT_OK);
    }
    for (size_t i = 0; i < READERS; i++) {
        (void)pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(watchers[i].broken, 0);
        CU_ASSERT_EQUAL(watchers[i].backwards, 0);
        CU_ASSERT_EQUAL(watchers[i].last, ROUNDS);
    }
    CU_ASSERT_EQUAL(shared_replace(&shared, new_pair(1, &destroyed)), RESULT_OK);
    shared_destroy(&shared);
    CU_ASSERT_EQUAL(destroyed, 1);
}

UNIT_MAIN("shared", {"an object lives while it is held", an_object_lives_while_it_is_held},
          {"readers see whole objects, and in order", readers_see_whole_objects_and_in_order})
