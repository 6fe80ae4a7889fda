#include "ingest/revisit/revisit_line.h"
#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"

/* The distributor is told that the host has something to do. */
static void note_url(BatchHost *host, unsigned level)
{
    if (!host->got_urls || level < host->best_level) {
        host->best_level = (uint8_t)level;
    }
    host->got_urls = true;
}

static Result schedule_page(const RevisitLine *line, const Batch *batch, BatchHost *host,
                            const PageRef *page)
{
    Result rc = schedule_put(line->schedule, batch->txn, page->host, REVISIT_LEVEL, page->index);
    if (rc == RESULT_OK && page_db_set_state(line->db, batch->txn, page->index, page->status,
                                             REVISIT_LEVEL, 0) != page_db_error_ok) {
        rc = RESULT_FULL;
    }
    note_url(host, REVISIT_LEVEL);
    return rc;
}

static void owe(BatchHost *host, uint64_t n)
{
    uint64_t owed = host->record.owed + n;
    host->record.owed = (uint8_t)(owed < UINT8_MAX ? owed : UINT8_MAX);
}

/* Whether more than `most` fetches of new URLs come first; not when the host has none. */
static Result is_owing(const RevisitLine *line, const Batch *batch, BatchHost *host, unsigned most,
                       bool *owing)
{
    uint64_t all = 0;
    uint64_t due = 0;
    *owing = false;
    if (host->record.owed <= most) {
        return RESULT_OK;
    }
    Result rc = schedule_host_count(line->schedule, batch->txn, host->host, &all);
    if (rc == RESULT_OK) {
        rc = schedule_level_count(line->schedule, batch->txn, host->host, REVISIT_LEVEL, &due);
    }
    *owing = all > due;
    host->record.owed = *owing ? host->record.owed : 0;
    return rc;
}

/* A page that is due goes into the schedule, or into the line of its host. */
Result revisit_line_admit(const RevisitLine *line, const Batch *batch, BatchHost *host,
                          const PageRef *page, const RevisitDue *due)
{
    if (page->level != SCHEDULE_NO_LEVEL) { /* since before the start, or it was cleared */
        note_url(host, page->level);
        return schedule_put(line->schedule, batch->txn, page->host, page->level, page->index);
    }
    uint64_t n = 0;
    bool is_empty = true;
    bool owing = false;
    Result rc = schedule_level_count(line->schedule, batch->txn, page->host, REVISIT_LEVEL, &n);
    if (rc == RESULT_OK) {
        rc = is_owing(line, batch, host, line->host_share / 2, &owing);
    }
    if (rc == RESULT_OK) {
        rc = revisit_table_line_is_empty(line->table, batch->txn, page->host, &is_empty);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (!is_empty || owing || n >= line->host_share) {
        return revisit_table_line_put(line->table, batch->txn, page->host, due);
    }
    owe(host, 1);
    return schedule_page(line, batch, host, page);
}

/* The next group of a line, when the host has nothing due left in the schedule. */
Result revisit_line_move_up(const RevisitLine *line, const Batch *batch, BatchHost *host,
                            Buffer *url)
{
    uint64_t n = 0;
    bool owing = false;
    Result rc = schedule_level_count(line->schedule, batch->txn, host->host, REVISIT_LEVEL, &n);
    if (rc == RESULT_OK) {
        rc = is_owing(line, batch, host, 0, &owing);
    }
    if (rc != RESULT_OK || n > 0 || owing) {
        return rc;
    }
    while (rc == RESULT_OK && n < line->host_share) {
        RevisitDue due;
        RevisitDue now;
        PageRef page;
        rc = revisit_table_line_take(line->table, batch->txn, host->host, &due);
        if (rc == RESULT_OK) {
            rc = revisit_table_get(line->table, batch->txn, due.index, &now);
            if (rc == RESULT_NOT_FOUND || (rc == RESULT_OK && now.time_s != due.time_s)) {
                rc = RESULT_OK; /* it was moved or removed since */
                continue;
            }
        }
        if (rc == RESULT_OK && page_db_get(line->db, batch->txn, due.index, &page, url) != 0) {
            rc = RESULT_DAMAGED;
        }
        if (rc == RESULT_OK && page.level == SCHEDULE_NO_LEVEL) {
            rc = schedule_page(line, batch, host, &page);
            n++;
        }
    }
    owe(host, n);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
