/* What the PageRank and HITS scorers read from PageDB for one update: the link graph and, if asked
 * for, the content scores. The read transaction ends before the computation begins, so that a long
 * computation never keeps the database from reusing its pages. */
#ifndef STORE_SCORE_INPUT_H
#define STORE_SCORE_INPUT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/result.h"
#include "store/link_graph.h"
#include "store/mmap_array.h"
#include "store/page_db.h"

typedef struct ScoreInput {
    LinkGraph *graph;
    MMapArray *scores; /* NULL: not asked for */
} ScoreInput;

/* RESULT_CLOSED: *stop became true; RESULT_MEMORY, RESULT_IO: nothing was made. */
Result score_input_read(ScoreInput *input, PageDB *db, bool with_scores, bool only_diff_domain,
                        const atomic_bool *stop);
void score_input_free(ScoreInput *input);

#endif
