/* Cluster settings: what all agents of one crawl must agree about, as text.
 *
 * What: lines "section.key = value" of the options by which politeness, scope and limits are one
 * for the whole crawl, of all [site] sections, and the program's version. An agent whose text
 * differs from the crawl's is refused, with the first line that does (cluster/node/node_join.h).
 * Threads: main. */
#ifndef CRAWL_CLUSTER_CLUSTER_SETTINGS_H
#define CRAWL_CLUSTER_CLUSTER_SETTINGS_H

#include "rules/config.h"

/* Whether all agents must have the same value. */
bool cluster_settings_counts(const OptionSpec *spec);
/* Whether the value is divided among the agents: one agent alone cannot change it. */
bool cluster_settings_is_divided(const OptionSpec *spec);
/* Appends it. RESULT_MEMORY. */
Result cluster_settings_write(const Config *config, Buffer *out);

#endif
