#include "base/memory/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"

#define BUFFER_FIRST_BYTES 64

void buffer_init(Buffer *buffer, size_t limit)
{
    *buffer =
        (Buffer){.data = NULL, .length = 0, .capacity = 0, .limit = limit, .failed = RESULT_OK};
}

void buffer_destroy(Buffer *buffer)
{
    free(buffer->data);
    buffer->data = NULL;
    buffer->length = 0;
    buffer->capacity = 0;
    buffer->failed = RESULT_OK;
}

void buffer_reset(Buffer *buffer)
{
    buffer->length = 0;
    buffer->failed = RESULT_OK;
    if (buffer->data != NULL) {
        buffer->data[0] = '\0';
    }
}

void buffer_trim(Buffer *buffer, size_t keep_bytes)
{
    buffer_reset(buffer);
    if (buffer->capacity > keep_bytes) {
        buffer_destroy(buffer);
    }
}

void buffer_fit(Buffer *buffer)
{
    char *data = buffer->data == NULL ? NULL : realloc(buffer->data, buffer->length + 1);
    if (data != NULL) {
        buffer->data = data;
        buffer->capacity = buffer->length + 1;
    }
}

static Result buffer_fail(Buffer *buffer, Result rc)
{
    if (buffer->failed == RESULT_OK) {
        buffer->failed = rc;
    }
    return rc;
}

Result buffer_reserve(Buffer *buffer, size_t extra)
{
    if (extra > buffer->limit || buffer->length > buffer->limit - extra) {
        return buffer_fail(buffer, RESULT_LIMIT);
    }
    size_t need = buffer->length + extra + 1;
    if (need <= buffer->capacity) {
        return RESULT_OK;
    }
    size_t capacity = buffer->capacity;
    if (capacity == 0) { /* exactly what is asked for: the caller may know what comes */
        capacity = need < BUFFER_FIRST_BYTES ? BUFFER_FIRST_BYTES : need;
    }
    while (capacity < need) {
        capacity += capacity / 2 + 1;
    }
    if (capacity - 1 > buffer->limit) {
        capacity = buffer->limit + 1;
    }
    char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return buffer_fail(buffer, RESULT_MEMORY);
    }
    data[buffer->length] = '\0';
    buffer->data = data;
    buffer->capacity = capacity;
    return RESULT_OK;
}

/* Whether it has room for extra more bytes: nearly always. */
static bool buffer_has_room(const Buffer *buffer, size_t extra)
{
    return extra < buffer->capacity - buffer->length && buffer->length + extra <= buffer->limit;
}

Result buffer_append(Buffer *buffer, const void *bytes, size_t length)
{
    Result rc = buffer_has_room(buffer, length) ? RESULT_OK : buffer_reserve(buffer, length);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (length > 0) {
        memcpy(buffer->data + buffer->length, bytes, length);
        buffer->length += length;
    }
    buffer->data[buffer->length] = '\0';
    return RESULT_OK;
}

Result buffer_append_string(Buffer *buffer, const char *string)
{
    return buffer_append(buffer, string, strlen(string));
}

Result buffer_append_char(Buffer *buffer, char c)
{
    if (!buffer_has_room(buffer, 1)) {
        return buffer_append(buffer, &c, 1);
    }
    buffer->data[buffer->length++] = c;
    buffer->data[buffer->length] = '\0';
    return RESULT_OK;
}

Result buffer_append_number(Buffer *buffer, int64_t number)
{
    char digits[20]; /* those of INT64_MIN, and its sign */
    size_t i = sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--i] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0) {
        digits[--i] = '-';
    }
    return buffer_append(buffer, digits + i, sizeof digits - i);
}

Result buffer_append_code_point(Buffer *buffer, uint32_t c)
{
    char bytes[4];
    return buffer_append(buffer, bytes, ascii_put_utf8(c, bytes));
}

Result buffer_vprintf(Buffer *buffer, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    size_t room = buffer->capacity - buffer->length; /* 0 before the first byte */
    char *end = room == 0 ? NULL : buffer->data + buffer->length;
    int n = vsnprintf(end, room, format, arguments);
    Result rc = n < 0 ? buffer_fail(buffer, RESULT_INVALID) : buffer_reserve(buffer, (size_t)n);
    if (rc == RESULT_OK && (size_t)n >= room) {
        (void)vsnprintf(buffer->data + buffer->length, (size_t)n + 1, format, again);
    }
    va_end(again);
    if (rc == RESULT_OK) {
        buffer->length += (size_t)n;
    } else if (end != NULL) {
        *end = '\0'; /* the half that did fit */
    }
    return rc;
}

Result buffer_printf(Buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    Result rc = buffer_vprintf(buffer, format, arguments);
    va_end(arguments);
    return rc;
}

Result buffer_end(Buffer *buffer, size_t before)
{
    Result rc = buffer->failed;
    buffer->failed = RESULT_OK;
    if (rc != RESULT_OK && buffer->data != NULL) {
        buffer->length = before;
        buffer->data[before] = '\0';
    }
    return rc;
}

const char *buffer_string(const Buffer *buffer)
{
    return buffer->data == NULL ? "" : buffer->data;
}

char *buffer_detach(Buffer *buffer)
{
    char *data = buffer->data;
    buffer->data = NULL;
    buffer->length = 0;
    buffer->capacity = 0;
    buffer->failed = RESULT_OK;
    return data;
}
