/* `ragno check ...`: one part of the crawler at a time, on a file or a word from the command line.
 *
 * What: data goes to standard output, complaints to standard error.
 * Threads: main.
 * Errors: exit status 0 done; 1 the answer is no (rejected, invalid); 2 wrong usage; 3 a file
 * cannot be read. */
#pragma once

/* The commands of `ragno check` that have a file of their own (check_NAME.c).
 *
 * What: usage is its line of usage; argv[0] is the command's name; each returns the exit status.
 * Threads: main. */

int check_render(const char *usage, int argc, char **argv);
int check_filter(const char *usage, int argc, char **argv);

/* Runs `check` with argv[0] = "check", argv[1] = the command. Returns the exit status. */
int check_main(int argc, char **argv);
