/* Waiting for what another thread brings about, for tests.
 *
 *   CU_ASSERT_FATAL(UNTIL(atomic_load(&has_begun)));
 *
 * looks again and again, and is false only when the condition does not hold after two minutes. How
 * long it takes on a busy machine is therefore no part of a test. */
#ifndef TESTS_UNIT_UNTIL_H
#define TESTS_UNIT_UNTIL_H

#include <poll.h>

#include "base/core/clock.h"

#define UNTIL_PATIENCE_MS 120000

#define UNTIL(condition)                                                                           \
    __extension__({                                                                                \
        MonoTime until_deadline = mono_add_ms(mono_now(), UNTIL_PATIENCE_MS);                      \
        bool until_holds = (condition);                                                            \
        while (!until_holds && mono_before(mono_now(), until_deadline)) {                          \
            (void)poll(NULL, 0, 1);                                                                \
            until_holds = (condition);                                                             \
        }                                                                                          \
        until_holds;                                                                               \
    })

#endif
