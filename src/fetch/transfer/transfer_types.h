/* Transfer, its types: one request under way.
 *
 * What: the types that its parts share; transfer.h has the functions.
 * Owns: what each comment says.
 * Threads: as transfer.h says. */
#pragma once

#include <curl/curl.h>

#include "fetch/connect/connect_key.h"
#include "fetch/connect/lanes.h"
#include "fetch/connect/port_map.h"
#include "fetch/transfer/fetcher_rules.h"

#define TRANSFER_BODY_BYTES  4096u /* first room of a body that does not say how long it is */
#define TRANSFER_LARGE_BYTES ((size_t)64 << 10) /* of a body: beyond it half of the gate is its */

typedef struct TransferShared {
    const FetcherOptions *options;
    PortMap ports;
    /* The lines of most requests: those that FetcherOptions say. */
    char *headers; /* that the lines below are made of: the options may change meanwhile */
    char *accept_language;
    struct curl_slist *page_headers;   /* owned */
    struct curl_slist *robots_headers; /* owned: no content coding */
    uint64_t *connections;             /* counted here; the fetching thread's, as what is below */
    Heap *paused;                      /* transfers that wait for the gate, by when they began to */
    SocketWatch *sockets;
    TransferClock *clock;
    FetcherRules *rules;
    MonoTime now; /* of the thread's run clock, as of this turn of its loop */
    TlsContext *tls;
    bool has_http2; /* libcurl was built with it; one that was not refuses to be told of it */
} TransferShared;

typedef struct Transfer {
    TransferShared *shared;
    CURL *easy;
    CURLU *parsed;           /* the URL as libcurl has parsed it */
    Lane *lane;              /* in which it is, or was last */
    VisitState *visit_state; /* whose it is; NULL when free */
    FetchResult *result;     /* being filled */
    WindowUrl url;           /* taken out of the window, with others that are in flight */
    bool has_url;
    struct curl_slist connect_to; /* a list of one: connect_key */
    struct curl_slist *lines;     /* of this request alone; owned, but for the shared ones behind */
    struct curl_slist *last_line; /* the last that is owned; NULL: all are shared */
    size_t n_secrets;             /* the first of the lines are from the file of credentials */
    bool is_proxied;
    bool is_direct;          /* what libcurl was told last: no proxy */
    uint64_t max_page_bytes; /* read to its end, at most */
    char connect_key[CONNECT_KEY_BYTES];
    Flight flight;        /* while it is asked for */
    bool is_page;         /* not a robots.txt */
    TransferTimer timer;  /* in TransferShared.clock while it goes on */
    int64_t most_bytes_s; /* that the operator lets the host send; 0: no matter */
    MonoTime begun;       /* by the run clock; the timer's start moves with each pause */
    TlsPeer peer;
    HeapNode by_pause;    /* in TransferShared.paused while it waits for the gate */
    bool has_header;      /* of the answer, whole */
    size_t n_unwanted;    /* bytes of an unwanted body that were thrown away */
    bool favoured;        /* it need not wait: what it holds must be able to leave */
    bool refused_address; /* the socket was not opened: special address */
    bool is_new;          /* a socket was opened for it */
    bool is_connected;    /* the request went out, or was about to */
    bool was_kept;        /* on a connection that others had used */
    bool would_repeat;    /* libcurl was about to send it once more */
    long sent_before;     /* bytes sent before the request: a CONNECT */
    bool is_aborted;      /* the crawl stops */
    bool header_overflow;
    bool body_overflow;
    bool was_held_up;  /* the thread did not run meanwhile */
    int local_errno;   /* of the system call that failed for a reason of this machine; 0 */
    TransferLate late; /* broken off for this */
    bool made_room;    /* for others that waited: it is asked for again, whatever had come */
    char error[CURL_ERROR_SIZE];
    struct Transfer *next_free;
} Transfer;
