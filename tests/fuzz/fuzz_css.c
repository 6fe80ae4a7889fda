/* Any bytes as a style sheet, and as the declarations of a style attribute. What is handed out lies
 * inside the text, or is scratch; it is not empty and no fragment; declarations have no import that
 * a sheet lacks. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "parse/css/css.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Seen {
    const char *text;
    size_t length;
    size_t n;
} Seen;

static Result take(void *context, const char *bytes, size_t length, bool is_scratch)
{
    Seen *seen = context;
    assert(length > 0 && bytes[0] != '#');
    assert(is_scratch || (bytes >= seen->text && bytes + length <= seen->text + seen->length));
    char *copy = malloc(length); /* all of it can be read */
    if (copy != NULL) {
        memcpy(copy, bytes, length);
        free(copy);
    }
    seen->n++;
    return RESULT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = exact_copy(data, size);
    CssReader reader;
    css_reader_init(&reader);
    Seen sheet = {.text = text, .length = size};
    Seen declarations = sheet;
    assert(css_read(&reader, text, size, true, take, &sheet) == RESULT_OK);
    assert(css_read(&reader, text, size, false, take, &declarations) == RESULT_OK);
    assert(declarations.n <= sheet.n);
    size_t n = 0;
    const char *label = css_charset_label(text, size, &n);
    assert(label == NULL || (label >= text && label + n <= text + size));
    css_reader_destroy(&reader);
    free(text);
    return 0;
}
