#include "store/pages/page_claim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread/mutex.h"
#include "store/pages/page_directory.h"

struct PageClaim {
    PageClaim *next;
    dev_t device;
    ino_t file;
    pid_t process;
};

static Mutex list_mutex = {.handle = PTHREAD_MUTEX_INITIALIZER, .rank = RANK_TABLE};
static PageClaim *list; /* guarded by list_mutex */

static int page_claim_find_file(const char *directory, struct stat *st)
{
    char path[PAGE_DIRECTORY_PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/data.mdb", directory);
    if (n < 0 || n >= (int)sizeof path) {
        return ENAMETOOLONG;
    }
    return stat(path, st) == 0 ? 0 : errno;
}

int page_claim_take(PageClaim **claim, const char *directory)
{
    struct stat st;
    *claim = NULL;
    int rc = page_claim_find_file(directory, &st);
    PageClaim *mine = rc == 0 ? malloc(sizeof *mine) : NULL;
    if (mine == NULL) {
        return rc == 0 ? ENOMEM : rc;
    }
    *mine = (PageClaim){.device = st.st_dev, .file = st.st_ino, .process = getpid()};
    mutex_lock(&list_mutex);
    const PageClaim *other = list;
    while (other != NULL && (other->device != mine->device || other->file != mine->file ||
                             other->process != mine->process)) {
        other = other->next;
    }
    if (other == NULL) {
        mine->next = list;
        list = mine;
    }
    mutex_unlock(&list_mutex);
    if (other != NULL) {
        free(mine);
        return EBUSY;
    }
    *claim = mine;
    return 0;
}

void page_claim_drop(PageClaim *claim)
{
    if (claim == NULL) {
        return;
    }
    mutex_lock(&list_mutex);
    PageClaim **at = &list;
    while (*at != claim) {
        at = &(*at)->next;
    }
    *at = claim->next;
    mutex_unlock(&list_mutex);
    free(claim);
}
