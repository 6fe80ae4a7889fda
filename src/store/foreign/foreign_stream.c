#define ZLIB_CONST 1 /* what is read stays const */
#include "store/foreign/foreign_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define STEP_BYTES  ((size_t)64 << 10)
#define KEEP_BYTES  ((size_t)4 << 20)
#define GZIP_WINDOW 31 /* of zlib: gzip members, the largest window */

typedef enum ForeignCoding { CODING_NONE, CODING_GZIP, CODING_ZSTD } ForeignCoding;

struct ForeignStream {
    const char *map; /* NULL when the file is empty */
    uint64_t size;
    uint64_t position; /* the next compressed byte */
    uint64_t member;   /* where the present member begins */
    ForeignCoding coding;
    bool is_open;   /* the present member has not ended */
    bool is_broken; /* it cannot be decompressed further: a codec is not asked twice */
    z_stream gzip;
    bool has_gzip;
    ZSTD_DStream *zstd;
    Buffer bytes; /* decompressed; the first `taken` are gone */
    size_t taken;
};

static Result foreign_stream_map_file(ForeignStream *stream, const char *path)
{
    struct stat info = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = fstat(fd, &info) == 0 ? RESULT_OK : result_of_errno(errno);
    if (rc == RESULT_OK && !S_ISREG(info.st_mode)) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK && info.st_size > 0) {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            rc = result_of_errno(errno);
        } else {
            (void)madvise(map, (size_t)info.st_size, MADV_SEQUENTIAL);
            stream->map = map;
            stream->size = (uint64_t)info.st_size;
        }
    }
    (void)close(fd);
    return rc;
}

static bool foreign_stream_is_magic(ForeignCoding coding, const char *p, uint64_t left)
{
    static const char gzip[] = {'\x1f', '\x8b', 8};
    static const char zstd[] = {'\x28', '\xb5', '\x2f', '\xfd'};
    return coding == CODING_GZIP   ? left >= sizeof gzip && memcmp(p, gzip, sizeof gzip) == 0
           : coding == CODING_ZSTD ? left >= sizeof zstd && memcmp(p, zstd, sizeof zstd) == 0
                                   : false;
}

/* A skippable frame of Zstandard: a dictionary or another remark. */
static bool is_remark(const char *p, uint64_t left)
{
    return left >= 4 && (p[0] & '\xf0') == 0x50 && memcmp(p + 1, "\x2a\x4d\x18", 3) == 0;
}

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
        stream->zstd = stream->zstd == NULL ? ZSTD_createDStream() : stream->zstd;
        return stream->zstd == NULL || ZSTD_isError(ZSTD_initDStream(stream->zstd)) != 0
                   ? RESULT_MEMORY
                   : RESULT_OK;
    }
    return RESULT_OK;
}

Result foreign_stream_open(ForeignStream **out, const char *path, size_t limit)
{
    ForeignStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&stream->bytes, limit);
    Result rc = foreign_stream_map_file(stream, path);
    if (rc == RESULT_OK && stream->size > 0) {
        stream->coding = foreign_stream_is_magic(CODING_GZIP, stream->map, stream->size)
                             ? CODING_GZIP
                         : foreign_stream_is_magic(CODING_ZSTD, stream->map, stream->size) ||
                                 is_remark(stream->map, stream->size)
                             ? CODING_ZSTD
                             : CODING_NONE;
        rc = begin_codec(stream);
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
    if (stream->map != NULL) {
        /* munmap wants a pointer to what may change; the bytes were only read. */
        (void)munmap((void *)(uintptr_t)stream->map, (size_t)stream->size);
    }
    if (stream->has_gzip) {
        (void)inflateEnd(&stream->gzip);
    }
    (void)ZSTD_freeDStream(stream->zstd);
    buffer_destroy(&stream->bytes);
    free(stream);
}

uint64_t foreign_stream_size(const ForeignStream *stream)
{
    return stream->size;
}

uint64_t foreign_stream_position(const ForeignStream *stream)
{
    size_t held = stream->coding == CODING_NONE ? stream->bytes.length - stream->taken : 0;
    return stream->position - held;
}

uint64_t foreign_stream_member(const ForeignStream *stream)
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

/* Moves what is left to the front. */
static void foreign_stream_compact(ForeignStream *stream)
{
    Buffer *bytes = &stream->bytes;
    size_t left = bytes->length - stream->taken;
    if (left == 0) {
        buffer_trim(bytes, KEEP_BYTES);
        buffer_reset(bytes);
    } else if (stream->taken > 0) {
        memmove(bytes->data, bytes->data + stream->taken, left);
        bytes->length = left;
        bytes->data[left] = '\0';
    }
    stream->taken = 0;
}

/* ---- a step of each coding: up to `room` bytes behind those that are there ---- */

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
    int rc = inflate(z, Z_NO_FLUSH);
    stream->position += in - z->avail_in;
    stream->bytes.length += room - z->avail_out;
    stream->is_open = rc != Z_STREAM_END;
    bool stuck = z->avail_out == room && z->avail_in == in;
    return rc == Z_MEM_ERROR                              ? RESULT_MEMORY
           : rc == Z_STREAM_END || (rc == Z_OK && !stuck) ? RESULT_OK
                                                          : RESULT_DAMAGED;
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

Result foreign_stream_fill(ForeignStream *stream, size_t n)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && stream->is_open && stream->bytes.length - stream->taken < n) {
        if (stream->taken > 0) {
            foreign_stream_compact(stream);
        }
        size_t want = n - stream->bytes.length;
        size_t room = want < STEP_BYTES ? want : STEP_BYTES;
        rc = stream->is_broken ? RESULT_DAMAGED : buffer_reserve(&stream->bytes, room);
        if (rc == RESULT_OK) {
            rc = stream->coding == CODING_GZIP   ? step_gzip(stream, room)
                 : stream->coding == CODING_ZSTD ? step_zstd(stream, room)
                                                 : step_plain(stream, room);
            stream->bytes.data[stream->bytes.length] = '\0';
            stream->is_broken = rc == RESULT_DAMAGED;
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

Result foreign_stream_skip_member(ForeignStream *stream, uint64_t *passed)
{
    uint64_t at = stream->member + 1;
    stream->bytes.length = 0;
    stream->taken = 0;
    if (stream->coding == CODING_NONE) {
        at = stream->size;
    }
    while (at < stream->size &&
           !foreign_stream_is_magic(stream->coding, stream->map + at, stream->size - at)) {
        at++;
    }
    *passed = (at < stream->size ? at : stream->size) - stream->member;
    stream->position = at < stream->size ? at : stream->size;
    stream->member = stream->position;
    stream->is_open = false;
    return at < stream->size ? begin_codec(stream) : RESULT_NOT_FOUND;
}
