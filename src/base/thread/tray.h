/* Tray: what threads put down for one that deals with it in order, and may have to do so again.
 *
 * What: copies of items of one size. The thread that deals with them reads them from the first on,
 * and drops them only when they are done with, for example behind its commit: what failed is still
 * there, in its place.
 * Owns: the copies.
 * Threads: any may put; one reads and drops. The mutex has RANK_TABLE.
 * Errors: RESULT_MEMORY: it was not put down. */
#pragma once

#include "base/thread/mutex.h"

typedef struct Tray {
    Mutex mutex; /* guards what follows */
    char *items;
    size_t n;
    size_t bytes; /* of an item; fixed */
} Tray;

void tray_init(Tray *tray, size_t bytes);
void tray_destroy(Tray *tray);
/* *is_alone (NULL: nobody asks): nothing else lies there now. */
Result tray_put(Tray *tray, const void *item, bool *is_alone);
size_t tray_count(Tray *tray);
/* Copies the item at a place, from 0 on. False: there are fewer. */
bool tray_get(Tray *tray, size_t place, void *item);
/* The first n are done with; more than there are: all. */
void tray_drop(Tray *tray, size_t n);
