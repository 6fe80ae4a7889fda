#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/lmdb/map_residence.h"
#include "folder_fixture.h"
#include "unit.h"

#define FILE_BYTES ((size_t)32 << 20)
#define MOST_BYTES ((size_t)8 << 20) /* what else may change meanwhile */

typedef struct Mapped {
    int fd;
    const unsigned char *shared;
    unsigned char *private;
} Mapped;

static void open_mapped(Mapped *m)
{
    char path[FOLDER_BYTES];
    unsigned char block[4096];
    m->fd = folder_make_file(path);
    (void)unlink(path);
    for (size_t i = 0; i < FILE_BYTES; i += sizeof block) {
        memset(block, (int)(i / sizeof block % 251), sizeof block);
        CU_ASSERT_EQUAL_FATAL(write(m->fd, block, sizeof block), (ssize_t)sizeof block);
    }
    m->shared = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, m->fd, 0);
    m->private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, m->fd, 0);
    CU_ASSERT_TRUE_FATAL(m->shared != MAP_FAILED && m->private != MAP_FAILED);
    m->private[0] = 77;
}

static void close_mapped(Mapped *m)
{
    (void)munmap((void *)(uintptr_t)m->shared, FILE_BYTES);
    (void)munmap(m->private, 4096);
    (void)close(m->fd);
}

/* Reads all of it; whether it is what was written. */
static bool read_all(const Mapped *m)
{
    bool same = true;
    for (size_t i = 0; i < FILE_BYTES; i += 4096) {
        same = same && m->shared[i] == i / 4096 % 251;
    }
    return same;
}

static size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    size_t size = 0;
    size_t pages = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fscanf(file, "%zu %zu", &size, &pages), 2);
    (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void pages_are_given_up_and_come_back(void)
{
    Mapped m;
    open_mapped(&m);
    size_t before = resident();
    CU_ASSERT_TRUE(read_all(&m));
    size_t full = resident();
    CU_ASSERT_TRUE(full >= before + FILE_BYTES - MOST_BYTES);
    CU_ASSERT_EQUAL(map_residence_give_up(m.fd), RESULT_OK);
    CU_ASSERT_TRUE(resident() + FILE_BYTES - MOST_BYTES <= full);
    CU_ASSERT_TRUE(read_all(&m));
    CU_ASSERT_EQUAL(m.private[0], 77); /* a private page would be lost */
    close_mapped(&m);
}

static void nothing_is_given_up_within_the_budget(void)
{
    Mapped m;
    MapResidence residence;
    memset(&residence, 0, sizeof residence);
    open_mapped(&m);
    CU_ASSERT_TRUE(read_all(&m));
    size_t full = resident();
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK); /* there is none */
    map_residence_set(&residence, full * 2, 0);
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(residence.n, 0);
    CU_ASSERT_TRUE(resident() + MOST_BYTES >= full);
    map_residence_set(&residence, full - full / 8, 0);
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(residence.n, 1);
    CU_ASSERT_TRUE(resident() + FILE_BYTES - MOST_BYTES <= full);
    /* Over the budget still, but not for the file's sake: it is not tried in vain. */
    map_residence_set(&residence, resident() - 4096, 0);
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(residence.n, 1);
    close_mapped(&m);
}

static void a_file_has_a_bound_of_its_own(void)
{
    Mapped m;
    MapResidence residence;
    memset(&residence, 0, sizeof residence);
    open_mapped(&m);
    map_residence_set(&residence, 0, FILE_BYTES / 2);
    CU_ASSERT_TRUE(map_residence_is_bound(&residence));
    CU_ASSERT_TRUE(read_all(&m));
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(residence.n, 1);
    size_t empty = resident();
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(residence.n, 1); /* what is mapped besides is not counted */
    CU_ASSERT_TRUE(read_all(&m));
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(residence.n, 2);
    CU_ASSERT_TRUE(resident() <= empty + MOST_BYTES);
    map_residence_set(&residence, 0, 0);
    CU_ASSERT_FALSE(map_residence_is_bound(&residence));
    CU_ASSERT_TRUE(read_all(&m));
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(residence.n, 2);
    close_mapped(&m);
}

static void the_more_room_the_more_look_ups_pass_without_a_look(void)
{
    Mapped m;
    MapResidence residence;
    memset(&residence, 0, sizeof residence);
    open_mapped(&m);
    CU_ASSERT_EQUAL(map_residence_look_ups(&residence), MAP_RESIDENCE_LOOK_UPS);
    map_residence_set(&residence, resident(), 0);
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    CU_ASSERT_EQUAL(map_residence_look_ups(&residence), 2); /* one may map 2 MiB */
    size_t budget = resident() + ((size_t)160 << 20);
    map_residence_set(&residence, budget, 0);
    CU_ASSERT_EQUAL(map_residence_check(&residence, m.fd), RESULT_OK);
    size_t left = budget - budget / 8 - resident();
    unsigned n = map_residence_look_ups(&residence);
    CU_ASSERT_TRUE(n > 2 && n < 30 && n * ((size_t)2 << 20) < left);
    close_mapped(&m);
}

static void a_file_that_is_not_open_is_refused(void)
{
    CU_ASSERT_EQUAL(map_residence_give_up(-1), RESULT_IO);
}

UNIT_MAIN("map residence", {"pages are given up and come back", pages_are_given_up_and_come_back},
          {"nothing is given up within the budget", nothing_is_given_up_within_the_budget},
          {"a file has a bound of its own", a_file_has_a_bound_of_its_own},
          {"the more room, the more look-ups pass without a look",
           the_more_room_the_more_look_ups_pass_without_a_look},
          {"a file that is not open is refused", a_file_that_is_not_open_is_refused})
