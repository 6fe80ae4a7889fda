/* Membership: which directory runs as which agent.
 *
 * What: two records. The directory keeps what it is (NodeIdentity, in its database); the cluster
 * keeps who runs as an agent now (MemberRecord, key "agent.N", replaced by compare-and-set). Each
 * start of a directory takes a new token: it writes it down first, then puts it into the cluster's
 * record, then knows it as its own. So of two copies of a directory that are started, one finds
 * that the record has been taken over, and is refused; and a directory that died between the steps
 * is not.
 *
 *   directory      cluster's record          so it
 *   no agent       none, or an older life    takes the agent's life
 *   same life      same token, or the next   goes on
 *   same life      another token             is a copy: refused
 *   older life     older life                was restored from a snapshot: goes on as the new life
 *   older life     newer life                was replaced: refused
 *
 * Pure functions.
 * Source: MANY-MACHINES 6 and 7. */
#pragma once

#include <lmdb.h>

#include "cluster/lease/lease.h"
#include "cluster/table/cluster_table.h"
#include "store/pages/page_db.h"

#define MEMBER_TEXT_BYTES 128u

/* What a directory is. */
typedef struct NodeIdentity {
    bool known; /* it has been an agent before */
    uint8_t uuid[CLUSTER_UUID_BYTES];
    uint16_t self;
    uint16_t life;
    uint32_t incarnation; /* starts */
    uint64_t token;       /* of the last start that is known to have been recorded */
    uint64_t next_token;  /* of a start that may have been; 0: none */
    uint64_t tried;       /* of one before that, whose record may still arrive; 0: none */
} NodeIdentity;

typedef enum MemberState { MEMBER_RUNNING, MEMBER_STOPPED, MEMBER_STATES } MemberState;

/* Who runs as an agent. */
typedef struct MemberRecord {
    uint16_t life;
    uint32_t incarnation;
    uint64_t token;
    uint64_t session;
    uint64_t dead_below; /* sessions below have ended for certain */
    MemberState state;
    uint64_t heard; /* of one that has stopped: messages of the reader that it had committed */
    char machine[MEMBER_TEXT_BYTES]; /* and the directory there: where a lock proves things */
    char name[MEMBER_TEXT_BYTES];    /* for people: host name and directory */
    char version[MEMBER_TEXT_BYTES]; /* of the program */
} MemberRecord;

Result member_identity_write(const NodeIdentity *identity, Buffer *out);
/* RESULT_DAMAGED. */
Result member_identity_read(NodeIdentity *identity, const void *bytes, size_t length);
/* heard: a varint for each agent; empty: the process has not stopped. */
Result member_record_write(const MemberRecord *record, const Buffer *heard, Buffer *out);
/* self: the reader, or CLUSTER_NOBODY. RESULT_DAMAGED. */
Result member_record_read(MemberRecord *record, uint16_t self, const void *bytes, size_t length);

typedef enum MemberClaim {
    MEMBER_MAY,      /* put a new record */
    MEMBER_IS_COPY,  /* another copy of the directory has run since */
    MEMBER_REPLACED, /* the agent began anew in another directory */
    MEMBER_STRANGER, /* the directory belongs to another crawl */
    MEMBER_NOBODY    /* the table has no such agent */
} MemberClaim;

/* Whether a start was, or may have been, one of this directory's. */
bool member_is_token_of(const NodeIdentity *identity, uint64_t token);
/* Whether a directory may run as its agent. record NULL: there is none. */
MemberClaim member_judge(const NodeIdentity *identity, const ClusterTable *table,
                         const MemberRecord *record);
/* A session: later ones of an agent are greater. luck: random. */
uint64_t member_session(uint16_t life, uint32_t incarnation, uint64_t luck);

/* Node place: what a directory keeps of its cluster.
 *
 * What: two values of the table `crawl`: which agent the directory is (NodeIdentity, key
 * "cluster_identity"), and the newest cluster table that it has seen (key "cluster_table"). A
 * directory without them has never been in a cluster.
 * Threads: the one with the transaction.
 * Errors: RESULT_DAMAGED; RESULT_FULL and RESULT_IO of LMDB; RESULT_MEMORY. */

/* *table is initialised, and stays so when there is none. identity->known is false of a directory
 * that has at most written down what it is about to be. */
Result node_place_read(MDB_txn *txn, MDB_dbi crawl, NodeIdentity *identity, ClusterTable *table);
/* The same of a database, for one who looks at it; *table is initialised. RESULT_NOT_FOUND: it is
 * of no agent. */
Result node_place_of(PageDB *db, uint16_t *self, ClusterTable *table);
Result node_place_write_identity(MDB_txn *txn, MDB_dbi crawl, const NodeIdentity *identity);
Result node_place_write_table(MDB_txn *txn, MDB_dbi crawl, const ClusterTable *table);
