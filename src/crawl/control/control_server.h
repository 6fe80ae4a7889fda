/* Control server: the socket of a running crawl, and who is connected to it.
 *
 *   client --line--> [in] --> control_words_parse --> sink.take --(control_server_say)--> [out]
 *                                                       '--> control_server_end
 *
 * What: a request is a line of words (control_link.h). The reply is any number of lines of data,
 * each with a blank before it, and one last line:
 *
 *   ok                 done
 *   error SENTENCE     understood, but it cannot be done
 *   usage SENTENCE     not understood
 *
 * A request is answered before the next one of the same client is read. An answer may take as long
 * as it needs; others are served meanwhile.
 *
 * Owns: the socket DIR/control and all clients.
 * Threads: main. Nothing here waits: control_server_fd tells when there is something to do.
 *
 * Invariants:
 *  1. The socket's mode is 0600: only the user who crawls, and root, can connect.
 *  2. Memory is bounded: CONTROL_CLIENTS clients, CONTROL_LINE_BYTES of a request, CONTROL_UNREAD
 *     of an answer that is not read. One more client takes the place of the one that has been
 * silent longest and waits for nothing; a client that does not read its answer is left.
 *
 * Errors: whatever a client sends gets a sentence. */
#pragma once

#include <sys/types.h>

#include "crawl/control/control_link.h"

#define CONTROL_CLIENTS 64u
#define CONTROL_UNREAD  ((size_t)8 << 20) /* bytes */

typedef struct ControlServer ControlServer;
typedef uint64_t ControlClient; /* never used twice */

/* Who is on the other side, by SO_PEERCRED. */
typedef struct ControlPeer {
    uid_t uid;
    pid_t pid;
} ControlPeer;

typedef struct ControlSink {
    void *context;
    /* Receives a request; words are borrowed. It must be answered with control_server_end, now or
     * later. */
    void (*take)(void *context, ControlClient client, const ControlPeer *peer,
                 const ControlWords *words);
    /* The client has left while it waited for the end of an answer. */
    void (*gone)(void *context, ControlClient client);
} ControlSink;

/* Listens on DIR/control, in place of a socket that a crash has left. The caller holds the
 * directory's lock. RESULT_IO and the like: error holds one sentence. */
Result control_server_open(ControlServer **server, const char *directory, const ControlSink *sink,
                           Buffer *error);
/* Ends all clients and removes the socket. NULL is allowed. */
void control_server_close(ControlServer *server);

/* Readable when there is something to do. */
int control_server_fd(const ControlServer *server);
/* Does what there is to do. */
void control_server_serve(ControlServer *server);

/* One line of data; line ends in it become blanks. Nothing happens when the client has left. */
void control_server_say(ControlServer *server, ControlClient client, const char *line);
typedef enum ControlEnd { CONTROL_OK, CONTROL_ERROR, CONTROL_USAGE } ControlEnd;
/* The last line of an answer; sentence may be NULL with CONTROL_OK. */
void control_server_end(ControlServer *server, ControlClient client, ControlEnd end,
                        const char *sentence);
