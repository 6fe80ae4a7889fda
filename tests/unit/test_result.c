/* Results: each has words of its own, and errno becomes one of them. */
#include <errno.h>
#include <string.h>

#include "base/core/result.h"
#include "unit.h"

static void every_result_has_words_of_its_own(void)
{
    for (int i = RESULT_OK; i <= RESULT_INTERNAL; i++) {
        const char *name = result_name((Result)i);
        CU_ASSERT_TRUE(strlen(name) > 1);
        for (int k = RESULT_OK; k < i; k++) {
            CU_ASSERT_STRING_NOT_EQUAL(name, result_name((Result)k));
        }
    }
    CU_ASSERT_STRING_EQUAL(result_name(RESULT_OK), "ok");
    CU_ASSERT_STRING_EQUAL(result_name((Result)(RESULT_INTERNAL + 1)), "unknown");
    CU_ASSERT_STRING_EQUAL(result_name((Result)-1), "unknown");
}

static void errno_says_what_the_caller_can_do(void)
{
    static const struct {
        int error;
        Result result;
    } rows[] = {{0, RESULT_OK},
                {ENOMEM, RESULT_MEMORY},
                {ENOENT, RESULT_NOT_FOUND},
                {ENOTDIR, RESULT_NOT_FOUND},
                {EEXIST, RESULT_EXISTS},
                {ENOSPC, RESULT_FULL},
                {EDQUOT, RESULT_FULL},
                {EFBIG, RESULT_FULL},
                {EINVAL, RESULT_INVALID},
                {ETIMEDOUT, RESULT_TIMEOUT},
                {EIO, RESULT_IO},
                {EACCES, RESULT_IO},
                {-1, RESULT_IO}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL(result_of_errno(rows[i].error), rows[i].result);
    }
    CU_ASSERT_EQUAL(result_first(RESULT_OK, RESULT_FULL), RESULT_FULL);
    CU_ASSERT_EQUAL(result_first(RESULT_IO, RESULT_FULL), RESULT_IO);
    CU_ASSERT_EQUAL(result_first(RESULT_OK, RESULT_OK), RESULT_OK);
}

UNIT_MAIN("result", {"every result has words of its own", every_result_has_words_of_its_own},
          {"errno says what the caller can do", errno_says_what_the_caller_can_do})
