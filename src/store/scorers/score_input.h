/* What the PageRank and HITS scorers read from PageDB for one update: the link graph and, if asked
 * for, the content scores.
 *
 * What: the read transaction ends before the computation begins, so that a long computation never
 * keeps the database from reusing its pages.
 * Owns: what was read, until it is freed.
 * Threads: the one that updates.
 * Errors: RESULT_CLOSED when it was stopped; those of PageDB. */
#ifndef STORE_SCORERS_SCORE_INPUT_H
#define STORE_SCORERS_SCORE_INPUT_H

#include <stdatomic.h>

#include "store/rank/link_graph.h"
#include "store/pages/page_db.h"

typedef struct ScoreInput {
    LinkGraph *graph;
    MMapArray *scores; /* in a file that has no name any more; NULL: not asked for */
} ScoreInput;

/* input is empty. A code of rank_vector.h: RANK_STOPPED, RANK_MEMORY, RANK_INTERNAL. Whatever the
 * code, input is then freed. */
int score_input_read(ScoreInput *input, PageDB *db, bool with_scores, bool only_diff_domain,
                     const atomic_bool *stop);
/* Makes it empty. */
void score_input_free(ScoreInput *input);
/* What a scorer's update answers to the code (rank_vector.h) of who's computation, told in error.
 */
int score_input_end(Error *error, int code, const char *who);

/* The page that a scorer looked up last to estimate one that it links to: a page's links come
 * together. Any thread. */
typedef struct ScoreParent {
    Mutex mutex; /* guards the rest */
    uint64_t hash;
    uint64_t index;
} ScoreParent;

void score_parent_init(ScoreParent *parent);
void score_parent_destroy(ScoreParent *parent);
/* The index of the page with that hash; UINT64_MAX when there is none, as for hash 0. */
uint64_t score_parent_find(ScoreParent *parent, PageDB *db, uint64_t hash);

#endif
