/* `ragno ctl`: steers a running crawl.
 *
 * What: sends its words to the crawl through DIR/control and prints the answer. The crawl decides
 * what the words mean (crawl/desk), so an old `ragno ctl` can send words that only a newer crawl
 * knows.
 * Threads: main. */
#pragma once

int ctl_main(int argc, char **argv);

/* `ragno status DIR [--json]`: the last status of a running or stopped crawl.
 *
 * What: prints the status that the crawl tells (on a disk that is full it cannot write one), or
 * DIR/status.json of one that does not run or answer, and that it does not.
 * Threads: main. */

int status_main(int argc, char **argv);
