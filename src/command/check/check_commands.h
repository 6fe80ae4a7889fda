/* The commands of `ragno check`, one file each (check_NAME.c).
 *
 * What: argv[0] is the command's name; each returns the exit status.
 * Threads: main. */
#ifndef COMMAND_CHECK_CHECK_COMMANDS_H
#define COMMAND_CHECK_CHECK_COMMANDS_H

int check_robots(int argc, char **argv);
int check_charset(int argc, char **argv);
int check_config(int argc, char **argv);
int check_digest(int argc, char **argv);
int check_dns(int argc, char **argv);
int check_links(int argc, char **argv);
int check_sitemap(int argc, char **argv);
int check_text(int argc, char **argv);
int check_filter(int argc, char **argv);
int check_retries(int argc, char **argv);
int check_url(int argc, char **argv);

#endif
