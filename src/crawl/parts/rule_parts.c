#include "crawl/parts/rule_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "logs/log_text.h"
#include "store/schedule/schedule_read.h"

/* ---- the fingerprint ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    return hash_64(bytes, length, hash + 1);
}

/* Of all that fetching threads ask about; 0 when nothing is set. */
static uint64_t rule_parts_fingerprint(const AgentParts *parts)
{
    static const char *const names[] = {
        "scope.domains", "scope.exclude_domains", "scope.accept_regex", "scope.reject_regex",
        "scope.ports",   "scope.max_url_length",  "scope.stay",         "filter.fetch"};
    const Options *options = &parts->config->options;
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const OptionSpec *spec = options_find(options, names[i]);
        const char *text = options->texts[spec - options->specs];
        if (strcmp(text, spec->standard) != 0) {
            hash = mix(mix(hash, names[i], strlen(names[i])), text, strlen(text));
        }
    }
    /* Lists of hosts are part of the rules: a word that names a file brings in when it was changed.
     */
    static const char separators[] = "\"'(), \t";
    char *copy = strdup(parts->config->filter_fetch);
    char *save = NULL;
    for (char *word = copy == NULL ? NULL : strtok_r(copy, separators, &save); word != NULL;
         word = strtok_r(NULL, separators, &save)) {
        struct stat st;
        if (stat(word, &st) == 0 && S_ISREG(st.st_mode)) {
            int64_t changed[3] = {(int64_t)st.st_mtim.tv_sec, (int64_t)st.st_mtim.tv_nsec,
                                  (int64_t)st.st_size};
            hash = mix(hash, changed, sizeof changed);
        }
    }
    free(copy);
    for (size_t i = 0; i < parts->denials.n; i++) {
        hash = mix(hash, parts->denials.rules[i], strlen(parts->denials.rules[i]));
    }
    return hash;
}

/* ---- sharing ---- */

static Result make_admission(const AgentParts *parts, const DenialList *denials,
                             Admission **admission, Buffer *error)
{
    ScopeOptions options = config_scope(parts->config);
    options.stay = parts->stay;
    options.denied = (const char *const *)denials->rules;
    options.n_denied = denials->n;
    return admission_new(admission, &options, (const char *const *)denials->rules, denials->n,
                         error);
}

/* The rules hold from here on: what is known is judged by them. */
static void rule_parts_ask_again(AgentParts *parts)
{
    readmission_ask(parts->readmission, rule_parts_fingerprint(parts));
    ingest_wake(parts->ingest);
}

Result rule_parts_share(AgentParts *parts, Buffer *error)
{
    Scope *scope = NULL;
    Admission *admission = NULL;
    ScopeOptions options = config_scope(parts->config);
    options.stay = parts->stay;
    Result rc = denial_list_read(&parts->denials, parts->store->directory, error);
    options.denied = (const char *const *)parts->denials.rules;
    options.n_denied = parts->denials.n;
    if (rc == RESULT_OK) {
        rc = scope_new(&scope, &options, error);
    }
    if (rc == RESULT_OK) {
        rc = make_admission(parts, &parts->denials, &admission, error);
    }
    if (rc == RESULT_OK) {
        rc = filters_share(&parts->filters, &parts->fetch_filter, &parts->body_filter,
                           parts->config, error);
    }
    if (rc != RESULT_OK) {
        scope_delete(scope);
        admission_delete(admission);
        return rc;
    }
    rc = shared_replace(&parts->scope, scope);
    Result rest = shared_replace(&parts->admission, admission);
    rule_parts_ask_again(parts);
    return result_first(rc, rest);
}

/* ---- denials ---- */

/* The changed list is on the disk before it holds; when anything fails it is as it was. */
static Result rule_parts_install(AgentParts *parts, Buffer *answer)
{
    Admission *admission = NULL;
    Result rc = make_admission(parts, &parts->denials, &admission, answer);
    if (rc == RESULT_OK) {
        rc = denial_list_write(&parts->denials, parts->store->directory, answer);
    }
    if (rc != RESULT_OK) {
        Buffer ignored = {.limit = BUFFER_NO_LIMIT};
        admission_delete(admission);
        (void)denial_list_read(&parts->denials, parts->store->directory, &ignored);
        buffer_destroy(&ignored);
        return rc;
    }
    rc = shared_replace(&parts->admission, admission);
    rule_parts_ask_again(parts);
    return rc;
}

/* What a denial of a host holds back: its own URLs and those of the hosts below it. */
typedef struct Held {
    uint64_t hosts;
    uint64_t urls;
} Held;

/* Whether an origin is of a host or below it, at whatever port. */
static bool rule_parts_is_held(const Buffer *origin, const char *name)
{
    LogText host = log_text_host((LogText){origin->data, origin->length});
    size_t length = strlen(name);
    return host.length >= length &&
           strncasecmp(host.bytes + host.length - length, name, length) == 0 &&
           (host.length == length || host.bytes[host.length - length - 1] == '.');
}

static void count_host(const IngestStore *tables, MDB_txn *txn, uint32_t host, Held *held)
{
    uint64_t urls = 0;
    if (schedule_host_count(tables->schedule, txn, host, &urls) == RESULT_OK) {
        held->hosts++;
        held->urls += urls;
    }
}

#define HOSTS_WALKED 100000u /* a tenth of a second; the origins of more are not looked through */

/* Origins are found by their hash only: all that are known are looked through, since those of other
 * ports cannot be guessed. Of very many hosts, the two at the standard ports are counted. */
static Held count_held(const IngestStore *tables, MDB_txn *txn, const char *name, Buffer *origin)
{
    static const char *const schemes[] = {"http://", "https://"};
    uint32_t n = page_db_n_hosts(tables->db, txn);
    Held held = {.hosts = 0};
    for (uint32_t host = 0; n <= HOSTS_WALKED && host < n; host++) {
        if (page_db_host_origin(tables->db, txn, host, origin) == 0 &&
            rule_parts_is_held(origin, name)) {
            count_host(tables, txn, host, &held);
        }
    }
    for (size_t i = 0; n > HOSTS_WALKED && i < sizeof schemes / sizeof *schemes; i++) {
        uint32_t host = 0;
        buffer_reset(origin);
        (void)buffer_printf(origin, "%s%s", schemes[i], name);
        if (page_db_host_find(tables->db, txn, buffer_string(origin), origin->length, &host) == 0) {
            count_host(tables, txn, host, &held);
        }
    }
    return held;
}

/* How many URLs a rule holds back, for the answer; nothing when the rule is no host. */
/* Hosts at an address are known when they have been asked; a range is not counted. */
static bool rule_parts_tell_address(const AgentParts *parts, const char *text, Buffer *answer)
{
    const IngestStore *tables = &parts->store->tables;
    IpAddress address;
    GroupRecord group = {.hosts = 0};
    MDB_txn *txn = NULL;
    if (ip_address_parse(text, strlen(text), &address) != RESULT_OK) {
        return false;
    }
    if (tables->groups == 0 || page_db_txn_begin(tables->db, true, &txn) != 0) {
        return true;
    }
    Result rc = group_rows_get(tables->groups, txn, group_key_of_address(&address), &group);
    page_db_txn_abort(tables->db, txn);
    if (rc == RESULT_OK && group.hosts > 0) {
        (void)buffer_printf(answer, "; %u hosts are known there, with %llu URLs that are scheduled",
                            group.hosts, (unsigned long long)group.queued);
    } else if (rc == RESULT_OK) {
        (void)buffer_append_string(answer, "; no host is known there yet");
    }
    return true;
}

static void tell_host(const AgentParts *parts, const char *name, Buffer *answer)
{
    const IngestStore *tables = &parts->store->tables;
    MDB_txn *txn = NULL;
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    if (rule_parts_tell_address(parts, name, answer)) {
        return;
    }
    if (strpbrk(name, "*?:/") != NULL || page_db_txn_begin(tables->db, true, &txn) != 0) {
        return;
    }
    Held held = count_held(tables, txn, name, &origin);
    bool is_whole = page_db_n_hosts(tables->db, txn) <= HOSTS_WALKED;
    page_db_txn_abort(tables->db, txn);
    buffer_destroy(&origin);
    if (held.hosts > 1) {
        (void)buffer_printf(answer, "; %s has %llu URLs scheduled, on %llu hosts and ports", name,
                            (unsigned long long)held.urls, (unsigned long long)held.hosts);
    } else if (held.hosts == 1) {
        (void)buffer_printf(answer, "; %s has %llu URLs scheduled", name,
                            (unsigned long long)held.urls);
    } else if (is_whole) {
        (void)buffer_printf(answer, "; no URL of %s is known yet", name);
    }
}

Result rule_parts_deny(AgentParts *parts, const char *rule, const char *who, Buffer *answer)
{
    Buffer normal = {.limit = 65536};
    Buffer note = {.limit = 1024};
    char time[CLOCK_TEXT_BYTES];
    Result rc = denials_normalise(rule, &normal, answer);
    if (rc == RESULT_OK && strspn(rule, "*?.") == strlen(rule)) {
        (void)buffer_printf(answer,
                            "'%s' would deny every host; `pause` and `stop` are for that, "
                            "and 'regex:.' if it is meant",
                            rule);
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = buffer_printf(&note, "%s %s", wall_format_iso(wall_now(), time), who);
    }
    if (rc == RESULT_OK) {
        rc = denial_list_add(&parts->denials, buffer_string(&normal), buffer_string(&note));
    }
    if (rc == RESULT_EXISTS) {
        (void)buffer_printf(answer, "'%s' is denied already", buffer_string(&normal));
    }
    if (rc == RESULT_OK) {
        rc = rule_parts_install(parts, answer);
    }
    if (rc == RESULT_OK) {
        LOG_INFO("rules", "denied", "rule=\"%s\" %s", buffer_string(&normal), who);
        (void)buffer_printf(answer, "'%s' is denied from now on", buffer_string(&normal));
        tell_host(parts, buffer_string(&normal), answer);
    }
    buffer_destroy(&normal);
    buffer_destroy(&note);
    return rc;
}

/* Which rule denies it, if another one does. */
static void rule_parts_explain(const AgentParts *parts, const char *rule, Buffer *answer)
{
    Admission *admission = NULL;
    Buffer error = {.limit = 1024};
    AdmissionQuestion question = {.host = rule, .host_length = strlen(rule)};
    AdmissionAnswer found = {.rule = NULL};
    if (make_admission(parts, &parts->denials, &admission, &error) == RESULT_OK) {
        found = admission_judge(admission, &question);
    }
    if (found.rule != NULL) {
        (void)buffer_printf(answer, "there is no denial '%s'; what refuses it is '%s'", rule,
                            found.rule);
    } else {
        (void)buffer_printf(answer, "there is no denial '%s' (`denials` lists them)", rule);
    }
    admission_delete(admission);
    buffer_destroy(&error);
}

Result rule_parts_allow(AgentParts *parts, const char *rule, const char *who, Buffer *answer)
{
    Buffer normal = {.limit = 65536};
    Result rc = denials_normalise(rule, &normal, answer);
    if (rc == RESULT_OK) {
        rc = denial_list_remove(&parts->denials, buffer_string(&normal));
    }
    if (rc == RESULT_NOT_FOUND) {
        rule_parts_explain(parts, buffer_string(&normal), answer);
    }
    if (rc == RESULT_OK) {
        rc = rule_parts_install(parts, answer);
    }
    if (rc == RESULT_OK && denials_is_tomb(buffer_string(&normal))) {
        rc = rule_parts_share(parts, answer); /* links are judged by it, too */
    }
    if (rc == RESULT_OK) {
        LOG_INFO("rules", "allowed", "rule=\"%s\" %s", buffer_string(&normal), who);
        (void)buffer_printf(answer, "'%s' is denied no more; what it held back is scheduled again",
                            buffer_string(&normal));
    }
    buffer_destroy(&normal);
    return rc;
}
