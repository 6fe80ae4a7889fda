/* Which databases this process has open: each at most once.
 *
 * What: LMDB tells processes apart by a POSIX lock on lock.mdb. A second environment on the same
 * file in one process loses that lock for both when either is closed; other processes then take the
 * readers of this one for dead and reuse the pages that they read. So the second opening is refused
 * before LMDB sees it. A database is told by device and inode of its file, so another path to it is
 * the same database.
 * Owns: the list of claims, the one list of the process. A forked child has none of its parent's.
 * Threads: any; a mutex (RANK_TABLE) guards the list.
 * Errors: errno; EBUSY: it is open already. */
#ifndef STORE_PAGES_PAGE_CLAIM_H
#define STORE_PAGES_PAGE_CLAIM_H

typedef struct PageClaim PageClaim;

/* Claims the database whose file is directory/data.mdb. On failure *claim is NULL. */
int page_claim_take(PageClaim **claim, const char *directory);
/* Gives it back; NULL is accepted. */
void page_claim_drop(PageClaim *claim);

#endif
