/* WARC writer, its types: options and what was written.
 *
 * What: the types that its parts share; warc.h has the functions.
 * Owns: what each comment says.
 * Threads: as warc.h says. */
#pragma once

#include "store/archive/warc_record.h"

#define WARC_DEFAULT_PATTERN   "ragno-{timestamp}-{serial:05}.warc"
#define WARC_DEFAULT_MAX_BYTES ((uint64_t)1 << 30)

typedef struct Warc Warc;

/* All strings are copied. */
typedef struct WarcOptions {
    const char *directory; /* is there */
    const char *pattern;   /* of names; NULL = WARC_DEFAULT_PATTERN. {timestamp}, {serial} (needed),
                              {serial:0N}, {host}; ends in .warc, to which the
                              compression adds .gz or .zst */
    const char *host;      /* name of this machine, or NULL */
    uint64_t max_bytes;    /* a file does not get larger unless one group is; 0 = default */
    int64_t max_age_ms;    /* nor older, by the dates of its records; 0 = no matter */
    WarcCompression compression; /* of the groups, and of warcinfo */
    int level;                   /* of compressing warcinfo; 0 = default */
    /* For warcinfo; NULL leaves a field out. */
    const char *user_agent; /* http-header-user-agent */
    const char *from;       /* http-header-from */
} WarcOptions;

/* A record in the files of a directory. */
typedef struct WarcPosition {
    uint32_t file; /* number of the file, from 1 */
    uint64_t offset;
    uint64_t length;
} WarcPosition;

/* Where the archive ends: in the newest file. Files with lower numbers are whole. */
typedef struct WarcEnd {
    uint32_t file; /* 0: there is nothing */
    uint64_t offset;
} WarcEnd;
