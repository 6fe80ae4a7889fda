/* `ragno top DIR`: a live screen of a crawl.
 *
 * What: the feed asks the crawl, the model keeps what is known, the view draws it, and keys change
 * what is shown.
 * Threads: main. */
#ifndef COMMAND_TOP_TOP_H
#define COMMAND_TOP_TOP_H

/* argv[0] is "top". Returns the exit status. */
int top_main(int argc, char **argv);

#endif
