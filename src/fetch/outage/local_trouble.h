/* Local trouble: what this machine could not do for a fetch, counted and told.
 *
 * What: there is no descriptor, no port, no memory for a socket; our own firewall says no; the
 * thread did not run for a while. No host is to blame for that. One line of the log tells of all
 * that happened within LOCAL_TELL_MS.
 *
 * Owns: nothing.
 * Threads: one fetching thread notes; any thread reads the counters. Time is a parameter. */
#ifndef FETCH_OUTAGE_LOCAL_TROUBLE_H
#define FETCH_OUTAGE_LOCAL_TROUBLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/core/clock.h"

#define LOCAL_TELL_MS 10000

typedef struct LocalTrouble {
    _Atomic uint64_t count;          /* since the start */
    _Atomic uint64_t no_descriptors; /* of these: EMFILE, ENFILE */
    uint64_t told;
    MonoTime next_line; /* not before */
} LocalTrouble;

/* os_error: errno, or 0: the thread did not run. */
void local_trouble_note(LocalTrouble *trouble, int os_error, MonoTime now);

#endif
