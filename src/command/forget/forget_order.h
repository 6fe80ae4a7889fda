/* An order of `ragno forget`: kept in the directory until it is carried out, whatever happens.
 *
 *   order ---forget_run: look, write anew---> ready ---apply---> done
 *
 * What: the order (forget_database.h) is in DIR/forget/order before anything is touched, and a
 * tombstone for each host and URL is among the denials (rules/scope/denials.h): the hash of its
 * name, which keeps it from coming back. Everything that changes is then written anew into
 * DIR/forget/new: WARC files and their indices, logs, the database. When all of it is on the disk,
 * DIR/forget/ready says which file is to take which place; from then on the order is carried out,
 * however often that is interrupted. Each step may be repeated:
 *
 *   move NEW TO     a file of DIR/forget/new takes its place; done when it is no longer there
 *   drop NAME       a file, or a folder with what is in it, goes; done when it is not there
 *
 * A kill before `ready` leaves the crawl as it was, and the order is begun again. Whoever starts
 * the crawl, or `ragno forget DIR`, goes on. A running crawl stops for it, erases, and starts anew,
 * as the same process.
 *
 * Owns: its buffers. The lock of the directory is the caller's.
 * Threads: one.
 * Errors: a sentence in error. RESULT_CLOSED: links to what is meant wait in the sieve, and only a
 * crawl that runs can look them up; RESULT_DAMAGED, RESULT_FULL, RESULT_IO, and the order stays. */
#pragma once

#include "command/forget/forget_database.h"

#define FORGET_TOLD "forgotten.log" /* what came of each order, a line, without names */

typedef struct ForgetOrder {
    const char *directory; /* borrowed */
    ForgetTargets targets;
    Buffer error;   /* a sentence */
    Buffer actions; /* of DIR/forget/ready */
    Buffer told;    /* what came of it */
    bool quiet;
    bool no_wait; /* until a crawl that runs has carried it out */
} ForgetOrder;

void forget_order_init(ForgetOrder *order, const char *directory);
void forget_order_destroy(ForgetOrder *order);

/* Whether one waits in the directory, or is under way. */
bool forget_order_is_due(const char *directory);
/* Writes it into the directory, where it stays until it is carried out. */
Result forget_order_write(ForgetOrder *order);
/* Appends the denial that keeps a target from coming back. */
Result forget_order_tomb(const ForgetTarget *target, Buffer *rule);
/* Enters the tombstones among the denials of a crawl that does not run; again: takes them out.
 * RESULT_NOT_FOUND: one of them is not there. */
Result forget_order_bury(ForgetOrder *order, bool again);
/* Carries out what is in the directory, from wherever it stands. */
Result forget_order_run(ForgetOrder *order);
