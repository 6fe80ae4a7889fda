/* Options of a command line, one word at a time. Pure. */
#ifndef CRAWL_COMMAND_OPTION_H
#define CRAWL_COMMAND_OPTION_H

/* The value of "--name VALUE" or "--name=VALUE" at argv[*i]; NULL when it is another word. *i is
 * then the last word that was used. An option without a value gets "". */
const char *command_option(const char *name, int argc, char **argv, int *i);

#endif
