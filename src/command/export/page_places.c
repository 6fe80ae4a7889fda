#include "command/export/page_places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/pages/page_db_read.h"
#include "logs/log_text.h"
#include "store/cdxj/cdxj.h"

#define AT_ONCE      4096u /* lines that are looked up in one read transaction */
#define STATUS_AGAIN 304u

struct PagePlaces {
    PageDB *db;
    MDB_txn *txn;
    uint64_t n_pages;
    uint64_t n_lines;
    FILE *file; /* of the mapping */
    PagePlace *all;
    size_t bytes;
    char **names;
    size_t n_names;
    Result result;
};

/* The number of a file's name. The lines of an index name one file: it is nearly always the last.
 */
static bool page_places_number_of(PagePlaces *places, WarcBytes name, uint32_t *number)
{
    for (size_t i = places->n_names; i > 0; i--) {
        const char *known = places->names[i - 1];
        if (strncmp(known, name.bytes, name.length) == 0 && known[name.length] == '\0') {
            *number = (uint32_t)(i - 1);
            return true;
        }
    }
    char **names = realloc(places->names, (places->n_names + 1) * sizeof *names);
    if (names == NULL) {
        return false;
    }
    places->names = names;
    names[places->n_names] = strndup(name.bytes, name.length);
    if (names[places->n_names] == NULL) {
        return false;
    }
    *number = (uint32_t)places->n_names++;
    return true;
}

/* "20260131120000" as seconds since 1970; 0: it is no time. */
static uint32_t date_of(WarcBytes timestamp)
{
    char text[18] = "00000000000000000";
    WallTime time;
    memcpy(text, timestamp.bytes, timestamp.length < 14 ? timestamp.length : 14);
    if (!log_text_compact_time((LogText){text, 17}, &time) || time.us <= 0) {
        return 0;
    }
    int64_t seconds = time.us / 1000000;
    return seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

/* Ends the read transaction now and then, so that the crawl can use freed pages again. */
static bool renew(PagePlaces *places)
{
    if (places->txn != NULL && places->n_lines++ % AT_ONCE != 0) {
        return true;
    }
    if (places->txn != NULL) {
        page_db_txn_abort(places->db, places->txn);
        places->txn = NULL;
    }
    if (page_db_txn_begin(places->db, true, &places->txn) != page_db_error_ok) {
        places->txn = NULL;
        places->result = RESULT_IO;
    }
    return places->result == RESULT_OK;
}

static bool page_places_take_line(void *context, const CdxjEntry *entry)
{
    PagePlaces *places = context;
    uint64_t page = 0;
    PagePlace place = {.offset = entry->offset, .date = date_of(entry->timestamp)};
    if (!renew(places)) {
        return false;
    }
    int code = page_db_find(places->db, places->txn, entry->url.bytes, entry->url.length, &page);
    if (code != page_db_error_ok || page >= places->n_pages || place.date == 0 ||
        entry->status == STATUS_AGAIN) {
        return true; /* such as robots.txt */
    }
    if (!page_places_number_of(places, entry->filename, &place.file)) {
        places->result = RESULT_MEMORY;
        return false;
    }
    PagePlace *known = &places->all[page];
    if (place.date > known->date ||
        (place.date == known->date && place.file == known->file && place.offset > known->offset)) {
        *known = place;
    }
    return true;
}

static Result page_places_make_room(PagePlaces *places)
{
    places->bytes = (size_t)(places->n_pages + 1) * sizeof *places->all;
    places->file = tmpfile();
    int code = places->file == NULL
                   ? errno
                   : posix_fallocate(fileno(places->file), 0, (off_t)places->bytes);
    if (code != 0) {
        return result_of_errno(code);
    }
    void *map =
        mmap(NULL, places->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(places->file), 0);
    if (map == MAP_FAILED) {
        return result_of_errno(errno);
    }
    places->all = map;
    return RESULT_OK;
}

Result page_places_new(PagePlaces **out, PageDB *db, const char *directory)
{
    PagePlaces *places = calloc(1, sizeof *places);
    if (places == NULL) {
        return RESULT_MEMORY;
    }
    places->db = db;
    Result rc = renew(places) ? RESULT_OK : places->result;
    if (rc == RESULT_OK) {
        places->n_pages = page_db_n_pages(db, places->txn);
        rc = page_places_make_room(places);
    }
    if (rc == RESULT_OK) {
        rc = cdxj_walk(directory, page_places_take_line, places);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
        rc = rc == RESULT_OK ? places->result : rc;
    }
    if (places->txn != NULL) {
        page_db_txn_abort(db, places->txn);
    }
    if (rc != RESULT_OK) {
        page_places_delete(places);
        return rc;
    }
    *out = places;
    return RESULT_OK;
}

void page_places_delete(PagePlaces *places)
{
    if (places == NULL) {
        return;
    }
    if (places->all != NULL) {
        (void)munmap(places->all, places->bytes);
    }
    if (places->file != NULL) {
        (void)fclose(places->file);
    }
    for (size_t i = 0; i < places->n_names; i++) {
        free(places->names[i]);
    }
    free(places->names);
    free(places);
}

bool page_places_get(PagePlaces *places, uint64_t page, PagePlace *place)
{
    if (page >= places->n_pages || places->all[page].date == 0) {
        return false;
    }
    *place = places->all[page];
    return true;
}

const char *page_places_name(const PagePlaces *places, uint32_t file)
{
    return places->names[file];
}
