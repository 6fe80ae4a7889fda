/* Desk reply: the lines of an answer.
 *
 * What: formatted lines of data, and the last line.
 * Threads: main. */
#pragma once

#include "crawl/control/control_server.h"
#include "crawl/run/helm.h"

/* Desk state: what the modules of the desk share.
 *
 * What: the control server, the helm and the monitor that requests are about, and the requests that
 * are still being answered.
 * Owns: the control server. Helm and monitor are borrowed.
 * Threads: main. */

#define DESK_WHO_BYTES 64

/* A client that gets the status again and again. */
typedef struct DeskFollower {
    ControlClient client;
    bool json;
} DeskFollower;

/* A client that waits until all agents have heard of its order. */
typedef struct DeskOrdered {
    ControlClient client;
    uint64_t ticket;
    EdictVerb verb;
    char *text; /* of the answer; of a host, or what is to be forgotten: its name; owned */
} DeskOrdered;

typedef struct Desk {
    ControlServer *server;
    Helm *helm;
    Monitor *monitor;
    DeskFollower followers[CONTROL_CLIENTS];
    size_t n_followers;
    MonoTime next_line;   /* for followers */
    ControlClient copier; /* who waits for the checkpoint */
    bool has_copier;
    DeskOrdered ordered[CONTROL_CLIENTS];
    size_t n_ordered;
    uint64_t last_ticket;
    Edicts edicts;       /* of all agents */
    uint64_t edict_done; /* here: the number that was carried out last */
    bool edict_waits;    /* for the tables */
    bool is_first;       /* nothing was carried out yet by this process */
    Buffer text;         /* scratch */
} Desk;

typedef struct DeskRequest {
    ControlClient client;
    char *const *words; /* words[0] is the command; borrowed */
    size_t n;
    char who[DESK_WHO_BYTES]; /* "uid=0 pid=77", for the log */
} DeskRequest;

void desk_say(Desk *desk, ControlClient client, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The last line: done. */
void desk_ok(Desk *desk, const DeskRequest *request);
/* The last line, with a note: done; it cannot be done; it is not understood. */
void desk_end(Desk *desk, const DeskRequest *request, ControlEnd end, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define desk_done(desk, request, ...)          desk_end(desk, request, CONTROL_OK, __VA_ARGS__)
#define desk_refuse(desk, request, ...)        desk_end(desk, request, CONTROL_ERROR, __VA_ARGS__)
#define desk_misunderstand(desk, request, ...) desk_end(desk, request, CONTROL_USAGE, __VA_ARGS__)
