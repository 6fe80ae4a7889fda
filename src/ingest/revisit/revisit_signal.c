#include "ingest/revisit/revisit_signal.h"
#include "store/pages/page_db_read.h"

#include <string.h>

bool revisit_signal_is_trusted(const HostRecord *host, double trust)
{
    return ((double)host->signals_true + 1) / ((double)host->signals + 2) >= trust;
}

Result revisit_signal_take(const RevisitLine *line, Batch *batch, const char *url,
                           int64_t lastmod_s, double trust, RevisitDue *due, bool *follows)
{
    PageRef page;
    RevisitNote note;
    Buffer scratch;
    uint64_t index = 0;
    *follows = false;
    int code = page_db_find(line->db, batch->txn, url, strlen(url), &index);
    if (code != page_db_error_ok) {
        return code == page_db_error_no_page ? RESULT_OK : RESULT_DAMAGED;
    }
    buffer_init(&scratch, BUFFER_NO_LIMIT);
    code = page_db_get(line->db, batch->txn, index, &page, &scratch);
    buffer_destroy(&scratch);
    if (code != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    if (page.n_crawls == 0 || (double)lastmod_s <= page.last_crawl) {
        return RESULT_OK;
    }
    Result rc = revisit_table_get(line->table, batch->txn, index, due);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = revisit_table_note_get(line->table, batch->txn, index, &note);
    if (rc == RESULT_OK && !note.has_signal) {
        note.has_signal = true;
        note.signal_changes = (uint32_t)page.n_changes;
        rc = revisit_table_note_put(line->table, batch->txn, index, &note);
    }
    const BatchHost *host = rc == RESULT_OK ? batch_host(batch, page.host) : NULL;
    if (host == NULL) {
        return rc == RESULT_OK ? batch->result : rc;
    }
    *follows = page.level == SCHEDULE_NO_LEVEL && revisit_signal_is_trusted(&host->record, trust);
    return RESULT_OK;
}

void revisit_signal_settle(HostRecord *host, const PageRef *page, RevisitNote *note)
{
    if (note->has_signal) {
        host->signals++;
        host->signals_true += (uint32_t)page->n_changes != note->signal_changes;
        note->has_signal = false;
        note->signal_changes = 0;
    }
}
