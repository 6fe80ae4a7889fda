/* Option changes: in which rows two sets of options differ.
 *
 * What: for the log of an operator, who wants to know the key, the old value and the new one, and
 * whether the change takes effect while the program runs.
 * Threads: any, while neither set changes. */
#ifndef BASE_OPTION_OPTION_CHANGES_H
#define BASE_OPTION_OPTION_CHANGES_H

#include "base/option/options.h"

typedef struct OptionChange {
    const OptionSpec *spec;
    const char *from; /* as written */
    const char *to;
    const char *origin; /* where the new value comes from */
} OptionChange;

/* Tells of each row in which the values differ, in the order of the table. A value that is only
 * written in another way (1m, 60s) is no change. */
void option_changes_tell(const Options *options, const Options *fresh,
                         void (*tell)(void *context, const OptionChange *change), void *context);

#endif
