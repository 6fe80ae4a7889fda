/* `ragno check ...`: one part of the crawler at a time, on a file or a word from the command line.
 *
 * What: data goes to standard output, complaints to standard error.
 * Threads: main.
 * Errors: exit status 0 done; 1 the answer is no (rejected, invalid); 2 wrong usage; 3 a file
 * cannot be read. */
#ifndef COMMAND_CHECK_CHECK_H
#define COMMAND_CHECK_CHECK_H

/* Runs `check` with argv[0] = "check", argv[1] = the command. Returns the exit status. */
int check_main(int argc, char **argv);

#endif
