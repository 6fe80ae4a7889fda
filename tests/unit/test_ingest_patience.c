#include "ingest/ingest_writer.h"
#include "unit.h"

#define BATCH_MS 200

static void fetchers_with_work_wait_for_a_whole_batch(void)
{
    IngestPatience patience = {0};
    CU_ASSERT_EQUAL(ingest_patience_ms(&patience, BATCH_MS, false), BATCH_MS);
    CU_ASSERT_EQUAL(ingest_patience_ms(&patience, BATCH_MS, true), INGEST_HUNGRY_MS);
    CU_ASSERT_EQUAL(ingest_patience_ms(&patience, 5, true), 5);
}

static void commits_that_wake_nobody_become_rare(void)
{
    IngestPatience patience = {0};
    int64_t expected = INGEST_HUNGRY_MS;
    for (unsigned i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(ingest_patience_ms(&patience, BATCH_MS, true), expected);
        ingest_patience_note(&patience, BATCH_MS, false);
        expected = 2 * expected < BATCH_MS ? 2 * expected : BATCH_MS;
    }
    CU_ASSERT_EQUAL(expected, BATCH_MS);
    for (unsigned i = 0; i < 10; i++) { /* those that wake somebody become frequent again */
        ingest_patience_note(&patience, BATCH_MS, true);
        expected = expected / 2 > INGEST_HUNGRY_MS ? expected / 2 : INGEST_HUNGRY_MS;
        CU_ASSERT_EQUAL(ingest_patience_ms(&patience, BATCH_MS, true), expected);
    }
    CU_ASSERT_EQUAL(expected, INGEST_HUNGRY_MS);
    for (unsigned i = 0; i < 40; i++) { /* by turns: about what it was */
        ingest_patience_note(&patience, BATCH_MS, i % 2 == 0);
        CU_ASSERT(ingest_patience_ms(&patience, BATCH_MS, true) <= 2 * INGEST_HUNGRY_MS);
    }
}

/* Whatever it was noted with. */
static void it_never_exceeds_the_bound(void)
{
    IngestPatience patience = {0};
    for (unsigned i = 0; i < 70; i++) {
        ingest_patience_note(&patience, 60000, false);
    }
    CU_ASSERT_EQUAL(ingest_patience_ms(&patience, 60000, true), 60000);
    CU_ASSERT_EQUAL(ingest_patience_ms(&patience, BATCH_MS, true), BATCH_MS);
}

UNIT_MAIN("ingest_patience",
          {"fetchers with work wait for a whole batch", fetchers_with_work_wait_for_a_whole_batch},
          {"commits that wake nobody become rare", commits_that_wake_nobody_become_rare},
          {"it never exceeds the bound", it_never_exceeds_the_bound})
