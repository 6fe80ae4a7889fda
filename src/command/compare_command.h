/* `ragno compare A B`: what has become of the pages of one crawl in another, or at another moment.
 *
 * What: A and B are crawls, running or not, or backups of one crawl at two moments. A page is a URL
 * that was answered with 2xx last. Of each page that is in one and not the other, or has other
 * contents, there is a row: change, url, from, before, after.
 *   new      a page of B that A has not
 *   gone     a page of A that B does not know, or that answered 404 or 410 there
 *   changed  a page of both, with another content hash
 *   moved    from redirects to url in B; or from is gone, and url is new with the same contents
 * before and after are the statuses, 0 = not known. What B knows and has not fetched well (queued,
 * failed, forbidden) is counted as not seen, for nothing is known of it. With --hosts there is a
 * row for each origin that has any, with the numbers of each; the sums go to standard error.
 * Moves by contents are found among the first COMPARE_MOST gone pages; further ones count as gone.
 * Threads: main. Only reads, in short transactions.
 * Errors: exit status 0 told; 2 usage; 3 cannot be read or written; 17 damaged, or of another
 * format version. */
#pragma once

#define COMPARE_MOST 4000000u /* gone pages whose contents are remembered: 100 MB */

/* argv[0] is "compare". Returns the exit status. */
int compare_main(int argc, char **argv);
