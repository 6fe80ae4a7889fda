/* A stream of links: what PageRank and HITS read, and what PageDB (page_stream.h) offers.
 *
 * What: consumers know only these types: a state, a function that yields the next link, and one
 * that rewinds.
 * Threads: a stream belongs to one thread.
 * Source: seeds 000 and 003, "LinkStream". */
#ifndef STORE_RECORDS_LINK_STREAM_H
#define STORE_RECORDS_LINK_STREAM_H

#include <stdint.h>

/* What a stream answers; the last two names of each pair are those of an older edition. */
typedef enum StreamState {
    stream_state_init = 0, /* nothing was read yet */
    stream_state_next,     /* an element was delivered */
    stream_state_end,      /* there are no more */
    stream_state_error,    /* reading failed; the database's Error has the words */
    link_stream_state_init = stream_state_init,
    link_stream_state_next = stream_state_next,
    link_stream_state_end = stream_state_end,
    link_stream_state_error = stream_state_error
} StreamState;

typedef struct Link {
    int64_t from; /* page index */
    int64_t to;   /* page index */
} Link;

/* Gets the next link; stream_state_next when *link was set. */
typedef StreamState(LinkStreamNextFunc)(void *state, Link *link);
/* Rewinds to the beginning; stream_state_init on success. */
typedef StreamState(LinkStreamResetFunc)(void *state);

#endif
