#include "logs/log_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory/array.h"
#include "base/memory/file.h"

#define BLOCK_BYTES ((size_t)1 << 18) /* read at once */
#define LINE_LIMIT  ((size_t)1 << 20) /* a longer line is passed over */

typedef struct LogFile {
    char *name;      /* owned, without the directory */
    long long order; /* oldest first */
} LogFile;

/* One file, being read: plain, or through gz or zst. */
typedef struct Source {
    int fd;
    gzFile gz; /* owns a descriptor of its own */
    ZSTD_DStream *zst;
    char *packed; /* BLOCK_BYTES, input of zst */
    ZSTD_inBuffer in;
    bool frame_open; /* of zst: the end of a frame has not come */
} Source;

struct LogReader {
    char *directory; /* owned */
    LogFile *files;
    size_t n_files;
    unsigned next_file;
    Source source;
    bool is_open;
    char *block; /* LINE_LIMIT + BLOCK_BYTES */
    size_t start;
    size_t end;
    bool skipping; /* the rest of a line that is too long */
    bool is_cut;   /* lines before the first one were left out */
    uint64_t line;
    Buffer problem;
};

/* ---- which files ---- */

/* The rank of "BASE.2.gz" or "BASE-20260131": dates are older than numbers, BASE itself comes last.
 * false: it is something else. */
static bool log_reader_rank_of(const char *name, const char *base, long long *order)
{
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0) {
        return false;
    }
    const char *rest = name + n;
    if (*rest == '\0') {
        *order = INT64_MAX;
        return true;
    }
    char mark = *rest++;
    char *end = NULL;
    errno = 0;
    unsigned long long number =
        *rest >= '0' && *rest <= '9' ? strtoull(rest, &end, 10) : ULLONG_MAX;
    if ((mark != '.' && mark != '-') || end == NULL || errno != 0 || number > INT64_MAX / 2 ||
        (*end != '\0' && strcmp(end, ".gz") != 0 && strcmp(end, ".zst") != 0)) {
        return false;
    }
    *order =
        mark == '-' ? (long long)number - INT64_MAX / 2 - 1 : INT64_MAX - 1 - (long long)number;
    return true;
}

static int by_order(const void *a, const void *b)
{
    const LogFile *x = a;
    const LogFile *y = b;
    int order = (x->order > y->order) - (x->order < y->order);
    return order != 0 ? order : strcmp(x->name, y->name);
}

static Result log_reader_add_file(LogReader *reader, const char *name, long long order)
{
    LogFile file = {.name = strdup(name), .order = order};
    if (file.name == NULL ||
        array_add(&reader->files, &reader->n_files, sizeof file, &file) != RESULT_OK) {
        free(file.name);
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

static Result log_reader_list_files(LogReader *reader, const char *base)
{
    DIR *directory = opendir(reader->directory);
    Result rc = directory == NULL ? result_of_errno(errno) : RESULT_OK;
    struct dirent *entry = NULL;
    while (directory != NULL && rc == RESULT_OK && (entry = readdir(directory)) != NULL) {
        long long order = 0;
        if (log_reader_rank_of(entry->d_name, base, &order)) {
            rc = log_reader_add_file(reader, entry->d_name, order);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    if (rc == RESULT_OK && reader->n_files == 0) {
        errno = ENOENT;
        return RESULT_NOT_FOUND;
    }
    for (size_t i = 0; rc == RESULT_OK && i < reader->n_files; i++) {
        Path path;
        (void)file_path(&path, "%s%s", reader->directory, reader->files[i].name);
        if (access(path.text, R_OK) != 0 && errno != ENOENT) { /* else it was rotated meanwhile */
            return result_of_errno(errno);
        }
    }
    if (rc == RESULT_OK) {
        qsort(reader->files, reader->n_files, sizeof *reader->files, by_order);
    }
    return rc;
}

/* ---- one file ---- */

static void close_source(Source *source)
{
    if (source->gz != NULL) {
        (void)gzclose_r(source->gz);
    }
    file_close_fd(source->fd);
    (void)ZSTD_freeDStream(source->zst);
    free(source->packed);
    *source = (Source){.fd = -1};
}

static Result open_source(Source *source, const char *path)
{
    *source = (Source){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (source->fd < 0) {
        return result_of_errno(errno);
    }
    if (file_name_ends_with(path, ".gz")) {
        source->gz = gzdopen(source->fd, "rb");
        if (source->gz == NULL) {
            close_source(source);
            return RESULT_MEMORY;
        }
        source->fd = -1; /* it is the gzFile's */
        (void)gzbuffer(source->gz, (unsigned)BLOCK_BYTES);
    } else if (file_name_ends_with(path, ".zst")) {
        source->zst = ZSTD_createDStream();
        source->packed = malloc(BLOCK_BYTES);
        if (source->zst == NULL || source->packed == NULL) {
            close_source(source);
            return RESULT_MEMORY;
        }
        source->in = (ZSTD_inBuffer){.src = source->packed};
    }
    return RESULT_OK;
}

/* 0 at the end, -1 on an error, as read(2). */
static ssize_t read_retry(int fd, char *out, size_t room)
{
    ssize_t n = 0;
    do {
        n = read(fd, out, room);
    } while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t read_zst(Source *source, char *out, size_t room)
{
    ZSTD_outBuffer to = {.dst = out, .size = room};
    while (to.pos == 0) {
        if (source->in.pos == source->in.size) {
            ssize_t n = read_retry(source->fd, source->packed, BLOCK_BYTES);
            if (n <= 0) {
                errno = n == 0 && source->frame_open ? EBADMSG : errno;
                return n == 0 && source->frame_open ? -1 : n;
            }
            source->in.size = (size_t)n;
            source->in.pos = 0;
        }
        size_t left = ZSTD_decompressStream(source->zst, &to, &source->in);
        if (ZSTD_isError(left) != 0) {
            errno = EBADMSG;
            return -1;
        }
        source->frame_open = left != 0;
    }
    return (ssize_t)to.pos;
}

static ssize_t read_source(Source *source, char *out, size_t room)
{
    if (source->gz != NULL) {
        int n = gzread(source->gz, out, (unsigned)room);
        int code = Z_OK;
        if (n == 0) { /* the end, or the end too soon */
            (void)gzerror(source->gz, &code);
        }
        errno = n < 0 || code == Z_BUF_ERROR ? EBADMSG : errno;
        return n < 0 || code == Z_BUF_ERROR ? -1 : n;
    }
    return source->zst != NULL ? read_zst(source, out, room) : read_retry(source->fd, out, room);
}

/* ---- lines ---- */

static void note_problem(LogReader *reader, const char *name)
{
    if (reader->problem.length == 0) {
        (void)buffer_printf(
            &reader->problem, "%s%s cannot be read to its end: %s", reader->directory, name,
            errno == EBADMSG ? "its compression is damaged or cut off" : strerror(errno));
    }
}

static bool open_next(LogReader *reader)
{
    while (!reader->is_open && reader->next_file < reader->n_files) {
        const char *name = reader->files[reader->next_file++].name;
        Path path;
        (void)file_path(&path, "%s%s", reader->directory, name);
        reader->is_open = open_source(&reader->source, path.text) == RESULT_OK;
        if (!reader->is_open) {
            note_problem(reader, name);
        }
        reader->start = 0;
        reader->end = 0;
        reader->line = 0;
        reader->skipping = false;
    }
    return reader->is_open;
}

/* What stands before the next line end. false: there is none in the block. */
static bool log_reader_take_line(LogReader *reader, size_t searched, const char **line,
                                 size_t *length)
{
    char *from = reader->block + reader->start;
    char *newline = memchr(from + searched, '\n', reader->end - reader->start - searched);
    if (newline == NULL) {
        return false;
    }
    *line = from;
    *length = (size_t)(newline - from);
    reader->start += *length + 1;
    reader->line++;
    return true;
}

bool log_reader_next(LogReader *reader, const char **line, size_t *length)
{
    while (open_next(reader)) {
        size_t searched = 0;
        bool has_more = true;
        while (has_more) {
            if (log_reader_take_line(reader, searched, line, length)) {
                if (!reader->skipping) {
                    return true;
                }
                reader->skipping = false; /* that was the rest of a long one */
                searched = 0;
            } else {
                searched = reader->end - reader->start;
                /* Reads on behind what is there. false: the file has ended. */
                if (reader->start > 0) {
                    memmove(reader->block, reader->block + reader->start,
                            reader->end - reader->start);
                    reader->end -= reader->start;
                    reader->start = 0;
                }
                if (reader->end >= LINE_LIMIT) {
                    reader->skipping = true;
                    reader->end = 0;
                }
                ssize_t n = read_source(&reader->source, reader->block + reader->end, BLOCK_BYTES);
                if (n < 0) {
                    note_problem(reader, reader->files[reader->next_file - 1].name);
                }
                reader->end += n > 0 ? (size_t)n : 0;
                has_more = n > 0;
                searched = reader->skipping && reader->end < searched ? 0 : searched;
            }
        }
        /* The last line of a predecessor counts without its end; that of the log is being written.
         */
        bool is_last = reader->next_file == reader->n_files;
        bool has_rest = reader->end > reader->start && !reader->skipping && !is_last;
        *line = reader->block + reader->start;
        *length = reader->end - reader->start;
        close_source(&reader->source);
        reader->is_open = false;
        if (has_rest) {
            reader->line++;
            return true;
        }
    }
    return false;
}

/* ---- the reader ---- */

Result log_reader_open(LogReader **out, const char *path)
{
    LogReader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return RESULT_MEMORY;
    }
    const char *slash = strrchr(path, '/');
    reader->source.fd = -1;
    buffer_init(&reader->problem, 4096);
    reader->directory = slash == NULL ? strdup("./") : strndup(path, (size_t)(slash - path) + 1);
    reader->block = malloc(LINE_LIMIT + BLOCK_BYTES);
    Result rc = reader->directory == NULL || reader->block == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = log_reader_list_files(reader, slash == NULL ? path : slash + 1);
    }
    if (rc != RESULT_OK) {
        int code = errno;
        log_reader_close(reader);
        errno = code;
        return rc;
    }
    *out = reader;
    return RESULT_OK;
}

/* Leaves nothing but the log itself, which is the last file. */
static void forget_predecessors(LogReader *reader)
{
    size_t last = reader->n_files - 1;
    for (unsigned i = 0; i < last; i++) {
        free(reader->files[i].name);
    }
    reader->files[0] = reader->files[last];
    reader->n_files = 1;
}

Result log_reader_open_tail(LogReader **reader, const char *path, size_t bytes)
{
    Result rc = log_reader_open(reader, path);
    if (rc != RESULT_OK) {
        return rc;
    }
    (*reader)->is_cut = (*reader)->n_files > 1;
    forget_predecessors(*reader);
    if (open_next(*reader) && (*reader)->source.gz == NULL && (*reader)->source.zst == NULL) {
        off_t size = lseek((*reader)->source.fd, 0, SEEK_END);
        off_t from = size > 0 && (uint64_t)size > bytes ? size - (off_t)bytes : 0;
        (*reader)->skipping = from > 0; /* the line that is cut */
        (*reader)->is_cut = (*reader)->is_cut || from > 0;
        (void)lseek((*reader)->source.fd, from, SEEK_SET);
    }
    return RESULT_OK;
}

void log_reader_close(LogReader *reader)
{
    if (reader == NULL) {
        return;
    }
    close_source(&reader->source);
    for (unsigned i = 0; i < reader->n_files; i++) {
        free(reader->files[i].name);
    }
    free(reader->files);
    free(reader->block);
    free(reader->directory);
    buffer_destroy(&reader->problem);
    free(reader);
}

bool log_reader_is_cut(const LogReader *reader)
{
    return reader->is_cut;
}

unsigned log_reader_file(const LogReader *reader)
{
    return reader->next_file == 0 ? 0 : reader->next_file - 1;
}

uint64_t log_reader_line(const LogReader *reader)
{
    return reader->line;
}

const char *log_reader_name(const LogReader *reader, unsigned file)
{
    return file < reader->n_files ? reader->files[file].name : "?";
}

const char *log_reader_problem(const LogReader *reader)
{
    return reader->problem.length == 0 ? NULL : buffer_string(&reader->problem);
}

static void log_reader_miss(Buffer *problem, const char *what, const char *why)
{
    if (problem != NULL) {
        (void)buffer_printf(problem, "%s%s%s", problem->length > 0 ? "; " : "", what, why);
    }
}

Result log_reader_each(const char *path, LogTake *take, void *context, Buffer *problem)
{
    LogReader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    Result rc = log_reader_open(&reader, path);
    if (rc != RESULT_OK) {
        char why[128];
        (void)snprintf(why, sizeof why, ": %s", strerror(errno));
        log_reader_miss(problem, path, why);
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    while (log_reader_next(reader, &line, &length)) {
        rc = take(context, line, length);
        if (rc != RESULT_OK) {
            break;
        }
    }
    if (log_reader_problem(reader) != NULL) {
        log_reader_miss(problem, log_reader_problem(reader), "");
    }
    log_reader_close(reader);
    return rc;
}
