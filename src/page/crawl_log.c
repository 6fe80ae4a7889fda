#include "page/crawl_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "base/thread/mutex.h"
#include "page/tool/crawl_log_pending.h"
#include "rules/filters.h"

#define BUFFER_LIMIT    ((size_t)1 << 30) /* a batch is bounded by itself */
#define SAMPLE_PER_CODE 1000u
#define CODES           32u

typedef struct LogFile {
    char *path; /* NULL = not written */
    int fd;
    Buffer text;
} LogFile;

#define BOOT_ID_FILE  "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_CHARS 8

struct CrawlLog {
    LogFile fetches;              /* ingest thread */
    char boot[BOOT_ID_CHARS + 1]; /* start of the kernel's boot id, "" when it has none */
    bool boot_told;               /* it is in the file that is open; ingest thread */
    int pending;                  /* lines before their commit; -1: none are written */
    Mutex mutex;                  /* guards what follows */
    LogFile skips;
    SkippedMode skipped;
    int codes[CODES];
    unsigned counts[CODES];
    atomic_bool reopen;
};

/* A crash or a full disk may have cut the last line; what follows must not become part of it. */
static void end_cut_line(const char *path, int fd)
{
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END); /* negative: a pipe or a terminal */
    int in = size > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (in >= 0 && pread(in, &last, 1, size - 1) == 1 && last != '\n') {
        (void)!write(fd, "\n", 1);
    }
    if (in >= 0) {
        (void)close(in);
    }
}

static Result crawl_log_open_file(LogFile *file)
{
    if (file->path == NULL) {
        return RESULT_OK;
    }
    int fd = open(file->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        int error = errno;
        LOG_ERROR("log", "cannot open", "file=%s error=\"%s\"", file->path, strerror(error));
        return result_of_errno(error);
    }
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    file->fd = fd;
    end_cut_line(file->path, fd);
    return RESULT_OK;
}

static Result flush_file(LogFile *file)
{
    size_t done = 0;
    Result rc = RESULT_OK;
    while (file->fd >= 0 && done < file->text.length) {
        ssize_t n = write(file->fd, file->text.data + done, file->text.length - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            rc = result_of_errno(n < 0 ? errno : ENOSPC);
            break;
        }
        done += (size_t)n;
    }
    if (done > 0 && done < file->text.length) {
        memmove(file->text.data, file->text.data + done, file->text.length - done);
    }
    file->text.length -= file->fd >= 0 ? done : file->text.length;
    return rc;
}

static char *crawl_log_join(const char *directory, const char *name)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    (void)buffer_printf(&path, "%s/%s", directory, name);
    return buffer_detach(&path);
}

/* Monotonic times of two boots cannot be compared, so the log says which boot they are of. */
static void read_boot_id(char boot[BOOT_ID_CHARS + 1])
{
    FILE *file = fopen(BOOT_ID_FILE, "re");
    if (file == NULL) {
        return;
    }
    size_t n = fread(boot, 1, BOOT_ID_CHARS, file);
    boot[n] = '\0';
    (void)fclose(file);
}

static char *log_path(const char *directory, const char *crawl_path)
{
    return crawl_path != NULL ? strdup(crawl_path) : crawl_log_join(directory, "crawl.log");
}

Result crawl_log_repair(const char *directory, const char *crawl_path, uint64_t serial)
{
    char *pending = crawl_log_join(directory, CRAWL_LOG_PENDING_FILE);
    char *path = log_path(directory, crawl_path);
    uint64_t lines = 0;
    Result rc = pending == NULL || path == NULL
                    ? RESULT_MEMORY
                    : crawl_log_pending_repair(pending, path, serial, &lines);
    if (lines > 0) {
        LOG_WARN("log", "lines were missing after a crash, and are written", "file=%s lines=%llu",
                 path, (unsigned long long)lines);
    }
    free(pending);
    free(path);
    return rc;
}

static Result open_pending(CrawlLog *log, const char *directory)
{
    char *path = crawl_log_join(directory, CRAWL_LOG_PENDING_FILE);
    if (path == NULL) {
        return RESULT_MEMORY;
    }
    log->pending = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    Result rc = log->pending >= 0 ? RESULT_OK : result_of_errno(errno);
    if (rc != RESULT_OK) {
        LOG_ERROR("log", "cannot open", "file=%s error=\"%s\"", path, result_name(rc));
    }
    free(path);
    return rc;
}

Result crawl_log_open(CrawlLog **out, const char *directory, const char *crawl_path, bool crawl,
                      SkippedMode skipped)
{
    CrawlLog *log = calloc(1, sizeof *log);
    if (log == NULL) {
        return RESULT_MEMORY;
    }
    mutex_init(&log->mutex, RANK_TABLE);
    log->fetches.fd = -1;
    log->skips.fd = -1;
    log->pending = -1;
    log->skipped = skipped;
    read_boot_id(log->boot);
    buffer_init(&log->fetches.text, BUFFER_LIMIT);
    buffer_init(&log->skips.text, BUFFER_LIMIT);
    if (crawl) {
        log->fetches.path = log_path(directory, crawl_path);
    }
    if (skipped != SKIPPED_OFF) {
        log->skips.path = crawl_log_join(directory, "skipped.log");
    }
    Result rc = crawl_log_open_file(&log->fetches);
    if (rc == RESULT_OK && crawl) {
        rc = open_pending(log, directory);
    }
    if (rc == RESULT_OK) {
        rc = crawl_log_open_file(&log->skips);
    }
    if (rc != RESULT_OK) {
        crawl_log_close(log);
        return rc;
    }
    *out = log;
    return RESULT_OK;
}

static void close_file(LogFile *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    free(file->path);
    buffer_destroy(&file->text);
}

void crawl_log_close(CrawlLog *log)
{
    if (log == NULL) {
        return;
    }
    (void)crawl_log_flush(log);
    close_file(&log->fetches);
    close_file(&log->skips);
    if (log->pending >= 0) {
        (void)close(log->pending);
    }
    mutex_destroy(&log->mutex);
    free(log);
}

void crawl_log_reopen(CrawlLog *log)
{
    atomic_store(&log->reopen, true);
}

/* Not while lines wait that crawl.pending has told of as lines of the old file. */
static void crawl_log_reopen_one(CrawlLog *log)
{
    if (log->fetches.text.length == 0 && atomic_exchange(&log->reopen, false)) {
        (void)crawl_log_open_file(&log->fetches);
        log->boot_told = false;
        mutex_lock(&log->mutex);
        (void)crawl_log_open_file(&log->skips);
        mutex_unlock(&log->mutex);
    }
}

size_t crawl_log_begin(CrawlLog *log)
{
    crawl_log_reopen_one(log);
    return log->fetches.text.length;
}

Result crawl_log_prepare(CrawlLog *log, uint64_t serial)
{
    return log->pending < 0
               ? RESULT_OK
               : crawl_log_pending_write(log->pending, log->fetches.fd, serial, &log->fetches.text);
}

void crawl_log_drop(CrawlLog *log, size_t mark)
{
    if (mark < log->fetches.text.length) {
        log->fetches.text.length = mark;
        log->boot_told = log->boot_told && mark > 0;
    }
}

Result crawl_log_flush(CrawlLog *log)
{
    Result rc = flush_file(&log->fetches);
    crawl_log_reopen_one(log);
    mutex_lock(&log->mutex);
    Result skip_rc = flush_file(&log->skips);
    mutex_unlock(&log->mutex);
    return rc != RESULT_OK ? rc : skip_rc;
}

static const char *or_dash(const char *text)
{
    return text == NULL || *text == '\0' ? "-" : text;
}

/* Each line has a dozen of these. */
static void append_number(Buffer *text, const char *before, int64_t number, char after)
{
    (void)buffer_append_string(text, before);
    (void)buffer_append_number(text, number);
    if (after != '\0') {
        (void)buffer_append_char(text, after);
    }
}

static void crawl_log_append_word(Buffer *text, const char *word)
{
    (void)buffer_append_string(text, or_dash(word));
    (void)buffer_append_char(text, ' ');
}

/* Annotations may not contain blanks or commas of their own. */
static void append_rule(Buffer *text, const char *rule)
{
    for (; *rule != '\0'; rule++) {
        unsigned char c = (unsigned char)*rule;
        (void)buffer_append_char(text, c <= ' ' || c >= 0x7f || c == ',' ? '_' : (char)c);
    }
}

/* A URL as an annotation: its commas are escaped, so that no URL can pose as other annotations. */
static void append_url(Buffer *text, const char *name, const char *url)
{
    (void)buffer_append_string(text, name);
    for (; *url != '\0'; url++) {
        if (*url == ',') {
            (void)buffer_append_string(text, "%2C");
        } else {
            (void)buffer_append_char(text, *url);
        }
    }
}

/* What the audit goes by. The start is rounded down and the end up, to milliseconds: the pause
 * between two lines is never longer than the pause that was made. Within a burst, times that are
 * rounded the same way keep their order. */
static void crawl_log_append_times(CrawlLog *log, const FetchResult *fetch)
{
    char ip[IP_ADDRESS_TEXT_BYTES];
    Buffer *text = &log->fetches.text;
    (void)buffer_append_string(text, "ip:");
    (void)buffer_append_string(text, ip_address_format(&fetch->request.address, ip));
    append_number(text, ",mono:", fetch->cost.start.ns / 1000000, '-');
    append_number(text, "", (fetch->cost.end.ns + 999999) / 1000000, ',');
    if (fetch->cost.owed_ms >= 0) {
        append_number(text, "wait:", fetch->cost.owed_ms, '/');
        append_number(text, "", fetch->cost.given_ms, ',');
    }
    if (fetch->cost.owes_host_ms >= 0) {
        append_number(text, "owes:", fetch->cost.owes_host_ms, '/');
        append_number(text, "", fetch->cost.owes_ip_ms, ',');
    }
    if (fetch->cost.burst > 0) {
        append_number(text, "burst:", fetch->cost.burst, ',');
    }
    if (fetch->cost.at_once > 1) {
        append_number(text, "at-once:", fetch->cost.at_once, ',');
    }
    if (fetch->cost.burst > 0 || (fetch->cost.owes_host_ms == 0 && fetch->cost.owes_ip_ms == 0)) {
        append_number(text, "mono-us:", fetch->cost.start.ns / 1000, '-');
        append_number(text, "", fetch->cost.end.ns / 1000, ',');
    }
    if (fetch->request.as_origin != NULL) {
        (void)buffer_printf(text, "as:%s,", fetch->request.as_origin);
    }
    if (!log->boot_told && log->boot[0] != '\0') {
        (void)buffer_printf(text, "boot:%s,", log->boot);
        log->boot_told = true;
    }
}

/* Which filters said no to the answer. */
static void append_hooks(Buffer *text, unsigned hooks)
{
    static const struct {
        FilterHook hook;
        const char *name;
    } names[] = {{HOOK_PARSE, "parse"}, {HOOK_FOLLOW, "follow"}, {HOOK_STORE, "store"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((hooks & 1u << names[i].hook) != 0) {
            (void)buffer_printf(text, ",no-%s", names[i].name);
        }
    }
}

/* What was found in the page. */
static void append_reading(Buffer *text, const ParsedPage *page)
{
    if (page->about.language[0] != '\0') {
        (void)buffer_append_string(text, ",lang:");
        (void)buffer_append_string(text, page->about.language);
    }
    if (page->about.bytes_read > 0) {
        (void)buffer_printf(text, ",read:%llu%s", (unsigned long long)page->about.bytes_read,
                            page->about.unread ? "+" : "");
    }
    if (page->links.n_beyond > 0) {
        (void)buffer_printf(text, ",links-beyond:%llu", (unsigned long long)page->links.n_beyond);
    }
    if (page->links.n_long > 0) {
        (void)buffer_printf(text, ",links-long:%llu", (unsigned long long)page->links.n_long);
    }
}

static void append_annotations(CrawlLog *log, const ParsedPage *page, const char *duplicate_of,
                               const char *near_of)
{
    const FetchResult *fetch = page->fetch;
    Buffer *text = &log->fetches.text;
    if (fetch->request.by_agent) {
        append_number(text, "agent:", fetch->request.agent, ',');
    } else if (fetch->kind != FETCHED_NOTHING) {
        crawl_log_append_times(log, fetch);
    }
    if (fetch->request.ignores_robots) {
        (void)buffer_append_string(text, "robots:ignored");
    } else {
        append_number(text, "robots:", fetch->host.robots_version, '\0');
    }
    if (duplicate_of != NULL) {
        append_url(text, ",dup:", duplicate_of);
    }
    if (near_of != NULL) {
        append_url(text, ",near:", near_of);
    }
    bool is_refusal = fetch->kind == FETCHED_NOTHING && fetch->request.has_page;
    if (fetch->answer.class != FETCH_OK && !is_refusal) {
        (void)buffer_printf(text, ",error:%s", fetch_class_name(fetch->answer.class));
        if (!fetch->final || fetch->kind == FETCHED_ROBOTS) {
            (void)buffer_printf(text, ",retry:%u", fetch->request.tries);
        }
    }
    if (fetch->answer.truncated != TRUNCATED_NOT) {
        (void)buffer_printf(text, ",trunc:%s", fetch_truncation_name(fetch->answer.truncated));
    }
    if (page->verdict.wall != HTTP_WALLS) {
        (void)buffer_printf(text, ",wall:%s", http_wall_name(page->verdict.wall));
    }
    const TlsFacts *tls = &fetch->answer.tls;
    if (tls->verdict != TLS_NOT_KNOWN) {
        (void)buffer_printf(text, ",tls:%s/%s", tls_version_name(tls->version),
                            tls_verdict_name(tls->verdict));
    }
    if (fetch->answer.usage.denied != 0) {
        (void)buffer_append_string(text, ",usage-denied:");
        (void)usage_print(fetch->answer.usage.denied, text);
    }
    if (fetch->answer.cut != CUT_NOT) {
        (void)buffer_printf(text, ",cut:%s,kept:header", cut_reason_name(fetch->answer.cut));
    }
    append_reading(text, page);
    if (fetch->answer.refusal != NULL) {
        (void)buffer_append_string(text, ",rule:");
        append_rule(text, fetch->answer.refusal);
    }
    append_hooks(text, page->verdict.refused_hooks);
    if (fetch->host.drop) {
        (void)buffer_append_string(text, ",host-dropped");
    }
}

void crawl_log_fetch(CrawlLog *log, const ParsedPage *page, const CrawlLogWay *way,
                     const char *duplicate_of, const char *near_of)
{
    if (log->fetches.path == NULL) {
        return;
    }
    const FetchResult *fetch = page->fetch;
    Buffer *text = &log->fetches.text;
    char time[CLOCK_TEXT_BYTES];
    char start[CLOCK_TEXT_BYTES];
    char status[16];
    int64_t ms = mono_ms_between(fetch->cost.start, fetch->cost.end);
    WallTime end = {fetch->cost.wall_start.us + ms * 1000};
    crawl_log_append_word(text, wall_format_iso(end, time));
    (void)snprintf(status, sizeof status, "%5d ", fetch->answer.status);
    (void)buffer_append_string(text, status);
    if (fetch->kind == FETCHED_NOTHING) {
        (void)buffer_append_string(text, "- ");
    } else {
        append_number(text, "", (int64_t)fetch->cost.bytes, ' ');
    }
    crawl_log_append_word(text, fetch->request.url);
    crawl_log_append_word(text, way->path);
    crawl_log_append_word(text, way->referrer);
    crawl_log_append_word(text, page->about.mime);
    append_number(text, "fetch-", fetch->cost.worker, ' ');
    (void)buffer_append_string(text, wall_format_compact(fetch->cost.wall_start, start));
    append_number(text, "+", ms, ' ');
    crawl_log_append_word(text, page->archive.sha1);
    crawl_log_append_word(text, way->tag);
    append_annotations(log, page, duplicate_of, near_of);
    (void)buffer_append_char(text, '\n');
}

/* Whether one more of this code is written: the first SAMPLE_PER_CODE of each. */
static bool sample_locked(CrawlLog *log, int status)
{
    unsigned i = 0;
    while (i < CODES - 1 && log->counts[i] > 0 && log->codes[i] != status) {
        i++;
    }
    log->codes[i] = status;
    return log->counts[i]++ < SAMPLE_PER_CODE;
}

void crawl_log_skipped(CrawlLog *log, const char *url, size_t length, int status, const char *rule,
                       long depth, const char *referrer)
{
    if (log->skips.path == NULL) {
        return;
    }
    mutex_lock(&log->mutex);
    if (log->skipped == SKIPPED_ALL || sample_locked(log, status)) {
        (void)buffer_append(&log->skips.text, url, length);
        (void)buffer_printf(&log->skips.text, " %d %s ", status, or_dash(rule));
        if (depth < 0) {
            (void)buffer_append_char(&log->skips.text, '-');
        } else {
            (void)buffer_printf(&log->skips.text, "%ld", depth);
        }
        (void)buffer_printf(&log->skips.text, " %s\n", or_dash(referrer));
    }
    mutex_unlock(&log->mutex);
}
