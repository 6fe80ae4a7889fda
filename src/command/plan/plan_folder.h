/* Plan folder: how much a folder holds on the disk, and the end of a temporary one.
 *
 * What: goes through a folder and those in it, to PLAN_FOLDER_DEPTH; links are not followed.
 * Owns: nothing.
 * Threads: any.
 * Errors: what cannot be looked at is left out, or stays. */
#ifndef COMMAND_PLAN_PLAN_FOLDER_H
#define COMMAND_PLAN_PLAN_FOLDER_H

#include "base/memory/buffer.h"

#define PLAN_FOLDER_DEPTH 8u

/* Bytes of the blocks that its files take. */
double plan_folder_bytes(const char *path);
/* Makes a folder in TMPDIR (or /tmp) and appends its path. RESULT_IO, RESULT_MEMORY. */
Result plan_folder_make(Buffer *path);
/* Removes it with all that it holds. */
void plan_folder_remove(const char *path);

#endif
