/* `ragno status DIR [--json]`: the last status of a running or stopped crawl.
 *
 * What: prints DIR/status.json, and whether the crawl that wrote it is still running.
 * Threads: main. */
#ifndef COMMAND_STATUS_COMMAND_H
#define COMMAND_STATUS_COMMAND_H

int status_main(int argc, char **argv);

#endif
