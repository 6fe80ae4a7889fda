/* ragno verify --moved: which files were moved away. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "command/verify/verify_missing.h"

MapKey verify_moved_key(const char *name, size_t length)
{
    return map_key(hash_64(name, length, 5));
}

static Result verify_moved_add(Verify *verify, const char *name, size_t stem)
{
    Result rc = buffer_append(&verify->moved, name, strlen(name) + 1);
    return rc == RESULT_OK ? map_put(&verify->declared, verify_moved_key(name, stem), verify) : rc;
}

/* Adds the names in the file. */
static Result read_names(Verify *verify, const char *path)
{
    char *line = NULL;
    size_t capacity = 0;
    WarcCompression compression;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return errno == ENOENT ? RESULT_OK : result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    ssize_t n = getline(&line, &capacity, file);
    for (unsigned number = 1; n > 0 && rc == RESULT_OK;
         n = getline(&line, &capacity, file), number++) {
        line[strcspn(line, "\r\n")] = '\0';
        size_t stem = warc_compression_stem(line, &compression);
        if (stem > 0 && strchr(line, '/') == NULL) {
            rc = verify_moved_add(verify, line, stem);
        } else if (*line != '\0') {
            verify_problem(verify, "moved.txt",
                           "line %u: expected the name of a WARC file without its directory, not "
                           "'%s'",
                           number, line);
        }
    }
    rc = rc == RESULT_OK && ferror(file) ? RESULT_IO : rc;
    free(line);
    (void)fclose(file);
    return rc;
}

static Result verify_moved_refuse(const char *file, const char *why)
{
    (void)fprintf(stderr, "ragno verify: --moved %s: %s\n", file, why);
    return RESULT_INVALID;
}

static Result copy_bytes(int from, int to)
{
    char bytes[16384];
    ssize_t n = read(from, bytes, sizeof bytes);
    while (n > 0) {
        if (write(to, bytes, (size_t)n) != n) {
            return RESULT_FULL;
        }
        n = read(from, bytes, sizeof bytes);
    }
    return n == 0 && fsync(to) == 0 ? RESULT_OK : RESULT_IO;
}

/* Copies an index whole or not at all. */
static Result copy_index(const char *from_path, const char *to_path)
{
    Buffer part;
    buffer_init(&part, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&part, "%s.part", to_path);
    int from = rc == RESULT_OK ? open(from_path, O_RDONLY | O_CLOEXEC) : -1;
    if (rc == RESULT_OK && from < 0) {
        rc = result_of_errno(errno);
    }
    int to = rc == RESULT_OK
                 ? open(buffer_string(&part), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
                 : -1;
    if (rc == RESULT_OK) {
        rc = to < 0 ? result_of_errno(errno) : copy_bytes(from, to);
    }
    if (from >= 0) {
        (void)close(from);
    }
    if (to >= 0) {
        (void)close(to);
        if (rc == RESULT_OK && rename(buffer_string(&part), to_path) != 0) {
            rc = result_of_errno(errno);
        }
        (void)unlink(buffer_string(&part)); /* gone already after success */
    }
    buffer_destroy(&part);
    return rc;
}

/* The index of the file is in warc/, or is copied there from beside the file. */
static Result fetch_index(Verify *verify, const char *file, const char *name)
{
    Buffer here;
    Buffer there;
    Buffer directory;
    buffer_init(&here, BUFFER_NO_LIMIT);
    buffer_init(&there, BUFFER_NO_LIMIT);
    buffer_init(&directory, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&directory, "%.*s.", (int)(name - file), file); /* "a/." */
    rc = rc != RESULT_OK ? rc : warc_index_path(&here, verify->warc_directory, name, false);
    if (rc == RESULT_OK && access(buffer_string(&here), F_OK) != 0) {
        rc = warc_index_path(&there, buffer_string(&directory), name, false);
        if (rc == RESULT_OK && mkdir(verify->warc_directory, 0755) != 0 && errno != EEXIST) {
            rc = result_of_errno(errno);
        }
        rc = rc == RESULT_OK ? copy_index(buffer_string(&there), buffer_string(&here)) : rc;
        if (rc != RESULT_OK) {
            rc = verify_moved_refuse(
                file, "its index (.cdxj) is neither in warc/ nor beside it, or cannot be "
                      "copied: it says what is in the file");
        }
    }
    buffer_destroy(&here);
    buffer_destroy(&there);
    buffer_destroy(&directory);
    return rc;
}

static Result declare(Verify *verify, const char *file, FILE *list)
{
    WarcCompression compression;
    Buffer here;
    const char *slash = strrchr(file, '/');
    const char *name = slash == NULL ? file : slash + 1;
    size_t stem = warc_compression_stem(name, &compression);
    if (stem == 0) {
        return verify_moved_refuse(file, "expected a WARC file, NAME.warc.gz or NAME.warc.zst");
    }
    if (map_get(&verify->declared, verify_moved_key(name, stem)) != NULL) {
        return RESULT_OK;
    }
    buffer_init(&here, BUFFER_NO_LIMIT);
    Result rc = warc_path(&here, verify->warc_directory, name, false);
    if (rc == RESULT_OK && access(buffer_string(&here), F_OK) == 0) {
        rc = verify_moved_refuse(file, "it is in warc/");
    }
    buffer_destroy(&here);
    rc = rc == RESULT_OK ? fetch_index(verify, file, name) : rc;
    if (rc == RESULT_OK && fprintf(list, "%s\n", name) < 0) {
        rc = RESULT_FULL;
    }
    return rc == RESULT_OK ? verify_moved_add(verify, name, stem) : rc;
}

Result verify_moved(Verify *verify)
{
    Buffer path;
    const VerifyOptions *options = verify->options;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/moved.txt", options->directory);
    rc = rc == RESULT_OK ? read_names(verify, buffer_string(&path)) : rc;
    FILE *list =
        rc == RESULT_OK && options->n_moved > 0 ? fopen(buffer_string(&path), "abe") : NULL;
    if (rc == RESULT_OK && options->n_moved > 0 && list == NULL) {
        rc = result_of_errno(errno);
    }
    for (size_t i = 0; i < options->n_moved && rc == RESULT_OK; i++) {
        rc = declare(verify, options->moved[i], list);
    }
    if (list != NULL) {
        bool kept = fflush(list) == 0 && fsync(fileno(list)) == 0;
        kept = fclose(list) == 0 && kept;
        rc = rc == RESULT_OK && !kept ? RESULT_IO : rc;
    }
    buffer_destroy(&path);
    return rc;
}
