#include "crawl/exit_status.h"

#include <stdio.h>

int exit_status_of(Result rc)
{
    switch (rc) {
    case RESULT_OK:
        return 0;
    case RESULT_DAMAGED:
    case RESULT_VERSION:
    case RESULT_LOCKED:
        return EXIT_DIRECTORY;
    case RESULT_IO:
    case RESULT_FULL:
    case RESULT_NOT_FOUND:
    case RESULT_EXISTS:
        return EXIT_IO;
    case RESULT_INVALID:
        return EXIT_USAGE;
    case RESULT_MEMORY:
    case RESULT_LIMIT:
    case RESULT_CLOSED:
    case RESULT_TIMEOUT:
    case RESULT_INTERNAL:
        break;
    }
    return EXIT_INTERNAL;
}

int exit_status_tell(const char *command, Result rc, Buffer *error)
{
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno %s: %s\n", command,
                      error->length > 0 ? buffer_string(error) : result_name(rc));
    }
    buffer_destroy(error);
    return exit_status_of(rc);
}
