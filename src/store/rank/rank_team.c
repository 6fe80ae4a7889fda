#include "store/rank/rank_team.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/thread/mutex.h"
#include "base/thread/thread.h"

typedef struct Member {
    RankTeam *team;
    unsigned part;
    Thread thread;
} Member;

struct RankTeam {
    unsigned size; /* constant once new() has returned */
    Member members[RANK_TEAM_MAX];
    Mutex mutex;        /* guards the rest */
    Condition started;  /* round or closing changed */
    Condition finished; /* running became 0 */
    uint64_t round;     /* counts the runs */
    unsigned running;   /* members, other than the caller, still at work */
    unsigned parts;     /* of this run */
    RankTeamFunc *function;
    void *context;
    bool is_closing;
};

static void *member_main(void *argument)
{
    Member *member = argument;
    RankTeam *team = member->team;
    uint64_t done = 0;
    mutex_lock(&team->mutex);
    for (;;) {
        while (team->round == done && !team->is_closing) {
            condition_wait(&team->started, &team->mutex);
        }
        if (team->is_closing) {
            break;
        }
        done = team->round;
        RankTeamFunc *function = team->function;
        void *context = team->context;
        unsigned parts = team->parts;
        mutex_unlock(&team->mutex);
        function(context, member->part, parts);
        mutex_lock(&team->mutex);
        team->running--;
        if (team->running == 0) {
            condition_signal(&team->finished);
        }
    }
    mutex_unlock(&team->mutex);
    return NULL;
}

RankTeam *rank_team_new(unsigned size)
{
    RankTeam *team = calloc(1, sizeof *team);
    if (team == NULL) {
        return NULL;
    }
    mutex_init(&team->mutex, RANK_TABLE);
    condition_init(&team->started);
    condition_init(&team->finished);
    size = size < 1 ? 1 : size > RANK_TEAM_MAX ? RANK_TEAM_MAX : size;
    team->size = 1;
    while (team->size < size) {
        Member *member = &team->members[team->size];
        *member = (Member){.team = team, .part = team->size};
        if (thread_start(&member->thread, "rank", member_main, member) != RESULT_OK) {
            break;
        }
        team->size++;
    }
    return team;
}

void rank_team_delete(RankTeam *team)
{
    if (team == NULL) {
        return;
    }
    mutex_lock(&team->mutex);
    team->is_closing = true;
    condition_broadcast(&team->started);
    mutex_unlock(&team->mutex);
    for (unsigned i = 1; i < team->size; i++) {
        thread_join(&team->members[i].thread);
    }
    condition_destroy(&team->finished);
    condition_destroy(&team->started);
    mutex_destroy(&team->mutex);
    free(team);
}

unsigned rank_team_size(const RankTeam *team)
{
    return team->size;
}

void rank_team_run(RankTeam *team, RankTeamFunc *function, void *context)
{
    if (team->size > 1) {
        mutex_lock(&team->mutex);
        team->function = function;
        team->context = context;
        team->parts = team->size;
        team->running = team->size - 1;
        team->round++;
        condition_broadcast(&team->started);
        mutex_unlock(&team->mutex);
    }
    function(context, 0, team->size);
    if (team->size > 1) {
        mutex_lock(&team->mutex);
        while (team->running > 0) {
            condition_wait(&team->finished, &team->mutex);
        }
        mutex_unlock(&team->mutex);
    }
}
