#include "crawl/input_file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/memory/file.h"

/* ---- Output file ---- */

static Result output_file_complain(const OutputFile *output, int error)
{
    (void)fprintf(stderr, "ragno %s: %s: %s\n", output->command,
                  output->path == NULL ? "standard output" : output->path, strerror(error));
    return result_of_errno(error);
}

/* What an error of the file means. */
static Result output_file_failed(OutputFile *output, int error)
{
    if (output->is_gone || error == EPIPE) {
        output->is_gone = true;
        return RESULT_CLOSED;
    }
    return output_file_complain(output, error == 0 ? EIO : error);
}

Result output_file_open(OutputFile *output, const char *command, const char *path)
{
    *output = (OutputFile){.command = command, .file = stdout};
    (void)signal(SIGPIPE, SIG_IGN);
    if (path != NULL && strcmp(path, "-") != 0) {
        output->path = path;
        output->file = fopen(path, "wbe");
    }
    return output->file == NULL ? output_file_complain(output, errno) : RESULT_OK;
}

Result output_file_write(OutputFile *output, const void *bytes, size_t length)
{
    if (output->is_gone) {
        return RESULT_CLOSED;
    }
    errno = 0;
    return fwrite(bytes, 1, length, output->file) == length ? RESULT_OK
                                                            : output_file_failed(output, errno);
}

Result output_file_close(OutputFile *output, Result rc)
{
    FILE *file = output->file;
    output->file = NULL;
    output->is_gone = output->is_gone || rc == RESULT_CLOSED;
    if (file == NULL) {
        return rc;
    }
    errno = 0;
    bool ended = file == stdout ? fflush(file) == 0 : fclose(file) == 0;
    if (!ended && rc == RESULT_OK) {
        rc = output_file_failed(output, errno);
    }
    return rc == RESULT_CLOSED ? RESULT_OK : rc;
}

/* ---- Input file ---- */

#define INPUT_FILE_LIMIT ((size_t)256 << 20)

int input_file_read(const char *path, Buffer *out)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "ragno: %s: %s\n", path, strerror(errno));
        return 3;
    }
    buffer_init(out, INPUT_FILE_LIMIT);
    Result rc = file_read_rest(file, out);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: %s: %s\n", path,
                      rc == RESULT_IO ? "cannot be read" : result_name(rc));
    }
    if (file != stdin) {
        (void)fclose(file);
    }
    return rc == RESULT_OK ? 0 : 3;
}
