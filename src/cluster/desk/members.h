/* Members: which process runs as which agent, as far as this node has heard, and by which settings.
 *
 * What: the keys "agent.N". A node looks at all of them once it is connected, and again when one
 * has changed. Its own it keeps: when it is gone, it is put back; when it is another process's,
 * this one has been replaced. Each put replaces the record that this node knows, and no other: one
 * that arrives late must not take the place of the next process's.
 *
 * The settings that all run by (key "config") it holds, too: when a server has forgotten them, or
 * has some from before, or others are written while this node could be asked, they are put back, so
 * that nobody comes in by others. Newer ones that it finds when its connection is there again were
 * put by one that could not ask it: it must not go on.
 *
 * Owns: the records. Time is a parameter; belongs to one thread. */
#pragma once

#include "cluster/desk/key.h"
#include "cluster/link/kept.h"
#include "cluster/message/membership.h"

#define MEMBER_KEY "agent." /* and the number */

/* What is known of an agent that greets, and is greeted (greet_desk.h). */
typedef struct GreetPeer {
    PeerMark mark;
    uint64_t compared;  /* its process, as far as it has told us what it has; 0: none */
    uint64_t confirmed; /* its process that has compared ours, or the one that had stopped */
    uint64_t waiting;   /* its process that waits until its URLs are in the outbox */
    uint64_t claims;    /* what that one has */
    char *reply_to;     /* of that one; owned */
    MonoTime next;      /* we greet it (again) then */
    bool is_older;      /* it has stopped, and remembers more than we have: told */
} GreetPeer;

typedef struct Member {
    MemberRecord record;
    bool known;
    MonoTime seen;   /* the record, last */
    MonoTime heard;  /* an answer of it, last (watch_desk.h) */
    MonoTime since;  /* it answers without a long gap */
    GreetPeer greet; /* (greet_desk.h) */
} Member;

typedef struct Members {
    NodeLink *link;    /* borrowed */
    MemberRecord self; /* as this node has put it */
    Member *members;   /* by number; owned */
    uint32_t n;
    Key own;
    Key settings;
    const char *text; /* of them; borrowed */
    uint64_t held;    /* the revision that had this text last */
    Buffer heard;     /* of the others, in all, when this one stops: as in member_record_write */
} Members;

typedef enum MemberNews {
    MEMBER_NOTHING,
    MEMBER_STARTED, /* another process runs as *agent than before, or the first we hear of */
    MEMBER_LOST,    /* as this one's: we have been replaced */
    MEMBER_WRITTEN  /* it is known that this one has stopped */
} MemberNews;

void members_init(Members *members, NodeLink *link);
void members_destroy(Members *members);
/* The number of agents; new ones are as if they had been heard now. RESULT_MEMORY. */
Result members_resize(Members *members, uint32_t n, MonoTime now);
/* The name of an agent's key. */
void member_key(uint16_t agent, char key[32]);

/* What this node runs by, as it stood there at that revision. */
void members_hold(Members *members, const char *settings, uint64_t revision);
/* What came of a look at them, or of a put; false: this node must not go on. */
bool members_take_settings(Members *members, const TransportEvent *event, MonoTime now);

/* Looks at all; at one. revision: of our own record. */
void members_up(Members *members, uint64_t revision, MonoTime now);
void members_look_at(const Members *members, uint16_t agent);
void members_changed(const Members *members, const char *key);
/* Puts our own record in place of the one that is known, again when that has changed meanwhile.
 * MEMBER_WRITTEN follows when the record says that this process has stopped. */
void members_put_self(Members *members, MonoTime now);
/* What came of a look or a put. */
MemberNews members_take(Members *members, const TransportEvent *event, MonoTime now,
                        uint16_t *agent);
