/* Replays a log of io_shim.so up to any event, as if the power had been cut there.
 *
 *   power_cut LOG count         how many events there are
 *   power_cut LOG list          one line per event
 *   power_cut LOG replay N MODE SEED FROM TO
 *                               the state after the first N events: what was recorded below FROM is
 *                               built below TO, which must be empty
 *
 * MODE says what becomes of what was not synced by then:
 *   keep      all is there: the process was killed, the machine was not
 *   drop      none is there
 *   zero      none, but files have their size: they are zeros where the bytes are missing
 *   random    each write by SEED: there, not there, or only its first sectors; names up to a random
 *             moment
 *   strict-drop, strict-zero, strict-random
 *             a name is durable only when its own directory was synced; in the others, when
 *             anything was synced after it, as the journals of ext4 and xfs have it
 *
 * Files whose name ends in .acknowledged are kept whole always: a test notes there what it was
 * promised. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "power_cut.h"

#define SECTOR 512u

typedef struct Event {
    PowerCutEvent head;
    char *path;
    char *second;
    const uint8_t *data;
} Event;

typedef struct Log {
    uint8_t *bytes;
    Event *events;
    size_t n;
    uint32_t max_id;
} Log;

typedef struct Name {
    char *path;  /* borrowed from an event */
    uint32_t id; /* 0: a directory */
} Name;

typedef struct Replay {
    const Log *log;
    size_t n;         /* events that happened */
    const char *mode; /* without strict- */
    bool is_strict;
    uint64_t random;
    size_t committed;   /* names before this event are durable */
    size_t *last_syncs; /* per id: the last sync before n, as event number + 1 */
    Name *names;
    size_t n_names;
} Replay;

static void fail(const char *what)
{
    (void)fprintf(stderr, "power_cut: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (memory == NULL) {
        fail("memory");
    }
    return memory;
}

/* --- the log --------------------------------------------------------------------------------- */

static char *copy_text(const uint8_t *bytes, uint32_t length)
{
    char *text = allocate(length, 1);
    memcpy(text, bytes, length);
    return text;
}

static Log load(const char *path)
{
    struct stat status;
    Log log = {.n = 0};
    FILE *file = fopen(path, "r");
    if (file == NULL || stat(path, &status) != 0) {
        fail(path);
    }
    size_t size = (size_t)status.st_size, at = 0, capacity = 0;
    log.bytes = allocate(size, 1);
    size = fread(log.bytes, 1, size, file);
    (void)fclose(file);
    while (at + sizeof(PowerCutEvent) <= size) {
        Event event = {.path = NULL};
        memcpy(&event.head, log.bytes + at, sizeof event.head);
        uint64_t length =
            (uint64_t)event.head.path_bytes + event.head.second_bytes + event.head.data_bytes;
        if (event.head.magic != POWER_CUT_MAGIC || length > size - at - sizeof event.head) {
            break; /* killed while it wrote the log */
        }
        const uint8_t *rest = log.bytes + at + sizeof event.head;
        event.path = copy_text(rest, event.head.path_bytes);
        event.second = copy_text(rest + event.head.path_bytes, event.head.second_bytes);
        event.data = rest + event.head.path_bytes + event.head.second_bytes;
        if (log.n == capacity) {
            capacity = capacity == 0 ? 1024 : 2 * capacity;
            log.events = realloc(log.events, capacity * sizeof *log.events);
            if (log.events == NULL) {
                fail("memory");
            }
        }
        log.max_id = event.head.id > log.max_id ? event.head.id : log.max_id;
        log.events[log.n++] = event;
        at += sizeof event.head + (size_t)length;
    }
    return log;
}

static void free_log(Log *log)
{
    for (size_t i = 0; i < log->n; i++) {
        free(log->events[i].path);
        free(log->events[i].second);
    }
    free(log->events);
    free(log->bytes);
}

static void list(const Log *log)
{
    static const char *const names[] = {"?",    "create",   "existing", "write",  "truncate",
                                        "sync", "sync-dir", "rename",   "unlink", "mkdir"};
    for (size_t i = 0; i < log->n; i++) {
        const PowerCutEvent *head = &log->events[i].head;
        (void)printf("%zu %s file=%u offset=%llu bytes=%llu%s %s %s\n", i + 1,
                     names[head->kind <= POWER_CUT_MKDIR ? head->kind : 0], head->id,
                     (unsigned long long)head->offset, (unsigned long long)head->data_bytes,
                     head->is_durable != 0 ? " durable" : "", log->events[i].path,
                     log->events[i].second);
    }
}

/* --- what is durable ------------------------------------------------------------------------- */

static uint64_t next_random(Replay *replay)
{
    replay->random = replay->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return replay->random >> 33;
}

static bool mode_is(const Replay *replay, const char *mode)
{
    return strcmp(replay->mode, mode) == 0;
}

static bool is_acknowledgement(const char *path)
{
    static const char suffix[] = ".acknowledged";
    size_t length = strlen(path);
    return length >= sizeof suffix - 1 && strcmp(path + length - sizeof suffix + 1, suffix) == 0;
}

static bool is_parent(const char *directory, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    return strlen(directory) == length && strncmp(directory, path, length) == 0;
}

static bool directory_was_synced(const Replay *replay, size_t i, const char *path)
{
    for (size_t k = i + 1; k < replay->n; k++) {
        const Event *event = &replay->log->events[k];
        if (event->head.kind == POWER_CUT_SYNC_DIRECTORY && is_parent(event->path, path)) {
            return true;
        }
    }
    return false;
}

static bool name_is_there(const Replay *replay, size_t i)
{
    const Event *event = &replay->log->events[i];
    if (event->head.kind == POWER_CUT_EXISTING || mode_is(replay, "keep") ||
        is_acknowledgement(event->path)) {
        return true;
    }
    if (replay->is_strict) {
        return directory_was_synced(replay, i, event->path);
    }
    return i < replay->committed;
}

static void judge(Replay *replay)
{
    for (size_t i = 0; i < replay->n; i++) {
        const PowerCutEvent *head = &replay->log->events[i].head;
        if (head->kind == POWER_CUT_SYNC) {
            replay->last_syncs[head->id] = i + 1;
        }
        if (head->kind == POWER_CUT_SYNC || head->kind == POWER_CUT_SYNC_DIRECTORY) {
            replay->committed = i;
        }
    }
    if (mode_is(replay, "random")) {
        replay->committed += (size_t)(next_random(replay) % (replay->n - replay->committed + 1));
    }
}

/* --- names ----------------------------------------------------------------------------------- */

static Name *find_name(Replay *replay, const char *path)
{
    for (size_t i = 0; i < replay->n_names; i++) {
        if (strcmp(replay->names[i].path, path) == 0) {
            return &replay->names[i];
        }
    }
    return NULL;
}

static void remove_name(Replay *replay, const char *path)
{
    Name *name = find_name(replay, path);
    if (name != NULL) {
        *name = replay->names[--replay->n_names];
    }
}

static void apply_name(Replay *replay, const Event *event)
{
    uint32_t id = event->head.id;
    char *path = event->path;
    switch ((PowerCutKind)event->head.kind) {
    case POWER_CUT_RENAME: {
        const Name *from = find_name(replay, event->path);
        if (from == NULL) {
            return; /* its creation was lost */
        }
        id = from->id;
        path = event->second;
        remove_name(replay, event->path);
        break;
    }
    case POWER_CUT_UNLINK:
        remove_name(replay, event->path);
        return;
    case POWER_CUT_CREATE:
    case POWER_CUT_EXISTING:
    case POWER_CUT_MKDIR:
        break;
    case POWER_CUT_WRITE:
    case POWER_CUT_TRUNCATE:
    case POWER_CUT_SYNC:
    case POWER_CUT_SYNC_DIRECTORY:
        return;
    }
    remove_name(replay, path);
    replay->names[replay->n_names++] = (Name){path, id};
}

/* --- contents -------------------------------------------------------------------------------- */

static void make_parents(char *path)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = 0;
        (void)mkdir(path, 0755);
        *at = '/';
    }
}

static void put_bytes(int fd, const uint8_t *bytes, size_t length, uint64_t offset)
{
    if (length > 0 && pwrite(fd, bytes, length, (off_t)offset) != (ssize_t)length) {
        fail("write");
    }
}

/* At least so long; never shorter. */
static void extend(int fd, uint64_t size)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && (uint64_t)status.st_size < size &&
        ftruncate(fd, (off_t)size) != 0) {
        fail("extend");
    }
}

static void apply_unsynced(Replay *replay, int fd, const Event *event)
{
    const PowerCutEvent *head = &event->head;
    size_t length = (size_t)head->data_bytes;
    if (mode_is(replay, "random")) {
        uint64_t choice = next_random(replay) % 4;
        size_t sectors = (size_t)(next_random(replay) % (length / SECTOR + 1));
        if (choice == 0) {
            put_bytes(fd, event->data, length, head->offset);
        } else if (choice == 1) {
            put_bytes(fd, event->data, sectors * SECTOR, head->offset);
            extend(fd, next_random(replay) % 2 == 0 ? head->offset + length : 0);
        }
    } else if (mode_is(replay, "zero")) {
        extend(fd, head->offset + length);
    }
}

static void build_file(Replay *replay, const Name *name, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) {
        fail(path);
    }
    bool keeps = mode_is(replay, "keep") || is_acknowledgement(name->path);
    for (size_t i = 0; i < replay->n; i++) {
        const Event *event = &replay->log->events[i];
        const PowerCutEvent *head = &event->head;
        if (head->id != name->id) {
            continue;
        }
        bool durable = keeps || head->is_durable != 0 || i < replay->last_syncs[head->id];
        if (head->kind == POWER_CUT_WRITE && durable) {
            put_bytes(fd, event->data, (size_t)head->data_bytes, head->offset);
        } else if (head->kind == POWER_CUT_WRITE) {
            apply_unsynced(replay, fd, event);
        } else if (head->kind == POWER_CUT_TRUNCATE &&
                   (durable || (mode_is(replay, "random") && next_random(replay) % 2 == 0))) {
            if (ftruncate(fd, (off_t)head->offset) != 0) {
                fail("truncate");
            }
        }
    }
    (void)close(fd);
}

static void build(Replay *replay, const char *from, const char *to)
{
    size_t from_length = strlen(from);
    for (size_t i = 0; i < replay->n; i++) {
        if (name_is_there(replay, i)) {
            apply_name(replay, &replay->log->events[i]);
        }
    }
    for (size_t i = 0; i < replay->n_names; i++) {
        char path[PATH_MAX];
        const Name *name = &replay->names[i];
        if (strncmp(name->path, from, from_length) != 0) {
            continue;
        }
        int n = snprintf(path, sizeof path, "%s%s", to, name->path + from_length);
        if (n <= 0 || n >= (int)sizeof path) {
            fail("path too long");
        }
        make_parents(path);
        if (name->id == 0) {
            (void)mkdir(path, 0755);
        } else {
            build_file(replay, name, path);
        }
    }
}

static int replay_log(const Log *log, char **arguments)
{
    static const char strict[] = "strict-";
    Replay replay = {.log = log,
                     .n = (size_t)strtoull(arguments[0], NULL, 10),
                     .mode = arguments[1],
                     .random = strtoull(arguments[2], NULL, 10) * 2 + 1};
    replay.n = replay.n < log->n ? replay.n : log->n;
    if (strncmp(replay.mode, strict, sizeof strict - 1) == 0) {
        replay.is_strict = true;
        replay.mode += sizeof strict - 1;
    }
    if (!mode_is(&replay, "keep") && !mode_is(&replay, "drop") && !mode_is(&replay, "zero") &&
        !mode_is(&replay, "random")) {
        (void)fprintf(stderr, "power_cut: unknown mode %s\n", arguments[1]);
        return 2;
    }
    replay.last_syncs = allocate(log->max_id + 1, sizeof *replay.last_syncs);
    replay.names = allocate(log->n, sizeof *replay.names);
    judge(&replay);
    build(&replay, arguments[3], arguments[4]);
    free(replay.last_syncs);
    free(replay.names);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 2;
    if (argc < 3) {
        (void)fprintf(stderr, "usage: power_cut LOG count|list|replay N MODE SEED FROM TO\n");
        return status;
    }
    Log log = load(argv[1]);
    if (strcmp(argv[2], "count") == 0) {
        (void)printf("%zu\n", log.n);
        status = 0;
    } else if (strcmp(argv[2], "list") == 0) {
        list(&log);
        status = 0;
    } else if (strcmp(argv[2], "replay") == 0 && argc == 8) {
        status = replay_log(&log, argv + 3);
    } else {
        (void)fprintf(stderr, "power_cut: see the comment at the top of its source\n");
    }
    free_log(&log);
    return status;
}
