/* Folders and files for one test, below TMPDIR or /tmp. Header only; every test program has its
 * own. */
#ifndef TESTS_UNIT_FOLDER_FIXTURE_H
#define TESTS_UNIT_FOLDER_FIXTURE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#define FOLDER_BYTES 64

/* Where they are made. */
static inline const char *folder_parent(void)
{
    const char *parent = getenv("TMPDIR");
    return parent != NULL && strlen(parent) < FOLDER_BYTES / 2 ? parent : "/tmp";
}

/* Makes an empty folder. */
static inline void folder_make(char path[FOLDER_BYTES])
{
    (void)snprintf(path, FOLDER_BYTES, "%.40s/ragno-test-XXXXXX", folder_parent());
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
}

/* Makes an empty file, open for reading and writing. */
static inline int folder_make_file(char path[FOLDER_BYTES])
{
    (void)snprintf(path, FOLDER_BYTES, "%.40s/ragno-test-XXXXXX", folder_parent());
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    return fd;
}

/* A name that this process alone uses; nothing is made. */
static inline void folder_name(char path[FOLDER_BYTES], const char *name)
{
    (void)snprintf(path, FOLDER_BYTES, "%.32s/ragno-%.12s-%ld", folder_parent(), name,
                   (long)getpid());
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type,
                                    struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Removes a folder with all that is in it, if it is there. */
static inline void folder_remove(const char *path)
{
    if (access(path, F_OK) == 0) {
        CU_ASSERT_EQUAL(nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    }
}

/* Writes DIR/NAME. */
static inline void folder_put(const char *directory, const char *name, const char *bytes,
                              size_t length)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL && fwrite(bytes, 1, length, file) == length);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

#endif
