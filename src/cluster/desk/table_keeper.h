/* The table keeper: is our cluster table the newest?
 *
 *   every third of confirm_ms, and when the key has changed:  look --> newer:  TABLE_NEWER
 *                                                                     same:   TABLE_CONFIRMED
 *                                                                     older, or gone: put back
 *
 * What: the key "table" and the table that is committed here. The key is a cache of what agents
 * hold: when it is gone, or older (a server that was restored, a disk that did not sync), the
 * newest of theirs is put back. While that may be under way nothing is confirmed: not before
 * NODE_SETTLE_MS after the connection came up, or after an older table was seen.
 *
 * An agent changes the table itself in few cases (a life is claimed, a move has ended): it edits a
 * copy of what it has seen last, and puts it by compare-and-set.
 *
 * Owns: the committed table. Time is a parameter; belongs to one thread. */
#pragma once

#include "cluster/desk/key.h"

#define NODE_SETTLE_MS 5000 /* until others have put back what a server has forgotten */
#define TABLE_KEY      "table"

typedef enum TableNews {
    TABLE_NOTHING,
    TABLE_CONFIRMED, /* keeper->key.asked says since when */
    TABLE_NEWER,     /* keeper->seen is newer than what is committed */
    TABLE_TWO        /* another table has the same epoch, or a format that is not known here: an
                        operator must look */
} TableNews;

typedef struct TableKeeper {
    Key key;
    ClusterTable table; /* committed here; the node puts it there */
    ClusterTable seen;  /* the newest that was seen */
    MonoTime settled;   /* nothing is confirmed by a look that began before */
    bool newest;        /* what is committed here is what the key had at the last look */
} TableKeeper;

void table_keeper_init(TableKeeper *keeper, NodeLink *link, int64_t confirm_ms);
void table_keeper_destroy(TableKeeper *keeper);

/* The connection came up. */
void table_keeper_up(TableKeeper *keeper, MonoTime now);
/* What came of a look or a put. */
TableNews table_keeper_take(TableKeeper *keeper, const TransportEvent *event, MonoTime now);
/* Puts a changed table in place of the one seen last; what comes of it is seen by a look. */
Result table_keeper_propose(TableKeeper *keeper, const ClusterTable *table, MonoTime now);
/* This agent has sent all of the slots that are MOVING from it to `to`: proposes that they are
 * OWNED. Nothing happens while it is not certain that our table is the newest, or when there is no
 * such slot: the caller asks again until the table says so. */
void table_keeper_settle(TableKeeper *keeper, uint16_t to, MonoTime now);
