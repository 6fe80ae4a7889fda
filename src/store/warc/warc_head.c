#include "store/warc/warc_head.h"

#include <string.h>

/* ---- Names and paths of WARC files ---- */

#define SUFFIX ".warc"

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
    char text[CLOCK_TEXT_BYTES];
    uint64_t width = 0;
    if (warc_bytes_are(word, "timestamp")) {
        return buffer_append_string(out, wall_format_seconds(date, text));
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
    bool is_warc = file_name_ends_with(buffer_string(&out), SUFFIX);
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&out, warc_compression_suffix(compression));
    }
    const char *text = buffer_string(&out);
    bool clean = has_serial && is_warc && text[0] != '.';
    for (const char *c = text; *c != '\0'; c++) {
        clean = clean && *c > ' ' && *c != '/' && *c != '"' && *c != '\\' && *c < 0x7f;
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

const char *warc_path(Path *path, const char *directory, const char *name, bool open)
{
    return file_path(path, "%s/%s%s", directory, name, open ? WARC_OPEN_SUFFIX : "");
}

const char *warc_index_path(Path *path, const char *directory, const char *name, bool open)
{
    WarcCompression ignored;
    size_t stem = warc_compression_stem(name, &ignored);
    return file_path(path, "%s/%.*s.cdxj%s", directory, (int)stem, name,
                     open ? WARC_OPEN_SUFFIX : "");
}

/* ---- The header of a WARC record, from what the record says about itself ---- */

/* ---- What a revisit record refers to ---- */

void warc_original_init(WarcOriginal *original)
{
    *original = (WarcOriginal){.date = {0}};
    buffer_init(&original->uri, (size_t)1 << 20);
}

void warc_original_destroy(WarcOriginal *original)
{
    buffer_destroy(&original->uri);
}

/* ---- The header of a WARC record, from what the record says about itself ---- */

#define PUT_NAME(out, name) (void)buffer_append((out), name ": ", sizeof(name ": ") - 1)

static void put_value(Buffer *out, const char *bytes, size_t length)
{
    (void)buffer_append(out, bytes, length);
    (void)buffer_append(out, "\r\n", 2);
}

/* A field whose NULL value leaves it out. */
#define PUT_STRING(out, name, value)                                                               \
    do {                                                                                           \
        if ((value) != NULL) {                                                                     \
            PUT_NAME(out, name);                                                                   \
            put_value((out), (value), strlen(value));                                              \
        }                                                                                          \
    } while (0)

static void put_id(Buffer *out, const WarcId *id)
{
    char text[WARC_ID_TEXT];
    put_value(out, warc_id_format(id, text), WARC_ID_TEXT - 1);
}

static void warc_head_put_digest(Buffer *out, const WarcDigest *digest)
{
    char text[WARC_DIGEST_TEXT];
    (void)warc_digest_format(digest, text);
    put_value(out, text, strlen(text));
}

static void put_refers_to(Buffer *out, const WarcOriginal *original)
{
    static const WarcId none;
    char date[CLOCK_TEXT_BYTES];
    if (memcmp(&original->id, &none, sizeof none) != 0) {
        PUT_NAME(out, "WARC-Refers-To");
        put_id(out, &original->id);
    }
    if (original->uri.length > 0) {
        PUT_NAME(out, "WARC-Refers-To-Target-URI");
        put_value(out, original->uri.data, original->uri.length);
    }
    PUT_STRING(out, "WARC-Refers-To-Date", wall_format_micro(original->date, date));
}

void warc_head_put(Buffer *out, const WarcHead *head, const WarcDigest *block)
{
    char date[CLOCK_TEXT_BYTES];
    (void)buffer_append(out, "WARC/1.1\r\n", 10);
    PUT_STRING(out, "WARC-Type", warc_type_name(head->type));
    PUT_NAME(out, "WARC-Record-ID");
    put_id(out, head->id);
    PUT_STRING(out, "WARC-Date", wall_format_micro(head->date, date));
    if (head->uri.bytes != NULL) {
        PUT_NAME(out, "WARC-Target-URI");
        put_value(out, head->uri.bytes, head->uri.length);
    }
    PUT_STRING(out, "WARC-Filename", head->filename);
    PUT_STRING(out, "WARC-IP-Address", head->ip);
    PUT_STRING(out, "WARC-Protocol", head->protocol);
    PUT_STRING(out, "WARC-Protocol", head->tls);
    PUT_STRING(out, "WARC-Cipher-Suite", head->cipher);
    PUT_STRING(out, "WARC-Usage", head->usage);
    if (head->concurrent_to != NULL) {
        PUT_NAME(out, "WARC-Concurrent-To");
        put_id(out, head->concurrent_to);
    }
    PUT_STRING(out, "WARC-Profile", head->profile);
    if (head->refers_to != NULL) {
        put_refers_to(out, head->refers_to);
    }
    if (head->converts != NULL) {
        PUT_NAME(out, "WARC-Refers-To");
        put_id(out, head->converts);
    }
    PUT_STRING(out, "WARC-Truncated", head->truncated);
    if (head->payload != NULL) {
        PUT_NAME(out, "WARC-Payload-Digest");
        warc_head_put_digest(out, head->payload);
    }
    PUT_NAME(out, "WARC-Block-Digest");
    warc_head_put_digest(out, block);
    PUT_STRING(out, "Content-Type", head->content_type);
    PUT_NAME(out, "Content-Length");
    (void)buffer_append_number(out, (int64_t)(head->block_head.length + head->block_tail.length));
    (void)buffer_append(out, "\r\n\r\n", 4);
}
