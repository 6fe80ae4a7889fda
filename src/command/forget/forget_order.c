#include "command/forget/forget_order.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/error.h"
#include "command/forget/forget_rows.h"
#include "command/forget/forget_text.h"
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
        Journal *journal = page_db_journal(db);
        if (page_db_txn_begin(db, false, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        rc = host_table_open(&hosts, txn, journal);
        rc = rc == RESULT_OK ? body_table_open(&bodies, txn, journal) : rc;
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
    Result rc = dir == NULL ? forget_fail(&forget->error, forget->directory) : RESULT_OK;
    while (rc == RESULT_OK && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, "checkpoint-", strlen("checkpoint-")) == 0) {
            rc = buffer_printf(&forget->actions, "drop\t%s\n", entry->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
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
