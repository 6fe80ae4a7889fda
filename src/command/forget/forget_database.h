/* What is to be forgotten of the database of a crawl: its pages and hosts.
 *
 * What: all pages and hosts are looked at once, and marked. forget_rows.h writes the database anew
 * without them.
 *
 * Pages keep their indices, and hosts their numbers, since other rows and the links of pages are
 * made of them. A forgotten page becomes a nameless one: its URL is ORIGIN/.forgotten/INDEX, it was
 * never crawled, and is not scheduled. A forgotten host becomes http://NUMBER.forgotten.invalid,
 * and its record is empty. Links from and to forgotten pages go, too, unless the graph is to be
 * kept; then such a page keeps its links, and the times at which it was crawled.
 *
 * With an age: a page is forgotten that was crawled last before that time.
 *
 * Owns: what forget_database_look has found, until _destroy.
 * Threads: one; nobody writes the database meanwhile.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED. */
#pragma once

#include <lmdb.h>
#include <string.h>

#include "cluster/link/outbox.h"
#include "rules/scope/url_lists.h"
#include "store/archive/warc_files.h"
#include "store/format/page_record.h"

/* What is to be forgotten: hosts, URLs, what an expression finds, or what is older than a time.
 *
 * What: the targets of one order, as DIR/forget/order keeps them, a line each:
 *
 *   host example.org            the host, and all hosts below it
 *   url http://a.example/x      this URL
 *   regex ^http://a\.example/   URLs in which the expression (PCRE) is found
 *   older 1767225600000000      what was fetched before (microseconds since 1970)
 *   keep-graph | hash-logs      options */

typedef enum ForgetKind { FORGET_HOST, FORGET_URL, FORGET_REGEX } ForgetKind;

typedef struct ForgetTarget {
    ForgetKind kind;
    char *text; /* as the parser of URLs writes it */
    size_t length;
    UrlRegex *regex;
} ForgetTarget;

typedef struct ForgetTargets {
    ForgetTarget *all;
    size_t n;
    WallTime before; /* 0: no age is given */
    bool keep_graph; /* pages stay as nameless nodes, with their links */
    bool hash_logs;  /* lines of crawl.log stay, with a hash for a URL */
} ForgetTargets;     /* all zero: none */

/* A word of the command line: a host, or a URL. RESULT_INVALID. */
Result forget_targets_add(ForgetTargets *targets, const char *word, Buffer *error);
Result forget_targets_add_regex(ForgetTargets *targets, const char *regex, Buffer *error);
void forget_targets_destroy(ForgetTargets *targets);

/* As lines, and back. */
Result forget_targets_write(const ForgetTargets *targets, Buffer *out);
Result forget_targets_read(ForgetTargets *targets, const char *text, Buffer *error);

/* Whether a URL is meant, whatever its age; also of another scheme (dns:NAME). */
bool forget_means_url(const ForgetTargets *targets, const char *url, size_t length);
/* Whether a piece of text names what is meant: a host's name, a URL, or one that an expression
 * finds. */
bool forget_is_named(const ForgetTargets *targets, const char *text, size_t length);
/* Whether a block for another agent (cluster/wire/link_block.h) has a link that is meant, or is a
 * host that is. Its other links go on into a draft, for agent `to`; NULL: nowhere. RESULT_DAMAGED.
 */
Result forget_read_block(const ForgetTargets *targets, const void *bytes, size_t length,
                         uint16_t to, OutboxDraft *draft, bool *named);

#define FORGET_URL_BYTES  65536u
#define FORGET_NAME_BYTES 64u /* of what stands for a name */
#define FORGET_NO_LEVEL   256u

/* A host, as its pages are afterwards. */
typedef struct ForgetTally {
    uint32_t urls; /* as verify_database.c counts them */
    uint32_t denied;
    uint32_t good;
    uint32_t queued;  /* scheduled and never crawled */
    uint32_t entries; /* scheduled */
    uint16_t best;    /* level of these, or NO_LEVEL */
    bool touched;     /* it has a forgotten page */
    bool again;
} ForgetTally;

typedef struct ForgetDatabase {
    const ForgetTargets *targets; /* borrowed */
    MDB_env *from;
    MDB_txn *read;
    uint8_t *pages; /* one bit each: it is forgotten */
    uint8_t *hosts;
    uint64_t n_pages;
    uint32_t n_hosts;
    uint64_t seed;        /* of the fingerprints */
    ForgetTally *tallies; /* of the hosts, as their pages are afterwards */
    bool is_shared;       /* it is an agent's of a cluster: other agents know its pages */
    uint64_t forgotten_pages;
    uint64_t forgotten_hosts;
} ForgetDatabase;

/* Opens the environment at path (crawl.mdb), and finds the pages and hosts that are meant. */
Result forget_database_look(ForgetDatabase *database, const char *path,
                            const ForgetTargets *targets);
/* Whether it is an agent's of a cluster. */
bool forget_database_is_shared(const char *directory);
void forget_database_destroy(ForgetDatabase *database);

/* Whether the page of this URL is forgotten because it is old; false when there is no such page.
 * *payload: the digest of what the page stands on, if it stays and has one. */
bool forget_database_is_old(ForgetDatabase *database, const char *url, size_t length,
                            WarcDigest *payload, bool *has_payload);

/* What stands at the front of the URLs of a host, as it was or will be; how many bytes. out:
 * FORGET_URL_BYTES. */
size_t forget_database_origin(const ForgetDatabase *database, uint32_t host, bool after, char *out);
/* The URL of a page, as it was or will be. */
size_t forget_database_url(const ForgetDatabase *database, const PageRecord *record, uint64_t index,
                           bool after, char *out);
bool forget_database_record(const ForgetDatabase *database, uint64_t index, PageRecord *record);
uint64_t forget_database_hash(const ForgetDatabase *database, const PageRecord *record,
                              uint64_t index, bool after);
/* The record of a page becomes what it will be: nameless when it is forgotten, and not found on a
 * page that is. path: FORGET_NAME_BYTES, for its new one. */
void forget_database_change(const ForgetDatabase *database, uint64_t index, PageRecord *record,
                            char *path);

static inline uint64_t forget_number(const void *bytes, size_t n)
{
    uint64_t number = 0;
    memcpy(&number, bytes, n < sizeof number ? n : sizeof number);
    return number;
}

static inline int forget_table(MDB_txn *txn, const char *name, MDB_dbi *dbi)
{
    return mdb_dbi_open(txn, name, 0, dbi);
}
