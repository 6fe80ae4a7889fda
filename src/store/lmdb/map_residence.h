/* A budget for the mapped pages of a file, which count as this process's memory.
 *
 * What: a page of a shared file mapping counts as resident from its first use until it is unmapped,
 * although it belongs to the page cache of the system and would be there without us. When the
 * process has more resident than seven eighths of its budget (a look-up may map two MiB at once,
 * and other threads allocate meanwhile), and a 32nd of the budget or more can be won, these pages
 * are given up. The mapping stays, and its pages stay in the page cache; only the entries of this
 * process go (madvise, MADV_DONTNEED). They come back with the next use by a minor fault: the
 * kernel maps the sixteen pages around it, and newer kernels the whole piece of the cache that was
 * written at once, up to 2 MiB. Beside the budget of the process, or without one, the file may have
 * a bound of its own. Nothing is written or lost, also while other threads read: LMDB's map is
 * read-only, and LMDB writes by pwrite.
 *
 * A thread that reads much calls map_residence_check after every other look-up; with a budget of
 * 160 MiB or more after as many as the room that was there the last time is good for, since reading
 * /proc costs as much as a look-up (map_residence_look_ups).
 *
 * Owns: a descriptor of /proc/self/statm.
 * Threads: any.
 * Errors: RESULT_IO; a budget that is missed is no error. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

/* Where only the map has a bound: nothing is lost when it is passed. */
#define MAP_RESIDENCE_LOOK_UPS 64u

typedef struct MapResidence {
    atomic_size_t budget; /* of everything that is resident; 0 = none */
    atomic_size_t most;   /* of what may be given up; 0 = no bound of its own */
    atomic_int statm;     /* /proc/self/statm, plus one; 0 = not open yet */
    atomic_size_t left;   /* mapped bytes that could not be given up last time: code, libraries */
    atomic_size_t room;   /* bytes that were not resident yet below the mark, as last measured */
    _Atomic uint64_t n;   /* times pages were given up */
} MapResidence;

/* Begins, or changes the budget, and the most bytes that the file itself may have mapped. */
void map_residence_set(MapResidence *residence, size_t budget, size_t most);
bool map_residence_is_bound(const MapResidence *residence);
void map_residence_close(MapResidence *residence);
/* After how many look-ups the next check is due: each may map 2 MiB, and others allocate as much
 * meanwhile. */
unsigned map_residence_look_ups(const MapResidence *residence);
/* Gives up the pages of all shared, read-only mappings of the open file fd when more than 7/8 of
 * the budget is resident and there is something to win, or more than most of them are mapped. They
 * must not be unmapped meanwhile. RESULT_IO: /proc cannot be read, or the kernel refuses. */
Result map_residence_check(MapResidence *residence, int fd);
/* Gives up the pages of the file, whatever the budget. */
Result map_residence_give_up(int fd);
