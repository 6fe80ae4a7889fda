/* Error, MMapArray, DomainTemp, varints and hosts: the small parts of the documented library. */
#include "folder_fixture.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/error.h"
#include "base/core/hash.h"
#include "store/records/domain_temp.h"
#include "store/lmdb/mmap_array.h"
#include "base/core/varint.h"
#include "store/records/url_parts.h"

static void the_first_error_stays_until_it_is_cleaned(void)
{
    Error *e = error_new();
    CU_ASSERT_EQUAL(error_code(e), 0);
    CU_ASSERT_PTR_NULL(error_message(e));
    CU_ASSERT_STRING_EQUAL(e->message, "NO ERROR");
    error_add(e, "nothing to add to");
    CU_ASSERT_STRING_EQUAL(e->message, "NO ERROR");
    error_set(e, 3, "disk");
    error_set(e, 4, "later");
    error_add(e, "while adding a page");
    CU_ASSERT_EQUAL(error_code(e), 3);
    CU_ASSERT_STRING_EQUAL(error_message(e), "disk: while adding a page");
    error_clean(e);
    CU_ASSERT_EQUAL(error_code(e), 0);
    CU_ASSERT_STRING_EQUAL(e->message, "NO ERROR");
    char *longer = malloc(20001);
    memset(longer, 'x', 20000);
    longer[20000] = '\0';
    error_set(e, 1, longer);
    error_add(e, longer);
    CU_ASSERT_EQUAL(strlen(error_message(e)), MAX_ERROR_LENGTH);
    free(longer);
    error_delete(e);
    error_delete(NULL);
    error_set(NULL, 1, "ignored");
    CU_ASSERT_EQUAL(error_code(NULL), 0);
}

static void an_array_grows_and_comes_back_from_its_file(void)
{
    char path[FOLDER_BYTES];
    folder_name(path, "array");
    MMapArray *a = NULL;
    CU_ASSERT_EQUAL_FATAL(mmap_array_new(&a, path, 3, sizeof(float)), mmap_array_error_ok);
    CU_ASSERT_EQUAL(a->persist, 0);
    float x = 1.5F;
    CU_ASSERT_EQUAL(mmap_array_set(a, 2, &x), mmap_array_error_ok);
    CU_ASSERT_EQUAL(mmap_array_set(a, 3, &x), mmap_array_error_out_of_bounds);
    CU_ASSERT_EQUAL(error_code(a->error), mmap_array_error_out_of_bounds);
    CU_ASSERT_PTR_NOT_NULL(mmap_array_idx(a, 2));
    CU_ASSERT_EQUAL(error_code(a->error), 0);
    CU_ASSERT_EQUAL(mmap_array_resize(a, 100000), mmap_array_error_ok);
    CU_ASSERT_EQUAL(*(float *)mmap_array_idx(a, 2), 1.5F);
    CU_ASSERT_EQUAL(*(float *)mmap_array_idx(a, 99999), 0);
    CU_ASSERT_EQUAL(mmap_array_set(a, 99999, &x), mmap_array_error_ok);
    CU_ASSERT_EQUAL(mmap_array_advise(a, MADV_SEQUENTIAL), mmap_array_error_ok);
    CU_ASSERT_EQUAL(mmap_array_advise(a, 12345), mmap_array_error_mmap);
    CU_ASSERT_EQUAL(mmap_array_sync(a, MS_SYNC), mmap_array_error_ok);
    mmap_array_set_persist(a, 1);
    CU_ASSERT_EQUAL(mmap_array_delete(a), mmap_array_error_ok);

    CU_ASSERT_EQUAL_FATAL(mmap_array_new(&a, path, 0, sizeof(float)), mmap_array_error_ok);
    CU_ASSERT_EQUAL(a->n_elements, 100000);
    CU_ASSERT_EQUAL(*(float *)mmap_array_idx(a, 99999), 1.5F);
    mmap_array_set_persist(a, 1);
    CU_ASSERT_EQUAL(mmap_array_delete(a), mmap_array_error_ok);

    /* Opened shorter nothing is cut; grown again the new elements are zero. */
    CU_ASSERT_EQUAL_FATAL(mmap_array_new(&a, path, 3, sizeof(float)), mmap_array_error_ok);
    CU_ASSERT_EQUAL(a->n_elements, 3);
    CU_ASSERT_EQUAL(*(float *)mmap_array_idx(a, 2), 1.5F);
    struct stat st;
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, 400000);
    CU_ASSERT_EQUAL(mmap_array_resize(a, 100000), mmap_array_error_ok);
    CU_ASSERT_EQUAL(*(float *)mmap_array_idx(a, 99999), 0);
    mmap_array_zero(a);
    CU_ASSERT_EQUAL(*(float *)mmap_array_idx(a, 2), 0);
    CU_ASSERT_EQUAL(mmap_array_delete(a), mmap_array_error_ok);
    CU_ASSERT_NOT_EQUAL(stat(path, &st), 0);
}

static void an_array_that_cannot_be_made_says_why(void)
{
    MMapArray *a = NULL;
    CU_ASSERT_EQUAL(mmap_array_new(&a, "/nowhere/at/all", 3, 4), mmap_array_error_file);
    CU_ASSERT_PTR_NULL(a);
    CU_ASSERT_EQUAL(mmap_array_new(&a, NULL, SIZE_MAX, 4), mmap_array_error_internal);
    CU_ASSERT_PTR_NULL(a);
    CU_ASSERT_EQUAL(mmap_array_new(&a, NULL, 3, 0), mmap_array_error_internal);
    CU_ASSERT_EQUAL_FATAL(mmap_array_new(&a, NULL, 0, 8), mmap_array_error_ok);
    CU_ASSERT_EQUAL(a->n_elements, 1);
    CU_ASSERT_EQUAL(mmap_array_resize(a, SIZE_MAX), mmap_array_error_internal);
    CU_ASSERT_NOT_EQUAL(mmap_array_resize(a, SIZE_MAX / 1024), mmap_array_error_ok);
    CU_ASSERT_EQUAL(a->n_elements, 1);
    uint64_t x = 7;
    CU_ASSERT_EQUAL(mmap_array_set(a, 0, &x), mmap_array_error_ok);
    /* Shrunk and grown within one memory page: new elements are zero all the same. */
    CU_ASSERT_EQUAL(mmap_array_resize(a, 4), mmap_array_error_ok);
    CU_ASSERT_EQUAL(mmap_array_set(a, 3, &x), mmap_array_error_ok);
    CU_ASSERT_EQUAL(mmap_array_resize(a, 2), mmap_array_error_ok);
    CU_ASSERT_EQUAL(mmap_array_resize(a, 4), mmap_array_error_ok);
    CU_ASSERT_EQUAL(*(uint64_t *)mmap_array_idx(a, 3), 0);
    CU_ASSERT_EQUAL(*(uint64_t *)mmap_array_idx(a, 0), 7);
    CU_ASSERT_EQUAL(mmap_array_delete(a), mmap_array_error_ok);
    CU_ASSERT_EQUAL(mmap_array_delete(NULL), mmap_array_error_ok);
}

static void unsigned_round_trip(uint64_t n)
{
    uint8_t bytes[MAX_VARINT_SIZE];
    const uint8_t *end = varint_encode_uint64(n, bytes);
    uint8_t read = 0;
    CU_ASSERT_EQUAL(varint_decode_uint64(bytes, &read), n);
    CU_ASSERT_EQUAL(read, end - bytes);
    uint64_t again = ~n;
    CU_ASSERT_PTR_EQUAL(varint_read(bytes, end, &again), end);
    CU_ASSERT_EQUAL(again, n);
    CU_ASSERT_PTR_NULL(varint_read(bytes, end - 1, &again));
}

static void signed_round_trip(int64_t n)
{
    uint8_t bytes[MAX_VARINT_SIZE];
    const uint8_t *end = varint_encode_int64(n, bytes);
    uint8_t read = 0;
    CU_ASSERT_EQUAL(varint_decode_int64(bytes, &read), n);
    CU_ASSERT_EQUAL(read, end - bytes);
}

static void varints_round_trip_through_all_64_bits(void)
{
    for (unsigned shift = 0; shift < 64; shift++) {
        uint64_t n = UINT64_C(1) << shift;
        unsigned_round_trip(n);
        unsigned_round_trip(n - 1);
        unsigned_round_trip(n | 1);
        signed_round_trip((int64_t)n);
        signed_round_trip((int64_t)(n - 1));
        signed_round_trip((int64_t)(0 - n));
        signed_round_trip((int64_t)(1 - n));
    }
    unsigned_round_trip(UINT64_MAX);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t n = hash_mix(i) >> (i % 64);
        unsigned_round_trip(n);
        signed_round_trip((int64_t)n);
    }
    uint8_t bytes[MAX_VARINT_SIZE];
    CU_ASSERT_EQUAL(varint_encode_int64(-1, bytes) - bytes, 1);
    CU_ASSERT_EQUAL(bytes[0], 3);
    CU_ASSERT_EQUAL(varint_encode_int64(63, bytes) - bytes, 1);
    CU_ASSERT_EQUAL(varint_encode_int64(64, bytes) - bytes, 2);
    memset(bytes, 0xff, sizeof bytes);
    uint64_t n = 0;
    uint8_t read = 1;
    CU_ASSERT_PTR_NULL(varint_read(bytes, bytes + sizeof bytes, &n));
    (void)varint_decode_uint64(bytes, &read);
    CU_ASSERT_EQUAL(read, 0);
}

static bool domain_is(const char *url, const char *expected)
{
    size_t start = 0, end = 0;
    if (url_domain(url, &start, &end) != 0) {
        return expected == NULL;
    }
    return expected != NULL && end - start == strlen(expected) &&
           memcmp(url + start, expected, end - start) == 0;
}

static void the_domain_is_the_host(void)
{
    CU_ASSERT(domain_is("http://a.com", "a.com"));
    CU_ASSERT(domain_is("https://a.com:8080/x", "a.com"));
    CU_ASSERT(domain_is("http://me:secret@a.com:80/", "a.com"));
    CU_ASSERT(domain_is("http://a.com/x@y:z", "a.com"));
    CU_ASSERT(domain_is("http://a.com?x=1/y", "a.com"));
    CU_ASSERT(domain_is("http://a.com#f", "a.com"));
    CU_ASSERT(domain_is("http://[::1]:80/", "[::1]"));
    CU_ASSERT(domain_is("http://[::1]", "[::1]"));
    CU_ASSERT(domain_is("http://", NULL));
    CU_ASSERT(domain_is("http:///x", NULL));
    CU_ASSERT(domain_is("ftp://a.com", NULL));
    CU_ASSERT(domain_is("HTTP://a.com", NULL));
    CU_ASSERT(domain_is("_seed_0", NULL));
    CU_ASSERT(domain_is("", NULL));
    CU_ASSERT(same_domain("http://a.com/1", "https://u@a.com:1/2"));
    CU_ASSERT(!same_domain("http://a.com/1", "http://b.com/1"));
    CU_ASSERT(!same_domain("http://a.com/", "http://a.co/"));
    CU_ASSERT(same_domain("seed", "seed"));
    CU_ASSERT(!same_domain("seed", "seeds"));
    CU_ASSERT(!same_domain("seed", "http://a.com"));
}

static void within_one_percent(double value, double truth)
{
    CU_ASSERT(fabs(value - truth) <= 0.01 * truth);
}

static void temperatures_follow_the_exponential(void)
{
    const double windows[] = {0.1, 1, 60, 3600, 86400};
    const double epochs[] = {0, 1.0e6, 1.8e9};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        for (size_t s = 0; s < sizeof epochs / sizeof *epochs; s++) {
            DomainTemp *dt = domain_temp_new(3, (float)windows[w]);
            double t = epochs[s], truth = 0;
            domain_temp_update(dt, t);
            for (int i = 0; i < 500; i++) {
                double step = windows[w] * (double)(hash_mix((uint64_t)i) % 100) / 500;
                t += step;
                truth *= exp(-step / windows[w]);
                domain_temp_update(dt, t);
                within_one_percent((double)domain_temp_get(dt, 9), truth);
                domain_temp_heat(dt, 9);
                truth += 1;
            }
            domain_temp_update(dt, t - 1000);
            within_one_percent((double)domain_temp_get(dt, 9), truth);
            CU_ASSERT_EQUAL(domain_temp_get(dt, 10), 0);
            domain_temp_delete(dt);
        }
    }
}

static void the_coolest_domain_makes_room_when_it_is_below_one(void)
{
    DomainTemp *dt = domain_temp_new(3, 10);
    domain_temp_update(dt, 1.8e9);
    domain_temp_heat(dt, 1);
    domain_temp_heat(dt, 1);
    domain_temp_heat(dt, 2);
    domain_temp_heat(dt, 3);
    domain_temp_heat(dt, 3);
    domain_temp_heat(dt, 3);
    domain_temp_heat(dt, 4); /* 2 is at exactly 1: no room */
    CU_ASSERT_EQUAL(domain_temp_get(dt, 4), 0);
    domain_temp_update(dt, 1.8e9 + 1);
    domain_temp_heat(dt, 4);
    CU_ASSERT_EQUAL(domain_temp_get(dt, 4), 1);
    CU_ASSERT_EQUAL(domain_temp_get(dt, 2), 0);
    CU_ASSERT(domain_temp_get(dt, 1) > 1.8F);
    CU_ASSERT(domain_temp_get(dt, 3) > 2.7F);
    domain_temp_delete(dt);
    domain_temp_delete(NULL);
    CU_ASSERT_PTR_NULL(domain_temp_new(0, 1));
    CU_ASSERT_PTR_NULL(domain_temp_new(1, 0));
}

/* A model with plain arrays: the same choice of the coolest, the same numbers. */
static void a_table_of_domains_agrees_with_a_naive_one(void)
{
    enum { LENGTH = 50, DOMAINS = 200, STEPS = 20000 };
    double temp[DOMAINS] = {0};
    DomainTemp *dt = domain_temp_new(LENGTH, 30);
    double t = 1.7e9;
    domain_temp_update(dt, t);
    size_t tracked = 0;
    unsigned wrong = 0;
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t r = hash_mix(i + 77);
        double step = (double)(r % 1000 + 1) / 2000; /* no ties */
        t += step;
        domain_temp_update(dt, t);
        size_t coolest = DOMAINS;
        for (size_t d = 0; d < DOMAINS; d++) {
            temp[d] *= exp(-step / 30);
            if (temp[d] > 0 && (coolest == DOMAINS || temp[d] < temp[coolest])) {
                coolest = d;
            }
        }
        double u = (double)(r >> 40) / (double)(1 << 24);
        size_t d = (size_t)(DOMAINS * u * u * u);
        domain_temp_heat(dt, (uint32_t)d * 1000);
        if (temp[d] > 0 || tracked < LENGTH || temp[coolest] < 1) {
            if (temp[d] <= 0 && tracked == LENGTH) {
                temp[coolest] = 0;
            } else if (temp[d] <= 0) {
                tracked++;
            }
            temp[d] += 1;
        }
        size_t asked = (size_t)(r % DOMAINS);
        double got = (double)domain_temp_get(dt, (uint32_t)asked * 1000);
        wrong += fabs(got - temp[asked]) > 0.01 * temp[asked] + 1e-30;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    domain_temp_delete(dt);
}

UNIT_MAIN("store_util",
          {"the first error stays until it is cleaned", the_first_error_stays_until_it_is_cleaned},
          {"an array grows and comes back from its file",
           an_array_grows_and_comes_back_from_its_file},
          {"an array that cannot be made says why", an_array_that_cannot_be_made_says_why},
          {"varints round trip through all 64 bits", varints_round_trip_through_all_64_bits},
          {"the domain is the host", the_domain_is_the_host},
          {"temperatures follow the exponential", temperatures_follow_the_exponential},
          {"the coolest domain makes room when it is below one",
           the_coolest_domain_makes_room_when_it_is_below_one},
          {"a table of domains agrees with a naive one",
           a_table_of_domains_agrees_with_a_naive_one})
