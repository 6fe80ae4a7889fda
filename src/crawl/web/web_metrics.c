#include "crawl/web/web_metrics.h"

#include <string.h>

#include "crawl/control/control_link.h"
#include "logs/log_text.h"

/* ---- Web crawl ---- */

#define ANSWER_MS 5000

static const char *const allowed[] = {"pause", "resume", "stop", "deny",
                                      "allow", "host",   "seed", "rotate"};

void web_crawl_close(WebCrawl *crawl)
{
    control_link_close(crawl->link);
    crawl->link = NULL;
}

static bool web_crawl_append_line(void *context, const char *line)
{
    Buffer *out = context;
    return buffer_append_string(out, line) == RESULT_OK &&
           buffer_append_char(out, '\n') == RESULT_OK;
}

static unsigned web_crawl_ask(WebCrawl *crawl, char *const *words, size_t n, Buffer *out)
{
    Buffer error = {.limit = 4096};
    Buffer note = {.limit = 4096};
    unsigned status = 200;
    Result rc = RESULT_OK;
    if (crawl->link == NULL) {
        rc = control_link_open(&crawl->link, crawl->directory, &error);
    }
    if (rc == RESULT_OK) {
        rc = control_link_ask(crawl->link, words, n, web_crawl_append_line, out, ANSWER_MS, &note,
                              &error);
        if (rc != RESULT_OK && rc != RESULT_LIMIT && rc != RESULT_INVALID) {
            web_crawl_close(crawl);
        }
    }
    if (rc != RESULT_OK) {
        status = rc == RESULT_INVALID ? 400 : rc == RESULT_LIMIT ? 409 : 503;
        buffer_reset(out);
        (void)buffer_printf(out, "%s\n", buffer_string(&error));
    } else if (note.length > 0) {
        (void)buffer_printf(out, "%s\n", buffer_string(&note));
    }
    buffer_destroy(&error);
    buffer_destroy(&note);
    return status;
}

unsigned web_crawl_status(WebCrawl *crawl, Buffer *out)
{
    char status[] = "status";
    char json[] = "json";
    char *words[] = {status, json};
    return web_crawl_ask(crawl, words, 2, out);
}

static bool is_allowed(const char *word)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (strcmp(word, allowed[i]) == 0) {
            return true;
        }
    }
    return false;
}

unsigned web_crawl_do(WebCrawl *crawl, const char *line, size_t length, Buffer *out)
{
    ControlWords words;
    unsigned status = 400;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) {
        length--;
    }
    if (control_words_parse(&words, line, length, out) != RESULT_OK) {
        (void)buffer_append_char(out, '\n');
        return status;
    }
    if (words.n == 0) {
        (void)buffer_append_string(out, "there is no word in it\n");
    } else if (!is_allowed(words.words[0])) {
        status = 403;
        (void)buffer_printf(out,
                            "'%.64s' is not done from here; the page knows pause, resume, stop, "
                            "deny, allow, host, seed and rotate, ragno ctl knows more\n",
                            words.words[0]);
    } else {
        status = web_crawl_ask(crawl, words.words, words.n, out);
    }
    control_words_destroy(&words);
    return status;
}

/* ---- Web metrics ---- */

typedef enum MetricType { COUNTER, GAUGE, SUMMARY } MetricType;

/* Rows of one name stand together: they are one metric, and the first has its help. */
typedef struct Metric {
    const char *field; /* of the status */
    const char *name;
    const char *label; /* "class=\"2xx\"", or NULL */
    MetricType type;
    double scale;
    const char *help;
} Metric;

static const Metric metrics[] = {
    {"pages", "ragno_pages_total", NULL, COUNTER, 1, "URLs that were answered with an HTTP status"},
    {"bytes", "ragno_received_bytes_total", NULL, COUNTER, 1, "Bytes received"},
    {"2xx", "ragno_answers_total", "class=\"2xx\"", COUNTER, 1,
     "Fetches by class of their status; none: no answer"},
    {"3xx", "ragno_answers_total", "class=\"3xx\"", COUNTER, 1, NULL},
    {"4xx", "ragno_answers_total", "class=\"4xx\"", COUNTER, 1, NULL},
    {"5xx", "ragno_answers_total", "class=\"5xx\"", COUNTER, 1, NULL},
    {"err", "ragno_answers_total", "class=\"none\"", COUNTER, 1, NULL},
    {"dup", "ragno_duplicates_total", NULL, COUNTER, 1, "Pages with the body of another page"},
    {"robots_denied", "ragno_robots_denied_total", NULL, COUNTER, 1,
     "URLs that robots.txt forbids"},
    {"walls_402", "ragno_walls_total", "wall=\"402\"", COUNTER, 1,
     "Answers that keep crawlers out, by status; challenge: pages that want proof of a human"},
    {"walls_403", "ragno_walls_total", "wall=\"403\"", COUNTER, 1, NULL},
    {"walls_429", "ragno_walls_total", "wall=\"429\"", COUNTER, 1, NULL},
    {"walls_challenge", "ragno_walls_total", "wall=\"challenge\"", COUNTER, 1, NULL},
    {"walled_hosts", "ragno_walled_hosts", NULL, GAUGE, 1, "Hosts that gave such an answer"},
    {"domain_refused", "ragno_domain_refused_total", NULL, COUNTER, 1,
     "URLs whose registered domain has enough hosts, pages or queued URLs"},
    {"address_refused", "ragno_address_refused_total", NULL, COUNTER, 1,
     "URLs whose address has enough hosts, pages or queued URLs"},
    {"feeds_refused", "ragno_feeds_refused_total", NULL, COUNTER, 1,
     "Links to feeds beyond the first of a page and limits.feeds_per_host"},
    {"throttled", "ragno_throttled_total", NULL, COUNTER, 1, "Answers 429 and 503"},
    {"revisits", "ragno_revisits_total", NULL, COUNTER, 1, "Visits of pages that were due"},
    {"not_modified", "ragno_not_modified_total", NULL, COUNTER, 1, "Of these, answered 304"},
    {"revisit_signals", "ragno_revisit_signals_total", NULL, COUNTER, 1,
     "Visits that a sitemap or feed has brought forward"},
    {"revisit_pages", "ragno_revisit_pages", NULL, GAUGE, 1, "Pages that have a next visit"},
    {"revisit_due", "ragno_revisit_late_seconds", NULL, GAUGE, 1,
     "How late the latest visit of the last commit was"},
    {"urls_seen", "ragno_urls_known", NULL, GAUGE, 1, "URLs known"},
    {"urls_queued", "ragno_urls_queued", NULL, GAUGE, 1, "URLs that are scheduled"},
    {"urls_parked", "ragno_urls_parked", NULL, GAUGE, 1,
     "URLs of hosts that were dropped or parked"},
    {"hosts", "ragno_hosts", NULL, GAUGE, 1, "Hosts known"},
    {"hosts_parked", "ragno_hosts_parked", NULL, GAUGE, 1, "Hosts that were dropped or parked"},
    {"hosts_waiting", "ragno_hosts_waiting", NULL, GAUGE, 1,
     "Hosts with work that have failed and wait for a retry"},
    {"next_retry_s", "ragno_next_retry_seconds", NULL, GAUGE, 1,
     "Until the first of them is tried again"},
    {"visit_states", "ragno_visit_states", NULL, GAUGE, 1, "Hosts in memory"},
    {"wb_entries", "ragno_addresses", NULL, GAUGE, 1, "Addresses on the workbench"},
    {"front", "ragno_front", NULL, GAUGE, 1, "Addresses that have something to fetch"},
    {"required_front", "ragno_front_required", NULL, GAUGE, 1, "How many there should be"},
    {"evictions", "ragno_evictions_total", NULL, COUNTER, 1,
     "Hosts that made room in memory for better ones"},
    {"nameless", "ragno_nameless", NULL, GAUGE, 1, "Hosts in memory that have had no address yet"},
    {"names_left_out", "ragno_names_left_out_total", NULL, COUNTER, 1,
     "Times that a new host had to wait on disk for its turn to be asked for"},
    {"todo", "ragno_todo", NULL, GAUGE, 1, "Hosts that were handed to the fetchers and wait there"},
    {"active", "ragno_transfers", NULL, GAUGE, 1, "Transfers in flight"},
    {"dns_waiting", "ragno_dns_waiting", NULL, GAUGE, 1, "Hosts that wait for their address"},
    {"dns_queries", "ragno_dns_queries_total", NULL, COUNTER, 1, "Queries to name servers"},
    {"dns_failures", "ragno_dns_failures_total", NULL, COUNTER, 1, "Names without an answer"},
    {"connects", "ragno_connects_total", NULL, COUNTER, 1, "Connections made"},
    {"tls_handshakes", "ragno_tls_handshakes_total", NULL, COUNTER, 1, "TLS handshakes"},
    {"tls_resumed", "ragno_tls_resumed_total", NULL, COUNTER, 1,
     "Of these, that took up an earlier session"},
    {"active_new", "ragno_crowd_active", "standing=\"new\"", GAUGE, 1,
     "Connections of hosts that are new, or fail or are slow"},
    {"active_ill", "ragno_crowd_active", "standing=\"ill\"", GAUGE, 1, NULL},
    {"waiting_new", "ragno_crowd_waiting", "standing=\"new\"", GAUGE, 1,
     "Addresses that wait because the share of the connections of such hosts is used up"},
    {"waiting_proven", "ragno_crowd_waiting", "standing=\"proven\"", GAUGE, 1, NULL},
    {"waiting_ill", "ragno_crowd_waiting", "standing=\"ill\"", GAUGE, 1, NULL},
    {"cut_new", "ragno_crowd_cut_total", "why=\"new\"", COUNTER, 1,
     "Transfers broken off for other new hosts, or because slow answers filled fetch.memory"},
    {"cut_slow", "ragno_crowd_cut_total", "why=\"slow\"", COUNTER, 1, NULL},
    {"tls_session_bytes", "ragno_tls_session_bytes", NULL, GAUGE, 1, "Memory of TLS sessions"},
    {"tls_forgotten", "ragno_tls_sessions_forgotten_total", NULL, COUNTER, 1,
     "TLS sessions that made room for others"},
    {"outages", "ragno_outages_total", NULL, COUNTER, 1,
     "Times our own network or name servers were out"},
    {"excused", "ragno_excused_failures_total", NULL, COUNTER, 1,
     "Failures that were charged to nobody, because our network was out"},
    {"parse_queue", "ragno_parse_queue", NULL, GAUGE, 1, "Answers that wait for a parsing thread"},
    {"results", "ragno_results_waiting", NULL, GAUGE, 1, "Parsed pages that wait for their commit"},
    {"held_bytes", "ragno_held_bytes", NULL, GAUGE, 1,
     "Answers and parsed pages between network and disk"},
    {"held_waits", "ragno_held_waits_total", NULL, COUNTER, 1,
     "Times there were too many of these bytes"},
    {"spool_bytes", "ragno_spool_bytes", NULL, GAUGE, 1,
     "Bytes of long pages that wait in files (fetch.spool)"},
    {"cut_endless", "ragno_endless_cut_total", NULL, COUNTER, 1,
     "Long pages that were cut at fetch.max_body because others of their host had no end"},
    {"links_p50", "ragno_page_links", "quantile=\"0.5\"", SUMMARY, 1,
     "Links followed of a page, since the start"},
    {"links_p90", "ragno_page_links", "quantile=\"0.9\"", SUMMARY, 1, NULL},
    {"links_p99", "ragno_page_links", "quantile=\"0.99\"", SUMMARY, 1, NULL},
    {"length_p50", "ragno_answer_bytes", "quantile=\"0.5\"", SUMMARY, 1,
     "Bytes of an answer, since the start"},
    {"length_p90", "ragno_answer_bytes", "quantile=\"0.9\"", SUMMARY, 1, NULL},
    {"length_p99", "ragno_answer_bytes", "quantile=\"0.99\"", SUMMARY, 1, NULL},
    {"speed_p50", "ragno_answer_bytes_per_second", "quantile=\"0.5\"", SUMMARY, 1,
     "Bytes a second of an answer, since the start"},
    {"speed_p90", "ragno_answer_bytes_per_second", "quantile=\"0.9\"", SUMMARY, 1, NULL},
    {"speed_p99", "ragno_answer_bytes_per_second", "quantile=\"0.99\"", SUMMARY, 1, NULL},
    {"queue_p50", "ragno_host_queue", "quantile=\"0.5\"", SUMMARY, 1,
     "URLs in memory of a host that has any there"},
    {"queue_p90", "ragno_host_queue", "quantile=\"0.9\"", SUMMARY, 1, NULL},
    {"queue_p99", "ragno_host_queue", "quantile=\"0.99\"", SUMMARY, 1, NULL},
    {"type_html", "ragno_documents_total", "type=\"html\"", COUNTER, 1,
     "Answers of class 2xx by their type"},
    {"type_text", "ragno_documents_total", "type=\"text\"", COUNTER, 1, NULL},
    {"type_image", "ragno_documents_total", "type=\"image\"", COUNTER, 1, NULL},
    {"type_other", "ragno_documents_total", "type=\"other\"", COUNTER, 1, NULL},
    {"sieve_pending", "ragno_sieve_pending", NULL, GAUGE, 1, "Links not looked up yet"},
    {"sieve_merges", "ragno_sieve_merges_total", NULL, COUNTER, 1, "Merges of the sieve"},
    {"url_cache_share", "ragno_url_cache_share", NULL, GAUGE, 1,
     "Share of links that were met lately"},
    {"bloom_fp", "ragno_bloom_false_share", NULL, GAUGE, 1,
     "Share of new URLs that the Bloom filter takes for seen"},
    {"scorings", "ragno_scorings_total", NULL, COUNTER, 1, "Computations of all scores"},
    {"score_ms", "ragno_scoring_seconds", NULL, GAUGE, 1e-3, "How long the last one took"},
    {"score_cpu_s", "ragno_scoring_cpu_seconds_total", NULL, COUNTER, 1,
     "CPU time of the scoring thread"},
    {"moves", "ragno_level_moves_total", NULL, COUNTER, 1, "URLs that changed their level"},
    {"classified", "ragno_classified_pages_total", NULL, COUNTER, 1,
     "Pages that the classifier has scored"},
    {"classify_default", "ragno_classifier_default_pages_total", NULL, COUNTER, 1,
     "Pages that went on with the default score"},
    {"classify_bad", "ragno_classifier_bad_answers_total", NULL, COUNTER, 1,
     "Answers of the classifier that are no scores"},
    {"classify_starts", "ragno_classifier_starts_total", NULL, COUNTER, 1,
     "Starts of the classifier's process"},
    {"classify_s", "ragno_classifier_wait_seconds_total", NULL, COUNTER, 1,
     "Time spent waiting for its answers"},
    {"commits", "ragno_commits_total", NULL, COUNTER, 1, "Transactions with results"},
    {"chore_max_ms", "ragno_chore_longest_seconds", NULL, GAUGE, 1e-3,
     "Longest transaction of a chore"},
    {"chore_wait_max_ms", "ragno_chore_wait_longest_seconds", NULL, GAUGE, 1e-3,
     "Longest time that a chore kept results from their commit"},
    {"chore_cpu_max_ms", "ragno_chore_cpu_longest_seconds", NULL, GAUGE, 1e-3,
     "CPU time of a chore's longest piece"},
    {"rss_bytes", "ragno_resident_memory_bytes", NULL, GAUGE, 1, "Resident memory"},
    {"frontier_bytes", "ragno_frontier_memory_bytes", NULL, GAUGE, 1,
     "Memory of hosts and their URLs (limits.workbench_memory)"},
    {"map_drops", "ragno_map_drops_total", NULL, COUNTER, 1,
     "Times pages of the database were unmapped to stay in crawl.memory"},
    {"db_bytes", "ragno_database_bytes", NULL, GAUGE, 1, "Size of the database file"},
    {"db_readers", "ragno_database_readers", NULL, GAUGE, 1,
     "Transactions that read the database, of all programs"},
    {"db_reader_age_s", "ragno_database_reader_oldest_seconds", NULL, GAUGE, 1,
     "How long the oldest of them has kept freed pages from being used again"},
    {"leases", "ragno_leases", NULL, GAUGE, 1, "Shared addresses that this agent may use"},
    {"leases_wanted", "ragno_leases_wanted", NULL, GAUGE, 1,
     "Shared addresses that it has something for and waits for"},
    {"lease_messages", "ragno_lease_messages_total", NULL, COUNTER, 1, "Messages about these"},
    {"lease_bytes", "ragno_lease_memory_bytes", NULL, GAUGE, 1, "Memory of leases"},
    {"outbox_bytes", "ragno_outbox_bytes", NULL, GAUGE, 1,
     "Links for other agents that wait on the disk (cluster.outbox)"},
    {"inbox_bytes", "ragno_inbox_bytes", NULL, GAUGE, 1,
     "Links of other agents that wait for their commit"},
    {"blocks_sent", "ragno_blocks_sent_total", NULL, COUNTER, 1, "Messages with links, sent"},
    {"blocks_repeated", "ragno_blocks_repeated_total", NULL, COUNTER, 1,
     "Of these, sent again because no answer came"},
    {"blocks_refused", "ragno_blocks_refused_total", NULL, COUNTER, 1,
     "Messages of others that were refused, and ours by others"},
    {"agents_away", "ragno_agents_away", NULL, GAUGE, 1,
     "Agents that something waits for and that are not there"},
    {"agents_awaited", "ragno_agents_awaited", NULL, GAUGE, 1,
     "Agents that must say what they have used of the crawl's limits before more is given out"},
    {"disk_free_bytes", "ragno_disk_free_bytes", NULL, GAUGE, 1, "Free in the crawl's directory"},
    {"cpu_s", "ragno_cpu_seconds_total", NULL, COUNTER, 1, "CPU time of this run"},
    {"elapsed_s", "ragno_elapsed_seconds", NULL, GAUGE, 1, "Time crawled, all runs together"}};

#define N_METRICS (sizeof metrics / sizeof *metrics)

/* Fields that are told otherwise, or are means of others. */
static const char *const others[] = {"pid",   "db_reader_pid", "time",        "state",  "agent",
                                     "limit", "pages_s",       "pages_s_avg", "bytes_s"};

static const char *const states[] = {"running", "paused", "stopping", "stopped", "finished", NULL};
static const char *const limits[] = {
    "politeness", "connections", "shares",    "dns",      "parser",  "writer",
    "disk",       "memory",      "bandwidth", "operator", "network", "seeds",
    "schedule",   "retries",     "walls",     "cluster",  "none",    NULL};

bool web_metrics_knows(const char *field)
{
    for (size_t i = 0; i < N_METRICS; i++) {
        if (strcmp(metrics[i].field, field) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(others[i], field) == 0) {
            return true;
        }
    }
    return false;
}

static void web_metrics_put_head(Buffer *out, const char *name, MetricType type, const char *help)
{
    static const char *const types[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge", [SUMMARY] = "summary"};
    (void)buffer_printf(out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, types[type]);
}

static void put_metric(Buffer *out, const Metric *metric, const char *json)
{
    LogText text = status_json_get(json, metric->field);
    if (text.length == 0) {
        return;
    }
    if (metric->help != NULL) {
        web_metrics_put_head(out, metric->name, metric->type, metric->help);
    }
    const char *open = metric->label == NULL ? "" : "{";
    const char *close = metric->label == NULL ? "" : "}";
    (void)buffer_printf(out, "%s%s%s%s ", metric->name, open,
                        metric->label == NULL ? "" : metric->label, close);
    if (metric->scale == 1) {
        (void)buffer_append(out, text.bytes, text.length); /* all digits of a counter */
    } else {
        (void)buffer_printf(out, "%.6g",
                            status_json_number(json, metric->field, 0) * metric->scale);
    }
    (void)buffer_append_char(out, '\n');
}

/* 1 for the word that holds, 0 for the others; a word that is not known stands alone. */
static void put_words(Buffer *out, const char *name, const char *label, const char *const *words,
                      LogText now)
{
    bool known = false;
    for (; *words != NULL; words++) {
        bool holds = log_text_is(now, *words);
        known = known || holds;
        (void)buffer_printf(out, "%s{%s=\"%s\"} %d\n", name, label, *words, holds);
    }
    if (!known && now.length > 0) {
        (void)buffer_printf(out, "%s{%s=\"%.*s\"} 1\n", name, label, (int)now.length, now.bytes);
    }
}

Result web_metrics(const char *json, Buffer *out)
{
    for (size_t i = 0; i < N_METRICS; i++) {
        put_metric(out, &metrics[i], json);
    }
    web_metrics_put_head(out, "ragno_state", GAUGE,
                         "What the crawl is doing: 1 for the state that holds");
    put_words(out, "ragno_state", "state", states, status_json_get(json, "state"));
    web_metrics_put_head(out, "ragno_limit", GAUGE, "What limits the crawl: 1 for what binds now");
    put_words(out, "ragno_limit", "limit", limits, status_json_get(json, "limit"));
    web_metrics_put_head(out, "ragno_build_info", GAUGE, "The version that runs");
    return buffer_printf(out, "ragno_build_info{version=\"%s\"} 1\n", RAGNO_VERSION);
}
