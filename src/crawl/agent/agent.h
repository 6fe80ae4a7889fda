/* Agent: builds every part, starts the threads in order, watches over them, and stops everything.
 *
 * What: the agent takes all signals (signalfd), all news of the other threads (eventfd), and what
 * operators ask by the control socket (crawl/desk): the crawl is finished, a limit was reached, the
 * disk is full. What is done about each is the helm's (crawl/run/helm.h). A stop goes in this
 * order: no new fetches; fetches in flight end or are aborted; fetchers, resolver, parsers, ingest,
 * frontier.
 * Threads: main. */
#pragma once

#include "crawl/exit_status.h"
#include "crawl/run/settings.h"

/* Runs a crawl to its end. Returns the exit status. */
int agent_run(const AgentOptions *options);
