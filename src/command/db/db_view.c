#include "command/db/db_view.h"

#include <stdio.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "crawl/crawl_open.h"
#include "crawl/exit_status.h"
#include "rules/dedup.h"

int db_failed(const DbView *view, int rc)
{
    const char *message = error_message(view->db->error);
    (void)fprintf(stderr, "ragno db: %s\n", message == NULL ? "failed" : message);
    return crawl_exit_status(rc);
}

int db_turn(DbView *view)
{
    int rc = short_read_turn(&view->read);
    view->txn = view->read.txn;
    return rc;
}

int db_finish(DbView *view, int rc)
{
    if (rc != page_db_error_ok && rc != SHORT_READ_OVER) {
        return db_failed(view, rc);
    }
    view->txn = NULL;
    return short_read_end(&view->read, rc, "db");
}

const char *db_url(DbView *view, uint64_t index, int *rc)
{
    PageRef page;
    *rc = page_db_get(view->db, view->txn, index, &page, &view->url);
    return *rc == page_db_error_ok ? page.url : NULL;
}

bool db_stands_for(DbView *view, const char *url)
{
    if (dedup_stands_for(view->txn, url, &view->url) != RESULT_OK ||
        strcmp(view->url.data, url) == 0) {
        return false;
    }
    (void)fprintf(stderr, "ragno db: %s stands for it (scope.dedup_key)\n", view->url.data);
    return true;
}

int db_find(DbView *view, const char *url, uint64_t *index)
{
    int rc = page_db_find(view->db, view->txn, url, strlen(url), index);
    if (rc == page_db_error_no_page && db_stands_for(view, url)) {
        rc = page_db_find(view->db, view->txn, view->url.data, view->url.length, index);
    }
    return rc;
}

Result db_open_schedule(const DbView *view, Schedule **schedule)
{
    MDB_dbi dbi = 0;
    *schedule = NULL;
    return mdb_dbi_open(view->txn, "schedule", 0, &dbi) == MDB_SUCCESS
               ? schedule_open(schedule, view->txn, NULL)
               : RESULT_OK;
}

bool db_is_host(const char *origin, const char *host)
{
    const char *slashes = strstr(origin, "//");
    return strcmp(origin, host) == 0 || (slashes != NULL && strcmp(slashes + 2, host) == 0);
}
