/* Zip writer: a ZIP file whose entries are stored as they are, or deflated, with the SHA-256 of
 * each.
 *
 * What: for containers such as WACZ: what is compressed already is stored, so that a viewer can
 * read parts of it; text is deflated. Entries are written one after the other; sizes and checksum
 * of an entry are put into its header when it ends, so the file has to be one that can be gone back
 * in. Entries and file may be larger than 4 Gi (zip64).
 *
 *   zip_writer_open --> (zip_writer_begin --> zip_writer_write* --> zip_writer_end)*
 *                   --> zip_writer_close
 *
 * Owns: the descriptor and the list of entries, about 100 bytes each.
 * Threads: one.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY; nothing that was written can be used then.
 * Source: PKWARE's APPNOTE.TXT 6.3.10. */
#pragma once

#include "base/core/clock.h"
#include "base/memory/buffer.h"

#define ZIP_SHA256_TEXT 65 /* hexadecimal, and NUL */

/* As APPNOTE.TXT numbers them. */
typedef enum ZipMethod { ZIP_STORED = 0, ZIP_DEFLATED = 8 } ZipMethod;

typedef struct ZipEntry {
    char *name;
    char sha256[ZIP_SHA256_TEXT];
    uint64_t size;
    uint64_t packed; /* bytes in the file; as many when it is stored */
    uint64_t offset; /* of its header */
    uint32_t crc32;
    ZipMethod method;
} ZipEntry;

typedef struct ZipWriter ZipWriter;

/* Creates the file or empties it; now: the time that all entries get. RESULT_INVALID: a file that
 * cannot be gone back in, such as a pipe. */
Result zip_writer_open(ZipWriter **writer, const char *path, WallTime now);
/* Begins an entry; name is copied. */
Result zip_writer_begin(ZipWriter *writer, const char *name, ZipMethod method);
Result zip_writer_write(ZipWriter *writer, const void *bytes, size_t length);
/* Ends it. *entry is borrowed until the next one begins. */
Result zip_writer_end(ZipWriter *writer, const ZipEntry **entry);
/* An entry that is stored as it is, from its beginning to its end. */
Result zip_writer_put(ZipWriter *writer, const char *name, const Buffer *text,
                      const ZipEntry **entry);
/* The i-th of the entries that have ended; NULL behind the last. */
const ZipEntry *zip_writer_entry(const ZipWriter *writer, size_t i);
/* Writes the directory, makes the file durable, and closes it. The writer is freed in every case.
 */
Result zip_writer_close(ZipWriter *writer);
/* Closes a file that is of no use; NULL is allowed. */
void zip_writer_abandon(ZipWriter *writer);

/* Zip reader: where the entries of a ZIP file are.
 *
 * What: the list of entries at the end of a mapped file, with 64-bit sizes where they are used.
 * Entries that are compressed are told, not read.
 * Owns: nothing; names are borrowed from the bytes.
 * Threads: pure.
 * Errors: RESULT_INVALID: no ZIP file, or a place in it lies outside.
 * Source: PKWARE's APPNOTE.TXT 6.3.10. */

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
