#include "store/warc/warc_name.h"

#include <string.h>

#include "store/warc/warc_format.h"

#define SUFFIX ".warc"

bool warc_name_ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    size_t m = strlen(suffix);
    return n > m && memcmp(text + n - m, suffix, m) == 0;
}

/* Appends the value of the placeholder at *at ("{serial:05}") and moves *at behind it. */
static Result append_placeholder(const char **at, WallTime date, uint32_t serial, const char *host,
                                 Buffer *out, bool *has_serial)
{
    const char *close = strchr(*at, '}');
    if (close == NULL) {
        return RESULT_INVALID;
    }
    WarcBytes word = warc_bytes(*at + 1, (size_t)(close - *at - 1));
    *at = close + 1;
    char text[WARC_DATE_BYTES];
    uint64_t width = 0;
    if (warc_bytes_are(word, "timestamp")) {
        return buffer_append_string(out, warc_date_timestamp(date, text));
    }
    if (warc_bytes_are(word, "host")) {
        return buffer_append_string(out, host == NULL ? "localhost" : host);
    }
    bool padded = word.length > 8 && memcmp(word.bytes, "serial:0", 8) == 0 &&
                  warc_bytes_number(warc_bytes(word.bytes + 8, word.length - 8), 9, &width);
    if (!padded && !warc_bytes_are(word, "serial")) {
        return RESULT_INVALID;
    }
    *has_serial = true;
    return buffer_printf(out, "%0*u", padded ? (int)width : 1, (unsigned)serial);
}

Result warc_name_make(const char *pattern, WallTime date, uint32_t serial, const char *host,
                      WarcCompression compression, WarcName *name)
{
    Buffer out;
    bool has_serial = false;
    WarcCompression ignored;
    Result rc = RESULT_OK;
    buffer_init(&out, WARC_NAME_BYTES - 16); /* room for .open and .cdxj.run12 */
    for (const char *at = pattern; *at != '\0' && rc == RESULT_OK;) {
        rc = *at == '{' ? append_placeholder(&at, date, serial, host, &out, &has_serial)
                        : buffer_append_char(&out, *at++);
    }
    size_t stem = warc_compression_stem(buffer_string(&out), &ignored);
    if (stem > 0) {
        out.length = stem + strlen(SUFFIX);
        out.data[out.length] = '\0';
    }
    bool is_warc = warc_name_ends_with(buffer_string(&out), SUFFIX);
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&out, warc_compression_suffix(compression));
    }
    const char *text = buffer_string(&out);
    bool clean = has_serial && is_warc && text[0] != '.';
    for (const char *c = text; *c != '\0'; c++) {
        clean = clean && *c > ' ' && *c != '/' && *c != '"' && *c != '\\' && *c != 0x7f;
    }
    if (rc == RESULT_LIMIT || (rc == RESULT_OK && !clean)) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        memcpy(name->text, text, out.length + 1);
    }
    buffer_destroy(&out);
    return rc;
}

Result warc_path(Buffer *path, const char *directory, const char *name, bool open)
{
    buffer_reset(path);
    return buffer_printf(path, "%s/%s%s", directory, name, open ? WARC_OPEN_SUFFIX : "");
}

Result warc_index_path(Buffer *path, const char *directory, const char *name, bool open)
{
    WarcCompression ignored;
    size_t stem = warc_compression_stem(name, &ignored);
    buffer_reset(path);
    return buffer_printf(path, "%s/%.*s.cdxj%s", directory, (int)stem, name,
                         open ? WARC_OPEN_SUFFIX : "");
}
