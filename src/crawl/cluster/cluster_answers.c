#include "crawl/cluster/cluster_answers.h"

#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "cluster/message/page_trail.h"
#include "why/why.h"
#include "why/why_text.h"

#define LOG_BYTES  ((size_t)1 << 20)
#define URLS_BYTES ((size_t)256 << 10) /* of an answer, and the last URL */

/* The URL of a question; the caller frees it. NULL: there is none. */
static char *cluster_answers_url_of(WireReader *question)
{
    size_t length = 0;
    const uint8_t *bytes = wire_get_string(question, &length);
    if (!wire_reader_ended(question) || length == 0 || length > LINK_URL_MOST) {
        return NULL;
    }
    return strndup((const char *)bytes, length);
}

static Result write_why(const Why *why, bool json, WallTime now, Buffer *text)
{
    JsonWriter writer;
    if (!json) {
        return why_text(why, now, text);
    }
    json_init(&writer, text);
    why_json(why, now, &writer);
    return writer.result;
}

static void cluster_answers_tell_why(const ClusterPart *part, const char *url, bool json,
                                     WireWriter *answer)
{
    const IngestStore *tables = &part->store->tables;
    Why why;
    Buffer text;
    WallTime now = wall_now();
    WhySources sources = {.directory = part->store->directory,
                          .db = tables->db,
                          .hosts = tables->hosts,
                          .groups = tables->groups,
                          .schedule = tables->schedule,
                          .revisits = tables->revisits,
                          .is_running = true,
                          .log_bytes = LOG_BYTES,
                          .now = now};
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = why_find(&why, &sources, url, &text);
    if (rc == RESULT_OK) {
        rc = write_why(&why, json, now, &text);
    }
    if (rc == RESULT_OK) {
        wire_put_8(answer, (uint8_t)why.state);
        wire_put_string(answer, text.data, text.length);
    }
    why_destroy(&why);
    buffer_destroy(&text);
}

/* url NULL: of the page with that index. */
static void tell_trail(const ClusterPart *part, const char *url, uint64_t index, WireWriter *answer)
{
    PageDB *db = part->store->tables.db;
    MDB_txn *txn = NULL;
    PageTrail trail;
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return;
    }
    page_trail_init(&trail);
    int found = url == NULL ? page_db_error_ok : page_db_find(db, txn, url, strlen(url), &index);
    Result rc = found == page_db_error_ok
                    ? page_trail_read(&trail, db, txn, &part->ingest.vias, index)
                    : RESULT_NOT_FOUND;
    page_db_txn_abort(db, txn);
    page_trail_put(answer, rc, &trail);
    page_trail_destroy(&trail);
}

static void tell_urls(const ClusterPart *part, WireReader *question, WireWriter *answer)
{
    PageDB *db = part->store->tables.db;
    MDB_txn *txn = NULL;
    PageRef page;
    Buffer urls, url;
    size_t n_told = 0;
    size_t n = (size_t)wire_get_varint(question);
    if (n > NODE_PAGE_URLS_MOST || page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return;
    }
    buffer_init(&urls, BUFFER_NO_LIMIT);
    buffer_init(&url, BUFFER_NO_LIMIT);
    WireWriter writer = wire_writer(&urls);
    for (; n_told < n && urls.length < URLS_BYTES && !question->bad; n_told++) {
        uint64_t index = wire_get_varint(question);
        int found = page_db_get(db, txn, index, &page, &url);
        wire_put_string(&writer, url.data, found == page_db_error_ok ? url.length : 0);
    }
    page_db_txn_abort(db, txn);
    if (writer.rc == RESULT_OK && !question->bad) {
        wire_put_varint(answer, n_told);
        wire_put_bytes(answer, urls.data, urls.length);
    }
    buffer_destroy(&urls);
    buffer_destroy(&url);
}

void cluster_answers_page(void *context, WireReader *question, WireWriter *answer)
{
    const ClusterPart *part = context;
    uint8_t what = wire_get_8(question);
    if (what == NODE_PAGE_TRAIL) {
        uint64_t index = wire_get_64(question);
        if (wire_reader_ended(question)) {
            tell_trail(part, NULL, index, answer);
        }
        return;
    }
    if (what == NODE_PAGE_URLS) {
        tell_urls(part, question, answer);
        return;
    }
    char *url = cluster_answers_url_of(question);
    if (url != NULL && (what == NODE_PAGE_WHY || what == NODE_PAGE_WHY_JSON)) {
        cluster_answers_tell_why(part, url, what == NODE_PAGE_WHY_JSON, answer);
    } else if (url != NULL && what == NODE_PAGE_TRAIL_OF_URL) {
        tell_trail(part, url, 0, answer);
    }
    free(url);
}
