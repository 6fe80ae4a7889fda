/* What the tests of the WARC store share: a directory of their own, and fetches of many kinds. */
#ifndef TESTS_UNIT_WARC_SAMPLES_H
#define TESTS_UNIT_WARC_SAMPLES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder_fixture.h"
#include "store/archive/warc.h"

#define SAMPLE_DATE ((WallTime){INT64_C(1769860800123456)}) /* 2026-01-31T12:00:00.123456Z */

typedef struct SampleDirectory {
    char path[2 * FOLDER_BYTES];
} SampleDirectory;

static inline SampleDirectory sample_directory(void)
{
    SampleDirectory directory;
    folder_make(directory.path);
    return directory;
}

static inline void sample_remove(const SampleDirectory *directory)
{
    folder_remove(directory->path);
}

/* How many names end in suffix; the last of them goes to name (256 bytes) unless it is NULL. */
static inline unsigned sample_count(const SampleDirectory *directory, const char *suffix,
                                    char *name)
{
    unsigned n = 0;
    DIR *dir = opendir(directory->path);
    const struct dirent *entry = NULL;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length > strlen(suffix) &&
            strcmp(entry->d_name + length - strlen(suffix), suffix) == 0) {
            n++;
            if (name != NULL) {
                memcpy(name, entry->d_name, length + 1);
            }
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n;
}

static inline WarcBytes sample_text(const char *text)
{
    return warc_bytes(text, strlen(text));
}

/* An ordinary answer; the caller changes what it wants. */
static inline WarcFetch sample_fetch(const char *url, const char *header, const char *body)
{
    return (WarcFetch){.url = sample_text(url),
                       .started = SAMPLE_DATE,
                       .ip = "192.0.2.1",
                       .request = sample_text("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
                       .header = sample_text(header),
                       .body = sample_text(body)};
}

#endif
