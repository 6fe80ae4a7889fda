#include "crawl/run/reader_guard.h"

#include <unistd.h>

#include "base/thread/log.h"

void reader_guard_init(ReaderGuard *guard, MDB_env *env, int64_t patience_ms, MonoTime now)
{
    *guard = (ReaderGuard){.env = env, .patience_ms = patience_ms, .next = now};
}

static void tell_cleared(const ReaderGuard *guard)
{
    if (guard->table.cleared > 0) {
        LOG_INFO("db", "slots of dead readers cleared", "slots=%u", guard->table.cleared);
    }
}

/* Whom the warning is about, and what it costs. */
static void tell_old(ReaderGuard *guard)
{
    bool is_old = guard->age_ms >= guard->patience_ms;
    if (is_old && !guard->warned) {
        bool is_ours = guard->watch.pid == (long)getpid();
        LOG_WARN("db", "an old reader makes the database grow", "pid=%ld age_s=%lld next=\"%s\"",
                 guard->watch.pid, (long long)(guard->age_ms / 1000),
                 is_ours ? "it is this crawl; it ends by itself" : "end or continue that process");
    } else if (!is_old && guard->warned) {
        LOG_INFO("db", "the old reader is gone", "readers=%u", guard->table.slots);
    }
    guard->warned = is_old;
}

static void tell_crowded(ReaderGuard *guard)
{
    bool is_crowded = guard->table.slots * 4 >= guard->table.limit * 3;
    if (is_crowded && !guard->crowded) {
        LOG_WARN("db", "the table of readers is nearly full",
                 "slots=%u limit=%u next=\"end commands that read this crawl\"", guard->table.slots,
                 guard->table.limit);
    }
    guard->crowded = is_crowded;
}

void reader_guard_tick(ReaderGuard *guard, MonoTime now)
{
    if (mono_before(now, guard->next)) {
        return;
    }
    guard->next = mono_add_ms(now, READER_GUARD_MS);
    int rc = reader_table_check(guard->env, &guard->table);
    if (rc != 0) {
        LOG_WARN("db", "the table of readers cannot be read", "error=\"%s\"", mdb_strerror(rc));
        return;
    }
    guard->age_ms = reader_watch_look(&guard->watch, &guard->table, now);
    tell_cleared(guard);
    tell_old(guard);
    tell_crowded(guard);
}
