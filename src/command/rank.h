/* `ragno rank DIR pagerank|hits`: the pages of a crawl by their place in the link graph.
 *
 * What: data goes to standard output, best page first: PageRank and URL, or authority, hub score
 * and URL, tab separated. What the computation did goes to standard error. DIR is a crawl, running
 * or not, or a PageDB; it is only read.
 * Threads: main, and those of the computation.
 * Errors: exit status 0 done; 1 the precision was not reached (the pages are printed all the same);
 * 2 usage; 3 cannot be read, or the disk is full; 17 damaged, or another format version. */
#pragma once

/* argv[0] is "rank". Returns the exit status. */
int rank_main(int argc, char **argv);
