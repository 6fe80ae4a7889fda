/* Names and recovery of the files of a WARC directory; the other half of store/archive/warc.h. */
#ifndef STORE_ARCHIVE_WARC_FILES_H
#define STORE_ARCHIVE_WARC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"
#include "base/core/result.h"
#include "store/archive/warc.h"

#define WARC_OPEN_SUFFIX ".open"
#define WARC_NAME_BYTES  256

typedef struct WarcName {
    char text[WARC_NAME_BYTES]; /* "x.warc.gz", "x.warc.zst", never with .open */
} WarcName;

/* The name's suffix is that of the compression, whatever the pattern ends in. RESULT_INVALID:
 * unknown placeholder, no {serial}, a slash, not .warc, .warc.gz or .warc.zst, too long. */
Result warc_name_make(const char *pattern, WallTime date, uint32_t serial, const char *host,
                      WarcCompression compression, WarcName *name);

/* Appends "DIRECTORY/NAME" (with .open when open), or the path of its index or journal. */
Result warc_path(Buffer *path, const char *directory, const char *name, bool open);
Result warc_index_path(Buffer *path, const char *directory, const char *name, bool open);

/* One file found in a directory. */
typedef struct WarcFile {
    char *name; /* without .open; owned */
    WarcCompression compression;
    uint32_t serial; /* from its warcinfo; 0 = not one of ours, or unreadable */
    bool open;
    bool readable; /* its warcinfo record is */
    uint64_t size;
    WallTime date; /* of its warcinfo record */
} WarcFile;

typedef struct WarcFileList {
    WarcFile *files; /* by serial, then name */
    size_t n;
} WarcFileList;

/* All NAME.warc.gz and NAME.warc.zst in directory, with and without .open. */
Result warc_files_list(const char *directory, WarcFileList *list);
void warc_files_free(WarcFileList *list);

/* Writes the index lines of the first end bytes of a file to out_path; RESULT_DAMAGED: end is not
 * the end of a record, or a record before it is broken (logged). */
Result warc_files_index(const char *warc_path, const char *filename, uint64_t end,
                        const char *out_path);

/* Sorts the journal into the index and takes .open from the name. */
Result warc_files_finish(const char *directory, const char *name, size_t memory_bytes);

/* The files to go on with after a recovery: cut, journals rebuilt. */
typedef struct WarcCurrent {
    WarcFile files[WARC_FILES_MAX];
    unsigned n;
    uint32_t last_serial; /* the highest number in use */
} WarcCurrent;

/* Recovery as warc_open describes it. */
Result warc_files_recover(const char *directory, const WarcEnd *committed, size_t memory_bytes,
                          WarcCurrent *current);
/* Frees the names. */
void warc_current_free(WarcCurrent *current);

/* Makes renames, creations and removals in directory durable. */
Result warc_files_sync_directory(const char *directory);

#endif
