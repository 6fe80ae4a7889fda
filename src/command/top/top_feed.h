/* The feed of `ragno top`: a thread that asks the crawl by its control socket and looks into its
 * database, so that the screen never waits.
 *
 *   main --TopAsk--> feed --control socket--> the crawl
 *        <--TopNews--     --survey, why-----> the database
 *
 * What: each second the status; a survey of the hosts every SURVEY_LEAST_MS, or ten times as long
 * as the last one took, whichever is longer; besides, what it is asked for. While nobody answers at
 * the socket, status.json counts, and the socket is tried again.
 * Owns: the crawl's database, opened for reading, and the connection.
 * Threads: the feed's own; the functions below belong to the main thread.
 * Errors: whatever fails becomes a sentence in the news. */
#ifndef COMMAND_TOP_TOP_FEED_H
#define COMMAND_TOP_TOP_FEED_H

#include "command/cluster/console.h"
#include "command/top/top_model.h"
#include "crawl/crawl_view.h"

typedef struct TopFeed TopFeed;

typedef enum TopNewsKind {
    TOP_NEWS_STATUS, /* text: JSON, or NULL; sentence: why the crawl does not answer, or NULL */
    TOP_NEWS_HOSTS,
    TOP_NEWS_TEXT, /* text, for screen */
    TOP_NEWS_SAID  /* sentence: the answer of the crawl */
} TopNewsKind;

typedef struct TopNews {
    TopNewsKind kind;
    TopScreen screen;
    char *text;     /* owned */
    char *sentence; /* owned */
    bool is_bad;
    SurveyResult hosts; /* owned */
    WallTime time;
} TopNews;

/* Of the crawl of a view; or, when it is NULL, of all agents of a console: then the rows of the
 * survey are agents. Borrowed until top_feed_stop. RESULT_MEMORY, RESULT_IO. */
Result top_feed_start(TopFeed **feed, CrawlView *view, Console *console);
void top_feed_stop(TopFeed *feed);

/* Asks for what the model wishes; its order, filter, subject and input are copied. */
void top_feed_ask(TopFeed *feed, TopWish wish, const TopModel *model);
/* Readable when there are news. */
int top_feed_fd(const TopFeed *feed);
/* The next news, the caller's; NULL: there are none. */
TopNews *top_feed_take(TopFeed *feed);
void top_news_delete(TopNews *news);

#endif
