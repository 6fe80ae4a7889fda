/* Name watch: whether names cannot be resolved because of our own network or name server.
 *
 * What: outage.h with the names that had an address lately. When there is suspicion, some of these
 * are asked for again, past the cache: a name that exists is proof that name servers answer, and
 * that they do not lie. As long as none exists any more, nobody is charged, and the canary asks
 * again ever more rarely, up to every 15 seconds. A name server that has never said anything is our
 * trouble, too: then the canary is a name that failed. But nothing tells it from a name that nobody
 * can resolve: behind NAME_WATCH_MUTE_MS names are charged with it, and end by the retry table.
 *
 *   CLEAR --a name fails--> SUSPECTED --name_watch_take() gives names to ask--> name_watch_heard()
 *
 * Owns: copies of names.
 * Threads: the resolver's. Time is a parameter. */
#pragma once

#include "fetch/outage/outage.h"

#define NAME_WATCH_KNOWN   8u     /* names that had an address lately */
#define NAME_WATCH_LEAST   3u     /* hosts that make a canary, besides the one that fails */
#define NAME_WATCH_MUTE_MS 120000 /* silence from the start is ours for so long */
#define NAME_WATCH_BYTES   256u   /* of a name; longer ones are not remembered */

typedef struct NameWatch {
    Outage outage;
    char known[NAME_WATCH_KNOWN][NAME_WATCH_BYTES];
    unsigned n_known;
    unsigned next_known; /* to be replaced */
    bool ever_answered;  /* by any name server, whatever it said */
    MonoTime mute_since; /* the first silence, while none ever has; 0: there was none */
    unsigned n_asked;    /* by this canary, and not answered yet */
    bool heard;          /* by this canary */
    int64_t pause_ms;    /* until the next canary */
    MonoTime next;       /* canary; MONO_NEVER: there is nothing to ask */
} NameWatch;

typedef struct NameFailure {
    const char *hostname;
    bool
        is_silence; /* nobody answered; otherwise the answer was that there is none, or a failure */
    bool was_well;  /* the host had not failed just before */
    MonoTime asked;
} NameFailure;

void name_watch_init(NameWatch *watch);
/* A name server said that the name has an address. True: the state changed to CLEAR. */
bool name_watch_answered(NameWatch *watch, const char *hostname, MonoTime now);
/* True: it is ours, nobody is to be charged, and the answer is not to be kept. */
bool name_watch_failed(NameWatch *watch, const NameFailure *failure, MonoTime now);

/* Names to be asked for now, past the cache; their number is at most NAME_WATCH_KNOWN. Each is owed
 * a call of name_watch_heard. They are good until the next call of anything here. */
unsigned name_watch_take(NameWatch *watch, const char *names[NAME_WATCH_KNOWN], MonoTime now);
/* A name of the canary has its answer. True: the state changed. */
bool name_watch_heard(NameWatch *watch, bool has_address, MonoTime now);
/* When name_watch_take will have something. */
MonoTime name_watch_next(const NameWatch *watch);
