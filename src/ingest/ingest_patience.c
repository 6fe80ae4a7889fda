#include "ingest/ingest_patience.h"

static int64_t hungry_ms(const IngestPatience *patience)
{
    return patience->hungry_ms < INGEST_HUNGRY_MS ? INGEST_HUNGRY_MS : patience->hungry_ms;
}

int64_t ingest_patience_ms(const IngestPatience *patience, int64_t batch_time_ms, bool hungry)
{
    int64_t ms = hungry_ms(patience);
    return hungry && ms < batch_time_ms ? ms : batch_time_ms;
}

void ingest_patience_note(IngestPatience *patience, int64_t batch_time_ms, bool woke)
{
    int64_t ms = woke ? INGEST_HUNGRY_MS : 2 * hungry_ms(patience);
    patience->hungry_ms = ms < batch_time_ms ? ms : batch_time_ms;
}
