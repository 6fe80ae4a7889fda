/* Requests in flight beside a list: random beginnings and ends, then every look. */
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "fetch/connect/flights.h"
#include "unit.h"

#define SEED  20261128u
#define MOST  12u
#define STEPS 3000u
#define URLS  5u

static const char *const urls[URLS] = {"http://a.test/", "http://a.test/x", "", "http://b.test/",
                                       "\xff\xfe"};

typedef struct Model {
    Flight *flight;
    const char *url;
    int64_t start;
} Model;

/* In the order in which they began. */
static void check_all(Flights *flights, const Model *model, size_t n, size_t max)
{
    FlightCopy copies[MOST];
    size_t expected = n < max ? n : max;
    CU_ASSERT_EQUAL_FATAL(flights_copy(flights, copies, max), expected);
    for (size_t i = 0; i < expected; i++) {
        CU_ASSERT_STRING_EQUAL(copies[i].url, model[i].url);
        CU_ASSERT_PTR_NOT_EQUAL(copies[i].url, model[i].url);
        CU_ASSERT_EQUAL(copies[i].start.ns, model[i].start);
        free(copies[i].url);
    }
    for (size_t u = 0; u < URLS; u++) {
        MonoTime start = {.ns = -7};
        size_t i = 0;
        while (i < n && strcmp(model[i].url, urls[u]) != 0) {
            i++;
        }
        CU_ASSERT_EQUAL(flights_find(flights, urls[u], &start), i < n);
        CU_ASSERT_EQUAL(start.ns, i < n ? model[i].start : -7); /* of two the older one */
    }
}

static void flights_are_those_that_began_and_did_not_end(void)
{
    Dice dice = {SEED};
    Flights flights;
    Flight all[MOST] = {{.url = NULL}};
    Model model[MOST];
    size_t n = 0;
    flights_init(&flights);
    for (unsigned step = 0; step < STEPS; step++) {
        Flight *flight = &all[dice_below(&dice, MOST)];
        size_t at = 0;
        while (at < n && model[at].flight != flight) {
            at++;
        }
        if (at < n || dice_below(&dice, 4) == 0) { /* one that is in no list, too */
            flights_remove(&flights, flight);
            CU_ASSERT_PTR_NULL(flight->url);
            if (at < n) {
                memmove(&model[at], &model[at + 1], (--n - at) * sizeof *model);
            }
        } else {
            model[n] = (Model){flight, urls[dice_below(&dice, URLS)], (int64_t)step};
            flights_add(&flights, flight, model[n].url, (MonoTime){.ns = step});
            n++;
        }
        check_all(&flights, model, n, dice_below(&dice, MOST + 1));
    }
    flights_destroy(&flights);
}

UNIT_MAIN("flights", {"flights are those that began and did not end",
                      flights_are_those_that_began_and_did_not_end})
