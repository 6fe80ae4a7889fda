#include "fetch/outage/local_trouble.h"

#include <errno.h>
#include <string.h>

#include "base/thread/log.h"

void local_trouble_note(LocalTrouble *trouble, int os_error, MonoTime now)
{
    uint64_t count = atomic_fetch_add_explicit(&trouble->count, 1, memory_order_relaxed) + 1;
    if (os_error == EMFILE || os_error == ENFILE) {
        atomic_fetch_add_explicit(&trouble->no_descriptors, 1, memory_order_relaxed);
    }
    if (mono_before(now, trouble->next_line)) {
        return;
    }
    const char *what = os_error == 0 ? "it did not run for a while" : strerrordesc_np(os_error);
    LOG_WARN("fetch", "this machine could not: fetches are done again, no host is charged",
             "fetches=%llu error=\"%s\"", (unsigned long long)(count - trouble->told),
             what == NULL ? "unknown" : what);
    trouble->told = count;
    trouble->next_line = mono_add_ms(now, LOCAL_TELL_MS);
}
