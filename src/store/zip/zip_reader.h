/* Zip reader: where the entries of a ZIP file are.
 *
 * What: the list of entries at the end of a mapped file, with 64-bit sizes where they are used.
 * Entries that are compressed are told, not read.
 * Owns: nothing; names are borrowed from the bytes.
 * Threads: pure.
 * Errors: RESULT_INVALID: no ZIP file, or a place in it lies outside.
 * Source: PKWARE's APPNOTE.TXT 6.3.10. */
#ifndef STORE_ZIP_ZIP_READER_H
#define STORE_ZIP_ZIP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct ZipMember {
    const char *name;
    size_t name_length;
    bool is_stored;  /* neither compressed nor encrypted */
    uint64_t offset; /* of its bytes in the file */
    uint64_t size;   /* of these */
} ZipMember;

/* Calls found for each entry, until it does not return RESULT_OK; that is returned. */
Result zip_members_walk(const char *bytes, uint64_t length,
                        Result (*found)(void *context, const ZipMember *member), void *context);

#endif
