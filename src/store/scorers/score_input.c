#include "store/scorers/score_input.h"

#include <unistd.h>

#include "store/rank/rank_vector.h"

static Result read_graph(ScoreInput *input, PageDB *db, bool only_diff_domain,
                         const atomic_bool *stop)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    uint64_t n_pages = page_db_n_pages(db, txn);
    page_db_txn_abort(db, txn);
    PageDBLinkStream *stream = NULL;
    if (page_db_link_stream_new(&stream, db) != page_db_error_ok) {
        page_db_link_stream_delete(stream);
        return RESULT_IO;
    }
    stream->only_diff_domain = only_diff_domain;
    Result rc = link_graph_build(&input->graph, n_pages, stream, page_db_link_stream_next,
                                 page_db_link_stream_reset, stop);
    page_db_link_stream_delete(stream);
    return rc;
}

static Result read_scores(ScoreInput *input, PageDB *db, const atomic_bool *stop)
{
    if (page_db_get_scores_until(db, &input->scores, stop) != page_db_error_ok) {
        input->scores = NULL;
        return rank_is_stopped(stop) ? RESULT_CLOSED : RESULT_IO;
    }
    (void)unlink(input->scores->path);
    mmap_array_set_persist(input->scores, 1);
    return RESULT_OK;
}

int score_input_read(ScoreInput *input, PageDB *db, bool with_scores, bool only_diff_domain,
                     const atomic_bool *stop)
{
    Result rc = read_graph(input, db, only_diff_domain, stop);
    if (rc == RESULT_OK && with_scores) {
        rc = read_scores(input, db, stop);
    }
    return rc == RESULT_OK ? RANK_OK : rank_code(rc);
}

int score_input_end(Error *error, int code, const char *who)
{
    static const char *const words[] = {[RANK_MEMORY] = "out of memory",
                                        [RANK_INTERNAL] = "no result",
                                        [RANK_PRECISION] = "precision was not reached",
                                        [RANK_STOPPED] = "stopped"};
    int told = code == RANK_STOPPED ? RANK_INTERNAL : code;
    return code == RANK_OK ? code : rank_fail(error, told, who, words[code]);
}

void score_input_free(ScoreInput *input)
{
    link_graph_delete(input->graph);
    (void)mmap_array_delete(input->scores);
    *input = (ScoreInput){.graph = NULL};
}

void score_parent_init(ScoreParent *parent)
{
    mutex_init(&parent->mutex, RANK_SCORER);
    parent->hash = 0;
    parent->index = 0;
}

void score_parent_destroy(ScoreParent *parent)
{
    mutex_destroy(&parent->mutex);
}

uint64_t score_parent_find(ScoreParent *parent, PageDB *db, uint64_t hash)
{
    uint64_t index = UINT64_MAX;
    if (hash == 0) {
        return index;
    }
    mutex_lock(&parent->mutex);
    if (parent->hash == hash) {
        index = parent->index;
    }
    mutex_unlock(&parent->mutex);
    if (index != UINT64_MAX) {
        return index;
    }
    if (page_db_get_idx(db, hash, &index) != page_db_error_ok) {
        return UINT64_MAX;
    }
    mutex_lock(&parent->mutex);
    parent->hash = hash;
    parent->index = index;
    mutex_unlock(&parent->mutex);
    return index;
}
