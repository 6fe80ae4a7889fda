#include "store/lmdb/map_residence.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/file.h"

#define LINE_BYTES    512
#define LOOK_UP_BYTES ((size_t)8 << 20)
#define SMALL_BUDGET  ((size_t)160 << 20) /* a fifth of it is soon full: every other look-up */

/* A line of /proc/self/maps: FROM-TO PERMISSIONS OFFSET MAJOR:MINOR INODE PATH, in hexadecimal but
 * for the inode. The device is not compared, since some file systems show another one there than in
 * stat; the pages of another file with that number could be given up as well. */
static bool is_shared_map_of(const char *line, const struct stat *file, uintptr_t *from,
                             uintptr_t *to)
{
    static const char permissions[] = " r--s ";
    char *rest = NULL;
    *from = (uintptr_t)strtoull(line, &rest, 16);
    if (*rest != '-') {
        return false;
    }
    *to = (uintptr_t)strtoull(rest + 1, &rest, 16);
    if (strncmp(rest, permissions, sizeof permissions - 1) != 0) {
        return false;
    }
    const char *field = rest + sizeof permissions - 1;
    for (size_t i = 0; i < 2; i++) { /* offset and device */
        field += strcspn(field, " ");
        field += strspn(field, " ");
    }
    return strtoull(field, NULL, 10) == (unsigned long long)file->st_ino;
}

Result map_residence_give_up(int fd)
{
    struct stat file;
    char line[LINE_BYTES];
    FILE *maps = fstat(fd, &file) == 0 ? fopen("/proc/self/maps", "re") : NULL;
    Result rc = maps == NULL ? RESULT_IO : RESULT_OK;
    bool at_start = true; /* of a line: a long path makes several pieces of one */
    while (rc == RESULT_OK && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t from = 0;
        uintptr_t to = 0;
        if (at_start && is_shared_map_of(line, &file, &from, &to)) {
            rc = madvise((void *)from, to - from, MADV_DONTNEED) == 0 ? RESULT_OK : RESULT_IO;
        }
        at_start = strchr(line, '\n') != NULL;
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return rc;
}

void map_residence_set(MapResidence *residence, size_t budget, size_t most)
{
    if ((budget > 0 || most > 0) && atomic_load(&residence->statm) == 0) {
        atomic_store(&residence->statm, open("/proc/self/statm", O_RDONLY | O_CLOEXEC) + 1);
    }
    atomic_store(&residence->budget, budget);
    atomic_store(&residence->most, most);
}

bool map_residence_is_bound(const MapResidence *residence)
{
    return atomic_load_explicit(&residence->budget, memory_order_relaxed) > 0 ||
           atomic_load_explicit(&residence->most, memory_order_relaxed) > 0;
}

void map_residence_close(MapResidence *residence)
{
    int file = atomic_exchange(&residence->statm, 0) - 1;
    file_close_fd(file);
}

/* Resident and mapped from files, in bytes: the second and third figure of statm. */
static Result map_residence_measure(const MapResidence *residence, size_t *resident, size_t *mapped)
{
    char text[128] = "";
    int file = atomic_load_explicit(&residence->statm, memory_order_relaxed) - 1;
    ssize_t n = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    char *rest = text;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)strtoull(rest, &rest, 10);
    *resident = (size_t)strtoull(rest, &rest, 10) * page;
    *mapped = (size_t)strtoull(rest, NULL, 10) * page;
    return n > 0 ? RESULT_OK : RESULT_IO;
}

unsigned map_residence_look_ups(const MapResidence *residence)
{
    size_t room = atomic_load_explicit(&residence->room, memory_order_relaxed);
    size_t budget = atomic_load_explicit(&residence->budget, memory_order_relaxed);
    size_t n = budget < SMALL_BUDGET ? 2 : 2 + room / LOOK_UP_BYTES;
    return budget > 0 && n < MAP_RESIDENCE_LOOK_UPS ? (unsigned)n : MAP_RESIDENCE_LOOK_UPS;
}

Result map_residence_check(MapResidence *residence, int fd)
{
    size_t budget = atomic_load_explicit(&residence->budget, memory_order_relaxed);
    size_t most = atomic_load_explicit(&residence->most, memory_order_relaxed);
    size_t slack = budget / 32;
    size_t resident = 0;
    size_t mapped = 0;
    if (!map_residence_is_bound(residence)) {
        return RESULT_OK;
    }
    Result rc = map_residence_measure(residence, &resident, &mapped);
    size_t base = atomic_load(&residence->left);
    size_t mark = budget - 4 * slack;
    bool is_near = budget > 0 && resident > mark && mapped > base + slack;
    atomic_store_explicit(&residence->room, resident < mark ? mark - resident : 0,
                          memory_order_relaxed);
    bool is_wide = most > 0 && mapped > base + most;
    if (rc != RESULT_OK || !(is_near || is_wide)) {
        return rc;
    }
    rc = map_residence_give_up(fd);
    if (rc == RESULT_OK) {
        rc = map_residence_measure(residence, &resident, &mapped);
        size_t left = atomic_load(&residence->left);
        /* Other threads may have brought back much meanwhile: upwards it goes by small steps. */
        bool larger = left > 0 && mapped > left;
        atomic_store(&residence->left, larger ? left + (mapped - left) / 8 : mapped);
        (void)atomic_fetch_add(&residence->n, 1);
    }
    return rc;
}
