/* The feed of `ragno top`: a thread that asks the crawl by its control socket and looks into its
 * database, so that the screen never waits.
 *
 *   main --TopAsk--> feed --control socket--> the crawl
 *        <--TopModel--    --survey----------> the database
 *
 * What: each second the status; a survey of the hosts every SURVEY_LEAST_MS, or ten times as long
 * as the last one took, whichever is longer; besides, what it is asked for. While nobody answers at
 * the socket, status.json counts, and the socket is tried again.
 * The model is changed by the feed and by keys: whoever uses it has the lock, for no longer
 * than memory is read and written.
 * Owns: the connection.
 * Threads: the feed's own; the functions below belong to the main thread.
 * Errors: whatever fails becomes a sentence in the model. */
#pragma once

#include "command/cluster/console.h"
#include "command/top/top_model.h"
#include "crawl/crawl_view.h"

typedef struct TopFeed TopFeed;

/* Of the crawl of a view; or, when it is NULL, of all agents of a console: then the rows of the
 * survey are agents. All are borrowed until top_feed_stop. RESULT_MEMORY, RESULT_IO. */
Result top_feed_start(TopFeed **feed, TopModel *model, CrawlView *view, Console *console);
void top_feed_stop(TopFeed *feed);

/* From here on, and up to unlock, the model is the caller's. */
void top_feed_lock(TopFeed *feed);
void top_feed_unlock(TopFeed *feed);
/* With the lock: asks for what the model wishes; its order, filter, subject and input are copied.
 */
void top_feed_ask(TopFeed *feed, TopWish wish);
/* Readable when the feed has changed the model; lock clears it. */
int top_feed_fd(const TopFeed *feed);
