/* Whole-database dumps as text: infos, links. */
#include "store/pages/page_db.h"

#include "store/pages/page_error.h"

static int print_info(FILE *output, char separator, uint64_t hash, uint64_t index,
                      const PageInfo *pi)
{
    char s = separator;
    return fprintf(output, "%016llx%c%llu%c%s%c%.3f%c%.3f%c%llu%c%llu%c%llu%c%.9g\n",
                   (unsigned long long)hash, s, (unsigned long long)index, s, pi->url, s,
                   pi->first_crawl, s, pi->last_crawl, s, (unsigned long long)pi->n_changes, s,
                   (unsigned long long)pi->n_crawls, s, (unsigned long long)pi->depth, s,
                   (double)pi->score);
}

static PageDBError end_dump(PageDB *db, FILE *output, StreamState state)
{
    if (state == stream_state_error) {
        return (PageDBError)error_code(db->error);
    }
    if (fflush(output) != 0 || ferror(output)) {
        return (PageDBError)page_db_fail(db, page_db_error_invalid_path,
                                         "the dump cannot be written");
    }
    return page_db_error_ok;
}

PageDBError page_db_info_dump(PageDB *db, FILE *output)
{
    int checked = page_db_check(db, output != NULL, "page_db_info_dump");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    HashInfoStream *stream = NULL;
    PageDBError rc = hashinfo_stream_new(&stream, db);
    if (rc != page_db_error_ok) {
        return rc;
    }
    uint64_t hash = 0;
    PageInfo *pi = NULL;
    StreamState state = stream_state_init;
    while ((state = hashinfo_stream_next(stream, &hash, &pi)) == stream_state_next) {
        int n = print_info(output, ' ', hash, stream->index, pi);
        page_info_delete(pi);
        if (n < 0) {
            break;
        }
    }
    hashinfo_stream_delete(stream);
    return end_dump(db, output, state);
}

PageDBError page_db_links_dump(PageDB *db, FILE *output)
{
    int checked = page_db_check(db, output != NULL, "page_db_links_dump");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    PageDBLinkStream *stream = NULL;
    PageDBError rc = page_db_link_stream_new(&stream, db);
    if (rc != page_db_error_ok) {
        return rc;
    }
    stream->only_diff_domain = 0;
    Link link;
    StreamState state = stream_state_init;
    while ((state = page_db_link_stream_next(stream, &link)) == stream_state_next) {
        if (fprintf(output, "%lld %lld\n", (long long)link.from, (long long)link.to) < 0) {
            break;
        }
    }
    page_db_link_stream_delete(stream);
    return end_dump(db, output, state);
}
