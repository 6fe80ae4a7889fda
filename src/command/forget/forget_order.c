#include "command/forget/forget_order.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/forget/forget_rows.h"
#include "command/forget/forget_warc.h"
#include "crawl/cluster/cluster_edicts.h"
#include "crawl/run/helm.h"
#include "logs/crawl_log_line.h"

/* Logs and other texts of a crawl, written anew without what is to be forgotten.
 *
 * What: all regular files in DIR that are text, and are not the operator's (config.ini; files that
 * configuration names are elsewhere). A rule of denied.txt that names it goes, since its tombstone
 * says the same. A line of crawl.log whose URL is meant goes, or,
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
    Buffer *actions;    /* gets what is to be done when all is written; borrowed */
} ForgetTexts;

#define LOOK_BYTES 4096u

enum { COLUMN_TIME = 0, COLUMN_URL = 3, COLUMN_REFERRER = 5, COLUMN_ANNOTATIONS = 11 };

static bool text_is_old(const ForgetTargets *targets, const LogText *time)
{
    char text[CLOCK_TEXT_BYTES];
    if (targets->before.us == 0 || time->length == 0) {
        return false;
    }
    (void)wall_format_iso(targets->before, text);
    /* ISO times order as text; 19 is up to the seconds, without the fraction and the zone. */
    return strncmp(time->bytes, text, time->length < strlen(text) - 1 ? time->length : 19) < 0;
}

/* Annotations are separated by commas; those that name it go. */
static void text_annotations(const ForgetTargets *targets, const LogText *column, Buffer *out)
{
    const char *end = column->bytes + column->length;
    size_t start = out->length;
    for (const char *at = column->bytes; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma == NULL ? end : comma;
        if (!forget_is_named(targets, at, (size_t)(stop - at))) {
            (void)buffer_printf(out, "%s%.*s", out->length > start ? "," : "", (int)(stop - at),
                                at);
        }
        at = comma == NULL ? end : comma + 1;
    }
    /* A column that is empty has a "-", or the next reader would miscount. */
    if (out->length == start) {
        (void)buffer_append_char(out, '-');
    }
}

/* A line of crawl.log as it will be, appended to out; *changed: it differs. */
static Result text_log_line(const ForgetTargets *targets, const char *line, size_t length,
                            Buffer *out, bool *changed)
{
    LogText columns[CRAWL_LOG_COLUMNS];
    /* A header, or a line that a crash has cut: as a whole it goes, or stays. */
    if (crawl_log_columns(line, length, columns) != CRAWL_LOG_COLUMNS) {
        *changed = forget_is_named(targets, line, length);
        return *changed ? RESULT_OK : buffer_printf(out, "%.*s\n", (int)length, line);
    }
    /* What a line comes to:
     *
     *   the URL is meant              goes; with hash-logs it stays, and a hash stands for the URL
     *   older than the age            goes
     *   names it elsewhere            referrer becomes "-", annotations that name it go
     *   none of these                 stays, byte for byte */
    const LogText *url = &columns[COLUMN_URL];
    bool meant = forget_means_url(targets, url->bytes, url->length);
    *changed = meant || text_is_old(targets, &columns[COLUMN_TIME]);
    if (*changed && !(meant && targets->hash_logs)) {
        return RESULT_OK;
    }
    if (!*changed && !forget_is_named(targets, line, length)) {
        return buffer_printf(out, "%.*s\n", (int)length, line);
    }
    *changed = true;
    const char *referrer = columns[COLUMN_REFERRER].bytes;
    size_t before = out->length;
    /* The buffer keeps its first error, which buffer_end returns: half a line is never written. */
    (void)buffer_append(out, line, (size_t)(url->bytes - line));
    if (meant) {
        (void)buffer_printf(out, "http://forgotten.invalid/%016" PRIx64,
                            hash_128(url->bytes, url->length).low);
    } else {
        (void)buffer_append(out, url->bytes, url->length);
    }
    const char *behind = url->bytes + url->length;
    (void)buffer_append(out, behind, (size_t)(referrer - behind));
    bool named = forget_is_named(targets, referrer, columns[COLUMN_REFERRER].length);
    const char *from = referrer + (named ? columns[COLUMN_REFERRER].length : 0);
    (void)buffer_append(out, "-", named);
    (void)buffer_append(out, from, (size_t)(columns[COLUMN_ANNOTATIONS].bytes - from));
    text_annotations(targets, &columns[COLUMN_ANNOTATIONS], out);
    (void)buffer_append_char(out, '\n');
    return buffer_end(out, before);
}

/* ---- files ---- */

/* A file, line by line, into its copy. */
static Result text_copy(ForgetTexts *texts, const char *name, FILE *in, FILE *out, uint64_t *lines)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n = 0;
    bool is_log = strncmp(name, "crawl.log", strlen("crawl.log")) == 0;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && (n = getline(&line, &capacity, in)) > 0) {
        size_t length = (size_t)n - (line[n - 1] == '\n');
        bool changed = false;
        buffer_reset(&text);
        if (is_log) {
            rc = text_log_line(texts->targets, line, length, &text, &changed);
            /* Tombstones stay, those of regular expressions as well, which name it: they keep it
             * from coming back. */
        } else if (!denials_is_tomb(line) && forget_is_named(texts->targets, line, length)) {
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
    if (rc == RESULT_OK && feof(in) == 0) { /* it failed, or had no memory */
        rc = RESULT_IO;
    }
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
    /* gzip, Zstandard, ZIP: these may hold no zero byte in their first 4 KiB. */
    return memchr(bytes, '\0', n) == NULL && !(n > 1 && memcmp(bytes, "\x1f\x8b", 2) == 0) &&
           !(n > 3 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0) &&
           !(n > 3 && memcmp(bytes, "PK\3\4", 4) == 0);
}

/* Lines of the copy go into `to`; *lines: how many of them differ. */
static Result text_write(ForgetTexts *texts, const char *name, FILE *in, const char *to,
                         uint64_t *lines)
{
    FILE *out = fopen(to, "we");
    if (out == NULL) {
        return result_of_errno(errno);
    }
    Result rc = text_copy(texts, name, in, out, lines);
    return file_close(out, rc);
}

static Result text_file(ForgetTexts *texts, const char *name)
{
    Path from, to;
    uint64_t lines = 0;
    FILE *in = fopen(file_path(&from, "%s/%s", texts->directory, name), "re");
    if (in == NULL) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    if (text_is_text(in)) {
        (void)file_path(&to, "%s/%s", texts->staging, name);
        rc = text_write(texts, name, in, to.text, &lines);
    } else {
        texts->untouched++;
        rc = buffer_printf(&texts->names, "%s\n", name);
    }
    (void)fclose(in);
    /* A copy in which nothing changed is not moved, and goes with the folder `new`. */
    if (rc == RESULT_OK && lines > 0) {
        texts->files++;
        texts->lines += lines;
        rc = buffer_printf(texts->actions, "move\t%s\t%s\n", name, name);
    }
    return rc;
}

/* The operator's own, and what is not text or is made anew with each start. */
static Result text_visit(void *texts, const char *name)
{
    static const char *const others[] = {"config.ini",    "in-force.ini", "lock",
                                         "crawl.pending", "status.json",  EDICTS_FILE};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i]) == 0) {
            return RESULT_OK;
        }
    }
    return text_file(texts, name);
}

static Result forget_texts(ForgetTexts *texts)
{
    /* crawl.pending repeats lines of crawl.log that forget_prepare has settled by now. */
    Result rc = file_walk(texts->directory, text_visit, texts);
    return rc == RESULT_OK ? buffer_append_string(texts->actions, "drop\tcrawl.pending\n") : rc;
}

#define ORDER   ERASURE_ORDER
#define READY   "forget/ready"
#define STAGING "forget/new"

#define DRAINED_ROWS 65536u /* of the journal, in a transaction */

static bool forget_has(const char *directory, const char *name)
{
    Path path;
    return file_exists(file_path(&path, "%s/%s", directory, name));
}

bool forget_order_is_due(const char *directory)
{
    /* READY alone: it was killed when ORDER had gone, and forget_apply finishes. */
    return forget_has(directory, ORDER) || forget_has(directory, READY);
}

static Result forget_fail(Buffer *error, const char *what)
{
    Result rc = result_of_errno(errno);
    (void)buffer_printf(error, "%s: %s", what, strerror(errno));
    return rc;
}

static Result forget_put_file(const char *directory, const char *name, const Buffer *text,
                              Buffer *error)
{
    Path path;
    Result rc =
        file_replace(file_path(&path, "%s/%s", directory, name), buffer_string(text), text->length);
    return rc == RESULT_OK ? rc : forget_fail(error, path.text);
}

/* ---- the order ---- */

Result forget_order_write(ForgetOrder *forget)
{
    Path folder;
    Buffer text;
    if (mkdir(file_path(&folder, "%s/forget", forget->directory), 0700) != 0 && errno != EEXIST) {
        return forget_fail(&forget->error, folder.text);
    }
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = forget_targets_write(&forget->targets, &text);
    if (rc == RESULT_OK) {
        rc = forget_put_file(forget->directory, ORDER, &text, &forget->error);
    }
    if (rc == RESULT_OK) {
        /* The folder's own name, too: an order that was confirmed must be found after a power
         * cut. */
        rc = warc_files_sync_directory(forget->directory);
    }
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
        Buffer rule = {.limit = BUFFER_NO_LIMIT};
        rc = forget_order_tomb(&forget->targets.all[i], &rule);
        if (rc == RESULT_OK && again) {
            rc = denial_list_remove(&list, buffer_string(&rule));
        } else if (rc == RESULT_OK) {
            rc = denial_list_add(&list, buffer_string(&rule), wall_format_iso(wall_now(), time));
            /* Buried by the run that was killed. */
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
    Path path;
    Result rc = sieve_state_read(txn, crawl, &state);
    if (rc == RESULT_OK && forget_has(forget->directory, SIEVE_DIRECTORY)) {
        (void)file_path(&path, "%s/" SIEVE_DIRECTORY, forget->directory);
        rc = sieve_walk_urls(path.text, &state, forget_see_waiting, &waiting);
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
    return rc;
}

/* WARC files end where the database says so, and are finished. */
static Result forget_settle_warc(ForgetOrder *forget, MDB_txn *txn)
{
    WarcEnd end = {.file = 0};
    Warc *warc = NULL;
    Path path;
    WarcOptions options = {.directory = file_path(&path, "%s/warc", forget->directory)};
    Result rc = file_exists(path.text) ? warc_end_get(txn, &end) : RESULT_NOT_FOUND;
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
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* The tables get what waits in the journal: they are copied row by row. */
static Result forget_drain_journal(PageDB *db)
{
    bool done = false;
    Result rc = RESULT_OK;
    /* In pieces, so that no transaction grows with the journal. */
    while (rc == RESULT_OK && !done) {
        MDB_txn *txn = NULL;
        HostRows *hosts = NULL;
        BodyRows *bodies = NULL;
        Schedule *schedule = NULL;
        Journal *journal = page_db_journal(db);
        if (page_db_txn_begin(db, false, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        rc = host_rows_open(&hosts, txn, journal);
        if (rc == RESULT_OK) {
            rc = body_rows_open(&bodies, txn, journal);
        }
        if (rc == RESULT_OK) {
            rc = schedule_open(&schedule, txn, NULL, journal);
        }
        if (rc == RESULT_OK) {
            rc = lmdb_result(journal_drain(journal, txn, DRAINED_ROWS, &done), "drain the journal");
        }
        rc = page_db_txn_end(db, txn, rc);
        host_rows_close(hosts);
        body_rows_close(bodies);
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
    Path path;
    PageDBOptions options = {.no_create = true};
    (void)file_path(&path, "%s/crawl.mdb", forget->directory);
    Result rc = page_db_open(&db, path.text, &options) == page_db_error_ok &&
                        page_db_txn_begin(db, true, &txn) == page_db_error_ok
                    ? RESULT_OK
                    : RESULT_DAMAGED;
    if (rc != RESULT_OK) { /* of another version, damaged, or in use */
        (void)buffer_printf(&forget->error, "%s: %s", forget->directory,
                            db == NULL ? "no memory" : error_message(db->error));
    }
    /* Without that table nothing was ever crawled: then there is no log and no sieve to settle. */
    if (rc == RESULT_OK && mdb_dbi_open(txn, "crawl", 0, &crawl) == 0) {
        rc = ingest_kept_read(txn, crawl, KEPT_LOG_SERIAL, &serial);
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
    /* The reader ends first, or it would keep the journal's pages from being used again. */
    page_db_txn_abort(db, txn);
    if (rc == RESULT_OK && journal_rows(page_db_journal(db)) > 0) {
        rc = forget_drain_journal(db);
    }
    (void)page_db_delete(db);
    return rc;
}

/* ---- writing anew ---- */

/* Copies of the database that were made while it ran hold it, too. */
static Result forget_checkpoints(ForgetOrder *forget)
{
    /* Dropped whole, not written anew: the next one is made from the database that is. */
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

static void forget_describe(ForgetOrder *forget, const ForgetDatabase *database,
                            const ForgetArchive *archive, const ForgetTexts *texts)
{
    char time[CLOCK_TEXT_BYTES];
    (void)buffer_printf(&forget->told,
                        "%s forgotten: %" PRIu64 " pages, %" PRIu64 " hosts, %" PRIu64
                        " records of %" PRIu64 " WARC files, %" PRIu64 " lines of %" PRIu64
                        " texts; %" PRIu64 " records changed, %" PRIu64
                        " without their original left out\n",
                        wall_format_iso(wall_now(), time), database->forgotten_pages,
                        database->forgotten_hosts, archive->records, archive->files, texts->lines,
                        texts->files, archive->changed, archive->orphans);
    if (texts->untouched > 0) {
        (void)buffer_printf(&forget->told, "not looked into, since they are no text: %s",
                            buffer_string(&texts->names));
    }
}

static Result forget_write(ForgetOrder *forget)
{
    ForgetDatabase database = {.from = NULL};
    Progress progress;
    Path staging, mdb, warc;
    WarcEnd end = {.file = 0};
    Buffer *error = &forget->error;
    /* What a killed run has written is not trusted: the order may be another one. */
    file_remove(file_path(&staging, "%s/" STAGING, forget->directory));
    if (mkdir(staging.text, 0700) != 0) {
        return forget_fail(error, staging.text);
    }
    (void)file_path(&mdb, "%s/crawl.mdb", forget->directory);
    ForgetArchive archive = {.database = &database,
                             .warc = file_path(&warc, "%s/warc", forget->directory),
                             .staging = staging.text,
                             .progress = &progress};
    ForgetTexts texts = {.targets = &forget->targets,
                         .directory = forget->directory,
                         .staging = staging.text,
                         .actions = &forget->actions};
    buffer_init(&texts.names, BUFFER_NO_LIMIT);
    progress_begin(&progress, "forget", "records", !forget->quiet && isatty(STDERR_FILENO) == 1,
                   stderr, mono_now());
    Result rc = forget_database_look(&database, mdb.text, &forget->targets);
    if (rc == RESULT_OK) {
        rc = warc_end_get(database.read, &end);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (rc == RESULT_OK) {
        /* The archive before the rows, which get the places that records have moved to; the
         * database is moved behind them, since it names the files that must be there. */
        rc = forget_archive(&archive, &end, &forget->actions, error);
    }
    if (rc == RESULT_OK) {
        rc = forget_texts(&texts);
    }
    if (rc == RESULT_OK) {
        rc = forget_rows_write(&database, staging.text, &end, error);
    }
    progress_end(&progress);
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&forget->actions, "drop\tcrawl.mdb/lock.mdb\n"
                                                    "move\tdata.mdb\tcrawl.mdb/data.mdb\n");
    }
    if (rc == RESULT_OK) {
        rc = forget_checkpoints(forget);
    }
    if (rc == RESULT_OK) {
        rc = warc_files_sync_directory(staging.text);
    }
    forget_describe(forget, &database, &archive, &texts);
    forget_database_destroy(&database);
    buffer_destroy(&texts.names);
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
    Path path, staged;
    if (strcmp(word, "drop") == 0) {
        file_remove(file_path(&path, "%s/%s", forget->directory, from));
        return file_exists(path.text) ? forget_fail(&forget->error, from) : RESULT_OK;
    }
    if (to == NULL) {
        return RESULT_DAMAGED;
    }
    (void)file_path(&staged, "%s/" STAGING "/%s", forget->directory, from);
    (void)file_path(&path, "%s/%s", forget->directory, to);
    return rename(staged.text, path.text) == 0 || errno == ENOENT ? RESULT_OK
                                                                  : forget_fail(&forget->error, to);
}

static Result forget_sync(ForgetOrder *forget)
{
    static const char *const folders[] = {".", "warc", "crawl.mdb"};
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < sizeof folders / sizeof *folders; i++) {
        Path path;
        if (file_exists(file_path(&path, "%s/%s", forget->directory, folders[i]))) {
            rc = warc_files_sync_directory(path.text);
        }
    }
    return rc;
}

/* Says what came of it, for whoever waits and for later. */
static void forget_tell(ForgetOrder *forget)
{
    Path path;
    FILE *file = fopen(file_path(&path, "%s/" FORGET_TOLD, forget->directory), "ae");
    if (file != NULL) {
        (void)fputs(buffer_string(&forget->told), file);
        (void)fclose(file);
    }
    if (!forget->quiet) {
        (void)fputs(buffer_string(&forget->told), stdout);
        (void)fflush(stdout);
    }
}

/* DIR/forget/ready: what came of it, and then the steps.
 *
 * Killed at any step, the next run begins with the first again: a file that is not in `new` has
 * taken its place already. That is only true because all of `new`, names included, was synced
 * before `ready` was written; a file that had been lost would pass for one that was moved. For the
 * same reason `new` goes before `ready` does, and both go only when the folders of the crawl are
 * synced. No crawl runs in between: whoever starts one looks for `ready` first. */
static Result forget_apply(ForgetOrder *forget)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    char *save = NULL;
    Path path;
    Result rc = file_read(file_path(&path, "%s/" READY, forget->directory), &text);
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
        file_remove(file_path(&path, "%s/%s", forget->directory, rest[i]));
    }
    return warc_files_sync_directory(forget->directory);
}

/* Goes on wherever the order stands. The tombstones come before the look, so that nothing that is
 * meant comes back between an erasure that is interrupted and its end; a bury that is repeated
 * finds them there. */
Result forget_order_run(ForgetOrder *forget)
{
    if (forget_has(forget->directory, READY)) {
        return forget_apply(forget);
    }
    /* As it is on the disk, not as this process was given it: two may have been told different
     * things. */
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    forget_targets_destroy(&forget->targets);
    Path path;
    Result rc = file_read(file_path(&path, "%s/" ORDER, forget->directory), &text);
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
