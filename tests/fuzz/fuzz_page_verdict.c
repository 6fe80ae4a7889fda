/* Input: a page. Whatever it is, no byte beyond it is read, its text is not longer than it is, and
 * the verdict is that of its signs. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "exact_copy.h"
#include "render/page_verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = exact_copy(data, size);
    PageVerdict verdict;
    page_verdict_judge(text, size, &verdict);
    assert(verdict.text_bytes <= size);
    assert(!verdict.needs_browser || verdict.scripts > 0);
    assert(!verdict.has_empty_mount || verdict.weight >= PAGE_VERDICT_LEAST);
    Buffer out;
    buffer_init(&out, 4096);
    assert(page_verdict_tell(verdict.signs, &out) == RESULT_OK);
    assert(out.length > 0);
    buffer_destroy(&out);
    free(text);
    return 0;
}
