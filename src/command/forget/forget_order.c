#include "command/forget/forget_order.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/core/error.h"
#include "command/forget/forget_rows.h"
#include "command/forget/forget_warc.h"
#include "command/plan/plan_seeds.h"
#include "frontier/sieve/sieve.h"
#include "ingest/batch/ingest_batch.h"
#include "page/crawl_log.h"
#include "rules/scope/denial_list.h"
#include "rules/scope/denials.h"
#include "store/archive/warc.h"
#include "store/archive/warc_files.h"
#include "store/lmdb/lmdb_result.h"
#include "store/pages/page_db_open.h"
#include "store/pages/page_db_read.h"
#include "store/tables/body_table.h"
#include "store/tables/host_table.h"
#include "command/forget/forget_target.h"
#include "base/core/hash.h"

/* Logs and other texts of a crawl, written anew without what is to be forgotten.
 *
 * What: all regular files in DIR that are text, and are not the operator's (config.ini, denied.txt,
 * files that configuration names are elsewhere). A line of crawl.log whose URL is meant goes, or,
 * with hash-logs, has a hash in place of it; in the lines of others the referrer and annotations
 * that name it become "-" or go. With an age, lines of crawl.log from before it go. Of any other
 * file (skipped.log, ragno.log, exports as JSON Lines, TSV, CSV) the lines go that name it.
 *
 * Owns: nothing.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY. */

typedef struct ForgetTexts {
    const ForgetTargets *targets;
    const char *directory;
    const char *staging;
    uint64_t files;
    uint64_t lines;     /* that went, or were changed */
    uint64_t untouched; /* files that name it and are no text: a WACZ, a compressed export */
    Buffer names;       /* of these, a line each */
} ForgetTexts;

#define COLUMNS    12
#define LOOK_BYTES 4096u

enum { COLUMN_TIME = 0, COLUMN_URL = 3, COLUMN_REFERRER = 5, COLUMN_ANNOTATIONS = 11 };

/* A column of a line of crawl.log. */
typedef struct Column {
    const char *at;
    size_t length;
} Column;

static bool text_split(const char *line, size_t length, Column columns[COLUMNS])
{
    const char *end = line + length;
    size_t n = 0;
    for (const char *at = line; at < end && n < COLUMNS;) {
        while (at < end && *at == ' ') {
            at++;
        }
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *stop = space == NULL ? end : space;
        columns[n++] = (Column){at, (size_t)(stop - at)};
        at = stop;
    }
    return n == COLUMNS;
}

static bool text_is_old(const ForgetTargets *targets, const Column *time)
{
    char text[CLOCK_TEXT_BYTES];
    if (targets->before.us == 0 || time->length == 0) {
        return false;
    }
    (void)wall_format_iso(targets->before, text);
    return strncmp(time->at, text, time->length < strlen(text) - 1 ? time->length : 19) < 0;
}

/* Annotations are separated by commas; those that name it go. */
static Result text_annotations(const ForgetTargets *targets, const Column *column, Buffer *out)
{
    const char *end = column->at + column->length;
    size_t start = out->length;
    Result rc = RESULT_OK;
    for (const char *at = column->at; rc == RESULT_OK && at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma == NULL ? end : comma;
        if (!forget_is_named(targets, at, (size_t)(stop - at))) {
            rc = buffer_printf(out, "%s%.*s", out->length > start ? "," : "", (int)(stop - at), at);
        }
        at = comma == NULL ? end : comma + 1;
    }
    return rc == RESULT_OK && out->length == start ? buffer_append_char(out, '-') : rc;
}

/* A line of crawl.log as it will be, appended to out; *changed: it differs. */
static Result text_log_line(const ForgetTargets *targets, const char *line, size_t length,
                            Buffer *out, bool *changed)
{
    Column columns[COLUMNS];
    if (!text_split(line, length, columns)) {
        *changed = forget_is_named(targets, line, length);
        return *changed ? RESULT_OK : buffer_printf(out, "%.*s\n", (int)length, line);
    }
    const Column *url = &columns[COLUMN_URL];
    bool meant = forget_means_url(targets, url->at, url->length);
    *changed = meant || text_is_old(targets, &columns[COLUMN_TIME]);
    if (*changed && !(meant && targets->hash_logs)) {
        return RESULT_OK;
    }
    if (!*changed && !forget_is_named(targets, line, length)) {
        return buffer_printf(out, "%.*s\n", (int)length, line);
    }
    *changed = true;
    const char *referrer = columns[COLUMN_REFERRER].at;
    Result rc = buffer_append(out, line, (size_t)(url->at - line));
    if (rc == RESULT_OK) {
        rc = meant ? buffer_printf(out, "http://forgotten.invalid/%016" PRIx64,
                                   hash_128(url->at, url->length).low)
                   : buffer_append(out, url->at, url->length);
    }
    if (rc == RESULT_OK) {
        rc =
            buffer_append(out, url->at + url->length, (size_t)(referrer - (url->at + url->length)));
    }
    bool named = forget_is_named(targets, referrer, columns[COLUMN_REFERRER].length);
    const char *from = referrer + (named ? columns[COLUMN_REFERRER].length : 0);
    if (rc == RESULT_OK && named) {
        rc = buffer_append_char(out, '-');
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(out, from, (size_t)(columns[COLUMN_ANNOTATIONS].at - from));
    }
    if (rc == RESULT_OK) {
        rc = text_annotations(targets, &columns[COLUMN_ANNOTATIONS], out);
    }
    return rc == RESULT_OK ? buffer_append_char(out, '\n') : rc;
}

/* ---- files ---- */

/* A file, line by line, into its copy. */
static Result text_copy(ForgetTexts *texts, const char *name, FILE *in, FILE *out, uint64_t *lines)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n = 0;
    bool is_log = strncmp(name, "crawl.log", strlen("crawl.log")) == 0;
    Buffer text;
    Result rc = RESULT_OK;
    buffer_init(&text, BUFFER_NO_LIMIT);
    while (rc == RESULT_OK && (n = getline(&line, &capacity, in)) > 0) {
        size_t length = (size_t)n - (line[n - 1] == '\n');
        bool changed = false;
        buffer_reset(&text);
        if (is_log) {
            rc = text_log_line(texts->targets, line, length, &text, &changed);
        } else if (forget_is_named(texts->targets, line, length)) {
            changed = true;
        } else {
            rc = buffer_append(&text, line, (size_t)n);
        }
        *lines += changed;
        if (rc == RESULT_OK && text.length > 0 &&
            fwrite(text.data, 1, text.length, out) != text.length) {
            rc = result_of_errno(errno);
        }
    }
    rc = rc == RESULT_OK && ferror(in) != 0 ? RESULT_IO : rc;
    free(line);
    buffer_destroy(&text);
    return rc;
}

/* Whether the file begins as text does. */
static bool text_is_text(FILE *in)
{
    char bytes[LOOK_BYTES];
    size_t n = fread(bytes, 1, sizeof bytes, in);
    rewind(in);
    return memchr(bytes, '\0', n) == NULL && !(n > 1 && memcmp(bytes, "\x1f\x8b", 2) == 0) &&
           !(n > 3 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0) &&
           !(n > 3 && memcmp(bytes, "PK\3\4", 4) == 0);
}

static Result text_file(ForgetTexts *texts, const char *name, Buffer *actions)
{
    Buffer from, to;
    uint64_t lines = 0;
    buffer_init(&from, BUFFER_NO_LIMIT);
    buffer_init(&to, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&from, "%s/%s", texts->directory, name);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&to, "%s/%s", texts->staging, name);
    }
    FILE *in = rc == RESULT_OK ? fopen(from.data, "re") : NULL;
    bool is_text = in != NULL && text_is_text(in);
    if (in != NULL && !is_text) {
        texts->untouched++;
        rc = buffer_printf(&texts->names, "%s\n", name);
    }
    FILE *out = is_text ? fopen(to.data, "we") : NULL;
    if (rc == RESULT_OK && (in == NULL || (is_text && out == NULL))) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK && is_text) {
        rc = text_copy(texts, name, in, out, &lines);
    }
    if (rc == RESULT_OK && out != NULL && (fflush(out) != 0 || fsync(fileno(out)) != 0)) {
        rc = result_of_errno(errno);
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    if (out != NULL) {
        (void)fclose(out);
    }
    if (rc == RESULT_OK && lines > 0) {
        texts->files++;
        texts->lines += lines;
        rc = buffer_printf(actions, "move\t%s\t%s\n", name, name);
    }
    buffer_destroy(&from);
    buffer_destroy(&to);
    return rc;
}

/* The operator's own, and what is not text or is made anew with each start. */
static bool text_is_ours(const char *name)
{
    static const char *const others[] = {"config.ini", "in-force.ini",  DENIAL_LIST_FILE,
                                         "lock",       "crawl.pending", "status.json"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* actions gets lines for forget.c. */
static Result forget_texts(ForgetTexts *texts, Buffer *actions)
{
    DIR *dir = opendir(texts->directory);
    const struct dirent *entry = NULL;
    Result rc = RESULT_OK;
    if (dir == NULL) {
        return result_of_errno(errno);
    }
    while (rc == RESULT_OK && (entry = readdir(dir)) != NULL) {
        struct stat st;
        if (text_is_ours(entry->d_name) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode)) {
            rc = text_file(texts, entry->d_name, actions);
        }
    }
    (void)closedir(dir);
    return rc == RESULT_OK ? buffer_append_string(actions, "drop\tcrawl.pending\n") : rc;
}

#define ORDER   "forget/order"
#define READY   "forget/ready"
#define STAGING "forget/new"

#define DRAINED_ROWS 65536u /* of the journal, in a transaction */

/* "DIR/NAME"; NULL without memory. */
char *forget_order_path(const char *directory, const char *name)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    (void)buffer_printf(&path, "%s/%s", directory, name);
    return buffer_detach(&path);
}

static bool forget_has(const char *directory, const char *name)
{
    char *path = forget_order_path(directory, name);
    bool there = path != NULL && access(path, F_OK) == 0;
    free(path);
    return there;
}

bool forget_order_is_due(const char *directory)
{
    return forget_has(directory, ORDER) || forget_has(directory, READY);
}

static Result forget_fail(Buffer *error, const char *what)
{
    Result rc = result_of_errno(errno);
    (void)buffer_printf(error, "%s: %s", what, strerror(errno));
    return rc;
}

/* Writes a file beside its place, synced, and puts it there. */
static Result forget_put_file(const char *directory, const char *name, const Buffer *text,
                              Buffer *error)
{
    char *path = forget_order_path(directory, name);
    char *folder = forget_order_path(directory, "forget");
    char draft[4096];
    (void)snprintf(draft, sizeof draft, "%s.new", path == NULL ? "" : path);
    FILE *file = fopen(draft, "we");
    bool written =
        file != NULL && fwrite(buffer_string(text), 1, text->length, file) == text->length;
    written = written && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file != NULL) {
        written = fclose(file) == 0 && written;
    }
    written = written && rename(draft, path) == 0;
    Result rc = written ? warc_files_sync_directory(folder) : forget_fail(error, draft);
    free(path);
    free(folder);
    return rc;
}

static Result forget_read_file(const char *directory, const char *name, Buffer *text)
{
    char *path = forget_order_path(directory, name);
    Result rc = path == NULL ? RESULT_MEMORY : RESULT_OK;
    FILE *file = rc == RESULT_OK ? fopen(path, "re") : NULL;
    char bytes[4096];
    size_t n = 0;
    if (rc == RESULT_OK && file == NULL) {
        rc = result_of_errno(errno);
    }
    while (rc == RESULT_OK && (n = fread(bytes, 1, sizeof bytes, file)) > 0) {
        rc = buffer_append(text, bytes, n);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    free(path);
    return rc;
}

/* ---- the order ---- */

Result forget_order_write(ForgetOrder *forget)
{
    Buffer text;
    char *folder = forget_order_path(forget->directory, "forget");
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = folder == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK && mkdir(folder, 0700) != 0 && errno != EEXIST) {
        rc = forget_fail(&forget->error, folder);
    }
    if (rc == RESULT_OK) {
        rc = forget_targets_write(&forget->targets, &text);
    }
    if (rc == RESULT_OK) {
        rc = forget_put_file(forget->directory, ORDER, &text, &forget->error);
    }
    if (rc == RESULT_OK) {
        rc = warc_files_sync_directory(forget->directory);
    }
    free(folder);
    buffer_destroy(&text);
    return rc;
}

/* The rule that keeps a target from coming back. */
Result forget_order_tomb(const ForgetTarget *target, Buffer *rule)
{
    return target->kind == FORGET_REGEX
               ? buffer_printf(rule, DENIAL_TOMB "regex:%s", target->text)
               : denials_tomb(target->kind == FORGET_HOST, target->text, target->length, rule);
}

/* Enters the tombstones among the denials of a crawl that does not run, or takes them out. */
Result forget_order_bury(ForgetOrder *forget, bool again)
{
    DenialList list = {.n = 0};
    char time[CLOCK_TEXT_BYTES];
    Result rc = denial_list_read(&list, forget->directory, &forget->error);
    for (size_t i = 0; rc == RESULT_OK && i < forget->targets.n; i++) {
        Buffer rule;
        buffer_init(&rule, BUFFER_NO_LIMIT);
        rc = forget_order_tomb(&forget->targets.all[i], &rule);
        if (rc == RESULT_OK && again) {
            rc = denial_list_remove(&list, buffer_string(&rule));
        } else if (rc == RESULT_OK) {
            rc = denial_list_add(&list, buffer_string(&rule), wall_format_iso(wall_now(), time));
            rc = rc == RESULT_EXISTS ? RESULT_OK : rc;
        }
        if (rc == RESULT_NOT_FOUND) {
            (void)buffer_printf(&forget->error, "'%s' was not forgotten",
                                forget->targets.all[i].text);
        }
        buffer_destroy(&rule);
    }
    if (rc == RESULT_OK) {
        rc = denial_list_write(&list, forget->directory, &forget->error);
    }
    denial_list_destroy(&list);
    return rc;
}

/* ---- preparing: what a crash left is put in order first ---- */

typedef struct Waiting {
    const ForgetTargets *targets;
    uint64_t n;
} Waiting;

static void forget_see_waiting(void *context, const char *url, size_t length)
{
    Waiting *waiting = context;
    waiting->n += forget_is_named(waiting->targets, url, length);
}

/* Links that wait in bucket files cannot be taken out of them; a crawl that runs looks them up. */
static Result forget_check_sieve(ForgetOrder *forget, MDB_txn *txn, MDB_dbi crawl)
{
    SieveState state;
    Waiting waiting = {.targets = &forget->targets};
    char *path = forget_order_path(forget->directory, SIEVE_DIRECTORY);
    Result rc = sieve_state_read(txn, crawl, &state);
    if (rc == RESULT_OK && path != NULL && access(path, F_OK) == 0) {
        rc = sieve_walk_urls(path, &state, forget_see_waiting, &waiting);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (rc == RESULT_OK && waiting.n > 0) {
        (void)buffer_printf(&forget->error,
                            "%" PRIu64
                            " links to it wait to be looked up; start the crawl: it does "
                            "so, erases, and goes on",
                            waiting.n);
        rc = RESULT_CLOSED;
    }
    free(path);
    return rc;
}

/* WARC files end where the database says so, and are finished. */
static Result forget_settle_warc(ForgetOrder *forget, MDB_txn *txn)
{
    WarcEnd end = {.n = 0};
    Warc *warc = NULL;
    char *path = forget_order_path(forget->directory, "warc");
    WarcOptions options = {.directory = path};
    Result rc =
        path != NULL && access(path, F_OK) == 0 ? warc_end_get(txn, &end) : RESULT_NOT_FOUND;
    if (rc == RESULT_OK) {
        rc = warc_open(&warc, &options, &end);
    }
    if (rc == RESULT_OK) {
        rc = warc_close(warc);
    }
    if (rc == RESULT_DAMAGED) {
        (void)buffer_append_string(&forget->error,
                                   "the archive is damaged; ragno verify says more");
    }
    free(path);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* The tables get what waits in the journal: they are copied row by row. */
static Result forget_drain_journal(PageDB *db)
{
    bool done = false;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && !done) {
        MDB_txn *txn = NULL;
        HostTable *hosts = NULL;
        BodyTable *bodies = NULL;
        Schedule *schedule = NULL;
        Journal *journal = page_db_journal(db);
        if (page_db_txn_begin(db, false, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        rc = host_table_open(&hosts, txn, journal);
        if (rc == RESULT_OK) {
            rc = body_table_open(&bodies, txn, journal);
        }
        if (rc == RESULT_OK) {
            rc = schedule_open(&schedule, txn, NULL, journal);
        }
        if (rc == RESULT_OK) {
            rc = lmdb_result(journal_drain(journal, txn, DRAINED_ROWS, &done), "drain the journal");
        }
        if (rc != RESULT_OK) {
            page_db_txn_abort(db, txn);
        } else if (page_db_txn_commit(db, txn) != page_db_error_ok) {
            rc = RESULT_FULL;
        }
        host_table_close(hosts);
        body_table_close(bodies);
        schedule_close(schedule);
    }
    return rc;
}

static Result forget_prepare(ForgetOrder *forget)
{
    PageDB *db = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi crawl = 0;
    uint64_t serial = 0;
    char *path = forget_order_path(forget->directory, "crawl.mdb");
    PageDBOptions options = {.no_create = true};
    Result rc = path != NULL && page_db_open(&db, path, &options) == page_db_error_ok &&
                        page_db_txn_begin(db, true, &txn) == page_db_error_ok
                    ? RESULT_OK
                    : RESULT_DAMAGED;
    if (rc != RESULT_OK) { /* of another version, damaged, or in use */
        (void)buffer_printf(&forget->error, "%s: %s", forget->directory,
                            db == NULL ? "no memory" : error_message(db->error));
    }
    if (rc == RESULT_OK && mdb_dbi_open(txn, "crawl", 0, &crawl) == 0) {
        rc = ingest_read_log_serial(txn, crawl, &serial);
        if (rc == RESULT_OK) {
            rc = crawl_log_repair(forget->directory, NULL, serial);
        }
        if (rc == RESULT_OK) {
            rc = forget_check_sieve(forget, txn, crawl);
        }
    }
    if (rc == RESULT_OK) {
        rc = forget_settle_warc(forget, txn);
    }
    if (txn != NULL) {
        page_db_txn_abort(db, txn);
    }
    if (rc == RESULT_OK && journal_rows(page_db_journal(db)) > 0) {
        rc = forget_drain_journal(db);
    }
    (void)page_db_delete(db);
    free(path);
    return rc;
}

/* ---- writing anew ---- */

/* Copies of the database that were made while it ran hold it, too. */
static Result forget_checkpoints(ForgetOrder *forget)
{
    DIR *dir = opendir(forget->directory);
    const struct dirent *entry = NULL;
    Result rc = RESULT_OK;
    if (dir == NULL) {
        return forget_fail(&forget->error, forget->directory);
    }
    while (rc == RESULT_OK && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, "checkpoint-", strlen("checkpoint-")) == 0) {
            rc = buffer_printf(&forget->actions, "drop\t%s\n", entry->d_name);
        }
    }
    (void)closedir(dir);
    return rc;
}

static Result forget_staging(ForgetOrder *forget, char **staging)
{
    *staging = forget_order_path(forget->directory, STAGING);
    if (*staging == NULL) {
        return RESULT_MEMORY;
    }
    plan_folder_remove(*staging);
    return mkdir(*staging, 0700) == 0 ? RESULT_OK : forget_fail(&forget->error, *staging);
}

static Result forget_write(ForgetOrder *forget)
{
    ForgetDatabase database = {.from = NULL};
    Progress progress;
    WarcEnd end = {.n = 0};
    char *staging = NULL;
    char *mdb = forget_order_path(forget->directory, "crawl.mdb");
    char *warc = forget_order_path(forget->directory, "warc");
    ForgetArchive archive = {.database = &database, .warc = warc, .progress = &progress};
    ForgetTexts texts = {.targets = &forget->targets, .directory = forget->directory};
    buffer_init(&texts.names, BUFFER_NO_LIMIT);
    progress_begin(&progress, "forget", "records", !forget->quiet && isatty(STDERR_FILENO) == 1,
                   stderr, mono_now());
    Result rc = mdb == NULL || warc == NULL ? RESULT_MEMORY : forget_staging(forget, &staging);
    archive.staging = texts.staging = staging;
    if (rc == RESULT_OK) {
        rc = forget_database_look(&database, mdb, &forget->targets, &forget->error);
    }
    if (rc == RESULT_OK) {
        rc = forget_database_warc_end(&database, &end);
    }
    if (rc == RESULT_OK) {
        rc = forget_archive(&archive, &end, &forget->actions, &forget->error);
    }
    if (rc == RESULT_OK) {
        rc = forget_texts(&texts, &forget->actions);
    }
    if (rc == RESULT_OK) {
        rc = forget_rows_write(&database, staging, &end, &forget->error);
    }
    progress_end(&progress);
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&forget->actions, "drop\tcrawl.mdb/lock.mdb\n"
                                                    "move\tdata.mdb\tcrawl.mdb/data.mdb\n");
    }
    if (rc == RESULT_OK) {
        rc = forget_checkpoints(forget);
    }
    char time[CLOCK_TEXT_BYTES];
    (void)buffer_printf(
        &forget->told,
        "%s forgotten: %" PRIu64 " pages, %" PRIu64 " hosts, %" PRIu64 " records of %" PRIu64
        " WARC files, %" PRIu64 " lines of %" PRIu64 " texts; %" PRIu64 " records changed, %" PRIu64
        " without their original left out\n",
        wall_format_iso(wall_now(), time), database.forgotten_pages, database.forgotten_hosts,
        archive.records, archive.files, texts.lines, texts.files, archive.changed, archive.orphans);
    if (texts.untouched > 0) {
        (void)buffer_printf(&forget->told, "not looked into, since they are no text: %s",
                            buffer_string(&texts.names));
    }
    forget_database_destroy(&database);
    buffer_destroy(&texts.names);
    free(staging);
    free(mdb);
    free(warc);
    return rc;
}

/* ---- carrying out ---- */

static Result forget_step(ForgetOrder *forget, char *line)
{
    char *save = NULL;
    const char *word = strtok_r(line, "\t", &save);
    const char *from = strtok_r(NULL, "\t", &save);
    const char *to = strtok_r(NULL, "\t", &save);
    if (word == NULL || from == NULL) {
        return RESULT_DAMAGED;
    }
    if (strcmp(word, "drop") == 0) {
        char *path = forget_order_path(forget->directory, from);
        bool gone = path != NULL && (unlink(path) == 0 || errno == ENOENT);
        if (!gone && path != NULL && (errno == EISDIR || errno == EPERM)) {
            plan_folder_remove(path);
            gone = access(path, F_OK) != 0;
        }
        Result rc = gone ? RESULT_OK : forget_fail(&forget->error, from);
        free(path);
        return rc;
    }
    Buffer staged;
    buffer_init(&staged, BUFFER_NO_LIMIT);
    Result rc = to == NULL ? RESULT_DAMAGED
                           : buffer_printf(&staged, "%s/" STAGING "/%s", forget->directory, from);
    char *path = to == NULL ? NULL : forget_order_path(forget->directory, to);
    if (rc == RESULT_OK && rename(buffer_string(&staged), path) != 0 && errno != ENOENT) {
        rc = forget_fail(&forget->error, to);
    }
    buffer_destroy(&staged);
    free(path);
    return rc;
}

static Result forget_sync(ForgetOrder *forget)
{
    static const char *const folders[] = {".", "warc", "crawl.mdb"};
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < sizeof folders / sizeof *folders; i++) {
        char *path = forget_order_path(forget->directory, folders[i]);
        if (path != NULL && access(path, F_OK) == 0) {
            rc = warc_files_sync_directory(path);
        }
        free(path);
    }
    return rc;
}

/* Says what came of it, for whoever waits and for later. */
static void forget_tell(ForgetOrder *forget)
{
    char *path = forget_order_path(forget->directory, FORGET_TOLD);
    FILE *file = path == NULL ? NULL : fopen(path, "ae");
    if (file != NULL) {
        (void)fputs(buffer_string(&forget->told), file);
        (void)fclose(file);
    }
    free(path);
    if (!forget->quiet) {
        (void)fputs(buffer_string(&forget->told), stdout);
        (void)fflush(stdout);
    }
}

/* DIR/forget/ready: what came of it, and then the steps. */
static Result forget_apply(ForgetOrder *forget)
{
    Buffer text;
    char *save = NULL;
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = forget_read_file(forget->directory, READY, &text);
    char *line = rc == RESULT_OK && text.length > 0 ? strtok_r(text.data, "\n", &save) : NULL;
    buffer_reset(&forget->told);
    for (; rc == RESULT_OK && line != NULL; line = strtok_r(NULL, "\n", &save)) {
        bool is_step = strncmp(line, "move\t", 5) == 0 || strncmp(line, "drop\t", 5) == 0;
        rc = is_step ? forget_step(forget, line) : buffer_printf(&forget->told, "%s\n", line);
    }
    if (rc == RESULT_OK) {
        rc = forget_sync(forget);
    }
    buffer_destroy(&text);
    if (rc != RESULT_OK) {
        return rc;
    }
    forget_tell(forget);
    const char *const rest[] = {STAGING, ORDER, READY, "forget"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        char *path = forget_order_path(forget->directory, rest[i]);
        if (path != NULL && unlink(path) != 0) {
            plan_folder_remove(path);
        }
        free(path);
    }
    return warc_files_sync_directory(forget->directory);
}

/* Goes on wherever the order stands. */
Result forget_order_run(ForgetOrder *forget)
{
    if (forget_has(forget->directory, READY)) {
        return forget_apply(forget);
    }
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    forget_targets_destroy(&forget->targets);
    Result rc = forget_read_file(forget->directory, ORDER, &text);
    if (rc == RESULT_OK) {
        rc = forget_targets_read(&forget->targets, buffer_string(&text), &forget->error);
    }
    if (rc == RESULT_OK) {
        rc = forget_order_bury(forget, false);
    }
    if (rc == RESULT_OK) {
        rc = forget_prepare(forget);
    }
    if (rc == RESULT_OK) {
        rc = forget_write(forget);
    }
    buffer_reset(&text);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&text, "%s%s", buffer_string(&forget->told),
                           buffer_string(&forget->actions));
    }
    if (rc == RESULT_OK) {
        rc = forget_put_file(forget->directory, READY, &text, &forget->error);
    }
    buffer_destroy(&text);
    return rc == RESULT_OK ? forget_apply(forget) : rc;
}

void forget_order_init(ForgetOrder *forget, const char *directory)
{
    *forget = (ForgetOrder){.directory = directory};
    buffer_init(&forget->error, BUFFER_NO_LIMIT);
    buffer_init(&forget->actions, BUFFER_NO_LIMIT);
    buffer_init(&forget->told, BUFFER_NO_LIMIT);
}

void forget_order_destroy(ForgetOrder *forget)
{
    forget_targets_destroy(&forget->targets);
    buffer_destroy(&forget->error);
    buffer_destroy(&forget->actions);
    buffer_destroy(&forget->told);
}
