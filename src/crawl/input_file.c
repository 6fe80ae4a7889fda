#include "crawl/input_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define INPUT_FILE_LIMIT ((size_t)256 << 20)
#define READ_BYTES       65536

int input_file_read(const char *path, Buffer *out)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "ragno: %s: %s\n", path, strerror(errno));
        return 3;
    }
    buffer_init(out, INPUT_FILE_LIMIT);
    char chunk[READ_BYTES];
    size_t n = 0;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && (n = fread(chunk, 1, sizeof chunk, file)) > 0) {
        rc = buffer_append(out, chunk, n);
    }
    if (rc != RESULT_OK || ferror(file)) {
        (void)fprintf(stderr, "ragno: %s: %s\n", path,
                      rc != RESULT_OK ? result_name(rc) : "cannot be read");
        rc = rc == RESULT_OK ? RESULT_IO : rc;
    }
    if (file != stdin) {
        (void)fclose(file);
    }
    return rc == RESULT_OK ? 0 : 3;
}
