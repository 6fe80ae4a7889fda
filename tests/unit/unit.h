/* The frame of a unit test program: a table of tests, run by CUnit; exit status 1 when one fails.
 *
 *   static void urls_are_lower_cased(void) { CU_ASSERT_EQUAL(...); }
 *   UNIT_MAIN("url", {"urls are lower-cased", urls_are_lower_cased}, ...)
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

typedef struct UnitTest {
    const char *name; /* a sentence */
    void (*run)(void);
} UnitTest;

static inline int unit_run(const char *suite_name, const UnitTest *tests, size_t n_tests)
{
    if (CU_initialize_registry() != CUE_SUCCESS) {
        return 2;
    }
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    for (size_t i = 0; suite != NULL && i < n_tests; i++) {
        CU_add_test(suite, tests[i].name, tests[i].run);
    }
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_tests_failed();
    CU_cleanup_registry();
    return failed == 0 ? 0 : 1;
}

#define UNIT_MAIN(suite, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const UnitTest tests[] = {__VA_ARGS__};                                                    \
        return unit_run(suite, tests, sizeof tests / sizeof *tests);                               \
    }

#endif
