/* ragno ctl: steers a running crawl.
 *
 * What: hands its words to the crawl by DIR/control and prints the answer. What the words mean is
 * the crawl's (crawl/desk).
 * Threads: main. */
#ifndef COMMAND_CTL_H
#define COMMAND_CTL_H

int ctl_main(int argc, char **argv);

#endif
