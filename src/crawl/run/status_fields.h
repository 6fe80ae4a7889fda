/* Status fields: what status.log, status.json and /metrics tell of a crawl, in one list.
 *
 * What: a row has a field's name, its kind (text, int, real with one decimal, share with six), its
 * value, and what it is for Prometheus: the type, the name behind "ragno_", its label, and a
 * sentence without its period. Rows of one metric stand together, and the first has the sentence.
 * A value is an expression of a StatusSample s (status.c says which words it may use).
 * Threads: macros alone. */
#pragma once

/* clang-format off */
#define STATUS_FIELDS(FIELD) \
    FIELD("time", text, wall_format_iso(s->wall, time), NO_METRIC, "", "", "") \
    FIELD("state", text, crawl_state_name(s->state), NO_METRIC, "", "", "") \
    FIELD("elapsed_s", real, (double)s->elapsed_ms / 1000, GAUGE, "elapsed_seconds", "", \
          "Time crawled, all runs together") \
    FIELD("pages", int, s->pages, COUNTER, "pages_total", "", \
          "URLs that were answered with an HTTP status") \
    FIELD("pages_s", real, rate_of(pages), NO_METRIC, "", "", "") \
    FIELD("pages_s_avg", real, average_of(s), NO_METRIC, "", "", "") \
    FIELD("bytes", int, s->bytes, COUNTER, "received_bytes_total", "", "Bytes received") \
    FIELD("bytes_s", real, rate_of(bytes), NO_METRIC, "", "", "") \
    FIELD("urls_seen", int, STAT(urls_seen), GAUGE, "urls_known", "", "URLs known") \
    FIELD("urls_queued", int, s->urls_queued, GAUGE, "urls_queued", "", "URLs that are scheduled") \
    FIELD("hosts", int, s->hosts, GAUGE, "hosts", "", "Hosts known") \
    FIELD("urls_parked", int, STAT(urls_parked), GAUGE, "urls_parked", "", \
          "URLs of hosts that were dropped or parked") \
    FIELD("hosts_parked", int, STAT(hosts_parked), GAUGE, "hosts_parked", "", \
          "Hosts that were dropped or parked") \
    FIELD("hosts_waiting", int, s->hosts_waiting, GAUGE, "hosts_waiting", "", \
          "Hosts with work that have failed and wait for a retry") \
    FIELD("next_retry_s", real, (double)s->next_retry_ms / 1000, GAUGE, "next_retry_seconds", "", \
          "Until the first of them is tried again") \
    FIELD("visit_states", int, s->frontier.visit_states, GAUGE, "visit_states", "", \
          "Hosts in memory") \
    FIELD("wb_entries", int, s->frontier.entries, GAUGE, "addresses", "", \
          "Addresses on the workbench") \
    FIELD("front", int, s->frontier.front, GAUGE, "front", "", \
          "Addresses that have something to fetch") \
    FIELD("required_front", int, s->frontier.required_front, GAUGE, "front_required", "", \
          "How many there should be") \
    FIELD("evictions", int, s->frontier.evictions, COUNTER, "evictions_total", "", \
          "Hosts that made room in memory for better ones") \
    FIELD("nameless", int, s->frontier.nameless, GAUGE, "nameless", "", \
          "Hosts in memory that have had no address yet") \
    FIELD("names_left_out", int, s->frontier.names_left_out, COUNTER, "names_left_out_total", "", \
          "Times that a new host had to wait on disk for its turn to be asked for") \
    FIELD("todo", int, todo_of(s), GAUGE, "todo", "", \
          "Hosts that were handed to the fetchers and wait there") \
    FIELD("active", int, s->fetch.active, GAUGE, "transfers", "", "Transfers in flight") \
    FIELD("active_new", int, s->frontier.crowd.active[STANDING_NEW], \
          GAUGE, "crowd_active", "{standing=\"new\"}", \
          "Connections of hosts that are new, or fail or are slow") \
    FIELD("active_ill", int, s->frontier.crowd.active[STANDING_ILL], \
          GAUGE, "crowd_active", "{standing=\"ill\"}", "") \
    FIELD("waiting_new", int, s->frontier.crowd.waiting[STANDING_NEW], \
          GAUGE, "crowd_waiting", "{standing=\"new\"}", \
          "Addresses that wait because the share of the connections of such hosts is used up") \
    FIELD("waiting_proven", int, s->frontier.crowd.waiting[STANDING_PROVEN], \
          GAUGE, "crowd_waiting", "{standing=\"proven\"}", "") \
    FIELD("waiting_ill", int, s->frontier.crowd.waiting[STANDING_ILL], \
          GAUGE, "crowd_waiting", "{standing=\"ill\"}", "") \
    FIELD("cut_new", int, s->fetch.cut_new, COUNTER, "crowd_cut_total", "{why=\"new\"}", \
          "Transfers broken off for other new hosts, or because slow answers filled fetch.memory") \
    FIELD("cut_slow", int, s->fetch.cut_slow, COUNTER, "crowd_cut_total", "{why=\"slow\"}", "") \
    FIELD("cost_price", int, s->cost_price, GAUGE, "cost_price", "", \
          "How many times what its last page took a host rests whose pages are dear to read") \
    FIELD("cost_rests", int, s->cost_rests, COUNTER, "cost_rests_total", "", \
          "Times such a host was put off") \
    FIELD("connects", int, s->fetch.connections, COUNTER, "connects_total", "", \
          "Connections made") \
    FIELD("tls_handshakes", int, s->fetch.tls.handshakes, COUNTER, "tls_handshakes_total", "", \
          "TLS handshakes") \
    FIELD("tls_resumed", int, s->fetch.tls.resumed, COUNTER, "tls_resumed_total", "", \
          "Of these, that took up an earlier session") \
    FIELD("tls_session_bytes", int, s->tls_sessions.bytes, GAUGE, "tls_session_bytes", "", \
          "Memory of TLS sessions") \
    FIELD("tls_forgotten", int, s->tls_sessions.forgotten, \
          COUNTER, "tls_sessions_forgotten_total", "", "TLS sessions that made room for others") \
    FIELD("dns_waiting", int, s->frontier.resolving, GAUGE, "dns_waiting", "", \
          "Hosts that wait for their address") \
    FIELD("dns_queries", int, s->resolver.queries, COUNTER, "dns_queries_total", "", \
          "Queries to name servers") \
    FIELD("dns_failures", int, s->resolver.failures, COUNTER, "dns_failures_total", "", \
          "Names without an answer") \
    FIELD("results", int, s->results, GAUGE, "results_waiting", "", \
          "Parsed pages that wait for their commit") \
    FIELD("sieve_pending", int, STAT(sieve_pending), GAUGE, "sieve_pending", "", \
          "Links not looked up yet") \
    FIELD("sieve_merges", int, STAT(sieve_merges), COUNTER, "sieve_merges_total", "", \
          "Merges of the sieve") \
    FIELD("url_cache_share", share, share_of(STAT(cache_hits), STAT(cache_misses)), \
          GAUGE, "url_cache_share", "", "Share of links that were met lately") \
    FIELD("parse_queue", int, s->parse_queue, GAUGE, "parse_queue", "", \
          "Answers that wait for a parsing thread") \
    FIELD("scorings", int, s->scores.computations, COUNTER, "scorings_total", "", \
          "Computations of all scores") \
    FIELD("score_ms", int, s->scores.last_ms, GAUGE_MS, "scoring_seconds", "", \
          "How long the last one took") \
    FIELD("score_cpu_s", real, (double)s->scores.cpu_us / 1e6, \
          COUNTER, "scoring_cpu_seconds_total", "", "CPU time of the scoring thread") \
    FIELD("moves", int, s->scores.moves, COUNTER, "level_moves_total", "", \
          "URLs that changed their level") \
    FIELD("classified", int, STAT(classified), COUNTER, "classified_pages_total", "", \
          "Pages that the classifier has scored") \
    FIELD("classify_default", int, STAT(classify_default), \
          COUNTER, "classifier_default_pages_total", "", \
          "Pages that went on with the default score") \
    FIELD("classify_bad", int, STAT(classify_bad), COUNTER, "classifier_bad_answers_total", "", \
          "Answers of the classifier that are no scores") \
    FIELD("classify_starts", int, STAT(classify_starts), COUNTER, "classifier_starts_total", "", \
          "Starts of the classifier's process") \
    FIELD("classify_s", real, (double)STAT(classify_us) / 1e6, \
          COUNTER, "classifier_wait_seconds_total", "", "Time spent waiting for its answers") \
    FIELD("commits", int, STAT(commits), COUNTER, "commits_total", "", \
          "Transactions with results") \
    FIELD("chore_max_ms", real, (double)STAT(chore_max_us) / 1000, \
          GAUGE_MS, "chore_longest_seconds", "", "Longest transaction of a chore") \
    FIELD("chore_wait_max_ms", real, (double)STAT(chore_wait_max_us) / 1000, \
          GAUGE_MS, "chore_wait_longest_seconds", "", \
          "Longest time that a chore kept results from their commit") \
    FIELD("chore_cpu_max_ms", real, (double)STAT(chore_cpu_max_us) / 1000, \
          GAUGE_MS, "chore_cpu_longest_seconds", "", "CPU time of a chore's longest piece") \
    FIELD("held_bytes", int, s->held_bytes, GAUGE, "held_bytes", "", \
          "Answers and parsed pages between network and disk") \
    FIELD("outages", int, s->network.n_outages + s->resolver.outages, \
          COUNTER, "outages_total", "", "Times our own network or name servers were out") \
    FIELD("excused", int, s->network.n_excused + s->resolver.excused, \
          COUNTER, "excused_failures_total", "", \
          "Failures that were charged to nobody, because our network was out") \
    FIELD("held_waits", int, s->held_waits, COUNTER, "held_waits_total", "", \
          "Times there were too many of these bytes") \
    FIELD("spool_bytes", int, s->spool_bytes, GAUGE, "spool_bytes", "", \
          "Bytes of long pages that wait in files (fetch.spool)") \
    FIELD("cut_endless", int, s->cut_endless, COUNTER, "endless_cut_total", "", \
          "Long pages that were cut at fetch.max_body because others of their host had no end") \
    FIELD("2xx", int, s->by_status[2], COUNTER, "answers_total", "{class=\"2xx\"}", \
          "Fetches by class of their status; none: no answer") \
    FIELD("3xx", int, s->by_status[3], COUNTER, "answers_total", "{class=\"3xx\"}", "") \
    FIELD("4xx", int, s->by_status[4], COUNTER, "answers_total", "{class=\"4xx\"}", "") \
    FIELD("5xx", int, s->by_status[5], COUNTER, "answers_total", "{class=\"5xx\"}", "") \
    FIELD("err", int, s->by_status[0], COUNTER, "answers_total", "{class=\"none\"}", "") \
    FIELD("dup", int, STAT(duplicates), COUNTER, "duplicates_total", "", \
          "Pages with the body of another page") \
    FIELD("robots_denied", int, STAT(robots_denied), COUNTER, "robots_denied_total", "", \
          "URLs that robots.txt forbids") \
    FIELD("domain_refused", int, STAT(domain_refused), COUNTER, "domain_refused_total", "", \
          "URLs whose registered domain has enough hosts, pages or queued URLs") \
    FIELD("address_refused", int, STAT(address_refused), COUNTER, "address_refused_total", "", \
          "URLs whose address has enough hosts, pages or queued URLs") \
    FIELD("feeds_refused", int, STAT(feeds_refused), COUNTER, "feeds_refused_total", "", \
          "Links to feeds beyond the first of a page and limits.feeds_per_host") \
    FIELD("elsewhere", int, STAT(elsewhere), COUNTER, "elsewhere_total", "", \
          "URLs that are not fetched, since another crawl has a fresh capture (warc.dedup_fresh)") \
    FIELD("throttled", int, STAT(throttled), COUNTER, "throttled_total", "", \
          "Answers 429 and 503") \
    FIELD("rss_bytes", int, s->rss_bytes, GAUGE, "resident_memory_bytes", "", "Resident memory") \
    FIELD("map_drops", int, s->map_drops, COUNTER, "map_drops_total", "", \
          "Times pages of the database were unmapped to stay in crawl.memory") \
    FIELD("frontier_bytes", int, s->frontier.memory_bytes, GAUGE, "frontier_memory_bytes", "", \
          "Memory of hosts and their URLs (limits.workbench_memory)") \
    FIELD("db_bytes", int, s->db_bytes, GAUGE, "database_bytes", "", "Size of the database file") \
    FIELD("db_readers", int, s->db_readers, GAUGE, "database_readers", "", \
          "Transactions that read the database, of all programs") \
    FIELD("db_reader_age_s", real, (double)s->db_reader_age_ms / 1000, \
          GAUGE, "database_reader_oldest_seconds", "", \
          "How long the oldest of them has kept freed pages from being used again") \
    FIELD("db_reader_pid", int, s->db_reader_pid, NO_METRIC, "", "", "") \
    FIELD("disk_free_bytes", int, s->disk_free_bytes, GAUGE, "disk_free_bytes", "", \
          "Free in the crawl's directory") \
    FIELD("cpu_s", real, (double)s->cpu_ms / 1000, COUNTER, "cpu_seconds_total", "", \
          "CPU time of this run") \
    FIELD("alerts", int, s->alerts, COUNTER, "alerts_total", "", \
          "Times control.alert_command was run") \
    FIELD("alerts_failed", int, s->alerts_failed, COUNTER, "alerts_failed_total", "", \
          "Times it could not be run, failed, or had to be ended") \
    FIELD("walls_402", int, STAT(walls[WALL_PAYMENT]), COUNTER, "walls_total", "{wall=\"402\"}", \
          "Answers that keep crawlers out, by status; challenge: pages that want proof of a human") \
    FIELD("walls_403", int, STAT(walls[WALL_FORBIDDEN]), COUNTER, "walls_total", "{wall=\"403\"}", \
          "") \
    FIELD("walls_429", int, STAT(walls[WALL_BUSY]), COUNTER, "walls_total", "{wall=\"429\"}", "") \
    FIELD("walls_challenge", int, STAT(walls[WALL_CHALLENGE]), \
          COUNTER, "walls_total", "{wall=\"challenge\"}", "") \
    FIELD("walled_hosts", int, STAT(walled_hosts), GAUGE, "walled_hosts", "", \
          "Hosts that gave such an answer") \
    FIELD("links_p50", int, s->answers.links.half, SUMMARY, "page_links", "{quantile=\"0.5\"}", \
          "Links followed of a page, since the start") \
    FIELD("links_p90", int, s->answers.links.most, SUMMARY, "page_links", "{quantile=\"0.9\"}", \
          "") \
    FIELD("links_p99", int, s->answers.links.nearly_all, \
          SUMMARY, "page_links", "{quantile=\"0.99\"}", "") \
    FIELD("length_p50", int, s->answers.lengths.half, \
          SUMMARY, "answer_bytes", "{quantile=\"0.5\"}", "Bytes of an answer, since the start") \
    FIELD("length_p90", int, s->answers.lengths.most, \
          SUMMARY, "answer_bytes", "{quantile=\"0.9\"}", "") \
    FIELD("length_p99", int, s->answers.lengths.nearly_all, \
          SUMMARY, "answer_bytes", "{quantile=\"0.99\"}", "") \
    FIELD("speed_p50", int, s->answers.speeds.half, \
          SUMMARY, "answer_bytes_per_second", "{quantile=\"0.5\"}", \
          "Bytes a second of an answer, since the start") \
    FIELD("speed_p90", int, s->answers.speeds.most, \
          SUMMARY, "answer_bytes_per_second", "{quantile=\"0.9\"}", "") \
    FIELD("speed_p99", int, s->answers.speeds.nearly_all, \
          SUMMARY, "answer_bytes_per_second", "{quantile=\"0.99\"}", "") \
    FIELD("queue_p50", int, s->frontier.queues.half, SUMMARY, "host_queue", "{quantile=\"0.5\"}", \
          "URLs in memory of a host that has any there") \
    FIELD("queue_p90", int, s->frontier.queues.most, SUMMARY, "host_queue", "{quantile=\"0.9\"}", \
          "") \
    FIELD("queue_p99", int, s->frontier.queues.nearly_all, \
          SUMMARY, "host_queue", "{quantile=\"0.99\"}", "") \
    FIELD("type_html", int, s->answers.types[STATS_HTML], \
          COUNTER, "documents_total", "{type=\"html\"}", "Answers of class 2xx by their type") \
    FIELD("type_text", int, s->answers.types[STATS_TEXT], \
          COUNTER, "documents_total", "{type=\"text\"}", "") \
    FIELD("type_image", int, s->answers.types[STATS_IMAGE], \
          COUNTER, "documents_total", "{type=\"image\"}", "") \
    FIELD("type_other", int, s->answers.types[STATS_OTHER], \
          COUNTER, "documents_total", "{type=\"other\"}", "")

/* Where pages are visited again (schedule.mode = continuous). */
#define STATUS_CONTINUOUS_FIELDS(FIELD) \
    FIELD("revisits", int, STAT(revisits), COUNTER, "revisits_total", "", \
          "Visits of pages that were due") \
    FIELD("not_modified", int, STAT(not_modified), COUNTER, "not_modified_total", "", \
          "Of these, answered 304") \
    FIELD("revisit_signals", int, STAT(revisit_signals), COUNTER, "revisit_signals_total", "", \
          "Visits that a sitemap or feed has brought forward") \
    FIELD("revisit_pages", int, STAT(revisit_pages), GAUGE, "revisit_pages", "", \
          "Pages that have a next visit") \
    FIELD("revisit_due", real, (double)STAT(revisit_due_ms) / 1000, \
          GAUGE, "revisit_late_seconds", "", "How late the latest visit of the last commit was")

/* Of an agent of a cluster. */
#define STATUS_CLUSTER_FIELDS(FIELD) \
    FIELD("agent", int, s->cluster.agent, NO_METRIC, "", "", "") \
    FIELD("leases", int, s->cluster.node.leases.held, GAUGE, "leases", "", \
          "Shared addresses that this agent may use") \
    FIELD("leases_wanted", int, s->cluster.node.leases.wanted, GAUGE, "leases_wanted", "", \
          "Shared addresses that it has something for and waits for") \
    FIELD("lease_messages", int, s->cluster.node.leases.messages, \
          COUNTER, "lease_messages_total", "", "Messages about these") \
    FIELD("lease_bytes", int, s->cluster.node.leases.bytes, GAUGE, "lease_memory_bytes", "", \
          "Memory of leases") \
    FIELD("outbox_bytes", int, s->cluster.outbox_bytes, GAUGE, "outbox_bytes", "", \
          "Links for other agents that wait on the disk (cluster.outbox)") \
    FIELD("inbox_bytes", int, s->cluster.inbox_bytes, GAUGE, "inbox_bytes", "", \
          "Links of other agents that wait for their commit") \
    FIELD("blocks_sent", int, s->cluster.node.blocks.sent, COUNTER, "blocks_sent_total", "", \
          "Messages with links, sent") \
    FIELD("blocks_repeated", int, s->cluster.node.blocks.repeated, COUNTER, "blocks_repeated_total", "", \
          "Of these, sent again because no answer came") \
    FIELD("blocks_refused", int, s->cluster.node.blocks.refused, COUNTER, "blocks_refused_total", "", \
          "Messages of others that were refused, and ours by others") \
    FIELD("agents_away", int, s->cluster.node.blocks.agents_away, GAUGE, "agents_away", "", \
          "Agents that something waits for and that are not there") \
    FIELD("agents_awaited", int, s->cluster.node.agents_awaited, GAUGE, "agents_awaited", "", \
          "Agents that must say what they have used of the crawl's limits before more is given out")
/* clang-format on */
