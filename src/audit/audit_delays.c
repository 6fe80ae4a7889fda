#include "audit/audit_delays.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory/array.h"
#include "base/memory/file.h"
#include "logs/log_reader.h"

/* ---- Audit changes ---- */

#define CHANGED "config: changed key="
#define ORDERED "agent: host changed by an operator "

typedef struct Reading {
    AuditChanges *changes;
    bool has_compared; /* the start that comes was preceded by its changes */
} Reading;

/* "TIME LEVEL THREAD EVENT": the text behind the third blank is the program's own, and no value can
 * pose as it. */
static bool find_event(const char *line, size_t length, WallTime *time, LogText *event)
{
    const char *at = line;
    const char *end = line + length;
    const char *time_end = memchr(line, ' ', length);
    /* Levels are padded with blanks to one width, so a run of them is one separator. */
    for (int word = 0; word < 3 && at != NULL; word++) {
        at = memchr(at, ' ', (size_t)(end - at));
        while (at != NULL && at < end && *at == ' ') {
            at++;
        }
    }
    if (at == NULL) {
        return false;
    }
    *event = (LogText){at, (size_t)(end - at)};
    return log_text_time((LogText){line, (size_t)(time_end - line)}, time);
}

static bool audit_changes_starts_with(LogText text, const char *word)
{
    return text.length >= strlen(word) && memcmp(text.bytes, word, strlen(word)) == 0;
}

/* The value behind name, such as old="50ms"; NULL: it is not there, or there is no memory. */
static char *audit_changes_value_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    const char *value = at == NULL ? NULL : at + strlen(name);
    const char *end = value == NULL ? NULL : strchr(value, '"');
    return end == NULL ? NULL : strndup(value, (size_t)(end - value));
}

static void audit_changes_release(AuditChange *change)
{
    free(change->text);
    free(change->name);
    free(change->site);
    free(change->from);
    free(change->to);
}

/* text: from the key on. */
static Result audit_changes_take_change(AuditChanges *changes, LogText text, WallTime time)
{
    bool is_delay = audit_changes_starts_with(text, "politeness.");
    if (!is_delay && !audit_changes_starts_with(text, "[site]")) {
        return RESULT_OK;
    }
    AuditChange change = {.time = time, .text = strndup(text.bytes, text.length)};
    if (change.text == NULL) {
        return RESULT_MEMORY;
    }
    change.from = audit_changes_value_of(change.text, " old=\"");
    change.to = audit_changes_value_of(change.text, " new=\"");
    change.site = audit_changes_value_of(change.text, " site=\"");
    /* Without a name a change cannot be gone back through: go_back ends at it. [site] as a whole
     * has none, which says only that sites have changed. */
    if (is_delay && change.from != NULL && change.to != NULL) {
        change.name = strndup(change.text, strcspn(change.text, " "));
    }
    Result rc = array_add(&changes->list, &changes->n, sizeof change, &change);
    if (rc != RESULT_OK) {
        audit_changes_release(&change);
    }
    return rc;
}

static Result audit_changes_take_line(void *context, const char *line, size_t length)
{
    Reading *reading = context;
    AuditChanges *changes = reading->changes;
    LogText event;
    WallTime time;
    if (!find_event(line, length, &time, &event)) {
        return RESULT_OK;
    }
    if (audit_changes_starts_with(event, CHANGED)) {
        size_t n = sizeof CHANGED - 1;
        return audit_changes_take_change(changes, (LogText){event.bytes + n, event.length - n},
                                         time);
    }
    /* Only wishes that let a host be asked at once matter: others make no pause shorter. */
    if (audit_changes_starts_with(event, ORDERED)) {
        size_t n = sizeof ORDERED - 1;
        /* text: from the host on. */
        LogText text = (LogText){event.bytes + n, event.length - n};
        AuditOrder order = {.time = time, .text = strndup(text.bytes, text.length)};
        if (order.text == NULL) {
            return RESULT_MEMORY;
        }
        const char *wish = strstr(order.text, " wish=");
        bool is_order =
            audit_changes_starts_with(text, "host=") && wish != NULL &&
            (strncmp(wish, " wish=visit", 11) == 0 || strncmp(wish, " wish=revive", 12) == 0);
        order.host = is_order ? strndup(order.text + 5, strcspn(order.text + 5, " ")) : NULL;
        if (order.host == NULL ||
            array_add(&changes->orders, &changes->n_orders, sizeof order, &order) != RESULT_OK) {
            free(order.host);
            free(order.text);
            return is_order ? RESULT_MEMORY : RESULT_OK;
        }
        return RESULT_OK;
    }
    /* Each start writes these two lines in this order, after the changes since the run before:
     *
     *   config: is new, or compared   has_compared: the changes up to here are all there are
     *   agent: start                  is_whole if so; else a log with a gap begins anew
     */
    bool is_new = audit_changes_starts_with(event, "config: is new ");
    if (is_new ||
        audit_changes_starts_with(event, "config: compared with that of the run before ")) {
        changes->since = is_new || !changes->is_whole ? time : changes->since;
        changes->is_whole = true;
        reading->has_compared = true;
    } else if (audit_changes_starts_with(event, "agent: start ")) {
        changes->is_whole = reading->has_compared; /* or the log lacks what changed then */
        reading->has_compared = false;
    }
    return RESULT_OK;
}

/* Whether a host ("http://h") was to be asked at once, by an order of this time. */
static bool audit_changes_ordered(const AuditChanges *changes, const char *origin, WallTime from,
                                  WallTime until)
{
    LogText name = log_text_host((LogText){origin, strlen(origin)});
    for (size_t i = 0; i < changes->n_orders; i++) {
        const AuditOrder *order = &changes->orders[i];
        bool is_in_time = order->time.us >= from.us && order->time.us <= until.us;
        if (is_in_time && (log_text_is(name, order->host) || strcmp(origin, order->host) == 0)) {
            return true;
        }
    }
    return false;
}

static void audit_changes_destroy(AuditChanges *changes)
{
    for (size_t i = 0; i < changes->n_orders; i++) {
        free(changes->orders[i].host);
        free(changes->orders[i].text);
    }
    free(changes->orders);
    for (size_t i = 0; i < changes->n; i++) {
        audit_changes_release(&changes->list[i]);
    }
    free(changes->list);
    *changes = (AuditChanges){.n = 0};
}

/* ---- Audit pauses ---- */

/* Of an address or of a host, as the breach says. before: line 0 = no request. */
static void audit_pauses_find(const AuditFetch *fetch, AuditBreach breach, AuditPlace before,
                              int64_t asked, int64_t found, AuditFindings *findings)
{
    AuditFinding finding = {.breach = breach,
                            .place = fetch->place,
                            .before = before,
                            .time = fetch->start,
                            .asked = asked,
                            .found = found};
    char ip[IP_ADDRESS_TEXT_BYTES];
    bool of_address = breach == BREACH_IP_PAUSE || breach == BREACH_AT_ONCE;
    const char *subject =
        of_address ? ip_address_format(&fetch->address->ip, ip) : fetch->host->origin;
    /* Requests that were not asked about are judged like any other, since they set the state for
     * the next; they are only not told of. */
    if (fetch->is_selected) {
        audit_findings_add(findings, &finding, subject, strlen(subject), NULL);
    }
}

/* From the end of the request before to the start of this one. */
static int64_t pause_before(const AuditSubject *subject, const AuditFetch *fetch)
{
    /* Within one boot by the clock that nobody sets. Over a restart of the machine only the wall
     * clock is left: the finding is counted as by_wall_clock. */
    int64_t us = subject->boot == fetch->boot ? fetch->mono_start - subject->mono_end
                                              : fetch->start.us - subject->end.us;
    if (us < 0 && us > -1000 && !fetch->is_exact && subject->boot == fetch->boot) {
        us = 0; /* its start is rounded down to ms, and the end before it is not */
    }
    return us >= 0 ? us / 1000 : (us - 999) / 1000; /* an overlap is one, however short */
}

static void note_closest(AuditSubject *subject, const AuditFetch *fetch, int64_t pause,
                         int64_t owed)
{
    if (fetch->is_selected && pause - owed < subject->closest.slack) {
        subject->closest = (AuditClosest){
            .slack = pause - owed, .owed = owed, .place = fetch->place, .before = subject->place};
    }
}

/* The pause that the line states is that between its times, but for roundings. */
static void check_stated(AuditPauses *pauses, const AuditFetch *fetch, int64_t pause,
                         AuditFindings *findings)
{
    const AuditSubject *host = &fetch->host->subject;
    if (fetch->given < 0 || host->boot != fetch->boot) {
        return;
    }
    /* A longer pause is no breach: the log lost the request in between. A shorter one means that
     * the line states what was not so. 1 ms each way is rounding. */
    if (pause > fetch->given + 1) {
        pauses->missing += fetch->is_selected;
    } else if (pause < fetch->given - 1) {
        audit_pauses_find(fetch, BREACH_STATED, host->place, fetch->given, pause, findings);
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* That a line does not state less than what had to be owed. */
static void check_owed(const AuditFetch *fetch, AuditPlace before, int64_t owed, int64_t asked,
                       AuditFindings *findings)
{
    if (owed >= 0 && asked >= 0 && owed < asked) {
        audit_pauses_find(fetch, BREACH_OWED, before, asked, owed, findings);
    }
}

static int64_t first_known(int64_t a, int64_t b, int64_t c)
{
    if (a >= 0) {
        return a;
    }
    return b >= 0 ? b : c;
}

/* Whether the pause was shorter than owed, by the times of the two lines or by what the later one
 * states itself. */
static void check_host(const AuditFetch *fetch, int64_t pause, int64_t owed,
                       AuditFindings *findings)
{
    /* A line cannot make its pause longer by stating more than its times say. */
    int64_t shorter = fetch->given >= 0 && fetch->given < pause ? fetch->given : pause;
    if (shorter < owed) {
        audit_pauses_find(fetch, BREACH_HOST_PAUSE, fetch->host->subject.place, owed, shorter,
                          findings);
    }
}

static void audit_pauses_judge_host(AuditPauses *pauses, const AuditFetch *fetch, AuditPause *out,
                                    AuditFindings *findings)
{
    AuditSubject *host = &fetch->host->subject;
    if (host->n_requests == 0) { /* the request before it is in no log that is left */
        if (fetch->given >= 0 && fetch->owed >= 0) {
            check_host(fetch, fetch->given, fetch->owed, findings);
        }
        return;
    }
    out->host = pause_before(host, fetch);
    int64_t due = audit_delays_due(pauses->delays, fetch, host->end, host->owes);
    /* From the most specific to the least: what this line says, what the last one left, what was
     * set. */
    out->host_owed = first_known(fetch->owed, due, host->asks);
    check_stated(pauses, fetch, out->host, findings);
    int64_t ordered = audit_delays_ordered(pauses->delays, fetch, host->end);
    /* An order lets off the rest after a failure, not the delay: `ordered` is what stays due. */
    if (ordered >= 0 && out->host < out->host_owed && ordered < out->host_owed) {
        out->host_owed = ordered;
        pauses->by_order += fetch->is_selected;
    } else if (fetch->owed >= 0) {
        check_owed(fetch, host->place, fetch->owed, due, findings);
    }
    if (out->host_owed < 0) {
        pauses->not_owed += fetch->is_selected;
        return;
    }
    pauses->judged_hosts += fetch->is_selected;
    pauses->by_wall_clock += fetch->is_selected && host->boot != fetch->boot;
    note_closest(host, fetch, out->host, out->host_owed);
    check_host(fetch, out->host, out->host_owed, findings);
}

static void judge_address(AuditPauses *pauses, const AuditFetch *fetch, AuditPause *out,
                          AuditFindings *findings)
{
    AuditSubject *address = &fetch->address->subject;
    if (address->n_requests == 0) {
        return;
    }
    out->address = pause_before(address, fetch);
    /* Without anything known two requests must at least not overlap: 0. */
    out->address_owed = first_known(address->owes, address->asks, 0);
    pauses->judged_addresses += fetch->is_selected;
    pauses->by_wall_clock += fetch->is_selected && address->boot != fetch->boot;
    pauses->not_owed += fetch->is_selected && address->owes < 0 && address->asks < 0;
    note_closest(address, fetch, out->address, out->address_owed);
    if (out->address < out->address_owed) {
        audit_pauses_find(fetch, out->address < 0 ? BREACH_AT_ONCE : BREACH_IP_PAUSE,
                          address->place, out->address_owed, out->address, findings);
    }
}

/* A boot that is over never comes back: what stands behind another boot's requests in the window's
 * order is younger. */
static void audit_pauses_remember(AuditSubject *subject, const AuditFetch *fetch, int64_t owes,
                                  int64_t asks)
{
    subject->n_requests++;
    subject->n_selected += fetch->is_selected;
    subject->place = fetch->place;
    subject->boot = fetch->boot;
    subject->mono_end = fetch->mono_end;
    subject->end = fetch->end;
    subject->owes = owes;
    subject->asks = asks;
}

/* ---- several at once ---- */

/* A request that had the host to itself: it ends on all of its connections. */
static void enter_alone(AuditSubject *subject, int64_t end)
{
    for (unsigned i = 0; i < subject->n_ends; i++) {
        subject->ends[i] = end;
    }
}

static bool has_connections(AuditSubject *subject, unsigned n)
{
    int64_t *ends = subject->n_ends < n ? realloc(subject->ends, n * sizeof *ends) : subject->ends;
    if (ends == NULL) {
        return false;
    }
    for (unsigned i = subject->n_ends; i < n; i++) {
        /* A connection that is new to us is as old as the last request: INT64_MIN, "free always",
         * would let one more through than there was. */
        ends[i] = subject->n_requests == 0 ? INT64_MIN : subject->mono_end;
    }
    subject->ends = ends;
    subject->n_ends = subject->n_ends < n ? n : subject->n_ends;
    return true;
}

/* Whether no more than at_once were in flight: the request gets the connection of the n that was
 * free last before it began. Requests come in order of their ends, so that this finds a connection
 * for each whenever there is a way to. */
static bool fits(AuditSubject *subject, const AuditFetch *fetch)
{
    unsigned n = (unsigned)fetch->at_once;
    unsigned best = n;
    /* Another boot: nothing of the one before is in flight, and its times say nothing here. */
    if (subject->n_requests > 0 && subject->boot != fetch->boot) {
        enter_alone(subject, INT64_MIN);
    }
    /* Without memory nothing is found: the audit accuses nobody of what it could not check. */
    if (!has_connections(subject, n)) {
        return true;
    }
    for (unsigned i = 0; i < n; i++) {
        if (subject->ends[i] <= fetch->mono_start &&
            (best == n || subject->ends[i] > subject->ends[best])) {
            best = i;
        }
    }
    if (best < n) {
        subject->ends[best] = fetch->mono_end;
    }
    return best < n;
}

#define AUDIT_STATUS_OURS (-10000) /* what ragno finds wrong with an answer is below */

/* The pace that an answer must have led to, from the one before it. */
static bool learned_follows(const AuditFetch *fetch, LearnedPace before)
{
    bool is_good = politeness_is_good(fetch->status);
    for (int i = 0; i < 2; i++) {
        LearnedPace pace =
            politeness_learn(before, fetch->delay_ms, fetch->learned_ms, fetch->took_ms, is_good);
        if (pace.delay_ms == fetch->pace.delay_ms && pace.usual_ms == fetch->pace.usual_ms &&
            pace.steady == fetch->pace.steady) {
            return true;
        }
        /* Some bodies are found to be wrong when they are read, behind this; and to take an answer
         * for a bad one is never impolite. */
        is_good = fetch->status < AUDIT_STATUS_OURS;
    }
    return false;
}

/* A learned delay is proven step by step, and holds until the next one. */
static void judge_learned(AuditFetch *fetch, AuditFindings *findings)
{
    AuditHost *host = fetch->host;
    bool is_stated = fetch->pace.usual_ms > 0;
    /* {0}: or the pace is the first, as of a host of which nothing was learned before. */
    if (is_stated && fetch->learned_ms >= 0 && fetch->delay_ms >= 0 &&
        !learned_follows(fetch, host->pace) && !learned_follows(fetch, (LearnedPace){0})) {
        audit_pauses_find(fetch, BREACH_LEARNED, host->subject.place, host->pace.delay_ms,
                          fetch->pace.delay_ms, findings);
    }
    /* A robots.txt without a pace on its line taught nothing, and ends nothing. */
    if (is_stated || !fetch->is_robots) {
        host->pace = fetch->pace;
    }
    bool is_learned = host->pace.delay_ms > 0 && fetch->learned_ms >= 0 && fetch->crawl_delay <= 0;
    if (is_learned && fetch->host_asks > host->pace.delay_ms) {
        fetch->host_asks = most(host->pace.delay_ms, fetch->learned_ms);
    }
}

/* A request is judged by what the ones before it have left in its host and its address, and then
 * leaves the same for the next (audit_pauses_remember): when it ended, what its line says is owed
 * from then on, and what the settings asked for. The next one is held to what the line says; that
 * the line does not say too little is judged here, where the settings of its time are known. */
AuditPause audit_pauses_add(AuditPauses *pauses, AuditFetch *fetch, AuditFindings *findings)
{
    AuditPause pause = {.host = -1, .host_owed = -1, .address = -1, .address_owed = -1};
    judge_learned(fetch, findings);
    /* Within a burst nothing has to be owed until its time is over. */
    bool is_first = fetch->burst == 1 || fetch->host->subject.n_requests == 0;
    /* A burst is as long as its connection is kept: from its first request's start. */
    if (is_first) {
        fetch->host->burst_start = fetch->mono_start;
    }
    /* Only of a line that says that it owes nothing. One that owes is held to what it owes. */
    if (fetch->burst > 0 && fetch->keep_alive_ms > 0 && fetch->owes_host == 0 &&
        fetch->mono_end - fetch->host->burst_start <= fetch->keep_alive_ms * 1000) {
        fetch->host_asks = 0;
        fetch->ip_asks = 0;
    }
    if (fetch->at_once > 1) {
        /* The host is asked for several things at once: nothing was owed in between. */
        bool fits_host = fits(&fetch->host->subject, fetch);
        bool fits_address = fits(&fetch->address->subject, fetch);
        pauses->judged_hosts += fetch->is_selected;
        pauses->judged_addresses += fetch->is_selected;
        /* What the line itself says was owed before it counts, all the same. */
        if (fetch->owed > 0) {
            check_host(fetch, fetch->given, fetch->owed, findings);
        }
        if (!fits_host || !fits_address) {
            audit_pauses_find(fetch, BREACH_AT_ONCE, fetch->address->subject.place, 0,
                              fetch->mono_start / 1000 - fetch->address->subject.mono_end / 1000,
                              findings);
        }
    } else {
        audit_pauses_judge_host(pauses, fetch, &pause, findings);
        judge_address(pauses, fetch, &pause, findings);
        enter_alone(&fetch->host->subject, fetch->mono_end);
        enter_alone(&fetch->address->subject, fetch->mono_end);
    }
    check_owed(fetch, (AuditPlace){.line = 0}, fetch->owes_host, fetch->host_asks, findings);
    check_owed(fetch, (AuditPlace){.line = 0}, fetch->owes_ip, fetch->ip_asks, findings);
    audit_pauses_remember(&fetch->host->subject, fetch, fetch->owes_host, fetch->host_asks);
    audit_pauses_remember(&fetch->address->subject, fetch, fetch->owes_ip, fetch->ip_asks);
    return pause;
}

/* ---- Audit delays ---- */

/* ---- going back ---- */

static bool is_now(const Config *config, const AuditChange *change)
{
    const Options *options = &config->options;
    const OptionSpec *spec = options_find(options, change->name);
    const char *text = "";
    /* The last line of several counts, as in options_site_values. */
    for (size_t i = 0; change->site != NULL && i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        bool is_it =
            &options->specs[site->spec] == spec && strcmp(site->pattern, change->site) == 0;
        text = is_it ? site->text : text;
    }
    if (change->site == NULL && spec != NULL) {
        text = options->texts[spec - options->specs];
    }
    return spec != NULL && strcmp(text, change->to) == 0;
}

/* Gives an option the value that it had before the change, or has since. */
static Result audit_delays_put(Config *config, const AuditChange *change, const char *text)
{
    Buffer ignored = {.limit = 4096};
    Result rc = RESULT_OK;
    /* "" of a section means that it said nothing: the line goes, rather than being set to "". */
    if (change->site == NULL) {
        rc = options_set(&config->options, change->name, text, "", &ignored);
    } else if (*text == '\0') {
        (void)options_drop_site(&config->options, change->site,
                                options_find(&config->options, change->name), NULL);
    } else {
        rc = options_add_site(&config->options, change->site, change->name, text, "", &ignored);
    }
    buffer_destroy(&ignored);
    return rc;
}

static Result copy(const Config *config, Config **out)
{
    Config *made = malloc(sizeof *made);
    Result rc = made == NULL ? RESULT_MEMORY : config_init(made);
    if (rc != RESULT_OK) {
        free(made);
        return rc;
    }
    rc = options_copy(&made->options, &config->options);
    if (rc != RESULT_OK) {
        config_destroy(made);
        free(made);
        return rc;
    }
    *out = made;
    return RESULT_OK;
}

/* Fills in epochs, from the last change to the first:
 *
 *        list[n - 3]           list[n - 2]           list[n - 1]         now
 *   epochs[2]  |   epochs[1]       |    epochs[0]        |    config      |
 *
 * Each is made from the one after it by taking one change back, so it is right only if that one is:
 * where a change does not fit what came of it, or the line does not say what was before, everything
 * earlier is dark (dark_until), and nothing is judged by it. */
static Result go_back(AuditDelays *delays)
{
    Result rc = RESULT_OK;
    const Config *later = &delays->config;
    size_t n = delays->changes.n;
    delays->dark_until.us = INT64_MIN;
    delays->epochs = calloc(AUDIT_EPOCHS, sizeof *delays->epochs);
    if (delays->epochs == NULL) {
        return RESULT_MEMORY;
    }
    while (n-- > 0 && rc == RESULT_OK) {
        const AuditChange *change = &delays->changes.list[n];
        Config *earlier = NULL;
        bool is_last = delays->n_epochs == 0;
        if (change->name != NULL && is_last && !delays->is_known) {
            (void)audit_delays_put(&delays->config, change,
                                   change->to); /* nothing else says what it is now */
        }
        /* is_now is the proof that nothing is missing in between: the value that the later
         * configuration has is the one that this change gave. */
        if (change->name == NULL || delays->n_epochs == AUDIT_EPOCHS || !is_now(later, change)) {
            delays->dark_until = change->time;
            break;
        }
        rc = copy(later, &earlier);
        if (rc == RESULT_OK) {
            delays->epochs[delays->n_epochs++] =
                (AuditEpoch){.until = change->time, .config = earlier};
            rc = audit_delays_put(earlier, change, change->from);
            later = earlier;
        }
        /* An option or a range of an earlier version: known no more, so dark from here. */
        if (rc == RESULT_INVALID) {
            delays->dark_until = change->time;
            return RESULT_OK;
        }
    }
    return rc;
}

/* in-force.ini, or what older crawls have. */
static Result audit_delays_read_config(AuditDelays *delays, const char *directory, Buffer *error)
{
    static const char *const names[] = {"in-force.ini", "config.ini"};
    struct stat st = {.st_size = 0};
    Path path;
    Result rc = RESULT_NOT_FOUND;
    for (size_t i = 0; i < 2 && rc == RESULT_NOT_FOUND; i++) {
        bool found = stat(file_path(&path, "%s/%s", directory, names[i]), &st) == 0;
        rc = found ? RESULT_OK : result_of_errno(errno);
    }
    if (rc == RESULT_OK) {
        rc = options_load(&delays->config.options, path.text, error);
    }
    delays->since.us = (int64_t)st.st_mtim.tv_sec * 1000000 + (int64_t)st.st_mtim.tv_nsec / 1000;
    return rc;
}

Result audit_delays_read(AuditDelays *delays, const char *directory, Buffer *error)
{
    *delays = (AuditDelays){.is_known = false};
    const AuditChanges *changes = &delays->changes;
    Result rc = config_init(&delays->config);
    if (rc == RESULT_OK) {
        rc = audit_delays_read_config(delays, directory, error);
    }
    delays->is_known = rc == RESULT_OK;
    /* Also without a configuration: orders and changes are told by audit nevertheless. */
    Reading reading = {.changes = &delays->changes};
    Path path;
    Result of_log = log_reader_each(file_path(&path, "%s/ragno.log", directory),
                                    audit_changes_take_line, &reading, NULL);
    if (of_log == RESULT_OK) {
        of_log = go_back(delays);
    }
    /* From when on all is known: the start that compared. Else from when the file was written, or a
     * second later if the last logged change may be what it was written for. */
    if (changes->is_whole) {
        delays->since = changes->since;
    } else if (changes->n > 0 &&
               changes->list[changes->n - 1].time.us >= delays->since.us - AUDIT_CHANGE_US) {
        delays->since.us += AUDIT_CHANGE_US;
    }
    if (delays->dark_until.us > delays->since.us - AUDIT_CHANGE_US) {
        delays->since.us = delays->dark_until.us + AUDIT_CHANGE_US;
    }
    return result_first(of_log, rc);
}

void audit_delays_destroy(AuditDelays *delays)
{
    for (size_t i = 0; i < delays->n_epochs; i++) {
        config_destroy(delays->epochs[i].config);
        free(delays->epochs[i].config);
    }
    free(delays->epochs);
    config_destroy(&delays->config);
    audit_changes_destroy(&delays->changes);
}

/* ---- what holds for a host ---- */

/* The values of a host ("http://h") in a configuration. */
static AuditForce audit_delays_force(const Config *config, const char *origin)
{
    char text[LOG_ORIGIN_BYTES] = "";
    LogText name = log_text_host((LogText){origin, strlen(origin)});
    memcpy(text, name.bytes, name.length < sizeof text ? name.length : 0);
    Config values;
    site_values_of(config, text, &values);
    return (AuditForce){.least_ms = values.politeness_host_delay,
                        .most_ms = values.politeness_host_delay,
                        .ip_ms = values.politeness_ip_delay,
                        .keep_alive_ms = values.politeness_keep_alive_time,
                        .connections = values.politeness_connections,
                        .learned_ms = values.politeness_learned ? values.politeness_least : -1,
                        .hours = values.politeness_hours};
}

AuditForce audit_delays_now(const AuditDelays *delays, const char *origin)
{
    AuditForce unknown = {.least_ms = -1,
                          .most_ms = -1,
                          .ip_ms = -1,
                          .keep_alive_ms = -1,
                          .connections = -1,
                          .learned_ms = -1};
    return delays->is_known ? audit_delays_force(&delays->config, origin) : unknown;
}

static void audit_delays_widen(AuditForce *force, const AuditForce *other, bool *any)
{
    if (!*any) {
        *force = *other;
        *any = true;
        return;
    }
    force->has_changed = true;
    /* When several configurations held within the time, a request is held to the mildest of each:
     * which one it met is not known to the millisecond. */
    force->least_ms = least(force->least_ms, other->least_ms);
    force->most_ms = most(force->most_ms, other->most_ms);
    force->ip_ms = least(force->ip_ms, other->ip_ms);
    force->keep_alive_ms = most(force->keep_alive_ms, other->keep_alive_ms);
    force->connections = most(force->connections, other->connections);
    bool both = force->learned_ms >= 0 && other->learned_ms >= 0;
    force->learned_ms = both ? least(force->learned_ms, other->learned_ms)
                             : most(force->learned_ms, other->learned_ms);
    bool is_same =
        force->hours != NULL && other->hours != NULL && strcmp(force->hours, other->hours) == 0;
    force->hours = is_same ? force->hours : NULL;
}

AuditForce audit_delays_in_force(const AuditDelays *delays, const AuditHost *host, WallTime from,
                                 WallTime until)
{
    AuditForce force = host->force;
    if (delays->changes.n == 0) {
        return force;
    }
    bool any = false;
    int64_t first = from.us - AUDIT_CHANGE_US;
    int64_t last = until.us + AUDIT_CHANGE_US;
    for (size_t i = 0; i <= delays->n_epochs; i++) { /* the i-th ends with change i - 1 */
        bool begins_in_time = i == delays->n_epochs || delays->epochs[i].until.us <= last;
        bool ends_in_time = i == 0 || delays->epochs[i - 1].until.us >= first;
        if (begins_in_time && ends_in_time) {
            const Config *config = i == 0 ? &delays->config : delays->epochs[i - 1].config;
            AuditForce values = audit_delays_force(config, host->origin);
            audit_delays_widen(&force, &values, &any);
        }
    }
    /* Unknown means that anything may have held, so nothing can be broken. */
    if (first <= delays->dark_until.us) {
        force.has_changed = true;
        force.least_ms = 0;
        force.most_ms = INT64_MAX;
        force.hours = NULL;
    }
    return force;
}

int64_t audit_delays_due(const AuditDelays *delays, const AuditFetch *fetch, WallTime before,
                         int64_t owes)
{
    AuditForce force = audit_delays_in_force(delays, fetch->host, before, fetch->start);
    /* With an adaptive factor a delay has no bound, and a rest cannot be told from it. */
    bool is_more = owes > force.most_ms && !(delays->config.politeness_adaptive_factor > 0);
    if (owes < 0 || !force.has_changed || is_more) {
        return owes;
    }
    return least(most(fetch->crawl_delay, force.least_ms), owes);
}

int64_t audit_delays_ordered(const AuditDelays *delays, const AuditFetch *fetch, WallTime before)
{
    WallTime latest = {fetch->start.us + AUDIT_CHANGE_US};
    if (!audit_changes_ordered(&delays->changes, fetch->host->origin, before, latest)) {
        return -1;
    }
    AuditForce force = audit_delays_in_force(delays, fetch->host, before, fetch->start);
    int64_t due = most(fetch->crawl_delay, force.least_ms);
    return due < 0 ? 0 : due;
}

int64_t audit_delays_of_robots(const AuditDelays *delays, int64_t crawl_delay_ms)
{
    int64_t most = delays->config.politeness_crawl_delay_max;
    if (!delays->is_known || crawl_delay_ms < 0) {
        return -1;
    }
    return crawl_delay_ms < most ? crawl_delay_ms : most;
}

const char *audit_delays_agent(const AuditDelays *delays)
{
    return delays->config.robots_agent;
}
