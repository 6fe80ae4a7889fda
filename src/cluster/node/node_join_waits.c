#include "cluster/node/node_join.h"

const char *node_join_waits_for(const NodeJoin *join)
{
    static const char *const waits[] = {[JOIN_WAIT] = "a connection to the server",
                                        [JOIN_TABLE] = "the cluster table",
                                        [JOIN_CLAIM] = "a place in the cluster table",
                                        [JOIN_RECORD] = "the record of this agent",
                                        [JOIN_SETTINGS] = "the settings of the crawl",
                                        [JOIN_OTHERS] = "answers of other agents",
                                        [JOIN_PUT_SETTINGS] = "the settings of the crawl",
                                        [JOIN_SAVE] = "the directory",
                                        [JOIN_PUT] = "the record of this agent",
                                        [JOIN_DONE] = "nothing",
                                        [JOIN_REFUSED] = "nothing"};
    return waits[join->step];
}
