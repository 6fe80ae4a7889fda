/* Edicts: what operators have ordered of all agents, while the crawl runs.
 *
 *   at any agent: a new edict --edicts_add--> the list, in the key "edicts", by compare-and-set
 *   each agent:   what is newer than it has carried out, in order; then it says so
 *
 * What: an edict has a number, and whoever has carried out number n has carried out all below. One
 * that is about the same thing as an older one takes its place, so the list is what is in force,
 * and not a history: an agent that was away hears of the last word about each thing.
 *
 *   deny, allow        a rule
 *   pause, resume      the crawl
 *   set, unset         an option, of all hosts or of a pattern
 *   revive, drop, visit  a host: carried out once, and by its owner
 *   forget         an order of `ragno forget`: carried out once; its name is a hash of its words,
 *                  which are the value until all agents have heard of it, and are gone then
 *
 * Every agent keeps the newest list it has seen, and puts it back when a server has forgotten it
 * (cluster/desk/edict_desk.h). What was ordered meanwhile, and what an agent knows that was away,
 * is merged: of two edicts about the same thing the later one holds. A number is the time in ms at
 * which the edict was given, or one more than the last, if that is more: so it says which is later
 * also where two lists have no common end.
 *
 * Owns: the edicts.
 * Threads: none of its own; an object belongs to its caller.
 * Invariants:
 *  1. Numbers ascend in the list, and none is given twice in the life of a crawl.
 *  2. At most EDICTS_MOST, of EDICTS_BYTES together. When there is no room, those go first that
 *     only take back what an older one has ordered, or that were about a host: an agent that is
 *     away since may not hear of them.
 * Errors: RESULT_MEMORY, RESULT_LIMIT: there is no room; what stood in its place may be gone then,
 * so a copy is changed and taken over when it is done. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

#define EDICTS_MOST       4096u
#define EDICTS_BYTES      ((size_t)384 << 10)
#define EDICT_TEXT_BYTES  ((size_t)16 << 10) /* of one word */
#define EDICTS_UUID_BYTES 16u

typedef enum EdictVerb {
    EDICT_DENY,
    EDICT_ALLOW,
    EDICT_PAUSE,
    EDICT_RESUME,
    EDICT_SET,
    EDICT_UNSET,
    EDICT_REVIVE,
    EDICT_DROP,
    EDICT_VISIT,
    EDICT_FORGET,
    EDICT_VERBS
} EdictVerb;

/* "deny" */
const char *edict_verb_name(EdictVerb verb);
static inline bool edict_verb_is_of_host(EdictVerb verb)
{
    return verb == EDICT_REVIVE || verb == EDICT_DROP || verb == EDICT_VISIT;
}

typedef struct Edict {
    uint64_t number;
    EdictVerb verb;
    char *name;     /* rule, option or host; "": the crawl */
    char *pattern;  /* of the hosts of an option; "": all */
    char *value;    /* of an option; what is to be forgotten */
    char *who;      /* "agent=2 uid=0 pid=77" */
    bool elsewhere; /* about a host of another agent: nothing is done here; not a part of the value
                     */
} Edict;

typedef struct Edicts {
    uint8_t uuid[EDICTS_UUID_BYTES]; /* of the crawl */
    uint64_t last;                   /* number given */
    Edict *list;                     /* owned, as the texts are */
    size_t n;
    size_t bytes; /* of the texts */
} Edicts;

void edicts_destroy(Edicts *edicts);
/* RESULT_MEMORY: *to is as before. */
Result edicts_copy(Edicts *to, const Edicts *from);
/* Copies the texts and gives the number, edict->number or more. RESULT_INVALID: a text is too long.
 */
Result edicts_add(Edicts *edicts, const Edict *edict);
/* Adds what other knows and *edicts has lost: nothing, as long as *edicts has grown from other. */
Result edicts_merge(Edicts *edicts, const Edicts *other);
/* The last one about an option, or NULL. */
const Edict *edicts_find_option(const Edicts *edicts, const char *pattern, const char *name);

/* Appends the bytes, with a checksum. */
Result edicts_write(const Edicts *edicts, Buffer *out);
/* Replaces *edicts. RESULT_DAMAGED: it is none; *edicts is as before. */
Result edicts_read(Edicts *edicts, const void *bytes, size_t length);
