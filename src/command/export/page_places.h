/* Page places: where in the WARC files the newest answer of each page is stored.
 *
 * What: reads the indices beside the WARC files once (store/cdxj/cdxj.h) and notes a place for each
 * page of the database. An answer 304 does not count: what it confirms is stored earlier.
 * Owns: a temporary file of PAGE_PLACE_BYTES for each page, and the names of the WARC files.
 * Threads: one. A crawl may be running; what it adds later is not seen.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY. */
#ifndef COMMAND_EXPORT_PAGE_PLACES_H
#define COMMAND_EXPORT_PAGE_PLACES_H

#include <stdbool.h>

#include "store/pages/page_db.h"

#define PAGE_PLACE_BYTES 16u

typedef struct PagePlace {
    uint64_t offset;
    uint32_t file; /* number of its name */
    uint32_t date; /* seconds since 1970; 0 = the page is not stored */
} PagePlace;

typedef struct PagePlaces PagePlaces;

/* directory holds the WARC files; when it is missing, no page is stored. The caller has no read
 * transaction of its own meanwhile. */
Result page_places_new(PagePlaces **places, PageDB *db, const char *directory);
void page_places_delete(PagePlaces *places);

/* False: it is not stored. */
bool page_places_get(PagePlaces *places, uint64_t page, PagePlace *place);
const char *page_places_name(const PagePlaces *places, uint32_t file);

#endif
