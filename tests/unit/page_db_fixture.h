/* PageDB in a directory of its own that goes with it, and pages to put into it. Header only; every
 * test program has its own. */
#ifndef TESTS_UNIT_PAGE_DB_FIXTURE_H
#define TESTS_UNIT_PAGE_DB_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "store/pages/page_db.h"
#include "folder_fixture.h"
#include "unit.h"

static inline const char *page_db_fixture_path(const char *name)
{
    static char path[FOLDER_BYTES];
    folder_name(path, name);
    return path;
}

static inline PageDB *page_db_fixture_open(const char *name)
{
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(
        page_db_open(&db, page_db_fixture_path(name), &(PageDBOptions){.no_sync = true}),
        page_db_error_ok);
    page_db_set_persist(db, 0);
    return db;
}

static inline CrawledPage *page_db_fixture_page(const char *url, double time, float score,
                                                uint64_t hash)
{
    CrawledPage *cp = crawled_page_new(url);
    cp->time = time;
    cp->score = score;
    CU_ASSERT_EQUAL(crawled_page_set_hash64(cp, hash), 0);
    return cp;
}

#endif
