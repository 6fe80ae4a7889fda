/* ragno consent: for which use a page, or a host, is allowed, and by which sentence.
 *
 * What: the statements that held when a page was captured are read from the archive: the answer
 * itself (headers, meta elements), and the newest robots.txt, tdmrep.json and licence of its origin
 * that were captured before it. So the ledger of a capture is the capture, and lasts as long as it.
 * Without an archive the files that the database keeps are read, and the answer says so. --changed
 * compares what was denied at the capture with what the site's files say now.
 * The strictest statement holds: one that denies wins over any that allows. */
#pragma once

int consent_main(int argc, char **argv);
