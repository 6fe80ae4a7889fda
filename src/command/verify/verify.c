#include "command/verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/memory/bits.h"
#include "base/memory/embed.h"
#include "cluster/message/membership.h"
#include "crawl/command_line.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "crawl/fault.h"
#include "store/archive/capture_index.h"
#include "store/check/lmdb_check.h"
#include "store/pages/page_error.h"

/* The database: opened, its file checked, and what it says about the archive. */

/* Whether an answer of this page was stored. Without the index of captures (no archive was kept by
 * this version) it is taken for granted of every page that was crawled. */
static Result must_be_stored(CaptureIndex captures, MDB_txn *txn, const PageRef *page, bool *must)
{
    Capture capture;
    *must = page->n_crawls > 0;
    if (captures == 0) {
        return RESULT_OK;
    }
    Result rc = capture_index_get(captures, txn, page->index, &capture);
    *must = rc == RESULT_OK;
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* Whether pages first to end - 1 are found by their URLs, and which are in the files. */
static Result note_stored_in(Verify *verify, MDB_txn *txn, uint64_t first, uint64_t end)
{
    CaptureIndex captures = 0;
    Result rc = capture_index_open(&captures, txn, false);
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    for (uint64_t i = first; i < end && rc == RESULT_OK; i++) {
        PageRef page;
        uint64_t found = PAGE_DB_NO_INDEX;
        bool must = false;
        if (page_db_get(verify->db, txn, i, &page, &verify->url) != page_db_error_ok) {
            verify_problem(verify, VERIFY_DATABASE, "page %" PRIu64 " cannot be read", i);
            continue;
        }
        if (page_db_find(verify->db, txn, page.url, page.url_length, &found) != page_db_error_ok ||
            found != i) {
            verify_problem(verify, VERIFY_DATABASE,
                           "page %" PRIu64 " is not found by its URL: %.*s", i,
                           (int)page.url_length, page.url);
        }
        verify->counts->pages += page.n_crawls > 0;
        rc = must_be_stored(captures, txn, &page, &must);
        if (must) {
            bits_set(verify->stored, i);
        }
    }
    return rc;
}

/* In short transactions, since it may run beside a crawl. */
static Result note_stored(Verify *verify)
{
    enum { PAGES_PER_TXN = 4096 };
    Result rc = RESULT_OK;
    for (uint64_t i = 0; i < verify->n_pages && rc == RESULT_OK; i += PAGES_PER_TXN) {
        MDB_txn *txn = NULL;
        uint64_t rest = verify->n_pages - i;
        rc = verify_begin(verify, false, &txn);
        if (rc == RESULT_OK) {
            rc = note_stored_in(verify, txn, i, i + (rest < PAGES_PER_TXN ? rest : PAGES_PER_TXN));
            page_db_txn_abort(verify->db, txn);
        }
    }
    return rc;
}

static Result snapshot(Verify *verify)
{
    MDB_txn *txn = NULL;
    Result rc = verify_begin(verify, false, &txn);
    if (rc != RESULT_OK) {
        return rc;
    }
    verify->n_pages = page_db_n_pages(verify->db, txn);
    page_db_txn_abort(verify->db, txn);
    verify->captured = verify_bits(verify->n_pages);
    verify->stored = verify_bits(verify->n_pages);
    verify->told = verify_bits(verify->n_pages);
    bool has_bits = verify->captured != NULL && verify->stored != NULL && verify->told != NULL;
    rc = has_bits ? note_stored(verify) : RESULT_MEMORY;
    if (rc == RESULT_OK) {
        rc = verify_begin(verify, false, &txn);
    }
    if (rc == RESULT_OK) {
        rc = verify_end(verify, false, txn, warc_end_get(txn, &verify->committed));
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static void verify_open_tell_broken(void *context, const char *table, uint64_t page,
                                    const char *what)
{
    verify_problem(context, VERIFY_DATABASE, "%s%s: page %" PRIu64 " of data.mdb %s",
                   *table == '\0' ? "" : "table ", *table == '\0' ? "table of tables" : table, page,
                   what);
}

/* LMDB is not let near a file that it would stumble over. */
static Result verify_open_check_file(Verify *verify, const char *path)
{
    uint64_t n_broken = 0;
    fault_watch(verify->options->directory);
    Result rc = lmdb_check(path, NULL, verify_open_tell_broken, verify, &n_broken);
    if (rc == RESULT_OK && n_broken > 0) {
        verify_problem(verify, VERIFY_DATABASE,
                       "%" PRIu64 " pages of data.mdb are broken: the file cannot be repaired, "
                       "only restored from a backup; the WARC files are not affected",
                       n_broken);
        rc = RESULT_DAMAGED;
    }
    return rc;
}

static Result open_database(Verify *verify, const char *path)
{
    PageDBOptions options = {
        .read_only = !verify->options->repair, .no_create = true, .damaged_keys = true};
    int code = page_db_open(&verify->db, path, &options);
    if (code != page_db_error_ok) {
        const char *why = verify->db == NULL ? NULL : error_message(verify->db->error);
        verify_problem(verify, VERIFY_DATABASE, "cannot be opened: %s", why == NULL ? "?" : why);
        return page_db_result(code);
    }
    Result rc = verify_keys(verify);
    return rc == RESULT_OK ? snapshot(verify) : rc;
}

/* Looks whether the file of DIR/crawl.mdb is whole, if there is one, opens it, has its keys checked
 * (verify_keys), notes whose answers are stored, and then reads the committed end: so whatever a
 * running crawl adds meanwhile is not missed in the files. RESULT_DAMAGED, RESULT_VERSION: told. */
static Result verify_open_database(Verify *verify)
{
    const char *directory = verify->options->directory;
    Path path;
    Result rc = RESULT_OK;
    bool exists = crawl_store_exists(directory);
    if (!exists && crawl_store_has_run(directory)) {
        verify_problem(verify, VERIFY_DATABASE,
                       "data.mdb is missing or empty; it can only be restored from a backup; the "
                       "WARC files are not affected");
    } else if (exists) {
        verify->beside = !verify->options->repair && crawl_store_owner(directory) != 0;
        rc = verify_open_check_file(verify, file_path(&path, "%s/crawl.mdb", directory));
        if (rc == RESULT_OK) {
            rc = open_database(verify, path.text);
        }
    }
    return rc;
}

/* ragno verify: the settings that a crawl is resumed with. */

#define VERIFY_CONFIG "config.ini"

/* config.ini is there, whole, and can be read. */
static Result verify_config(Verify *verify)
{
    Path path;
    if (!crawl_store_has_run(verify->options->directory)) {
        return RESULT_OK;
    }
    (void)file_path(&path, "%s/" VERIFY_CONFIG, verify->options->directory);
    ConfigFile found = config_file_look(path.text);
    if (found == CONFIG_FILE_NONE) {
        verify_problem(verify, VERIFY_CONFIG,
                       "is missing or empty; give its settings to the next start with -c FILE");
        return RESULT_OK;
    }
    /* One problem per line that the file's reader complains about. */
    Config config;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = config_init(&config);
    Result read = rc == RESULT_OK ? options_load(&config.options, path.text, &error) : rc;
    char *save = NULL;
    for (char *line = error.length == 0 ? NULL : strtok_r(error.data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        verify_problem(verify, VERIFY_CONFIG, "%s", line);
    }
    if (rc == RESULT_OK && read != RESULT_OK && error.length == 0) {
        verify_problem(verify, VERIFY_CONFIG, "cannot be read: %s", result_name(read));
    }
    config_destroy(&config);
    buffer_destroy(&error);
    if (found == CONFIG_FILE_CUT) {
        verify_problem(verify, VERIFY_CONFIG,
                       "does not end as ragno wrote it: it was cut or edited; settings that are "
                       "missing have their defaults");
    }
    return rc;
}

/* ---- `ragno verify DIR` ---- */

static Result verify_all(Verify *verify)
{
    /* The database says which files must be there; what the files hold is then compared with it. */
    static Result (*const steps[])(Verify *) = {verify_moved, verify_config, verify_open_database,
                                                verify_absent_files, verify_files};
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && rc == RESULT_OK; i++) {
        rc = steps[i](verify);
    }
    if (verify->db == NULL) {
        return rc;
    }
    /* A crawl without WARC has no folder, and then nothing to compare pages with. */
    if (rc == RESULT_OK) {
        rc = verify_captures(verify);
    }
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = verify_links(verify);
    }
    return rc == RESULT_OK || rc == RESULT_NOT_FOUND ? verify_database(verify) : rc;
}

/* Locks the folder of the WARC files, in which another verify has files of the same names, and for
 * a repair the directory. *folder: a descriptor to be closed, or -1. */
static Result verify_lock(const Verify *verify, CrawlStore *store, int *folder)
{
    const VerifyOptions *options = verify->options;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    *store = (CrawlStore){.lock = -1};
    *folder = open(verify->warc_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*folder >= 0 && flock(*folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        (void)buffer_printf(&error, "%s: another ragno verify is at work here; wait for its end",
                            options->directory);
        (void)exit_status_tell("verify", RESULT_LOCKED, &error);
        return RESULT_LOCKED;
    }
    if (!options->repair || access(options->directory, F_OK) != 0) {
        return RESULT_OK;
    }
    Result rc = crawl_store_lock(store, options->directory, false, &error);
    (void)exit_status_tell("verify", rc, &error);
    return rc;
}

Result verify_directory(const VerifyOptions *given, VerifyCounts *counts)
{
    VerifyOptions options = *given;
    options.repair = options.repair || options.refetch;
    Verify verify = {.options = &options, .counts = counts};
    *counts = (VerifyCounts){.files = 0};
    Path warc, scratch;
    CrawlStore store;
    buffer_init(&verify.line, BUFFER_NO_LIMIT);
    buffer_init(&verify.url, BUFFER_NO_LIMIT);
    buffer_init(&verify.moved, BUFFER_NO_LIMIT);
    int folder;
    verify.warc_directory = file_path(&warc, "%s/warc", options.directory);
    Result rc = verify_lock(&verify, &store, &folder);
    verify.scratch = verify.warc_directory;
    bool is_elsewhere = rc == RESULT_OK && !options.repair && folder >= 0 &&
                        access(verify.warc_directory, W_OK) != 0; /* of a snapshot, of others */
    if (is_elsewhere) {
        rc = file_make_folder(&scratch, "verify");
        verify.scratch = scratch.text;
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno verify: %s cannot be made (TMPDIR)\n", scratch.text);
        }
    }
    if (rc == RESULT_OK) {
        rc = verify_all(&verify);
    }
    if (is_elsewhere) {
        (void)rmdir(scratch.text);
    }
    bool was_read = rc == RESULT_OK || counts->files + counts->problems > 0;
    if (counts->elsewhere > 0) {
        (void)fprintf(options.out, "note\t%" PRIu64 " revisits refer to records of other crawls\n",
                      counts->elsewhere);
    }
    if (was_read) { /* what was not looked at has no "0 problems" */
        (void)fprintf(options.out,
                      "sum\t%" PRIu64 " files\t%" PRIu64 " records\t%" PRIu64 " captures\t%" PRIu64
                      " revisits\t%" PRIu64 " pages\t%" PRIu64 " captures of no page\t%" PRIu64
                      " problems\t%" PRIu64 " repaired\n",
                      counts->files, counts->records, counts->captures, counts->revisits,
                      counts->pages, counts->strangers, counts->problems, counts->repaired);
    }
    (void)page_db_delete(verify.db);
    crawl_store_close(&store);
    file_close_fd(folder);
    free(verify.captured);
    free(verify.stored);
    map_destroy(&verify.originals);
    map_destroy(&verify.errands);
    free(verify.told);
    buffer_destroy(&verify.moved);
    buffer_destroy(&verify.line);
    buffer_destroy(&verify.url);
    return rc;
}

EMBED(verify_usage, "src/command/verify/verify.txt");

/* What an agent's directory says of its peers, for who compares them (command/cluster/console.h).
 */
static Result verify_tell_peers(PageDB *db, uint16_t self, const ClusterTable *table, FILE *out)
{
    MDB_txn *txn = NULL;
    MDB_dbi crawl = 0;
    Outbox outbox;
    OutboxState state;
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    if (page_db_txn_begin(db, true, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = lmdb_result(mdb_dbi_open(txn, "crawl", 0, &crawl), "open the table of the crawl");
    if (rc == RESULT_OK) {
        rc = outbox_open(&outbox, txn, crawl);
    }
    if (rc == RESULT_OK) {
        rc = outbox_read_state(&outbox, txn, &state);
    }
    if (rc == RESULT_OK) {
        rc = cluster_table_write(table, &bytes);
    }
    if (rc == RESULT_OK) {
        (void)fprintf(out, "agent\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", (unsigned)self,
                      table->epoch, hash_128(bytes.data, bytes.length).low, state.blocks);
    }
    for (uint32_t i = 0; rc == RESULT_OK && i < table->n_agents; i++) {
        PeerMark mark;
        rc = peer_mark_read(txn, crawl, (uint16_t)i, &mark);
        if (rc == RESULT_OK) {
            (void)fprintf(out, "peer\t%u\t%" PRIu64 "\t%" PRIu64 "\n", (unsigned)i, mark.taken,
                          mark.heard);
        }
    }
    page_db_txn_abort(db, txn);
    buffer_destroy(&bytes);
    return rc;
}

static int verify_peers(const char *directory)
{
    Path path;
    PageDB *db = NULL;
    ClusterTable table = {.epoch = 0};
    uint16_t self = 0;
    const PageDBOptions options = {.read_only = true, .no_create = true};
    int code = page_db_open(&db, file_path(&path, "%s/crawl.mdb", directory), &options);
    Result rc = code == page_db_error_ok ? node_place_of(db, &self, &table) : RESULT_IO;
    if (rc == RESULT_OK) {
        rc = verify_tell_peers(db, self, &table, stdout);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", directory,
                      rc == RESULT_NOT_FOUND ? "is no agent of a cluster" : result_name(rc));
    }
    (void)page_db_delete(db);
    cluster_table_destroy(&table);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? EXIT_USAGE : EXIT_IO;
    }
    return 0;
}

static int verify_run_one(const VerifyOptions *options)
{
    VerifyCounts counts;
    if (access(options->directory, F_OK) != 0) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", options->directory, strerror(errno));
        return 3;
    }
    Result rc = verify_directory(options, &counts);
    if (rc == RESULT_LOCKED) {
        return EXIT_DIRECTORY; /* who has it was told */
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", options->directory, result_name(rc));
        if (rc == RESULT_DAMAGED) {
            fault_note();
        }
        return rc == RESULT_DAMAGED || rc == RESULT_VERSION ? EXIT_DIRECTORY : EXIT_IO;
    }
    return counts.problems == 0 ? 0 : 1;
}

int verify_main(int argc, char **argv)
{
    VerifyOptions options = {.out = stdout};
    bool peers = false;
    const CommandOption rows[] = {{"repair", 0, COMMAND_FLAG, .to = &options.repair},
                                  {"refetch", 0, COMMAND_FLAG, .to = &options.refetch},
                                  {"absent", 0, COMMAND_TEXT, .to = &options.absent},
                                  {"peers", 0, COMMAND_FLAG, .to = &peers}};
    CommandLine line = {"verify", verify_usage, COMMAND_ROWS(rows), .words_least = 1,
                        .words_most = 1};
    int status = command_line_take(&line, argc, argv);
    if (status == 0) {
        options.directory = line.words[0];
        status = peers ? verify_peers(options.directory) : verify_run_one(&options);
    }
    return status == COMMAND_HELPED ? 0 : status;
}
