#include "command/db/db.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crawl/crawl_open.h"
#include "crawl/exit_status.h"
#include "parse/http/decode.h"
#include "parse/http/http_header.h"
#include "rules/dedup.h"
#include "store/archive/warc_load.h"
#include "store/pages/page_db_open.h"
#include "store/pages/page_db_read.h"

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
    HttpField field = {.value = NULL, .value_length = 0};
    Decoder *decoder = NULL;
    Result rc = decoder_new(&decoder);
    if (rc != RESULT_OK) {
        return rc;
    }
    Buffer coding;
    buffer_init(&coding, answer->header.length + 1);
    if (answer->header.length > 0 &&
        http_header_parse(&header, answer->header.data, answer->header.length) == RESULT_OK) {
        (void)http_header_find_list(&header, "Content-Encoding", &coding, &field);
    }
    DecodeStatus status = decode_content(decoder, field.value, field.value_length,
                                         buffer_string(&answer->body), answer->body.length, out, 0);
    decoder_delete(decoder);
    buffer_destroy(&coding);
    if (status == DECODE_MEMORY) {
        return RESULT_MEMORY;
    }
    if (status != DECODE_OK) {
        (void)fprintf(stderr, "ragno db: the body cannot be decoded to its end: %s\n",
                      decode_status_name(status));
    }
    return RESULT_OK;
}

/* A terminal obeys escape sequences, and these bytes are a stranger's: control characters but tabs
 * and line ends are shown as "\\x1b". Those of the upper half stand in UTF-8 behind 0xC2. */
static void show_bytes(const Buffer *bytes)
{
    const unsigned char *p = (const unsigned char *)buffer_string(bytes);
    for (size_t i = 0; i < bytes->length; i++) {
        bool is_high = p[i] == 0xC2 && i + 1 < bytes->length && p[i + 1] >= 0x80 && p[i + 1] < 0xA0;
        bool ends_line = p[i] == '\r' && i + 1 < bytes->length && p[i + 1] == '\n';
        bool is_low = (p[i] < ' ' && p[i] != '\n' && p[i] != '\t' && !ends_line) || p[i] == 0x7F;
        if (is_low || is_high) {
            i += is_high ? 1 : 0;
            (void)printf("\\x%02x", p[i]);
        } else {
            (void)putchar(p[i]);
        }
    }
}

/* As it is, unless a terminal is to show it. */
static void print_bytes(const Buffer *bytes)
{
    if (isatty(STDOUT_FILENO) == 1) {
        show_bytes(bytes);
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
        Buffer body;
        buffer_init(&body, DECODED_MAX_BYTES);
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

int db_answer(DbView *view, const char *url, const DbParts *parts)
{
    WarcAnswer answer;
    warc_answer_init(&answer);
    Result rc = warc_load(view->warc, url, strlen(url), &answer);
    if (rc == RESULT_NOT_FOUND && db_stands_for(view, url)) {
        rc = warc_load(view->warc, view->url.data, view->url.length, &answer);
    }
    int status = rc == RESULT_OK ? db_answer_print_answer(view, &answer, parts)
                                 : db_answer_complain(rc, url);
    warc_answer_destroy(&answer);
    return status;
}

/* ragno db: links. */

typedef struct LinkPrinter {
    DbView *view;
    bool ids;
    Buffer from_url; /* of from, unless ids */
    uint64_t from;
} LinkPrinter;

static int begin_page(LinkPrinter *p, uint64_t from)
{
    p->from = from;
    if (p->ids) {
        return page_db_error_ok;
    }
    PageRef page;
    return page_db_get(p->view->db, p->view->txn, from, &page, &p->from_url);
}

static int print_link(LinkPrinter *p, uint64_t to)
{
    if (p->ids) {
        printf("%" PRIu64 "\t%" PRIu64 "\n", p->from, to);
        return page_db_error_ok;
    }
    int rc = page_db_error_ok;
    const char *url = db_url(p->view, to, &rc);
    if (url != NULL) {
        printf("%s\t%s\n", buffer_string(&p->from_url), url);
    }
    return rc;
}

static int print_from(LinkPrinter *p, uint64_t from)
{
    uint64_t *to = NULL;
    size_t n = 0, n_diff = 0;
    int rc = begin_page(p, from);
    if (rc == page_db_error_ok) {
        rc = page_db_get_links(p->view->db, p->view->txn, from, &to, &n, &n_diff);
    }
    for (size_t i = 0; rc == page_db_error_ok && i < n; i++) {
        rc = print_link(p, to[i]);
        rc = rc == page_db_error_ok ? db_turn(p->view) : rc;
    }
    free(to);
    return rc;
}

/* All links, or only those to one page (NULL = all). */
static int db_links_print_all(LinkPrinter *p, const uint64_t *wanted)
{
    PageDB *db = p->view->db;
    uint64_t n_pages = page_db_n_pages(db, p->view->txn);
    PageDBLinkStream *stream = NULL;
    int rc = (int)page_db_link_stream_new(&stream, db);
    if (rc != page_db_error_ok) {
        return rc;
    }
    stream->only_diff_domain = 0;
    uint64_t from = 0;
    const uint64_t *to = NULL;
    size_t n = 0;
    StreamState state = stream_state_init;
    while (rc == page_db_error_ok &&
           (state = page_db_link_stream_next_page(stream, &from, &to, &n)) == stream_state_next) {
        bool begun = false;
        for (size_t i = 0; rc == page_db_error_ok && i < n; i++) {
            /* The stream's snapshot may be younger than this command's. */
            if ((wanted != NULL && to[i] != *wanted) || from >= n_pages || to[i] >= n_pages) {
                continue;
            }
            rc = begun ? rc : begin_page(p, from);
            begun = true;
            rc = rc == page_db_error_ok ? print_link(p, to[i]) : rc;
            rc = rc == page_db_error_ok ? db_turn(p->view) : rc;
        }
        rc = rc == page_db_error_ok ? db_turn(p->view) : rc;
    }
    rc = state == stream_state_error ? error_code(db->error) : rc;
    page_db_link_stream_delete(stream);
    return rc;
}

int db_links(DbView *view, int argc, char **argv)
{
    static const struct option options[] = {
        {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'},
        {"ids", no_argument, NULL, 'i'},
        {NULL, 0, NULL, 0},
    };
    LinkPrinter printer = {.view = view};
    const char *from = NULL, *to = NULL;
    optind = 1;
    for (int c = 0; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'f':
            from = optarg;
            break;
        case 't':
            to = optarg;
            break;
        case 'i':
            printer.ids = true;
            break;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind != argc || (from != NULL && to != NULL)) {
        (void)fprintf(stderr, "usage: ragno db DIR links [--from URL|--to URL] [--ids]\n");
        return EXIT_USAGE;
    }
    buffer_init(&printer.from_url, BUFFER_NO_LIMIT);
    uint64_t index = 0;
    int rc = page_db_error_ok;
    if (from != NULL || to != NULL) {
        rc = db_find(view, from != NULL ? from : to, &index);
    }
    if (rc == page_db_error_ok) {
        rc = from != NULL ? print_from(&printer, index)
                          : db_links_print_all(&printer, to != NULL ? &index : NULL);
    }
    buffer_destroy(&printer.from_url);
    return db_finish(view, rc);
}

/* ---- What a command of `ragno db` looks at, and what all commands do with it ---- */

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

/* ---- `ragno db DIR COMMAND  ---- */

typedef struct DbCommand {
    const char *name;
    const char *usage;
    int (*run)(DbView *view, int argc, char **argv);
} DbCommand;

static const DbCommand commands[] = {
    {"dump", "dump                             all pages by hash", db_dump},
    {"find", "find REGEX                       pages whose URL matches", db_find_regex},
    {"get",
     "get URL [--headers] [--body|--raw] one page; or its stored answer, decoded or as stored",
     db_get},
    {"hosts", "hosts [HOST|--parked|--walls]    id, origin, known, crawled, scheduled pages",
     db_hosts},
    {"info", "info                             counts, sizes, format version", db_info},
    {"links", "links [--from URL|--to URL] [--ids]", db_links},
    {"path", "path URL                         how the crawl got there, seed first", db_path},
    {"schedule",
     "schedule [--top N] [--host HOST] priority, score, url; --due: next visit, interval, url",
     db_schedule},
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static int db_usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno db DIR COMMAND\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        (void)fprintf(out, "  %s\n", commands[i].usage);
    }
    (void)fprintf(out, "Pages are printed as: hash index url first_crawl last_crawl n_changes "
                       "n_crawls depth score, tab separated.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int db_run(const DbCommand *command, const char *dir, int argc, char **argv)
{
    DbView view = {.directory = dir};
    Buffer warc; /* the folder beside the database */
    buffer_init(&warc, BUFFER_NO_LIMIT);
    if (buffer_printf(&warc, crawl_open_is_crawl(dir) ? "%s/warc" : "%s/../warc", dir) !=
        RESULT_OK) {
        return EXIT_INTERNAL;
    }
    view.warc = buffer_string(&warc);
    buffer_init(&view.url, BUFFER_NO_LIMIT);
    int status = crawl_open("db", dir, true, &view.db);
    if (status == 0) {
        int rc = short_read_begin(&view.read, view.db, stdout);
        view.txn = view.read.txn;
        status = rc == page_db_error_ok ? command->run(&view, argc, argv) : db_failed(&view, rc);
        short_read_pause(&view.read);
    }
    buffer_destroy(&view.url);
    buffer_destroy(&warc);
    (void)page_db_delete(view.db);
    return status;
}

/* How many letters two words have in common at the start. */
static size_t likeness(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n]) {
        n++;
    }
    return n;
}

int db_main(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return db_usage(stdout);
    }
    if (argc < 3) {
        return db_usage(stderr);
    }
    if (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0) {
        return db_usage(stdout);
    }
    const DbCommand *nearest = NULL;
    size_t most = 0;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[2], commands[i].name) == 0) {
            return db_run(&commands[i], argv[1], argc - 2, argv + 2);
        }
        size_t alike = likeness(argv[2], commands[i].name);
        if (alike > most) {
            most = alike;
            nearest = &commands[i];
        }
    }
    (void)fprintf(stderr, "ragno db: unknown command '%s'", argv[2]);
    if (nearest != NULL) {
        (void)fprintf(stderr, "; did you mean '%s'?", nearest->name);
    }
    (void)fprintf(stderr, "\n");
    return db_usage(stderr);
}
