#include "frontier/distributor/frontier.h"
#include "unit.h"

static char letter[3];

static size_t taken(Mailbox *mailbox, MonoTime deadline)
{
    void *messages[MAILBOX_BATCH];
    size_t n = 0;
    CU_ASSERT_TRUE(mailbox_take(mailbox, messages, &n, deadline));
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_PTR_EQUAL(messages[i], &letter[i]);
    }
    return n;
}

static void what_is_posted_is_taken_in_order(void)
{
    Mailbox mailbox;
    CU_ASSERT_EQUAL_FATAL(mailbox_init(&mailbox, false), RESULT_OK);
    CU_ASSERT_TRUE(mailbox_post(&mailbox, &letter[0]));
    CU_ASSERT_TRUE(mailbox_post_by(&mailbox, &letter[1], MONO_NEVER));
    CU_ASSERT_TRUE(mailbox_post(&mailbox, &letter[2]));
    mailbox_call(&mailbox);
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 3);
    CU_ASSERT_EQUAL(taken(&mailbox, (MonoTime){0}), 0);
    CU_ASSERT_EQUAL(mailbox.look.ns, MONO_NEVER.ns); /* it has no runs */
    mailbox_destroy(&mailbox);
}

/* Times lie so far from now that no machine is too slow for them. */
static void in_a_run_it_is_looked_into_once_in_a_while(void)
{
    Mailbox mailbox;
    CU_ASSERT_EQUAL_FATAL(mailbox_init(&mailbox, true), RESULT_OK);
    (void)mailbox_post(&mailbox, &letter[0]);
    mailbox.told = mono_add_ms(mono_now(), -3600000);
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 1);
    CU_ASSERT_EQUAL(mailbox.look.ns, MONO_NEVER.ns); /* it came alone */
    (void)mailbox_post(&mailbox, &letter[0]);
    mailbox.told = mono_add_ms(mono_now(), 3600000);
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 1);
    CU_ASSERT_TRUE(mono_before(mailbox.look, MONO_NEVER));
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 0); /* it looks, and nothing is there */
    CU_ASSERT_EQUAL(mailbox.look.ns, MONO_NEVER.ns);
    mailbox_destroy(&mailbox);
}

static void closed_it_takes_nothing_and_gives_what_is_left(void)
{
    Mailbox mailbox;
    void *messages[MAILBOX_BATCH];
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(mailbox_init(&mailbox, true), RESULT_OK);
    (void)mailbox_post(&mailbox, &letter[0]);
    mailbox_close(&mailbox);
    CU_ASSERT_FALSE(mailbox_post(&mailbox, &letter[1]));
    CU_ASSERT_FALSE(mailbox_post_by(&mailbox, &letter[1], MONO_NEVER));
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 1);
    CU_ASSERT_FALSE(mailbox_take(&mailbox, messages, &n, MONO_NEVER));
    CU_ASSERT_EQUAL(n, 0);
    mailbox_destroy(&mailbox);
}

UNIT_MAIN("mailbox", {"what is posted is taken in order", what_is_posted_is_taken_in_order},
          {"in a run it is looked into once in a while",
           in_a_run_it_is_looked_into_once_in_a_while},
          {"closed, it takes nothing and gives what is left",
           closed_it_takes_nothing_and_gives_what_is_left})
