/* A few threads that do one piece of work in equal parts, again and again.
 *
 * What: for the sweeps of PageRank and HITS. rank_team_run hands the same function to every member
 * (the caller is one of them), each with a part number of its own, and returns when all are done.
 * Between runs the others sleep on a condition. When threads cannot be had, the team is smaller,
 * down to the caller alone.
 * Owns: its threads.
 * Threads: a team belongs to one caller; the function may not use the team. */
#ifndef STORE_RANK_RANK_TEAM_H
#define STORE_RANK_RANK_TEAM_H

#define RANK_TEAM_MAX 16u

typedef struct RankTeam RankTeam;

/* part counts from 0 to parts - 1. */
typedef void RankTeamFunc(void *context, unsigned part, unsigned parts);

/* size: members, the caller included; cut to 1..RANK_TEAM_MAX. NULL: out of memory. */
RankTeam *rank_team_new(unsigned size);
/* Ends and joins the threads. NULL is allowed. */
void rank_team_delete(RankTeam *team);

/* How many parts a run has. */
unsigned rank_team_size(const RankTeam *team);
void rank_team_run(RankTeam *team, RankTeamFunc *function, void *context);

#endif
