/* A sequence of links between pages, each named by its index: what PageRank and HITS read.
 *
 * A stream is a state and two functions. next gives one link after the other and answers
 * stream_state_next for each, then stream_state_end, or stream_state_error; reset begins again at
 * the first link. Links from one page usually come together, but nobody may rely on it.
 * Source: seeds 000 and 003, "LinkStream". */
#ifndef STORE_LINK_STREAM_H
#define STORE_LINK_STREAM_H

#include <stdint.h>

typedef enum StreamState {
    stream_state_init,
    stream_state_next,
    stream_state_end,
    stream_state_error
} StreamState;

typedef struct Link {
    int64_t from;
    int64_t to;
} Link;

typedef StreamState(LinkStreamNextFunc)(void *state, Link *link);
typedef StreamState(LinkStreamResetFunc)(void *state);

#endif
