/* Config cluster: whether the [cluster] section can mean what it is for.
 *
 * What: what an agent of a cluster needs, and what works within one agent alone.
 * Threads: main.
 * Errors: RESULT_INVALID: *name is the option, and error gets one sentence. */
#ifndef RULES_CONFIG_CLUSTER_H
#define RULES_CONFIG_CLUSTER_H

#include "rules/config.h"

/* RESULT_OK without a [cluster] section. */
Result config_cluster_check(const Config *config, const char **name, Buffer *error);

#endif
