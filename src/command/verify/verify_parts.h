/* The parts of `ragno verify`, one call each, in the order in which verify_directory makes them.
 *
 * What: each part looks at one thing, tells what is wrong with it (verify_problem) and, with
 * options->repair, mends it (verify_repaired). A file of the same name holds each.
 * Threads: main.
 * Errors: RESULT_OK when everything could be looked at, whatever was found. */
#ifndef COMMAND_VERIFY_VERIFY_PARTS_H
#define COMMAND_VERIFY_VERIFY_PARTS_H

#include "command/verify/verify_run.h"
#include "store/archive/warc_reader.h"
#include "store/schedule/schedule.h"

/* config.ini is there, whole, and can be read. */
Result verify_config(Verify *verify);

/* Every file in DIR/warc, record by record, and its index; with options->repair, what follows the
 * last whole record of a broken file is moved aside, and indices are written anew. */
Result verify_files(Verify *verify);
/* The index of an open file may be a piece, after a crash: what is captured in it is remembered. */
Result verify_remember(Verify *verify, const WarcRecord *record);
/* A request or metadata record belongs to the capture before it. */
void verify_companion(Verify *verify, const char *file, const WarcRecord *record,
                      const WarcId *capture);
/* A capture: the original of a revisit is stored, its page is known and was tried. */
Result verify_capture(Verify *verify, const char *file, const WarcRecord *record);
/* A robots.txt, or what one redirects to: fetched for its own sake, whether or not it is a page. */
bool verify_is_errand(const Verify *verify, WarcBytes uri);
/* After the last file: captures of known pages that were never tried, but for what robots.txt
 * redirects to. */
Result verify_untried(Verify *verify);

/* Looks whether the file of DIR/crawl.mdb is whole, if there is one, opens it, has its keys checked
 * (verify_keys), notes whose answers are stored, and then reads the committed end: so whatever a
 * running crawl adds meanwhile is not missed in the files. RESULT_DAMAGED, RESULT_VERSION: told. */
Result verify_open_database(Verify *verify);
/* Every page is found by its URL and every host by its name, and nothing else is; repair completes
 * both tables (store/check/page_keys_check.h). */
Result verify_keys(Verify *verify);
/* Pages whose answers were stored and are in no WARC file; with options->refetch they are
 * scheduled again. */
Result verify_captures(Verify *verify);
/* The other way round: pages whose answers are in the files, and not in the index of captures;
 * repair enters them. */
Result verify_unlisted(Verify *verify, MDB_txn *txn);
/* PageDB inside, the schedule against it, the host records against it; repairs the last two. */
Result verify_database(Verify *verify);
/* The next visits of schedule.mode = continuous; repairs by emptying them, so that the next crawl
 * enters all pages. */
Result verify_revisits(Verify *verify, MDB_txn *txn);
/* The page's next visit is unconditional. */
Result verify_forget_validators(MDB_txn *txn, uint64_t index);

/* Every page that was crawled has a list of links that can be read, or its links wait in the sieve,
 * or it is fetched again. Repair takes out what cannot be read, and makes what is lost from the
 * stored answers; where there is none the page is fetched again. */
Result verify_links(Verify *verify);
/* The sieve's bucket files can be read; sets the bits of the pages whose links are all in them. */
Result verify_sieve(Verify *verify, MDB_txn *txn, uint8_t *waiting, uint64_t n_pages);
/* Puts a page into the schedule once more; inside a transaction. */
Result verify_schedule_again(Verify *verify, MDB_txn *txn, Schedule *schedule, uint64_t index);

#endif
