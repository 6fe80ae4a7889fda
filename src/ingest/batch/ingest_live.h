/* Ingest live: options of ingest that change while it runs, on their way to its thread.
 *
 * What: any thread puts the options that the configuration says now; the ingest thread takes those
 * that may change, before each batch.
 * Owns: a copy. Threads: as said. */
#ifndef INGEST_BATCH_INGEST_LIVE_H
#define INGEST_BATCH_INGEST_LIVE_H

#include "base/thread/mutex.h"
#include "ingest/batch/ingest_options.h"

typedef struct IngestLive {
    Mutex mutex; /* RANK_TABLE; guards options */
    IngestOptions options;
} IngestLive;

void ingest_live_init(IngestLive *live, const IngestOptions *options);
void ingest_live_destroy(IngestLive *live);
void ingest_live_put(IngestLive *live, const IngestOptions *options);
void ingest_live_take(IngestLive *live, IngestOptions *options);

#endif
