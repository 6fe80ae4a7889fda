/* `ragno import -d DIR FILE...`: WARC files of others as if they had been crawled now.
 *
 * What: answers of HTTP in the files (response, resource and revisit records) become pages of the
 * crawl in DIR, with their links, digests and WARC records; nothing is fetched. What cannot be read
 * is passed over with a sentence and counted; so is an answer whose digest is wrong.
 * Threads: main, and those of import_store.h. */
#ifndef COMMAND_IMPORT_IMPORT_COMMAND_H
#define COMMAND_IMPORT_IMPORT_COMMAND_H

/* Runs the command. Exit status: 0, 2 usage or configuration, 3 a file cannot be read or the disk
 * is full, 11 a signal has ended it, 17 records were damaged and passed over, or DIR is in use. */
int import_main(int argc, char **argv);

#endif
