#include "crawl/crawl_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "base/memory/buffer.h"
#include "crawl/exit_status.h"

/* "DIR/NAME" is there; errno says why not. */
static bool holds(const char *directory, const char *name)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    bool there = buffer_printf(&path, "%s/%s", directory, name) == RESULT_OK &&
                 access(buffer_string(&path), F_OK) == 0;
    int code = errno;
    buffer_destroy(&path);
    errno = code;
    return there;
}

bool crawl_open_is_crawl(const char *directory)
{
    return holds(directory, "crawl.mdb");
}

int crawl_exit_status(int code)
{
    switch (code) {
    case page_db_error_ok:
        return EXIT_FINISHED;
    case page_db_error_no_page:
        return EXIT_NEGATIVE;
    case page_db_error_invalid_path:
    case page_db_error_full:
    case page_db_error_io:
        return EXIT_IO;
    case page_db_error_version:
    case page_db_error_damaged:
    case page_db_error_locked:
        return EXIT_DIRECTORY;
    default:
        return EXIT_INTERNAL;
    }
}

int crawl_open(const char *command, const char *directory, bool read_only, PageDB **db)
{
    bool is_crawl = crawl_open_is_crawl(directory);
    *db = NULL;
    if (!holds(directory, is_crawl ? "crawl.mdb/data.mdb" : "data.mdb")) {
        (void)fprintf(stderr, "ragno %s: %s holds no crawl: %s/crawl.mdb/data.mdb: %s\n", command,
                      directory, directory, strerror(errno));
        return EXIT_IO;
    }
    const PageDBOptions options = {.read_only = read_only, .no_create = true};
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, is_crawl ? "%s/crawl.mdb" : "%s", directory);
    int code = rc == RESULT_OK ? page_db_open(db, buffer_string(&path), &options)
                               : (int)page_db_error_memory;
    buffer_destroy(&path);
    if (code != page_db_error_ok) {
        const char *words = *db == NULL ? "out of memory" : error_message((*db)->error);
        (void)fprintf(stderr, "ragno %s: %s: %s\n", command, directory,
                      words == NULL ? "cannot be opened" : words);
        (void)page_db_delete(*db);
        *db = NULL;
    }
    return crawl_exit_status(code);
}
