#include "page/crawl_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dirent.h>
#include <sys/stat.h>

#include "page/crawl_log_notes.h"
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
    bool is_full;                 /* the disk of crawl.log; ingest thread */
    int pending;                  /* lines before their commit; -1: none are written */
    Mutex mutex;                  /* guards what follows */
    LogFile skips;
    SkippedMode skipped;
    int codes[CODES];
    unsigned counts[CODES];
    atomic_bool reopen;
};

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
    file_close_fd(file->fd);
    file->fd = fd;
    /* A crash or a full disk may have cut the last line; what follows must not become part of it.
     */
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END); /* negative: a pipe or a terminal */
    int in = size > 0 ? open(file->path, O_RDONLY | O_CLOEXEC) : -1;
    if (in >= 0 && pread(in, &last, 1, size - 1) == 1 && last != '\n') {
        (void)!write(fd, "\n", 1);
    }
    file_close_fd(in);
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
    Buffer path = {.limit = BUFFER_NO_LIMIT};
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
    Path pending;
    char *path = log_path(directory, crawl_path);
    uint64_t lines = 0;
    (void)file_path(&pending, "%s/" CRAWL_LOG_PENDING_FILE, directory);
    Result rc =
        path == NULL ? RESULT_MEMORY : crawl_log_pending_repair(pending.text, path, serial, &lines);
    if (lines > 0) {
        LOG_WARN("log", "lines were missing after a crash, and are written", "file=%s lines=%llu",
                 path, (unsigned long long)lines);
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
        Path path;
        log->pending = open(file_path(&path, "%s/" CRAWL_LOG_PENDING_FILE, directory),
                            O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        rc = log->pending >= 0 ? RESULT_OK : result_of_errno(errno);
        if (rc != RESULT_OK) {
            LOG_ERROR("log", "cannot open", "file=%s error=\"%s\"", path.text, result_name(rc));
        }
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
    file_close_fd(file->fd);
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
    file_close_fd(log->pending);
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

Result crawl_log_begin(CrawlLog *log, size_t *mark)
{
    bool was_full = log->is_full;
    log->is_full = flush_file(&log->fetches) == RESULT_FULL;
    if (log->is_full && !was_full) {
        LOG_ERROR("log", "the disk of crawl.log is full, the crawl waits", "file=%s",
                  log->fetches.path);
    }
    crawl_log_reopen_one(log);
    *mark = log->fetches.text.length;
    return log->is_full ? RESULT_FULL : RESULT_OK;
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
    return result_first(rc, skip_rc);
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

/* To the right of five columns. */
static void append_status(Buffer *text, int status)
{
    size_t n = status < 0 ? 2 : 1;
    for (int left = status / 10; left != 0; left /= 10) {
        n++;
    }
    (void)buffer_append(text, "     ", n < 5 ? 5 - n : 0);
    append_number(text, "", status, ' ');
}

static void crawl_log_append_word(Buffer *text, const char *word)
{
    (void)buffer_append_string(text, or_dash(word));
    (void)buffer_append_char(text, ' ');
}

static void crawl_log_note_number(Buffer *text, CrawlLogNote note, int64_t number)
{
    crawl_log_note_begin(text, note);
    (void)buffer_append_number(text, number);
}

static void crawl_log_note_pair(Buffer *text, CrawlLogNote note, int64_t a, char between, int64_t b)
{
    crawl_log_note_number(text, note, a);
    (void)buffer_append_char(text, between);
    (void)buffer_append_number(text, b);
}

static void crawl_log_note_text(Buffer *text, CrawlLogNote note, const char *value)
{
    crawl_log_note_begin(text, note);
    (void)buffer_append_string(text, value);
}

/* The same of text of others: annotations may not contain blanks or commas of their own. */
static void crawl_log_note_words(Buffer *text, CrawlLogNote note, const char *words)
{
    crawl_log_note_begin(text, note);
    for (; *words != '\0'; words++) {
        unsigned char c = (unsigned char)*words;
        (void)buffer_append_char(text, c <= ' ' || c >= 0x7f || c == ',' ? '_' : (char)c);
    }
}

/* The commas of a URL are escaped, so that no URL can pose as other annotations. */
static void crawl_log_note_url(Buffer *text, CrawlLogNote note, const char *url)
{
    crawl_log_note_begin(text, note);
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
    const FetchCost *cost = &fetch->cost;
    crawl_log_note_text(text, NOTE_IP, ip_address_format(&fetch->request.address, ip));
    crawl_log_note_pair(text, NOTE_MONO, cost->start.ns / 1000000, '-',
                        (cost->end.ns + 999999) / 1000000);
    if (cost->owed_ms >= 0) {
        crawl_log_note_pair(text, NOTE_WAIT, cost->owed_ms, '/', cost->given_ms);
    }
    if (cost->owes_host_ms >= 0) {
        crawl_log_note_pair(text, NOTE_OWES, cost->owes_host_ms, '/', cost->owes_ip_ms);
    }
    if (cost->pace.usual_ms > 0) {
        crawl_log_note_pair(text, NOTE_LEARNED, cost->pace.delay_ms, '/', cost->pace.usual_ms);
        (void)buffer_printf(text, "/%lld", (long long)cost->pace.steady);
    }
    if (cost->burst > 0) {
        crawl_log_note_number(text, NOTE_BURST, cost->burst);
    }
    if (cost->at_once > 1) {
        crawl_log_note_number(text, NOTE_AT_ONCE, cost->at_once);
    }
    if (cost->burst > 0 || (cost->owes_host_ms == 0 && cost->owes_ip_ms == 0)) {
        crawl_log_note_pair(text, NOTE_MONO_US, cost->start.ns / 1000, '-', cost->end.ns / 1000);
    }
    if (fetch->request.as_origin != NULL) {
        crawl_log_note_text(text, NOTE_AS, fetch->request.as_origin);
    }
    if (!log->boot_told && log->boot[0] != '\0') {
        crawl_log_note_text(text, NOTE_BOOT, log->boot);
        log->boot_told = true;
    }
}

/* What was found in the page. */
static void append_reading(Buffer *text, const ParsedPage *page)
{
    if (page->about.language[0] != '\0') {
        crawl_log_note_text(text, NOTE_LANG, page->about.language);
    }
    if (page->about.bytes_read > 0) {
        crawl_log_note_number(text, NOTE_READ, (int64_t)page->about.bytes_read);
        (void)buffer_append_string(text, page->about.unread ? "+" : "");
    }
    if (page->links.n_beyond > 0) {
        crawl_log_note_number(text, NOTE_BEYOND, (int64_t)page->links.n_beyond);
    }
    if (page->links.n_long > 0) {
        crawl_log_note_number(text, NOTE_LONG, (int64_t)page->links.n_long);
    }
}

/* What was wrong with the answer, or is to be known of it. */
static void append_answer(Buffer *text, const FetchResult *fetch, HttpWall wall)
{
    const FetchAnswer *answer = &fetch->answer;
    const TlsFacts *tls = &answer->tls;
    bool is_refusal = fetch->kind == FETCHED_NOTHING && fetch->request.has_page;
    if (answer->class != FETCH_OK && !is_refusal) {
        crawl_log_note_text(text, NOTE_ERROR, fetch_class_name(answer->class));
        if (!fetch->final || fetch->kind == FETCHED_ROBOTS) {
            crawl_log_note_number(text, NOTE_RETRY, fetch->request.tries);
        }
    }
    if (fetch->request.check) {
        crawl_log_note_begin(text, NOTE_CHECK);
    }
    if (answer->truncated != TRUNCATED_NOT) {
        crawl_log_note_text(text, NOTE_TRUNC, fetch_truncation_name(answer->truncated));
    }
    if (wall != HTTP_WALLS) {
        crawl_log_note_text(text, NOTE_WALL, http_wall_name(wall));
    }
    if (tls->verdict != TLS_NOT_KNOWN) {
        crawl_log_note_text(text, NOTE_TLS, tls_version_name(tls->version));
        (void)buffer_printf(text, "/%s", tls_verdict_name(tls->verdict));
    }
    if (answer->usage.denied != 0) {
        crawl_log_note_begin(text, NOTE_USAGE);
        (void)usage_print(answer->usage.denied, text);
    }
    if (*answer->price != '\0') {
        crawl_log_note_words(text, NOTE_PRICE, answer->price);
    }
    if (answer->cut != CUT_NOT) {
        crawl_log_note_text(text, NOTE_CUT, cut_reason_name(answer->cut));
        crawl_log_note_text(text, NOTE_KEPT, "header");
    }
}

static void append_annotations(CrawlLog *log, const ParsedPage *page, const char *duplicate_of,
                               const char *near_of)
{
    const FetchResult *fetch = page->fetch;
    Buffer *text = &log->fetches.text;
    if (fetch->request.by_agent) {
        crawl_log_note_number(text, NOTE_AGENT, fetch->request.agent);
    } else if (fetch->kind != FETCHED_NOTHING) {
        crawl_log_append_times(log, fetch);
    }
    if (fetch->request.ignores_robots) {
        crawl_log_note_text(text, NOTE_ROBOTS, "ignored");
    } else {
        crawl_log_note_number(text, NOTE_ROBOTS, fetch->host.robots_version);
    }
    if (duplicate_of != NULL) {
        crawl_log_note_url(text, NOTE_DUP, duplicate_of);
    }
    if (near_of != NULL) {
        crawl_log_note_url(text, NOTE_NEAR, near_of);
    }
    append_answer(text, fetch, page->verdict.wall);
    append_reading(text, page);
    if (fetch->answer.refusal != NULL) {
        crawl_log_note_words(text, NOTE_RULE, fetch->answer.refusal);
    }
    /* Which filters said no to the answer. */
    static const struct {
        FilterHook hook;
        CrawlLogNote note;
    } notes[] = {
        {HOOK_PARSE, NOTE_NO_PARSE}, {HOOK_FOLLOW, NOTE_NO_FOLLOW}, {HOOK_STORE, NOTE_NO_STORE}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if ((page->verdict.refused_hooks & 1u << notes[i].hook) != 0) {
            crawl_log_note_begin(text, notes[i].note);
        }
    }
    if (fetch->host.drop) {
        crawl_log_note_begin(text, NOTE_DROPPED);
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
    int64_t ms = mono_ms_between(fetch->cost.start, fetch->cost.end);
    WallTime end = {fetch->cost.wall_start.us + ms * 1000};
    crawl_log_append_word(text, wall_format_iso(end, time));
    append_status(text, fetch->answer.status);
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

/* ---- Crawl log pending ---- */

#define MAGIC UINT64_C(0x31676f6c6f6e6761) /* "agnolog1" */

/* The beginning of the file; the lines follow. */
typedef struct Head {
    uint64_t magic;
    uint64_t serial;
    uint64_t inode;  /* of the log; 0: it is a pipe or a terminal */
    uint64_t offset; /* its length before the lines */
    uint64_t length; /* of the lines */
    uint64_t checksum;
} Head;

static uint64_t checksum_of(const Head *head, const void *lines)
{
    Head copy = *head;
    copy.checksum = 0;
    return hash_64(lines, head->length, hash_64(&copy, sizeof copy, MAGIC));
}

Result crawl_log_pending_write(int pending, int log, uint64_t serial, const Buffer *lines)
{
    struct stat st;
    Head head = {.magic = MAGIC, .serial = serial, .length = lines->length};
    const char *text = lines->length == 0 ? "" : lines->data;
    if (fstat(log, &st) == 0 && S_ISREG(st.st_mode)) {
        head.inode = (uint64_t)st.st_ino;
        head.offset = (uint64_t)st.st_size;
    }
    head.checksum = checksum_of(&head, text);
    Result rc = file_write_at(pending, text, head.length, sizeof head);
    return rc == RESULT_OK ? file_write_at(pending, &head, sizeof head, 0) : rc;
}

/* ---- the next start ---- */

/* The lines that are pending; RESULT_NOT_FOUND when the file has none of that serial, whole. */
static Result read_pending(int fd, uint64_t serial, Head *head, char **lines)
{
    struct stat st;
    *lines = NULL;
    if (fstat(fd, &st) != 0) {
        return result_of_errno(errno);
    }
    if ((uint64_t)st.st_size < sizeof *head ||
        file_read_at(fd, head, sizeof *head, 0) != RESULT_OK || head->magic != MAGIC ||
        head->serial != serial || head->length > (uint64_t)st.st_size - sizeof *head) {
        return RESULT_NOT_FOUND;
    }
    *lines = malloc(head->length + 1);
    if (*lines == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = file_read_at(fd, *lines, head->length, sizeof *head);
    return rc == RESULT_OK && checksum_of(head, *lines) != head->checksum ? RESULT_NOT_FOUND : rc;
}

/* Opens the file with that inode: the log itself, or what it was renamed to beside it, whose name
 * begins as the log's does. In a copy of a directory any file may have that inode. -1: it is not
 * there any more. */
static int crawl_log_pending_open_log(const char *log_path, uint64_t inode)
{
    struct stat st;
    int fd = open(log_path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_ino == inode) {
        return fd;
    }
    file_close_fd(fd);
    fd = -1;
    const char *slash = strrchr(log_path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(log_path, (size_t)(slash - log_path) + 1);
    DIR *dir = folder == NULL ? NULL : opendir(folder);
    const struct dirent *entry = NULL;
    const char *name = slash == NULL ? log_path : slash + 1;
    while (dir != NULL && fd < 0 && (entry = readdir(dir)) != NULL) {
        if ((uint64_t)entry->d_ino == inode && entry->d_type != DT_DIR &&
            strncmp(entry->d_name, name, strlen(name)) == 0) {
            fd = openat(dirfd(dir), entry->d_name, O_WRONLY | O_CLOEXEC);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    free(folder);
    return fd;
}

/* Appends what the log lacks of the lines. */
static Result crawl_log_pending_complete(int log, const Head *head, const char *lines,
                                         uint64_t *repaired)
{
    struct stat st;
    if (fstat(log, &st) != 0) {
        return result_of_errno(errno);
    }
    uint64_t size = (uint64_t)st.st_size;
    /* Shorter than it was: emptied by copytruncate, or cut by a power cut. */
    uint64_t has = size <= head->offset ? 0 : size - head->offset;
    if (has >= head->length) {
        return RESULT_OK;
    }
    for (uint64_t i = has; i < head->length; i++) {
        *repaired += lines[i] == '\n';
    }
    return file_write_at(log, lines + has, head->length - has, size);
}

Result crawl_log_pending_repair(const char *pending_path, const char *log_path, uint64_t serial,
                                uint64_t *repaired)
{
    Head head = {0};
    char *lines = NULL;
    *repaired = 0;
    int fd = open(pending_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? RESULT_OK : result_of_errno(errno);
    }
    Result rc = read_pending(fd, serial, &head, &lines);
    (void)close(fd);
    int log =
        rc == RESULT_OK && head.inode != 0 ? crawl_log_pending_open_log(log_path, head.inode) : -1;
    if (log >= 0) {
        rc = crawl_log_pending_complete(log, &head, lines, repaired);
        (void)close(log);
    }
    free(lines);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
