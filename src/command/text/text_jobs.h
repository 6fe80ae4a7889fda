/* Text jobs: the WARC files of a crawl, cut into pieces that threads read side by side.
 *
 * What: a piece is a range of a file that begins where a record begins. A record belongs to the
 * piece that it begins in. The index of a file (or its journal) says where records begin; a file
 * without one is a single piece. A file that cannot be read is a piece, too, and the thread that
 * reads it reports it. Files that were last written before `since` hold nothing newer and are left
 * out.
 * Owns: the list.
 * Threads: one makes it, all read it. */
#pragma once

#include "store/archive/warc_files.h"

typedef struct TextJob {
    size_t file;   /* of files */
    uint64_t from; /* where its first record begins */
    uint64_t to;   /* records that begin here or later are the next piece's */
} TextJob;

typedef struct TextJobs {
    WarcFileList files; /* in the order in which they were begun */
    TextJob *jobs;      /* in the order of files, and within a file */
    size_t n;
    uint64_t bytes; /* of all pieces */
} TextJobs;

/* Lists what is in directory (a crawl's warc folder); pieces have about job_bytes. since:
 * microseconds; INT64_MIN: all files. RESULT_IO: the folder cannot be read (reported);
 * RESULT_MEMORY. text_jobs_free in every case. */
Result text_jobs_make(TextJobs *jobs, const char *directory, WallTime since, uint64_t job_bytes);
void text_jobs_free(TextJobs *jobs);

/* Text choice: which URLs of an archive are wanted, as a command line names them.
 *
 * What: --url names a URL, or with `*` at its end all that begin so; --host names a host, or with a
 * dot in front all below a domain and the domain. Both may be given again and again: a URL is
 * wanted when one of them names it, or when none was given. The answer of a name server
 * ("dns:HOST") belongs to its host.
 * Owns: its words.
 * Threads: made by one, asked by all.
 * Errors: RESULT_INVALID: no URL or host; RESULT_MEMORY. */

typedef struct TextChosen {
    char *word; /* owned */
    bool is_host;
} TextChosen;

typedef struct TextChoice {
    TextChosen *all;
    size_t n;
} TextChoice;

void text_choice_destroy(TextChoice *choice);
/* Brings a word into the form that URLs have in an archive, and adds it. */
Result text_choice_add_url(TextChoice *choice, const char *word);
Result text_choice_add_host(TextChoice *choice, const char *word);
bool text_choice_admits(const TextChoice *choice, WarcBytes url);

/* Text places: where the captures of chosen URLs and hosts are, by the indices of an archive.
 *
 * What: of each finished file that an index has lines of, the offsets of the captures that the
 * choice admits, ascending. So a part of an archive is read without the rest. A file without such
 * lines is to be read whole, and so is one that is being written, because its journal is behind it.
 * Owns: the list, 16 bytes for each capture.
 * Threads: one.
 * Errors: RESULT_IO, RESULT_MEMORY. */

/* Makes the pieces of finished files as small as what the choice admits; what lies near together is
 * one piece. directory: the one that jobs was made of. */
Result text_places_cut(TextJobs *jobs, const char *directory, const TextChoice *choice);
