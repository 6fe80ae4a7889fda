/* Any bytes in any encoding: the first byte chooses it. What comes out is clean UTF-8 without NUL,
 * and the same when the room is short, as far as it goes; ASCII bytes keep their number in
 * encodings in which no character has an ASCII byte. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const labels[] = {
    "utf-8",  "utf-16le",    "utf-16be",  "gbk",         "gb18030",     "big5",
    "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr",      "koi8-u",      "x-user-defined",
    "latin1", "replacement", "macintosh", "windows-874", "iso-8859-8-i"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *body = (const char *)data + 1;
    const char *label = labels[data[0] % (sizeof labels / sizeof *labels)];
    const char *name = charset_of_label(label, strlen(label));
    Buffer whole;
    Buffer part;
    buffer_init(&whole, BUFFER_NO_LIMIT);
    buffer_init(&part, size / 2);
    if (charset_decode(name, body, size - 1, &whole) != RESULT_OK ||
        charset_utf8_span(buffer_string(&whole), whole.length) != whole.length) {
        abort();
    }
    (void)charset_decode(name, body, size - 1, &part);
    if (part.length > whole.length ||
        memcmp(buffer_string(&part), buffer_string(&whole), part.length) != 0) {
        abort();
    }
    char *header = malloc(size);
    if (header == NULL) {
        abort();
    }
    memcpy(header, body, size - 1);
    header[size - 1] = '\0';
    if (charset_sniff(body, size - 1, header) == NULL) {
        abort();
    }
    free(header);
    buffer_destroy(&whole);
    buffer_destroy(&part);
    return 0;
}
