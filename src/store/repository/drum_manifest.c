#include "store/repository/drum_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/core/hash.h"

#define MANIFEST         "manifest"
#define MANIFEST_NEW     "manifest.new"
#define MANIFEST_MAGIC   UINT64_C(0x54534E5552474152)
#define MANIFEST_VERSION 1u

void drum_manifest_run_name(uint64_t number, char name[DRUM_MANIFEST_NAME_BYTES])
{
    (void)snprintf(name, DRUM_MANIFEST_NAME_BYTES, "%016" PRIx64 ".run", number);
}

Result drum_manifest_read(int directory, DrumManifest *manifest)
{
    int fd = openat(directory, MANIFEST, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        *manifest = (DrumManifest){.magic = MANIFEST_MAGIC, .version = MANIFEST_VERSION};
        return RESULT_OK;
    }
    if (fd < 0) {
        return result_of_errno(errno);
    }
    ssize_t n = read(fd, manifest, sizeof *manifest);
    int error = errno;
    (void)close(fd);
    if (n < 0) {
        return result_of_errno(error);
    }
    if (n >= 12 && manifest->magic == MANIFEST_MAGIC && manifest->version != MANIFEST_VERSION) {
        return RESULT_VERSION;
    }
    bool good = n == (ssize_t)sizeof *manifest && manifest->magic == MANIFEST_MAGIC &&
                manifest->n_runs <= DRUM_MANIFEST_RUNS &&
                manifest->checksum == hash_64(manifest, offsetof(DrumManifest, checksum), 0);
    return good ? RESULT_OK : RESULT_DAMAGED;
}

Result drum_manifest_write(int directory, DrumManifest *manifest, bool *replaced)
{
    *replaced = false;
    manifest->checksum = hash_64(manifest, offsetof(DrumManifest, checksum), 0);
    int fd = openat(directory, MANIFEST_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    ssize_t n = write(fd, manifest, sizeof *manifest);
    if (n != (ssize_t)sizeof *manifest) {
        rc = n < 0 ? result_of_errno(errno) : RESULT_FULL;
    } else if (fsync(fd) != 0) {
        rc = result_of_errno(errno);
    }
    (void)close(fd);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (renameat(directory, MANIFEST_NEW, directory, MANIFEST) != 0) {
        return result_of_errno(errno);
    }
    *replaced = true;
    return fsync(directory) == 0 ? RESULT_OK : result_of_errno(errno);
}
