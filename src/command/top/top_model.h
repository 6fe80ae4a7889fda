/* Top model: what `ragno top` knows of a crawl, and what its user has chosen.
 *
 *   feed --> model <--keys-- input
 *              '--> view
 *
 * What: the latest status, the rows of hosts, and the state of the screen. Times are parameters.
 * Owns: its texts and rows.
 * Threads: whoever has the lock of the feed (top_feed.h); pure. */
#pragma once

#include "survey/survey.h"

#define TOP_HISTORY    120u /* seconds of the graphs */
#define TOP_TEXT_BYTES 256u
#define TOP_ROWS       200u /* hosts asked for */

typedef enum TopScreen {
    TOP_HOSTS,   /* the list */
    TOP_DETAILS, /* a text about one host */
    TOP_HELP
} TopScreen;

/* What the user is being asked in the last line. */
typedef enum TopPrompt {
    PROMPT_NONE,
    PROMPT_FILTER,
    PROMPT_DELAY, /* for the host that is selected */
    PROMPT_DENY   /* really? */
} TopPrompt;

/* What is counted. */
typedef enum TopCount { TOP_PAGES, TOP_BYTES, TOP_ERRORS, TOP_QUEUE, TOP_COUNTS } TopCount;

/* Of one count: the last TOP_HISTORY rates, oldest first; of the queue, how long it was. */
typedef struct TopGraph {
    double values[TOP_HISTORY];
    size_t n;
    double rate;  /* the last one */
    double total; /* of the status before, for rates */
} TopGraph;

typedef struct TopModel {
    const char *directory;
    char *status;                 /* the last status, JSON; NULL: there was none */
    bool is_running;              /* the crawl answers */
    char trouble[TOP_TEXT_BYTES]; /* why it does not */
    MonoTime rates_time;          /* of the status before; 0 = there was none */
    TopGraph graphs[TOP_COUNTS];

    SurveyResult hosts;
    WallTime hosts_time; /* of the survey; 0 = there was none yet */
    SurveyOrder order;
    char filter[TOP_TEXT_BYTES];
    size_t chosen; /* row */
    size_t first;  /* row that is shown at the top */

    TopScreen screen;
    char *text;                   /* of screens that are one */
    size_t text_first;            /* line that is shown at the top */
    char subject[TOP_TEXT_BYTES]; /* host that the text is about */

    TopPrompt prompt;
    char input[TOP_TEXT_BYTES];
    char message[TOP_TEXT_BYTES]; /* in the last line, until the next key */
    bool is_bad;                  /* the message */
    bool ascii;                   /* the terminal knows no blocks */
} TopModel;

void top_model_init(TopModel *model, const char *directory);
void top_model_destroy(TopModel *model);

/* What a status says of a count; 0 of none. */
double top_model_total(const char *status, TopCount count);
/* A status has come (JSON, copied), or none (NULL: trouble says why). */
void top_model_status(TopModel *model, const char *json, const char *trouble, MonoTime now);
/* A survey has come; its rows are taken. The chosen host stays chosen if it is still there. */
void top_model_hosts(TopModel *model, SurveyResult *hosts, WallTime time);
/* A text for the screen that waits for it; text is taken, and freed if nobody does. */
void top_model_text(TopModel *model, TopScreen screen, char *text);
void top_model_say(TopModel *model, bool is_bad, const char *sentence);
/* The host that is chosen, or NULL. */
const SurveyRow *top_model_chosen(const TopModel *model);

/* Top input: what a key means.
 *
 * What: a key moves the choice, changes the screen, edits a prompt, or asks for something that the
 * feed does.
 * Threads: main; pure. */

/* Keys beyond the characters; characters stand for themselves. */
typedef enum TopKey {
    KEY_IS_ENTER = '\n',
    KEY_IS_ESCAPE = 27,
    KEY_IS_BACKSPACE = 127,
    KEY_IS_UP = 0x110000,
    KEY_IS_DOWN,
    KEY_IS_LEFT,
    KEY_IS_RIGHT,
    KEY_IS_PAGE_UP,
    KEY_IS_PAGE_DOWN,
    KEY_IS_HOME,
    KEY_IS_END
} TopKey;

/* What is to be done about it. */
typedef enum TopWish {
    WISH_NOTHING, /* draw */
    WISH_LEAVE,
    WISH_LOOK,    /* take a survey now: order or filter have changed, or the user asks */
    WISH_DETAILS, /* of the host that is chosen, in model->subject */
    WISH_PAUSE,   /* or resume, whichever it is not */
    WISH_DELAY,   /* of the host in model->subject: model->input, "" = as configured */
    WISH_DENY,    /* the host in model->subject, and so on */
    WISH_ALLOW,
    WISH_VISIT,
    WISH_REVIVE
} TopWish;

/* page: rows that a page key moves by. */
TopWish top_input_key(TopModel *model, unsigned key, size_t page);
