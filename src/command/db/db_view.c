#include "command/db/db_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/ascii.h"
#include "crawl/crawl_view.h"
#include "parse/http/decode.h"
#include "rules/dedup.h"
#include "store/archive/warc_reader.h"

/* ragno db DIR get URL --headers|--body|--raw: the stored answer, from the WARC files. */

#define DECODED_MAX_BYTES ((size_t)1 << 30) /* more is a bomb */

static int db_answer_complain(Result rc, const char *url)
{
    if (rc == RESULT_NOT_FOUND) {
        (void)fprintf(stderr, "ragno db: no answer of %s is stored\n", url);
        return EXIT_NEGATIVE;
    }
    if (rc == RESULT_DAMAGED) {
        (void)fprintf(stderr, "ragno db: the record of %s is damaged; ragno verify says more\n",
                      url);
        return EXIT_DIRECTORY;
    }
    (void)fprintf(stderr, "ragno db: the answer of %s cannot be read: %s\n", url, result_name(rc));
    return rc == RESULT_MEMORY ? 1 : EXIT_IO;
}

/* Undoes the content coding; what can be decoded of a damaged body is better than nothing. */
static Result db_answer_decode(const WarcAnswer *answer, Buffer *out)
{
    HttpHeader header;
    Decoder *decoder = NULL;
    Result rc = decoder_new(&decoder);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (http_header_parse(&header, buffer_string(&answer->header), answer->header.length) !=
        RESULT_OK) {
        header = (HttpHeader){.fields = ""};
    }
    DecodeStatus status =
        decode_answer(decoder, &header, buffer_string(&answer->body), answer->body.length, out, 0);
    decoder_delete(decoder);
    if (status == DECODE_MEMORY) {
        return RESULT_MEMORY;
    }
    if (status != DECODE_OK) {
        (void)fprintf(stderr, "ragno db: the body cannot be decoded to its end: %s\n",
                      decode_status_name(status));
    }
    return RESULT_OK;
}

/* As it is, unless a terminal is to show it. */
static void print_bytes(const Buffer *bytes)
{
    if (isatty(STDOUT_FILENO) == 1) {
        /* A terminal obeys escape sequences, and these bytes are a stranger's: control characters
         * but tabs and line ends are shown as "\\x1b". Those of the upper half stand in UTF-8
         * behind 0xC2. */
        const char *p = buffer_string(bytes);
        for (size_t i = 0; i < bytes->length; i++) {
            bool ends_line = p[i] == '\r' && i + 1 < bytes->length && p[i + 1] == '\n';
            size_t n = ascii_control_bytes(p + i, bytes->length - i);
            if (n > 0 && p[i] != '\n' && p[i] != '\t' && !ends_line) {
                i += n - 1;
                (void)printf("\\x%02x", (unsigned char)p[i]);
            } else {
                (void)putchar(p[i]);
            }
        }
    } else {
        (void)fwrite(buffer_string(bytes), 1, bytes->length, stdout); /* db_finish asks ferror */
    }
}

static int db_answer_print_answer(DbView *view, const WarcAnswer *answer, const DbParts *parts)
{
    if (answer->truncated && (parts->body || parts->raw)) {
        (void)fprintf(stderr, "ragno db: the answer was cut when it was fetched\n");
    }
    short_read_pause(&view->read); /* the answer comes from the archive, and may be long */
    if (parts->headers) {
        print_bytes(&answer->header);
    }
    if (parts->raw) {
        print_bytes(&answer->body);
    } else if (parts->body) {
        Buffer body = {.limit = DECODED_MAX_BYTES};
        Result rc = db_answer_decode(answer, &body);
        print_bytes(&body);
        buffer_destroy(&body);
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno db: %s\n", result_name(rc));
            return 1;
        }
    }
    return db_finish(view, page_db_error_ok);
}

/* Loads the answer of a page's last visit; of what is no page, such as a robots.txt, the newest. */
static Result db_answer_load(DbView *view, const char *url, WarcAnswer *answer)
{
    PageRef page;
    uint64_t index = 0;
    size_t length = strlen(url);
    int rc = page_db_find(view->db, view->txn, url, length, &index);
    if (rc == page_db_error_ok) {
        rc = page_db_get(view->db, view->txn, index, &page, &view->url);
    }
    return rc == page_db_error_ok
               ? warc_load_visit(view->warc, url, length, page.status,
                                 (WallTime){llround(page.last_crawl * 1e6)}, answer)
               : warc_load(view->warc, url, length, answer);
}

int db_answer(DbView *view, const char *url, const DbParts *parts)
{
    WarcAnswer answer;
    warc_answer_init(&answer);
    Result rc = db_answer_load(view, url, &answer);
    if (rc == RESULT_NOT_FOUND && db_stands_for(view, url)) {
        Buffer first = view->url;
        buffer_init(&view->url, BUFFER_NO_LIMIT);
        rc = db_answer_load(view, buffer_string(&first), &answer);
        buffer_destroy(&first);
    }
    int status = rc == RESULT_OK ? db_answer_print_answer(view, &answer, parts)
                                 : db_answer_complain(rc, url);
    warc_answer_destroy(&answer);
    return status;
}

/* ---- What a command of `ragno db` looks at, and what all commands do with it ---- */

int db_failed(const DbView *view, int rc)
{
    const char *message = error_message(view->db->error);
    const char *other = rc == page_db_error_no_page ? "the crawl does not know it" : "failed";
    (void)fprintf(stderr, "ragno db: %s\n", message == NULL ? other : message);
    return crawl_exit_status(rc);
}

int db_turn(DbView *view, int rc)
{
    rc = short_read_turn(&view->read, rc);
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
               ? schedule_open(schedule, view->txn, NULL, page_db_journal(view->db))
               : RESULT_OK;
}

bool db_is_host(const char *origin, const char *host)
{
    const char *slashes = strstr(origin, "//");
    return strcmp(origin, host) == 0 || (slashes != NULL && strcmp(slashes + 2, host) == 0);
}
