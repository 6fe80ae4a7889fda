/* The commands of `ragno check`, one file each (check_NAME.c); arguments as in its usage line. */
#ifndef CHECK_COMMANDS_H
#define CHECK_COMMANDS_H

int check_filter(int argc, char **argv);
int check_url(int argc, char **argv);

#endif
