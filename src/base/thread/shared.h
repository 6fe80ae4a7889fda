/* An immutable object that may be replaced while threads use it: a filter, a table of rules.
 *
 * What: one thread replaces it (shared_replace). Each thread that uses it has a SharedReader and
 * asks for the object at the start of each piece of work (shared_get), which costs one atomic load
 * while nothing has changed. An object lives until it was replaced and no reader holds it: a thread
 * that sleeps keeps the old one alive, and is never waited for.
 * Owns: the current object, and the replaced ones that readers still hold.
 * Threads: a reader belongs to one thread. All readers are closed before the Shared is destroyed.
 * Its lock has RANK_TABLE and is held for a few instructions.
 * Source: the idea is read-copy-update, with counts. */
#pragma once

#include <stdatomic.h>

#include "base/thread/mutex.h"

typedef struct SharedBox SharedBox;

typedef struct Shared {
    Mutex mutex;
    SharedBox *current; /* under mutex; NULL: no object */
    atomic_uint version;
    void (*destroy)(void *object);
} Shared;

typedef struct SharedReader {
    Shared *shared;
    SharedBox *box; /* counted */
    unsigned version;
} SharedReader;

/* Holds nothing: shared_get answers NULL. */
void shared_init(Shared *shared, void (*destroy)(void *object));
void shared_destroy(Shared *shared);
/* Replaces the object; takes the new one, which may be NULL. RESULT_MEMORY: the new object was
 * destroyed and the old one stays. */
Result shared_replace(Shared *shared, void *object);

void shared_reader_open(SharedReader *reader, Shared *shared);
void shared_reader_close(SharedReader *reader);
/* The current object, or NULL; valid until the next call with this reader. */
void *shared_get(SharedReader *reader);
