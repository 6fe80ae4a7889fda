/* Top input: what a key means.
 *
 * What: a key moves the choice, changes the screen, edits a prompt, or asks for something that the
 * feed does.
 * Threads: main; pure. */
#ifndef COMMAND_TOP_TOP_INPUT_H
#define COMMAND_TOP_TOP_INPUT_H

#include "command/top/top_model.h"

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
    WISH_WHY,     /* of the URL in model->subject */
    WISH_FLIGHTS,
    WISH_PAUSE, /* or resume, whichever it is not */
    WISH_DELAY, /* of the host in model->subject: model->input, "" = as configured */
    WISH_DENY,  /* the host in model->subject, and so on */
    WISH_ALLOW,
    WISH_VISIT,
    WISH_REVIVE
} TopWish;

/* page: rows that a page key moves by. */
TopWish top_input_key(TopModel *model, unsigned key, size_t page);

#endif
