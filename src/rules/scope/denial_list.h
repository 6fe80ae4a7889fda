/* Denial list: what the operator has denied, in a file.
 *
 * What: DIR/denied.txt has one rule a line (rules/scope/denials.h), and behind a tab when and by
 * whom it was set; lines that begin with '#' are remarks. It is read at the start and when the
 * configuration is read anew, so it may be edited by hand, too. A change is on the disk before it
 * holds.
 *
 * Owns: the rules.
 * Threads: main.
 * Errors: error gets one sentence, with file and line for what stands in the file. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

#define DENIAL_LIST_FILE "denied.txt"

typedef struct DenialList {
    char **rules; /* normalised */
    char **notes; /* of each: when, by whom; "" = not known */
    size_t n;
} DenialList; /* all zero: empty */

/* Reads the file in place of what the list has; a file that is not there is an empty one.
 * RESULT_INVALID: a line is wrong, the list is as it was. RESULT_IO, RESULT_MEMORY. */
Result denial_list_read(DenialList *list, const char *directory, Buffer *error);
void denial_list_destroy(DenialList *list);
/* Writes the file in one step, synced. */
Result denial_list_write(const DenialList *list, const char *directory, Buffer *error);

/* rule is normalised. RESULT_EXISTS: it is there already. */
Result denial_list_add(DenialList *list, const char *rule, const char *note);
/* RESULT_NOT_FOUND. */
Result denial_list_remove(DenialList *list, const char *rule);
