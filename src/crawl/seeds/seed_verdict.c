#include "crawl/seeds/seed_verdict.h"

#include <stdbool.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "crawl/seeds/seed_reason.h"

#define PIECE      256u
#define TOLD_MAX   20u /* the others are counted */
#define LOOKED_MAX 100000u

typedef struct Look {
    const IngestStore *store;
    const Config *config;
    MDB_txn *txn;
    FILE *out;
    SeedVerdict *verdict;
    PageRef page;
    HostRecord host;
    Buffer url;
    Buffer words;
} Look;

/* ---- the walk -------------------------------------------------------------------------------- */

static Result seed_verdict_look_at(Look *look, uint64_t index)
{
    SeedVerdict *verdict = look->verdict;
    int code = page_db_get(look->store->db, look->txn, index, &look->page, &look->url);
    if (code != 0) {
        return RESULT_DAMAGED;
    }
    verdict->seeds++;
    if (look->page.status >= 200 && look->page.status < 400) {
        verdict->succeeded++;
        verdict->redirects += look->page.status >= 300 && look->page.status != 304;
        return RESULT_OK;
    }
    look->host = (HostRecord){.state = HOST_ACTIVE};
    Result rc = host_table_get(look->store->hosts, look->txn, look->page.host, &look->host);
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        return rc;
    }
    buffer_reset(&look->words);
    SeedState state = seed_reason_tell(look->store->hosts, look->config, look->txn, &look->page,
                                       &look->host, &look->words);
    if (state == SEED_IS_RETRIED) {
        (void)buffer_append_string(&look->words, "; it is tried again");
    }
    if (state != SEED_IS_TO_COME && verdict->failed++ < TOLD_MAX && look->out != NULL) {
        (void)fprintf(look->out, "  seed failed %.*s: %s\n", (int)look->page.url_length,
                      look->page.url, buffer_string(&look->words));
    }
    return RESULT_OK;
}

Result seed_verdict_find(const IngestStore *store, const Config *config, FILE *out,
                         SeedVerdict *verdict)
{
    SeedEntry entries[PIECE];
    size_t n = PIECE;
    uint64_t next = 0;
    Look look = {.store = store, .config = config, .out = out, .verdict = verdict};
    *verdict = (SeedVerdict){.seeds = 0};
    if (store->seeds == NULL || page_db_txn_begin(store->db, true, &look.txn) != 0) {
        return RESULT_IO;
    }
    buffer_init(&look.url, BUFFER_NO_LIMIT);
    buffer_init(&look.words, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    bool goes_on = true;
    while (rc == RESULT_OK && n == PIECE && verdict->seeds < LOOKED_MAX && goes_on) {
        rc = seed_table_read(store->seeds, look.txn, next, entries, PIECE, &n);
        for (size_t i = 0; i < n && rc == RESULT_OK && goes_on; i++) {
            rc = seed_verdict_look_at(&look, entries[i].index);
            next = entries[i].index + 1;
            goes_on = out != NULL || verdict->succeeded == verdict->redirects;
        }
    }
    if (out != NULL && verdict->failed > TOLD_MAX) {
        (void)fprintf(out,
                      "  seeds       %llu of %llu have failed; ragno why DIR URL tells of each\n",
                      (unsigned long long)verdict->failed, (unsigned long long)verdict->seeds);
    }
    buffer_destroy(&look.url);
    buffer_destroy(&look.words);
    page_db_txn_abort(store->db, look.txn);
    return rc;
}
