#include "base/memory/base64.h"

#include <string.h>

static const char digits[][65] = {
    [BASE64_STANDARD] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};

static char digit(uint32_t value, Base64Kind kind)
{
    return digits[kind][value & 63];
}

Result base64_append(Buffer *text, const void *data, size_t length, Base64Kind kind)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < length; i += 3) {
        size_t n = length - i < 3 ? length - i : 3;
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= n > 2 ? bytes[i + 2] : 0;
        char four[4] = {digit(group >> 18, kind), digit(group >> 12, kind), '=', '='};
        four[2] = n > 1 ? digit(group >> 6, kind) : '=';
        four[3] = n > 2 ? digit(group, kind) : '=';
        Result rc = buffer_append(text, four, kind == BASE64_URL ? n + 1 : sizeof four);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

Result base64_read(Buffer *bytes, const char *text, size_t length, Base64Kind kind)
{
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (size_t pads = 0; pads < 2 && length > 0 && text[length - 1] == '='; pads++) {
        length--;
    }
    if (length % 4 == 1) {
        return RESULT_INVALID;
    }
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < length; i++) {
        const char *at = memchr(digits[kind], text[i], 64);
        if (at == NULL) {
            return RESULT_INVALID;
        }
        bits = bits << 6 | (uint32_t)(at - digits[kind]);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            rc = buffer_append_char(bytes, (char)(bits >> n_bits & 255));
        }
    }
    return rc;
}
