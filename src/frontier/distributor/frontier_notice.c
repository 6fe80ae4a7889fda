#include "frontier/distributor/frontier_notice.h"

#include <stdlib.h>

ChangeNotice *change_notice_new(const DistributorChange *change)
{
    ChangeNotice *notice = malloc(sizeof *notice);
    if (notice != NULL) {
        *notice = (ChangeNotice){.news = NEWS_OPTIONS, .change = *change};
    }
    return notice;
}

void change_notice_take(ChangeNotice *notice, Distributor *distributor, MonoTime now)
{
    distributor_replan(distributor, &notice->change, now);
    free(notice);
}

LeaseNotice *lease_notice_new(const LeaseNotice *notice)
{
    LeaseNotice *copy = malloc(sizeof *copy);
    if (copy != NULL) {
        *copy = *notice;
        copy->news = NEWS_LEASE;
    }
    return copy;
}

void lease_notice_take(LeaseNotice *notice, Workbench *workbench, MonoTime now)
{
    switch (notice->kind) {
    case LEASE_NOTICE_GRANTED:
        workbench_granted(workbench, &notice->address, notice->ticket, notice->end,
                          notice->contended, now);
        break;
    case LEASE_NOTICE_CONTENDED:
        workbench_contended(workbench, &notice->address, notice->ticket, now);
        break;
    case LEASE_NOTICE_ENDED:
        workbench_lease_ended(workbench, &notice->address, notice->ticket, now);
        break;
    }
    free(notice);
}

ErrandNotice *errand_notice_new(uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer)
{
    ErrandNotice *notice = malloc(sizeof *notice);
    if (notice == NULL) {
        errand_answer_delete(answer);
        return NULL;
    }
    *notice = (ErrandNotice){.news = NEWS_TOLD, .host = host, .outcome = outcome, .answer = answer};
    return notice;
}

void errand_notice_take(ErrandNotice *notice, Distributor *distributor, MonoTime now, WallTime wall)
{
    distributor_told(distributor, notice->host, notice->outcome, notice->answer, now, wall);
    free(notice);
}

void errand_notice_delete(ErrandNotice *notice)
{
    if (notice != NULL) {
        errand_answer_delete(notice->answer);
        free(notice);
    }
}
