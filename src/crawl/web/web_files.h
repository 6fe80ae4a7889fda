/* Web files: the files of the status page.
 *
 * What: the files in src/crawl/web/files, byte for byte, as parts of the program.
 * Threads: any; pure. */
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
