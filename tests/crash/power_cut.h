/* The log that io_shim.c writes and power_cut.c replays: events, each followed by its paths and
 * data. */
#ifndef TESTS_CRASH_POWER_CUT_H
#define TESTS_CRASH_POWER_CUT_H

#include <stdint.h>

#define POWER_CUT_MAGIC UINT32_C(0x43575250)

typedef enum PowerCutKind {
    POWER_CUT_CREATE = 1, /* path: a new, empty file */
    POWER_CUT_EXISTING,   /* path: a file that was there before; its contents follow as writes */
    POWER_CUT_WRITE,      /* offset, data */
    POWER_CUT_TRUNCATE,   /* to offset bytes */
    POWER_CUT_SYNC,       /* of the file; id 0: a file without a name */
    POWER_CUT_SYNC_DIRECTORY /* path */,
    POWER_CUT_RENAME, /* path to second */
    POWER_CUT_UNLINK, /* path */
    POWER_CUT_MKDIR   /* path */
} PowerCutKind;

typedef struct PowerCutEvent {
    uint32_t magic;
    uint32_t kind;
    uint32_t id;         /* of the file, counted from 1 */
    uint32_t is_durable; /* a write through O_DSYNC */
    uint64_t offset;
    uint64_t data_bytes;
    uint32_t path_bytes;
    uint32_t second_bytes;
} PowerCutEvent;

#endif
