#include "frontier/distributor/commit_notice.h"

#include <stdlib.h>

void commit_notice_delete(CommitNotice *notice)
{
    if (notice != NULL) {
        free(notice->done);
        free(notice->hosts);
        free(notice->dropped);
        free(notice->moved);
        free(notice);
    }
}
