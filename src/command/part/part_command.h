/* Part copy: records of a crawl's WARC files, copied as they are into one stream.
 *
 * What: a capture (response, revisit, resource) is copied when its URL, its time and the filter
 * want it; its request and its metadata go with it. Before the first copied record of a file comes
 * that file's warcinfo record. A revisit record without the record that it refers to is worth
 * nothing, so that one is copied, too, wanted or not. Bytes are copied as they are stored, and
 * compressed anew only when the stream has another compression; so all digests stay.
 *
 * When URLs or hosts are chosen, only their captures are read, by the indices (text_source.h).
 *
 * Damage: as in command/text/text_source.h: a sentence, the record is passed over, and counted.
 * Owns: nothing that outlives the call. While not everything is wanted it remembers which captures
 * were copied: 32 bytes each.
 * Threads: one.
 * Errors: those of the sink; RESULT_MEMORY; RESULT_IO: the folder cannot be read (reported). */
#pragma once

#include "command/text/text_source.h"
#include "crawl/progress.h"

typedef struct PartSink {
    WarcCompression compression; /* of the stream */
    void *context;
    Result (*write)(void *context, const char *bytes, size_t length);
    /* The index line of a capture that was written; NULL: none is made. */
    Result (*index)(void *context, const char *line, size_t length);
    const char *filename; /* of the stream, for the index */
} PartSink;

typedef struct PartCounts {
    TextCounts source;  /* what was read, and what could not be */
    uint64_t records;   /* that were copied */
    uint64_t captures;  /* of these */
    uint64_t bytes;     /* of the stream */
    uint64_t originals; /* captures that were copied for a revisit alone */
    uint64_t orphans;   /* revisits whose original is not in the archive */
} PartCounts;

/* Of wanted statuses do not count. */
Result part_copy(const TextWanted *wanted, const PartSink *sink, Progress *progress,
                 PartCounts *counts);

/* `ragno export DIR warc`: a part of a crawl's archive, as one WARC file.
 *
 * What: the records of captures that the command line wants (part_command.h), to a file or standard
 * output, with a summary on standard error.
 * Threads: main. */

/* Runs the command. Exit status: 0 also when `| head` has had enough; 2 usage; 3 a file cannot be
 * read or written; 17 records were damaged and passed over. */
int warc_export_main(int argc, char **argv);
