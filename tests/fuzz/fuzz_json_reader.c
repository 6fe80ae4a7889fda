/* Input: a message of a browser. Whatever it says, no byte beyond it is read, and a text that is
 * read is within its limit and as long as a byte of it for each byte of input at most. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "exact_copy.h"
#include "render/json_reader.h"

#define FUZZ_DEPTH 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(JsonValue value, Buffer *out, unsigned depth)
{
    static const char *const names[] = {"id", "method", "params", "result", "url", "a"};
    if (depth == FUZZ_DEPTH) {
        return;
    }
    buffer_reset(out);
    size_t before = (size_t)(value.end - value.begin);
    if (json_read_text(value, out) == RESULT_OK) {
        assert(out->length <= before);
    }
    (void)json_read_is(value, "page");
    (void)json_read_integer(value, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        JsonValue member;
        if (json_read_member(value, names[i], &member)) {
            ask(member, out, depth + 1);
        }
    }
    const char *position = NULL;
    JsonValue element;
    for (unsigned n = 0; n < 3 && json_read_next(value, &position, &element); n++) {
        ask(element, out, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = exact_copy(data, size);
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    JsonValue value;
    if (json_read(text, size, &value) == RESULT_OK) {
        ask(value, &out, 0);
    }
    buffer_destroy(&out);
    free(text);
    return 0;
}
