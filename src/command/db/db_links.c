/* ragno db: links. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/pages/page_db_read.h"
#include "command/db/db_commands.h"

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
