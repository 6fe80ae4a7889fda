#include "base/thread/shared.h"

#include <stdlib.h>

struct SharedBox {
    void *object;
    unsigned users; /* under the mutex: readers, and one while it is the current one */
};

void shared_init(Shared *shared, void (*destroy)(void *object))
{
    mutex_init(&shared->mutex, RANK_TABLE);
    shared->current = NULL;
    shared->destroy = destroy;
    atomic_init(&shared->version, 0);
}

/* Under the mutex: the box to be freed after it, or NULL. */
static SharedBox *let_go(SharedBox *box)
{
    return box != NULL && --box->users == 0 ? box : NULL;
}

static void free_box(const Shared *shared, SharedBox *box)
{
    if (box != NULL) {
        shared->destroy(box->object);
        free(box);
    }
}

void shared_destroy(Shared *shared)
{
    free_box(shared, let_go(shared->current));
    shared->current = NULL;
    mutex_destroy(&shared->mutex);
}

Result shared_replace(Shared *shared, void *object)
{
    SharedBox *box = NULL;
    if (object != NULL) {
        box = malloc(sizeof *box);
        if (box == NULL) {
            shared->destroy(object);
            return RESULT_MEMORY;
        }
        *box = (SharedBox){.object = object, .users = 1};
    }
    mutex_lock(&shared->mutex);
    SharedBox *old = let_go(shared->current);
    shared->current = box;
    atomic_fetch_add_explicit(&shared->version, 1, memory_order_release);
    mutex_unlock(&shared->mutex);
    free_box(shared, old);
    return RESULT_OK;
}

/* Gives the reader the object of now for the one it has. */
static void look_again(SharedReader *reader)
{
    Shared *shared = reader->shared;
    mutex_lock(&shared->mutex);
    SharedBox *old = reader->box;
    reader->box = shared->current;
    reader->version = atomic_load_explicit(&shared->version, memory_order_relaxed);
    if (reader->box != NULL) {
        reader->box->users++;
    }
    old = let_go(old);
    mutex_unlock(&shared->mutex);
    free_box(shared, old);
}

void shared_reader_open(SharedReader *reader, Shared *shared)
{
    *reader = (SharedReader){.shared = shared, .box = NULL};
    look_again(reader);
}

void shared_reader_close(SharedReader *reader)
{
    if (reader->shared != NULL) {
        mutex_lock(&reader->shared->mutex);
        SharedBox *old = let_go(reader->box);
        mutex_unlock(&reader->shared->mutex);
        free_box(reader->shared, old);
        *reader = (SharedReader){.shared = NULL};
    }
}

void *shared_get(SharedReader *reader)
{
    if (atomic_load_explicit(&reader->shared->version, memory_order_acquire) != reader->version) {
        look_again(reader);
    }
    return reader->box == NULL ? NULL : reader->box->object;
}
