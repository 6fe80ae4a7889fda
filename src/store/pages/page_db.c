#include "store/pages/page_db.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/file.h"
#include "store/page_batch/page_writer.h"
#include "store/page_tables/page_parts.h"
#include "store/pages/page_error.h"

/* ---- PageDB ---- */

uint64_t page_db_hash(const char *url)
{
    return url == NULL ? 0 : page_key_hash(url, strlen(url));
}

uint32_t page_db_hash_get_domain(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

uint32_t page_db_hash_get_url(uint64_t hash)
{
    return (uint32_t)hash;
}

void page_db_set_persist(PageDB *db, int value)
{
    if (db != NULL) {
        db->persist = value;
    }
}

MDB_env *page_db_env(PageDB *db)
{
    return db->store->env;
}

void page_db_rest(PageDB *db)
{
    page_readers_rest(db->store);
}

int page_db_grow(PageDB *db)
{
    error_clean(db->error);
    TxnManagerError rc = txn_manager_expand_to(db->txn_manager, 0);
    if (rc == txn_manager_error_ok) {
        return page_db_error_ok;
    }
    const char *message = error_message(db->txn_manager->error);
    return page_db_fail(
        db, rc == txn_manager_error_memory ? page_db_error_full : page_db_error_internal,
        message == NULL ? "growing the map" : message);
}

void page_db_set_residence(PageDB *db, size_t budget)
{
    map_residence_set(&db->store->residence, budget, atomic_load(&db->store->residence.most));
}

void page_db_set_map_memory(PageDB *db, size_t most)
{
    map_residence_set(&db->store->residence, atomic_load(&db->store->residence.budget), most);
}

void page_db_looked_up(PageDB *db, unsigned n)
{
    page_store_looked_up(db->store, n);
}

/* ---- How often the hottest domains are crawled ---- */

PageDBError page_db_set_domain_temp(PageDB *db, size_t n_domains, float window)
{
    int rc = page_db_check(db, true, "page_db_set_domain_temp");
    if (rc != page_db_error_ok) {
        return (PageDBError)rc;
    }
    if (n_domains == 0 || !(window > 0.0f)) {
        return (PageDBError)page_db_fail(
            db, page_db_error_invalid,
            n_domains == 0 ? "page_db_set_domain_temp: n_domains is 0, expected 1 or more"
                           : "page_db_set_domain_temp: window is not above 0 seconds");
    }
    DomainTemp *fresh = domain_temp_new(n_domains, window);
    if (fresh == NULL) {
        return (PageDBError)page_db_fail(
            db, page_db_error_memory,
            "page_db_set_domain_temp: no memory for this number of domains");
    }
    mutex_lock(&db->store->mutex);
    DomainTemp *old = db->domain_temp;
    db->domain_temp = fresh;
    mutex_unlock(&db->store->mutex);
    domain_temp_delete(old);
    return page_db_error_ok;
}

float page_db_get_domain_crawl_rate(PageDB *db, uint32_t domain_hash)
{
    if (db == NULL) {
        return 0;
    }
    mutex_lock(&db->store->mutex);
    float temp = db->domain_temp == NULL ? 0 : domain_temp_get(db->domain_temp, domain_hash);
    mutex_unlock(&db->store->mutex);
    return temp;
}

void page_db_heat(PageDB *db, const CrawledPage *const *pages, size_t n)
{
    mutex_lock(&db->store->mutex);
    for (size_t i = 0; db->domain_temp != NULL && i < n; i++) {
        domain_temp_update(db->domain_temp, pages[i]->time);
        domain_temp_heat(db->domain_temp, page_db_hash_get_domain(page_db_hash(pages[i]->url)));
    }
    mutex_unlock(&db->store->mutex);
}

/* The documented way in: page_db_add and its batch, on top of page_db_write. */

/* Collects the PageInfoList. linked_from wants hashes where PageRef has indices; a page that is
 * discovered is always linked from the page that was crawled last. */
typedef struct Collector {
    PageDB *db;
    MDB_txn *txn;
    PageInfoList *list;
    uint64_t page_hash;                  /* of the page whose links are being seen */
    const CrawledPage *const *next_page; /* of the batch, to be reported as crawled */
} Collector;

static PageInfo *info_of(const PageRef *ref, const CrawledPage *page)
{
    size_t hash_length = page == NULL ? 0 : page->content_hash_length;
    PageInfo *pi = page_info_allocate(ref->url_length, hash_length);
    if (pi == NULL) {
        return NULL;
    }
    memcpy(pi->url, ref->url, ref->url_length);
    if (hash_length > 0) {
        memcpy(pi->content_hash, page->content_hash, hash_length);
    }
    pi->depth = ref->depth;
    pi->first_crawl = ref->first_crawl;
    pi->last_crawl = ref->last_crawl;
    pi->n_changes = ref->n_changes;
    pi->n_crawls = ref->n_crawls;
    pi->score = ref->score;
    return pi;
}

static int page_db_add_collect(Collector *c, PageInfo *pi, uint64_t hash)
{
    PageInfoList *list = pi == NULL ? NULL : page_info_list_cons(c->list, pi, hash);
    if (list == NULL) {
        page_info_delete(pi);
        return page_db_error_memory;
    }
    c->list = list;
    return page_db_error_ok;
}

static int collect_discovered(void *context, const PageRef *page, PageState *state)
{
    (void)state;
    Collector *c = context;
    PageInfo *pi = info_of(page, NULL);
    if (pi != NULL) {
        pi->linked_from = c->page_hash;
    }
    return page_db_add_collect(c, pi, page->hash);
}

static int collect_crawled(void *context, const PageRef *before, const PageRef *after,
                           uint8_t *level)
{
    (void)before;
    (void)level;
    Collector *c = context;
    c->page_hash = after->hash;
    return page_db_add_collect(c, info_of(after, *c->next_page++), after->hash);
}

/* What the sink cannot know: the hash of the page that a crawled page is linked from. */
static int page_db_add_complete(Collector *c)
{
    int rc = page_db_error_ok;
    for (PageInfoList *l = c->list; l != NULL && rc == page_db_error_ok; l = l->next) {
        if (l->page_info->n_crawls > 0) {
            rc = page_db_fail_find(c->db,
                                   page_parts_linked_from(c->db->store, c->txn, l->page_info->url,
                                                          &l->page_info->linked_from),
                                   "reading where a page was linked from");
        }
    }
    return rc;
}

static int try_batch(Collector *c, const CrawledPage *const *pages, const PageWrite *writes,
                     size_t n, bool wants_list)
{
    PageSink sink = {.context = c, .discovered = collect_discovered, .crawled = collect_crawled};
    c->next_page = pages;
    int rc = page_db_txn_begin(c->db, false, &c->txn);
    if (rc != page_db_error_ok) {
        return rc;
    }
    rc = page_db_write(c->db, c->txn, writes, n, wants_list ? &sink : NULL);
    if (rc == page_db_error_ok && wants_list) {
        rc = page_db_add_complete(c);
    }
    return page_db_txn_end_code(c->db, c->txn, rc);
}

static bool map_is_small(PageDB *db)
{
    MDB_envinfo info;
    /* Counted as a reader, so that the map does not move. */
    inv_semaphore_inc(&db->txn_manager->txn_counter_read);
    int rc = mdb_env_info(db->store->env, &info);
    inv_semaphore_dec(&db->txn_manager->txn_counter_read);
    return rc == 0 && info.me_mapsize < PAGE_DB_DEFAULT_SIZE;
}

static bool are_pages(const CrawledPage *const *pages, size_t n)
{
    for (size_t i = 0; pages != NULL && i < n; i++) {
        if (pages[i] == NULL || pages[i]->url == NULL || pages[i]->links == NULL) {
            return false;
        }
    }
    return pages != NULL || n == 0;
}

PageDBError page_db_add_batch(PageDB *db, const CrawledPage *const *pages, size_t n_pages,
                              PageInfoList **page_info_list)
{
    if (page_info_list != NULL) {
        *page_info_list = NULL;
    }
    int checked = page_db_check(db, are_pages(pages, n_pages), "page_db_add");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    PageWrite *writes = calloc(n_pages == 0 ? 1 : n_pages, sizeof *writes);
    if (writes == NULL) {
        return (PageDBError)page_db_fail(db, page_db_error_memory, "page_db_add: out of memory");
    }
    for (size_t i = 0; i < n_pages; i++) {
        writes[i].page = pages[i];
    }
    Collector c = {.db = db};
    int rc = page_db_error_ok;
    do {
        page_info_list_delete(c.list);
        c.list = NULL;
        if (rc == page_db_error_full && page_db_grow(db) != page_db_error_ok) {
            break;
        }
        rc = try_batch(&c, pages, writes, n_pages, page_info_list != NULL);
    } while (rc == page_db_error_full && map_is_small(db));
    free(writes);
    if (rc != page_db_error_ok) {
        page_info_list_delete(c.list);
        return (PageDBError)rc;
    }
    if (page_info_list != NULL) {
        *page_info_list = c.list;
    }
    page_db_heat(db, pages, n_pages);
    return page_db_error_ok;
}

PageDBError page_db_add(PageDB *db, const CrawledPage *page, PageInfoList **page_info_list)
{
    return page_db_add_batch(db, &page, 1, page_info_list);
}

/* Writing: batches of crawled pages, lists of links, URLs that were found. */

/* Ends a write and translates its code. */
static int end_write(PageDB *db, PageWriter *writer, const char *what)
{
    int rc = page_writer_end(writer);
    if (rc == PAGE_WRITER_STOPPED) {
        return page_db_fail(db, writer->sink_code, what);
    }
    return page_db_fail_mdb(db, rc, what);
}

int page_db_write(PageDB *db, MDB_txn *txn, const PageWrite *pages, size_t n, const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    page_writer_begin(&writer, db->store, txn, sink);
    page_writer_write(&writer, pages, n);
    return end_write(db, &writer, "page_db_write");
}

int page_db_relink(PageDB *db, MDB_txn *txn, const PageWrite *page, const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    page_writer_begin(&writer, db->store, txn, sink);
    page_writer_relink(&writer, page);
    if (writer.code == MDB_NOTFOUND) {
        (void)page_writer_end(&writer);
        return page_db_fail(db, page_db_error_no_page, "page_db_relink");
    }
    return end_write(db, &writer, "page_db_relink");
}

int page_db_discover(PageDB *db, MDB_txn *txn, const LinkInfo *urls, const uint8_t *hops, size_t n,
                     uint64_t from_index, uint64_t depth, const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    page_writer_begin(&writer, db->store, txn, sink);
    page_writer_discover(&writer, urls, hops, n, from_index, depth);
    return end_write(db, &writer, "page_db_discover");
}

int page_db_discover_each(PageDB *db, MDB_txn *txn, const PageDiscovery *found, size_t n,
                          const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    page_writer_begin(&writer, db->store, txn, sink);
    page_writer_discover_each(&writer, found, n);
    return end_write(db, &writer, "page_db_discover_each");
}

/* page_db_confirm: a visit that found nothing new. */

/* Appends the record with one crawl more. false: it was never crawled. */
static bool page_db_confirm_record(PagePackEditor *infos, const MDB_val *value,
                                   const PageRecord *record, double time, Buffer *bytes)
{
    PageCrawl crawl;
    if (!record->crawled) {
        return false;
    }
    if (!page_crawl_read(record->crawl, record->crawl_length, &crawl)) {
        return lmdb_rows_note(&infos->rows, MDB_CORRUPTED);
    }
    crawl.n_crawls++;
    crawl.last_crawl = time;
    (void)buffer_append(bytes, value->mv_data, record->head_length);
    (void)page_crawl_append(&crawl, bytes);
    (void)buffer_append(bytes, record->path, record->path_length);
    return lmdb_rows_note(&infos->rows, bytes->failed == RESULT_OK ? 0 : ENOMEM);
}

int page_db_confirm(PageDB *db, MDB_txn *txn, uint64_t index, double time)
{
    PagePackEditor infos;
    MDB_val value;
    PageRecord record;
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    error_clean(db->error);
    page_pack_editor_begin(&infos, txn, db->store->tables.idx2info, db->store->journal);
    bool was_crawled = page_pack_editor_read(&infos, index, 0, &value, &record) &&
                       page_db_confirm_record(&infos, &value, &record, time, &bytes);
    if (was_crawled) {
        value = (MDB_val){bytes.length, bytes.data};
        page_pack_editor_set(&infos, index, &value);
    }
    int rc = page_pack_editor_end(&infos, 0);
    buffer_destroy(&bytes);
    if (rc == 0 && !was_crawled) {
        return page_db_fail(db, page_db_error_no_page, "page_db_confirm: it was never crawled");
    }
    return page_db_fail_mdb(db, rc, "page_db_confirm");
}

/* The scores of all pages, as an array in a file. */

static int copy_pack(PageDB *db, MDB_txn *txn, const MDB_val *key, const MDB_val *pack,
                     MMapArray *scores)
{
    uint64_t number = 0;
    memcpy(&number, key->mv_data, sizeof number);
    size_t n = page_pack_count(pack);
    for (size_t i = 0; i < n; i++) {
        uint64_t index = number * PAGE_PACK_RECORDS + i;
        MDB_val record;
        if (!page_pack_record(pack, i, &record) || record.mv_size < PAGE_RECORD_HEAD_BYTES ||
            index >= scores->n_elements) {
            return MDB_CORRUPTED;
        }
        int rc = journal_get(db->store->journal, txn, JOURNAL_PAGES, index, &record);
        if (rc != 0 && rc != MDB_NOTFOUND) {
            return rc;
        }
        ((float *)(void *)scores->mem)[index] = page_record_score(record.mv_data);
    }
    return n == 0 ? MDB_CORRUPTED : 0;
}

static int copy_scores(PageDB *db, MDB_txn *txn, MMapArray *scores, const atomic_bool *stop)
{
    LmdbRows rows;
    int rc = 0;
    lmdb_rows_begin(&rows, txn, db->store->tables.idx2info, (MDB_val){0});
    while (rc == 0 && lmdb_rows_next(&rows)) {
        bool is_stopped = stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
        rc = is_stopped ? EINTR : copy_pack(db, txn, &rows.key, &rows.value, scores);
    }
    return lmdb_rows_close(&rows, rc);
}

PageDBError page_db_get_scores(PageDB *db, MMapArray **scores)
{
    return page_db_get_scores_until(db, scores, NULL);
}

PageDBError page_db_get_scores_until(PageDB *db, MMapArray **scores, const atomic_bool *stop)
{
    int checked = page_db_check(db, scores != NULL, "page_db_get_scores");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(scores != NULL); /* or page_db_check would have told */
    *scores = NULL;
    Path path;
    (void)file_path(&path, "%s/scores.bin", db->path);
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(db, true, &txn);
    if (rc == page_db_error_ok) {
        uint64_t n_pages = page_db_n_pages(db, txn);
        MMapArrayError made =
            mmap_array_new(scores, path.text, n_pages == 0 ? 1 : n_pages, sizeof(float));
        if (made != mmap_array_error_ok) {
            rc = page_db_fail(db,
                              made == mmap_array_error_memory ? page_db_error_memory
                                                              : page_db_error_invalid_path,
                              "scores.bin cannot be made");
        } else {
            if (n_pages == 0) {
                mmap_array_zero(*scores);
            }
            rc = page_db_fail_mdb(db, copy_scores(db, txn, *scores, stop), "reading the scores");
        }
        page_db_txn_abort(db, txn);
    }
    if (rc != page_db_error_ok) {
        (void)mmap_array_delete(*scores);
        *scores = NULL;
        (void)unlink(path.text); /* also when only the file could be made */
    }
    return (PageDBError)rc;
}

/* Whole-database dumps as text: infos, links. */

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
        char separator = ' ';
        char s = separator;
        int n = fprintf(output, "%016llx%c%llu%c%s%c%.3f%c%.3f%c%llu%c%llu%c%llu%c%.9g\n",
                        (unsigned long long)hash, s, (unsigned long long)stream->index, s, pi->url,
                        s, pi->first_crawl, s, pi->last_crawl, s, (unsigned long long)pi->n_changes,
                        s, (unsigned long long)pi->n_crawls, s, (unsigned long long)pi->depth, s,
                        (double)pi->score);
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
