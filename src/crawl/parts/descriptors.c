#include "crawl/parts/descriptors.h"

#define ELSEWHERE_MOST 256u /* logs, database, WARC files, sieve, DNS, operators */

static size_t descriptors_lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

DescriptorShare descriptors_share(uint64_t limit, size_t busy, size_t idle, size_t threads)
{
    size_t wanted = busy + idle / threads;
    if (limit == DESCRIPTORS_NO_LIMIT || limit > SIZE_MAX) {
        return (DescriptorShare){.most = SIZE_MAX, .busy = busy, .kept = wanted};
    }
    size_t files = (size_t)limit;
    size_t room = files - descriptors_lesser(ELSEWHERE_MOST, files / 4);
    /* A quarter is for connections between two fetches: they are opened anew without it. */
    size_t most = room - room / 4;
    DescriptorShare share = {.most = most > 0 ? most : 1};
    share.busy = descriptors_lesser(busy, share.most);
    /* The threads together keep no more than what those in use leave. */
    size_t left = room > share.busy ? (room - share.busy) / threads : 0;
    share.kept = descriptors_lesser(wanted, left > 0 ? left : 1);
    return share;
}
