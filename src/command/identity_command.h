/* `ragno identity`: the key of Web Bot Auth, and what is published of it.
 *
 * What: new and show read or make a key and tell how it is used; directory and addresses print what
 *   is published for those who verify signatures, and for those who go by addresses.
 * Threads: main. */
#pragma once

/* argv[0] is "identity". Returns the exit status. */
int identity_main(int argc, char **argv);
