/* Wall run: answers in a row by which a host keeps a crawler out, and what is to be asked again.
 *
 * What: a host walls when politeness.wall_answers answers in a row are walls. These are:
 *   - the statuses 401, 402, 403, 406, 429, 451 and 503, and challenges (parse/http/http_wall.h);
 *   - HTML whose bytes are those of the answer before it, for another page, when no cache is to
 * keep it: that is how logins and challenges are sent. The same text for each page that may be kept
 *     is a duplicate, or a trap, and others look after those;
 *   - a redirect to where the answer before it led, whatever page was asked for.
 * The host then rests (FETCH_WALL of the retry table), and is asked for one page after each rest.
 * One other answer ends the run. The pages of a run are no answers of the site: ingest schedules
 * them again, behind everything else of their host. So a host that opens again has lost nothing.
 *
 *   OPEN --wall_run_take: `most` walls in a row--> WALLED --wall_run_take: another answer--> OPEN
 *
 * A page that had such an answer before, and has it again, is forbidden by itself: it does not
 * count while the host is open. Failures and errors of the server (500) neither count nor end a
 * run.
 *
 * Owns: the numbers of its pages.
 * Threads: the one that holds the visit state; no I/O, no clock. */
#pragma once

#include "parse/http/http_wall.h"

#define WALL_RUN_MOST 50u /* pages of one run that are kept */

typedef struct WallRun {
    unsigned length; /* walls in a row */
    uint32_t same;   /* hash of what was the same in them; 0: nothing was */
    uint64_t *pages; /* owned; settled by walls, and to be asked for again */
    size_t n_pages;
    uint64_t first; /* the first of them, until there is another */
    bool has_first;
    bool is_part; /* the answer that was noted last may belong to a run */
} WallRun;

typedef struct WallAnswer {
    int status;
    const char *header; /* raw header block */
    size_t header_length;
    const char *body; /* as received */
    size_t body_length;
    bool again;     /* the page was crawled before */
    bool is_walled; /* what is stored of it is a wall's answer */
    HttpWall wall;  /* what it is, as far as a body that is not coded tells */
} WallAnswer;

void wall_run_destroy(WallRun *run);
/* Notes one answer; true: the host walls. most: politeness.wall_answers, 0 = never. */
bool wall_run_take(WallRun *run, const WallAnswer *answer, unsigned most);
/* The answer was the last one to this page. Without memory it is not asked for again. */
void wall_run_settle(WallRun *run, uint64_t page);
/* Whether the status by itself keeps crawlers out. */
bool wall_run_is_status(int status);
