/* `ragno cluster`: makes a cluster, and tells how it does.
 *
 * What: `init` writes the cluster table of a new crawl; `status` asks all agents. The server is
 * named as for agents: by a configuration file, or by --url and --name.
 * Threads: main. */
#ifndef COMMAND_CLUSTER_CLUSTER_COMMAND_H
#define COMMAND_CLUSTER_CLUSTER_COMMAND_H

int cluster_main(int argc, char **argv);
/* `ragno status nats://HOST:PORT/NAME [--credentials FILE]`; argv[1] is the URL. */
int cluster_status_main(int argc, char **argv);

#endif
