#include "store/foreign/foreign_reader.h"
#include "base/memory/file.h"
#include "parse/http/decode.h"
#include "store/warc/warc_compress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Foreign stream ---- */

#define ZLIB_CONST 1 /* what is read stays const */

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>
#include <strings.h>

/* STEP_BYTES: of one call of a codec. What is asked for may be a gigabyte because a damaged header
 * says so; memory grows only as bytes really come. KEEP_BYTES: the buffer keeps that much from
 * record to record, more is given back after one large record. */
#define STEP_BYTES    ((size_t)64 << 10)
#define KEEP_BYTES    ((size_t)4 << 20)
#define RELEASE_BYTES ((uint64_t)16 << 20) /* of the file, at once */
#define GZIP_WINDOW   31                   /* of zlib: gzip members, the largest window */

/* A skippable frame of Zstandard: four bytes, and the length of what follows in four more. */
#define REMARK_HEAD      8u
#define DICTIONARY_BYTES ((size_t)16 << 20) /* at most */
#define DICTIONARY_MAGIC "\x5d\x2a\x4d\x18"

typedef enum ForeignCoding { CODING_NONE, CODING_GZIP, CODING_ZSTD } ForeignCoding;

/* A member goes through these states:
 *
 *   ended --begin_codec()--> open --a step meets the member's end--> ended
 *                             |
 *                             '--a step fails--> broken --foreign_stream_skip_member()--> open
 *
 * "ended" is is_open false. "broken" is is_open and is_broken: foreign_stream_fill answers
 * RESULT_DAMAGED then without asking the codec, whose state after an error is undefined. In all
 * three the bytes that came before stay readable. A file without compression is one member that
 * ends with the file. */
struct ForeignStream {
    const char *file; /* mapped; NULL when it is empty */
    uint64_t file_size;
    const char *map; /* the part that is read */
    uint64_t size;
    uint64_t position; /* the next compressed byte */
    uint64_t member;   /* where the present member begins */
    uint64_t released; /* of the file; a multiple of RELEASE_BYTES */
    ForeignCoding coding;
    bool is_open;   /* the present member has not ended */
    bool is_broken; /* it cannot be decompressed further: a codec is not asked twice */
    z_stream gzip;
    bool has_gzip;
    ZSTD_DStream *zstd;
    Buffer bytes; /* decompressed; the first `taken` are gone */
    size_t taken;
};

/* A skippable frame of Zstandard: a dictionary or another remark. */
static bool is_remark(const char *p, uint64_t left)
{
    return p != NULL && left >= 4 && (p[0] & '\xf0') == 0x50 &&
           memcmp(p + 1, "\x2a\x4d\x18", 3) == 0;
}

/* A codec is allocated once and reset for each member: archives have tens of thousands of them.
 * The dictionary of a Zstandard file survives, because only the session is reset. */
static Result begin_codec(ForeignStream *stream)
{
    stream->member = stream->position;
    stream->is_open = true;
    stream->is_broken = false;
    if (stream->coding == CODING_GZIP) {
        int rc = stream->has_gzip ? inflateReset(&stream->gzip)
                                  : inflateInit2(&stream->gzip, GZIP_WINDOW);
        stream->has_gzip = stream->has_gzip || rc == Z_OK;
        return rc == Z_OK ? RESULT_OK : RESULT_MEMORY;
    }
    if (stream->coding == CODING_ZSTD) {
        return ZSTD_isError(ZSTD_DCtx_reset(stream->zstd, ZSTD_reset_session_only)) != 0
                   ? RESULT_MEMORY
                   : RESULT_OK;
    }
    return RESULT_OK;
}

/* A frame need not say how long it becomes, so it is decompressed step by step, up to the limit of
 * the buffer (DICTIONARY_BYTES). A step that had room left and nothing more to read means that the
 * frame is cut. */
static Result decompress_dictionary(ForeignStream *stream, const char *bytes, size_t length,
                                    Buffer *plain)
{
    ZSTD_inBuffer in = {bytes, length, 0};
    size_t left = 1;
    while (left > 0) {
        Result rc = buffer_reserve(plain, STEP_BYTES);
        if (rc != RESULT_OK) {
            return rc;
        }
        ZSTD_outBuffer out = {plain->data + plain->length, STEP_BYTES, 0};
        left = ZSTD_decompressStream(stream->zstd, &out, &in);
        plain->length += out.pos;
        bool is_cut = in.pos == length && out.pos < STEP_BYTES && left > 0;
        if (ZSTD_isError(left) != 0 || is_cut) {
            return RESULT_DAMAGED;
        }
    }
    return RESULT_OK;
}

/* The dictionary that a file may begin with, compressed or not. All frames of the file need it, so
 * one that cannot be read is damage of the whole file, and opening fails. It is looked for at the
 * first byte of the part that is opened, which in a ZIP (dedup_index.c) is a file of its own. */
static Result load_dictionary(ForeignStream *stream)
{
    uint64_t length = 0;
    if (stream->map == NULL || stream->size < REMARK_HEAD ||
        memcmp(stream->map, DICTIONARY_MAGIC, 4) != 0) {
        return RESULT_OK;
    }
    const char *dictionary = stream->map + REMARK_HEAD;
    for (size_t i = REMARK_HEAD; i-- > 4;) {
        length = length << 8 | (uint8_t)stream->map[i];
    }
    if (length > stream->size - REMARK_HEAD) {
        return RESULT_OK; /* the file is cut in it: no frame follows */
    }
    stream->position = REMARK_HEAD + length;
    Buffer plain = {.limit = DICTIONARY_BYTES};
    Result rc = RESULT_OK;
    if (warc_compression_begins(WARC_ZSTD, dictionary, length)) {
        rc = decompress_dictionary(stream, dictionary, (size_t)length, &plain);
        dictionary = plain.data;
        length = plain.length;
    }
    if (rc == RESULT_OK &&
        ZSTD_isError(ZSTD_DCtx_loadDictionary(stream->zstd, dictionary, (size_t)length)) != 0) {
        rc = RESULT_DAMAGED;
    }
    buffer_destroy(&plain);
    return rc;
}

/* What the first bytes say. */
static ForeignCoding foreign_stream_coding(const ForeignStream *stream)
{
    if (warc_compression_begins(WARC_GZIP, stream->map, stream->size)) {
        return CODING_GZIP;
    }
    return warc_compression_begins(WARC_ZSTD, stream->map, stream->size) ||
                   is_remark(stream->map, stream->size)
               ? CODING_ZSTD
               : CODING_NONE;
}

static Result begin_coding(ForeignStream *stream)
{
    stream->coding = foreign_stream_coding(stream);
    if (stream->coding == CODING_ZSTD) {
        stream->zstd = ZSTD_createDStream();
        Result rc = stream->zstd == NULL ? RESULT_MEMORY : load_dictionary(stream);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return begin_codec(stream);
}

Result foreign_stream_open(ForeignStream **out, const char *path, uint64_t offset, uint64_t length,
                           size_t limit)
{
    ForeignStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&stream->bytes, limit);
    Result rc = file_map(AT_FDCWD, path, &stream->file, &stream->file_size);
    if (stream->file != NULL) {
        (void)madvise((void *)(uintptr_t)stream->file, (size_t)stream->file_size, MADV_SEQUENTIAL);
    }
    if (rc == RESULT_OK && offset < stream->file_size) {
        uint64_t left = stream->file_size - offset;
        stream->map = stream->file + offset;
        stream->size = length < left ? length : left;
        rc = begin_coding(stream);
    }
    if (rc != RESULT_OK) {
        foreign_stream_close(stream);
        return rc;
    }
    *out = stream;
    return RESULT_OK;
}

void foreign_stream_close(ForeignStream *stream)
{
    if (stream == NULL) {
        return;
    }
    file_unmap(stream->file, stream->file_size);
    if (stream->has_gzip) {
        (void)inflateEnd(&stream->gzip);
    }
    (void)ZSTD_freeDStream(stream->zstd);
    buffer_destroy(&stream->bytes);
    free(stream);
}

/* Without compression this is exact, because `position` runs ahead of what was taken by the bytes
 * that are held. With compression it is where the codec stands, which is enough for a progress
 * bar. */
static uint64_t foreign_stream_position(const ForeignStream *stream)
{
    size_t held = stream->coding == CODING_NONE ? stream->bytes.length - stream->taken : 0;
    return stream->position - held;
}

/* Where the present member begins; without compression as foreign_stream_position. */
static uint64_t foreign_stream_member(const ForeignStream *stream)
{
    return stream->coding == CODING_NONE ? foreign_stream_position(stream) : stream->member;
}

const char *foreign_stream_bytes(const ForeignStream *stream, size_t *length)
{
    *length = stream->bytes.length - stream->taken;
    return buffer_string(&stream->bytes) + stream->taken;
}

void foreign_stream_take(ForeignStream *stream, size_t n)
{
    stream->taken += n;
}

bool foreign_stream_is_at_member_end(const ForeignStream *stream)
{
    return !stream->is_open;
}

/* ---- a step of each coding: up to `room` bytes behind those that are there ---- */

/* A step appends up to `room` bytes to those that are there, and moves `position`. One that neither
 * takes nor gives a byte is damage: broken data can leave a codec in such a state, and the loop
 * around it would never end. A file that is cut within a member ends the same way. */
static Result step_plain(ForeignStream *stream, size_t room)
{
    uint64_t left = stream->size - stream->position;
    size_t n = left < room ? (size_t)left : room;
    if (n > 0) {
        memcpy(stream->bytes.data + stream->bytes.length, stream->map + stream->position, n);
    }
    stream->bytes.length += n;
    stream->position += n;
    stream->is_open = stream->position < stream->size;
    return RESULT_OK;
}

static Result step_gzip(ForeignStream *stream, size_t room)
{
    z_stream *z = &stream->gzip;
    uint64_t left = stream->size - stream->position;
    uInt in = left < INT_MAX ? (uInt)left : INT_MAX;
    z->next_in = (const Bytef *)(stream->map + stream->position);
    z->avail_in = in;
    z->next_out = (Bytef *)stream->bytes.data + stream->bytes.length;
    z->avail_out = (uInt)room;
    /* avail_in is 32 bits wide: of a part beyond INT_MAX bytes zlib is shown a piece at a time. */
    int rc = inflate(z, Z_NO_FLUSH);
    stream->position += in - z->avail_in;
    stream->bytes.length += room - z->avail_out;
    stream->is_open = rc != Z_STREAM_END;
    bool stuck = z->avail_out == room && z->avail_in == in;
    if (rc == Z_MEM_ERROR) {
        return RESULT_MEMORY;
    }
    return rc == Z_STREAM_END || (rc == Z_OK && !stuck) ? RESULT_OK : RESULT_DAMAGED;
}

static Result step_zstd(ForeignStream *stream, size_t room)
{
    ZSTD_inBuffer in = {stream->map + stream->position, (size_t)(stream->size - stream->position),
                        0};
    ZSTD_outBuffer out = {stream->bytes.data + stream->bytes.length, room, 0};
    size_t rc = ZSTD_decompressStream(stream->zstd, &out, &in);
    stream->position += in.pos;
    stream->bytes.length += out.pos;
    stream->is_open = rc != 0;
    bool stuck = in.pos == 0 && out.pos == 0 && rc != 0;
    return ZSTD_isError(rc) != 0 || stuck ? RESULT_DAMAGED : RESULT_OK;
}

/* Gives back the pages of the file that lie behind `position`, which would count as memory of the
 * process (crawl.memory), many at a time. When foreign_stream_skip_member goes back behind
 * `released`, the pages are simply read again. */
static void release_read(ForeignStream *stream)
{
    uint64_t place = (uint64_t)(stream->map - stream->file) + stream->position;
    if (place >= stream->released + RELEASE_BYTES) {
        uint64_t n = (place - stream->released) / RELEASE_BYTES * RELEASE_BYTES;
        (void)madvise((void *)(uintptr_t)(stream->file + stream->released), (size_t)n,
                      MADV_DONTNEED);
        stream->released += n;
    }
}

static Result foreign_stream_step(ForeignStream *stream, size_t room)
{
    if (stream->coding == CODING_GZIP) {
        return step_gzip(stream, room);
    }
    return stream->coding == CODING_ZSTD ? step_zstd(stream, room) : step_plain(stream, room);
}

/* After damage the bytes before it are still there and are counted: callers look at the length
 * first, and at the code only when it is too short. So a record that is whole is read although what
 * follows it is broken. */
Result foreign_stream_fill(ForeignStream *stream, size_t n)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && stream->is_open && stream->bytes.length - stream->taken < n) {
        if (stream->taken > 0) {
            /* Moves what is left to the front. */
            Buffer *bytes = &stream->bytes;
            size_t left = bytes->length - stream->taken;
            if (left == 0) {
                buffer_trim(bytes, KEEP_BYTES);
                buffer_reset(bytes);
            } else {
                memmove(bytes->data, bytes->data + stream->taken, left);
                bytes->length = left;
                bytes->data[left] = '\0';
            }
            stream->taken = 0;
        }
        size_t want = n - stream->bytes.length;
        size_t room = want < STEP_BYTES ? want : STEP_BYTES;
        rc = stream->is_broken ? RESULT_DAMAGED : buffer_reserve(&stream->bytes, room);
        if (rc == RESULT_OK) {
            rc = foreign_stream_step(stream, room);
            stream->bytes.data[stream->bytes.length] = '\0';
            stream->is_broken = rc == RESULT_DAMAGED;
            release_read(stream);
        }
    }
    return rc;
}

Result foreign_stream_next_member(ForeignStream *stream)
{
    if (stream->position >= stream->size) {
        return RESULT_NOT_FOUND;
    }
    return begin_codec(stream);
}

/* Drops all bytes and goes to the next place behind the beginning of the present member where one
 * may begin; *passed: compressed bytes that were passed over. RESULT_NOT_FOUND: there is none. The
 * search begins one byte behind the member's first, not where the codec stopped: a codec reads on
 * for a while after the damage, over the beginning of the next member. Without compression there
 * are no marks, and no other member. */
static Result foreign_stream_skip_member(ForeignStream *stream, uint64_t *passed)
{
    uint64_t at = stream->member + 1;
    stream->bytes.length = 0;
    stream->taken = 0;
    WarcCompression compression = stream->coding == CODING_GZIP ? WARC_GZIP : WARC_ZSTD;
    if (stream->coding == CODING_NONE) {
        at = stream->size;
    }
    while (at < stream->size &&
           !warc_compression_begins(compression, stream->map + at, stream->size - at)) {
        at++;
    }
    *passed = (at < stream->size ? at : stream->size) - stream->member;
    stream->position = at < stream->size ? at : stream->size;
    stream->member = stream->position;
    stream->is_open = false;
    return at < stream->size ? begin_codec(stream) : RESULT_NOT_FOUND;
}

/* ---- Foreign reader ---- */

#define SLACK_BYTES 64 /* blank lines behind a record, and the word that begins the next */

static const char word[] = "WARC/";
#define WORD_LENGTH (sizeof word - 1)

#define ARC_WORD        "filedesc://" /* a file of ARC begins with it */
#define ARC_WORD_LENGTH (sizeof ARC_WORD - 1)

struct ForeignReader {
    ForeignStream *stream;
    size_t max_block;
    uint64_t offset; /* of the present record */
    size_t to_take;  /* bytes of the record that was handed out */
    Buffer head;     /* of a record, copied: folded lines are mended in it */
    bool has_begun;  /* its first record was looked at */
    bool is_arc;     /* that was one of ARC */
    char problem[160];
};

Result foreign_reader_open(ForeignReader **out, const char *path, size_t max_block)
{
    ForeignReader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return RESULT_MEMORY;
    }
    reader->max_block = max_block;
    buffer_init(&reader->head, FOREIGN_HEAD_BYTES);
    /* The limit holds the largest record that is accepted, its header and the look behind it. What
     * asks for more is RESULT_LIMIT, which foreign_reader_told makes "too long". */
    Result rc = foreign_stream_open(&reader->stream, path, 0, UINT64_MAX,
                                    max_block + FOREIGN_HEAD_BYTES + 2 * (size_t)SLACK_BYTES);
    if (rc != RESULT_OK) {
        foreign_reader_close(reader);
        return rc;
    }
    *out = reader;
    return RESULT_OK;
}

void foreign_reader_close(ForeignReader *reader)
{
    if (reader != NULL) {
        foreign_stream_close(reader->stream);
        buffer_destroy(&reader->head);
        free(reader);
    }
}

uint64_t foreign_reader_size(const ForeignReader *reader)
{
    return reader->stream->size;
}

uint64_t foreign_reader_position(const ForeignReader *reader)
{
    return foreign_stream_position(reader->stream);
}

const char *foreign_reader_problem(const ForeignReader *reader)
{
    return reader->problem;
}

static Result foreign_reader_damaged(ForeignReader *reader, const char *what)
{
    (void)snprintf(reader->problem, sizeof reader->problem, "offset %" PRIu64 ": %s",
                   reader->offset, what);
    return RESULT_DAMAGED;
}

/* A stream's codes as those of a record: what is broken or too long in one record is damage of that
 * record, which foreign_reader_pass can leave behind. Only memory and I/O end the reading. */
static Result foreign_reader_told(ForeignReader *reader, Result rc)
{
    if (rc == RESULT_DAMAGED) {
        return foreign_reader_damaged(reader, "its compression is broken, or it is cut");
    }
    return rc == RESULT_LIMIT ? foreign_reader_damaged(reader, "too long") : rc;
}

/* ---- where a record begins ---- */

static bool foreign_reader_begins_record(const char *bytes, size_t length)
{
    return length >= WORD_LENGTH && memcmp(bytes, word, WORD_LENGTH) == 0;
}

/* Passes over blank lines, and over the ends of members. RESULT_NOT_FOUND: the file ends. An empty
 * member, and one of blank lines only, is no record and no damage. Damage is reported here only
 * when no byte of a record came before it. */
static Result find_start(ForeignReader *reader)
{
    for (;;) {
        size_t length = 0;
        Result rc = foreign_stream_fill(reader->stream, SLACK_BYTES);
        const char *bytes = foreign_stream_bytes(reader->stream, &length);
        size_t blank = 0;
        while (blank < length && (bytes[blank] == '\r' || bytes[blank] == '\n')) {
            blank++;
        }
        foreign_stream_take(reader->stream, blank);
        if (length > blank) {
            return RESULT_OK; /* damage that comes behind is the record's */
        }
        if (rc != RESULT_OK) {
            reader->offset = foreign_stream_member(reader->stream);
            return foreign_reader_told(reader, rc);
        }
        if (foreign_stream_is_at_member_end(reader->stream)) {
            rc = foreign_stream_next_member(reader->stream);
            if (rc != RESULT_OK) {
                return rc;
            }
        }
    }
}

/* Makes n bytes of the present record be there. *cut: it ends before, at the end of the file or
 * where the next one begins. A record may be cut into members by its writer, so the end of a member
 * is not that of the record unless the next member begins with a record of its own. */
static Result need(ForeignReader *reader, size_t n, bool *cut)
{
    size_t length = 0;
    Result rc = foreign_stream_fill(reader->stream, n);
    (void)foreign_stream_bytes(reader->stream, &length);
    *cut = false;
    while (rc == RESULT_OK && length < n && !*cut) {
        /* A record of ARC has no mark by which one would know the next, so its member is where it
         * ends. */
        rc = reader->is_arc ? RESULT_NOT_FOUND : foreign_stream_next_member(reader->stream);
        if (rc == RESULT_NOT_FOUND) {
            *cut = true;
            return RESULT_OK;
        }
        size_t before = length;
        if (rc == RESULT_OK) {
            rc = foreign_stream_fill(reader->stream, before + WORD_LENGTH);
        }
        const char *bytes = foreign_stream_bytes(reader->stream, &length);
        if (rc == RESULT_OK && foreign_reader_begins_record(bytes + before, length - before)) {
            foreign_stream_take(reader->stream, before); /* the next record stays */
            *cut = true;
            return RESULT_OK;
        }
        if (rc == RESULT_OK) {
            rc = foreign_stream_fill(reader->stream, n);
        }
        (void)foreign_stream_bytes(reader->stream, &length);
    }
    return rc;
}

/* ---- the header ---- */

/* The length of the header with its empty line; 0: it does not end here. *cut: it does not end at
 * all, for the next record begins in it; NULL: no record can (an HTTP header may hold a line
 * "WARC/"). The end of a line alone is enough, as in files that an editor has touched. */
static size_t head_length(const char *bytes, size_t length, bool *cut)
{
    for (size_t at = 0; at < length;) {
        if (cut != NULL && at > 0 && foreign_reader_begins_record(bytes + at, length - at)) {
            *cut = true;
            return 0;
        }
        const char *lf = memchr(bytes + at, '\n', length - at);
        if (lf == NULL) {
            return 0;
        }
        size_t line = (size_t)(lf - bytes) - at;
        bool empty = line == 0 || (line == 1 && bytes[at] == '\r');
        at += line + 1;
        if (empty) {
            return at;
        }
    }
    return 0;
}

static Result find_head(ForeignReader *reader, size_t *head)
{
    size_t wanted = 1024;
    bool cut = false;
    *head = 0;
    while (*head == 0) {
        size_t length = 0;
        Result rc = foreign_stream_fill(reader->stream, wanted);
        const char *bytes = foreign_stream_bytes(reader->stream, &length);
        *head = head_length(bytes, length < FOREIGN_HEAD_BYTES ? length : FOREIGN_HEAD_BYTES, &cut);
        if (*head > 0) {
            return RESULT_OK;
        }
        if (cut) {
            return foreign_reader_damaged(reader, "it is cut in its header");
        }
        if (length >= FOREIGN_HEAD_BYTES) {
            return foreign_reader_damaged(reader, "its header does not end");
        }
        if (rc == RESULT_OK) {
            rc = need(reader, length + 1, &cut);
        }
        if (rc != RESULT_OK || cut) {
            return rc != RESULT_OK ? foreign_reader_told(reader, rc)
                                   : foreign_reader_damaged(reader, "it is cut in its header");
        }
        wanted = 2 * length;
    }
    return RESULT_OK;
}

static void foreign_reader_read_fields(const Buffer *head, ForeignRecord *record)
{
    WarcBytes text = warc_bytes(head->data, head->length);
    WarcBytes line;
    (void)warc_bytes_next_line(&text, &line); /* the version */
    while (record->n_fields < FOREIGN_MAX_FIELDS && warc_bytes_next_line(&text, &line)) {
        record->n_fields += warc_field_split(line, &record->fields[record->n_fields]);
    }
}

bool foreign_record_field(const ForeignRecord *record, const char *name, WarcBytes *value)
{
    return warc_fields_find(record->fields, record->n_fields, name, value);
}

static Result foreign_reader_read_head(ForeignReader *reader, ForeignRecord *record, size_t length,
                                       uint64_t *block)
{
    size_t there = 0;
    const char *bytes = foreign_stream_bytes(reader->stream, &there);
    WarcBytes value;
    buffer_reset(&reader->head);
    Result rc = buffer_append(&reader->head, bytes, length);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* Folded lines become one: their ends and indents become blanks. */
    for (size_t i = 0; i + 1 < reader->head.length; i++) {
        bool folded = reader->head.data[i] == '\n' &&
                      (reader->head.data[i + 1] == ' ' || reader->head.data[i + 1] == '\t');
        if (folded) {
            reader->head.data[i] = ' ';
            if (i > 0 && reader->head.data[i - 1] == '\r') {
                reader->head.data[i - 1] = ' ';
            }
        }
    }
    foreign_reader_read_fields(&reader->head, record);
    if (foreign_record_field(record, "warc-type", &value)) {
        record->type = warc_type_of(value);
    }
    if (foreign_record_field(record, "warc-target-uri", &value)) {
        bool brackets =
            value.length >= 2 && value.bytes[0] == '<' && value.bytes[value.length - 1] == '>';
        record->uri = brackets ? warc_bytes(value.bytes + 1, value.length - 2) : value;
    }
    if (foreign_record_field(record, "warc-date", &value)) {
        (void)warc_date_parse(value, &record->date);
    }
    if (!foreign_record_field(record, "content-length", &value) ||
        !warc_bytes_number(value, UINT64_MAX, block)) {
        return foreign_reader_damaged(reader, "no Content-Length, or a bad one");
    }
    return RESULT_OK;
}

/* ---- the record ---- */

/* What follows the block must be the end of the file, or blank lines and a record. A wrong
 * Content-Length would otherwise hand out half a record, or one and a half, as a page; such a
 * record is refused and the search for the next one begins in it. An ARC has no mark to look
 * for. */
static Result foreign_reader_check_end(ForeignReader *reader, size_t total)
{
    size_t length = 0;
    Result rc = foreign_stream_fill(reader->stream, total + SLACK_BYTES);
    const char *bytes = foreign_stream_bytes(reader->stream, &length);
    size_t at = total;
    while (at < length && (bytes[at] == '\r' || bytes[at] == '\n')) {
        at++;
    }
    size_t n = length - at < WORD_LENGTH ? length - at : WORD_LENGTH;
    if (!reader->is_arc && memcmp(bytes + at, word, n) != 0) {
        return foreign_reader_damaged(reader, "its Content-Length does not fit");
    }
    return rc == RESULT_MEMORY ? rc : RESULT_OK; /* damage behind it is not its own */
}

/* ---- ARC: a line "URL IP-address date content-type length", and as many bytes ---- */

/* Takes the last word of a line. ARC lines are read from behind, because URLs of old crawls hold
 * blanks and the fields behind the URL do not. */
static WarcBytes take_last_word(WarcBytes *line)
{
    size_t end = line->length;
    while (line->length > 0 && line->bytes[line->length - 1] != ' ') {
        line->length--;
    }
    WarcBytes last = warc_bytes(line->bytes + line->length, end - line->length);
    line->length -= line->length > 0 ? 1 : 0;
    return last;
}

static Result read_arc_line(ForeignReader *reader, ForeignRecord *record, uint64_t *block)
{
    WarcBytes line = warc_bytes(reader->head.data, reader->head.length - 1);
    uint64_t digits = 0;
    bool is_length = warc_bytes_number(take_last_word(&line), UINT64_MAX, block);
    (void)take_last_word(&line); /* the content type, which the block says, too */
    WarcBytes date = take_last_word(&line);
    WarcBytes ip = take_last_word(&line);
    if (!is_length || date.length != 14 || !warc_bytes_number(date, UINT64_MAX, &digits) ||
        !warc_date_of_timestamp(date, &record->date) || line.length == 0) {
        return foreign_reader_damaged(reader, "no ARC record");
    }
    record->uri = line;
    /* The first record of a file is "filedesc://", and "dns:" ones come between: neither is an
     * answer of HTTP. A response gets its address as a field, so that a reader of records need not
     * know of ARC. */
    bool is_web = line.length > 4 && memcmp(line.bytes, "http", 4) == 0;
    record->type = is_web ? WARC_RESPONSE : WARC_METADATA;
    record->fields[record->n_fields++] =
        (WarcField){.name = warc_bytes("WARC-IP-Address", 15), .value = ip};
    return RESULT_OK;
}

static Result find_arc_line(ForeignReader *reader, ForeignRecord *record, size_t *head,
                            uint64_t *block)
{
    size_t length = 0;
    Result rc = foreign_stream_fill(reader->stream, FOREIGN_HEAD_BYTES);
    const char *bytes = foreign_stream_bytes(reader->stream, &length);
    const char *lf = memchr(bytes, '\n', length);
    if (lf == NULL) {
        return rc == RESULT_OK ? foreign_reader_damaged(reader, "its header does not end")
                               : foreign_reader_told(reader, rc);
    }
    *head = (size_t)(lf - bytes) + 1;
    buffer_reset(&reader->head);
    rc = buffer_append(&reader->head, bytes, *head);
    return rc == RESULT_OK ? read_arc_line(reader, record, block) : rc;
}

Result foreign_reader_next(ForeignReader *reader, ForeignRecord *record)
{
    size_t head = 0;
    size_t length = 0;
    uint64_t block = 0;
    bool cut = false;
    record->type = WARC_TYPES;
    record->uri = warc_bytes("", 0);
    record->date = (WallTime){0};
    record->n_fields = 0;
    /* The record before was borrowed until now. What failed took nothing, so that
     * foreign_reader_pass searches the record itself, too. */
    foreign_stream_take(reader->stream, reader->to_take);
    reader->to_take = 0;
    Result rc = find_start(reader);
    if (rc != RESULT_OK) {
        return rc;
    }
    reader->offset = foreign_stream_member(reader->stream);
    record->offset = reader->offset;
    const char *bytes = foreign_stream_bytes(reader->stream, &length);
    reader->is_arc = reader->is_arc || (!reader->has_begun && length > ARC_WORD_LENGTH &&
                                        memcmp(bytes, ARC_WORD, ARC_WORD_LENGTH) == 0);
    reader->has_begun = true;
    if (reader->is_arc) {
        rc = find_arc_line(reader, record, &head, &block);
    } else if (!foreign_reader_begins_record(bytes, length)) {
        return foreign_reader_damaged(reader, "no WARC record");
    } else {
        rc = find_head(reader, &head);
        if (rc == RESULT_OK) {
            rc = foreign_reader_read_head(reader, record, head, &block);
        }
    }
    if (rc == RESULT_OK && block > reader->max_block) {
        return foreign_reader_damaged(reader, "longer than a record may be");
    }
    if (rc == RESULT_OK) {
        rc = foreign_reader_told(reader, need(reader, head + (size_t)block, &cut));
    }
    if (rc == RESULT_OK && cut) {
        return foreign_reader_damaged(reader, "it is cut");
    }
    if (rc == RESULT_OK) {
        rc = foreign_reader_check_end(reader, head + (size_t)block);
    }
    if (rc == RESULT_OK) {
        bytes = foreign_stream_bytes(reader->stream, &length);
        record->block = warc_bytes(bytes + head, (size_t)block);
        reader->to_take = head + (size_t)block;
    }
    return rc;
}

/* Looks for "\nWARC/" behind the first byte of what is there: the record that failed begins with
 * the word itself. Without a find all but the last six bytes go, in which the word may have
 * begun. */
static bool find_word(ForeignReader *reader)
{
    size_t length = 0;
    const char *bytes = foreign_stream_bytes(reader->stream, &length);
    const char *found = length < 2 ? NULL : memmem(bytes + 1, length - 1, "\nWARC/", 6);
    if (found != NULL) {
        foreign_stream_take(reader->stream, (size_t)(found - bytes) + 1);
    } else if (length > WORD_LENGTH + 1) {
        foreign_stream_take(reader->stream, length - WORD_LENGTH - 1);
    }
    return found != NULL;
}

/* Where reading goes on after damage, the first of these: the record of the next member, if `need`
 * has met it; behind the next "\nWARC/" of this member; the next member, when it begins with a
 * record; the next place in the file that looks like the beginning of a member. Each turn of the
 * loop takes bytes or leaves a member behind, so it ends however the file is broken. */
Result foreign_reader_pass(ForeignReader *reader)
{
    size_t length = 0;
    const char *bytes = foreign_stream_bytes(reader->stream, &length);
    uint64_t passed = 0;
    reader->to_take = 0;
    if (reader->is_arc) {
        /* No word tells where a record of ARC begins: the next one is that of the next member. */
        return foreign_stream_skip_member(reader->stream, &passed);
    }
    if (foreign_reader_begins_record(bytes, length) &&
        reader->offset != foreign_stream_member(reader->stream)) {
        return RESULT_OK; /* the next member's record is there already */
    }
    while (!find_word(reader)) {
        size_t before = 0;
        passed = 0;
        (void)foreign_stream_bytes(reader->stream, &before);
        Result rc = foreign_stream_fill(reader->stream, before + 65536);
        (void)foreign_stream_bytes(reader->stream, &length);
        if (rc == RESULT_MEMORY) {
            return rc;
        }
        if (rc != RESULT_OK) {
            rc = foreign_stream_skip_member(reader->stream, &passed);
        } else if (length == before && foreign_stream_is_at_member_end(reader->stream)) {
            foreign_stream_take(reader->stream, length);
            rc = foreign_stream_next_member(reader->stream);
            passed = 1;
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        rc = passed > 0 ? foreign_stream_fill(reader->stream, WORD_LENGTH) : RESULT_OK;
        bytes = foreign_stream_bytes(reader->stream, &length);
        /* A place that looks like the beginning of a member (two bytes for gzip) is often none. It
         * counts only when a record comes out of it; otherwise the search goes on inside. */
        if (passed > 0 && rc == RESULT_OK && foreign_reader_begins_record(bytes, length)) {
            return RESULT_OK;
        }
    }
    return RESULT_OK;
}

/* ---- Foreign http ---- */

/* "HTTP/1.1 200 OK": the status; 0: it is none. */
static unsigned foreign_http_status_of(WarcBytes header)
{
    static const char http[] = "HTTP/";
    uint64_t status = 0;
    if (header.length < sizeof http || strncasecmp(header.bytes, http, sizeof http - 1) != 0) {
        return 0;
    }
    const char *blank = memchr(header.bytes, ' ', header.length);
    size_t left = blank == NULL ? 0 : header.length - (size_t)(blank - header.bytes);
    if (left < 4 || !warc_bytes_number(warc_bytes(blank + 1, 3), 999, &status)) {
        return 0;
    }
    return status < 100 ? 0 : (unsigned)status;
}

static bool says_chunked(WarcBytes header)
{
    HttpHeader fields;
    HttpField field;
    return http_header_parse(&fields, header.bytes, header.length) == RESULT_OK &&
           http_header_find(&fields, "Transfer-Encoding", &field) && field.value_length >= 7 &&
           strncasecmp(field.value + field.value_length - 7, "chunked", 7) == 0;
}

Result foreign_http_read(WarcBytes block, Buffer *chunks, ForeignAnswer *answer)
{
    size_t length = head_length(block.bytes, block.length, NULL);
    *answer = (ForeignAnswer){.header = warc_bytes(block.bytes, length)};
    answer->status = foreign_http_status_of(answer->header);
    if (length == 0 || answer->status == 0) {
        return RESULT_INVALID;
    }
    answer->is_10 = strncasecmp(block.bytes, "HTTP/1.0", 8) == 0;
    answer->stored = warc_bytes(block.bytes + length, block.length - length);
    answer->body = answer->stored;
    if (!says_chunked(answer->header) || answer->stored.length == 0) {
        return RESULT_OK;
    }
    buffer_reset(chunks);
    DecodeStatus status = decode_chunked(answer->stored.bytes, answer->stored.length, chunks);
    if (status == DECODE_MEMORY) {
        return RESULT_MEMORY;
    }
    if (status == DECODE_OK || chunks->length > 0) { /* or it only says that it is chunked */
        answer->is_cut = status != DECODE_OK;
        answer->body = warc_bytes(buffer_string(chunks), chunks->length);
    }
    return RESULT_OK;
}
