/* The edict desk: what an operator orders at one agent reaches all (cluster/whole/edicts.h).
 *
 *   edict_desk_give --> the key "edicts" --> each agent: EdictSinks.apply --> edict_desk_applied
 *          ^                                                                        |
 *          '--- told: who has carried it out, and who is away <-- NODE_ASK_EDICTS --'
 *
 * What: an edict is put into the key by compare-and-set, and then each agent is asked until it says
 * that it has carried it out, or nobody is there, or EDICT_ANSWER_MS have passed. An agent looks at
 * the key when it begins, when its connection is there again, when time has passed that it did not
 * notice, and when it hears of a change. Until it has carried out what it finds there, it asks for
 * no lease (edict_desk_is_fresh), and so begins no request.
 *
 * Owns: the newest edicts that were seen, and what waits for answers. Time is a parameter; belongs
 * to one thread.
 * Invariants:
 *  1. Each edict_desk_give is followed by one EdictSinks.told, unless the desk ends before.
 *  2. An agent that says that it has carried out a number has kept that on disk. */
#pragma once

#include "cluster/desk/members.h"
#include "cluster/whole/edicts.h"

#define EDICTS_KEY      "edicts"
#define EDICT_ANSWER_MS 6000 /* for all of it */
#define EDICT_GIVEN     16u  /* at the same time */
#define EDICT_TEXTS     32u  /* of the last ones carried out here */

typedef struct EdictSinks {
    void *context;
    /* There are newer ones: they are to be carried out in order, edict_desk_applied after each. */
    void (*apply)(void *context, const Edicts *edicts);
    /* What came of edict_desk_give: RESULT_OK, and who has carried it out (by_all: its number, when
     * all agents have, and so all that are older); RESULT_LIMIT, or RESULT_CLOSED: nobody has heard
     * of it. */
    void (*told)(void *context, uint64_t ticket, Result rc, uint64_t by_all, const char *text);
} EdictSinks;

typedef enum EdictHeard { EDICT_UNHEARD, EDICT_DONE, EDICT_AWAY } EdictHeard;

/* One that was given here. */
typedef struct EdictGiven {
    Edicts one; /* a list of it alone */
    uint64_t ticket;
    uint64_t serial;
    uint64_t proposal; /* its number in what is being put; 0: it is not in it */
    uint64_t number;   /* once it is stored */
    uint8_t *heard;    /* EdictHeard by agent; owned */
    uint32_t n;
    Buffer said; /* by agents */
    MonoTime end;
    MonoTime next_ask;
} EdictGiven;

typedef struct EdictText {
    uint64_t number;
    char *text; /* owned */
} EdictText;

typedef struct EdictDesk {
    NodeLink *link; /* borrowed */
    EdictSinks sinks;
    Key key;
    Edicts edicts;    /* the newest that were seen */
    Edicts proposed;  /* being put; last 0: what is being put is put back */
    uint64_t applied; /* here */
    uint64_t last;    /* serial given */
    MonoTime settled; /* a look that began before may not show what a server has forgotten */
    bool fresh;       /* a look that began after the last doubt was answered */
    EdictGiven given[EDICT_GIVEN];
    size_t n_given;
    EdictText texts[EDICT_TEXTS]; /* a ring */
    size_t next_text;
} EdictDesk;

void edict_desk_init(EdictDesk *desk, NodeLink *link, const EdictSinks *sinks);
void edict_desk_destroy(EdictDesk *desk);
/* What this directory has kept: those of another crawl are dropped. RESULT_MEMORY. */
Result edict_desk_begin(EdictDesk *desk, const Edicts *kept);

/* settled: until then others may have to put back what a server has forgotten. */
void edict_desk_up(EdictDesk *desk, MonoTime settled, MonoTime now);
/* Something may have been ordered that this agent has not heard of. */
void edict_desk_doubt(EdictDesk *desk, MonoTime now);
/* Whether everything that was ordered is carried out here. */
bool edict_desk_is_fresh(const EdictDesk *desk);

/* Copies the texts. */
void edict_desk_give(EdictDesk *desk, const Edict *edict, uint64_t ticket, MonoTime now);
/* Carried out here, and kept; text: what there is to say about it, "" for nothing. */
void edict_desk_applied(EdictDesk *desk, uint64_t number, const char *text);
/* Another node asks whether a number is carried out here. */
void edict_desk_asked(EdictDesk *desk, NodeMessage *in, MonoTime now);
/* What came of a look, a put or a question. */
void edict_desk_take(EdictDesk *desk, NodeMessage *in, MonoTime now);
void edict_desk_work(EdictDesk *desk, MonoTime now);
MonoTime edict_desk_next(const EdictDesk *desk);
