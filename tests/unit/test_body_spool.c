#include "fetch/body/body_spool.h"
#include "unit.h"

static void a_host_without_ends_is_looked_at_now_and_then(void)
{
    _Atomic uint64_t cut = 0;
    BodySpoolOptions options = {.n_endless = &cut};
    BodySpool endless = {.is_open = true, .is_cut = true, .length = 1000};
    unsigned count = 0;
    unsigned n_read = 0;
    for (int i = 0; i < 160; i++) {
        if (body_spool_may(&options, &count)) {
            body_spool_judge(&endless, 1000, &count);
            n_read++;
        }
    }
    CU_ASSERT_EQUAL(n_read, BODY_SPOOL_ENDLESS + 160 / BODY_SPOOL_LOOK - 1);
    CU_ASSERT_EQUAL(cut, 160 - n_read);
}

static void a_page_that_ends_opens_its_host_again(void)
{
    BodySpoolOptions options = {.n_endless = NULL};
    BodySpool whole = {.is_open = true, .length = 999};
    unsigned count = BODY_SPOOL_LOOK;
    CU_ASSERT_TRUE(body_spool_may(&options, &count));
    body_spool_judge(&whole, 1000, &count);
    CU_ASSERT_EQUAL(count, 0);
    count = BODY_SPOOL_ENDLESS;
    CU_ASSERT_FALSE(body_spool_may(&options, &count));
}

static void what_was_cut_for_other_reasons_says_nothing(void)
{
    BodySpool broken = {.is_open = true, .is_cut = true, .length = 500};
    BodySpool none = {.is_open = false};
    unsigned count = 1;
    body_spool_judge(&broken, 1000, &count);
    body_spool_judge(&none, 1000, &count);
    CU_ASSERT_EQUAL(count, 1);
}

UNIT_MAIN("body_spool",
          {"a host without ends is looked at now and then",
           a_host_without_ends_is_looked_at_now_and_then},
          {"a page that ends opens its host again", a_page_that_ends_opens_its_host_again},
          {"what was cut for other reasons says nothing",
           what_was_cut_for_other_reasons_says_nothing})
