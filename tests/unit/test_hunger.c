#include "frontier/distributor/frontier.h"
#include "unit.h"

static const MonoTime START = {INT64_C(1000000000)};

static MonoTime at(int64_t ms)
{
    return mono_add_ms(START, ms);
}

static void a_front_that_starves_must_be_larger(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 64, 200);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 100, at(0)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 164);
    hunger_heard(&hunger);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 164, at(0)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 200);
    hunger_heard(&hunger);
    CU_ASSERT_FALSE(hunger_starve(&hunger, 200, at(0)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 200);
    CU_ASSERT_EQUAL(atomic_load(&hunger.starved), 3);
}

static void a_message_is_not_sent_twice(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 1, 200);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(0)));
    CU_ASSERT_FALSE(hunger_starve(&hunger, 50, at(1000)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 100);
    hunger_heard(&hunger);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(1000)));
}

static void who_has_had_all_there_is_waits_for_the_next_walk(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 1, 200);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(0)));
    hunger_heard(&hunger);
    hunger_fed(&hunger, true, at(300), at(0));
    CU_ASSERT_FALSE(hunger_starve(&hunger, 50, at(299)));
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(300)));
    hunger_heard(&hunger);
    hunger_fed(&hunger, true, at(0), at(300)); /* a walk is due, but has brought nothing now */
    CU_ASSERT_FALSE(hunger_starve(&hunger, 50, at(300 + HUNGER_PAUSE_MS - 1)));
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(300 + HUNGER_PAUSE_MS)));
}

static void who_was_not_hungry_is_heard_at_once(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 1, 200);
    hunger_fed(&hunger, true, at(300), at(0));
    hunger_fed(&hunger, false, at(300), at(1));
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(2)));
}

UNIT_MAIN("hunger", {"a front that starves must be larger", a_front_that_starves_must_be_larger},
          {"a message is not sent twice", a_message_is_not_sent_twice},
          {"who has had all there is waits for the next walk",
           who_has_had_all_there_is_waits_for_the_next_walk},
          {"who was not hungry is heard at once", who_was_not_hungry_is_heard_at_once})
