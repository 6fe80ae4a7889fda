/* An order of `ragno forget`: it stays in the directory, and its tombstones are entered once. */
#include <string.h>

#include "command/forget/forget_order.h"
#include "folder_fixture.h"
#include "rules/scope/denial_list.h"
#include "rules/scope/denials.h"
#include "unit.h"

static char folder[FOLDER_BYTES];

static void begin(ForgetOrder *order, const char *const *words, size_t n)
{
    folder_make(folder);
    forget_order_init(order, folder);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(forget_targets_add(&order->targets, words[i], &order->error), RESULT_OK);
    }
}

static void end(ForgetOrder *order)
{
    forget_order_destroy(order);
    folder_remove(folder);
}

static const char *const words[] = {"A.example", "http://b.example/x"};

static void an_order_is_due_once_it_is_in_the_directory(void)
{
    ForgetOrder order;
    begin(&order, words, 2);
    order.targets.before = (WallTime){INT64_C(1767225600000000)};
    order.targets.keep_graph = true;
    CU_ASSERT_FALSE(forget_order_is_due(folder));
    CU_ASSERT_EQUAL(forget_order_write(&order), RESULT_OK);
    CU_ASSERT_TRUE(forget_order_is_due(folder));
    CU_ASSERT_EQUAL(forget_order_write(&order), RESULT_OK); /* it may be repeated */
    char path[128];
    char text[512] = "";
    (void)snprintf(path, sizeof path, "%s/forget/order", folder);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fread(text, 1, sizeof text - 1, file) > 0);
    (void)fclose(file);
    ForgetTargets back = {.n = 0};
    CU_ASSERT_EQUAL_FATAL(forget_targets_read(&back, text, &order.error), RESULT_OK);
    CU_ASSERT_EQUAL(back.n, 2);
    CU_ASSERT_STRING_EQUAL(back.all[0].text, "a.example");
    CU_ASSERT_EQUAL(back.all[1].kind, FORGET_URL);
    CU_ASSERT_TRUE(back.before.us == order.targets.before.us && back.keep_graph && !back.hash_logs);
    forget_targets_destroy(&back);
    end(&order);
}

static size_t denials_here(void)
{
    DenialList list = {.n = 0};
    Buffer error = {.limit = 4096};
    CU_ASSERT_EQUAL(denial_list_read(&list, folder, &error), RESULT_OK);
    size_t n = list.n;
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_TRUE(denials_is_tomb(list.rules[i]));
        CU_ASSERT_PTR_NULL(strstr(list.rules[i], "example")); /* its name is in none of them */
    }
    denial_list_destroy(&list);
    buffer_destroy(&error);
    return n;
}

static void tombstones_are_entered_once_and_taken_out_again(void)
{
    ForgetOrder order;
    begin(&order, words, 2);
    CU_ASSERT_EQUAL(forget_order_bury(&order, false), RESULT_OK);
    CU_ASSERT_EQUAL(denials_here(), 2);
    CU_ASSERT_EQUAL(forget_order_bury(&order, false), RESULT_OK);
    CU_ASSERT_EQUAL(denials_here(), 2);
    CU_ASSERT_EQUAL(forget_order_bury(&order, true), RESULT_OK);
    CU_ASSERT_EQUAL(denials_here(), 0);
    CU_ASSERT_EQUAL(forget_order_bury(&order, true), RESULT_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(buffer_string(&order.error), "'a.example' was not forgotten");
    end(&order);
}

static void a_tombstone_denies_what_it_stands_for(void)
{
    ForgetOrder order;
    begin(&order, words, 2);
    Buffer rules[2] = {{.limit = 4096}, {.limit = 4096}};
    const char *texts[2];
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(forget_order_tomb(&order.targets.all[i], &rules[i]), RESULT_OK);
        texts[i] = buffer_string(&rules[i]);
    }
    Denials *denials = NULL;
    CU_ASSERT_EQUAL_FATAL(denials_new(&denials, texts, 2, &order.error), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(denials_host(denials, "www.a.example", 13));
    CU_ASSERT_PTR_NULL(denials_host(denials, "b.example", 9));
    CU_ASSERT_PTR_NOT_NULL(denials_url(denials, "http://b.example/x", 18));
    CU_ASSERT_PTR_NULL(denials_url(denials, "http://b.example/", 17));
    denials_delete(denials);
    buffer_destroy(&rules[0]);
    buffer_destroy(&rules[1]);
    end(&order);
}

UNIT_MAIN("forget_order",
          {"an order is due once it is in the directory",
           an_order_is_due_once_it_is_in_the_directory},
          {"tombstones are entered once and taken out again",
           tombstones_are_entered_once_and_taken_out_again},
          {"a tombstone denies what it stands for", a_tombstone_denies_what_it_stands_for})
