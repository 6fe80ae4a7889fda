#include "base/thread/tray.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"

void tray_init(Tray *tray, size_t bytes)
{
    *tray = (Tray){.bytes = bytes};
    mutex_init(&tray->mutex, RANK_TABLE);
}

void tray_destroy(Tray *tray)
{
    free(tray->items);
    mutex_destroy(&tray->mutex);
}

Result tray_put(Tray *tray, const void *item, bool *is_alone)
{
    mutex_lock(&tray->mutex);
    Result rc = array_add(&tray->items, &tray->n, tray->bytes, item);
    if (is_alone != NULL) {
        *is_alone = rc == RESULT_OK && tray->n == 1;
    }
    mutex_unlock(&tray->mutex);
    return rc;
}

size_t tray_count(Tray *tray)
{
    mutex_lock(&tray->mutex);
    size_t n = tray->n;
    mutex_unlock(&tray->mutex);
    return n;
}

bool tray_get(Tray *tray, size_t place, void *item)
{
    mutex_lock(&tray->mutex);
    bool is_there = place < tray->n;
    if (is_there) {
        memcpy(item, tray->items + place * tray->bytes, tray->bytes);
    }
    mutex_unlock(&tray->mutex);
    return is_there;
}

void tray_drop(Tray *tray, size_t n)
{
    mutex_lock(&tray->mutex);
    n = n < tray->n ? n : tray->n;
    tray->n -= n;
    if (tray->n > 0) {
        memmove(tray->items, tray->items + n * tray->bytes, tray->n * tray->bytes);
    }
    mutex_unlock(&tray->mutex);
}
