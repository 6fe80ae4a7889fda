#include "cluster/mass/mass.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "base/memory/bits.h"
#include "base/thread/log.h"
#include "store/rank/rank_vector.h"

#define LOOK_UPS 4096u /* in one read transaction */

struct Mass {
    char *directory;
    PageDB *db;
    uint16_t self;
    Mutex mutex;        /* RANK_TABLE; guards the next three */
    ClusterTable next;  /* the newest */
    double whole;       /* of the last computation */
    double mean;        /* of all agents */
    ClusterTable table; /* of the computation; the thread's, as what follows */
    uint8_t *own;       /* a bit for each page */
    size_t n;           /* pages */
    uint64_t n_own;
    double sum;   /* of the values of our own pages */
    double total; /* with those of the others */
    double jump;
    double inflow;
    double outflow;
    double growth; /* of what others have given, in the computation */
    MassPeer *peers;
    size_t n_peers;
};

Result mass_new(Mass **out, const char *directory, PageDB *db, uint16_t self,
                const ClusterTable *table)
{
    Mass *mass = calloc(1, sizeof *mass);
    *out = NULL;
    if (mass == NULL) {
        return RESULT_MEMORY;
    }
    mass->db = db;
    mass->self = self;
    mass->directory = strdup(directory);
    mutex_init(&mass->mutex, RANK_TABLE);
    if (mass->directory == NULL || cluster_table_copy(&mass->next, table) != RESULT_OK) {
        mass_delete(mass);
        return RESULT_MEMORY;
    }
    *out = mass;
    return RESULT_OK;
}

void mass_delete(Mass *mass)
{
    if (mass == NULL) {
        return;
    }
    cluster_table_destroy(&mass->next);
    cluster_table_destroy(&mass->table);
    mutex_destroy(&mass->mutex);
    free(mass->directory);
    free(mass->own);
    free(mass->peers);
    free(mass);
}

Result mass_set_table(Mass *mass, const ClusterTable *table)
{
    mutex_lock(&mass->mutex);
    Result rc = cluster_table_copy(&mass->next, table);
    mutex_unlock(&mass->mutex);
    return rc;
}

bool mass_is_own(const Mass *mass, uint64_t page)
{
    return page < mass->n && bits_has(mass->own, page);
}

/* ---- all pages, by domain ---- */

/* One page of the walk, and who owns it. */
typedef struct MassPage {
    uint64_t hash;
    uint64_t print;
    size_t index;
    uint16_t owner;
} MassPage;

/* The owner of the domain of a page: by its URL. */
static Result owner_of(const Mass *mass, uint64_t index, Buffer *url, uint16_t *owner)
{
    PageRef page;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(mass->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = page_db_get(mass->db, txn, index, &page, url) == page_db_error_ok ? RESULT_OK
                                                                                  : RESULT_DAMAGED;
    page_db_txn_abort(mass->db, txn);
    if (rc == RESULT_OK) {
        *owner = cluster_table_owner_of_url(&mass->table, page.url, page.url_length);
    }
    return rc;
}

/* Tells of each page that the computation has. The pages of a host are neighbours, so its owner is
 * looked up once. (Of two hosts with one hash the pages of the second go to the owner of the first,
 * who does not know them.) */
static Result mass_walk(Mass *mass, const atomic_bool *stop,
                        Result (*take)(void *context, const MassPage *page), void *context)
{
    HashIdxStream *stream = NULL;
    MassPage page = {.owner = CLUSTER_NOBODY};
    uint64_t domain = UINT64_MAX;
    uint64_t seen = 0;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    if (hashidx_stream_new(&stream, mass->db) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = RESULT_OK;
    StreamState state = stream_state_next;
    while (rc == RESULT_OK && state == stream_state_next) {
        state = hashidx_stream_next_key(stream, &page.hash, &page.print, &page.index);
        if (state != stream_state_next || page.index >= mass->n) {
            continue; /* the end, or younger than the computation */
        }
        if (page.hash >> 32 != domain) {
            domain = page.hash >> 32;
            rc = owner_of(mass, page.index, &url, &page.owner);
        }
        if (rc == RESULT_OK) {
            rc = take(context, &page);
        }
        if (++seen % LINK_GRAPH_SLICE == 0 && rank_is_stopped(stop)) {
            rc = RESULT_CLOSED;
        }
    }
    buffer_destroy(&url);
    hashidx_stream_delete(stream);
    return rc == RESULT_OK && state == stream_state_error ? RESULT_IO : rc;
}

/* ---- before a computation ---- */

typedef struct Weighing {
    Mass *mass;
    float *weights;
    const float *content; /* n_content of them; NULL: 1 each */
    size_t n_content;
    float share; /* of a page with content 1 */
    double sum;  /* of the contents */
} Weighing;

static Result weigh_page(void *context, const MassPage *page)
{
    Weighing *weighing = context;
    Mass *mass = weighing->mass;
    if (page->owner != mass->self) {
        return RESULT_OK;
    }
    float content = 1.0f;
    if (weighing->content != NULL) {
        content = page->index < weighing->n_content ? weighing->content[page->index] : 0.0f;
        content = content > 0.0f ? content : 0.0f;
    }
    bits_set(mass->own, page->index);
    mass->n_own++;
    weighing->sum += (double)content;
    weighing->weights[page->index] = weighing->share * content;
    return RESULT_OK;
}

/* Adds some of what another agent's pages give ours. */
static Result place_some(Mass *mass, const MassFile *file, uint64_t first, uint64_t end,
                         float *weights, uint64_t *placed)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(mass->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    for (uint64_t i = first; i < end; i++) {
        MassRecord record;
        uint64_t page = 0;
        mass_record_read(file->records + i * MASS_RECORD_BYTES, &record);
        bool sane = record.mass > 0.0f && record.mass < 1e30f;
        if (sane &&
            page_db_find_key(mass->db, txn, record.hash, record.print, &page) == page_db_error_ok &&
            mass_is_own(mass, page)) {
            weights[page] += record.mass * (float)mass->growth;
            mass->inflow += (double)record.mass * mass->growth;
            (*placed)++;
        }
    }
    page_db_txn_abort(mass->db, txn);
    return RESULT_OK;
}

static void mass_open_file(Mass *mass, MassPeer *peer, MassFile *file)
{
    Result rc = mass_file_open(file, mass->directory, true, peer->agent);
    if (rc == RESULT_OK && !mass_file_is_whole(file)) {
        rc = RESULT_DAMAGED;
        mass_file_close(file);
    }
    if (rc == RESULT_DAMAGED) {
        LOG_WARN("cluster", "a file of scores is damaged; it is not used",
                 "file=%s/" MASS_DIRECTORY "/from-%u", mass->directory, (unsigned)peer->agent);
    }
    peer->heard = rc == RESULT_OK;
    peer->head = file->head;
}

static Result mass_place(Mass *mass, MassPeer *peer, const MassFile *file, float *weights,
                         const atomic_bool *stop)
{
    uint64_t n = peer->heard ? file->head.records : 0;
    for (uint64_t i = 0; i < n; i += LOOK_UPS) {
        uint64_t end = i + LOOK_UPS < n ? i + LOOK_UPS : n;
        Result rc = rank_is_stopped(stop) ? RESULT_CLOSED
                                          : place_some(mass, file, i, end, weights, &peer->placed);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

/* What senders gave was computed from what they had heard of then. When all agents together had
 * heard of less than all of them give now, all values will grow, and this is by how much, if they
 * grow alike: it makes one exchange do for two. When nothing moves any more it is 1. */
static double growth(const Mass *mass)
{
    double jump = 0.0;
    double missed = 0.0;
    for (size_t i = 0; i < mass->n_peers; i++) {
        const MassHead *head = &mass->peers[i].head;
        if (mass->peers[i].heard) {
            jump += head->jump + head->inflow;
            missed += head->outflow - head->inflow;
        }
    }
    jump += mass->jump + mass->inflow;
    missed += mass->outflow - mass->inflow;
    double whole = jump - missed;
    double factor = jump > 0.0 && whole > 0.0 ? jump / whole : 1.0;
    return bounds_double(factor, 0.5, 2.0);
}

static Result mass_place_all(Mass *mass, float *weights, const atomic_bool *stop)
{
    MassFile *files = calloc(mass->n_peers + 1, sizeof *files);
    Result rc = RESULT_OK;
    if (files == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < mass->n_peers; i++) {
        mass_open_file(mass, &mass->peers[i], &files[i]);
    }
    mass->growth = growth(mass);
    mass->inflow = 0.0;
    for (size_t i = 0; i < mass->n_peers; i++) {
        rc = mass_place(mass, &mass->peers[i], &files[i], weights, stop);
        if (rc != RESULT_OK) {
            goto done;
        }
    }
done:
    for (size_t i = 0; i < mass->n_peers; i++) {
        mass_file_close(&files[i]);
    }
    free(files);
    return rc;
}

/* The books for n pages, empty. */
static Result open_books(Mass *mass, size_t n)
{
    mutex_lock(&mass->mutex);
    Result rc = cluster_table_copy(&mass->table, &mass->next);
    mutex_unlock(&mass->mutex);
    free(mass->own);
    free(mass->peers);
    mass->n = n;
    mass->n_own = 0;
    mass->n_peers = 0;
    mass->own = calloc(n / 8 + 1, 1);
    mass->peers = calloc(mass->table.n_agents + 1, sizeof *mass->peers);
    if (rc != RESULT_OK || mass->own == NULL || mass->peers == NULL) {
        mass->n = 0;
        return RESULT_MEMORY;
    }
    for (uint32_t i = 0; i < mass->table.n_agents; i++) {
        if (i != mass->self) {
            mass->peers[mass->n_peers++] = (MassPeer){.agent = (uint16_t)i};
        }
    }
    return RESULT_OK;
}

static Result mass_weigh(void *context, float damping, const MMapArray *content, size_t n,
                         const atomic_bool *stop, MMapArray **weights)
{
    Mass *mass = context;
    Result rc = open_books(mass, n);
    if (rc != RESULT_OK || mmap_array_new(weights, NULL, n, sizeof(float)) != mmap_array_error_ok) {
        return RESULT_MEMORY;
    }
    float *values = rank_vector_floats(*weights);
    Weighing weighing = {.mass = mass, .weights = values, .share = 1.0f - damping};
    if (content != NULL) {
        weighing.content = rank_vector_floats(content);
        weighing.n_content = content->n_elements;
    }
    rc = mass_walk(mass, stop, weigh_page, &weighing);
    if (rc == RESULT_OK && content != NULL && !(weighing.sum > 0.0)) {
        weighing.sum = 0.0;
        weighing.content = NULL; /* no page here has any: all alike */
        mass->n_own = 0;
        rc = mass_walk(mass, stop, weigh_page, &weighing);
    }
    mass->jump = (double)weighing.share * weighing.sum;
    if (rc == RESULT_OK) {
        rc = mass_place_all(mass, values, stop);
    }
    if (rc != RESULT_OK) {
        (void)mmap_array_delete(*weights);
        *weights = NULL;
    }
    return rc;
}

/* ---- after a computation ---- */

void mass_close_books(Mass *mass, const PageRank *pr, double whole)
{
    mass->sum = 0.0;
    mass->outflow = 0.0;
    for (size_t page = 0; page < mass->n; page++) {
        float old = 0.0f;
        float score = 0.0f;
        (void)page_rank_get(pr, page, &old, &score);
        *(mass_is_own(mass, page) ? &mass->sum : &mass->outflow) += (double)score * whole;
    }
    mass->total = mass->sum;
    double pages = (double)mass->n_own;
    for (size_t i = 0; i < mass->n_peers; i++) {
        if (mass->peers[i].heard) {
            mass->total += mass->peers[i].head.sum * mass->growth;
            pages += (double)mass->peers[i].head.pages;
        }
    }
    mutex_lock(&mass->mutex);
    mass->whole = whole;
    mass->mean = pages > 0.0 ? mass->total / pages : 0.0;
    mutex_unlock(&mass->mutex);
}

typedef struct Publication {
    const Mass *mass;
    const PageRank *pr;
    double whole;
    MassWriter *writers; /* by number of the agent */
    uint32_t n;
} Publication;

static Result write_page(void *context, const MassPage *page)
{
    Publication *publication = context;
    float old = 0.0f;
    float score = 0.0f;
    if (page->owner >= publication->n || page->owner == publication->mass->self ||
        page_rank_get(publication->pr, page->index, &old, &score) != page_rank_error_ok ||
        !(score > 0.0f)) {
        return RESULT_OK;
    }
    MassRecord record = {.hash = page->hash,
                         .print = page->print,
                         .mass = (float)((double)score * publication->whole)};
    return mass_writer_add(&publication->writers[page->owner], &record);
}

static Result write_files(Mass *mass, Publication *publication, const atomic_bool *stop)
{
    MassHead head = {.round = (uint64_t)wall_now().us,
                     .time_s = (uint64_t)wall_seconds(wall_now()),
                     .pages = mass->n_own,
                     .sum = mass->sum,
                     .jump = mass->jump,
                     .inflow = mass->inflow,
                     .outflow = mass->outflow};
    for (uint32_t i = 0; i < publication->n; i++) {
        mass_writer_init(&publication->writers[i], mass->directory, false, (uint16_t)i);
    }
    Result rc = mass_walk(mass, stop, write_page, publication);
    if (rc != RESULT_OK) {
        goto done;
    }
    for (uint32_t i = 0; i < publication->n; i++) {
        head.records = publication->writers[i].records;
        head.crc = publication->writers[i].crc;
        rc = i == mass->self ? RESULT_OK : mass_writer_finish(&publication->writers[i], &head);
        if (rc != RESULT_OK) {
            goto done;
        }
    }
done:
    for (uint32_t i = 0; i < publication->n; i++) {
        mass_writer_destroy(&publication->writers[i]);
    }
    return rc;
}

/* That others cannot be told is no reason to go without scores. */
static Result mass_publish(void *context, const PageRank *pr, double whole, const atomic_bool *stop)
{
    Mass *mass = context;
    Publication publication = {.mass = mass, .pr = pr, .whole = whole, .n = mass->table.n_agents};
    mass_close_books(mass, pr, whole);
    publication.writers = calloc(publication.n + 1, sizeof *publication.writers);
    if (publication.writers == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = write_files(mass, &publication, stop);
    free(publication.writers);
    if (rc != RESULT_OK && rc != RESULT_CLOSED) {
        LOG_WARN("cluster", "scores for other agents cannot be written", "problem=\"%s\"",
                 result_name(rc));
    }
    return rc == RESULT_CLOSED ? rc : RESULT_OK;
}

static void units(void *context, double *whole, double *mean)
{
    Mass *mass = context;
    mutex_lock(&mass->mutex);
    *whole = mass->whole;
    *mean = mass->mean;
    mutex_unlock(&mass->mutex);
}

PageRankOutside mass_outside(Mass *mass)
{
    return (PageRankOutside){
        .context = mass, .weigh = mass_weigh, .publish = mass_publish, .units = units};
}

double mass_total(const Mass *mass)
{
    return mass->total;
}

const MassPeer *mass_peers(const Mass *mass, size_t *n)
{
    *n = mass->n_peers;
    return mass->peers;
}
