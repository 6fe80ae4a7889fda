/* Web files: the files of the status page, as they are in src/crawl/web/files, in the program. */
#ifndef CRAWL_WEB_WEB_FILES_H
#define CRAWL_WEB_WEB_FILES_H

#include <stddef.h>

typedef struct WebFile {
    const char *path; /* of the URL */
    const char *type; /* MIME */
    const char *bytes;
    const char *end;
} WebFile;

/* NULL: there is no such file. */
const WebFile *web_file_find(const char *path);

#endif
