/* Misfortune: what befalls a cluster within its time of trouble, and what its operator does.
 *
 * What: kills, cuts, pauses, failed commits, and downs of the server, each as often as it is to be,
 * at times that the dice say; backups that are put back; and commands as `ragno cluster move`,
 * `drain`, `add` and `restore` give them. */
#ifndef TESTS_SIM_MISFORTUNE_H
#define TESTS_SIM_MISFORTUNE_H

#include "agent.h"
#include "cluster_sim.h"

typedef enum MisfortuneKind {
    FORTUNE_KILL,
    FORTUNE_CUT,
    FORTUNE_DOWN,
    FORTUNE_MOVE,
    FORTUNE_STOP,
    FORTUNE_ORDER,
    FORTUNE_STILL,   /* a machine stands still, which none of its clocks shows */
    FORTUNE_STRAY,   /* a process is killed, and the next one has other settings */
    FORTUNE_FAIL,    /* a commit fails, and the process ends */
    FORTUNE_MACHINE, /* a process is killed, and its directory goes on on another machine */
    FORTUNE_BACKUP,  /* one at a time; its agent is that of the next return */
    FORTUNE_RETURN
} MisfortuneKind;

typedef struct Misfortune {
    MisfortuneKind kind;
    MonoTime time;
} Misfortune;

typedef struct Trouble {
    const ClusterSimOptions *options;
    SimNet *net;
    Agent *agents;
    unsigned *n_agents; /* directories; an added agent needs one more */
    Audit *audit;
    const char *directory; /* for backups; borrowed */
    void *context;
    bool (*add)(void *context); /* makes it; false: there are enough */
    Misfortune *all;            /* by time; owned */
    size_t n;
    size_t next;
    MonoTime begin;
    unsigned kills;
    unsigned stops;
    unsigned stills;
    unsigned fails;
    unsigned machines;
    unsigned strays;
    unsigned moves; /* commands that changed the table */
    unsigned returns;
    unsigned backups;
    unsigned orders; /* that all agents were told of */
    Agent *ordered;  /* at whom one is under way; NULL: none */
    uint64_t ticket;
    MonoTime ordered_at;
    MonoTime looked_after; /* a backup was put back lately: nobody ends alone */
    bool pauses;           /* it is to pause; else to go on */
    MonoTime order;        /* when the operator looks again */
    Agent *backed_up;      /* NULL: none is */
    AuditBackup books;     /* at that moment; owned */
    uint64_t start;        /* its last one by then */
    char backup[4096];     /* its path */
} Trouble;

/* net, agents, add and options are set. */
bool trouble_init(Trouble *trouble);
void trouble_destroy(Trouble *trouble);
MonoTime trouble_next(const Trouble *trouble);
/* What is due by now. */
void trouble_work(Trouble *trouble);
/* As `ragno cluster add` does, for an agent of that number, unless there is room for it. */
void trouble_make_room(Trouble *trouble, uint16_t number);

#endif
