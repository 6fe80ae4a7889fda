/* A folder under /tmp for one test, removed with all that is in it. Header only. */
#ifndef TESTS_UNIT_FOLDER_FIXTURE_H
#define TESTS_UNIT_FOLDER_FIXTURE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#define FOLDER_BYTES 64

static inline void folder_make(char path[FOLDER_BYTES])
{
    (void)snprintf(path, FOLDER_BYTES, "/tmp/ragno-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type,
                                    struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void folder_remove(const char *path)
{
    CU_ASSERT_EQUAL(nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
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
