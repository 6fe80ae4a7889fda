/* Seeds: files of one URL per line, with '#' comments. "-" is standard input.
 *
 * What: a line is a URL, blanks and a source tag (any word, shown in crawl.log behind what is found
 * from this seed), blanks and '#' with a comment; tag and comment may be missing. A line without a
 * scheme ("example.org/x") gets http://. User information is removed unless it is to be kept. A
 * line that is no URL, has more behind it, or whose port is not connected to, is reported with file
 * and line, and reading goes on.
 * Threads: main. */
#pragma once

#include "parse/host/port_set.h"
#include "store/pages/page_db.h"

typedef struct SeedReader {
    void *context;
    /* Takes a batch; the strings are the reader's. tags: NULL where there is none. */
    Result (*batch)(void *context, const LinkInfo *seeds, const char *const *tags, size_t n);
    const PortSet *ports;  /* seeds with other ports are left out; NULL: bad ones; borrowed */
    bool keep_credentials; /* "user:password@" */
    uint64_t good;
    uint64_t bad;
} SeedReader;

/* Looks at the files and words before anything is created. *found is true when they hold at least
 * one seed. RESULT_INVALID: a word is no seed, a file UTF-16 or compressed. RESULT_NOT_FOUND,
 * RESULT_IO: a file cannot be read. error says which. */
Result seeds_probe(const char *const *paths, size_t n_paths, char *const *words, size_t n_words,
                   bool *found, Buffer *error);
/* RESULT_NOT_FOUND, RESULT_IO (a message was printed), or what batch returned. */
Result seeds_read_file(SeedReader *reader, const char *path);
/* URLs from the command line, each a word: what stands in it, blanks too, is of the URL. */
Result seeds_read_words(SeedReader *reader, char *const *words, size_t n);
