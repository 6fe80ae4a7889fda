#include <stdlib.h>
#include <string.h>

#include "store/frequency/freq_scheduler.h"
#include "store/pages/page_stream.h"

#define FIRST_PAGES 1024u

static FreqSchedulerError freq_algo_fail(char **error_message, FreqSchedulerError code,
                                         const char *what)
{
    if (error_message != NULL) {
        *error_message = strdup(what);
    }
    return code;
}

/* Appends the frequencies of all pages; *n = how many. */
static FreqSchedulerError freq_algo_collect(HashInfoStream *stream, MMapArray *freqs, size_t *n)
{
    uint64_t hash = 0;
    PageInfo *info = NULL;
    StreamState state = hashinfo_stream_next(stream, &hash, &info);
    for (; state == stream_state_next; state = hashinfo_stream_next(stream, &hash, &info)) {
        PageFreq freq = {.hash = hash, .freq = info->n_crawls >= 2 ? page_info_rate(info) : -1.0f};
        page_info_delete(info);
        info = NULL;
        if (!(freq.freq > 0.0f)) {
            continue;
        }
        if (*n == freqs->n_elements && mmap_array_resize(freqs, *n * 2) != mmap_array_error_ok) {
            return freq_scheduler_error_memory;
        }
        if (mmap_array_set(freqs, *n, &freq) != mmap_array_error_ok) {
            return freq_scheduler_error_internal;
        }
        *n += 1;
    }
    return state == stream_state_error ? freq_scheduler_error_internal : freq_scheduler_error_ok;
}

FreqSchedulerError freq_algo_simple(PageDB *db, MMapArray **freqs, const char *path,
                                    char **error_message)
{
    if (error_message != NULL) {
        *error_message = NULL;
    }
    MMapArray *array = *freqs = NULL;
    HashInfoStream *stream = NULL;
    if (mmap_array_new(&array, path, FIRST_PAGES, sizeof(PageFreq)) != mmap_array_error_ok) {
        return freq_algo_fail(error_message, freq_scheduler_error_memory,
                              "freq_algo_simple: the array cannot be made");
    }
    if (hashinfo_stream_new(&stream, db) != page_db_error_ok) {
        (void)mmap_array_delete(array);
        return freq_algo_fail(error_message, freq_scheduler_error_internal,
                              "freq_algo_simple: the database cannot be read");
    }
    size_t n = 0;
    FreqSchedulerError code = freq_algo_collect(stream, array, &n);
    hashinfo_stream_delete(stream);
    if (code == freq_scheduler_error_ok &&
        mmap_array_resize(array, n == 0 ? 1 : n) != mmap_array_error_ok) {
        code = freq_scheduler_error_memory;
    }
    if (code != freq_scheduler_error_ok) {
        (void)mmap_array_delete(array);
        return freq_algo_fail(error_message, code,
                              "freq_algo_simple: the rates cannot be collected");
    }
    *freqs = array;
    return code;
}
