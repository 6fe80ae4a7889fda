/* Ingest store: the tables and files that a batch of results is written to.
 *
 * What: handles that belong together. The main thread opens them (crawl/crawl_store.h), the ingest
 * thread writes through them.
 * Owns: nothing; a copy is as good as the original while the stores are open. */
#ifndef INGEST_BATCH_INGEST_STORE_H
#define INGEST_BATCH_INGEST_STORE_H

#include "page/archive.h"
#include "store/pages/page_db.h"
#include "store/schedule/schedule.h"
#include "store/tables/group_table.h"
#include "store/tables/external_table.h"
#include "store/tables/feed_table.h"
#include "store/tables/held_table.h"
#include "store/tables/seed_table.h"
#include "store/tables/host_table.h"
#include "store/tables/near_table.h"
#include "store/tables/revisit_table.h"
#include "store/tables/wait_table.h"

typedef struct IngestStore {
    PageDB *db;
    Schedule *schedule;
    HostTable *hosts;
    MDB_dbi bodies;          /* body fingerprint and host -> page index: exact duplicates */
    MDB_dbi near;            /* simhashes: store/tables/near_table.h */
    MDB_dbi keys;            /* dedup keys: dedup.h; used when they are on */
    MDB_dbi crawl;           /* names -> values: totals, the end of the WARC files */
    ExternalTable *external; /* links that lead out of scope; NULL: nobody keeps them */
    HeldTable *held;         /* URLs that a rule holds back; NULL: nobody keeps them */
    SeedTable *seeds;        /* which pages are seeds; NULL: nobody keeps it */
    WaitTable *waits;        /* which hosts wait for what; NULL: nobody keeps it */
    GroupTable *groups;      /* domains and addresses of hosts; NULL: nobody counts them */
    FeedTable *feeds;        /* of hosts; NULL: nobody counts them */
    RevisitTable *revisits;  /* NULL: schedule.mode = once */
    Archive *archive;        /* NULL: none is kept */
} IngestStore;

#endif
