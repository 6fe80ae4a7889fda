/* Group table: what the hosts of one hand have together. The hand is guessed at in two ways: hosts
 * of one registered domain, and hosts on one address.
 *
 * What: a group has a key of 64 bits, made of the name of the domain or of the bytes of the address
 * (of IPv6 the first 64 bits, since one machine has all of them), and a record of counters. Which
 * groups a host belongs to is in its HostRecord.
 * Owns: the handle; the table belongs to the environment.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_VERSION. */
#ifndef STORE_TABLES_GROUP_ROWS_H
#define STORE_TABLES_GROUP_ROWS_H

#include <lmdb.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "parse/host/ip_address.h"

typedef struct GroupRows GroupRows;

typedef struct GroupRecord {
    uint64_t pages;  /* stored, duplicates not counted */
    uint64_t queued; /* URLs that are scheduled and were not fetched yet */
    uint32_t hosts;
    uint32_t spare;
} GroupRecord;

/* Never 0, which stands for no group. domain: as in domain_registered(). */
uint64_t group_key_of_domain(const char *domain, size_t length);
uint64_t group_key_of_address(const IpAddress *address);

/* In a write transaction a table that is missing is created. RESULT_NOT_FOUND: a read transaction,
 * and there is none. */
Result group_rows_open(GroupRows **table, MDB_txn *txn);
void group_rows_close(GroupRows *table); /* NULL is allowed */

/* An unknown group gives a zeroed record and RESULT_OK. */
Result group_rows_get(GroupRows *table, MDB_txn *txn, uint64_t key, GroupRecord *record);
Result group_rows_put(GroupRows *table, MDB_txn *txn, uint64_t key, const GroupRecord *record);

#endif
