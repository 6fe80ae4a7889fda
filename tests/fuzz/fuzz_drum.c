/* Bucket files made by a stranger: opening, merging and dispatching them must neither crash nor
 * read outside the file, whatever is in them.
 *
 * The first byte chooses: even, the input is a whole file; odd, it is cut into blocks whose headers
 * and checksums are made right, so that what is inside the sections is reached. Bit 1: byte-string
 * keys, bit 3: damaged blocks stop the merge, bit 4: values are assigned. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum.h"
#include "store/drum/drum_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUCKETS 4u

typedef struct Repository {
    DrumRepository interface; /* first */
    uint64_t checksum;        /* of everything seen, so that every byte given is read */
} Repository;

static Result fuzz_progress(DrumRepository *repository, DrumProgress *progress)
{
    (void)repository;
    *progress = (DrumProgress){0, 0};
    return RESULT_OK;
}

static Result fuzz_begin(DrumRepository *repository)
{
    (void)repository;
    return RESULT_OK;
}

static void touch(Repository *repository, DrumBytes bytes)
{
    repository->checksum ^= bytes.length > 0 ? hash_64(bytes.bytes, bytes.length, 0) : 1;
}

static Result fuzz_find(DrumRepository *interface, const DrumKey *key, DrumBytes *value)
{
    touch((Repository *)interface, key->bytes);
    *value = (DrumBytes){"value", key->number % 5};
    return key->number % 3 == 0 ? RESULT_OK : RESULT_NOT_FOUND;
}

static Result fuzz_put(DrumRepository *interface, const DrumKey *key, DrumBytes value, bool is_new)
{
    (void)is_new;
    touch((Repository *)interface, key->bytes);
    touch((Repository *)interface, value);
    return RESULT_OK;
}

static Result fuzz_commit(DrumRepository *repository, DrumProgress progress)
{
    (void)repository;
    (void)progress;
    return RESULT_OK;
}

static void fuzz_abort(DrumRepository *repository)
{
    (void)repository;
}

static Result fuzz_called(void *context, const DrumEvent *event)
{
    touch(context, event->key.bytes);
    touch(context, event->value);
    touch(context, event->previous);
    touch(context, event->auxiliary);
    return RESULT_OK;
}

static Result fuzz_assign(void *context, const DrumKey *key, DrumBytes given, void *value)
{
    touch(context, given);
    memcpy(value, &key->number, sizeof key->number);
    return RESULT_OK;
}

/* The input as blocks: four bytes of lengths and numbers, then the sections. */
static void write_blocks(int directory, DrumKeys keys, const uint8_t *data, size_t size)
{
    DrumFile *file = drum_file_new(directory, 0, keys, BUCKETS);
    while (file != NULL && size > 4) {
        DrumBlock block = {.bucket = data[0] % BUCKETS,
                           .elements = 1u + (data[0] >> 2),
                           .first_sequence = data[1]};
        size_t keys_bytes = data[2], auxiliary_bytes = data[3];
        data += 4;
        size -= 4;
        keys_bytes = keys_bytes < size ? keys_bytes : size;
        size -= keys_bytes;
        auxiliary_bytes = auxiliary_bytes < size ? auxiliary_bytes : size;
        size -= auxiliary_bytes;
        if (drum_file_append(file, &block, (DrumBytes){data, keys_bytes},
                             (DrumBytes){data + keys_bytes, auxiliary_bytes}) != RESULT_OK) {
            break;
        }
        data += keys_bytes + auxiliary_bytes;
    }
    drum_file_delete(file);
}

static void write_raw(int directory, const uint8_t *data, size_t size)
{
    int fd = openat(directory, "0000000000000000.drum", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    (void)close(fd);
}

static void run_drum(const char *place, uint8_t flags, Repository *repository)
{
    DrumRecovery recovery;
    DrumOptions options = {.directory = place,
                           .repository = &repository->interface,
                           .dispatcher = {.context = repository,
                                          .unique_key_check = fuzz_called,
                                          .duplicate_key_check = fuzz_called,
                                          .unique_key_update = fuzz_called,
                                          .duplicate_key_update = fuzz_called,
                                          .update = fuzz_called},
                           .keys = repository->interface.keys,
                           .buckets = 2,
                           .array_bytes = 64,
                           .skip_damaged = (flags & 8) == 0,
                           .assign = (flags & 16) != 0 ? fuzz_assign : NULL,
                           .assign_context = repository,
                           .assign_bytes = 8};
    (void)drum_verify(place, &recovery);
    Drum *drum = NULL;
    if (drum_open(&drum, &options, &recovery) == RESULT_OK) {
        Result rc = drum_synchronize(drum);
        DrumStats stats;
        drum_stats(drum, &stats);
        if (rc == RESULT_OK && stats.sealed_generations != 0) {
            abort();
        }
        (void)drum_dispose(drum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char place[64], path[128];
    if (size < 1) {
        return 0;
    }
    uint8_t flags = data[0];
    Repository repository = {
        .interface = {.keys = (flags & 2) != 0 ? DRUM_KEYS_BYTES : DRUM_KEYS_NUMBERS,
                      .key_limit = 511,
                      .progress = fuzz_progress,
                      .begin = fuzz_begin,
                      .find = fuzz_find,
                      .put = fuzz_put,
                      .commit = fuzz_commit,
                      .abort = fuzz_abort}};
    (void)snprintf(place, sizeof place, "/dev/shm/fuzz-drum-%d", (int)getpid());
    (void)mkdir(place, 0755);
    int directory = open(place, O_RDONLY | O_DIRECTORY);
    if (directory < 0) {
        abort();
    }
    if ((flags & 1) != 0) {
        write_blocks(directory, repository.interface.keys, data + 1, size - 1);
    } else {
        write_raw(directory, data + 1, size - 1);
    }
    run_drum(place, flags, &repository);
    (void)close(directory);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s/%016x.drum%s", place, i / 2,
                       i % 2 == 0 ? "" : ".damaged");
        (void)unlink(path);
    }
    (void)rmdir(place);
    return 0;
}
