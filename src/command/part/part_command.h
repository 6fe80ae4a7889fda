/* Part command: the command line of `ragno export DIR warc` and `ragno export DIR wacz`.
 *
 * What: which part of an archive, and where it goes. A kind may have options of its own, with
 * PartExtra.
 * Owns: the filter and the choice.
 * Threads: main.
 * Errors: an exit status; standard error has a line. */
#ifndef COMMAND_PART_PART_COMMAND_H
#define COMMAND_PART_PART_COMMAND_H

#include "base/memory/buffer.h"
#include "command/part/part_copy.h"

typedef struct PartCommand {
    const char *directory;
    const char *output;
    const char *where;
    bool help;
    bool quiet;
    TextChoice choice;
    Filter *filter;
    Buffer warc_directory;
    PartOptions part; /* borrows from the others */
} PartCommand;

/* Takes the word at *i, with its value; -1: it is none of the kind's own options. */
typedef int (*PartExtra)(void *context, int argc, char **argv, int *i);

/* Reads the words behind "export". The exit status: 0, or a line was said. extra may be NULL.
 * part_command_destroy in every case. */
int part_command_parse(PartCommand *command, int argc, char **argv, PartExtra extra, void *context);
void part_command_destroy(PartCommand *command);
/* Prints the options that both kinds have. */
void part_command_usage(FILE *out);
int part_command_complain(const char *what, const char *word);
/* The exit status of an export that ended so. */
int part_command_status(Result rc, const TextCounts *counts);

#endif
