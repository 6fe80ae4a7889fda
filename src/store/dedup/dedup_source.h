/* Dedup source: captures that the index of another crawl tells of.
 *
 * What: a word of warc.dedup_against is one of
 *
 *   FILE          lines of CDXJ, plain or compressed by gzip or Zstandard
 *   FILE.wacz     the same lines in its entries indexes/NAME, which ZIP itself must not compress
 *   DIR           a crawl of ours (the indices in DIR/warc), or a folder with NAME.cdxj files
 *
 * A list has the files that the words come to, so that they can be compared with those of the last
 * time without reading them.
 * Owns: a list owns its paths.
 * Threads: any; pure but for the files.
 * Errors: RESULT_INVALID, RESULT_NOT_FOUND and those of files: error has a sentence with the name.
 * Source: the CDXJ of pywb; WACZ 1.1.1. */
#ifndef STORE_DEDUP_DEDUP_SOURCE_H
#define STORE_DEDUP_DEDUP_SOURCE_H

#include <stddef.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "store/cdxj/cdxj.h"

typedef struct DedupSources {
    char **paths;
    size_t n;
    Buffer stamps; /* a line for each: path, bytes, time of the last change */
} DedupSources;

/* words: separated by blanks. Destroy it in any case. */
Result dedup_sources_find(DedupSources *sources, const char *words, Buffer *error);
void dedup_sources_destroy(DedupSources *sources);

/* Calls found for each line of the file that is one of CDXJ; *others: the lines that are not.
 * RESULT_INVALID: no ZIP file, or no index in it; RESULT_DAMAGED: its compression is broken; or
 * what found returned. */
Result dedup_source_read(const char *path, Result (*found)(void *context, const CdxjEntry *entry),
                         void *context, uint64_t *others);

#endif
