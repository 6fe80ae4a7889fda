#include "parse/charset/charset.h"

#include <string.h>

#include "parse/charset/charset_span.h"

Result charset_text(const char *encoding, const char *body, size_t length, Buffer *scratch,
                    const char **text, size_t *text_length)
{
    bool utf8 = strcmp(encoding, "UTF-8") == 0;
    size_t bom = utf8 && length >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    size_t clean = 0;
    if (utf8) {
        clean = bom + charset_utf8_span(body + bom, length - bom);
    } else if (charset_is_ascii_superset(encoding)) {
        clean = charset_ascii_span(body, length);
    }
    if (clean == length) {
        *text = body + bom;
        *text_length = length - bom;
        return RESULT_OK;
    }
    buffer_reset(scratch);
    Result rc = charset_decode(encoding, body, length, scratch);
    if (rc == RESULT_INVALID) {
        rc = charset_decode("windows-1252", body, length, scratch);
    }
    *text = buffer_string(scratch);
    *text_length = scratch->length;
    return rc;
}
