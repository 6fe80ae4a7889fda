/* Desk state: what the modules of the desk share.
 *
 * What: the control server, the helm and the monitor that requests are about, and the requests that
 * are still being answered.
 * Owns: the control server. Helm and monitor are borrowed.
 * Threads: main. */
#ifndef CRAWL_DESK_DESK_STATE_H
#define CRAWL_DESK_DESK_STATE_H

#include "crawl/control/control_server.h"
#include "crawl/run/helm.h"

#define DESK_WHO_BYTES 64

/* A client that gets the status again and again. */
typedef struct DeskFollower {
    ControlClient client;
    bool json;
} DeskFollower;

typedef struct Desk {
    ControlServer *server;
    Helm *helm;
    Monitor *monitor;
    DeskFollower followers[CONTROL_CLIENTS];
    size_t n_followers;
    MonoTime next_line;   /* for followers */
    ControlClient copier; /* who waits for the checkpoint */
    bool has_copier;
    Buffer text; /* scratch */
} Desk;

typedef struct DeskRequest {
    ControlClient client;
    char *const *words; /* words[0] is the command; borrowed */
    size_t n;
    char who[DESK_WHO_BYTES]; /* "uid=0 pid=77", for the log */
} DeskRequest;

#endif
