/* Option changes: in which rows two sets of options differ.
 *
 * What: for the log of an operator, who wants to know the key, the old value and the new one, and
 * whether the change takes effect while the program runs.
 * Threads: any, while neither set changes. */
#pragma once

#include "base/option/options.h"

typedef struct OptionChange {
    const OptionSpec *spec;
    const char *site; /* the pattern of its [site] section; NULL: it holds for all */
    const char *from; /* as written; of a site, "": it said nothing */
    const char *to;
    const char *origin; /* where the new value comes from */
} OptionChange;

/* Tells of each row in which the values differ, in the order of the table. A value that is only
 * written in another way (1m, 60s) is no change. */
void option_changes_tell(const Options *options, const Options *fresh,
                         void (*tell)(void *context, const OptionChange *change), void *context);
/* The same of [site] sections: of each pattern and row, the last value counts. */
void option_changes_tell_sites(const Options *options, const Options *fresh,
                               void (*tell)(void *context, const OptionChange *change),
                               void *context);
/* Whether sections stand in another order, so that for a host that matches several of them another
 * one may win: nothing tells of that. */
bool option_changes_has_moved_sites(const Options *options, const Options *fresh);
